//! Graphs with every edge: nothing is learned but weights.

use crate::error::{Error, Result};
use crate::network::{Graph, Names};
use rustc_hash::FxHashSet;

/// More edges are refused: every one is a weight that all documents of its token pay for.
const MOST_EDGES: u64 = 50_000_000;

/// A graph in which every topic is linked to everything in the layer below; `layers` has the topics of each, the one above the
/// tokens first.
///
/// Topics are numbered from the top layer down, like those of [`learn_graph`](super::learn_graph), and named by number.
///
/// # Errors
///
/// [`Error::Usage`] where there are no tokens, layers without topics, or too many edges.
pub fn complete_graph(layers: &[usize], tokens: &[String]) -> Result<(Graph, Names)> {
    if tokens.is_empty() {
        return Err(Error::Usage("a graph needs tokens, and there are none".into()));
    }
    if layers.is_empty() || layers.contains(&0) {
        return Err(Error::Usage("a layer of 0 topics is none; ask for 1 topic or more in each".into()));
    }
    let sizes: Vec<u64> =
        std::iter::once(tokens.len()).chain(layers.iter().copied()).map(|n| n as u64).collect();
    let n_edges = sizes.windows(2).try_fold(0u64, |sum, pair| sum.checked_add(pair[0].checked_mul(pair[1])?));
    if n_edges.is_none_or(|n_edges| n_edges > MOST_EDGES) {
        let n_edges = n_edges.map_or("too many".to_owned(), |n_edges| n_edges.to_string());
        return Err(Error::Usage(format!(
            "`parents` all with these topics above {} tokens would be {n_edges} edges, and {MOST_EDGES} are possible; ask for \
             fewer topics, or let a graph be learned with `parents` N",
            tokens.len()
        )));
    }
    let n_topics: usize = layers.iter().sum();
    let mut edges = Vec::new();
    let (mut below, mut first) = (n_topics..n_topics + tokens.len(), n_topics);
    for size in layers {
        let layer = first - size..first;
        edges.extend(below.flat_map(|child| layer.clone().map(move |topic| (topic as u32, child as u32))));
        (first, below) = (layer.start, layer);
    }
    let taken: FxHashSet<&str> = tokens.iter().map(String::as_str).collect();
    let mut free =
        (1..).map(|number: u64| format!("topic {number}")).filter(|name| !taken.contains(name.as_str()));
    let topics = free.by_ref().take(n_topics).collect();
    let names = Names { topics, tokens: tokens.to_vec() };
    let (graph, _) = Graph::build(n_topics, tokens.len(), &edges, &|node| names.of(node).to_owned())
        .map_err(|fault| Error::Usage(format!("the complete graph: {}", fault.message)))?;
    Ok((graph, names))
}
