//! Topics that documents held out can do without are dropped once the epochs are over, and dead edges while they last.
//!
//! Training keeps every topic that it was given, and finds something for each to explain: words of several causes, two causes at once, or what
//! another topic explains as well. What a topic is **worth** is what the bound of documents held out loses when it is gone and their
//! E-step is run again. A round puts topics that have the words of several above these ([`lift`]), or drops the topics of least worth; then it trains on.
//! Half of the validation documents say what to change, the other half whether the change stays: a network that is nearly as good as the best
//! stays, because it reads better and runs faster.

mod lift;
mod worth;

use super::refine::Wired;
use super::step::Memory;
use super::trainer::{OnEvent, Trainer};
use super::{Ended, Event, RefineStage};
use crate::corpus::Item;
use crate::error::Result;
use crate::network::{Graph, Weights, keep};
use serde::{Deserialize, Serialize};
use worth::Worth;

/// Full-batch epochs after topics were dropped.
const EPOCHS: u32 = 2;
/// Epochs at the end, at most, and the share of the bound that each must gain for another.
const LAST_EPOCHS: u32 = 12;
const LEAST_GAIN: f64 = 1e-5;
/// Rounds: one for so many epochs that there may be, so that they take no longer than these, and so many at the most.
const EPOCHS_A_ROUND: u32 = 5;
const ROUNDS: u32 = 8;
/// The share of the best bound that fewer topics may cost, in all.
const TOLERANCE: f64 = 2e-4;
/// Worth that is allowed in a round at first, as a share of [`TOLERANCE`], doubles with every round that stays and is a quarter of it after one that
/// is undone: training on makes up for more than worth can know. Below this share there is nothing left to drop.
const LEAST_SHARE: f64 = 0.2;
/// Topics times edges that are weighed at most: every topic takes a look at all edges.
const MOST_WORK: usize = 4_000_000_000;
/// An edge that explains less than this of one training document, all in all, is dead.
const DEAD: f64 = 0.02;
/// Not before so many epochs: the counts of batches lose edges that come back.
const FIRST_EPOCH: f64 = 3.0;
/// Dead edges are dropped once they are this share of all.
const MANY_DEAD: f64 = 0.1;

/// Where it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Condensation {
    todo: Todo,
    /// Why the epochs ended.
    ended: Ended,
    round: u32,
    /// The best bound of the documents that judge, and what to go back to when a round lost too much.
    best: f64,
    fallback: Option<(Graph, Weights)>,
    /// What the topics dropped in a round may be worth together, as a share of [`TOLERANCE`].
    share: f64,
    /// Whether topics may still become parents, and did so in this round.
    may_lift: bool,
    lifted: bool,
}

/// What is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Todo {
    Change,
    /// So many epochs.
    Train(u32),
    Judge,
    /// So many epochs with the topics that are left, with a look at the bound after each.
    Finish(u32),
    Look(u32),
}

impl Condensation {
    /// After epochs that ended so.
    pub(super) fn new(ended: Ended) -> Self {
        Self {
            todo: Todo::Change,
            ended,
            round: 0,
            best: f64::NEG_INFINITY,
            fallback: None,
            share: 1.0,
            may_lift: true,
            lifted: false,
        }
    }

    /// Whether what it remembers belongs to the nodes of a graph.
    pub(super) fn fits(&self, belongs: &dyn Fn(&Graph, &Weights) -> bool) -> bool {
        self.fallback.as_ref().is_none_or(|(graph, weights)| belongs(graph, weights))
    }

    /// One slice of documents, one judgement, or the topics of a round; returns why the training ended once this is over, too. What can be
    /// interrupted comes before anything is changed.
    pub(super) fn advance(
        &mut self,
        trainer: &mut Trainer<'_>,
        on_event: &mut OnEvent<'_>,
    ) -> Result<Option<Ended>> {
        match self.todo {
            Todo::Change => return self.change(trainer, on_event),
            Todo::Train(0) => self.todo = Todo::Judge,
            Todo::Train(left) => {
                if trainer.take_slice(trainer.whole())? {
                    trainer.state.full_steps += 1;
                    self.todo = Todo::Train(left - 1);
                }
            }
            Todo::Judge => self.judge(trainer, on_event)?,
            Todo::Finish(0) => return Ok(Some(self.ended)),
            Todo::Finish(left) => {
                if trainer.take_slice(trainer.whole())? {
                    trainer.state.full_steps += 1;
                    self.todo = Todo::Look(left - 1);
                }
            }
            Todo::Look(left) => {
                let best = trainer.state.best.as_ref().and_then(|best| best.metrics.valid_elbo);
                let now = trainer.evaluate(true, on_event)?;
                let goes_on = now > best.map(|best| best + LEAST_GAIN * best.abs());
                self.todo = Todo::Finish(if goes_on { left } else { 0 });
            }
        }
        Ok(None)
    }

    /// The change of a round: topics with the words of others are put above these; else those of least worth are dropped.
    fn change(&mut self, trainer: &mut Trainer<'_>, on_event: &mut OnEvent<'_>) -> Result<Option<Ended>> {
        if self.round == 0 {
            let Some(best) = trainer.state.best.take() else { return Ok(Some(self.ended)) };
            (trainer.state.graph, trainer.state.weights) = (best.graph.clone(), best.weights.clone());
            trainer.state.best = Some(best);
            // Counts are of other weights where the best are not the last.
            trainer.state.memory = Memory::default();
            self.best = judged(trainer)?;
        }
        let rounds = rounds(trainer.options.epochs);
        let work = trainer.state.graph.n_topics().saturating_mul(trainer.state.graph.n_edges());
        if self.round == rounds || self.share < LEAST_SHARE || work > MOST_WORK {
            return self.finish();
        }
        trainer.tell(RefineStage::Weighing, on_event)?;
        let worth = worth::of_topics(trainer, &half(trainer, 0))?;
        let lifts = if self.may_lift { lift::find(&trainer.state.graph, &worth) } else { Vec::new() };
        let dropped = if lifts.is_empty() { self.least(&worth) } else { Vec::new() };
        if lifts.is_empty() && dropped.is_empty() {
            return self.finish();
        }
        self.round += 1;
        let (graph, weights) = (trainer.state.graph.clone(), trainer.state.weights.clone());
        let mut wired = Wired::of(trainer);
        self.lifted = !lifts.is_empty();
        let stage = if self.lifted {
            wired = lift::lift(wired, &graph, &weights, &lifts);
            RefineStage::Lifted(lifts.len())
        } else {
            let gone = |node: u32| dropped.binary_search(&node).is_ok();
            wired.retain(|(parent, child), _| !gone(parent) && !gone(child));
            RefineStage::Dropped(dropped.len())
        };
        self.fallback = Some((graph, weights));
        trainer.rewire(wired);
        for &topic in &dropped {
            trainer.state.weights.leak[topic as usize] = trainer.leak_floor();
        }
        trainer.tell(stage, on_event)?;
        self.todo = Todo::Train(EPOCHS);
        Ok(None)
    }

    /// There is nothing more to change; what was changed is trained on.
    fn finish(&mut self) -> Result<Option<Ended>> {
        self.todo = Todo::Finish(if self.round > 0 { LAST_EPOCHS } else { 0 });
        Ok(None)
    }

    /// The topics of least worth, ascending by number: as many as are worth little together.
    fn least(&self, worth: &[Worth]) -> Vec<u32> {
        let most = self.share * TOLERANCE * self.best.abs();
        let (mut dropped, mut stay, mut spent) = (Vec::new(), Vec::new(), 0.0);
        for Worth { topic, nats, heirs } in worth {
            spent += nats.max(0.0);
            if spent > most {
                break;
            }
            // What takes over a topic that is dropped must stay.
            if !stay.contains(topic) && heirs.iter().all(|(heir, _)| !dropped.contains(heir)) {
                stay.extend(heirs.iter().map(|&(heir, _)| heir));
                dropped.push(*topic);
            }
        }
        dropped.sort_unstable();
        dropped
    }

    /// The network with fewer topics stays if it is nearly as good as the best.
    fn judge(&mut self, trainer: &mut Trainer<'_>, on_event: &mut OnEvent<'_>) -> Result<()> {
        let now = judged(trainer)?;
        // What is nearly as good wins, so nothing stands in its way.
        let before = trainer.state.best.take();
        if let Err(error) = trainer.evaluate(true, on_event) {
            trainer.state.best = before;
            return Err(error);
        }
        if now >= self.best - TOLERANCE * self.best.abs() {
            self.best = self.best.max(now);
            if !self.lifted {
                self.share *= 2.0;
            }
        } else {
            trainer.state.best = before;
            if let Some((graph, weights)) = self.fallback.take() {
                (trainer.state.graph, trainer.state.weights) = (graph, weights);
            }
            trainer.state.memory = Memory::default();
            if self.lifted {
                self.may_lift = false;
            } else {
                self.share /= 4.0;
            }
            trainer.tell(RefineStage::Undone, on_event)?;
        }
        self.todo = Todo::Change;
        trainer.drop_dead_edges(on_event)
    }
}

/// Rounds at most, where there are so many epochs.
fn rounds(epochs: u32) -> u32 {
    (epochs / EPOCHS_A_ROUND).min(ROUNDS)
}

/// Epochs that condensing takes at most, where there are so many before.
pub(super) fn n_epochs(epochs: u32) -> u32 {
    if rounds(epochs) > 0 { rounds(epochs) * EPOCHS + LAST_EPOCHS } else { 0 }
}

/// Every other validation document.
fn half(trainer: &Trainer<'_>, first: usize) -> Vec<Item> {
    let docs: Vec<u32> = trainer.valid_docs().iter().copied().skip(first).step_by(2).collect();
    trainer.items(&docs)
}

/// The bound of the documents that judge, in nats a document.
fn judged(trainer: &mut Trainer<'_>) -> Result<f64> {
    let items = half(trainer, 1);
    let weights = trainer.state.weights.clone();
    let n_docs: f64 = items.iter().map(|item| f64::from(item.count)).sum();
    Ok(trainer.bound_at(&weights, &items)? / n_docs.max(1.0))
}

impl Trainer<'_> {
    /// Keeps the edges that are marked; what the weight step remembers of them stays.
    pub(super) fn keep_edges(&mut self, kept: &[bool]) {
        let state = &mut self.state;
        let mut edges: Vec<(u32, u32)> = state.graph.edges().collect();
        keep(&mut edges, kept);
        let (n_topics, n_tokens) = (state.graph.n_topics(), state.graph.n_tokens());
        // The order of edges is by child, then parent: leaving some out keeps it.
        let (graph, _) = Graph::build(n_topics, n_tokens, &edges, &|node| node.to_string())
            .unwrap_or_else(|fault| unreachable!("a graph without some edges: {}", fault.message));
        state.graph = graph;
        keep(&mut state.weights.edge, kept);
        state.memory.keep_edges(kept);
    }

    /// Drops dead edges once there are many: documents are spared the work.
    pub(super) fn drop_dead_edges(&mut self, on_event: &mut OnEvent<'_>) -> Result<()> {
        if self.state.epoch(self.n_batches()) < FIRST_EPOCH {
            return Ok(());
        }
        let Some(counts) = self.state.memory.counts(&self.state.graph) else { return Ok(()) };
        let n_docs = self.n_docs() as f64;
        let explains = self.state.weights.edge.iter().zip(self.state.graph.edge_parents());
        let kept: Vec<bool> =
            explains.map(|(w, &parent)| w * counts.topic_q[parent as usize] * n_docs >= DEAD).collect();
        let n_dead = kept.iter().filter(|kept| !**kept).count();
        if (n_dead as f64) < MANY_DEAD * kept.len() as f64 {
            return Ok(());
        }
        self.keep_edges(&kept);
        on_event(&Event::Refined { stage: RefineStage::Pruned(n_dead), n_edges: self.state.graph.n_edges() })
    }
}
