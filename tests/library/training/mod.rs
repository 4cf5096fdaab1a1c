//! Training: the same result everywhere, the right result where it is known, and honest endings.

#![allow(clippy::unwrap_used)]

mod condensed;
mod control;
mod endings;
mod frozen;
mod kept;
mod not_finite;
mod recovery;
mod renewal;
mod resumed;
mod same_seed;
mod update;
mod weight_step;

use crate::common::*;
use noisyor::corpus::{Alignment, Corpus, Item, split, token_frequency};
use noisyor::estep::cpu::CpuEStep;
use noisyor::estep::{Bound, EStep, EStepOptions, Monitor, Params, Stats, StepSums, Work};
use noisyor::mcmc::{Augmentation, McmcOptions, Model};
use noisyor::network::{Graph, Init, MAX_WEIGHT, Names, Network, Weights, initial_weights};
use noisyor::rng::{Stream, rng};
use noisyor::synth::{Preset, Sampler};
use noisyor::train::{
    BatchSize, Begin, Ended, Event, Metrics, Outcome, RateSchedule, StepRule, Stepper, TrainOptions, train,
};
use noisyor::{Error, Result, synth};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::atomic::Ordering;

const EM: StepRule = StepRule::Em { lambda: 1.0 };
const PAPER: StepRule = StepRule::Paper { rate: 0.001, c: 1000.0, schedule: RateSchedule::Power };
const MCMC: StepRule = StepRule::Mcmc(McmcOptions {
    model: Model::Full,
    sweeps: 3,
    burn_in: 1,
    augmentation: Augmentation::Cascade,
    pseudo_count: 1.0,
});
const ADAM: StepRule = StepRule::Adam { rate: 0.02, schedule: RateSchedule::Cosine };

/// A network and documents sampled from it.
struct Data {
    network: Network,
    corpus: Corpus,
    alignment: Alignment,
}

impl Data {
    fn sampled(network: Network, n_docs: u64) -> Self {
        let sampler = Sampler::new(&network);
        let docs: Vec<Vec<u32>> = (0..n_docs).map(|doc| sampler.sample(7, doc).tokens).collect();
        let (corpus, alignment) = corpus_of(&network, docs);
        Self { network, corpus, alignment }
    }

    /// A small network of three layers.
    fn tiny(n_docs: u64) -> Self {
        Self::sampled(synth::random_network(&Preset::of("tiny").unwrap(), 3).unwrap(), n_docs)
    }

    fn train_on(
        &self,
        options: TrainOptions,
        monitor: &Monitor,
        on_event: &mut dyn FnMut(&Event<'_>) -> Result<()>,
    ) -> Result<Outcome> {
        let (graph, docs) = (&self.network.graph, self.alignment.docs(&self.corpus));
        train(
            Begin::New(graph, None),
            docs,
            &options.check().unwrap(),
            &mut CpuEStep::new(),
            monitor,
            on_event,
        )
    }

    fn train(&self, options: TrainOptions) -> Outcome {
        self.train_on(options, &Monitor::default(), &mut |_| Ok(())).unwrap()
    }

    /// The outcome, and every evaluation with its weights and whether it was the best.
    fn evaluations(&self, options: TrainOptions) -> (Outcome, Vec<(Metrics, Weights, bool)>) {
        let mut seen = Vec::new();
        let mut on_event = |event: &Event<'_>| {
            if let Event::Evaluated { metrics, best, weights, .. } = event {
                seen.push(((*metrics).clone(), (*weights).clone(), *best));
            }
            Ok(())
        };
        let outcome = self.train_on(options, &Monitor::default(), &mut on_event).unwrap();
        (outcome, seen)
    }

    /// The weights that training starts from.
    fn start(&self, options: &TrainOptions) -> Weights {
        let docs = self.alignment.docs(&self.corpus);
        let rest = split(docs.n_docs(), options.valid, options.test, options.seed).train;
        let frequency = token_frequency(&docs, &rest, self.network.graph.n_tokens());
        let floor = options.floor.min(0.1 / rest.len() as f64);
        initial_weights(
            &self.network.graph,
            options.init,
            &frequency,
            floor,
            &mut rng(options.seed, Stream::Init),
        )
    }

    fn stats(&self, weights: &Weights, doc_ixs: &[u32], options: &EStepOptions) -> StepSums {
        let params = Params::derive(&self.network.graph, weights, options.bound).unwrap();
        let work = Work {
            graph: &self.network.graph,
            params: &params,
            docs: self.alignment.docs(&self.corpus),
            items: &Item::each(doc_ixs),
            options,
            gradients: true,
            kept_on: None,
            monitor: &Monitor::default(),
        };
        CpuEStep::new().run(&work, None).unwrap().with_tail(&params)
    }
}

/// Sums as they are, with no topic outside a document.
fn sums(stats: &Stats) -> StepSums {
    stats.clone().with_tail(&Params::default())
}

fn options(step: StepRule, batch: BatchSize, epochs: u32) -> TrainOptions {
    TrainOptions { step, batch, epochs, ..TrainOptions::default() }
}

fn bits(weights: &Weights) -> Vec<u64> {
    weights.leak.iter().chain(&weights.edge).map(|w| w.to_bits()).collect()
}

fn on_threads<T: Send>(n_threads: usize, run: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap().install(run)
}

/// Six topics with eight tokens of their own each, and four tokens that two topics share.
fn nearly_disjoint() -> Network {
    const TOPICS: usize = 6;
    const OWN: usize = 8;
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let mut edges = Vec::new();
    for token in 0..TOPICS * OWN {
        edges.push(((token / OWN) as u32, (TOPICS + token) as u32, rng.random_range(0.5..2.5)));
    }
    for shared in 0..4 {
        let token = (TOPICS + TOPICS * OWN + shared) as u32;
        edges.extend([shared, shared + 1].map(|topic| (topic as u32, token, rng.random_range(0.5..2.0))));
    }
    let n_tokens = TOPICS * OWN + 4;
    let mut leak: Vec<f64> = (0..TOPICS).map(|_| rng.random_range(0.1..0.3)).collect();
    leak.extend((0..n_tokens).map(|_| rng.random_range(0.005..0.05)));
    network_of(TOPICS, n_tokens, &edges, leak)
}
