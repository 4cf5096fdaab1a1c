//! Expected words of topics, for the words of some documents: `E log beta_kv = psi(lam_kv) - psi(lam_k.)`.

use super::lambda::Lambda;
use super::membership::LEAST;
use crate::corpus::Docs;
use crate::gamma::digamma;
use rayon::prelude::*;

const NONE: u32 = u32::MAX;

/// Rows of K numbers, one a word that occurs.
#[derive(Debug, Default)]
pub struct Rows {
    /// Words that occur, ascending by first use.
    pub(super) words: Vec<u32>,
    /// Each token's place among them.
    places: Vec<u32>,
    n_topics: usize,
    table: Vec<f64>,
    /// log of the factor that each row is missing.
    offsets: Vec<f64>,
}

impl Rows {
    /// For the words of these documents. `logs`: E log beta; else its exp, over the largest of the row, and at least 1e-150, so that
    /// no document is impossible.
    pub(super) fn of_docs(
        lambda: &Lambda,
        logs: bool,
        docs: &Docs<'_>,
        doc_ixs: &[u32],
        parallel: bool,
    ) -> Self {
        let tokens = doc_ixs.iter().flat_map(|&doc_ix| docs.tokens(doc_ix as usize));
        Self::of(lambda, logs, tokens, parallel)
    }

    /// For these words.
    pub(super) fn of(lambda: &Lambda, logs: bool, tokens: impl Iterator<Item = u32>, parallel: bool) -> Self {
        let mut rows =
            Self { places: vec![NONE; lambda.n_tokens()], n_topics: lambda.n_topics(), ..Self::default() };
        for token in tokens {
            let place = &mut rows.places[token as usize];
            if *place == NONE {
                *place = rows.words.len() as u32;
                rows.words.push(token);
            }
        }
        let psi_totals: Vec<f64> = lambda.totals().iter().map(|&total| digamma(total)).collect();
        rows.table.resize(rows.words.len() * rows.n_topics, 0.0);
        let fill = |(row, &word): (&mut [f64], &u32)| {
            for ((x, &lam), psi_total) in row.iter_mut().zip(lambda.of(word)).zip(&psi_totals) {
                *x = digamma(lam) - psi_total;
            }
            if logs {
                return 0.0;
            }
            let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            row.iter_mut().for_each(|x| *x = (*x - most).exp().max(LEAST));
            most
        };
        rows.offsets = if parallel {
            rows.table.par_chunks_exact_mut(rows.n_topics).zip(&rows.words).map(fill).collect()
        } else {
            rows.table.chunks_exact_mut(rows.n_topics).zip(&rows.words).map(fill).collect()
        };
        rows
    }

    /// K.
    pub(super) fn n_topics(&self) -> usize {
        self.n_topics
    }

    /// A word's place among those that occur.
    pub(super) fn place(&self, word: u32) -> Option<usize> {
        let place = self.places[word as usize];
        (place != NONE).then_some(place as usize)
    }

    /// A word's row and the logarithm of the factor it is missing.
    pub(in crate::baseline) fn row(&self, word: u32) -> (&[f64], f64) {
        let place = self.places[word as usize] as usize;
        (&self.table[place * self.n_topics..][..self.n_topics], self.offsets[place])
    }
}
