//! What each positive edge contributes at the current r: m, the numerator of Eq. 10, and the gradient factor.
//!
//! This is the only place with logarithms and exponentials per edge: flat loops over a document's edges that the
//! compiler vectorises.

use super::GROUP;
use crate::numeric::{R_MIN, X_CAP, exp_neg, log1p_pos};

/// Per-edge arrays of one document.
#[derive(Debug, Default)]
pub(super) struct EdgeTerms {
    /// `w`.
    pub(super) w: Vec<f32>,
    /// `f'(w0)` of the child.
    pub(super) slope: Vec<f32>,
    /// `r`.
    pub(super) r: Vec<f32>,
    /// `m = w + a`, `a = r (f(u) - f(w0))`.
    pub(super) m: Vec<f32>,
    /// `f(u) - f(w0) - (w / r) f'(u)`, the slope of a in r: Eq. 10's numerator without q and r.
    pub(super) gain: Vec<f32>,
    /// `-r a'' / a'` in r: 0 where a is straight, 2 at most.
    pub(super) curve: Vec<f32>,
    /// `1 / (1 + t)`: with it, `1 / (1 - exp(-u)) = (1 + f'(w0)) / (1 + t)`.
    pub(super) inv: Vec<f32>,
}

impl EdgeTerms {
    /// Makes room for a document; the padding holds harmless numbers.
    #[inline(always)]
    pub(super) fn resize(&mut self, n_edges: usize) {
        // And a group more: a node's edges are also walked in whole groups, and may be the last.
        let padded = n_edges.next_multiple_of(GROUP) + GROUP;
        for array in [
            &mut self.w,
            &mut self.slope,
            &mut self.r,
            &mut self.m,
            &mut self.gain,
            &mut self.curve,
            &mut self.inv,
        ] {
            if array.len() < padded {
                array.resize(padded, 1.0);
            }
        }
    }

    /// Recomputes `m`, `gain`, `curve` and `inv` from `r`.
    ///
    /// In three short passes, the exponential, the logarithm, and what follows from them: measured a little faster
    /// than one long pass.
    #[inline(always)]
    pub(super) fn update(&mut self, n_edges: usize) {
        let n = n_edges.div_ceil(GROUP) * GROUP;
        let (w, slope, r) = (&self.w[..n], &self.slope[..n], &self.r[..n]);
        let (m, gain) = (&mut self.m[..n], &mut self.gain[..n]);
        let (curve, inv) = (&mut self.curve[..n], &mut self.inv[..n]);
        let (exps, xs, ts) = (&mut *gain, &mut *curve, &mut *inv);
        for e in 0..n {
            let x = (w[e] / r[e].max(R_MIN)).min(X_CAP);
            let (exp, one_minus_exp) = exp_neg(x);
            (exps[e], xs[e], ts[e]) = (exp, x, slope[e] * one_minus_exp);
        }
        let logs = &mut *m;
        for e in 0..n {
            logs[e] = log1p_pos(ts[e]);
            ts[e] = 1.0 / (1.0 + ts[e]);
        }
        for e in 0..n {
            let (log, x) = (m[e], curve[e]);
            let u_slope = slope[e] * gain[e] * inv[e];
            // Near the floor the difference is rounding noise and may be negative.
            let g = (log - x * u_slope).max(0.0);
            m[e] = r[e].mul_add(log, w[e]);
            gain[e] = g;
            curve[e] = x * x * u_slope * (1.0 + u_slope) / g.max(1e-30);
        }
    }
}
