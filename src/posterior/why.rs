//! Why a topic is likely or not: what each finding adds to its log-odds.
//!
//! The weight of evidence of finding i for topic j is `logit p(d_j = 1 | y) - logit p(d_j = 1 | y without i)`: what would be missing if
//! nobody had looked. Findings explain each other away, so the weights of all findings need not add up.

use super::{Case, Engine, Method, Options};
use crate::error::Result;
use crate::monitor::Monitor;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// Absent findings that are tried, those first that the topics cause most strongly: each costs an inference.
const MOST_ABSENT: usize = 24;
/// Probabilities are taken as not closer to 0 and 1, log-odds as not beyond 13.8: what is surer needs no reasons, and bounds of
/// probabilities say nothing there.
const SUREST: f64 = 1e-6;

/// Error allowed on every marginal.
const WITHIN: f64 = 1e-7;
/// Intervals of log-odds narrower than this are rounding: the finding adds nothing.
const ROUNDING: f64 = 1e-3;

/// A finding, and what it adds to the log-odds of a topic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reason {
    /// The finding, by its token number.
    pub token: u32,
    /// Whether it is present; else it is absent.
    pub present: bool,
    /// The weight of evidence, in nats.
    pub log_odds: f64,
}

impl Engine<'_> {
    /// For each of some topics the findings of a case, those first that matter most. All present findings are tried, and of the absent ones
    /// those that the topics cause most strongly. Findings are left out of which it is not certain whether they speak for the topic or
    /// against it.
    ///
    /// # Errors
    ///
    /// As [`Engine::run`].
    pub fn why(
        &self,
        case: &Case,
        case_ix: u64,
        topics: &[u32],
        options: &Options,
        monitor: &Monitor,
    ) -> Result<Vec<Vec<Reason>>> {
        // Differences of log-odds take more digits than probabilities.
        let options = &Options { within: options.within.min(WITHIN), ..options.clone() };
        let now = &self.run(case, case_ix, options, monitor)?;
        // What had to be sampled will have to be again, and not more often for a reason.
        let method = if now.ess.is_some() { Method::Sample } else { options.method };
        let options = &Options { method, ..options.clone() };
        let absent = self.strongest_absent(case, topics);
        let findings = case.present.iter().map(|&token| (token, true));
        let findings: Vec<(u32, bool)> =
            findings.chain(absent.into_iter().map(|token| (token, false))).collect();
        let of_finding = |&(token, present): &(u32, bool)| {
            monitor.go_on()?;
            let mut without = case.clone();
            let list = if present { &mut without.present } else { &mut without.absent };
            list.retain(|&other| other != token);
            let without = self.run(&without, case_ix, options, monitor)?;
            let reason = |&topic: &u32| {
                let [with, without] = [now, &without].map(|p| p.marginals[topic as usize]);
                let log_odds = logit(with.p) - logit(without.p);
                let least = logit(with.lower) - logit(without.upper);
                let most = logit(with.upper) - logit(without.lower);
                let is_certain = least > 0.0 || most < 0.0 || most - least < ROUNDING;
                is_certain.then_some(Reason { token, present, log_odds })
            };
            Ok(topics.iter().map(reason).collect::<Vec<_>>())
        };
        let by_finding: Vec<Vec<Option<Reason>>> =
            findings.par_iter().map(of_finding).collect::<Result<_>>()?;
        let of_topic = |at: usize| {
            let mut reasons: Vec<Reason> = by_finding.iter().filter_map(|reasons| reasons[at]).collect();
            reasons.sort_by(|a, b| b.log_odds.abs().total_cmp(&a.log_odds.abs()).then(a.token.cmp(&b.token)));
            reasons
        };
        Ok((0..topics.len()).map(of_topic).collect())
    }

    /// Absent findings that some topics cause, the strongest edges first.
    fn strongest_absent(&self, case: &Case, topics: &[u32]) -> Vec<u32> {
        let (graph, weights) = (&self.network().graph, &self.network().weights);
        let mut strength: FxHashMap<u32, f64> = FxHashMap::default();
        for &topic in topics {
            let edges = graph.child_edges(topic as usize);
            for (&child, &edge) in graph.children(topic as usize).iter().zip(edges) {
                let Some(token) = child.checked_sub(graph.n_topics() as u32) else { continue };
                if case.absent.binary_search(&token).is_ok() {
                    let w = strength.entry(token).or_default();
                    *w = w.max(weights.edge[edge as usize]);
                }
            }
        }
        let mut absent: Vec<(u32, f64)> = strength.into_iter().collect();
        absent.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        absent.into_iter().take(MOST_ABSENT).map(|(token, _)| token).collect()
    }
}

fn logit(p: f64) -> f64 {
    let p = p.clamp(SUREST, 1.0 - SUREST);
    (p / (1.0 - p)).ln()
}
