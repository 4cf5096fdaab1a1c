//! r: its start, `r = w / sum w`, and one iteration of Eq. 10, node by node.

use super::edge_terms::EdgeTerms;
use crate::batch::{EdgeRecord, NodeRecord};
use crate::numeric::R_MIN;

/// `r_ki = w_ki / sum_k w_ki` (Sec. 4.1.3).
#[inline(always)]
pub(super) fn init_r(w: &[f32], r: &mut [f32]) {
    let inverse = 1.0 / w.iter().sum::<f32>();
    for (r, &w) in r.iter_mut().zip(w) {
        *r = w * inverse;
    }
}

/// `r_ki` proportional to `q_k gain_ki` over the parents of each node. `nodes` has one record more than nodes;
/// `first` is the document's first edge.
#[inline(always)]
pub(super) fn update_r(
    nodes: &[NodeRecord],
    edges: &[EdgeRecord],
    first: usize,
    q: &[f32],
    terms: &mut EdgeTerms,
) {
    for pair in nodes.windows(2) {
        let (from, to) = (pair[0].edge_begin as usize - first, pair[1].edge_begin as usize - first);
        let (edges, r) = (&edges[from..to], &mut terms.r[from..to]);
        let gain = &terms.gain[from..to];
        let mut sum = 0.0;
        for ((edge, gain), share) in edges.iter().zip(gain).zip(&mut terms.m[from..to]) {
            *share = q[edge.parent as usize] * gain;
            sum += *share;
        }
        // Nothing to share out: every parent is off or every gain is noise; r stays.
        if sum > R_MIN {
            let inverse = 1.0 / sum;
            for (r, &share) in r.iter_mut().zip(&terms.m[from..to]) {
                let next = share * inverse;
                *r = if next < R_MIN { 0.0 } else { next };
            }
        }
    }
}
