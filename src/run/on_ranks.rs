//! A run on several ranks: what they must agree on, and what their communication costs.

use super::config::RunConfig;
use crate::corpus::Corpus;
use crate::error::{Error, Result};
use crate::estep::EStep;
use crate::ranks::{Said, Spent, Team, agree};
use serde::Serialize;
use std::time::Instant;

/// Fields of a config in which ranks may differ: where they find the documents, what they compute on, and what the first rank writes.
const OWN: [&str; 5] = ["backend", "corpus", "checkpoints", "tensorboard", "run"];

/// Compares what ranks are to do, and the documents that they do it with.
pub(super) fn compare(team: &Team, config: &RunConfig, corpus: &Corpus, estep: &dyn EStep) -> Result<()> {
    let fields = serde_json::to_value(config).map_err(|e| Error::Usage(e.to_string()))?;
    let said = Said::program()
        .and_all(&fields, &OWN)
        .and("number of documents", corpus.n_docs())
        .and("fingerprint of the documents", format_args!("{:016x}", corpus.fingerprint()))
        .and("documents of a block", estep.run_docs(&config.options.estep));
    agree(team, &said)
}

/// What communication has cost since the last evaluation: fields of a line of `metrics.jsonl`, for the rank that writes it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OnRanks {
    /// How many ranks there are.
    pub ranks: usize,
    /// Bytes that a rank sends in a weight step, what it evaluates for it included.
    pub sent_bytes_per_step: f64,
    /// Seconds of a weight step in which sums were on their way, waiting for slower ranks included.
    pub communication_s_per_step: f64,
    /// Share of the time in which a rank computed nothing because it waited for others or for sums.
    pub waiting_share: f64,
}

/// Measures what communication costs.
pub(super) struct Meter {
    team: Team,
    spent: Spent,
    step: u64,
    since: Instant,
}

impl Meter {
    /// From now and this step on.
    pub(super) fn new(team: &Team, step: u64) -> Self {
        Self { team: team.clone(), spent: team.spent(), step, since: Instant::now() }
    }

    /// Since the last call; none where there is one rank.
    pub(super) fn take(&mut self, step: u64) -> Option<OnRanks> {
        if !self.team.has_others() {
            return None;
        }
        let before = std::mem::replace(self, Self::new(&self.team, step));
        let spent = self.spent.since(&before.spent);
        let n_steps = step.saturating_sub(before.step).max(1) as f64;
        let seconds = before.since.elapsed().as_secs_f64().max(1e-9);
        Some(OnRanks {
            ranks: self.team.size(),
            sent_bytes_per_step: spent.bytes as f64 / n_steps,
            communication_s_per_step: spent.busy.as_secs_f64() / n_steps,
            waiting_share: (spent.waited.as_secs_f64() / seconds).min(1.0),
        })
    }
}
