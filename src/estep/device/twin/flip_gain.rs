//! What a flip of every topic gains; twin of shaders/flip_gain.wgsl.

use super::edge_terms::node_params;
use super::{Memory, NOWHERE, is_on, listed, row_sum};
use crate::estep::device::marks::{CLAMPED_OFF, CLAMPED_ON, GONE, ON_TRIAL};
use crate::estep::device::{Args, Lanes};
use multiversion::multiversion;

/// Of all of a list.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn flip_gain(memory: &mut Memory, lanes: Lanes, args: &Args) {
    let rows = std::mem::take(&mut memory.rows);
    for row in listed(&rows, lanes, args) {
        set_gain(memory, lanes, args, row, args.alternation);
    }
    memory.rows = rows;
}

/// `g = beta(a) - S +` the terms of the children that are on; a flip gains g of a topic that is off, -g of one that is on. A topic that
/// must stay off, or on, never gains.
#[inline(always)]
pub(super) fn set_gain(memory: &mut Memory, lanes: Lanes, args: &Args, row: usize, round: u32) {
    let n_nodes = args.n_nodes as usize;
    let (node, next) = (memory.nodes[row], memory.nodes[row + 1]);
    if memory.doc_state[node.doc_ix as usize] < round {
        return;
    }
    let [sum] = row_sum(lanes, node.slot_begin as usize..next.slot_begin as usize, |s| {
        [if is_on(memory.node_state[memory.child_of(args, s) as usize]) { memory.slots[s] } else { 0.0 }]
    });
    let own = node_params(memory, args, row).bias + memory.node_state[2 * n_nodes + row];
    let gain = own + sum;
    let mark = memory.node_state[3 * n_nodes + row] as u32;
    let (own, value) = match is_on(memory.node_state[row]) {
        true if mark & CLAMPED_ON != 0 => (own, -NOWHERE),
        true => (own, -gain),
        false if mark & (ON_TRIAL | GONE | CLAMPED_OFF) != 0 => (-NOWHERE, -NOWHERE),
        false => (gain, gain),
    };
    (memory.node_state[n_nodes + row], memory.node_state[2 * n_nodes + row]) = (own, value);
}
