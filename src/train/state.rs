//! Where a training stands: all that it needs to go on, besides the documents and the options.

use super::condense::Condensation;
use super::patience::Patience;
use super::refine::Refinement;
use super::renew::Renewal;
use super::step::Memory;
use super::{Ended, Metrics, Prior, Smoothing};
use crate::estep::{OnLists, Stats};
use crate::network::{Graph, Weights};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A training between two slices of documents. Random numbers are no part of it: each use has a stream of its own, by the seed
/// and, for the order of batches, the epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub(super) graph: Graph,
    pub(super) weights: Weights,
    pub(super) phase: Phase,
    /// What the weight step remembers.
    pub(super) memory: Memory,
    /// What the model that training went on from counts as.
    pub(super) prior: Option<Prior>,
    /// Sums of a weight step of which some slices are done.
    pub(super) partial: Option<Partial>,
    /// Weight steps taken; of these, steps of refinement, each over all documents.
    pub(super) step: u64,
    pub(super) full_steps: u64,
    pub(super) since: Since,
    pub(super) best: Option<Best>,
    pub(super) patience: Patience,
    /// Topics that were on where the last E-step or the chains of each slice ended, by the place of the slice's first document; only
    /// where starts are kept or topics are sampled.
    pub(super) kept_on: BTreeMap<u64, OnLists>,
    /// Topics that refinement or renewal started anew.
    pub(super) reseeded: Vec<u32>,
    /// How counts are smoothed, where the documents held out decide.
    pub(super) smoothing: Option<Smoothing>,
    /// Seconds of training so far.
    pub(super) seconds: f64,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Phase {
    /// The graph is refined.
    Refining(Box<Refinement>),
    /// Epochs of batches; before the next one there may be an evaluation to make.
    Epochs { evaluation_due: bool },
    /// Nothing.
    Ended(Ended),
    /// Topics begin anew.
    Renewing(Box<Renewal>),
    /// Topics are dropped, after the epochs.
    Condensing(Box<Condensation>),
}

/// Sums over the first documents of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Partial {
    pub(super) n_docs: usize,
    pub(super) stats: Stats,
}

/// Sums since the last evaluation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Since {
    pub(super) stats: Stats,
    pub(super) seconds: f64,
}

/// The best model so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Best {
    pub(super) graph: Graph,
    pub(super) weights: Weights,
    pub(super) metrics: Metrics,
}

impl State {
    /// The start of a training.
    pub(super) fn new(graph: Graph, weights: Weights, phase: Phase) -> Self {
        Self {
            graph,
            weights,
            phase,
            memory: Memory::default(),
            prior: None,
            partial: None,
            step: 0,
            full_steps: 0,
            since: Since::default(),
            best: None,
            patience: Patience::default(),
            kept_on: BTreeMap::new(),
            reseeded: Vec::new(),
            smoothing: None,
            seconds: 0.0,
        }
    }

    /// Weight steps taken.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Seconds of training.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Documents of the present step that are done.
    pub fn partial_docs(&self) -> usize {
        self.partial.as_ref().map_or(0, |partial| partial.n_docs)
    }

    /// Passes over the training documents, by steps of an epoch.
    pub fn epoch(&self, n_batches: usize) -> f64 {
        self.full_steps as f64 + (self.step - self.full_steps) as f64 / n_batches.max(1) as f64
    }

    /// Mean bound of the documents trained on since the last evaluation, each at the weights of its step; none where topics were
    /// sampled.
    pub fn train_elbo(&self) -> Option<f64> {
        let bound = (self.since.stats.n_docs > 0.0).then(|| self.since.stats.elbo_mean());
        bound.filter(|bound| *bound > f64::NEG_INFINITY)
    }

    /// Whether there is nothing left to do.
    pub fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended(_))
    }

    /// An ended training goes on if it may now take so many steps, or more patience.
    pub(super) fn reopen(&mut self, n_steps: u64, patience: u32) {
        let has_steps_left = self.step - self.full_steps < n_steps;
        let goes_on = match self.phase {
            Phase::Ended(Ended::Finished) => has_steps_left,
            Phase::Ended(Ended::EarlyStop) => has_steps_left && !self.patience.is_over(patience),
            _ => false,
        };
        if goes_on {
            self.phase = Phase::Epochs { evaluation_due: false };
        }
    }

    /// What does not belong together, in words; a state of this graph's tokens and topics has no fault.
    pub(crate) fn fault(&self, start: &Graph) -> Option<String> {
        let of = |graph: &Graph, weights: &Weights| {
            (graph.n_topics(), graph.n_tokens()) == (start.n_topics(), start.n_tokens())
                && (weights.edge.len(), weights.leak.len()) == (graph.n_edges(), graph.n_nodes())
                && weights.fault(graph, &|node| node.to_string()).is_none()
        };
        let graph = &self.graph;
        let sums = |stats: &Stats| {
            (stats.edge.len(), stats.leak.len()) == (graph.n_edges(), graph.n_nodes())
                && (stats.topic_q.len(), stats.topic_docs.len()) == (graph.n_topics(), graph.n_topics())
        };
        let sound = [
            ("weights", of(graph, &self.weights)),
            ("best model", self.best.as_ref().is_none_or(|best| of(&best.graph, &best.weights))),
            ("memory of the weight step", self.memory.fits(graph)),
            ("counts of an older model", self.prior.as_ref().is_none_or(|prior| prior.fits(graph))),
            ("sums of a step", self.partial.as_ref().is_none_or(|partial| sums(&partial.stats))),
            ("steps", self.full_steps <= self.step),
            ("topics", self.reseeded.iter().all(|&topic| (topic as usize) < graph.n_topics())),
            (
                "refinement",
                match &self.phase {
                    Phase::Refining(refinement) => refinement.fits(graph, &of),
                    _ => true,
                },
            ),
            (
                "topics to drop",
                match &self.phase {
                    Phase::Condensing(condensation) => condensation.fits(&of),
                    _ => true,
                },
            ),
            (
                "renewal",
                match &self.phase {
                    Phase::Renewing(renewal) => renewal.fits(graph.n_topics(), &|weights| of(graph, weights)),
                    _ => true,
                },
            ),
        ];
        sound.iter().find(|(_, sound)| !sound).map(|(what, _)| format!("its {what} are not of this graph"))
    }
}
