//! r: its start, `r = w / sum w`, and one iteration of Eq. 10, plain or accelerated, node by node.
//!
//! With `g_k = q_k a'(r_k)` Eq. 10 is `r_k <- r_k g_k / sum_j r_j g_j`. The best r has equal g wherever r > 0, so every
//! power `r_k <- r_k g_k^p / sum_j r_j g_j^p` has the same fixed points. Near one of them an iteration leaves the share
//! `1 - p kappa` of the error, with kappa = `-r a'' / a'`: 0 where a is nearly straight and Eq. 10 creeps, up to 2 where
//! it oscillates. The accelerated iteration takes the largest p of 4, 2, 1, 1/2 with `p kappa <= 1` for all parents and, for
//! 4 and 2, no share growing beyond GROWTH times itself: kappa is known only where r is now.

use super::GROUP;
use super::edge_terms::EdgeTerms;
use crate::batch::{EdgeRecord, NodeRecord};
use crate::numeric::{G_MIN, R_MIN};

/// What a share may grow by in an accelerated iteration. Without a limit, a tiny share that turns out to be wanted
/// overshoots into the curved region and lowers the bound (tests/library/properties/ascent.rs has such a case).
pub const GROWTH: f32 = 8.0;

/// `r_ki = w_ki / sum_k w_ki` (Sec. 4.1.3).
#[inline(always)]
pub(super) fn init_r(w: &[f32], r: &mut [f32]) {
    let inverse = 1.0 / w.iter().fold(0.0, |sum, w| sum + w);
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
    let g = &mut terms.m[..edges.len().next_multiple_of(GROUP)];
    // Two passes: the second is vectorised, the first cannot be.
    for (g, edge) in g.iter_mut().zip(edges) {
        *g = q[edge.parent as usize];
    }
    for (g, gain) in g.iter_mut().zip(&terms.gain) {
        let g_e = *g * gain;
        *g = if g_e < G_MIN { 0.0 } else { g_e };
    }
    for pair in nodes.windows(2) {
        let (from, to) = (pair[0].edge_begin as usize - first, pair[1].edge_begin as usize - first);
        let (r, g, curve) = (&mut terms.r[from..to], &terms.m[from..to], &terms.curve[from..to]);
        // Most rows are short: where the compiler knows their length it leaves no loops.
        match r.len() {
            1 => iterate(&mut r[..1], &g[..1], &curve[..1], accelerate),
            2 => iterate(&mut r[..2], &g[..2], &curve[..2], accelerate),
            _ => iterate(r, g, curve, accelerate),
        }
    }
}

/// One iteration at one node.
#[inline(always)]
fn iterate(r: &mut [f32], g: &[f32], curve: &[f32], accelerate: bool) {
    let Sums { sum, sum2, sum4, kappa, largest } = Sums::of(r, g, curve);
    let largest2 = largest * largest;
    if accelerate && kappa <= 0.25 && sum4 > R_MIN && largest2 * largest2 <= GROWTH * sum4 {
        share(r, g, sum4, |g| (g * g) * (g * g));
    } else if accelerate && kappa <= 0.5 && sum2 > R_MIN && largest2 <= GROWTH * sum2 {
        share(r, g, sum2, |g| g * g);
    } else if accelerate && kappa > 1.0 {
        let mut sum_root = 0.0;
        for (r, g) in r.iter().zip(g) {
            sum_root += r * g.sqrt();
        }
        share(r, g, sum_root, f32::sqrt);
    } else {
        share(r, g, sum, |g| g);
    }
}

/// Sums of `r g^p` over a node's parents, and the largest curvature and g.
struct Sums {
    sum: f32,
    sum2: f32,
    sum4: f32,
    kappa: f32,
    largest: f32,
}

impl Sums {
    /// In lanes, so that the additions of a long row do not wait for one another; the lanes are added in pairs.
    #[inline(always)]
    fn of(r: &[f32], g: &[f32], curve: &[f32]) -> Self {
        const LANES: usize = 8;
        let (g, curve) = (&g[..r.len()], &curve[..r.len()]);
        let mut lanes = [[0.0f32; LANES]; 5];
        let add = |lanes: &mut [[f32; LANES]; 5], l: usize, j: usize| {
            let [sum, sum2, sum4, kappa, largest] = lanes;
            let g2 = g[j] * g[j];
            sum[l] += r[j] * g[j];
            sum2[l] += r[j] * g2;
            sum4[l] += r[j] * (g2 * g2);
            kappa[l] = if curve[j] > kappa[l] { curve[j] } else { kappa[l] };
            largest[l] = if g[j] > largest[l] { g[j] } else { largest[l] };
        };
        let whole = r.len() / LANES * LANES;
        for begin in (0..whole).step_by(LANES) {
            for l in 0..LANES {
                add(&mut lanes, l, begin + l);
            }
        }
        for l in 0..r.len() - whole {
            add(&mut lanes, l, whole + l);
        }
        let pairs = |of: usize, join: fn(f32, f32) -> f32| -> f32 {
            let [a, b, c, d, e, f, g, h] = lanes[of];
            join(join(join(a, e), join(c, g)), join(join(b, f), join(d, h)))
        };
        let add = |a: f32, b: f32| a + b;
        let most = |a: f32, b: f32| if b > a { b } else { a };
        Self {
            sum: pairs(0, add),
            sum2: pairs(1, add),
            sum4: pairs(2, add),
            kappa: pairs(3, most),
            largest: pairs(4, most),
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
            *r = if next.to_bits() < R_MIN.to_bits() { 0.0 } else { next };
        }
    }
}
