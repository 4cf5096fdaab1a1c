//! q and r of documents, kept; twin of shaders/keep.wgsl.

use super::{Memory, listed};
use crate::estep::device::{Args, Lanes};
use multiversion::multiversion;

/// Of those that `doc_state` names.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn keep(memory: &mut Memory, lanes: Lanes, args: &Args) {
    let (n_nodes, rows) = (args.n_nodes as usize, std::mem::take(&mut memory.rows));
    for row in listed(&rows, lanes, args) {
        let node = memory.nodes[row];
        if memory.doc_state[node.doc_ix as usize] == 0 {
            continue;
        }
        for e in node.edge_begin as usize..memory.nodes[row + 1].edge_begin as usize {
            memory.kept[n_nodes + e] = memory.edge_state[e].r;
        }
        memory.kept[row] = memory.node_state[row];
    }
    memory.rows = rows;
}
