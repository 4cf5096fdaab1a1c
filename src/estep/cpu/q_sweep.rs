//! One q sweep (Eqs. 11, 12), colour by colour: no logarithm, one sparse product and a sigmoid per topic.

use crate::batch::{Batch, EdgeRecord};
use crate::numeric::sigmoid;

/// Length of the sigmoid loop's groups.
const GROUP: usize = 8;

/// m in the order of the slots, so that a topic reads its children's terms as one stream.
#[inline(always)]
pub(super) fn spread_m(edges: &[EdgeRecord], first: usize, m: &[f32], slot_m: &mut [f32]) {
    for (edge, &m) in edges.iter().zip(m) {
        slot_m[edge.slot as usize - first] = m;
    }
}

/// Updates the topics `begin..end` of one colour; returns the largest |dq|.
///
/// `bias` starts at the document's first node; `m` and `slot_m` at its first edge.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(super) fn sweep_colour(
    batch: &Batch,
    doc_ix: usize,
    (begin, end): (usize, usize),
    bias: &[f32],
    m: &[f32],
    slot_m: &[f32],
    inverse_temperature: f32,
    logit: &mut [f32],
    next_q: &mut Vec<f32>,
    q: &mut [f32],
) -> f32 {
    let doc = batch.docs[doc_ix];
    let (first, first_node) = (doc.edge_begin as usize, doc.node_begin as usize);
    for pair in begin..end {
        let (node, next) = (batch.nodes[pair], batch.nodes[pair + 1]);
        let mut g = bias[pair - first_node];
        let (from, to) = (node.edge_begin as usize, next.edge_begin as usize);
        for (edge, m) in batch.edges[from..to].iter().zip(&m[from - first..to - first]) {
            g += m * q[edge.parent as usize];
        }
        let (from, to) = (node.slot_begin as usize, next.slot_begin as usize);
        for (&child, m) in batch.slot_children[from..to].iter().zip(&slot_m[from - first..to - first]) {
            g += m * q[child as usize];
        }
        logit[pair] = g * inverse_temperature;
    }
    // In whole groups: the vectorised loop then has no scalar remainder.
    let n = end - begin;
    let padded = n.div_ceil(GROUP) * GROUP;
    if next_q.len() < padded {
        next_q.resize(padded, 0.0);
    }
    let next_q = &mut next_q[..padded];
    next_q[..n].copy_from_slice(&logit[begin..end]);
    next_q.iter_mut().for_each(|q| *q = sigmoid(*q));
    // Bits of non-negative numbers are ordered as the numbers, and NaN above all.
    let mut moved = 0;
    for (q, &next) in q[begin..end].iter_mut().zip(&*next_q) {
        moved = moved.max((next - *q).abs().to_bits());
        *q = next;
    }
    f32::from_bits(moved)
}
