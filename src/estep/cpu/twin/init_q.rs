//! Where q begins; twin of shaders/init_q.wgsl.

use super::{Memory, listed};
use crate::estep::device::{Args, Lanes};
use multiversion::multiversion;

/// `q_start` for topics, 1 for tokens.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn init_q(memory: &mut Memory, _: Lanes, args: &Args) {
    for row in listed(&memory.rows, args) {
        let node = memory.nodes[row];
        memory.node_state[row] = if node.id < args.n_topics { args.q_start } else { 1.0 };
        memory.node_state[args.n_nodes as usize + row] = 0.0;
        memory.node_state[3 * args.n_nodes as usize + row] = 0.0;
        memory.doc_state[node.doc_ix as usize] = 0;
    }
}
