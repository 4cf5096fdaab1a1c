//! One q sweep (Eqs. 11, 12), colour by colour: no logarithm, one sparse product and a sigmoid per topic.

use super::GROUP;
use super::document::DocState;
use crate::batch::{Batch, EdgeRecord};
use crate::numeric::sigmoid;
use std::ops::Range;

/// m in the order of the slots, so that a topic reads its children's terms as one stream.
#[inline(always)]
pub(super) fn spread_m(edges: &[EdgeRecord], first: usize, m: &[f32], slot_m: &mut [f32]) {
    for (edge, &m) in edges.iter().zip(m) {
        slot_m[edge.slot as usize - first] = m;
    }
}

impl DocState {
    /// Updates some topics of one colour, given as nodes of the batch; returns the largest |dq|.
    #[inline(always)]
    pub(super) fn sweep(
        &mut self,
        batch: &Batch,
        doc_ix: usize,
        topics: Range<usize>,
        inverse_temperature: f32,
    ) -> f32 {
        // `bias` starts at the document's first node; `m` and `slot_m` at its first edge.
        let Self { q, logit, bias, slot_m, next_q, terms, .. } = self;
        let (bias, m, slot_m) = (&bias[..], &terms.m[..], &slot_m[..]);
        let doc = batch.docs[doc_ix];
        let (first, first_node) = (doc.edge_begin as usize, doc.node_begin as usize);
        for at in topics.clone() {
            let (node, next) = (batch.nodes[at], batch.nodes[at + 1]);
            let mut g = bias[at - first_node];
            let (from, to) = (node.edge_begin as usize, next.edge_begin as usize);
            for (edge, m) in batch.edges[from..to].iter().zip(&m[from - first..to - first]) {
                g += m * q[edge.parent as usize];
            }
            let (from, to) = (node.slot_begin as usize, next.slot_begin as usize);
            for (&child, m) in batch.slot_children[from..to].iter().zip(&slot_m[from - first..to - first]) {
                g += m * q[child as usize];
            }
            logit[at] = g * inverse_temperature;
        }
        // In whole groups: the vectorised loop then has no scalar remainder.
        let n = topics.len();
        let padded = n.div_ceil(GROUP) * GROUP;
        if next_q.len() < padded {
            next_q.resize(padded, 0.0);
        }
        let next_q = &mut next_q[..padded];
        next_q[..n].copy_from_slice(&logit[topics.clone()]);
        next_q.iter_mut().for_each(|q| *q = sigmoid(*q));
        // Bits of non-negative numbers are ordered as the numbers, and NaN above all.
        let mut moved = 0;
        for (q, &next) in q[topics].iter_mut().zip(&*next_q) {
            moved = moved.max((next - *q).abs().to_bits());
            *q = next;
        }
        f32::from_bits(moved)
    }
}
