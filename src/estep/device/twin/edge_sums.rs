//! N of every touched edge over its reduction block; twin of shaders/edge_sums.wgsl.

use super::{Memory, row_sum};
use crate::estep::device::{Args, Lanes};
use multiversion::multiversion;

/// The sum of the edge's terms over the node's positions.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn edge_sums(memory: &mut Memory, lanes: Lanes, args: &Args) {
    for row in args.row_begin as usize..(args.row_begin + args.n_rows) as usize {
        let owner = memory.edge_owners[row] as usize;
        let (touched, next) = (memory.touched[owner], memory.touched[owner + 1]);
        let j = row - touched.edge_begin as usize;
        let positions = touched.position_begin as usize..next.position_begin as usize;
        [memory.edge_totals[row]] = row_sum(lanes, positions, |at| {
            let node = memory.nodes[memory.positions[at] as usize];
            [memory.edge_state[node.edge_begin as usize + j].term]
        });
    }
}
