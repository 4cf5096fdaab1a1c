//! Topics: q(beta_k) = Dir(lam_k1, ..., lam_kV).

use crate::corpus::{Docs, token_frequency};
use crate::rng::{Stream, rng};
use rand::RngExt;
use rayon::prelude::*;

/// lam starts at the prior and an equal share of the word's documents, times a number of this range.
const START: std::ops::Range<f64> = 0.3..1.7;
/// Tokens that one thread adds up.
const BLOCK: usize = 512;
/// The range of lam in a file.
pub(super) const LAMBDA_RANGE: (f64, f64) = (1e-6, 1e15);

/// lam, token by token, and its sums.
#[derive(Debug, Clone, PartialEq)]
pub struct Lambda {
    values: Vec<f64>,
    totals: Vec<f64>,
}

impl Lambda {
    pub(super) fn new(values: Vec<f64>, n_topics: usize) -> Self {
        let mut lambda = Self { values, totals: vec![0.0; n_topics] };
        lambda.sum();
        lambda
    }

    /// At random around an equal share of all documents' words.
    pub(super) fn start(n_topics: usize, eta: f64, known: &Known, seed: u64) -> Self {
        let mut random = rng(seed, Stream::Topics);
        let cells =
            known.counts.iter().flat_map(|count| std::iter::repeat_n(count / n_topics as f64, n_topics));
        let values = cells.map(|share| eta + share * random.random_range(START)).collect();
        Self::new(values, n_topics)
    }

    pub(super) fn n_topics(&self) -> usize {
        self.totals.len()
    }

    pub(super) fn n_tokens(&self) -> usize {
        self.values.len() / self.totals.len()
    }

    /// lam of a word, topic by topic.
    pub(super) fn of(&self, word: u32) -> &[f64] {
        &self.values[word as usize * self.n_topics()..][..self.n_topics()]
    }

    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// lam_k.
    pub(super) fn totals(&self) -> &[f64] {
        &self.totals
    }

    /// `lam <- lam + rate (target - lam)`, at least `least`; `target` writes one word's row.
    pub(super) fn advance(&mut self, rate: f64, least: f64, target: impl Fn(u32, &mut [f64]) + Sync) {
        let n_topics = self.n_topics();
        let blocks = self.values.par_chunks_mut(n_topics * BLOCK).enumerate();
        blocks.for_each_init(
            || vec![0.0; n_topics],
            |to, (block, rows)| {
                for (at, row) in rows.chunks_exact_mut(n_topics).enumerate() {
                    target((block * BLOCK + at) as u32, to);
                    row.iter_mut()
                        .zip(&*to)
                        .for_each(|(lam, to)| *lam = (*lam + rate * (to - *lam)).max(least));
                }
            },
        );
        self.sum();
    }

    /// lam_k., in blocks that do not depend on the number of threads.
    fn sum(&mut self) {
        let n_topics = self.n_topics();
        let add = |sums: &mut [f64], row: &[f64]| sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        let blocks = self.values.par_chunks(n_topics * BLOCK).map(|rows| {
            let mut sums = vec![0.0; n_topics];
            rows.chunks_exact(n_topics).for_each(|row| add(&mut sums, row));
            sums
        });
        let blocks: Vec<Vec<f64>> = blocks.collect();
        self.totals.fill(0.0);
        blocks.iter().for_each(|block| add(&mut self.totals, block));
    }

    /// `sum_k theta_k E[beta_kv]` for every word.
    pub(super) fn mix(&self, theta: &[f64]) -> Vec<f64> {
        let weights: Vec<f64> = theta.iter().zip(&self.totals).map(|(theta, total)| theta / total).collect();
        let dot = |row: &[f64]| row.iter().zip(&weights).map(|(lam, weight)| lam * weight).sum();
        self.values.chunks_exact(self.n_topics()).map(dot).collect()
    }
}

/// What is known of all training documents before any is looked at by the model.
#[derive(Debug)]
pub struct Known {
    /// D.
    pub(in crate::baseline) n_docs: f64,
    /// c_v, documents that hold each token.
    pub(super) counts: Vec<f64>,
}

impl Known {
    pub(super) fn of(docs: &Docs<'_>, doc_ixs: &[u32], n_tokens: usize) -> Self {
        let n_docs = doc_ixs.len() as f64;
        let counts = token_frequency(docs, doc_ixs, n_tokens).into_iter().map(|f| f * n_docs).collect();
        Self { n_docs, counts }
    }
}
