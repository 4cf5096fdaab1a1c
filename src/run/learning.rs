//! How a graph was learned, as a run writes it down.

use crate::capacity::{Effort, Shape, Trial};
use crate::structure::GraphOptions;
use crate::train::BatchSize;
use serde::{Deserialize, Serialize};

/// How a graph was learned, and why so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Learning {
    /// What makes the same graph from the same documents.
    #[serde(flatten)]
    pub graph: LearnedGraph,
    /// Why it has this size, where that was chosen.
    #[serde(flatten)]
    pub choice: Option<Choice>,
}

/// A graph that was not given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LearnedGraph {
    /// Every edge between layers.
    Complete {
        /// Topics of each layer.
        topics: Vec<usize>,
        /// Which parents nodes have.
        parents: EveryParent,
    },
    /// Learned from the documents.
    Learned(Box<GraphOptions>),
}

/// Stands for every topic of the layer above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EveryParent {
    /// All of them.
    All,
}

/// How the size of a network was chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The work that it might take.
    pub effort: Effort,
    /// Epochs that there is time for.
    pub epochs: u32,
    /// The batches that its topics need.
    pub batch: BatchSize,
    /// What was tried, in order.
    pub trials: Vec<Trial>,
}

impl Learning {
    /// Of a complete graph.
    pub fn complete(topics: &[usize]) -> Self {
        let graph = LearnedGraph::Complete { topics: topics.to_vec(), parents: EveryParent::All };
        Self { graph, choice: None }
    }

    /// Of a learned graph.
    pub fn learned(options: GraphOptions) -> Self {
        Self { graph: LearnedGraph::Learned(Box::new(options)), choice: None }
    }

    /// Of a network that was chosen.
    pub fn chosen(shape: Shape, choice: Choice) -> Self {
        let learning = match shape {
            Shape::Learned(options) => Self::learned(*options),
            Shape::Complete(size) => Self::complete(&[size]),
        };
        Self { choice: Some(choice), ..learning }
    }

    /// Whether it has every edge between its layers, so that its topics have no names before they are trained.
    pub fn is_complete(&self) -> bool {
        matches!(self.graph, LearnedGraph::Complete { .. })
    }

    /// Names of topics that the user gave.
    pub(super) fn given_names(&self) -> impl Iterator<Item = &str> {
        let anchors = match &self.graph {
            LearnedGraph::Learned(options) => options.anchors.as_slice(),
            LearnedGraph::Complete { .. } => &[],
        };
        anchors.iter().map(|anchor| anchor.name.as_str())
    }
}
