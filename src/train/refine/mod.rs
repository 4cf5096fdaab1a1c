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

use super::step::Memory;
use super::trainer::{GAIN, OnEvent, Trainer};
use super::{Event, RefineStage};
use crate::error::{Error, Result};
use crate::network::{Graph, Weights};
use edges::Levels;
pub(super) use edges::Wired;
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
    pub fn n_epochs(&self) -> u32 {
        let changes = self.reseeds.saturating_add(self.rounds).saturating_add(self.swaps);
        self.first_epochs.saturating_mul(2).saturating_add(self.epochs.saturating_mul(changes))
    }
}

/// Where refinement stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Refinement {
    stage: Stage,
    todo: Todo,
    levels: Levels,
    /// Edges at the end.
    budget: usize,
    /// What a change has to beat.
    bound: f64,
    /// What to go back to when a change does not help.
    fallback: Option<(Graph, Weights)>,
    /// Topics of it that began anew.
    kept: Vec<u32>,
    /// Rounds of new topics without gain.
    idle: u32,
    /// Edges when pruning begins.
    dense: usize,
    /// Share of the edges that the next exchange takes.
    share: f64,
}

/// Rounds of refinement: each changes the graph, trains it, and judges it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    /// The graph as it is, which may be the best there is.
    #[default]
    Start,
    /// Every edge there may be.
    Dense,
    /// Dead topics begin anew.
    Reseed(u32),
    /// Edges are dropped.
    Prune(u32),
    /// Edges are exchanged.
    Swap(u32),
    /// The last look.
    Finish,
}

/// What is next in a round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Todo {
    #[default]
    Change,
    /// So many epochs.
    Train(u32),
    Judge,
}

impl Refinement {
    /// Before the first change.
    pub(super) fn new(options: &RefineOptions, graph: &Graph, weights: &Weights) -> Self {
        let budget = options.max_edges.unwrap_or(graph.n_edges());
        let stage = if graph.n_edges() <= budget { Stage::Start } else { Stage::Dense };
        let fallback = Some((graph.clone(), weights.clone()));
        Self { stage, levels: Levels::of(graph), budget, fallback, share: SWAP, ..Self::default() }
    }

    /// Whether what it remembers belongs to the nodes of a graph.
    pub(super) fn fits(&self, graph: &Graph, belongs: &dyn Fn(&Graph, &Weights) -> bool) -> bool {
        let is_levelled =
            |graph: &Graph| graph.edges().all(|(parent, child)| self.levels.allow(parent, child));
        self.levels.len() == graph.n_nodes()
            && is_levelled(graph)
            && self.kept.iter().all(|&topic| (topic as usize) < graph.n_topics())
            && self.fallback.as_ref().is_none_or(|(graph, weights)| {
                belongs(graph, weights) && self.levels.len() == graph.n_nodes() && is_levelled(graph)
            })
    }

    /// One slice of documents, one change, or one judgement; returns whether refinement is done. What can be interrupted comes
    /// before anything is changed.
    pub(super) fn advance(&mut self, trainer: &mut Trainer<'_>, on_event: &mut OnEvent<'_>) -> Result<bool> {
        let Some(options) = trainer.options.refine.clone() else { return Ok(true) };
        match self.todo {
            Todo::Change => self.change(&options, trainer, on_event)?,
            Todo::Train(0) => self.todo = Todo::Judge,
            Todo::Train(left) => {
                // Full-batch epochs, because the counts of small batches lose young topics.
                if trainer.take_slice(trainer.whole())? {
                    trainer.state.full_steps += 1;
                    self.todo = Todo::Train(left - 1);
                }
            }
            Todo::Judge if self.stage == Stage::Finish => {
                // The epochs to come must do better than this.
                trainer.evaluate(true, on_event)?;
                trainer.state.memory = Memory::default();
                return Ok(true);
            }
            Todo::Judge => self.judge(trainer, on_event)?,
        }
        Ok(false)
    }

    /// Trains for some epochs, then judges.
    fn train(&mut self, trainer: &mut Trainer<'_>, epochs: u32) {
        trainer.state.memory = Memory::default();
        self.todo = Todo::Train(epochs);
    }

    fn change(
        &mut self,
        options: &RefineOptions,
        trainer: &mut Trainer<'_>,
        on_event: &mut OnEvent<'_>,
    ) -> Result<()> {
        match self.stage {
            Stage::Start => self.train(trainer, options.first_epochs),
            Stage::Dense => {
                // Adds every edge that the levels allow, if these are few enough; with small random weights.
                if self.levels.n_pairs() <= COMPLETE.saturating_mul(self.budget) {
                    trainer.rewire(Wired::of(trainer).complete(&self.levels, trainer.options.seed));
                    trainer.tell(RefineStage::Densified, on_event)?;
                }
                self.train(trainer, options.first_epochs);
            }
            Stage::Reseed(round) => self.reseed(round, options, trainer, on_event)?,
            Stage::Prune(round) => self.prune(round, options, trainer, on_event)?,
            Stage::Swap(round) => self.swap(round, options, trainer, on_event)?,
            Stage::Finish => self.todo = Todo::Judge,
        }
        Ok(())
    }

    /// Dead topics begin anew, until there are none or it no longer helps; then the best graph stays.
    fn reseed(
        &mut self,
        round: u32,
        options: &RefineOptions,
        trainer: &mut Trainer<'_>,
        on_event: &mut OnEvent<'_>,
    ) -> Result<()> {
        if round < options.reseeds && self.idle < IDLE {
            let evidence = Evidence::gather(trainer, &self.levels, true)?;
            // Edges that there cannot be are no reason to call a topic dead.
            let in_reach = self.budget.min(trainer.state.graph.n_edges());
            let dead = reseed::dead_topics(&trainer.state.graph, &evidence, trainer.n_docs(), in_reach);
            if !dead.is_empty() {
                trainer.rewire(reseed::reseed(trainer, &self.levels, &evidence, &dead));
                trainer.state.reseeded.extend(&dead);
                trainer.tell(RefineStage::Reseeded(dead.len()), on_event)?;
                self.train(trainer, options.epochs);
                return Ok(());
            }
        }
        self.go_back(trainer);
        let reseeded = &mut trainer.state.reseeded;
        reseeded.clone_from(&self.kept);
        reseeded.sort_unstable();
        reseeded.dedup();
        self.dense = trainer.state.graph.n_edges();
        self.stage = Stage::Prune(1);
        Ok(())
    }

    /// Drops the edges of least importance: geometric, each round drops the same share.
    fn prune(
        &mut self,
        round: u32,
        options: &RefineOptions,
        trainer: &mut Trainer<'_>,
        on_event: &mut OnEvent<'_>,
    ) -> Result<()> {
        if round > options.rounds {
            self.stage = Stage::Swap(0);
            return Ok(());
        }
        let dense = self.dense as f64;
        let left = dense * (self.budget as f64 / dense).powf(f64::from(round) / f64::from(options.rounds));
        let n_edges = if round == options.rounds { self.budget } else { left.round() as usize };
        if n_edges >= trainer.state.graph.n_edges() {
            self.stage = Stage::Prune(round + 1);
            return Ok(());
        }
        let evidence = Evidence::gather(trainer, &self.levels, false)?;
        let n_dropped = trainer.state.graph.n_edges() - n_edges;
        trainer.rewire(Wired::of(trainer).keep_best(&evidence.importance, n_edges));
        trainer.tell(RefineStage::Pruned(n_dropped), on_event)?;
        self.train(trainer, options.epochs);
        Ok(())
    }

    /// Exchanges the least important edges for candidates of the largest gradient.
    fn swap(
        &mut self,
        round: u32,
        options: &RefineOptions,
        trainer: &mut Trainer<'_>,
        on_event: &mut OnEvent<'_>,
    ) -> Result<()> {
        let mut joining = Vec::new();
        if round < options.swaps && self.share >= LEAST_SWAP {
            let evidence = Evidence::gather(trainer, &self.levels, false)?;
            let n_edges = trainer.state.graph.n_edges();
            joining = evidence.best_candidates((n_edges as f64 * self.share).ceil() as usize);
            if !joining.is_empty() {
                self.fallback = Some(trainer.model());
                let kept = Wired::of(trainer).keep_best(&evidence.importance, n_edges - joining.len());
                trainer.rewire(kept.join(&joining, JOINING));
                trainer.tell(RefineStage::Swapped(joining.len()), on_event)?;
                self.train(trainer, options.epochs);
            }
        }
        if joining.is_empty() {
            self.stage = Stage::Finish;
        }
        Ok(())
    }

    /// Compares what was trained with what was before.
    fn judge(&mut self, trainer: &mut Trainer<'_>, on_event: &mut OnEvent<'_>) -> Result<()> {
        let train_elbo =
            if trainer.has_valid() { None } else { Some(trainer.visit(false, None)?.0.elbo_mean()) };
        let valid_elbo = trainer.evaluate(self.stage == Stage::Start, on_event)?;
        let now = valid_elbo.or(train_elbo).unwrap_or(f64::NEG_INFINITY);
        self.todo = Todo::Change;
        self.stage = match self.stage {
            Stage::Start => {
                self.go_back(trainer);
                Stage::Dense
            }
            Stage::Dense => {
                (self.bound, self.fallback) = (now, Some(trainer.model()));
                Stage::Reseed(0)
            }
            Stage::Reseed(round) => {
                self.idle = if now > self.bound + GAIN { 0 } else { self.idle + 1 };
                if now > self.bound {
                    (self.bound, self.fallback) = (now, Some(trainer.model()));
                    self.kept.clone_from(&trainer.state.reseeded);
                }
                Stage::Reseed(round + 1)
            }
            Stage::Prune(round) => {
                self.bound = now;
                Stage::Prune(round + 1)
            }
            Stage::Swap(round) => {
                if now > self.bound {
                    self.bound = now;
                } else {
                    // Fewer of them the next time.
                    self.go_back(trainer);
                    self.share /= 2.0;
                    trainer.tell(RefineStage::Undone, on_event)?;
                }
                Stage::Swap(round + 1)
            }
            Stage::Finish => Stage::Finish,
        };
        Ok(())
    }

    fn go_back(&self, trainer: &mut Trainer<'_>) {
        if let Some(fallback) = &self.fallback {
            (trainer.state.graph, trainer.state.weights) = fallback.clone();
            trainer.state.memory = Memory::default();
        }
    }
}

impl Trainer<'_> {
    pub(super) fn rewire(&mut self, wired: Wired) {
        (self.state.graph, self.state.weights) = wired.build();
        self.state.memory = Memory::default();
    }

    fn model(&self) -> (Graph, Weights) {
        (self.state.graph.clone(), self.state.weights.clone())
    }

    pub(super) fn tell(&self, stage: RefineStage, on_event: &mut OnEvent<'_>) -> Result<()> {
        on_event(&Event::Refined { stage, n_edges: self.state.graph.n_edges() })
    }
}
