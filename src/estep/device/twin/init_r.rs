//! Where r begins; twin of shaders/init_r.wgsl.

use super::edge_terms::{edge_terms, node_params};
use super::{Memory, listed, row_sum};
use crate::estep::device::{Args, EdgeState, Lanes};
use multiversion::multiversion;

/// `r = w q / sum w q`, which is `w / sum w` where all q are the same (Sec. 4.1.3), and the edge terms there.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn init_r(memory: &mut Memory, lanes: Lanes, args: &Args) {
    let n_nodes = args.n_nodes as usize;
    let rows = std::mem::take(&mut memory.rows);
    for row in listed(&rows, lanes, args) {
        let node = memory.nodes[row];
        let (begin, end) = (node.edge_begin as usize, memory.nodes[row + 1].edge_begin as usize);
        let params = node_params(memory, args, row);
        let w_q = |e: usize| {
            let w = f32::from_bits(memory.network[params.weight_begin + e - begin]);
            w * memory.node_state[memory.edges[e].parent as usize]
        };
        let [sum] = row_sum(lanes, begin..end, |e| [w_q(e)]);
        let (inverse, mut kappa) = (1.0 / sum, 0.0f32);
        for e in begin..end {
            let w = f32::from_bits(memory.network[params.weight_begin + e - begin]);
            let r = w * memory.node_state[memory.edges[e].parent as usize] * inverse;
            let terms = edge_terms(w, params.slope, r);
            memory.edge_state[e] = EdgeState { r, term: terms.gain };
            memory.slots[memory.edges[e].slot as usize] = terms.m;
            kappa = kappa.max(terms.curve);
        }
        memory.node_state[2 * n_nodes + row] = kappa;
        memory.doc_state[node.doc_ix as usize] = 0;
    }
    memory.rows = rows;
}
