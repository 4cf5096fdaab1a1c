//! The network: graph, weights, names, and the files that hold them.

mod check;
mod colour;
mod edge_list;
mod edit;
mod file;
mod fingerprint;
mod given;
mod graph;
mod init;
mod json;
mod marginals;
mod safetensors;
mod summary;
mod weights;
mod words;

pub use check::{check, check_bytes};
pub use edge_list::is_edge_header;
pub use file::{Loaded, check_extension, load, load_bytes, load_model, save, save_by, save_graph, to_bytes};
pub use fingerprint::fingerprint;
pub use given::WithGiven;
pub use graph::{Graph, GraphFault};
pub use init::{Init, initial_weights};
pub use marginals::{token_marginals, topic_marginals};
pub use summary::{Checksum, Range, Summary};
pub use weights::{MAX_WEIGHT, Weights};
pub use words::{MAX_DEPTH, top_tokens, top_words};

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

impl Network {
    /// Leaves out the topics that lead to no token: they explain nothing.
    pub fn drop_empty_topics(&mut self) {
        let graph = &self.graph;
        let mut kept: Vec<bool> = (0..graph.n_nodes()).map(|node| !graph.is_topic(node)).collect();
        for &topic in graph.topic_order().iter().rev() {
            kept[topic as usize] = graph.children(topic as usize).iter().any(|&child| kept[child as usize]);
        }
        let mut next = 0;
        let number: Vec<u32> = kept
            .iter()
            .map(|&kept| {
                next += u32::from(kept);
                next.wrapping_sub(1)
            })
            .collect();
        let is_kept = |edge: &(u32, u32)| kept[edge.0 as usize] && kept[edge.1 as usize];
        let edge_kept: Vec<bool> = graph.edges().map(|edge| is_kept(&edge)).collect();
        let renumber = |(parent, child): (u32, u32)| (number[parent as usize], number[child as usize]);
        let edges: Vec<(u32, u32)> = graph.edges().filter(is_kept).map(renumber).collect();
        let n_topics = next as usize - graph.n_tokens();
        // The order of edges is by child, then parent, and numbering keeps the order.
        let Ok((smaller, _)) = Graph::build(n_topics, graph.n_tokens(), &edges, &|node| node.to_string())
        else {
            return;
        };
        keep(&mut self.weights.edge, &edge_kept);
        keep(&mut self.weights.leak, &kept);
        keep(&mut self.names.topics, &kept);
        self.graph = smaller;
    }
}

/// Keeps the entries that are marked.
pub(crate) fn keep<T>(list: &mut Vec<T>, marks: &[bool]) {
    let mut marks = marks.iter();
    list.retain(|_| marks.next() == Some(&true));
}
