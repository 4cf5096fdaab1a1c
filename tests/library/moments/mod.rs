//! The method of moments: golden files, random networks, samples, and data that say nothing.

#![allow(clippy::unwrap_used)]

mod degenerate;
mod golden;
mod random;
mod sampled;
mod suggested;

use noisyor::moments::{Learned, Order, Schedule, ScheduleOptions, Source, Weighting, estimate};
use noisyor::{Graph, Monitor, Weights};

/// The paper's: the first set in the order of the tokens.
pub(crate) const FIRST: ScheduleOptions =
    ScheduleOptions { max_sets: 1, order: Order::Number, pairs: true, anchors: false };

pub(crate) fn graph_of(n_topics: usize, n_tokens: usize, edges: &[(u32, u32)]) -> Graph {
    let edges: Vec<(u32, u32)> = edges.iter().map(|&(i, j)| (i, j + n_topics as u32)).collect();
    Graph::build(n_topics, n_tokens, &edges, &|node| node.to_string()).unwrap().0
}

/// Weights from probabilities; `failures` by (topic, token).
pub(crate) fn weights_of(graph: &Graph, p: &[f64], failures: &[(u32, u32, f64)], f0: &[f64]) -> Weights {
    let leak = p.iter().map(|p| -(-p).ln_1p()).chain(f0.iter().map(|f| -f.ln())).collect();
    let mut edge = vec![0.0; graph.n_edges()];
    failures.iter().for_each(|&(topic, token, f)| edge[edge_number(graph, topic, token)] = -f.ln());
    Weights { leak, edge }
}

pub(crate) fn edge_number(graph: &Graph, topic: u32, token: u32) -> usize {
    let node = graph.n_topics() + token as usize;
    graph.edges_into(node).start + graph.parents(node).binary_search(&topic).unwrap()
}

pub(crate) fn schedule_of(graph: &Graph, options: &ScheduleOptions) -> Schedule {
    Schedule::of(graph, options, &Monitor::default()).unwrap()
}

pub(crate) fn learn(
    graph: &Graph,
    schedule: &Schedule,
    source: &dyn Source,
    weighting: Weighting,
) -> Learned {
    estimate(graph, schedule, source, weighting, &Monitor::default()).unwrap()
}
