//! The network: graph, weights, names, and the files that hold them.

mod check;
mod colour;
mod edge_list;
mod file;
mod fingerprint;
mod graph;
mod init;
mod json;
mod safetensors;
mod summary;
mod weights;

pub use check::{check, check_bytes};
pub use file::{Loaded, load, load_bytes, load_model, save, save_graph};
pub use fingerprint::fingerprint;
pub use graph::{Graph, GraphFault};
pub use init::{Init, initial_weights};
pub use summary::{Checksum, Range, Summary};
pub use weights::{MAX_WEIGHT, Weights};

use rustc_hash::FxHashMap;

/// Names of the nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    /// Names of the topics.
    pub topics: Vec<String>,
    /// Names of the tokens.
    pub tokens: Vec<String>,
}

impl Names {
    /// The name of a node.
    pub fn of(&self, node: u32) -> &str {
        let node = node as usize;
        self.topics
            .get(node)
            .or_else(|| self.tokens.get(node - self.topics.len()))
            .map_or("?", String::as_str)
    }

    /// The first name that stands for two nodes.
    pub fn repeated(&self) -> Option<&str> {
        self.all_repeated().next().map(|(_, _, name)| name)
    }

    /// Every name that another node has too: the first such node, the node, the name.
    fn all_repeated(&self) -> impl Iterator<Item = (usize, usize, &str)> {
        let mut seen = FxHashMap::default();
        self.topics.iter().chain(&self.tokens).enumerate().filter_map(move |(node, name)| {
            let first = *seen.entry(name.as_str()).or_insert(node);
            (first < node).then_some((first, node, name.as_str()))
        })
    }
}

/// A noisy-OR network with weights: a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// The graph.
    pub graph: Graph,
    /// The weights.
    pub weights: Weights,
    /// The names.
    pub names: Names,
    /// What training wrote about itself (JSON, no times), or empty.
    pub training: String,
}
