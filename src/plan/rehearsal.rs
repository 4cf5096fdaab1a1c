//! A training in miniature: the real E-step and the real weight step, on a sample of the documents.
//!
//! How many alternations a document takes changes as weights are trained, and it depends on how many documents they are trained
//! on: few documents are soon explained, and then q stands still early. So there are two rehearsals, one on a quarter of the
//! other's documents, and what changes between the two tells how it goes on up to all documents.

use super::survey::Survey;
use crate::batch::BLOCK_DOCS;
use crate::corpus::{Docs, Item};
use crate::error::Result;
use crate::estep::{EStep, EStepOptions, Monitor, Params, Stats, Work};
use crate::network::{Graph, Weights};
use crate::train::{CheckedOptions, Stepper};
use cpu_time::ProcessTime;
use serde::Serialize;
use std::time::Instant;

/// Epochs of a rehearsal.
const EPOCHS: usize = 8;
/// The smaller rehearsal has this share of the larger one's documents.
const SMALLER: usize = 4;
/// Items of a weight step at least: fewer would be all noise.
const MIN_BATCH: usize = 32;
/// Items of a rehearsal at most, and at least unless that takes far too long.
const MAX_ITEMS: usize = 1 << 16;
const MIN_ITEMS: usize = 2048;
/// What is far too long, in budgets.
const FAR_TOO_LONG: f64 = 4.0;
/// Items of a thread, in the first look at what a document costs.
const PROBE_ITEMS: usize = 2 * BLOCK_DOCS;
/// Rates are measured for so long, as a share of the budget, and so often at most.
const MEASURED: (f64, usize) = (0.1, 8);

/// Seconds of wall time and of CPU time over all threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Seconds {
    /// On the clock.
    pub wall: f64,
    /// Of all threads together.
    pub cpu: f64,
}

impl Seconds {
    /// What `work` takes, and what it returns.
    fn of<T>(work: impl FnOnce() -> Result<T>) -> Result<(Self, T)> {
        let (cpu, wall) = (ProcessTime::now(), Instant::now());
        let result = work()?;
        Ok((Self { wall: wall.elapsed().as_secs_f64(), cpu: cpu.elapsed().as_secs_f64() }, result))
    }

    pub(super) fn times(self, factor: f64) -> Self {
        Self { wall: self.wall * factor, cpu: self.cpu * factor }
    }

    /// Not below zero.
    fn less(self, other: Self) -> Self {
        Self { wall: (self.wall - other.wall).max(0.0), cpu: (self.cpu - other.cpu).max(0.0) }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { wall: self.wall + other.wall, cpu: self.cpu + other.cpu }
    }
}

/// What E-steps cost: so much for every positive edge, and so much for every update of one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rate {
    pub(super) per_edge: Seconds,
    pub(super) per_update: Seconds,
}

/// How one rehearsal went.
#[derive(Debug, Clone, Default)]
pub(super) struct Course {
    /// Items trained on.
    pub(super) n_items: usize,
    /// Weight steps an epoch.
    pub(super) n_batches: usize,
    /// Edge updates an item, epoch by epoch.
    pub(super) updates: Vec<f64>,
}

/// What was found out.
#[derive(Debug, Clone, Default)]
pub(super) struct Rehearsal {
    /// The smaller rehearsal, where there was one, and the larger.
    pub(super) courses: Vec<Course>,
    /// Positive edges an item, of documents trained on and held out.
    pub(super) edges: [f64; 2],
    /// Edge updates and alternations an item at the end, of documents trained on and held out.
    pub(super) last: [(f64, f64); 2],
    /// E-steps with gradients, and without.
    pub(super) rates: [Rate; 2],
    /// What a weight step costs whatever its documents.
    pub(super) fixed: Seconds,
}

/// What a rehearsal works on.
pub(super) struct Stage<'a> {
    pub(super) graph: &'a Graph,
    pub(super) docs: Docs<'a>,
    pub(super) options: &'a CheckedOptions,
    pub(super) start: &'a Weights,
    pub(super) leak_floor: f64,
    pub(super) survey: &'a Survey,
    /// Whether a device computes, and not the CPU.
    pub(super) on_device: bool,
    pub(super) monitor: &'a Monitor,
}

impl Stage<'_> {
    fn estep(
        &self,
        estep: &mut dyn EStep,
        params: &Params,
        items: &[Item],
        gradients: bool,
    ) -> Result<Stats> {
        self.estep_with(&self.options.estep, estep, params, items, gradients)
    }

    fn estep_with(
        &self,
        options: &EStepOptions,
        estep: &mut dyn EStep,
        params: &Params,
        items: &[Item],
        gradients: bool,
    ) -> Result<Stats> {
        let work = Work {
            graph: self.graph,
            params,
            docs: self.docs,
            items,
            options,
            gradients,
            kept_on: None,
            monitor: self.monitor,
        };
        estep.run(&work, None)
    }

    fn derive(&self, weights: &Weights) -> Result<Params> {
        Params::derive(self.graph, weights, self.options.estep.bound)
    }

    /// Rehearses for about so many seconds.
    pub(super) fn rehearse(&self, estep: &mut dyn EStep, budget_s: f64) -> Result<Rehearsal> {
        let train = &self.survey.train;
        let n_items = self.n_affordable(estep, budget_s)?.min(train.items.len());
        let mut rehearsal = Rehearsal::default();
        if n_items < train.n_items {
            let fewer = &train.items[..n_items.div_ceil(SMALLER)];
            rehearsal.courses.push(self.course(estep, fewer, &mut rehearsal.fixed)?.0);
        }
        let items = &train.items[..n_items];
        let (course, weights) = self.course(estep, items, &mut rehearsal.fixed)?;
        rehearsal.courses.push(course);
        let params = self.derive(&weights)?;
        self.measure(estep, &params, items, MEASURED.0 * budget_s, &mut rehearsal)?;
        Ok(rehearsal)
    }

    /// Items whose rehearsal takes about so many seconds; on the CPU, if nothing else ran on it: the estimate must not get worse
    /// where a machine is busy.
    fn n_affordable(&self, estep: &mut dyn EStep, budget_s: f64) -> Result<usize> {
        let params = self.derive(self.start)?;
        let items = &self.survey.train.items;
        let items = &items[..items.len().min(PROBE_ITEMS * rayon::current_num_threads())];
        self.estep(estep, &params, items, true)?; // workers are made, shaders compiled
        let (seconds, _) = Seconds::of(|| self.estep(estep, &params, items, true))?;
        let n_threads = rayon::current_num_threads() as f64;
        let seconds = if self.on_device { seconds.wall } else { seconds.cpu / n_threads };
        // Both rehearsals, and what is measured after them.
        let n_runs = (EPOCHS + EPOCHS / SMALLER + 4) as f64;
        let n_items = budget_s / n_runs / (seconds / items.len().max(1) as f64).max(1e-9);
        let least = (n_items * FAR_TOO_LONG).min(MIN_ITEMS as f64);
        Ok((n_items.max(least) as usize).clamp(1, MAX_ITEMS))
    }

    /// Epochs over some items, and the weights after them. The weight step counts as many documents as there are in all.
    fn course(
        &self,
        estep: &mut dyn EStep,
        items: &[Item],
        fixed: &mut Seconds,
    ) -> Result<(Course, Weights)> {
        let n_batches = self.survey.n_batches.min(items.len() / MIN_BATCH).max(1);
        let n_epochs = EPOCHS.min(self.options.epochs as usize);
        let range = (self.options.floor, self.leak_floor, self.options.cap);
        let n_steps = (n_batches as u64, (n_batches * n_epochs) as u64);
        let mut stepper = Stepper::new(self.options.step, range, self.survey.train.n_docs, n_steps);
        let mut weights = self.start.clone();
        let mut course = Course { n_items: items.len(), n_batches, updates: Vec::new() };
        for _ in 0..n_epochs {
            let mut n_updates = 0;
            for batch in 0..n_batches {
                let begin = |batch: usize| batch * items.len() / n_batches;
                let (deriving, params) = Seconds::of(|| self.derive(&weights))?;
                let stats = self.estep(estep, &params, &items[begin(batch)..begin(batch + 1)], true)?;
                n_updates += stats.n_edge_updates;
                stepper = stepper.of_batch(batch);
                let (stepping, ()) =
                    Seconds::of(|| stepper.step(self.graph, &mut weights, &stats.with_tail(&params)))?;
                *fixed = deriving.plus(stepping);
            }
            course.updates.push(n_updates as f64 / items.len() as f64);
        }
        Ok((course, weights))
    }

    /// What E-steps cost, by runs that differ in the number of alternations, for so many seconds each way.
    fn measure(
        &self,
        estep: &mut dyn EStep,
        params: &Params,
        items: &[Item],
        seconds: f64,
        rehearsal: &mut Rehearsal,
    ) -> Result<()> {
        let once = EStepOptions { max_alternations: 1, ..self.options.estep.clone() };
        let valid = &self.survey.valid.items;
        let held_out = if valid.is_empty() { items } else { &valid[..valid.len().min(items.len())] };
        // Sums over nothing: what every run costs, however few its documents. It is no part of what a document costs.
        self.estep(estep, params, &[], true)?;
        let (empty, _) = Seconds::of(|| self.estep(estep, params, &[], true))?;
        rehearsal.fixed = rehearsal.fixed.plus(empty);
        for (side, (items, gradients)) in [(items, true), (held_out, false)].into_iter().enumerate() {
            let mut short = (Seconds::default(), Stats::default());
            let mut long = (Seconds::default(), Stats::default());
            for _ in 0..MEASURED.1 {
                for (options, (spent, totals)) in [(&once, &mut short), (&self.options.estep, &mut long)] {
                    let run = || self.estep_with(options, estep, params, items, gradients);
                    let (seconds, stats) = Seconds::of(run)?;
                    *spent = spent.plus(if gradients { seconds.less(empty) } else { seconds });
                    totals.add_totals(&stats);
                }
                if long.0.wall >= seconds {
                    break;
                }
            }
            rehearsal.rates[side] = Rate::between(&short, &long);
            let per_item = |sum: u64| sum as f64 / long.1.n_items.max(1) as f64;
            rehearsal.edges[side] = per_item(long.1.n_edges);
            rehearsal.last[side] = (per_item(long.1.n_edge_updates), per_item(long.1.n_alternations));
        }
        Ok(())
    }
}

impl Rate {
    /// From runs with one alternation and as many with all of them.
    fn between((short, first): &(Seconds, Stats), (long, all): &(Seconds, Stats)) -> Self {
        let n_more = all.n_edge_updates.saturating_sub(first.n_edge_updates) as f64;
        let n_edges = (all.n_edges as f64).max(1.0);
        let slope = |short: f64, long: f64| if n_more > 0.0 { (long - short).max(0.0) / n_more } else { 0.0 };
        let per_update = Seconds { wall: slope(short.wall, long.wall), cpu: slope(short.cpu, long.cpu) };
        let rest =
            |long: f64, per_update: f64| (long - per_update * all.n_edge_updates as f64).max(0.0) / n_edges;
        let per_edge =
            Seconds { wall: rest(long.wall, per_update.wall), cpu: rest(long.cpu, per_update.cpu) };
        Self { per_edge, per_update }
    }

    /// What an item costs.
    pub(super) fn item(&self, n_edges: f64, n_updates: f64) -> Seconds {
        self.per_edge.times(n_edges).plus(self.per_update.times(n_updates))
    }
}
