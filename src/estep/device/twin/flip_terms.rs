//! What every node says to its parents in a search; twin of shaders/flip_terms.wgsl.

use super::edge_terms::node_params;
use super::{Memory, is_on, listed, row_sum};
use crate::estep::cpu::lifted_beyond;
use crate::estep::device::{Args, Lanes, Slot};
use multiversion::multiversion;

/// By how much `beta(a)` of the node grows if the parent comes on, or falls if it goes off.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn flip_terms(memory: &mut Memory, lanes: Lanes, args: &Args) {
    let rows = std::mem::take(&mut memory.rows);
    for row in listed(&rows, args) {
        let node = memory.nodes[row];
        if memory.doc_state[node.doc_ix as usize] < args.alternation {
            continue;
        }
        let (begin, end) = (node.edge_begin as usize, memory.nodes[row + 1].edge_begin as usize);
        let params = node_params(memory, args, node.id);
        let w = |memory: &Memory, e: usize| f32::from_bits(memory.network[params.weight_begin + e - begin]);
        let parent_is_on =
            |memory: &Memory, e: usize| is_on(memory.node_state[memory.edges[e].parent as usize]);
        let [a] = row_sum(lanes, begin..end, |e| [if parent_is_on(memory, e) { w(memory, e) } else { 0.0 }]);
        let (log, slope) = lifted_beyond(params.slope, a);
        for e in begin..end {
            let w = w(memory, e);
            let m = if parent_is_on(memory, e) {
                w + (log - lifted_beyond(params.slope, (a - w).max(0.0)).0)
            } else {
                w + lifted_beyond(slope, w).0
            };
            memory.slots[memory.edges[e].slot as usize] = Slot { child: row as u32, m };
        }
        memory.node_state[2 * args.n_nodes as usize + row] = a + log;
    }
    memory.rows = rows;
}
