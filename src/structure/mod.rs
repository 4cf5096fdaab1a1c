//! Learning a layered topic graph from what occurs together.
//!
//! Each layer is made from the one below: near neighbours of every item (`neighbours`), a core for every topic (`cores`), the
//! topics of every item (`members`), and which topic explains which item of a document (`explain`), which gives the documents
//! of the next layer. At the end edges are pruned to the budget, and weights and names are made from what was counted.

mod budget;
mod cores;
mod explain;
mod layer;
mod members;
mod names;
mod neighbours;
mod occurrences;
mod options;
#[cfg(test)]
mod tests;
mod weights;

pub use options::{Anchor, GraphOptions};

use crate::corpus::Docs;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::network::{Graph, Names, Network};
use explain::Explained;
use layer::Layer;
use names::Telling;
use occurrences::Occurrences;

/// Passes over the documents that each layer takes, for the count of progress: neighbours, and explaining.
const PASSES: u64 = 2;

/// How many documents [`learn_graph`] will have counted in its monitor at the end.
pub fn graph_work(n_docs: usize, n_tokens: usize, options: &GraphOptions) -> u64 {
    n_docs as u64 * PASSES * options.layer_sizes(n_tokens).len() as u64
}

/// Learns a graph from the documents `doc_ixs`, with names and with weights to start training from.
///
/// Tokens that occur with no other in enough documents have no parents. The same documents, options and seed give the same
/// network, whatever the number of threads.
pub fn learn_graph(
    docs: Docs<'_>,
    doc_ixs: &[u32],
    tokens: &[String],
    options: &GraphOptions,
    monitor: &Monitor,
) -> Result<Network> {
    options.check(tokens)?;
    let token_docs = Occurrences::of_docs(&docs, doc_ixs, tokens.len());
    if token_docs.n_occurrences() == 0 {
        let n_docs = doc_ixs.len();
        return Err(Error::Usage(format!(
            "nothing to learn a graph from: no token occurs in the {n_docs} documents; check the corpus and its vocabulary"
        )));
    }
    let mut layers: Vec<Layer> = Vec::new();
    let mut telling = Telling::new(&token_docs);
    let mut below = None;
    for (at, &n_topics) in options.layer_sizes(tokens.len()).iter().enumerate() {
        let items = below.as_ref().unwrap_or(&token_docs);
        let constraints = if at == 0 { options.constraints() } else { Default::default() };
        let near = neighbours::neighbours(items, options.min_support, monitor)?;
        let cores = cores::choose(items, &near, n_topics, &constraints.anchors);
        let layer = members::members(&near, &cores, options.parents, &constraints);
        let Explained { layer, topics, votes } = explain::explain(items, layer, monitor)?;
        telling.climb(items, &votes, n_topics);
        layers.push(layer);
        below = Some(topics);
    }
    if let Some(most) = options.max_edges {
        budget::prune(&mut layers, most);
    }
    assemble(&layers, &token_docs, &telling, tokens, options)
}

/// Graph, weights and names of the layers: topics from the top layer down, then tokens.
fn assemble(
    layers: &[Layer],
    token_docs: &Occurrences,
    telling: &Telling,
    tokens: &[String],
    options: &GraphOptions,
) -> Result<Network> {
    let n_topics: usize = layers.iter().map(|layer| layer.n_topics).sum();
    // The first node of the tokens, then of each layer of topics.
    let mut firsts = vec![n_topics as u32];
    let mut first = n_topics;
    for layer in layers {
        first -= layer.n_topics;
        firsts.push(first as u32);
    }
    let (mut edges, mut edge_weights) = (Vec::new(), Vec::new());
    for (at, layer) in layers.iter().enumerate() {
        for (item, edge) in layer.edges() {
            edges.push((firsts[at + 1] + edge.topic, firsts[at] + item));
            edge_weights.push(weights::edge(layer, edge));
        }
    }
    let topics = names::name(telling, layers, tokens, &options.anchors);
    let names = Names { topics, tokens: tokens.to_vec() };
    let (graph, order) = Graph::build(n_topics, tokens.len(), &edges, &|node| names.of(node).to_owned())
        .map_err(|fault| Error::Usage(format!("the graph that was learned: {}", fault.message)))?;
    let edge = order.iter().map(|&at| edge_weights[at as usize]).collect();
    let weights = weights::weights(&graph, layers, token_docs, edge);
    Ok(Network { graph, weights, names, training: String::new() })
}
