//! q of the topics of one colour; twin of shaders/q_update.wgsl.

use super::edge_terms::node_params;
use super::{Memory, listed, row_sum};
use crate::estep::PULL;
use crate::estep::device::marks::{CLAMPED_OFF, CLAMPED_ON};
use crate::estep::device::{Args, Lanes};
use crate::numeric::sigmoid;
use multiversion::multiversion;

/// `q = sigmoid(g / T)` (Eqs. 11, 12); a topic that moved more than the tolerance keeps its document at work.
/// The log-odds of clamped topics are pulled up or down.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn q_update(memory: &mut Memory, lanes: Lanes, args: &Args) {
    let rows = std::mem::take(&mut memory.rows);
    for row in listed(&rows, args) {
        let (node, next) = (memory.nodes[row], memory.nodes[row + 1]);
        if memory.doc_state[node.doc_ix as usize] < args.alternation {
            continue;
        }
        let q_of = |at: u32| memory.node_state[at as usize];
        let [from_parents] = row_sum(lanes, node.edge_begin as usize..next.edge_begin as usize, |e| {
            [memory.slots[memory.edges[e].slot as usize].m * q_of(memory.edges[e].parent)]
        });
        let [from_children] = row_sum(lanes, node.slot_begin as usize..next.slot_begin as usize, |s| {
            [memory.slots[s].m * q_of(memory.slots[s].child)]
        });
        let g = from_parents + from_children;
        let mark =
            if args.pieces != 0 { memory.node_state[3 * args.n_nodes as usize + row] as u32 } else { 0 };
        let pull = match mark {
            _ if mark & CLAMPED_ON != 0 => PULL,
            _ if mark & CLAMPED_OFF != 0 => -PULL,
            _ => 0.0,
        };
        let bias = node_params(memory, args, node.id).bias + pull;
        let logit = (g + bias) * args.inverse_temperature;
        let q = sigmoid(logit);
        // Bits of non-negative numbers are ordered as the numbers, and NaN above all.
        if (q - memory.node_state[row]).abs().to_bits() > args.tolerance.to_bits() {
            memory.doc_state[node.doc_ix as usize] = args.alternation + 1;
        }
        memory.node_state[row] = q;
        memory.node_state[args.n_nodes as usize + row] = logit;
    }
    memory.rows = rows;
}
