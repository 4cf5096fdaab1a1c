//! The layers of a graph: how many nodes and edges each has, and a few of its topics.

use super::MAX_DEPTH;
use crate::network::Network;
use rustc_hash::FxHashMap;
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

/// The names of [`top_tokens`].
pub fn top_words(network: &Network, topic: usize, top: usize) -> Vec<String> {
    let tokens = top_tokens(network, topic, top).into_iter();
    tokens.map(|(token, _)| network.names.of(token).to_owned()).collect()
}

/// The tokens, as nodes, that a topic is most likely to switch on by itself or through topics below, each with the probability that
/// it does, most likely first.
pub fn top_tokens(network: &Network, topic: usize, top: usize) -> Vec<(u32, f64)> {
    let graph = &network.graph;
    // Weak paths are left out: they cannot lead to strong words, and there are too many.
    const WIDTH: usize = 64;
    let mut level: Vec<(u32, f64)> = vec![(topic as u32, 1.0)];
    let mut words: FxHashMap<u32, f64> = FxHashMap::default();
    // What is deeper is not looked for: a chain of topics could be as long as there are topics.
    for _ in 0..MAX_DEPTH {
        let mut below: FxHashMap<u32, f64> = FxHashMap::default();
        for (topic, on) in level {
            for (&child, &edge) in
                graph.children(topic as usize).iter().zip(graph.child_edges(topic as usize))
            {
                let p = on * -(-network.weights.edge[edge as usize]).exp_m1();
                let list = if graph.is_topic(child as usize) { &mut below } else { &mut words };
                let sum = list.entry(child).or_default();
                *sum = 1.0 - (1.0 - *sum) * (1.0 - p);
            }
        }
        level = strongest(below, WIDTH);
    }
    strongest(words, top)
}

fn strongest(nodes: FxHashMap<u32, f64>, most: usize) -> Vec<(u32, f64)> {
    let mut nodes: Vec<(u32, f64)> = nodes.into_iter().collect();
    nodes.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    nodes.truncate(most);
    nodes
}
