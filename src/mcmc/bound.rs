//! A lower bound of log p(y) by a Markov chain, and the variational bound at its marginals.
//!
//! ```text
//! log p(y) >= log sum over different states x of p(x, y),
//! ```
//!
//! over the states that a Gibbs sampler met, and those one flip away from them: the log-odds of the topic that is sampled next give
//! `log p(x with k flipped, y) = log p(x, y) -+ g_k`, so a neighbour is known whether the chain goes there or not.
//!
//! The shares of samples in which topics are on are marginals q; Eq. 9 at these, r at its best, is a lower bound as well.

use super::Model;
use super::configuration::Configuration;
use super::joint::{Joint, Shared};
use super::met::{Configurations, key};
use crate::corpus::{Docs, Item};
use crate::error::{Error, Result};
use crate::estep::cpu::Probe;
use crate::estep::{Bound, Params};
use crate::likelihood::distinct;
use crate::monitor::Monitor;
use crate::network::Network;
use crate::rng::{Stream, rng};
use rayon::prelude::*;
use std::sync::atomic::Ordering;

/// Samples of single topics in every document unless told otherwise: the paper's million.
pub const FLIPS: u64 = 1_000_000;
/// The bound is noted after so many samples, and ten times as many, and so on.
const FIRST_NOTE: u64 = 100;
/// Samples of single topics after which sums are made anew, and stop requests looked at.
const REFRESH: u64 = 1 << 16;
/// The chain begins with all topics off: the first tenth of the samples is left out of the marginals.
const BURN_IN: u64 = 10;
/// Iterations that r gets to reach its best.
const R_ITERATIONS: u32 = 1000;
/// Documents between two looks at a mapped corpus.
const SLICE_DOCS: usize = 1024;

/// How a chain is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundOptions {
    /// Samples of single topics in every document.
    pub flips: u64,
    /// The topics that are sampled.
    pub model: Model,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for BoundOptions {
    fn default() -> Self {
        Self { flips: FLIPS, model: Model::Full, seed: 0 }
    }
}

impl BoundOptions {
    /// Checks that the numbers make sense.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] that names the option.
    pub fn check(&self) -> Result<()> {
        match self.flips {
            0 => Err(Error::Usage("a chain needs at least one sample; `likelihood` mcmc has 0".into())),
            _ => Ok(()),
        }
    }

    /// When the bound is noted: after 100 samples, 1,000 and so on, and all.
    pub fn notes(&self) -> Vec<u64> {
        let powers = std::iter::successors(Some(FIRST_NOTE), |note| note.checked_mul(10));
        powers.take_while(|&note| note < self.flips).chain([self.flips]).collect()
    }
}

/// What a chain says of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct DocBound {
    /// log of the summed joint probabilities of all different states: a lower bound of log p(y).
    pub bound: f64,
    /// Eq. 9 at the marginals of the samples.
    pub elbo: f64,
    /// The bound after each of [`BoundOptions::notes`].
    pub curve: Vec<f64>,
}

/// The bounds of a corpus. Identical documents share one.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// When the bound was noted.
    pub notes: Vec<u64>,
    bounds: Vec<DocBound>,
    /// Which one every document has.
    places: Vec<u32>,
}

impl Bounds {
    /// The bounds of a document.
    pub fn doc(&self, doc_ix: usize) -> &DocBound {
        &self.bounds[self.places[doc_ix] as usize]
    }

    /// The mean of something over the documents; none without any.
    pub fn mean(&self, of: impl Fn(&DocBound) -> f64) -> Option<f64> {
        let sum: f64 = (0..self.places.len()).map(|doc_ix| of(self.doc(doc_ix))).sum();
        (!self.places.is_empty()).then(|| sum / self.places.len() as f64)
    }

    /// The mean bound after each number of samples.
    pub fn curve(&self) -> Vec<(u64, f64)> {
        let mean = |(at, &note): (usize, &u64)| Some((note, self.mean(|doc| doc.curve[at])?));
        self.notes.iter().enumerate().filter_map(mean).collect()
    }
}

/// Bounds the log-likelihood of every document. Unknown tokens are left out.
///
/// # Errors
///
/// [`Error::Usage`] for options that make no sense, [`Error::Numeric`] for weights that make none,
/// [`Error::Interrupted`] where the monitor says stop.
pub fn bounds(
    network: &Network,
    docs: Docs<'_>,
    options: &BoundOptions,
    monitor: &Monitor,
) -> Result<Bounds> {
    options.check()?;
    let (graph, weights) = (&network.graph, &network.weights);
    let (items, places) = distinct(&docs);
    let bound = if options.model == Model::Full { Bound::Full } else { Bound::Local };
    let params = Params::derive(graph, weights, bound)?;
    // Eq. 9 of documents with unknown tokens is that of a graph with shadows.
    let with_shadows = docs.has_unknown().then(|| (graph.with_shadows(), params.with_shadows(graph)));
    let (probed_graph, params, probed) = match &with_shadows {
        Some((graph, params)) => (graph, params, docs.with_shadows()),
        None => (graph, &params, docs),
    };
    let shared = Shared::new(graph, weights);
    let notes = options.notes();
    let worker = || Worker {
        joint: Joint::new(graph, options.model),
        x: Configuration::default(),
        met: Configurations::default(),
        q: vec![0.0; graph.n_topics()],
        probe: Probe::empty(probed_graph, bound, params),
    };
    let mut bounds = Vec::with_capacity(items.len());
    for items in items.chunks(SLICE_DOCS) {
        let run = |worker: &mut Worker<'_>, item: &Item| {
            worker.joint.load(&shared, &docs, *item);
            let curve = worker.run_chain(options, &notes, item.doc_ix, monitor)?;
            worker.probe.load(&probed, item.doc_ix);
            let elbo = worker.probe.bound_at(&worker.q, R_ITERATIONS);
            monitor.docs_done.fetch_add(u64::from(item.count), Ordering::Relaxed);
            Ok(DocBound { bound: worker.met.log(), elbo, curve })
        };
        let of_slice: Vec<DocBound> = items.par_iter().map_init(worker, run).collect::<Result<_>>()?;
        bounds.extend(of_slice);
        docs.corpus().release();
    }
    Ok(Bounds { notes, bounds, places })
}

/// One thread's memory.
struct Worker<'a> {
    joint: Joint,
    x: Configuration,
    met: Configurations,
    /// The marginals of every topic of the network.
    q: Vec<f32>,
    probe: Probe<'a>,
}

impl Worker<'_> {
    /// The chain of a document: the bound after each number of samples.
    fn run_chain(
        &mut self,
        options: &BoundOptions,
        notes: &[u64],
        doc_ix: u32,
        monitor: &Monitor,
    ) -> Result<Vec<f64>> {
        let Self { joint, x, met, .. } = self;
        let rng = &mut rng(options.seed, Stream::McmcBound(u64::from(doc_ix)));
        let n_topics = joint.n_topics();
        x.clear(joint);
        met.clear();
        met.add(x.key, x.log_joint);
        let mut n_on = vec![0u64; n_topics];
        let burn_in = options.flips / BURN_IN;
        let mut curve = Vec::with_capacity(notes.len());
        let mut topics = (0..n_topics).cycle();
        for done in 1..=options.flips {
            if done % REFRESH == 1 {
                monitor.go_on()?;
                x.refresh(joint);
            }
            // A model without topics has one state.
            let Some(topic) = topics.next() else {
                curve.resize(notes.len(), met.log());
                break;
            };
            let sign = if x.on[topic] { -1.0 } else { 1.0 };
            met.add(x.key ^ key(topic), x.log_joint + sign * x.gain[topic]);
            x.sample(joint, topic, rng);
            n_on[topic] += u64::from(done > burn_in && x.on[topic]);
            if notes.get(curve.len()) == Some(&done) {
                curve.push(met.log());
            }
        }
        self.q.fill(0.0);
        for (at, &n_on) in n_on.iter().enumerate() {
            // Samples number burn_in + 1 and later, of which every n-th was of the topic.
            let up_to = |flips: u64| (flips + (n_topics - 1 - at) as u64) / n_topics as u64;
            let n_sampled = up_to(options.flips) - up_to(burn_in);
            self.q[self.joint.topic(at)] = (n_on as f64 / n_sampled.max(1) as f64) as f32;
        }
        Ok(curve)
    }
}
