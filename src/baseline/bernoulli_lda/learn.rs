//! One iteration of EM: sums of phi over the documents, in blocks, and b of them.

use super::{B_RANGE, BernoulliLda};
use crate::baseline::topics::{Membership, Until};
use crate::baseline::{Pass, Training};
use crate::corpus::{Item, RELEASE_DOCS};
use crate::error::Result;
use rayon::prelude::*;
use std::sync::atomic::Ordering;

/// Documents that one thread sums.
const BLOCK: usize = 256;

/// Sums over documents.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// Of L_d.
    pub(super) bound: f64,
    /// Of phi_dvk where v is present, topic by topic.
    pub(super) on: Vec<f64>,
    /// Of phi_dvk where v is known.
    pub(super) all: Vec<f64>,
}

impl Sums {
    pub(super) fn new(cells: usize) -> Self {
        Self { bound: 0.0, on: vec![0.0; cells], all: vec![0.0; cells] }
    }

    fn add(&mut self, other: &Self) {
        self.bound += other.bound;
        self.on.iter_mut().zip(&other.on).for_each(|(sum, more)| *sum += more);
        self.all.iter_mut().zip(&other.all).for_each(|(sum, more)| *sum += more);
    }
}

impl BernoulliLda {
    pub(super) fn em_step(&mut self, training: &Training<'_>) -> Result<Pass> {
        let (mut sums, n_topics) = (Sums::new(self.b.len()), self.options.topics);
        let items = Item::shared(&training.docs, training.train);
        let mut gammas = Vec::with_capacity(items.len() * n_topics);
        // Those of other documents are of no use.
        let go_on = self.gammas.len() == items.len() * n_topics;
        for (slice, slice_items) in items.chunks(RELEASE_DOCS).enumerate() {
            let blocks = slice_items.par_chunks(BLOCK).enumerate();
            let blocks = blocks.map_init(Membership::default, |document, (block, items)| {
                training.monitor.go_on()?;
                let (mut sums, mut gammas) =
                    (Sums::new(self.b.len()), Vec::with_capacity(items.len() * n_topics));
                for (at, item) in items.iter().enumerate() {
                    self.observe(&training.docs, item.doc_ix, document);
                    let place = slice * RELEASE_DOCS + block * BLOCK + at;
                    let before = go_on.then(|| &self.gammas[place * n_topics..][..n_topics]);
                    self.infer_again(before, document);
                    self.count(training, *item, document, &mut sums);
                    gammas.extend_from_slice(document.gamma());
                }
                let n_docs: u64 = items.iter().map(|item| u64::from(item.count)).sum();
                training.monitor.docs_done.fetch_add(n_docs, Ordering::Relaxed);
                Ok((sums, gammas))
            });
            for (of_block, gammas_of_block) in blocks.collect::<Result<Vec<_>>>()? {
                sums.add(&of_block);
                gammas.extend(gammas_of_block);
            }
            training.docs.corpus().release();
        }
        let n_docs = training.train.len().max(1) as f64;
        let objective = (sums.bound + self.log_prior()) / n_docs;
        let converged = self.objective.is_some_and(|before| objective - before < self.options.tolerance);
        (self.objective, self.gammas) = (Some(objective), gammas);
        self.maximise(&sums);
        Ok(Pass { train_score: Some(sums.bound / n_docs), steps: 1, converged })
    }

    /// Infers a document afresh, or from the gamma of the pass before where that was better already. Afresh alone, a pass may lose what
    /// another local optimum costs; from the gamma before alone, documents stay where the first pass put them, which is far worse.
    fn infer_again(&self, before: Option<&[f64]>, document: &mut Membership) {
        let mut least = f64::NEG_INFINITY;
        if before.is_some() {
            document.climb(self.prior(), before, Until { sweeps: 0, ..self.options.until() });
            least = document.bound(self.prior());
        }
        document.climb(self.prior(), None, self.options.until());
        if document.bound(self.prior()) < least {
            document.climb(self.prior(), before, self.options.until());
        }
    }

    /// Adds what an inferred document has.
    pub(super) fn count(&self, training: &Training<'_>, item: Item, document: &Membership, sums: &mut Sums) {
        let times = f64::from(item.count);
        sums.bound += times * document.bound(self.prior());
        document.add_phi(times, &mut sums.all, self.n_tokens);
        for token in training.docs.tokens(item.doc_ix as usize) {
            for (topic, phi) in document.phi(token as usize).enumerate() {
                sums.on[topic * self.n_tokens + token as usize] += times * phi;
            }
        }
    }

    /// What smoothing adds to the bound.
    pub(super) fn log_prior(&self) -> f64 {
        let (on, off) = (self.options.smoothing_on, self.options.smoothing_off);
        self.b.iter().map(|b| on * b.ln() + off * (-b).ln_1p()).sum()
    }

    pub(super) fn maximise(&mut self, sums: &Sums) {
        let (s1, s0) = (self.options.smoothing_on, self.options.smoothing_off);
        for ((b, on), all) in self.b.iter_mut().zip(&sums.on).zip(&sums.all) {
            // Without smoothing a topic may have no part in a word: it keeps what it had.
            if all + s1 + s0 > 0.0 {
                *b = ((on + s1) / (all + s1 + s0)).clamp(B_RANGE.0, B_RANGE.1);
            }
        }
    }
}
