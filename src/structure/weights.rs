//! Weights to start training from: conditional frequencies.

use super::layer::Layer;
use super::occurrences::Occurrences;
use crate::network::{Graph, Weights};

/// The range of edge weights at the start: EM moves weights in proportion, so none may start at its end.
const EDGE_RANGE: (f64, f64) = (0.05, 3.0);
/// The share of an item's frequency that its leak explains, where it has parents.
const LEAK_SHARE: f64 = 0.5;
/// A document has one topic of a layer here, and more of them in truth: topics are so many times as frequent.
const TOPICS_A_DOC: f64 = 2.0;

/// The weight of an edge, `-log(1 - p)`.
pub(crate) fn edge(p: f32) -> f64 {
    rate(f64::from(p)).clamp(EDGE_RANGE.0, EDGE_RANGE.1)
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

/// All weights, the edges' given: leaks explain what no parent does.
pub(super) fn weights(graph: &Graph, layers: &[Layer], token_docs: &Occurrences, edge: Vec<f64>) -> Weights {
    let n_docs = token_docs.n_docs().max(1) as f64;
    let counts = layers
        .iter()
        .rev()
        .flat_map(|layer| layer.n_present.iter().map(|&count| TOPICS_A_DOC * f64::from(count)))
        .chain((0..token_docs.n_items()).map(|token| token_docs.df(token) as f64));
    let leak = |(node, count): (usize, f64)| leak(count, n_docs, !graph.parents(node).is_empty());
    let mut weights = Weights { leak: counts.enumerate().map(leak).collect(), edge };
    weights.round_to_f32();
    weights
}
