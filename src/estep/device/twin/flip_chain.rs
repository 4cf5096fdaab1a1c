//! What topics gain that come on with their ancestors; twin of shaders/flip_chain.wgsl.

use super::{Memory, is_on, listed};
use crate::estep::device::{Args, Lanes};
use multiversion::multiversion;

/// Of all of a list.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn flip_chain(memory: &mut Memory, lanes: Lanes, args: &Args) {
    let rows = std::mem::take(&mut memory.rows);
    for row in listed(&rows, lanes, args) {
        set_chain(memory, lanes, args, row, args.alternation);
    }
    memory.rows = rows;
}

/// `value_k = g_k + max(0, max over parents p that are off of (term_pk + value_p))`, and which parent that is.
#[inline(always)]
pub(super) fn set_chain(memory: &mut Memory, _: Lanes, args: &Args, row: usize, round: u32) {
    let n_nodes = args.n_nodes as usize;
    let node = memory.nodes[row];
    let (begin, end) = (node.edge_begin as usize, memory.nodes[row + 1].edge_begin as usize);
    let searches = memory.doc_state[node.doc_ix as usize] >= round;
    if !searches || begin == end || is_on(memory.node_state[row]) {
        return;
    }
    let (mut best, mut place) = (0.0, -1.0);
    for e in begin..end {
        let edge = memory.edges[e];
        if !is_on(memory.node_state[edge.parent as usize]) {
            let with =
                memory.slots[edge.slot as usize] + memory.node_state[2 * n_nodes + edge.parent as usize];
            if with > best {
                (best, place) = (with, (e - begin) as f32);
            }
        }
    }
    memory.node_state[2 * n_nodes + row] = memory.node_state[n_nodes + row] + best;
    memory.edge_state[begin].r = place;
}
