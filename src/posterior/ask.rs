//! Which unknown finding to ask for next: the one whose answer is expected to tell most about the topics.
//!
//! An answer to finding i splits the case in two, with `p(y_i = 1 | y) = p(y, y_i = 1) / p(y)`. What it is expected to tell is
//!
//! ```text
//! gain_i = sum_j H(d_j | y) - sum over answers of p(y_i | y) sum_j H(d_j | y, y_i),
//! ```
//!
//! the sum over topics of the mutual information between the topic and the answer, in bits.

use super::{Case, Engine, Interval, Marginal, Method, Options, Posterior};
use crate::error::Result;
use crate::monitor::Monitor;
use rayon::prelude::*;

/// Findings whose answers are inferred, those first that would tell most if topics were independent; fewer where each is sampled.
const MOST_TRIED: usize = 24;
const MOST_SAMPLED: usize = 8;

/// Topics that are this certain cannot be told much about: findings of such topics alone are not tried.
const CERTAIN: f64 = 1e-3;

/// A finding to ask for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Question {
    /// The finding, by its token number.
    pub token: u32,
    /// The probability that it is present.
    pub p: f64,
    /// What the answer is expected to tell, in bits.
    pub gain: f64,
}

impl Engine<'_> {
    /// The unknown findings of a case, those first whose answer is expected to tell most about the topics. `now` is the posterior of the
    /// case. Findings that only depend on topics whose states are nearly certain are left out, and of many only those are inferred that
    /// would tell most if topics were independent.
    ///
    /// # Errors
    ///
    /// As [`Engine::run`].
    pub fn ask(
        &self,
        case: &Case,
        case_ix: u64,
        now: &Posterior,
        options: &Options,
        monitor: &Monitor,
    ) -> Result<Vec<Question>> {
        let graph = &self.network().graph;
        let is_open = |topic: &u32| {
            let p = now.marginals[*topic as usize].p;
            p > CERTAIN && p < 1.0 - CERTAIN
        };
        let is_known = |token: &u32| {
            case.present.binary_search(token).is_ok() || case.absent.binary_search(token).is_ok()
        };
        let mut candidates: Vec<(f64, u32)> = (0..graph.n_tokens() as u32)
            .filter(|token| !is_known(token))
            .filter(|&token| graph.parents(graph.n_topics() + token as usize).iter().any(is_open))
            .map(|token| (self.simple_gain(token, &now.marginals), token))
            .collect();
        candidates.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        candidates.truncate(if now.ess.is_some() { MOST_SAMPLED } else { MOST_TRIED });
        // What had to be sampled will have to be again, and not more often for a question.
        let method = if now.ess.is_some() { Method::Sample } else { options.method };
        let options = &Options { method, ..options.clone() };
        let question = |&(_, token): &(f64, u32)| {
            monitor.go_on()?;
            let answer = |present: bool| {
                let mut case = case.clone();
                let list = if present { &mut case.present } else { &mut case.absent };
                list.insert(list.partition_point(|&other| other < token), token);
                self.run(&case, case_ix, options, monitor)
            };
            let (yes, no) = (answer(true)?, answer(false)?);
            // Both answers are computed, so that what they add up to need not be what it was by another method.
            let (log_yes, log_no) = (log_p(&yes), log_p(&no));
            let p = 1.0 / (1.0 + (log_no - log_yes).exp());
            let after = p * entropy(&yes.marginals) + (1.0 - p) * entropy(&no.marginals);
            Ok(Question { token, p, gain: (entropy(&now.marginals) - after).max(0.0) })
        };
        let mut questions: Vec<Question> = candidates.par_iter().map(question).collect::<Result<_>>()?;
        questions.sort_by(|a, b| b.gain.total_cmp(&a.gain).then(a.token.cmp(&b.token)));
        Ok(questions)
    }
}

impl Engine<'_> {
    /// What an answer would tell of the topics that cause the finding if these were independent, in bits.
    fn simple_gain(&self, token: u32, now: &[Marginal]) -> f64 {
        let (graph, weights) = (&self.network().graph, &self.network().weights);
        let node = graph.n_topics() + token as usize;
        let causes = || graph.parents(node).iter().zip(&weights.edge[graph.edges_into(node)]);
        // The probability that a cause leaves the finding off.
        let off = |topic: u32, w: f64| 1.0 + now[topic as usize].p * (-w).exp_m1();
        let all_off = causes().fold((-weights.leak[node]).exp(), |all, (&topic, &w)| all * off(topic, w));
        let of_cause = |(&topic, &w): (&u32, &f64)| {
            let p = now[topic as usize].p;
            let others_off = all_off / off(topic, w);
            bits(all_off) - p * bits(others_off * (-w).exp()) - (1.0 - p) * bits(others_off)
        };
        causes().map(of_cause).sum()
    }
}

/// log p of a case: the estimate, or what its bounds leave.
fn log_p(posterior: &Posterior) -> f64 {
    let Interval { lower, upper } = posterior.log_p;
    posterior.log_p_estimate.unwrap_or(if upper.is_finite() && lower.is_finite() {
        0.5 * (lower + upper)
    } else if lower.is_finite() {
        lower
    } else {
        upper
    })
}

/// The sum of the entropies of all topics, in bits.
fn entropy(marginals: &[Marginal]) -> f64 {
    marginals.iter().map(|marginal| bits(marginal.p)).sum()
}

/// The entropy of one, in bits.
fn bits(p: f64) -> f64 {
    if p <= 0.0 || p >= 1.0 { 0.0 } else { -p * p.log2() - (1.0 - p) * (1.0 - p).log2() }
}
