//! Weights to start training from: conditional frequencies.

use super::occurrences::Occurrences;
use crate::network::{Graph, Weights};

/// The range of edge weights at the start: EM moves weights in proportion, so none may start at its end.
const EDGE_RANGE: (f64, f64) = (0.05, 3.0);
/// The same where a topic has hundreds of edges: every one counts against it in documents that lack the token.
const MANY_EDGES_RANGE: (f64, f64) = (0.001, 3.5);
/// The share of an item's frequency that its leak explains, where it has parents.
const LEAK_SHARE: f64 = 0.5;
/// The weight of an edge, `-log(1 - p)`.
pub(crate) fn edge(p: f32) -> f64 {
    rate(f64::from(p)).clamp(EDGE_RANGE.0, EDGE_RANGE.1)
}

/// The weight of an edge that was chosen by its gain. One that must be there without evidence (p = 0) begins as any other does.
pub(super) fn edge_by_gain(p: f32) -> f64 {
    if p > 0.0 { rate(f64::from(p)).clamp(MANY_EDGES_RANGE.0, MANY_EDGES_RANGE.1) } else { edge(p) }
}

fn rate(p: f64) -> f64 {
    -(-p.min(1.0 - 1e-9)).ln_1p()
}

/// The leak of an item that is in `count` of `n_docs` documents: what no parent explains.
pub(crate) fn leak(count: f64, n_docs: f64, has_parents: bool) -> f64 {
    let share = if has_parents { LEAK_SHARE } else { 1.0 };
    // An item that never occurs must still be possible.
    rate(share * count / n_docs).clamp(0.1 / n_docs, EDGE_RANGE.1)
}

/// All weights, the edges' given. `topics` has the frequencies of topics without their parents, the lowest layer first.
pub(super) fn weights(
    graph: &Graph,
    topics: &[Vec<f64>],
    token_docs: &Occurrences,
    edge: Vec<f64>,
) -> Weights {
    let n_docs = token_docs.n_docs().max(1) as f64;
    let topics = topics.iter().rev().flatten().map(|&frequency| leak(frequency * n_docs, n_docs, false));
    let token = |token: usize| {
        leak(token_docs.df(token) as f64, n_docs, !graph.parents(graph.n_topics() + token).is_empty())
    };
    let tokens = (0..token_docs.n_items()).map(token);
    let mut weights = Weights { leak: topics.chain(tokens).collect(), edge };
    weights.round_to_f32();
    weights
}
