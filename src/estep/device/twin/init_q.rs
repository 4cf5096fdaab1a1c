//! Where q begins; twin of shaders/init_q.wgsl.

use super::{Memory, listed};
use crate::estep::device::marks::{CLAMPED, CLAMPED_ON, KEPT_ON};
use crate::estep::device::{Args, Lanes};
use multiversion::multiversion;

/// `q_start` for topics, as far from 1 for those that are marked as on, 1 for tokens. Of the marks only those of clamped topics stay.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn init_q(memory: &mut Memory, _: Lanes, args: &Args) {
    let n_nodes = args.n_nodes as usize;
    for row in listed(&memory.rows, args) {
        let node = memory.nodes[row];
        let mark = if args.pieces != 0 { memory.node_state[3 * n_nodes + row] as u32 } else { 0 };
        memory.node_state[row] = match mark & (CLAMPED_ON | KEPT_ON) != 0 {
            _ if node.id >= args.n_topics => 1.0,
            true => 1.0 - args.q_start,
            false => args.q_start,
        };
        memory.node_state[n_nodes + row] = 0.0;
        memory.node_state[3 * n_nodes + row] = (mark & CLAMPED) as f32;
        memory.doc_state[node.doc_ix as usize] = 0;
    }
}
