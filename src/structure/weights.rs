//! Weights to start training from, out of what was counted.
//!
//! With every item explained by one topic, the M-step of a noisy-OR (Eq. 17 with the EM preconditioner) has the share of a
//! topic's documents in which it explains the item as the probability that it alone switches it on.

use super::layer::{Edge, Layer};
use super::occurrences::Occurrences;
use crate::network::{Graph, Weights};

/// The range of edge weights at the start: EM moves weights in proportion, so none may start at its end.
const EDGE_RANGE: (f64, f64) = (0.01, 3.0);
/// The share of an item's frequency that its leak explains, where it has parents.
const LEAK_SHARE: f64 = 0.5;

/// The weight of an edge, `-log(1 - p)`.
pub(super) fn edge(layer: &Layer, edge: &Edge) -> f64 {
    let p = f64::from(edge.n_explained) / f64::from(layer.n_present[edge.topic as usize].max(1));
    rate(p).clamp(EDGE_RANGE.0, EDGE_RANGE.1)
}

fn rate(p: f64) -> f64 {
    -(-p.min(1.0 - 1e-9)).ln_1p()
}

/// All weights, the edges' given: leaks explain what no parent does.
pub(super) fn weights(graph: &Graph, layers: &[Layer], token_docs: &Occurrences, edge: Vec<f64>) -> Weights {
    let n_docs = token_docs.n_docs().max(1) as f64;
    // An item that never occurs must still be possible.
    let floor = 0.1 / n_docs;
    let counts = layers
        .iter()
        .rev()
        .flat_map(|layer| layer.n_present.iter().map(|&count| f64::from(count)))
        .chain((0..token_docs.n_items()).map(|token| token_docs.df(token) as f64));
    let leak = |(node, count): (usize, f64)| {
        let share = if graph.parents(node).is_empty() { 1.0 } else { LEAK_SHARE };
        rate(share * count / n_docs).clamp(floor, EDGE_RANGE.1)
    };
    let mut weights = Weights { leak: counts.enumerate().map(leak).collect(), edge };
    weights.round_to_f32();
    weights
}
