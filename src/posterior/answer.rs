//! All that is said of a case: its posterior and, where asked for, what to ask next and why topics are likely.

use super::cases::Cases;
use super::{Case, Posterior, Question, Reason};
use crate::error::Result;
use crate::monitor::Monitor;

/// Topics whose reasons are given at most, the likeliest.
const MOST_EXPLAINED: usize = 20;

/// What is wanted besides the posterior. The default: nothing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Extras {
    /// So many unknown findings to ask for next.
    pub ask: Option<usize>,
    /// So many reasons for each topic that is written.
    pub why: Option<usize>,
    /// Topics below this probability are not written.
    pub threshold: f64,
}

/// What is said of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The posterior.
    pub posterior: Posterior,
    /// What to ask next, most telling first.
    pub questions: Option<Vec<Question>>,
    /// Topics with the findings that matter most for each.
    pub reasons: Option<Vec<(u32, Vec<Reason>)>>,
}

impl Posterior {
    /// Topics with at least this probability, likeliest first.
    pub fn likeliest(&self, threshold: f64) -> Vec<u32> {
        let p = |&topic: &u32| self.marginals[topic as usize].p;
        let mut topics: Vec<u32> =
            (0..self.marginals.len() as u32).filter(|topic| p(topic) >= threshold).collect();
        topics.sort_by(|a, b| p(b).total_cmp(&p(a)).then(a.cmp(b)));
        topics
    }
}

impl Cases<'_> {
    /// The posterior of a document with what else is wanted.
    ///
    /// # Errors
    ///
    /// As [`Engine::run`](super::Engine::run).
    pub fn answer(&self, case: &Case, doc_ix: usize, extras: &Extras, monitor: &Monitor) -> Result<Answer> {
        let case_ix = doc_ix as u64;
        let posterior = self.run(case, doc_ix, monitor)?;
        let ask = |most: usize| {
            let mut questions = self.engine.ask(case, case_ix, &posterior, self.options, monitor)?;
            questions.truncate(most);
            Ok(questions)
        };
        let why = |most: usize| {
            let mut topics = posterior.likeliest(extras.threshold);
            topics.truncate(MOST_EXPLAINED);
            let reasons = self.engine.why(case, case_ix, &topics, self.options, monitor)?;
            let few = |mut reasons: Vec<Reason>| {
                reasons.truncate(most);
                reasons
            };
            Ok(topics.into_iter().zip(reasons.into_iter().map(few)).collect())
        };
        let wanted = |n: Option<usize>| n.filter(|&n| n > 0);
        let questions = wanted(extras.ask).map(ask).transpose()?;
        let reasons = wanted(extras.why).map(why).transpose()?;
        Ok(Answer { posterior, questions, reasons })
    }
}
