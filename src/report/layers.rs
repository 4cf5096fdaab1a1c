//! The layers of a graph: how many nodes and edges each has, and a few of its topics.

use crate::network::{Network, top_words};
use serde::Serialize;

/// One layer of nodes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LayerSummary {
    /// 0 for tokens; a topic is one above the highest of its children.
    pub layer: usize,
    /// Number of nodes.
    pub nodes: usize,
    /// Edges into them.
    pub edges: usize,
    /// Parents of a node on average.
    pub mean_parents: f64,
    /// Parents of the node that has most.
    pub most_parents: usize,
    /// The most frequent topics with the words they are most likely to switch on, themselves or through others.
    pub examples: Vec<(String, Vec<String>)>,
}

/// Words of an example.
const WORDS: usize = 8;

/// The layers from the tokens upwards, with so many examples each.
pub fn layer_summaries(network: &Network, n_examples: usize) -> Vec<LayerSummary> {
    let graph = &network.graph;
    let levels = graph.levels();
    let n_layers = levels.iter().max().map_or(1, |&top| top as usize + 1);
    let mut layers: Vec<Vec<usize>> = vec![Vec::new(); n_layers];
    levels.iter().enumerate().for_each(|(node, &level)| layers[level as usize].push(node));
    let summary = |(layer, mut nodes): (usize, Vec<usize>)| {
        let n_parents = |&node: &usize| graph.parents(node).len();
        let edges: usize = nodes.iter().map(n_parents).sum();
        let (n_nodes, most_parents) = (nodes.len(), nodes.iter().map(n_parents).max().unwrap_or(0));
        nodes.retain(|&node| graph.is_topic(node));
        nodes.sort_by(|&a, &b| network.weights.leak[b].total_cmp(&network.weights.leak[a]).then(a.cmp(&b)));
        nodes.truncate(n_examples);
        let example =
            |topic: &usize| (network.names.of(*topic as u32).to_owned(), top_words(network, *topic, WORDS));
        LayerSummary {
            layer,
            nodes: n_nodes,
            edges,
            mean_parents: edges as f64 / n_nodes.max(1) as f64,
            most_parents,
            examples: nodes.iter().map(example).collect(),
        }
    };
    layers.into_iter().enumerate().map(summary).collect()
}
