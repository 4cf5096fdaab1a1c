//! What a positive edge contributes at its r; twin of shaders/shared/edge_terms.wgsl, network.wgsl and params.wgsl.

use super::Memory;
use crate::estep::device::Args;
use crate::estep::device::wgsl::NORMAL;
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

/// A node's parameters in the network: slope, bias, tail, first edge.
#[inline(always)]
pub(super) fn network_params(memory: &Memory, args: &Args, id: u32) -> [u32; 4] {
    let words = &memory.network[args.params_begin as usize + 4 * id as usize..][..4];
    [words[0], words[1], words[2], words[3]]
}

/// The parameters of a node of the chunk.
pub(super) struct NodeParams {
    pub(super) slope: f32,
    pub(super) bias: f32,
    pub(super) weight_begin: usize,
}

#[inline(always)]
pub(super) fn node_params(memory: &Memory, args: &Args, row: usize) -> NodeParams {
    let section = |section: usize| memory.node_state[section * args.n_nodes as usize + row];
    NodeParams {
        slope: section(4),
        bias: section(5),
        weight_begin: (section(6).to_bits() & (NORMAL - 1)) as usize,
    }
}
