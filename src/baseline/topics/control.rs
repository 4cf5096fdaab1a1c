//! Control variates (Wang, Chen, Smola, Xing 2013): what a batch has too much of a word is known, and taken back.
//!
//! Of topic k and word v a document has `g = D n_dv phi_dv^k`. The running mean `phib_v^k` of phi over documents with v gives
//! `h = D n_dv phib_v^k`, which is much like g, and whose mean over all documents is known: `E[h] = c_v phib_v^k`. So
//!
//! ```text
//! gbar - a_k (hbar - E[h])
//! ```
//!
//! has the mean of gbar and less variance. `a_k = sum_v Cov(g, h) / sum_v Var(h)` over documents, where n_dv is 0 or 1 with mean
//! f_v = c_v / D, so `Cov = (1 - f_v) E[gh]` and `Var = (1 - f_v) E[h^2]`. Both phib and a come from earlier batches: given them, the corrected
//! gradient is unbiased.

use super::lambda::Known;
use super::sums::Sums;

/// Running means.
#[derive(Debug, Clone, PartialEq)]
pub struct Control {
    /// phib, token by token.
    pub(super) mean: Vec<f64>,
    /// Documents that each token's mean stands for.
    pub(super) weight: Vec<f64>,
    /// sum_v Cov(g, h) / D^2 of each topic.
    pub(super) cov: Vec<f64>,
    /// sum_v Var(h) / D^2 of each topic.
    pub(super) var: Vec<f64>,
}

impl Control {
    pub(super) fn new(n_topics: usize, n_tokens: usize) -> Self {
        Self {
            mean: vec![0.0; n_topics * n_tokens],
            weight: vec![0.0; n_tokens],
            cov: vec![0.0; n_topics],
            var: vec![0.0; n_topics],
        }
    }

    /// phib of a word.
    pub(super) fn mean_of(&self, word: u32) -> &[f64] {
        let n_topics = self.cov.len();
        &self.mean[word as usize * n_topics..][..n_topics]
    }

    /// a_k.
    pub(super) fn coefficient(&self, topic: usize) -> f64 {
        coefficient(self.cov[topic], self.var[topic])
    }

    /// Takes `a_k (hbar - E[h])` from a word's row; `excess` is `(D / B) n_v - c_v`.
    pub(super) fn correct(&self, word: u32, excess: f64, row: &mut [f64]) {
        for (topic, (x, mean)) in row.iter_mut().zip(self.mean_of(word)).enumerate() {
            *x -= self.coefficient(topic) * mean * excess;
        }
    }

    /// `sum_v n_v phib_v^k` for numbers of words: h of a document, or `E[h]` of all.
    pub(super) fn total(&self, words: impl Iterator<Item = (u32, f64)>, out: &mut [f64]) {
        out.fill(0.0);
        for (word, n) in words {
            out.iter_mut().zip(self.mean_of(word)).for_each(|(sum, mean)| *sum += n * mean);
        }
    }

    /// Learns from a batch, after it was used.
    pub(super) fn learn(&mut self, sums: &Sums, known: &Known, rate: f64) {
        let n_topics = self.cov.len();
        let (mut cov, mut var) = (vec![0.0; n_topics], vec![0.0; n_topics]);
        self.weight.iter_mut().for_each(|weight| *weight *= 1.0 - rate);
        for (word, n, phi) in sums.words() {
            let rest = (1.0 - known.counts[word as usize] / known.n_docs) / sums.n_docs;
            let mean = &mut self.mean[word as usize * n_topics..][..n_topics];
            for topic in 0..n_topics {
                cov[topic] += rest * mean[topic] * phi[topic];
                var[topic] += rest * mean[topic] * mean[topic] * n;
            }
            let more = rate * known.n_docs / sums.n_docs;
            let weight = &mut self.weight[word as usize];
            *weight += more * n;
            let share = more / *weight;
            mean.iter_mut().zip(phi).for_each(|(mean, phi)| *mean += share * (phi - n * *mean));
        }
        for (running, batch) in [(&mut self.cov, cov), (&mut self.var, var)] {
            running.iter_mut().zip(batch).for_each(|(running, batch)| *running += rate * (batch - *running));
        }
    }
}

/// Cov / Var: 0 where nothing varies.
pub(in crate::baseline) fn coefficient(cov: f64, var: f64) -> f64 {
    if var > 0.0 { cov / var } else { 0.0 }
}
