//! Every node's gradient terms; twin of shaders/gradient.wgsl.

use super::edge_terms::{inverse_1_t, node_params};
use super::{Memory, listed, row_sum};
use crate::estep::device::{Args, Lanes};
use multiversion::multiversion;

/// Eqs. 13-16, times the document's count or the piece's weight: for every edge `v q_k / (1 - exp(-u))`; for the leak
/// `v sum_k r [(1 - q_k) / (1 - exp(-w0)) + q_k / (1 - exp(-u))]`; for a topic q.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn gradient(memory: &mut Memory, lanes: Lanes, args: &Args) {
    let n_nodes = args.n_nodes as usize;
    let (rows, mut edge_state) = (std::mem::take(&mut memory.rows), std::mem::take(&mut memory.edge_state));
    for row in listed(&rows, lanes, args) {
        let node = memory.nodes[row];
        let (begin, end) = (node.edge_begin as usize, memory.nodes[row + 1].edge_begin as usize);
        let params = node_params(memory, args, row);
        let doc_ix = node.doc_ix as usize;
        let weight =
            if args.pieces != 0 { memory.doc_bounds[doc_ix] } else { memory.docs[doc_ix].count as f32 };
        let scale = weight * memory.node_state[row] * (1.0 + params.slope);
        let [share] = row_sum(lanes, begin..end, |e| {
            let r = edge_state[e].r;
            let q = memory.node_state[memory.edges[e].parent as usize];
            let w = f32::from_bits(memory.network[params.weight_begin + e - begin]);
            let inv = inverse_1_t(w, params.slope, r);
            edge_state[e].term = scale * q * inv;
            [(r * q).mul_add(inv, r * (1.0 - q))]
        });
        memory.node_state[n_nodes + row] = weight * memory.node_state[row];
        memory.node_state[2 * n_nodes + row] = scale * if begin == end { 1.0 } else { share };
    }
    (memory.rows, memory.edge_state) = (rows, edge_state);
}
