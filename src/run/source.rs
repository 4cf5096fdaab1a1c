//! Where the network of a run comes from.

use crate::capacity::Effort;
use crate::network::Init;
use crate::structure::{GraphOptions, GraphRequest};
use crate::train::{StepRule, TrainOptions};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where a network comes from, as it is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkSource {
    /// A graph file, with or without weights.
    File(PathBuf),
    /// A graph in the memory of a program that uses the library.
    Memory,
    /// Learned from the training documents.
    Learned(GraphRequest),
    /// Learned from the training documents, as large as is of use by the validation part.
    Chosen {
        /// The work to spend.
        effort: Effort,
        /// Epochs at most; none: as many as there is time for.
        epochs: Option<u32>,
        /// What is known about topics.
        known: GraphRequest,
    },
    /// Every edge between layers of topics; nothing is learned.
    Complete {
        /// Topics of each layer, the one above the tokens first.
        topics: Vec<usize>,
    },
    /// A model that is trained on; tokens that it lacks are attached.
    Model {
        /// The model's file.
        path: PathBuf,
        /// Documents that it counts as beside the new ones; none: those it was trained on; 0: it is a start and nothing more.
        docs: Option<u64>,
        /// Parents of a new token at most.
        parents: usize,
        /// Pairs of a token and a topic seen together in fewer documents do not count.
        min_support: u32,
    },
}

impl NetworkSource {
    /// As large as the documents ask for, by usual effort.
    pub fn chosen() -> Self {
        Self::Chosen { effort: Effort::Normal, epochs: None, known: GraphRequest::default() }
    }

    /// A model that is trained on, as is usual.
    pub fn model(path: impl Into<PathBuf>) -> Self {
        let GraphOptions { parents, min_support, .. } = GraphOptions::default();
        Self::Model { path: path.into(), docs: None, parents, min_support }
    }

    /// In a word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::File(_) => "file",
            Self::Memory => "memory",
            Self::Learned(_) | Self::Chosen { .. } => "learned",
            Self::Complete { .. } => "complete",
            Self::Model { .. } => "model",
        }
    }

    /// Initial weights where nothing else is said.
    pub fn default_init(&self) -> Init {
        match self {
            Self::File(_) | Self::Memory => Init::Data,
            Self::Complete { .. } => Init::Mixture,
            Self::Learned(_) | Self::Chosen { .. } | Self::Model { .. } => Init::Graph,
        }
    }

    /// Training options where nothing else is said. A network that is chosen is smoothed by the documents held out, and condensed unless
    /// something is known about its topics, which must be kept to.
    pub fn default_options(&self) -> TrainOptions {
        let mut options = TrainOptions { init: self.default_init(), ..TrainOptions::default() };
        if let (Self::Chosen { known, .. }, StepRule::Em { .. }) = (self, options.step) {
            options.smooth = true;
            options.condense = !known.has_constraints();
        }
        options
    }

    /// The same with paths that hold wherever the program is started.
    pub fn absolute(mut self) -> Self {
        if let Self::File(path) | Self::Model { path, .. } = &mut self
            && let Ok(absolute) = path.canonicalize()
        {
            *path = absolute;
        }
        self
    }
}
