//! The log-likelihood of documents, estimated by sampling their topics, with a standard error; for networks of any size.
//!
//! By annealed importance sampling: `E[w] = p(y)` for the weight w of a chain, so the mean of the weights is unbiased, and its
//! logarithm lies low by about half its squared standard error. Plain importance sampling from mean field is here to compare with:
//! it does not know of the configurations that mean field has missed, and claims an effective sample size that it has not.

mod anneal;
mod document;
#[doc(hidden)] // for tests
pub mod proposal;
mod weights;

use crate::corpus::{Docs, Item};
use crate::error::{Error, Result};
use crate::estep::{Bound, DocResults, EStep, EStepOptions, Params, Work};
use crate::mcmc::Shared;
use crate::monitor::Monitor;
use crate::network::Network;
use document::Worker;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::atomic::Ordering;
pub(crate) use weights::mean as mean_of_weights;

/// Samples of a document unless told otherwise.
pub const SAMPLES: usize = 100;
/// Topics times documents whose q is kept at a time.
const SLICE_Q: usize = 1 << 22;
/// Documents whose q is kept at a time at most: between them stop requests are looked at while E-steps run.
const MOST_DOCS: usize = 1024;

/// How samples are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Annealed importance sampling from the softened marginals of the proposal.
    Annealed,
    /// Importance sampling from the proposal and a defensive piece.
    Importance,
}

/// How a likelihood is estimated.
#[derive(Debug, Clone)]
pub struct Options {
    /// Samples of a document, at least two.
    pub samples: usize,
    /// Seed of the random numbers.
    pub seed: u64,
    /// How they are made.
    pub method: Method,
    /// The E-step that gives the proposal; whatever the bound, all topics are in every document.
    pub estep: EStepOptions,
}

impl Default for Options {
    fn default() -> Self {
        Self { samples: SAMPLES, seed: 0, method: Method::Annealed, estep: EStepOptions::default() }
    }
}

impl Options {
    /// Checks that the numbers make sense.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] that names the option.
    pub fn check(&self) -> Result<()> {
        if self.samples < 2 {
            return Err(Error::Usage(format!(
                "a likelihood needs at least two samples a document, for its standard error; it is {}",
                self.samples
            )));
        }
        self.estep.check()
    }
}

/// What is known of a document.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The estimate of log p(y).
    pub log_p: f64,
    /// Its standard error.
    pub se: f64,
    /// Effective sample size of the weights.
    pub ess: f64,
    /// log of the summed joint probabilities of all different configurations met: a lower bound of log p(y).
    pub configurations: f64,
}

/// The estimates of a corpus. Identical documents share one.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimates {
    estimates: Vec<Estimate>,
    /// How many documents share each.
    counts: Vec<u32>,
    /// Which one every document has.
    places: Vec<u32>,
}

/// Means over the documents.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Means {
    /// Of the estimates.
    pub log_p: f64,
    /// Standard error of `log_p`, by sampling alone: identical documents have the same error.
    pub se: f64,
    /// Of the effective sample sizes.
    pub ess: f64,
    /// Of the lower bounds by configurations.
    pub configurations: f64,
}

impl Estimates {
    /// The estimate of a document.
    pub fn doc(&self, doc_ix: usize) -> Estimate {
        self.estimates[self.places[doc_ix] as usize]
    }

    /// Means over the documents; none without any.
    pub fn means(&self) -> Option<Means> {
        let n_docs = self.places.len() as f64;
        let sum = |term: &dyn Fn(&Estimate, f64) -> f64| -> f64 {
            self.estimates.iter().zip(&self.counts).map(|(e, &count)| term(e, f64::from(count))).sum()
        };
        (n_docs > 0.0).then(|| Means {
            log_p: sum(&|e, count| count * e.log_p) / n_docs,
            se: sum(&|e, count| (count * e.se).powi(2)).sqrt() / n_docs,
            ess: sum(&|e, count| count * e.ess) / n_docs,
            configurations: sum(&|e, count| count * e.configurations) / n_docs,
        })
    }
}

/// Estimates the log-likelihood of every document.
///
/// # Errors
///
/// [`Error::Usage`] for options that make no sense; else as [`infer::run`](crate::infer::run).
pub fn estimate(
    network: &Network,
    docs: Docs<'_>,
    options: &Options,
    estep: &mut dyn EStep,
    monitor: &Monitor,
) -> Result<Estimates> {
    options.check()?;
    let (items, places) = distinct(&docs);
    let shared = Shared::new(&network.graph, &network.weights);
    let estep_options = EStepOptions { bound: Bound::Full, ..options.estep.clone() };
    let params = Params::derive(&network.graph, &network.weights, Bound::Full)?;
    let slice = (SLICE_Q / network.graph.n_topics().max(1)).clamp(1, MOST_DOCS);
    let mut estimates = Vec::with_capacity(items.len());
    for items in items.chunks(slice) {
        monitor.go_on()?;
        let q = mean_field(network, docs, items, &estep_options, &params, estep)?;
        let run = |worker: &mut Worker<'_>, (item, q): (&Item, &Vec<f32>)| {
            let estimate = worker.run(&docs, *item, q, monitor)?;
            monitor.docs_done.fetch_add(u64::from(item.count), Ordering::Relaxed);
            Ok(estimate)
        };
        let worker = || Worker::new(network, &shared, options);
        let of_slice: Vec<Estimate> =
            items.par_iter().zip(&q).map_init(worker, run).collect::<Result<_>>()?;
        estimates.extend(of_slice);
        docs.corpus().release();
    }
    Ok(Estimates { estimates, counts: items.iter().map(|item| item.count).collect(), places })
}

/// Documents that differ, in order, and which of them every document is.
pub(crate) fn distinct(docs: &Docs<'_>) -> (Vec<Item>, Vec<u32>) {
    let mut seen: FxHashMap<(Vec<u32>, bool, Vec<u32>), u32> = FxHashMap::default();
    let (mut items, mut places) = (Vec::new(), Vec::with_capacity(docs.n_docs()));
    for doc_ix in 0..docs.n_docs() {
        let (rest_unknown, listed) = docs.listed(doc_ix);
        let states = (docs.tokens(doc_ix).collect(), rest_unknown, listed.collect());
        let place = *seen.entry(states).or_insert(items.len() as u32);
        if place as usize == items.len() {
            items.push(Item { doc_ix: doc_ix as u32, count: 0 });
        }
        items[place as usize].count += 1;
        places.push(place);
    }
    (items, places)
}

/// Mean field's q of every topic of the network, item by item.
fn mean_field(
    network: &Network,
    docs: Docs<'_>,
    items: &[Item],
    options: &EStepOptions,
    params: &Params,
    estep: &mut dyn EStep,
) -> Result<Vec<Vec<f32>>> {
    let mut q = Vec::with_capacity(items.len());
    let mut collect = |results: &DocResults<'_>| {
        for doc_ix in 0..results.n_docs() {
            let (topics, of_topics) = results.doc(doc_ix);
            let mut dense = vec![0.0; network.graph.n_topics()];
            topics.iter().zip(of_topics).for_each(|(&topic, &q)| dense[topic as usize] = q);
            q.push(dense);
        }
        Ok(())
    };
    // Progress is counted by documents sampled.
    let monitor = &Monitor::default();
    let work = Work {
        graph: &network.graph,
        params,
        docs,
        items,
        options,
        gradients: false,
        kept_on: None,
        monitor,
    };
    estep.run(&work, Some(&mut collect))?;
    Ok(q)
}
