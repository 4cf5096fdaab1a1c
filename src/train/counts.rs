//! The counts that EM takes its step from: of one batch, of a running average, or of all batches when each was last seen.
//!
//! **Stepwise**, for small batches: `n <- (1 - g) n + g n_batch`.
//!
//! **Incremental** (Neal and Hinton 1998), for large ones: the last counts of every batch of the epoch are kept, and a step is the
//! M-step of their sum: as many steps an epoch as there are batches, and in the end the fixed points of full-batch EM.
//!
//! Two things are added, found by trying on networks of the sizes of DBLP and Yelp. Counts were made with weights that nobody
//! believes any more a few steps later, the more so the earlier that was: they lose worth with every step, less and less from
//! epoch to epoch. And EM multiplies: a weight that the first batch has no evidence for goes to the floor, and comes back too
//! late, when others explain its node. So documents that were not seen yet count a little, as documents that ask for the weights
//! that training started from: `w = (w_em + m w_start) / (1 + m)`, with m small and zero once all were seen.

use crate::estep::{Stats, StepSums};
use crate::network::{Graph, Weights, keep};
use serde::{Deserialize, Serialize};

/// Exponent of the stepwise average: batch t has weight (t + 2)^-0.55. Batches of many documents say enough by themselves to count
/// by epochs instead of steps, and to keep moving weights after the first few: then t is in epochs.
const STEPWISE_POWER: f64 = -0.55;
/// Documents of a large batch.
const LARGE_BATCH: f64 = 10_000.0;
/// Large batches whose counts are kept at most: 4 bytes for every edge and node of each.
pub(super) const MOST_BATCHES: u64 = 32;
/// A document that was not seen yet counts as much as this share of one.
const UNSEEN: f64 = 0.02;
/// What counts lose of their worth from step to step of the first epoch; in the second it is half as much, in the third a third.
const LOST: f64 = 0.7;

/// Averages per document of `w N`, `w0 L` and Q.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Counts {
    pub(super) edge: Vec<f64>,
    pub(super) leak: Vec<f64>,
    pub(super) topic_q: Vec<f64>,
    /// Share of the documents that hold each token; empty without control variates.
    pub(super) share: Vec<f64>,
}

impl Counts {
    /// Of one batch, made with these weights.
    pub(super) fn of(weights: &Weights, stats: &StepSums) -> Self {
        let per_doc = 1.0 / stats.n_docs;
        let counts = |w: &[f64], sums: &[f64]| w.iter().zip(sums).map(|(w, sum)| w * sum * per_doc).collect();
        Self {
            edge: counts(&weights.edge, &stats.edge),
            leak: counts(&weights.leak, &stats.leak),
            topic_q: stats.topic_q.iter().map(|q| q * per_doc).collect(),
            share: Vec::new(),
        }
    }

    /// N, L and Q of one batch, as they are.
    pub(super) fn of_sums(stats: &Stats) -> Self {
        let per_doc = |sums: &[f64]| sums.iter().map(|sum| sum / stats.n_docs).collect();
        let (edge, leak, topic_q) = (per_doc(&stats.edge), per_doc(&stats.leak), per_doc(&stats.topic_q));
        Self { edge, leak, topic_q, share: Vec::new() }
    }

    /// The same of documents that hold tokens with these shares.
    pub(super) fn with_share(self, share: Vec<f64>) -> Self {
        Self { share, ..self }
    }

    pub(super) fn fits(&self, graph: &Graph) -> bool {
        (self.edge.len(), self.leak.len(), self.topic_q.len())
            == (graph.n_edges(), graph.n_nodes(), graph.n_topics())
            && [0, graph.n_tokens()].contains(&self.share.len())
    }

    /// Becomes the running average with an older one, in which a batch has come at a step; `n_docs`: of an epoch.
    pub(super) fn average_with(&mut self, old: &Self, step: u64, n_batches: u64, n_docs: f64) {
        let new = batch_weight(step, n_batches, n_docs);
        let old = old.edge.iter().chain(&old.leak).chain(&old.topic_q).chain(&old.share);
        self.iter_mut().zip(old).for_each(|(now, old)| *now = new * *now + (1.0 - new) * old);
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut f64> {
        self.edge.iter_mut().chain(&mut self.leak).chain(&mut self.topic_q).chain(&mut self.share)
    }
}

/// Weight of a batch in the running average, at a step: so many batches share the documents of an epoch.
fn batch_weight(step: u64, n_batches: u64, n_docs: f64) -> f64 {
    let (step, n_batches) = (step as f64, n_batches.max(1) as f64);
    let t = if n_docs / n_batches < LARGE_BATCH { step } else { step / n_batches };
    (t + 2.0).powf(STEPWISE_POWER)
}

/// The last counts of every batch of an epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ledger {
    batches: Vec<Option<Entry>>,
    /// Edge weights and leaks that training started from, until all batches were seen.
    start: Option<(Vec<f32>, Vec<f32>)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Entry {
    step: u64,
    n_docs: f64,
    /// [`Counts`] of edges, nodes and topics, and shares of tokens, one after the other.
    counts: Vec<f32>,
}

impl Ledger {
    /// Whether batches of a corpus are kept: there are some, they are large, and not too many.
    pub(super) fn is_for(n_docs: f64, n_batches: u64) -> bool {
        (2..=MOST_BATCHES).contains(&n_batches) && n_docs / n_batches as f64 >= LARGE_BATCH
    }

    /// Bytes for each edge and node of a network that training remembers of these batches.
    pub(crate) fn bytes_per_weight(n_docs: f64, n_batches: u64) -> f64 {
        if Self::is_for(n_docs, n_batches) { 4.0 * n_batches as f64 } else { 0.0 }
    }

    /// An empty one, for training that starts from these weights.
    pub(super) fn new(n_batches: u64, weights: &Weights) -> Self {
        let kept = |weights: &[f64]| weights.iter().map(|&w| w as f32).collect();
        Self {
            batches: vec![None; n_batches as usize],
            start: Some((kept(&weights.edge), kept(&weights.leak))),
        }
    }

    /// The counts of all batches that were seen, each as it was then.
    pub(super) fn total(&self, graph: &Graph) -> Counts {
        let zeros = |n: usize| vec![0.0; n];
        let mut counts = Counts {
            edge: zeros(graph.n_edges()),
            leak: zeros(graph.n_nodes()),
            topic_q: zeros(graph.n_topics()),
            share: zeros(graph.n_tokens()),
        };
        let n_docs: f64 = self.batches.iter().flatten().map(|entry| entry.n_docs).sum();
        for entry in self.batches.iter().flatten() {
            let share = entry.n_docs / n_docs;
            counts.iter_mut().zip(&entry.counts).for_each(|(sum, &n)| *sum += share * f64::from(n));
        }
        counts
    }

    /// Forgets the edges that are not marked.
    pub(super) fn keep_edges(&mut self, kept: &[bool]) {
        if let Some((edge, _)) = &mut self.start {
            keep(edge, kept);
        }
        self.batches.iter_mut().flatten().for_each(|entry| keep_first(&mut entry.counts, kept));
    }

    pub(super) fn n_batches(&self) -> u64 {
        self.batches.len() as u64
    }

    pub(super) fn fits(&self, graph: &Graph) -> bool {
        let (n_edges, n_nodes) = (graph.n_edges(), graph.n_nodes());
        let starts = |(edge, leak): &(Vec<f32>, Vec<f32>)| (edge.len(), leak.len()) == (n_edges, n_nodes);
        let mut entries = self.batches.iter().flatten();
        self.start.as_ref().is_none_or(starts)
            && entries.all(|entry| {
                let n_shares = entry.counts.len().checked_sub(n_edges + n_nodes + graph.n_topics());
                n_shares.is_some_and(|n| [0, graph.n_tokens()].contains(&n))
            })
    }

    /// Enters the counts of a batch at a step, in place of its last ones, and makes them those of all batches that were seen.
    pub(super) fn enter(&mut self, batch_ix: usize, step: u64, n_docs: f64, counts: &mut Counts) {
        let entered = counts.iter_mut().map(|n| *n as f32).collect();
        self.batches[batch_ix] = Some(Entry { step, n_docs, counts: entered });
        counts.iter_mut().for_each(|n| *n = 0.0);
        let kept = 1.0 - LOST / (1 + step / self.n_batches()) as f64;
        let worth = |entry: &Entry| entry.n_docs * kept.powf(step.saturating_sub(entry.step) as f64);
        let all: f64 = self.batches.iter().flatten().map(worth).sum();
        for entry in self.batches.iter().flatten() {
            let share = worth(entry) / all;
            counts.iter_mut().zip(&entry.counts).for_each(|(sum, &n)| *sum += share * f64::from(n));
        }
        if self.batches.iter().all(Option::is_some) {
            self.start = None;
        }
    }

    /// Draws new weights towards those that training started from, as long as batches are missing.
    pub(super) fn draw_back(&self, weights: &mut Weights) {
        let Some((edge, leak)) = &self.start else { return };
        let seen = self.batches.iter().flatten().count() as f64;
        let m = UNSEEN * (self.batches.len() as f64 - seen) / seen.max(1.0);
        for (weights, start) in [(&mut weights.edge, edge), (&mut weights.leak, leak)] {
            weights
                .iter_mut()
                .zip(start)
                .for_each(|(w, &start)| *w = (*w + m * f64::from(start)) / (1.0 + m));
        }
    }
}

/// Keeps those of the first entries that are marked, and all behind them.
pub(super) fn keep_first<T>(list: &mut Vec<T>, kept: &[bool]) {
    let mut marks = kept.iter();
    list.retain(|_| marks.next() != Some(&false));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_batches_count_by_epochs_and_small_ones_by_steps() {
        let by = |t: f64| (t + 2.0_f64).powf(-0.55);
        assert_eq!(batch_weight(40, 10, 5_000.0), by(40.0));
        assert_eq!(batch_weight(40, 10, 99_999.0), by(40.0), "batches of 9,999 and 10,000 documents");
        assert_eq!(batch_weight(40, 10, 500_000.0), by(4.0));
        assert_eq!(batch_weight(0, 10, 500_000.0), by(0.0));
    }

    #[test]
    fn kept_are_large_batches_of_which_there_are_not_too_many() {
        assert!(Ledger::is_for(430_213.0, 9));
        for (n_docs, n_batches) in [(430_213.0, 1), (430_213.0, 44), (20_000.0, 10), (1e7, 200)] {
            assert!(!Ledger::is_for(n_docs, n_batches), "{n_docs} documents in {n_batches} batches");
        }
    }
}
