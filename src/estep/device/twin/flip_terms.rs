//! What every node says to its parents in a search; twin of shaders/flip_terms.wgsl.

use super::edge_terms::node_params;
use super::{Memory, is_on, listed, row_sum};
use crate::estep::cpu::lifted_beyond;
use crate::estep::device::{Args, Lanes};
use multiversion::multiversion;

/// Of all of a list.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn flip_terms(memory: &mut Memory, lanes: Lanes, args: &Args) {
    let rows = std::mem::take(&mut memory.rows);
    for row in listed(&rows, lanes, args) {
        set_terms(memory, lanes, args, row, args.alternation);
    }
    memory.rows = rows;
}

/// By how much `beta(a)` of the node grows if the parent comes on, or falls if it goes off.
#[inline(always)]
pub(super) fn set_terms(memory: &mut Memory, lanes: Lanes, args: &Args, row: usize, round: u32) {
    let node = memory.nodes[row];
    if memory.doc_state[node.doc_ix as usize] < round {
        return;
    }
    let (begin, end) = (node.edge_begin as usize, memory.nodes[row + 1].edge_begin as usize);
    let params = node_params(memory, args, row);
    let w = |memory: &Memory, e: usize| memory.edge_state[e].term;
    let parent_is_on = |memory: &Memory, e: usize| is_on(memory.node_state[memory.edges[e].parent as usize]);
    let [a] = row_sum(lanes, begin..end, |e| [if parent_is_on(memory, e) { w(memory, e) } else { 0.0 }]);
    let (log, slope) = lifted_beyond(params.slope, a);
    for e in begin..end {
        let w = w(memory, e);
        let m = if parent_is_on(memory, e) {
            w + (log - lifted_beyond(params.slope, (a - w).max(0.0)).0)
        } else {
            w + lifted_beyond(slope, w).0
        };
        memory.slots[memory.edges[e].slot as usize] = m;
    }
    memory.node_state[2 * args.n_nodes as usize + row] = a + log;
}
