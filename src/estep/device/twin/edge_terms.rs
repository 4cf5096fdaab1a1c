//! What a positive edge contributes at its r; twin of shaders/shared/edge_terms.wgsl and network.wgsl.

use super::Memory;
use crate::estep::device::Args;
use crate::numeric::{R_MIN, X_CAP, exp_neg, log1p_pos};

/// Terms of one edge.
pub(super) struct EdgeTerms {
    /// `w + r (f(u) - f(w0))`.
    pub(super) m: f32,
    /// `f(u) - f(w0) - x f'(u)`, the slope of a in r.
    pub(super) gain: f32,
    /// `-r a'' / a'` in r.
    pub(super) curve: f32,
}

/// With `x = w / r`, `t = f'(w0) (1 - exp(-x))`, `f(u) - f(w0) = log1p(t)`.
#[inline(always)]
pub(super) fn edge_terms(w: f32, slope: f32, r: f32) -> EdgeTerms {
    let x = (w / r.max(R_MIN)).min(X_CAP);
    let (exp, one_minus_exp) = exp_neg(x);
    let t = slope * one_minus_exp;
    let log = log1p_pos(t);
    let u_slope = slope * exp / (1.0 + t);
    // Near the floor the difference is rounding noise and may be negative.
    let gain = (log - x * u_slope).max(0.0);
    let curve = x * x * u_slope * (1.0 + u_slope) / gain.max(1e-30);
    EdgeTerms { m: r.mul_add(log, w), gain, curve }
}

/// `1 / (1 + t)`.
#[inline(always)]
pub(super) fn inverse_1_t(w: f32, slope: f32, r: f32) -> f32 {
    let (_, one_minus_exp) = exp_neg((w / r.max(R_MIN)).min(X_CAP));
    1.0 / (1.0 + slope * one_minus_exp)
}

/// A node's parameters in the network.
pub(super) struct NodeParams {
    pub(super) slope: f32,
    pub(super) bias: f32,
    pub(super) tail: f32,
    pub(super) weight_begin: usize,
}

#[inline(always)]
pub(super) fn node_params(memory: &Memory, args: &Args, id: u32) -> NodeParams {
    let words = &memory.network[args.params_begin as usize + 4 * id as usize..][..4];
    NodeParams {
        slope: f32::from_bits(words[0]),
        bias: f32::from_bits(words[1]),
        tail: f32::from_bits(words[2]),
        weight_begin: words[3] as usize,
    }
}
