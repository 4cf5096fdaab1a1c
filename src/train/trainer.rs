//! One training in progress: epochs of E-steps and weight steps, evaluations, the best weights so far.

use super::{BatchSize, CheckedOptions, Ended, Event, Metrics, Stepper};
use crate::corpus::{Docs, Item};
use crate::error::Result;
use crate::estep::{EStep, Monitor, Params, Sink, Stats, Work};
use crate::network::{Graph, Weights};
use crate::rng::{Stream, rng};
use rand::seq::SliceRandom;
use std::time::Instant;

/// An evaluation must gain this many nats to reset the patience.
pub(super) const GAIN: f64 = 1e-3;

/// Where training tells what happens; may fail to stop it.
pub(super) type OnEvent<'a> = dyn FnMut(&Event<'_>) -> Result<()> + 'a;

/// What training needs and where it stands. The graph changes only by refinement.
pub(super) struct Trainer<'a> {
    pub(super) graph: Graph,
    pub(super) weights: Weights,
    pub(super) docs: Docs<'a>,
    pub(super) options: &'a CheckedOptions,
    pub(super) estep: &'a mut dyn EStep,
    pub(super) monitor: &'a Monitor,
    /// Training documents, dealt out to batches: only the order of the batches changes from epoch to epoch, so batches
    /// packed for one epoch serve all others.
    train_docs: Vec<u32>,
    group: &'a [u32],
    valid_items: &'a [Item],
    leak_floor: f64,
    start: Instant,
    n_batches: usize,
    step: u64,
    /// Of these, steps of refinement, each over all documents.
    pub(super) full_steps: u64,
    since: Since,
    pub(super) best: Option<Best>,
    without_gain: u32,
}

/// The best model so far.
pub(super) struct Best {
    pub(super) graph: Graph,
    pub(super) weights: Weights,
    pub(super) metrics: Metrics,
}

/// Sums since the last evaluation.
#[derive(Default)]
struct Since {
    stats: Stats,
    seconds: f64,
}

/// The documents of a training: which to train on, which share an E-step, which to evaluate by.
pub(super) struct Material<'a> {
    pub(super) train_docs: Vec<u32>,
    pub(super) group: &'a [u32],
    pub(super) valid_items: &'a [Item],
}

impl<'a> Trainer<'a> {
    pub(super) fn new(
        (graph, weights): (Graph, Weights),
        docs: Docs<'a>,
        material: Material<'a>,
        options: &'a CheckedOptions,
        leak_floor: f64,
        estep: &'a mut dyn EStep,
        monitor: &'a Monitor,
    ) -> Self {
        let Material { mut train_docs, group, valid_items } = material;
        let n_batches = options.batch.n_batches(train_docs.len());
        if options.batch != BatchSize::Full {
            train_docs.shuffle(&mut rng(options.seed, Stream::Shuffle(0)));
        }
        Self {
            graph,
            weights,
            docs,
            options,
            estep,
            monitor,
            train_docs,
            group,
            valid_items,
            leak_floor,
            start: Instant::now(),
            n_batches,
            step: 0,
            full_steps: 0,
            since: Since::default(),
            best: None,
            without_gain: 0,
        }
    }

    /// Steps taken so far.
    pub(super) fn step(&self) -> u64 {
        self.step
    }

    /// Number of training documents.
    pub(super) fn n_docs(&self) -> usize {
        self.train_docs.len()
    }

    /// All training documents, identical ones joined.
    pub(super) fn train_items(&self) -> Vec<Item> {
        Item::shared(&self.train_docs, self.group)
    }

    /// A weight step without memory, for `n_steps` steps to come.
    pub(super) fn stepper(&self, n_batches: usize, n_steps: u64) -> Stepper {
        let range = (self.options.floor, self.leak_floor, self.options.cap);
        Stepper::new(self.options.step, range, self.train_docs.len(), (n_batches as u64, n_steps))
    }

    /// Epochs as the options have them, with evaluations, until all are done or nothing improves.
    pub(super) fn run(&mut self, n_steps: u64, on_event: &mut OnEvent<'_>) -> Result<Ended> {
        let mut stepper = self.stepper(self.n_batches, n_steps);
        let last_step = self.step + n_steps;
        for epoch in 0..self.options.epochs {
            let mut batches: Vec<usize> = (0..self.n_batches).collect();
            if epoch > 0 {
                batches.shuffle(&mut rng(self.options.seed, Stream::Shuffle(u64::from(epoch))));
            }
            batches.truncate((last_step - self.step) as usize);
            for batch_ix in batches {
                let bound = |ix: usize| ix * self.train_docs.len() / self.n_batches;
                let items = Item::shared(&self.train_docs[bound(batch_ix)..bound(batch_ix + 1)], self.group);
                self.take_step(&mut stepper, &items)?;
            }
            let last = self.step >= last_step || epoch + 1 == self.options.epochs;
            if last || (epoch + 1) % self.options.eval_every == 0 {
                self.evaluate(true, on_event)?;
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

    /// One E-step and one weight step.
    pub(super) fn take_step(&mut self, stepper: &mut Stepper, items: &[Item]) -> Result<()> {
        let begun = Instant::now();
        let (mut stats, params) = self.run_estep(items, true, None)?;
        stats.add_tail(&params);
        stepper.step(&self.graph, &mut self.weights, &stats)?;
        self.step += 1;
        self.since.stats.add_totals(&stats);
        self.since.seconds += begun.elapsed().as_secs_f64();
        Ok(())
    }

    /// The E-step at the current weights.
    pub(super) fn run_estep(
        &mut self,
        items: &[Item],
        gradients: bool,
        sink: Option<&mut Sink<'_>>,
    ) -> Result<(Stats, Params)> {
        let (graph, options) = (&self.graph, &self.options.estep);
        let params = Params::derive(graph, &self.weights, options.bound)?;
        let work = Work { graph, docs: self.docs, items, options, gradients, monitor: self.monitor };
        Ok((self.estep.run(&work, &params, sink)?, params))
    }

    /// Evaluates the current weights. Those that `may_win` are kept if they are the best. Returns the bound of the
    /// validation documents, if there are any.
    pub(super) fn evaluate(&mut self, may_win: bool, on_event: &mut OnEvent<'_>) -> Result<Option<f64>> {
        let items = self.valid_items;
        let valid_elbo =
            if items.is_empty() { None } else { Some(self.run_estep(items, false, None)?.0.elbo_mean()) };
        let Since { stats, seconds } = std::mem::take(&mut self.since);
        let metrics = Metrics {
            step: self.step,
            epoch: self.full_steps as f64 + (self.step - self.full_steps) as f64 / self.n_batches as f64,
            seconds: self.start.elapsed().as_secs_f64(),
            bound: self.options.estep.bound,
            train_elbo: (stats.n_docs > 0.0).then(|| stats.elbo_mean()),
            valid_elbo,
            n_edges: self.graph.n_edges(),
            docs_per_s: stats.n_docs / seconds.max(1e-9),
            edges_per_s: stats.n_edge_updates as f64 / seconds.max(1e-9),
        };
        let best_so_far = self.best.as_ref().and_then(|best| best.metrics.valid_elbo);
        let gain = match (valid_elbo, best_so_far) {
            (Some(now), Some(best)) => now - best,
            _ => f64::INFINITY,
        };
        let best = may_win && gain > 0.0;
        if may_win {
            self.without_gain = if gain > GAIN { 0 } else { self.without_gain + 1 };
        }
        if best {
            let (graph, weights) = (self.graph.clone(), self.weights.clone());
            self.best = Some(Best { graph, weights, metrics: metrics.clone() });
        }
        on_event(&Event::Evaluated { metrics: &metrics, best, graph: &self.graph, weights: &self.weights })?;
        Ok(valid_elbo)
    }
}
