//! Smoothing: how counts of training documents become weights that hold for other documents, too.
//!
//! With n the counts of an edge over all training documents, Q the documents of its topic, `a_i = -log(1 - p_i)` the rate of a token of
//! frequency p, w0 its leak, and `b_i = max(a_i - w0_i, 0)`, what a topic adds that explains no more than the base rate, EM's step is
//!
//! ```text
//! w_ki = (max(n_ki - discount, 0) + shrink b_i) / (Q_k + shrink + lambda)
//! w0_i = (n_0i + leak_share a_i) / (1 + leak_share)
//! ```
//!
//! The **penalty** lambda draws weights towards zero. The **discount** takes away what counts of one or two documents promise too much, as in
//! language models. **Shrinkage** draws towards base rates: documents of every topic that hold tokens at their frequencies. The
//! **leak share** keeps up leaks of tokens that topics explain in training and will not explain elsewhere.
//!
//! How much of each is right depends on how many documents a topic has, so documents held out decide ([`Smoothing::fit`]): with their
//! own counts m and R, their bound owes `sum over edges of m_ki log w_ki - R_k w_ki` to the weights.

use super::counts::Counts;
use crate::network::Graph;
use serde::{Deserialize, Serialize};

/// The four amounts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Smoothing {
    /// Documents of every topic that hold nothing.
    pub lambda: f64,
    /// Documents taken off the count of every edge to a token.
    pub discount: f64,
    /// Documents of every topic that hold tokens at their frequencies.
    pub shrink: f64,
    /// Documents without topics, for every training document.
    pub leak_share: f64,
}

/// The amounts to choose from.
const LAMBDAS: [f64; 7] = [0.0, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];
const DISCOUNTS: [f64; 12] = [0.0, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 1.0, 1.5, 2.0, 3.0, 4.0];
const SHRINKS: [f64; 9] = [0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
const LEAK_SHARES: [f64; 10] = [0.0, 0.003, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0];
/// Rounds over the amounts: each is chosen while the others stay.
const ROUNDS: usize = 3;

/// What amounts are chosen by. Counts are per document.
pub(super) struct HeldOut<'a> {
    pub(super) graph: &'a Graph,
    /// Rates of the tokens in the training documents.
    pub(super) rates: &'a [f64],
    /// Training documents, and their counts.
    pub(super) n_docs: f64,
    pub(super) train: &'a Counts,
    /// The counts of the documents held out.
    pub(super) held: &'a Counts,
    /// The smallest edge weight and the smallest leak.
    pub(super) floors: (f64, f64),
}

impl Smoothing {
    /// The penalty alone.
    pub fn penalty(lambda: f64) -> Self {
        Self { lambda, discount: 0.0, shrink: 0.0, leak_share: 0.0 }
    }

    /// The weight of an edge to a token with these counts over all documents; `base`: what a topic of base rates would add.
    pub fn edge(&self, n: f64, q: f64, base: f64) -> f64 {
        ((n - self.discount).max(0.0) + self.shrink * base) / (q + self.shrink + self.lambda)
    }

    /// The leak of a token with so many counts per document and this rate.
    pub fn leak(&self, n: f64, rate: f64) -> f64 {
        (n + self.leak_share * rate) / (1.0 + self.leak_share)
    }

    /// What a topic would add to a token that explains no more than the base rate.
    pub(super) fn base(&self, n: f64, rate: f64) -> f64 {
        (rate - self.leak(n, rate)).max(0.0)
    }

    /// The amounts that the documents held out ask for.
    pub(super) fn fit(mut self, by: &HeldOut<'_>) -> Self {
        self.leak_share = best(&LEAK_SHARES, |leak_share| by.leaks(&Self { leak_share, ..self }));
        for _ in 0..ROUNDS {
            let before = self;
            self.discount = best(&DISCOUNTS, |discount| by.edges(&Self { discount, ..self }));
            self.shrink = best(&SHRINKS, |shrink| by.edges(&Self { shrink, ..self }));
            self.lambda = best(&LAMBDAS, |lambda| by.edges(&Self { lambda, ..self }));
            if self == before {
                break;
            }
        }
        self
    }
}

/// The choice of the highest value; of equals the first.
fn best(choices: &[f64], value: impl Fn(f64) -> f64) -> f64 {
    let valued = choices.iter().map(|&choice| (value(choice), choice));
    valued.fold((f64::NEG_INFINITY, 0.0), |best, this| if this.0 > best.0 { this } else { best }).1
}

impl HeldOut<'_> {
    /// What the bound of the documents held out owes to leaks of tokens, but for what does not depend on them.
    fn leaks(&self, smoothing: &Smoothing) -> f64 {
        let first = self.graph.n_topics();
        let term = |(token, &rate): (usize, &f64)| {
            let leak = smoothing.leak(self.train.leak[first + token], rate).max(self.floors.1);
            self.held.leak[first + token] * leak.ln() - leak
        };
        self.rates.iter().enumerate().map(term).sum()
    }

    /// The same of edges to tokens.
    fn edges(&self, smoothing: &Smoothing) -> f64 {
        let (graph, first) = (self.graph, self.graph.n_topics());
        let mut sum = 0.0;
        for (token, &rate) in self.rates.iter().enumerate() {
            let base = smoothing.base(self.train.leak[first + token], rate);
            for at in graph.edges_into(first + token) {
                let parent = graph.edge_parents()[at] as usize;
                let (n, q) = (self.train.edge[at] * self.n_docs, self.train.topic_q[parent] * self.n_docs);
                let w = smoothing.edge(n, q, base).max(self.floors.0);
                sum += self.held.edge[at] * w.ln() - self.held.topic_q[parent] * w;
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One topic above tokens, each with a count of the training documents and one of those held out.
    fn fitted(n_docs: f64, tokens: &[(f64, f64)]) -> Smoothing {
        let edges: Vec<(u32, u32)> = (1..=tokens.len() as u32).map(|token| (0, token)).collect();
        let (graph, _) = Graph::build(1, tokens.len(), &edges, &|node| node.to_string()).unwrap();
        let counts = |counts: Vec<f64>| Counts {
            edge: counts,
            leak: vec![1e-3; tokens.len() + 1],
            topic_q: vec![10.0 / n_docs],
            share: Vec::new(),
        };
        let train = counts(tokens.iter().map(|token| token.0 / n_docs).collect());
        let held = counts(tokens.iter().map(|token| token.1 / n_docs).collect());
        let (rates, floors) = (vec![1e-3; tokens.len()], (1e-5, 1e-6));
        let by = HeldOut { graph: &graph, rates: &rates, n_docs, train: &train, held: &held, floors };
        Smoothing::penalty(1.0).fit(&by)
    }

    #[test]
    fn counts_that_come_again_are_left_alone() {
        let same: Vec<(f64, f64)> = (0..200).map(|at| f64::from(at % 9)).map(|n| (n, n)).collect();
        assert_eq!(fitted(1_000.0, &same), Smoothing::penalty(0.0));
    }

    #[test]
    fn counts_of_one_document_that_do_not_come_again_are_discounted() {
        let less: Vec<(f64, f64)> =
            (0..200).map(|at| f64::from(at % 9)).map(|n| (n, (n - 0.75).max(0.02))).collect();
        let got = fitted(1_000.0, &less);
        assert!((0.5..=0.8).contains(&got.discount), "{got:?}");
    }
}
