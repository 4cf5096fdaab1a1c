//! What training tells while it runs.

use serde::{Deserialize, Serialize};

/// One evaluation: a line of `metrics.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Weight steps taken.
    pub step: u64,
    /// Passes over the training documents, fractions included.
    pub epoch: f64,
    /// Wall time since the start.
    pub seconds: f64,
    /// Which bound the figures are.
    pub bound: crate::estep::Bound,
    /// Mean bound of the documents trained on since the last evaluation, each at the weights of its step.
    pub train_elbo: Option<f64>,
    /// Mean bound of the validation documents at the current weights.
    pub valid_elbo: Option<f64>,
    /// Edges of the graph at that time.
    pub n_edges: usize,
    /// How counts are smoothed from then on, where the documents held out decide.
    #[serde(default)]
    pub smoothing: Option<super::Smoothing>,
    /// Training documents per second since the last evaluation.
    pub docs_per_s: f64,
    /// Positive-edge updates per second since the last evaluation.
    pub edges_per_s: f64,
}

/// What happens.
#[derive(Debug, Clone, PartialEq)]
pub enum Event<'a> {
    /// Training starts, or goes on.
    Started {
        /// Training documents.
        n_train: usize,
        /// Validation documents.
        n_valid: usize,
        /// Test documents, which are left alone.
        n_test: usize,
        /// Weight steps at most, those of refinement not counted.
        n_steps: u64,
        /// Those of them taken before, by a training that goes on.
        steps_done: u64,
        /// Weight steps per epoch.
        n_batches: usize,
        /// Epochs that refinement takes before, at most; none where it is over.
        refine_epochs: u32,
        /// The smallest leak there will be.
        leak_floor: f64,
    },
    /// The bound was evaluated.
    Evaluated {
        /// The figures.
        metrics: &'a Metrics,
        /// Whether this is the best model so far.
        best: bool,
        /// The graph, which refinement changes.
        graph: &'a crate::network::Graph,
        /// The weights evaluated.
        weights: &'a crate::network::Weights,
    },
    /// Training could go on from here, if it were stopped.
    Safe {
        /// Where it stands.
        state: &'a super::State,
        /// Whether it stops here.
        last: bool,
    },
    /// Refinement changed the graph, and trains on.
    Refined {
        /// How.
        stage: RefineStage,
        /// Edges the graph has now.
        n_edges: usize,
    },
}

/// A change of the graph by refinement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefineStage {
    /// Edges were added, to start from more than the budget.
    Densified,
    /// So many dead topics started anew.
    Reseeded(usize),
    /// So many edges of least importance, or dead ones, were dropped.
    Pruned(usize),
    /// So many edges were exchanged for others of larger gradient.
    Swapped(usize),
    /// What topics are worth is looked at.
    Weighing,
    /// So many topics became parents of topics whose words they had.
    Lifted(usize),
    /// So many topics were dropped that documents held out can do without.
    Dropped(usize),
    /// The last exchange did not help, and was undone.
    Undone,
}
