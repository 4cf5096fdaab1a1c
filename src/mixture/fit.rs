//! EM: documents are shared out among components, and components become what their documents hold.

use super::estep::{Block, Responsibility, Scores};
use super::{Mixture, MixtureOptions};
use crate::corpus::{Docs, Item, RELEASE_DOCS, token_frequency};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::rng::{Stream, rng};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::sync::atomic::Ordering;

/// Documents that one thread shares out at a time.
const BLOCK: usize = 64;
/// Documents after which their shares are counted: shares of all documents at once could fill the memory.
const SLICE: usize = RELEASE_DOCS;
/// The range of probabilities: none is impossible, and none certain.
const P_RANGE: (f64, f64) = (1e-12, 1.0 - 1e-6);
/// A component of a smaller share has died.
pub(super) const DEAD: f64 = 1e-5;
/// Iterations after which dead components may begin anew, at most.
const RENEWALS: u32 = 5;
/// Smoothing to choose from, by one document in so many, after so many iterations at most.
const LADDER: [f64; 4] = [1.0, 4.0, 16.0, 64.0];
const HELD_OUT: usize = 10;
const TRIAL: u32 = 15;
/// A component that begins at a document is that much like it, and otherwise like all documents.
const SEED: f64 = 0.7;

/// How many documents [`Mixture::fit`] will have counted in its monitor at the end, at most.
pub fn mixture_work(n_docs: usize, options: &MixtureOptions) -> u64 {
    let trials = LADDER.len() as u64 * (u64::from(options.iterations.min(TRIAL)) + 1);
    n_docs as u64 * (u64::from(options.iterations) + 1 + if options.smoothing.is_none() { trials } else { 0 })
}

/// What an iteration adds up: documents of each component, and of each component and column.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts {
    /// N_k.
    pub docs: Vec<f64>,
    /// N_kt, component by component; where tokens are unknown, U_kt behind those of the component.
    pub tokens: Vec<f64>,
}

/// Documents and what is known of them.
pub(crate) struct Data<'a> {
    docs: Docs<'a>,
    items: Vec<Item>,
    n_docs: f64,
    frequency: Vec<f64>,
    /// Tokens, and where some are unknown as many shadows that stand for them.
    n_columns: usize,
    monitor: &'a Monitor,
}

impl Mixture {
    /// Fits a mixture to the documents `doc_ixs` by EM, in
    ///
    /// ```text
    /// r_dk = p(d, k) / sum_j p(d, j),   N_k = sum_d r_dk,   N_kt = sum of r_dk over documents that hold t
    /// pi_k = N_k / D,   P_kt = (N_kt + s p_t) / (N_k + s)
    /// ```
    ///
    /// where p_t is the share of the documents that hold t and s the smoothing. Unknown tokens count as absent. Identical documents are computed once. The same
    /// documents, options and seed give the same mixture, whatever the number of threads.
    pub fn fit(
        docs: Docs<'_>,
        doc_ixs: &[u32],
        n_tokens: usize,
        options: &MixtureOptions,
        monitor: &Monitor,
    ) -> Result<Self> {
        let is_sound = options.smoothing.is_none_or(|smoothing| smoothing > 0.0 && smoothing.is_finite());
        if options.components == 0 || !is_sound || doc_ixs.is_empty() || n_tokens == 0 {
            let message = "a mixture needs documents, tokens, one component or more, and smoothing above 0";
            return Err(Error::Usage(message.into()));
        }
        let smoothing = match options.smoothing {
            Some(smoothing) => smoothing,
            None => {
                let mut doc_ixs = doc_ixs.to_vec();
                doc_ixs.shuffle(&mut rng(options.seed, Stream::Mixture));
                let (held_out, rest) = doc_ixs.split_at(doc_ixs.len() / HELD_OUT);
                let data = |doc_ixs| Data::new(docs, doc_ixs, n_tokens, monitor);
                data(rest).choose_smoothing(&data(held_out), options)?
            }
        };
        Data::new(docs, doc_ixs, n_tokens, monitor).climb(options, smoothing, options.iterations)
    }
}

impl<'a> Data<'a> {
    /// The smoothing under which documents held out are likeliest, of a ladder that is climbed as long as it helps.
    fn choose_smoothing(&self, held_out: &Self, options: &MixtureOptions) -> Result<f64> {
        if held_out.items.is_empty() {
            return Ok(LADDER[0]);
        }
        let (mut best, mut scores) = ((f64::NEG_INFINITY, LADDER[0]), Scores::default());
        for smoothing in LADDER {
            let mixture = self.climb(options, smoothing, options.iterations.min(TRIAL))?;
            scores.set(&mixture.shares, &mixture.p, self.frequency.len(), self.n_columns);
            let log_likelihood = held_out.share_out(&scores, None)?;
            if log_likelihood <= best.0 {
                break;
            }
            best = (log_likelihood, smoothing);
        }
        Ok(best.1)
    }

    /// EM from seeds, for so many iterations at most.
    fn climb(&self, options: &MixtureOptions, smoothing: f64, iterations: u32) -> Result<Mixture> {
        let mut random = rng(options.seed, Stream::Mixture);
        let mut mixture = self.seeded(options.components, &mut random);
        let (mut scores, mut counts) = (Scores::default(), self.counts(options.components));
        let (mut n_renewals, mut was_renewed) = (0, false);
        for iteration in 0.. {
            let now = self.expect(&mut mixture, smoothing, &mut scores, &mut counts)?;
            let gain = now - mixture.course.last().copied().unwrap_or(f64::NEG_INFINITY);
            mixture.course.push(now);
            if iteration >= iterations || (gain < options.tolerance && !was_renewed) {
                break;
            }
            self.step(&counts, smoothing, &mut mixture);
            was_renewed = n_renewals < RENEWALS && self.renew(&mut mixture, &mut random);
            n_renewals += u32::from(was_renewed);
        }
        // What died since has no time left, but must not be nothing.
        self.renew(&mut mixture, &mut random);
        Ok(mixture)
    }

    /// Documents whose unknown tokens count as absent.
    pub(crate) fn new(docs: Docs<'a>, doc_ixs: &[u32], n_tokens: usize, monitor: &'a Monitor) -> Self {
        let frequency = token_frequency(&docs, doc_ixs, n_tokens);
        let (items, n_docs) = (Item::shared(&docs, doc_ixs), doc_ixs.len() as f64);
        Self { docs, items, n_docs, frequency, n_columns: n_tokens, monitor }
    }

    /// Documents whose unknown tokens are summed out.
    pub(crate) fn with_unknown(
        docs: Docs<'a>,
        doc_ixs: &[u32],
        n_tokens: usize,
        monitor: &'a Monitor,
    ) -> Self {
        let data = Self::new(docs, doc_ixs, n_tokens, monitor);
        match docs.has_unknown() {
            true => Self { docs: docs.with_shadows(), n_columns: 2 * n_tokens, ..data },
            false => data,
        }
    }

    /// Room for what an iteration adds up.
    pub(crate) fn counts(&self, n_components: usize) -> Counts {
        Counts { docs: vec![0.0; n_components], tokens: vec![0.0; n_components * self.n_columns] }
    }

    /// Share of the documents that hold each token.
    pub(crate) fn frequency(&self) -> &[f64] {
        &self.frequency
    }

    /// Components begun at documents, those of `which`: each counts for about one document, and no two count the same, or components
    /// that begin at the same document would stay equal.
    pub(crate) fn count_seeds(&self, counts: &mut Counts, which: &[usize], random: &mut ChaCha8Rng) {
        let mut items = self.items.clone();
        let (drawn, _) = items.partial_shuffle(random, which.len());
        for (at, &component) in which.iter().enumerate() {
            let size = random.random_range(0.5..1.5);
            counts.docs[component] = size;
            let columns = &mut counts.tokens[component * self.n_columns..][..self.n_columns];
            columns.fill(0.0);
            // Without documents all are alike.
            let Some(item) = drawn.get(at % drawn.len().max(1)) else { continue };
            self.docs.tokens(item.doc_ix as usize).for_each(|column| columns[column as usize] = size);
        }
    }

    /// Begins components anew that have died; whether there were any.
    pub(crate) fn renew_counts(&self, counts: &mut Counts, random: &mut ChaCha8Rng) -> bool {
        let dead: Vec<usize> =
            (0..counts.docs.len()).filter(|&component| counts.docs[component] < DEAD * self.n_docs).collect();
        self.count_seeds(counts, &dead, random);
        !dead.is_empty()
    }

    /// The mean log-likelihood of the documents.
    pub(crate) fn mean(&self, mixture: &Mixture, scores: &mut Scores) -> Result<f64> {
        scores.set(&mixture.shares, &mixture.p, self.frequency.len(), self.n_columns);
        Ok(self.share_out(scores, None)? / self.n_docs)
    }

    /// The E-step: the mean log-likelihood and the counts; returns what EM climbs.
    pub(crate) fn expect(
        &self,
        mixture: &mut Mixture,
        smoothing: f64,
        scores: &mut Scores,
        counts: &mut Counts,
    ) -> Result<f64> {
        scores.set(&mixture.shares, &mixture.p, self.frequency.len(), self.n_columns);
        let n_docs = self.n_docs.max(1.0);
        mixture.log_likelihood = self.share_out(scores, Some(counts))? / n_docs;
        Ok(mixture.log_likelihood + self.log_prior(mixture, smoothing) / n_docs)
    }

    /// Components of equal shares, each begun at a document of its own as long as there are any.
    fn seeded(&self, n: usize, random: &mut ChaCha8Rng) -> Mixture {
        let n_tokens = self.frequency.len();
        let mut mixture = Mixture {
            shares: vec![1.0 / n as f64; n],
            p: vec![0.0; n * n_tokens],
            frequency: self.frequency.clone(),
            log_likelihood: f64::NEG_INFINITY,
            course: Vec::new(),
        };
        let mut items = self.items.clone();
        let (drawn, _) = items.partial_shuffle(random, n);
        for component in 0..n {
            let item = drawn[component % drawn.len()];
            self.begin(&mut mixture, component, item, random);
        }
        mixture
    }

    /// Begins a component at a document: `P_kt = a x_dt + (1 - a) p_t`, where a is about [`SEED`]; components that begin at
    /// the same document must not be equal, or they would stay so.
    fn begin(&self, mixture: &mut Mixture, component: usize, item: Item, random: &mut ChaCha8Rng) {
        let like = SEED * random.random_range(0.9..1.1);
        let n_tokens = self.frequency.len();
        let p = &mut mixture.p[component * n_tokens..][..n_tokens];
        for (p, share) in p.iter_mut().zip(&self.frequency) {
            *p = ((1.0 - like) * share).clamp(P_RANGE.0, P_RANGE.1);
        }
        for token in self.docs.tokens(item.doc_ix as usize) {
            // Shadows are behind the tokens.
            if let Some(p) = p.get_mut(token as usize) {
                *p = (*p + like).min(P_RANGE.1);
            }
        }
    }

    /// Begins components anew that have died; whether there were any. They have the share of one document.
    pub(super) fn renew(&self, mixture: &mut Mixture, random: &mut ChaCha8Rng) -> bool {
        let dead: Vec<usize> =
            (0..mixture.n_components()).filter(|&component| mixture.shares[component] < DEAD).collect();
        for &component in &dead {
            let item = self.items[random.random_range(0..self.items.len())];
            self.begin(mixture, component, item, random);
            mixture.shares[component] = DEAD.max(1.0 / self.n_docs).min(1.0 / mixture.n_components() as f64);
        }
        let sum: f64 = mixture.shares.iter().sum();
        mixture.shares.iter_mut().for_each(|share| *share /= sum);
        !dead.is_empty()
    }

    /// Counts what every component has of the documents; the sum of their log p(d).
    fn share_out(&self, scores: &Scores, mut counts: Option<&mut Counts>) -> Result<f64> {
        if let Some(counts) = &mut counts {
            counts.docs.fill(0.0);
            counts.tokens.fill(0.0);
        }
        let mut log_p = 0.0;
        for items in self.items.chunks(SLICE) {
            let share_out = |scratch: &mut Vec<f32>, items: &[Item]| {
                self.monitor.go_on()?;
                let (mut block, mut parts) = (Block::default(), Vec::new());
                for item in items {
                    block.tokens.extend(self.docs.tokens(item.doc_ix as usize));
                    block.ends.push(block.tokens.len());
                }
                let log_p = scores.run(&block, scratch, &mut parts);
                let n_docs: u64 = items.iter().map(|item| u64::from(item.count)).sum();
                self.monitor.docs_done.fetch_add(n_docs, Ordering::Relaxed);
                Ok((log_p, parts))
            };
            let blocks = items.par_chunks(BLOCK).map_init(Vec::new, share_out).collect::<Result<Vec<_>>>()?;
            for (items, (logs, _)) in items.chunks(BLOCK).zip(&blocks) {
                for (item, log) in items.iter().zip(logs) {
                    log_p += f64::from(item.count) * log;
                }
            }
            self.docs.corpus().release();
            let Some(counts) = &mut counts else { continue };
            let mut of_component: Vec<Vec<(Item, f64)>> = vec![Vec::new(); counts.docs.len()];
            for (items, (_, parts)) in items.chunks(BLOCK).zip(&blocks) {
                for &Responsibility { item, component, share } in parts {
                    let item = items[item as usize];
                    of_component[component as usize].push((item, f64::from(share) * f64::from(item.count)));
                }
            }
            // A thread has whole components, and takes their documents in order.
            let rows =
                counts.docs.par_iter_mut().zip(counts.tokens.par_chunks_exact_mut(self.n_columns.max(1)));
            rows.zip(of_component).for_each(|((docs, tokens), parts)| {
                for (item, share) in parts {
                    *docs += share;
                    self.docs.tokens(item.doc_ix as usize).for_each(|token| tokens[token as usize] += share);
                }
            });
            self.docs.corpus().release();
        }
        Ok(log_p)
    }

    /// What smoothing adds to the log-likelihood: `s sum over k and t of p_t log P_kt + (1 - p_t) log(1 - P_kt)`.
    fn log_prior(&self, mixture: &Mixture, smoothing: f64) -> f64 {
        let log = |p: &[f64]| -> f64 {
            let terms = p.iter().zip(&self.frequency);
            terms.map(|(p, share)| share * p.ln() + (1.0 - share) * (-p).ln_1p()).sum()
        };
        let logs: Vec<f64> = mixture.p.par_chunks_exact(self.frequency.len().max(1)).map(log).collect();
        smoothing * logs.iter().sum::<f64>()
    }

    /// Shares and probabilities of what was counted.
    fn step(&self, counts: &Counts, smoothing: f64, mixture: &mut Mixture) {
        let pseudo = Pseudo::like_all(smoothing, &self.frequency);
        counts.maximise(&pseudo, mixture);
    }
}

/// Documents that are added to every component: to its share, those that hold each token, and all.
#[derive(Debug, Clone)]
pub struct Pseudo {
    /// a.
    pub shares: f64,
    /// s_t.
    pub on: Vec<f64>,
    /// s.
    pub all: f64,
}

impl Pseudo {
    /// So many documents, which hold each token as often as all do.
    pub(crate) fn like_all(n_docs: f64, frequency: &[f64]) -> Self {
        Self { shares: 0.0, on: frequency.iter().map(|p| n_docs * p).collect(), all: n_docs }
    }
}

impl Counts {
    /// The M-step, where U_kt are the documents of k in which t is unknown:
    ///
    /// ```text
    /// pi_k = (N_k + a) / sum_j (N_j + a),   P_kt = (N_kt + s_t) / (N_k - U_kt + s)
    /// ```
    pub fn maximise(&self, pseudo: &Pseudo, mixture: &mut Mixture) {
        let all: f64 = self.docs.iter().map(|docs| docs + pseudo.shares).sum();
        let n = self.docs.len() as f64;
        for (share, docs) in mixture.shares.iter_mut().zip(&self.docs) {
            // Without documents no component is known better than another.
            *share = if all > 0.0 { (docs + pseudo.shares) / all } else { 1.0 / n };
        }
        let n_tokens = mixture.frequency.len();
        let n_columns = self.tokens.len() / self.docs.len();
        // Where there are no tokens, there are no rows.
        let rows = mixture.p.par_chunks_exact_mut(n_tokens.max(1));
        let rows = rows.zip(self.tokens.par_chunks_exact(n_columns.max(1)));
        rows.zip(&self.docs).for_each(|((p, columns), docs)| {
            let (tokens, unknown) = columns.split_at(n_tokens);
            for (at, ((p, count), on)) in p.iter_mut().zip(tokens).zip(&pseudo.on).enumerate() {
                let known = docs - unknown.get(at).copied().unwrap_or(0.0);
                *p = ((count + on) / (known + pseudo.all)).clamp(P_RANGE.0, P_RANGE.1);
            }
        });
    }
}
