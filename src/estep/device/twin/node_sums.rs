//! Q and L of every touched node over its reduction block; twin of shaders/node_sums.wgsl.

use super::{Memory, row_sum};
use crate::estep::device::{Args, Lanes};
use multiversion::multiversion;

/// The sums of the node's terms over its positions.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn node_sums(memory: &mut Memory, lanes: Lanes, args: &Args) {
    let n_nodes = args.n_nodes as usize;
    for row in args.row_begin as usize..(args.row_begin + args.n_rows) as usize {
        let (touched, next) = (memory.touched[row], memory.touched[row + 1]);
        let positions = touched.position_begin as usize..next.position_begin as usize;
        memory.node_totals[row] = row_sum(lanes, positions, |at| {
            let node = memory.positions[at] as usize;
            [memory.node_state[n_nodes + node], memory.node_state[2 * n_nodes + node]]
        });
    }
}
