//! Refinement: planted topics that are found, budgets, the same result everywhere, honest endings.

#![allow(clippy::unwrap_used)]

mod endings;
mod finish;
mod planted;

use crate::common::*;
use noisyor::corpus::{Alignment, Corpus, split};
use noisyor::estep::cpu::CpuEStep;
use noisyor::estep::{EStep, EStepOptions, Monitor, Scale, Sink, Sums, Work};
use noisyor::network::{Init, Network, Weights};
use noisyor::rng::{Stream, rng};
use noisyor::train::{Begin, Ended, Event, Outcome, RefineOptions, RefineStage, TrainOptions, train};
use noisyor::{Error, Result};
use rand::RngExt;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

/// Themes of the planted corpus, words of each, and words of no theme.
const THEMES: u32 = 6;
const WORDS: u32 = 6;
const NOISE: u32 = 26;
const N_TOKENS: u32 = THEMES * WORDS + NOISE;

/// Every theme is in a fifth of the documents, with most of its words; the words of none are rare.
fn planted_docs(n_docs: u64, seed: u64) -> Vec<Vec<u32>> {
    let document = |doc: u64| {
        let rng = &mut rng(seed, Stream::SynthDocument(doc));
        let on: Vec<bool> = (0..THEMES).map(|_| rng.random_bool(0.2)).collect();
        let word = |token: &u32| match on.get((token / WORDS) as usize) {
            Some(true) => rng.random_bool(0.7),
            Some(false) => rng.random_bool(0.01),
            None => rng.random_bool(0.03),
        };
        (0..N_TOKENS).filter(word).collect()
    };
    (0..n_docs).map(document).collect()
}

/// A graph of given edges from topics to tokens, one topic a theme.
fn flat(edges: impl IntoIterator<Item = (u32, u32)>) -> Network {
    let edges: Vec<(u32, u32, f64)> =
        edges.into_iter().map(|(topic, token)| (topic, THEMES + token, 0.3)).collect();
    let n_nodes = (THEMES + N_TOKENS) as usize;
    network_of(THEMES as usize, N_TOKENS as usize, &edges, vec![0.05; n_nodes])
}

/// As many edges as themes have words, but any.
fn random(seed: u64) -> Network {
    let rng = &mut rng(seed, Stream::SynthNetwork);
    let mut edges = BTreeSet::new();
    while edges.len() < (THEMES * WORDS) as usize {
        edges.insert((rng.random_range(0..THEMES), rng.random_range(0..N_TOKENS)));
    }
    flat(edges)
}

struct Data {
    network: Network,
    corpus: Corpus,
    alignment: Alignment,
}

impl Data {
    fn new(network: Network, docs: Vec<Vec<u32>>) -> Self {
        let (corpus, alignment) = corpus_of(&network, docs);
        Self { network, corpus, alignment }
    }

    fn train_on(
        &self,
        options: TrainOptions,
        monitor: &Monitor,
        on_event: &mut dyn FnMut(&Event<'_>) -> Result<()>,
    ) -> Result<Outcome> {
        let (graph, given) = (&self.network.graph, Some(&self.network.weights));
        let (docs, options) = (self.alignment.docs(&self.corpus), options.check()?);
        let outcome =
            train(Begin::New(graph, given), docs, &options, &mut CpuEStep::new(), monitor, on_event)?;
        let weights = &outcome.weights;
        assert_eq!(weights.fault(&outcome.graph, &|node| node.to_string()), None);
        assert_eq!(weights.edge.len(), outcome.graph.n_edges());
        assert!(weights.leak.iter().chain(&weights.edge).all(|w| w.is_finite() && *w > 0.0));
        Ok(outcome)
    }

    fn train(&self, options: TrainOptions) -> Outcome {
        self.train_on(options, &Monitor::default(), &mut |_| Ok(())).unwrap()
    }

    /// The outcome and what refinement did.
    fn stages(&self, options: TrainOptions) -> (Outcome, Vec<(RefineStage, usize)>) {
        let mut stages = Vec::new();
        let mut on_event = |event: &Event<'_>| {
            if let Event::Refined { stage, n_edges } = *event {
                stages.push((stage, n_edges));
            }
            Ok(())
        };
        let outcome = self.train_on(options, &Monitor::default(), &mut on_event).unwrap();
        (outcome, stages)
    }

    /// The mean bound of documents under an outcome.
    fn bound(&self, outcome: &Outcome, doc_ixs: &[u32]) -> f64 {
        let network = Network {
            graph: outcome.graph.clone(),
            weights: outcome.weights.clone(),
            ..self.network.clone()
        };
        let items = noisyor::corpus::Item::each(doc_ixs);
        let ran = run_items(&network, self.alignment.docs(&self.corpus), &items, &EStepOptions::default());
        ran.stats.elbo_mean()
    }
}

/// Few rounds, to be quick.
fn short(max_edges: Option<usize>) -> RefineOptions {
    RefineOptions { max_edges, first_epochs: 6, epochs: 3, reseeds: 3, rounds: 3, swaps: 3 }
}

fn options(refine: Option<RefineOptions>) -> TrainOptions {
    TrainOptions { refine, epochs: 5, valid: 0.2, ..TrainOptions::default() }
}

fn refined(max_edges: usize) -> TrainOptions {
    options(Some(short(Some(max_edges))))
}

fn on_threads<T: Send>(n_threads: usize, run: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap().install(run)
}
