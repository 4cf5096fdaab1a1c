//! Every node's terms of the bound; twin of shaders/node_bound.wgsl.

use super::edge_terms::{network_params, node_params};
use super::{Memory, listed, row_sum};
use crate::estep::device::{Args, Lanes};
use crate::numeric::{sigmoid, softplus};
use multiversion::multiversion;

/// `v (beta - S + sum m q)`, for a topic less its share of the tail and plus its entropy (Eq. 9).
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn node_bound(memory: &mut Memory, lanes: Lanes, args: &Args) {
    let n_nodes = args.n_nodes as usize;
    for row in listed(&memory.rows, lanes, args) {
        let node = memory.nodes[row];
        let [sum] =
            row_sum(lanes, node.edge_begin as usize..memory.nodes[row + 1].edge_begin as usize, |e| {
                let edge = memory.edges[e];
                [memory.slots[edge.slot as usize] * memory.node_state[edge.parent as usize]]
            });
        let params = node_params(memory, args, row);
        let mut term = memory.node_state[row] * (params.bias + sum);
        if node.id < args.n_topics {
            // Entropy of q = sigmoid(g): softplus(g) - q g.
            let g = memory.node_state[n_nodes + row];
            term += softplus(g) - sigmoid(g) * g - f32::from_bits(network_params(memory, args, node.id)[2]);
        }
        memory.node_state[2 * n_nodes + row] = term;
    }
}
