//! What the documents of a batch add up to.

use super::control::Control;
use super::local::{Found, Local};
use super::rows::Rows;
use crate::baseline::Training;
use crate::corpus::RELEASE_DOCS;
use crate::error::Result;
use rayon::prelude::*;
use std::sync::atomic::Ordering;

/// Documents of one thread at a time.
const BLOCK: usize = 16;
/// Documents whose phi are in memory at once.
const SLICE: usize = 512;

/// Sums over the documents of a batch, in their order.
#[derive(Debug)]
pub struct Sums {
    rows: Rows,
    /// B.
    pub(super) n_docs: f64,
    pub(super) score: f64,
    /// Documents with each word that occurs.
    n: Vec<f64>,
    /// sum_d phi_dv^k of each word that occurs.
    phi: Vec<f64>,
    /// [`Found::counts`] of every document.
    pub(in crate::baseline) counts: Vec<f64>,
    /// sum_v n_dv phib_v^k of every document, where counts are corrected.
    pub(in crate::baseline) h: Vec<f64>,
}

impl Sums {
    /// Finds the topics of these documents.
    pub(super) fn of<L: Local>(
        local: &L,
        options: &L::Options,
        control: Option<&Control>,
        rows: Rows,
        training: &Training<'_>,
        doc_ixs: &[u32],
    ) -> Result<Self> {
        let (n_topics, n_words) = (L::svi(options).topics, rows.words.len());
        let mut sums = Self {
            rows,
            n_docs: doc_ixs.len() as f64,
            score: 0.0,
            n: vec![0.0; n_words],
            phi: vec![0.0; n_words * n_topics],
            counts: Vec::new(),
            h: Vec::new(),
        };
        let mut h = vec![0.0; n_topics];
        for (slice, doc_ixs) in doc_ixs.chunks(SLICE).enumerate() {
            let blocks = doc_ixs.par_chunks(BLOCK).map_init(L::Scratch::default, |scratch, doc_ixs| {
                training.monitor.go_on()?;
                let infer = |&doc_ix: &u32| {
                    let words: Vec<u32> = training.docs.tokens(doc_ix as usize).collect();
                    let mut found = Found::default();
                    local.infer(options, &words, &sums.rows, scratch, &mut found);
                    (words, found)
                };
                let found: Vec<(Vec<u32>, Found)> = doc_ixs.iter().map(infer).collect();
                training.monitor.docs_done.fetch_add(doc_ixs.len() as u64, Ordering::Relaxed);
                Ok(found)
            });
            for (words, found) in blocks.collect::<Result<Vec<_>>>()?.into_iter().flatten() {
                sums.add(&words, &found, n_topics);
                if let Some(control) = control.filter(|_| !found.counts.is_empty()) {
                    control.total(words.iter().map(|&word| (word, 1.0)), &mut h);
                    sums.h.extend_from_slice(&h);
                }
            }
            if (slice + 1) % (RELEASE_DOCS / SLICE) == 0 {
                training.docs.corpus().release();
            }
        }
        training.docs.corpus().release();
        Ok(sums)
    }

    /// Of documents whose words and phi are given.
    #[cfg(test)]
    pub(in crate::baseline) fn given(
        n_topics: usize,
        n_tokens: usize,
        docs: impl Iterator<Item = Vec<(u32, Vec<f64>)>>,
    ) -> Self {
        let lambda = super::lambda::Lambda::new(vec![1.0; n_topics * n_tokens], n_topics);
        let rows = Rows::of(&lambda, true, 0..n_tokens as u32, false);
        let (n, phi) = (vec![0.0; n_tokens], vec![0.0; n_topics * n_tokens]);
        let mut sums = Self { rows, n_docs: 0.0, score: 0.0, n, phi, counts: Vec::new(), h: Vec::new() };
        for doc in docs {
            let (words, phi): (Vec<u32>, Vec<Vec<f64>>) = doc.into_iter().unzip();
            sums.add(&words, &Found { phi: phi.concat(), ..Found::default() }, n_topics);
            sums.n_docs += 1.0;
        }
        sums
    }

    fn add(&mut self, words: &[u32], found: &Found, n_topics: usize) {
        self.score += found.score;
        self.counts.extend_from_slice(&found.counts);
        for (&word, phi) in words.iter().zip(found.phi.chunks_exact(n_topics)) {
            let place = self.rows.place(word).expect("rows were made of these documents");
            self.n[place] += 1.0;
            let sums = &mut self.phi[place * n_topics..][..n_topics];
            sums.iter_mut().zip(phi).for_each(|(sum, phi)| *sum += phi);
        }
    }

    /// Words that occur: in how many documents, and their sums of phi.
    pub(super) fn words(&self) -> impl Iterator<Item = (u32, f64, &[f64])> {
        let n_topics = self.phi.len().checked_div(self.n.len()).unwrap_or(1);
        let words = self.rows.words.iter().zip(&self.n).zip(self.phi.chunks_exact(n_topics.max(1)));
        words.map(|((&word, &n), phi)| (word, n, phi))
    }

    /// The number of documents with a word, and its sums of phi.
    pub(super) fn of_word(&self, word: u32) -> Option<(f64, &[f64])> {
        let (place, n_topics) = (self.rows.place(word)?, self.phi.len() / self.n.len());
        Some((self.n[place], &self.phi[place * n_topics..][..n_topics]))
    }
}
