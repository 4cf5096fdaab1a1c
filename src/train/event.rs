//! What training tells while it runs.

use crate::baseline::Score;
use crate::estep::Bound;
use serde::{Deserialize, Serialize};

/// One evaluation: a line of `metrics.jsonl`. That of a baseline ([`crate::baseline`]) is read as one, too: its scores are then in place of
/// bounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Weight steps taken.
    pub step: u64,
    /// Passes over the training documents, fractions included.
    pub epoch: f64,
    /// Wall time since the start.
    pub seconds: f64,
    /// What the figures are.
    #[serde(alias = "score")]
    pub bound: FigureKind,
    /// Mean bound of the documents trained on since the last evaluation, each at the weights of its step.
    #[serde(alias = "train_score")]
    pub train_elbo: Option<f64>,
    /// Mean bound of the validation documents at the current weights.
    #[serde(alias = "valid_score")]
    pub valid_elbo: Option<f64>,
    /// Edges of the graph at that time.
    #[serde(default)]
    pub n_edges: usize,
    /// How counts are smoothed from then on, where the documents held out decide.
    #[serde(default)]
    pub smoothing: Option<super::Smoothing>,
    /// Training documents per second since the last evaluation.
    pub docs_per_s: f64,
    /// Positive-edge updates per second since the last evaluation.
    #[serde(default)]
    pub edges_per_s: f64,
}

/// What the figures of an evaluation are: a bound of a network, or the score of a baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FigureKind {
    /// The bound of that name ([`Bound`]).
    Tail,
    /// The bound of that name.
    Local,
    /// The bound of that name.
    Full,
    /// Log-likelihoods ([`Score`]).
    Exact,
    /// Bounds of a baseline.
    Bound,
    /// Estimated log-likelihoods.
    Estimate,
}

impl From<Bound> for FigureKind {
    fn from(bound: Bound) -> Self {
        match bound {
            Bound::Tail => Self::Tail,
            Bound::Local => Self::Local,
            Bound::Full => Self::Full,
        }
    }
}

impl From<Score> for FigureKind {
    fn from(score: Score) -> Self {
        match score {
            Score::Exact => Self::Exact,
            Score::Bound => Self::Bound,
            Score::Estimate => Self::Estimate,
        }
    }
}

impl FigureKind {
    /// In a word, as in `metrics.jsonl`; where topics were clamped for a bound, how many.
    pub fn label(self, clamp: u32) -> String {
        match self {
            Self::Tail => Bound::Tail.label(clamp),
            Self::Local => Bound::Local.label(clamp),
            Self::Full => Bound::Full.label(clamp),
            Self::Exact => Score::Exact.to_string(),
            Self::Bound => Score::Bound.to_string(),
            Self::Estimate => Score::Estimate.to_string(),
        }
    }
}

impl std::fmt::Display for FigureKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tail | Self::Local | Self::Full => write!(f, "{} bound", self.label(0)),
            Self::Exact => f.write_str("exact log-likelihood"),
            Self::Bound => f.write_str("bound"),
            Self::Estimate => f.write_str("estimated log-likelihood"),
        }
    }
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
