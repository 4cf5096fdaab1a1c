//! The epoch loop: shuffle, E-step, weight step, evaluate, keep the best.

use super::{BatchSize, CheckedOptions, Event, Metrics, Stepper};
use crate::corpus::{Docs, Item, Parts, group_identical, split, token_frequency};
use crate::error::{Error, Result};
use crate::estep::{EStep, Monitor, Params, Stats, Work};
use crate::network::{Graph, Weights, initial_weights};
use crate::rng::{Stream, rng};
use rand::seq::SliceRandom;
use std::time::Instant;

/// An evaluation must gain this many nats to reset the patience.
const GAIN: f64 = 1e-3;

/// Why training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All epochs or steps were done.
    Finished,
    /// No evaluation improved for `patience` evaluations.
    EarlyStop,
    /// The user asked for it.
    Interrupted,
}

/// A trained network.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The best weights seen (by the validation bound; the last ones where nothing is held out).
    pub weights: Weights,
    /// The figures of those weights, if they were evaluated.
    pub metrics: Option<Metrics>,
    /// Why it ended.
    pub ended: Ended,
    /// Validation documents.
    pub valid: Vec<u32>,
    /// Documents that nothing here looked at.
    pub test: Vec<u32>,
}

/// Trains the weights of a graph on a corpus.
///
/// Same seed, same weights, whatever the number of threads. `on_event` may fail to stop the training.
pub fn train(
    graph: &Graph,
    docs: Docs<'_>,
    options: &CheckedOptions,
    estep: &mut dyn EStep,
    monitor: &Monitor,
    on_event: &mut dyn FnMut(&Event<'_>) -> Result<()>,
) -> Result<Outcome> {
    let Parts { train: train_docs, valid: valid_docs, test: test_docs } =
        split(docs.n_docs(), options.valid, options.test, options.seed);
    if train_docs.is_empty() {
        return Err(Error::Usage("the corpus has no documents to train on".into()));
    }
    let group: Vec<u32> =
        if options.share_identical { group_identical(&docs) } else { (0..docs.n_docs() as u32).collect() };
    let valid_items = Item::shared(&valid_docs, &group);
    let n_batches = options.batch.n_batches(train_docs.len());
    let mut n_steps = u64::from(options.epochs) * n_batches as u64;
    n_steps = options.max_steps.map_or(n_steps, |most| most.min(n_steps));
    let default_leak_floor = options.floor.min(0.1 / train_docs.len() as f64);
    let leak_floor = options.leak_floor.unwrap_or(default_leak_floor);
    on_event(&Event::Started {
        n_train: train_docs.len(),
        n_valid: valid_docs.len(),
        n_test: test_docs.len(),
        n_distinct: Item::shared(&train_docs, &group).len(),
        n_steps,
        n_batches,
        leak_floor,
    })?;
    let frequency = token_frequency(&docs, &train_docs, graph.n_tokens());
    let weights =
        initial_weights(graph, options.init, &frequency, leak_floor, &mut rng(options.seed, Stream::Init));
    let range = (options.floor, leak_floor, options.cap);
    let stepper = Stepper::new(options.step, range, train_docs.len(), (n_batches as u64, n_steps));
    let mut trainer = Trainer {
        graph,
        docs,
        options,
        estep,
        monitor,
        weights,
        stepper,
        group: &group,
        valid_items: &valid_items,
        start: Instant::now(),
        step: 0,
        n_steps,
        n_batches,
        since: Since::default(),
        best: None,
        without_gain: 0,
    };
    let ended = match trainer.epochs(train_docs, on_event) {
        Ok(ended) => ended,
        Err(Error::Interrupted) => Ended::Interrupted,
        Err(error) => return Err(error),
    };
    let (weights, metrics) = match trainer.best {
        Some((weights, metrics)) if metrics.valid_elbo.is_some() || metrics.step == trainer.step => {
            (weights, Some(metrics))
        }
        // Nothing was held out and there were steps since the last evaluation, or there was none.
        _ => (trainer.weights, None),
    };
    Ok(Outcome { weights, metrics, ended, valid: valid_docs, test: test_docs })
}

/// Sums since the last evaluation.
#[derive(Default)]
struct Since {
    stats: Stats,
    seconds: f64,
}

struct Trainer<'a> {
    graph: &'a Graph,
    docs: Docs<'a>,
    options: &'a CheckedOptions,
    estep: &'a mut dyn EStep,
    monitor: &'a Monitor,
    weights: Weights,
    stepper: Stepper,
    group: &'a [u32],
    valid_items: &'a [Item],
    start: Instant,
    step: u64,
    n_steps: u64,
    n_batches: usize,
    since: Since,
    best: Option<(Weights, Metrics)>,
    without_gain: u32,
}

impl Trainer<'_> {
    fn epochs(
        &mut self,
        mut docs: Vec<u32>,
        on_event: &mut dyn FnMut(&Event<'_>) -> Result<()>,
    ) -> Result<Ended> {
        // Documents are dealt out to batches once, and only the order of the batches changes from epoch to epoch: batches packed
        // for one epoch serve all others.
        let shuffle = |epoch: u32| rng(self.options.seed, Stream::Shuffle(u64::from(epoch)));
        if self.options.batch != BatchSize::Full {
            docs.shuffle(&mut shuffle(0));
        }
        for epoch in 0..self.options.epochs {
            let mut batches: Vec<usize> = (0..self.n_batches).collect();
            if epoch > 0 {
                batches.shuffle(&mut shuffle(epoch));
            }
            self.epoch(&docs, &batches)?;
            let last = self.step >= self.n_steps || epoch + 1 == self.options.epochs;
            if last || (epoch + 1) % self.options.eval_every == 0 {
                self.evaluate(on_event)?;
                if self.options.patience > 0 && self.without_gain >= self.options.patience {
                    return Ok(Ended::EarlyStop);
                }
            }
            if last {
                break;
            }
        }
        Ok(Ended::Finished)
    }

    fn epoch(&mut self, docs: &[u32], batches: &[usize]) -> Result<()> {
        for &batch_ix in batches {
            if self.step >= self.n_steps {
                break;
            }
            let bound = |ix: usize| ix * docs.len() / self.n_batches;
            let items = Item::shared(&docs[bound(batch_ix)..bound(batch_ix + 1)], self.group);
            let begun = Instant::now();
            let (mut stats, params) = self.run_estep(&items, true)?;
            stats.add_tail(&params);
            self.stepper.step(self.graph, &mut self.weights, &stats)?;
            self.step += 1;
            self.since.stats.add_totals(&stats);
            self.since.seconds += begun.elapsed().as_secs_f64();
        }
        Ok(())
    }

    fn run_estep(&mut self, items: &[Item], gradients: bool) -> Result<(Stats, Params)> {
        let options = &self.options.estep;
        let params = Params::derive(self.graph, &self.weights, options.bound)?;
        let work =
            Work { graph: self.graph, docs: self.docs, items, options, gradients, monitor: self.monitor };
        Ok((self.estep.run(&work, &params, None)?, params))
    }

    fn evaluate(&mut self, on_event: &mut dyn FnMut(&Event<'_>) -> Result<()>) -> Result<()> {
        let items = self.valid_items;
        let valid_elbo =
            if items.is_empty() { None } else { Some(self.run_estep(items, false)?.0.elbo_mean()) };
        let Since { stats, seconds } = std::mem::take(&mut self.since);
        let metrics = Metrics {
            step: self.step,
            epoch: self.step as f64 / self.n_batches as f64,
            seconds: self.start.elapsed().as_secs_f64(),
            bound: self.options.estep.bound,
            train_elbo: (stats.n_docs > 0.0).then(|| stats.elbo_mean()),
            valid_elbo,
            docs_per_s: stats.n_docs / seconds.max(1e-9),
            edges_per_s: stats.n_edge_updates as f64 / seconds.max(1e-9),
        };
        let best_so_far = self.best.as_ref().and_then(|(_, metrics)| metrics.valid_elbo);
        let gain = match (valid_elbo, best_so_far) {
            (Some(now), Some(best)) => now - best,
            _ => f64::INFINITY,
        };
        self.without_gain = if gain > GAIN { 0 } else { self.without_gain + 1 };
        let best = gain > 0.0;
        if best {
            self.best = Some((self.weights.clone(), metrics.clone()));
        }
        on_event(&Event::Evaluated { metrics: &metrics, best, weights: &self.weights })
    }
}
