//! Where q begins; twin of shaders/init_q.wgsl.

use super::edge_terms::network_params;
use super::{Memory, listed};
use crate::estep::device::marks::{CLAMPED, CLAMPED_ON, KEPT_ON};
use crate::estep::device::wgsl::NORMAL;
use crate::estep::device::{Args, Lanes};
use multiversion::multiversion;

/// `q_start` for topics, as far from 1 for those that are marked as on, 1 for tokens. Of the marks only those of clamped topics stay. Copies the
/// network's parameters, and the weights where a search follows.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn init_q(memory: &mut Memory, lanes: Lanes, args: &Args) {
    let (n_nodes, rows) = (args.n_nodes as usize, std::mem::take(&mut memory.rows));
    for row in listed(&rows, lanes, args) {
        let node = memory.nodes[row];
        let mark = if args.pieces != 0 { memory.node_state[3 * n_nodes + row] as u32 } else { 0 };
        memory.node_state[row] = match mark & (CLAMPED_ON | KEPT_ON) != 0 {
            _ if node.id >= args.n_topics => 1.0,
            true => 1.0 - args.q_start,
            false => args.q_start,
        };
        memory.node_state[n_nodes + row] = 0.0;
        memory.node_state[3 * n_nodes + row] = (mark & CLAMPED) as f32;
        let [slope, bias, _, first_edge] = network_params(memory, args, node.id);
        for (section, word) in (4..).zip([slope, bias, NORMAL | first_edge]) {
            memory.node_state[section * n_nodes + row] = f32::from_bits(word);
        }
        if args.n_steps > 0 {
            let edges = node.edge_begin as usize..memory.nodes[row + 1].edge_begin as usize;
            for (e, &w) in edges.zip(&memory.network[first_edge as usize..]) {
                memory.edge_state[e].term = f32::from_bits(w);
            }
        }
        memory.doc_state[node.doc_ix as usize] = 0;
    }
    memory.rows = rows;
}
