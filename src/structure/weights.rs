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
pub(super) fn edge(p: f32) -> f64 {
    rate(f64::from(p)).clamp(EDGE_RANGE.0, EDGE_RANGE.1)
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
        .flat_map(|layer| layer.n_present.iter().map(|&count| TOPICS_A_DOC * f64::from(count)))
        .chain((0..token_docs.n_items()).map(|token| token_docs.df(token) as f64));
    let leak = |(node, count): (usize, f64)| {
        let share = if graph.parents(node).is_empty() { 1.0 } else { LEAK_SHARE };
        rate(share * count / n_docs).clamp(floor, EDGE_RANGE.1)
    };
    let mut weights = Weights { leak: counts.enumerate().map(leak).collect(), edge };
    weights.round_to_f32();
    weights
}
