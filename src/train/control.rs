//! Control variates: the sums of a batch, corrected by what is known of the whole corpus (Wang, Chen, Smola and Xing 2013, carried over to
//! the counts of EM).
//!
//! How many training documents hold a token is known: a share f_j of them. A batch holds it with another share, s_j, and its counts are
//! the larger or the smaller for it. So documents are weighted as if the batch held the token as often as the corpus does. With
//! `m = n / s` the mean of a count over the documents that hold the token, and `e = (sum of q_k y_j) / s` that of q_k,
//!
//! ```text
//! n_0j <- f_j m_0j
//! n_kj / Q_k <- f_j m_kj / (f_j e_kj + (1 - f_j) (Q_k - s_j e_kj) / (1 - s_j))
//! ```
//!
//! A weight is a ratio, so Q_k is corrected with n_kj, for each token by itself: noise that both have in common cancels, and comes back
//! where only one of them is corrected. To first order this is `n_kj - c_kj (s_j - f_j)` with the coefficient of the residual
//! `n_kj - w_kj q_k`,
//!
//! ```text
//! c_kj = Cov(n_kj - w_kj q_k, y_j) / Var(y_j) = m_kj - w_kj (e_kj - Q_k) / (1 - f_j)
//! ```
//!
//! but it is never negative. n, Q and s may be averages over several batches, in which each counts for all three alike; a token that a
//! batch lacks then keeps its means. Gradients are not averaged: the coefficient with w = 1, from averages over earlier batches, corrects
//! them, which leaves them unbiased.
//!
//! E-steps do not sum `q_k y_j`. It is at least `N_kj (1 - exp(-w0_j - w_kj))`, and as much where r = 1. That is taken: variances at
//! fixed weights differ by less than one percent from those with the sum itself (`cargo bench --bench variance`).

use super::counts::Counts;
use crate::estep::Stats;
use crate::network::{Graph, Weights};
use std::sync::Arc;

/// A share below this says nothing: all documents that held the token have been forgotten.
const MIN_SHARE: f64 = 1e-250;

/// What is known of a batch's tokens.
#[derive(Debug, Clone)]
pub struct Control {
    /// Share of the training documents that hold each token.
    pub frequency: Arc<Vec<f64>>,
    /// Share of the batch's documents that do.
    pub share: Vec<f64>,
}

/// Averages over documents of what concerns an edge from topic k to token j.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EdgeMeans {
    /// `n_kj`, or `N_kj`.
    pub n: f64,
    /// `q_k`.
    pub q: f64,
    /// `q_k y_j`.
    pub joint: f64,
    /// `y_j`.
    pub share: f64,
}

impl EdgeMeans {
    /// `c_kj`: what the residual `n_kj - w q_k` gains by a document that holds the token, whose share of the corpus is `frequency`.
    /// Zero where the averages say nothing.
    pub fn coefficient(&self, w: f64, frequency: f64) -> f64 {
        if !is_told(self.share) || frequency >= 1.0 {
            return 0.0;
        }
        self.n / self.share - w * (self.joint / self.share - self.q) / (1.0 - frequency)
    }

    /// The count whose ratio to Q is the weight that documents ask for which hold the token as often as the corpus does.
    pub fn corrected(&self, frequency: f64) -> f64 {
        let Self { n, q, joint, share } = *self;
        let n = corrected_leak(n, share, frequency);
        if !is_told(share) || share >= 1.0 {
            return n;
        }
        let joint = joint.min(q).min(share); // a part is not more than the whole
        let q_corrected = frequency * joint / share + (1.0 - frequency) * (q - joint) / (1.0 - share);
        if q_corrected > 0.0 { n * q / q_corrected } else { n }
    }
}

/// The count of a token's leak were the token's share its frequency.
pub fn corrected_leak(n: f64, share: f64, frequency: f64) -> f64 {
    if is_told(share) { n / share * frequency } else { n }
}

/// The least sum of `q_k y_j` for a sum `N_kj`, at this weight and leak.
pub fn least_joint(n: f64, w: f64, leak: f64) -> f64 {
    n * -(-w - leak).exp_m1()
}

/// Whether averages in which a token has this share tell of it.
fn is_told(share: f64) -> bool {
    share > MIN_SHARE
}

impl Control {
    /// Whether averages tell nothing of a node: it is a token that training documents hold, but none of those that were averaged.
    pub(super) fn is_untold(&self, graph: &Graph, averages: &Counts, node: usize) -> bool {
        let is_seen = |token: usize| averages.share.get(token).is_some_and(|&share| is_told(share));
        let token = node.checked_sub(graph.n_topics());
        token.is_some_and(|token| self.frequency[token] > 0.0 && !is_seen(token))
    }

    /// Averages of counts as documents would have them which hold tokens as often as the corpus does.
    pub(super) fn correct(&self, graph: &Graph, weights: &Weights, averages: &Counts) -> Counts {
        let mut corrected = averages.clone();
        for (token, (&frequency, &share)) in self.frequency.iter().zip(&averages.share).enumerate() {
            let node = graph.n_topics() + token;
            corrected.leak[node] = corrected_leak(averages.leak[node], share, frequency);
            for at in graph.edges_into(node) {
                let (n, w) = (averages.edge[at], weights.edge[at]);
                let q = averages.topic_q[graph.edge_parents()[at] as usize];
                let joint = least_joint(n / w, w, weights.leak[node]);
                corrected.edge[at] = EdgeMeans { n, q, joint, share }.corrected(frequency);
            }
        }
        corrected
    }

    /// A batch's sums N and L, corrected by coefficients from averages over earlier batches.
    pub(super) fn correct_sums(
        &self,
        graph: &Graph,
        weights: &Weights,
        averages: &Counts,
        sums: &Stats,
    ) -> Stats {
        let mut corrected = sums.clone();
        let shares = self.share.iter().zip(&averages.share);
        for (token, (&frequency, (&share, &known))) in self.frequency.iter().zip(shares).enumerate() {
            let node = graph.n_topics() + token;
            let excess = sums.n_docs * (share - frequency);
            if !is_told(known) || excess == 0.0 {
                continue;
            }
            corrected.leak[node] -= averages.leak[node] / known * excess;
            for at in graph.edges_into(node) {
                let n = averages.edge[at];
                let q = averages.topic_q[graph.edge_parents()[at] as usize];
                let joint = least_joint(n, weights.edge[at], weights.leak[node]).min(q).min(known);
                let means = EdgeMeans { n, q, joint, share: known };
                corrected.edge[at] -= means.coefficient(1.0, frequency) * excess;
            }
        }
        corrected
    }
}
