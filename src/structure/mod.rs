//! Learning a layered topic graph from what occurs together.
//!
//! First the near neighbours of every token (`neighbours`). Then for each layer, from the lowest up: a core for every topic
//! (`cores`), the tokens that gather round it (`members`), the documents that each topic settles on (`settle`), and the edges to the layer
//! below (`layering`). At the end edges are pruned to the budget, and weights and names are made from what was counted.
//!
//! Upper layers cluster the tokens and documents anew instead of the topics below: topics are present in most documents by some weak
//! member, and clusters of clusters lose the theme that way.

mod budget;
mod complete;
mod cores;
mod layer;
mod layering;
mod members;
mod names;
mod neighbours;
mod occurrences;
mod options;
mod settle;
mod weights;

pub use complete::complete_graph;
pub use options::{Anchor, GraphOptions};
pub(crate) use settle::{Candidate, telling};
pub(crate) use weights::{edge as edge_weight, leak as leak_weight};

use crate::corpus::Docs;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::network::{Graph, Names, Network};
use layer::Layer;
use occurrences::Occurrences;
use settle::Settled;

/// Topics that a token is considered for: more than it may have, as some may be denied to it.
const CANDIDATES: usize = 32;

/// How many documents [`learn_graph`] will have counted in its monitor at the end.
pub fn graph_work(n_docs: usize, n_tokens: usize, options: &GraphOptions) -> u64 {
    // Neighbours are counted once, and every layer settles in rounds.
    n_docs as u64 * (1 + settle::ROUNDS as u64 * options.layer_sizes(n_tokens).len() as u64)
}

/// Memory that [`learn_graph`] takes for documents of so many tokens in all, about: the `dblp` preset took 3.05 GB for 23 million.
pub fn graph_memory(n_occurrences: u64) -> u64 {
    128 * n_occurrences
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
    let near = neighbours::neighbours(&token_docs, options.min_support, monitor)?;
    let cohesive = near.cohesive();
    // Frequent tokens count more, but not in proportion.
    let worth: Vec<f32> = (0..tokens.len()).map(|token| (token_docs.df(token) as f32).ln_1p()).collect();
    let (mut layers, mut telling): (Vec<Layer>, Vec<Vec<Vec<u32>>>) = Default::default();
    let mut below: Option<Settled> = None;
    for &n_topics in &options.layer_sizes(tokens.len()) {
        let constraints = if below.is_none() { options.constraints() } else { Default::default() };
        let cores = cores::choose(&worth, &cohesive, n_topics, &constraints.anchors);
        let own = cores::by_item(&cores, tokens.len());
        let shares = members::members(&near, &own, n_topics);
        let settled = settle::settle(&token_docs, &shares, n_topics, &constraints.anchors, monitor)?;
        let most = CANDIDATES.max(options.parents);
        layers.push(match &below {
            None => {
                let candidates = settled.topics_of_tokens(&token_docs, options.min_support, most);
                let mut layer = layering::layer(&candidates, &own, &settled, options.parents, &constraints);
                layering::pair_up(&near, &own, options.parents, &constraints, &mut layer);
                layer
            }
            Some(below) => {
                let candidates = settled.topics_of_topics(below, most);
                let own = layering::first_children(&candidates, n_topics, options.topic_parents());
                layering::layer(&candidates, &own, &settled, options.topic_parents(), &constraints)
            }
        });
        telling.push(settled.telling_tokens(&token_docs, names::KEPT));
        below = Some(settled);
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
    telling: &[Vec<Vec<u32>>],
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
            edge_weights.push(weights::edge(edge.p));
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
