//! Every document's bound, without the constant of the empty document; twin of shaders/doc_bound.wgsl.

use super::{Memory, listed, row_sum};
use crate::estep::device::{Args, Lanes};
use multiversion::multiversion;

/// The sum of the document's nodes' terms.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn doc_bound(memory: &mut Memory, lanes: Lanes, args: &Args) {
    let terms = &memory.node_state[2 * args.n_nodes as usize..];
    for row in listed(&memory.rows, lanes, args) {
        let nodes = memory.docs[row].node_begin as usize..memory.docs[row + 1].node_begin as usize;
        [memory.doc_bounds[row]] = row_sum(lanes, nodes, |at| [terms[at]]);
    }
}
