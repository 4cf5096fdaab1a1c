//! r: its start, `r = w / sum w`, and one iteration of Eq. 10, plain or accelerated, node by node.
//!
//! With `g_k = q_k a'(r_k)` Eq. 10 is `r_k <- r_k g_k / sum_j r_j g_j`. The best r has equal g wherever r > 0, so every
//! power `r_k <- r_k g_k^p / sum_j r_j g_j^p` has the same fixed points. Near one of them an iteration leaves the share
//! `1 - p kappa` of the error, with kappa = `-r a'' / a'`: 0 where a is nearly straight and Eq. 10 creeps, up to 2 where
//! it oscillates. The accelerated iteration takes the largest p of 4, 2, 1, 1/2 with `p kappa <= 1` for all parents and, for
//! 4 and 2, no share growing beyond GROWTH times itself: kappa is known only where r is now.

use super::edge_terms::EdgeTerms;
use crate::batch::{EdgeRecord, NodeRecord};
use crate::numeric::R_MIN;

/// What a share may grow by in an accelerated iteration. Without a limit, a tiny share that turns out to be wanted
/// overshoots into the curved region and lowers the bound (tests/properties/ascent.rs has such a case).
pub const GROWTH: f32 = 8.0;

/// `r_ki = w_ki / sum_k w_ki` (Sec. 4.1.3).
#[inline(always)]
pub(super) fn init_r(w: &[f32], sum: f32, r: &mut [f32]) {
    let inverse = 1.0 / sum;
    for (r, &w) in r.iter_mut().zip(w) {
        *r = w * inverse;
    }
}

/// One iteration at every node. `nodes` has one record more than nodes; `first` is the document's first edge.
#[inline(always)]
pub(super) fn update_r(
    nodes: &[NodeRecord],
    edges: &[EdgeRecord],
    first: usize,
    q: &[f32],
    accelerate: bool,
    terms: &mut EdgeTerms,
) {
    for pair in nodes.windows(2) {
        let (from, to) = (pair[0].edge_begin as usize - first, pair[1].edge_begin as usize - first);
        let (edges, gain, curve) = (&edges[from..to], &terms.gain[from..to], &terms.curve[from..to]);
        let (r, g) = (&mut terms.r[from..to], &mut terms.m[from..to]);
        let (mut sum, mut sum2, mut sum4, mut kappa) = (0.0f32, 0.0f32, 0.0f32, 0.0f32);
        let mut largest = 0.0f32;
        for j in 0..edges.len() {
            let g_j = q[edges[j].parent as usize] * gain[j];
            let g2 = g_j * g_j;
            g[j] = g_j;
            sum += r[j] * g_j;
            sum2 += r[j] * g2;
            sum4 += r[j] * (g2 * g2);
            kappa = if curve[j] > kappa { curve[j] } else { kappa };
            largest = if g_j > largest { g_j } else { largest };
        }
        let largest2 = largest * largest;
        if accelerate && kappa <= 0.25 && sum4 > R_MIN && largest2 * largest2 <= GROWTH * sum4 {
            share(r, g, sum4, |g| (g * g) * (g * g));
        } else if accelerate && kappa <= 0.5 && sum2 > R_MIN && largest2 <= GROWTH * sum2 {
            share(r, g, sum2, |g| g * g);
        } else if accelerate && kappa > 1.0 {
            let sum_root = r.iter().zip(&*g).map(|(r, g)| r * g.sqrt()).sum();
            share(r, g, sum_root, f32::sqrt);
        } else {
            share(r, g, sum, |g| g);
        }
    }
}

/// `r <- r power(g) / sum`; r stays where there is nothing to share out: every parent off, or every gain noise.
#[inline(always)]
fn share(r: &mut [f32], g: &[f32], sum: f32, power: impl Fn(f32) -> f32) {
    if sum > R_MIN {
        let inverse = 1.0 / sum;
        for (r, &g) in r.iter_mut().zip(g) {
            let next = *r * power(g) * inverse;
            *r = if next < R_MIN { 0.0 } else { next };
        }
    }
}
