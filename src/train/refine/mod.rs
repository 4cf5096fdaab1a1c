//! Refinement of the graph while it is trained: start from more edges than the budget, let dead topics begin anew, drop the
//! edges of least importance in rounds, exchange a few for candidates of large gradient, train on after every change.
//!
//! Which new topics and exchanges stay, and whether the graph is better than the one it began with, is decided by the validation part (by
//! the training part where nothing is held out).

mod edges;
mod evidence;
mod reseed;
#[cfg(test)]
mod tests;

use super::trainer::{GAIN, OnEvent, Trainer};
use super::{Event, RefineStage};
use crate::error::{Error, Result};
use crate::network::{Graph, Weights};
use edges::{Levels, Wired};
use evidence::Evidence;
use serde::{Deserialize, Serialize};

/// A complete graph is where refinement starts if it has at most so many times the edges of the budget.
const COMPLETE: usize = 10;
/// Weight of a candidate edge when it joins the graph.
const JOINING: f64 = 0.05;
/// Share of the edges that an exchange takes.
const SWAP: f64 = 0.05;
/// Smaller shares are not tried.
const LEAST_SWAP: f64 = 0.0125;
/// Rounds of new topics without gain before they end.
const IDLE: u32 = 2;

/// How a graph is refined.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RefineOptions {
    /// Edges at the end, at most; by default as many as the graph has.
    pub max_edges: Option<usize>,
    /// Epochs before the first change.
    pub first_epochs: u32,
    /// Epochs after every change.
    pub epochs: u32,
    /// Rounds in which dead topics begin anew, at most.
    pub reseeds: u32,
    /// Rounds of pruning.
    pub rounds: u32,
    /// Exchanges of edges at the end, at most.
    pub swaps: u32,
}

impl Default for RefineOptions {
    fn default() -> Self {
        Self { max_edges: None, first_epochs: 15, epochs: 6, reseeds: 6, rounds: 5, swaps: 12 }
    }
}

impl RefineOptions {
    /// Checks that the numbers make sense.
    pub(super) fn check(&self) -> Result<()> {
        if self.max_edges == Some(0) || self.epochs == 0 || self.rounds == 0 {
            let message =
                "refinement needs at least one edge, one round of pruning and one epoch after each change";
            return Err(Error::Usage(message.into()));
        }
        Ok(())
    }

    /// Epochs at most.
    pub(super) fn n_epochs(&self) -> u32 {
        2 * self.first_epochs + self.epochs * (self.reseeds + self.rounds + self.swaps)
    }
}

impl Trainer<'_> {
    /// Refines the graph down to the budget; `reseeded` collects the topics that began anew.
    pub(super) fn refine(
        &mut self,
        options: &RefineOptions,
        reseeded: &mut Vec<u32>,
        on_event: &mut OnEvent<'_>,
    ) -> Result<()> {
        let budget = options.max_edges.unwrap_or(self.graph.n_edges());
        if self.graph.n_edges() <= budget {
            // As it is it may be the best there is.
            let start = self.state();
            self.retrain(options.first_epochs, true, on_event)?;
            (self.graph, self.weights) = start;
        }
        let levels = Levels::of(&self.graph);
        self.densify(&levels, budget, on_event)?;
        let mut bound = self.retrain(options.first_epochs, false, on_event)?;
        self.reseed_rounds(options, &levels, budget, &mut bound, reseeded, on_event)?;
        let (dense, n_rounds) = (self.graph.n_edges() as f64, f64::from(options.rounds));
        for round in 1..=options.rounds {
            // Geometric: each round drops the same share.
            let left = dense * (budget as f64 / dense).powf(f64::from(round) / n_rounds);
            let n_edges = if round == options.rounds { budget } else { left.round() as usize };
            if n_edges < self.graph.n_edges() {
                let evidence = Evidence::gather(self, &levels, false)?;
                let n_dropped = self.graph.n_edges() - n_edges;
                self.rewire(Wired::of(self).keep_best(&evidence.importance, n_edges));
                self.tell(RefineStage::Pruned(n_dropped), on_event)?;
                bound = self.retrain(options.epochs, false, on_event)?;
            }
        }
        self.swap_rounds(options, &levels, bound, on_event)?;
        // The epochs to come must do better than this.
        self.evaluate(true, on_event)?;
        Ok(())
    }

    /// Adds every edge that the levels allow, if these are few enough; with small random weights.
    fn densify(&mut self, levels: &Levels, budget: usize, on_event: &mut OnEvent<'_>) -> Result<()> {
        if levels.n_pairs() <= COMPLETE.saturating_mul(budget) {
            self.rewire(Wired::of(self).complete(levels, self.options.seed));
            self.tell(RefineStage::Densified, on_event)?;
        }
        Ok(())
    }

    /// Dead topics begin anew, until there are none or it no longer helps; the best graph stays.
    fn reseed_rounds(
        &mut self,
        options: &RefineOptions,
        levels: &Levels,
        budget: usize,
        bound: &mut f64,
        reseeded: &mut Vec<u32>,
        on_event: &mut OnEvent<'_>,
    ) -> Result<()> {
        let mut best = self.state();
        let (mut kept, mut idle) = (reseeded.clone(), 0);
        for _ in 0..options.reseeds {
            if idle == IDLE {
                break;
            }
            let evidence = Evidence::gather(self, levels, true)?;
            // Edges that there cannot be are no reason to call a topic dead.
            let in_reach = budget.min(self.graph.n_edges());
            let dead = reseed::dead_topics(&self.graph, &evidence, self.n_docs(), in_reach);
            if dead.is_empty() {
                break;
            }
            self.rewire(reseed::reseed(self, levels, &evidence, &dead));
            reseeded.extend(&dead);
            self.tell(RefineStage::Reseeded(dead.len()), on_event)?;
            let now = self.retrain(options.epochs, false, on_event)?;
            idle = if now > *bound + GAIN { 0 } else { idle + 1 };
            if now > *bound {
                (*bound, best, kept) = (now, self.state(), reseeded.clone());
            }
        }
        (self.graph, self.weights) = best;
        *reseeded = kept;
        reseeded.sort_unstable();
        reseeded.dedup();
        Ok(())
    }

    /// Exchanges the least important edges for candidates of the largest gradient: fewer of them when it did not help.
    fn swap_rounds(
        &mut self,
        options: &RefineOptions,
        levels: &Levels,
        mut bound: f64,
        on_event: &mut OnEvent<'_>,
    ) -> Result<()> {
        let mut share = SWAP;
        for _ in 0..options.swaps {
            let before = self.state();
            let evidence = Evidence::gather(self, levels, false)?;
            let most = (self.graph.n_edges() as f64 * share).ceil() as usize;
            let joining = evidence.best_candidates(most);
            if joining.is_empty() {
                break;
            }
            let n_kept = self.graph.n_edges() - joining.len();
            self.rewire(Wired::of(self).keep_best(&evidence.importance, n_kept).join(&joining, JOINING));
            self.tell(RefineStage::Swapped(joining.len()), on_event)?;
            let now = self.retrain(options.epochs, false, on_event)?;
            if now > bound {
                bound = now;
                continue;
            }
            (self.graph, self.weights) = before;
            self.tell(RefineStage::Undone, on_event)?;
            share /= 2.0;
            if share < LEAST_SWAP {
                break;
            }
        }
        Ok(())
    }

    /// Full-batch epochs, because the counts of small batches lose young topics; returns the bound to decide by.
    fn retrain(&mut self, epochs: u32, may_win: bool, on_event: &mut OnEvent<'_>) -> Result<f64> {
        let items = self.train_items();
        let mut stepper = self.stepper(1, u64::from(epochs));
        for _ in 0..epochs {
            self.take_step(&mut stepper, &items)?;
            self.full_steps += 1;
        }
        match self.evaluate(may_win, on_event)? {
            Some(valid) => Ok(valid),
            None => Ok(self.run_estep(&items, false, None)?.0.elbo_mean()),
        }
    }

    fn rewire(&mut self, wired: Wired) {
        (self.graph, self.weights) = wired.build();
    }

    fn state(&self) -> (Graph, Weights) {
        (self.graph.clone(), self.weights.clone())
    }

    fn tell(&self, stage: RefineStage, on_event: &mut OnEvent<'_>) -> Result<()> {
        on_event(&Event::Refined { stage, n_edges: self.graph.n_edges() })
    }
}
