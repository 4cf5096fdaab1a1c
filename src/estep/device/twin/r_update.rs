//! One iteration of Eq. 10, plain or accelerated; twin of shaders/r_update.wgsl.

use super::edge_terms::{edge_terms, node_params};
use super::{Memory, listed, row_sum};
use crate::estep::cpu::GROWTH;
use crate::estep::device::{Args, EdgeState, Lanes};
use crate::numeric::{G_MIN, R_MIN};
use multiversion::multiversion;

/// Of all nodes of a list.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn r_update(memory: &mut Memory, lanes: Lanes, args: &Args) {
    let rows = std::mem::take(&mut memory.rows);
    for row in listed(&rows, lanes, args) {
        update_r(memory, lanes, args, row, args.alternation);
    }
    memory.rows = rows;
}

/// `r <- r g^p / sum r g^p` with `g = q a'(r)`, and the edge terms at the new r.
#[inline(always)]
pub(super) fn update_r(memory: &mut Memory, lanes: Lanes, args: &Args, row: usize, alternation: u32) {
    let (n_nodes, node) = (args.n_nodes as usize, memory.nodes[row]);
    if memory.doc_state[node.doc_ix as usize] < alternation {
        return;
    }
    let (begin, end) = (node.edge_begin as usize, memory.nodes[row + 1].edge_begin as usize);
    let mut largest = 0.0f32;
    let sums = row_sum(lanes, begin..end, |e| {
        let EdgeState { r, term } = memory.edge_state[e];
        let g = share_gain(memory.node_state[memory.edges[e].parent as usize], term);
        let g2 = g * g;
        largest = largest.max(g);
        [r * g, r * g2, r * (g2 * g2), r * g.sqrt()]
    });
    let kappa = memory.node_state[2 * n_nodes + row];
    let (fast, largest2) = (args.accelerate != 0, largest * largest);
    let (sum, power) = if fast && kappa <= 0.25 && sums[2] > R_MIN && largest2 * largest2 <= GROWTH * sums[2]
    {
        (sums[2], 4)
    } else if fast && kappa <= 0.5 && sums[1] > R_MIN && largest2 <= GROWTH * sums[1] {
        (sums[1], 2)
    } else if fast && kappa > 1.0 {
        (sums[3], 0)
    } else {
        (sums[0], 1)
    };
    let params = node_params(memory, args, row);
    let (inverse, mut kappa) = (1.0 / sum, 0.0f32);
    for e in begin..end {
        let (edge, EdgeState { mut r, term }) = (memory.edges[e], memory.edge_state[e]);
        // Nothing to share out, every parent off or every gain noise: r stays.
        if sum > R_MIN {
            let g = share_gain(memory.node_state[edge.parent as usize], term);
            let share = match power {
                0 => g.sqrt(),
                1 => g,
                2 => g * g,
                _ => (g * g) * (g * g),
            };
            r = r * share * inverse;
            r = if r < R_MIN { 0.0 } else { r };
        }
        let w = f32::from_bits(memory.network[params.weight_begin + e - begin]);
        let terms = edge_terms(w, params.slope, r);
        memory.edge_state[e] = EdgeState { r, term: terms.gain };
        memory.slots[edge.slot as usize] = terms.m;
        kappa = kappa.max(terms.curve);
    }
    memory.node_state[2 * n_nodes + row] = kappa;
}

/// `q a'(r)`; next to nothing is nothing.
#[inline(always)]
fn share_gain(q: f32, slope: f32) -> f32 {
    let g = q * slope;
    if g < G_MIN { 0.0 } else { g }
}
