//! q of the topics of one colour; twin of shaders/q_update.wgsl.

use super::edge_terms::node_params;
use super::{Memory, listed, row_sum_of};
use crate::estep::PULL;
use crate::estep::device::marks::{CLAMPED_OFF, CLAMPED_ON};
use crate::estep::device::{Args, Lanes};
use crate::numeric::sigmoid;
use multiversion::multiversion;

/// Of all topics of a list.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn q_update(memory: &mut Memory, lanes: Lanes, args: &Args) {
    let rows = std::mem::take(&mut memory.rows);
    for row in listed(&rows, lanes, args) {
        update_q(memory, lanes, args, row, args.alternation);
    }
    memory.rows = rows;
}

/// `q = sigmoid(g / T)` (Eqs. 11, 12); a topic that moved more than the tolerance keeps its document at work.
/// The log-odds of clamped topics are pulled up or down.
#[inline(always)]
pub(super) fn update_q(memory: &mut Memory, lanes: Lanes, args: &Args, row: usize, alternation: u32) {
    let (node, next) = (memory.nodes[row], memory.nodes[row + 1]);
    if memory.doc_state[node.doc_ix as usize] < alternation {
        return;
    }
    let q_of = |at: u32| memory.node_state[at as usize];
    let edges = node.edge_begin as usize..next.edge_begin as usize;
    let slots = node.slot_begin as usize..next.slot_begin as usize;
    let [g] = row_sum_of(lanes, [edges, slots], |kind, at| match kind {
        0 => [memory.slots[memory.edges[at].slot as usize] * q_of(memory.edges[at].parent)],
        _ => [memory.slots[at] * q_of(memory.child_of(args, at))],
    });
    let mark = if args.pieces != 0 { memory.node_state[3 * args.n_nodes as usize + row] as u32 } else { 0 };
    let pull = match mark {
        _ if mark & CLAMPED_ON != 0 => PULL,
        _ if mark & CLAMPED_OFF != 0 => -PULL,
        _ => 0.0,
    };
    let bias = node_params(memory, args, row).bias + pull;
    let logit = (g + bias) * args.inverse_temperature;
    let q = sigmoid(logit);
    // Bits of non-negative numbers are ordered as the numbers, and NaN above all.
    if (q - memory.node_state[row]).abs().to_bits() > args.tolerance.to_bits() {
        memory.doc_state[node.doc_ix as usize] = alternation + 1;
    }
    memory.node_state[row] = q;
    memory.node_state[args.n_nodes as usize + row] = logit;
}
