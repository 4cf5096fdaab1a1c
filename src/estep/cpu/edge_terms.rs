//! What each positive edge contributes at the current r: m, the numerator of Eq. 10, and the gradient factor.
//!
//! This is the only place with logarithms and exponentials per edge, one flat loop over a document's edges
//! that the compiler vectorises.

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
    /// `a - w f'(u)`: Eq. 10's numerator without q.
    pub(super) gain: Vec<f32>,
    /// `1 / (1 + t)`: with it, `1 / (1 - exp(-u)) = (1 + f'(w0)) / (1 + t)`.
    pub(super) inv: Vec<f32>,
}

impl EdgeTerms {
    /// Makes room for a document.
    #[inline(always)]
    pub(super) fn resize(&mut self, n_edges: usize) {
        for array in [&mut self.w, &mut self.slope, &mut self.r, &mut self.m, &mut self.gain, &mut self.inv] {
            if array.len() < n_edges {
                array.resize(n_edges, 0.0);
            }
        }
    }

    /// Recomputes `m`, `gain` and `inv` from `r`.
    #[inline(always)]
    pub(super) fn update(&mut self, n_edges: usize) {
        let (w, slope, r) = (&self.w[..n_edges], &self.slope[..n_edges], &self.r[..n_edges]);
        let (m, gain, inv) = (&mut self.m[..n_edges], &mut self.gain[..n_edges], &mut self.inv[..n_edges]);
        for e in 0..n_edges {
            let x = (w[e] / r[e].max(R_MIN)).min(X_CAP);
            let (exp, one_minus_exp) = exp_neg(x);
            let t = slope[e] * one_minus_exp;
            let i = 1.0 / (1.0 + t);
            let a = r[e] * log1p_pos(t);
            m[e] = w[e] + a;
            // Near the floor the difference is rounding noise and may be negative.
            gain[e] = (a - w[e] * slope[e] * exp * i).max(0.0);
            inv[e] = i;
        }
    }
}
