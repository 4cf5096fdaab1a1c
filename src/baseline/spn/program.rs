//! A network made ready for tiles of rows: what is computed, in which order, and with which logarithms.
//!
//! Most nodes are leaves below one product. They are fused into it: with `c = sum of log w_off` and `g = log w_on - log w_off`,
//!
//! ```text
//! log of the product = c + sum over present tokens of g + sum over unknown tokens of log(w_off + w_on) - log w_off + other children
//! ```
//!
//! so that such a leaf costs one multiply-add a row, or nothing where its token is in few rows of a tile.

use super::structure::{Kind, Structure};
use std::ops::Range;

/// What is computed for the values of one slot.
#[derive(Debug, Clone)]
pub(super) enum Op {
    /// A leaf of its own, with the place of its weights.
    Leaf {
        token: u32,
        param: u32,
    },
    Indicator {
        token: u32,
        present: bool,
    },
    /// Places of its edges; those of its weights begin at `param`.
    Sum {
        edges: Range<u32>,
        param: u32,
    },
    /// Places of its edges and of its leaves.
    Product {
        edges: Range<u32>,
        leaves: Range<u32>,
    },
}

/// A structure with slots in order, children before parents.
#[derive(Debug, Clone)]
pub struct Program {
    structure: Structure,
    pub(super) ops: Vec<Op>,
    /// Slot of the child of every edge.
    pub(super) child: Vec<u32>,
    /// Token of every fused leaf, and where its two weights are.
    pub(super) leaf_token: Vec<u32>,
    pub(super) leaf_param: Vec<u32>,
    /// Slot of every node; none of fused leaves.
    pub(super) slot_of: Vec<u32>,
    /// Children of the largest sum.
    pub(super) widest: usize,
}

/// No slot.
pub(super) const FUSED: u32 = u32::MAX;

impl Program {
    /// Of a structure.
    pub fn new(structure: Structure) -> Self {
        let n_nodes = structure.n_nodes();
        // Parents of a node; with a sum among them a leaf keeps a slot of its own.
        let mut n_parents = vec![0u32; n_nodes];
        let mut below_sum = vec![false; n_nodes];
        for node in 0..n_nodes {
            for &child in structure.children(node) {
                n_parents[child as usize] = n_parents[child as usize].saturating_add(1);
                below_sum[child as usize] |= structure.kind(node) == Kind::Sum;
            }
        }
        let mut program = Self {
            ops: Vec::new(),
            child: Vec::new(),
            leaf_token: Vec::new(),
            leaf_param: Vec::new(),
            slot_of: vec![FUSED; n_nodes],
            widest: 0,
            structure,
        };
        let structure = &program.structure;
        for node in 0..n_nodes {
            let param = structure.params(node).start as u32;
            let (first_edge, first_leaf) = (program.child.len() as u32, program.leaf_token.len() as u32);
            let op = match structure.kind(node) {
                Kind::Leaf(_) if n_parents[node] == 1 && !below_sum[node] => continue,
                Kind::Leaf(token) => Op::Leaf { token, param },
                Kind::Indicator(token, present) => Op::Indicator { token, present },
                Kind::Sum => {
                    let children = structure.children(node);
                    program.widest = program.widest.max(children.len());
                    program.child.extend(children.iter().map(|&child| program.slot_of[child as usize]));
                    Op::Sum { edges: first_edge..program.child.len() as u32, param }
                }
                Kind::Product => {
                    for &child in structure.children(node) {
                        match (program.slot_of[child as usize], structure.kind(child as usize)) {
                            (FUSED, Kind::Leaf(token)) => {
                                program.leaf_token.push(token);
                                program.leaf_param.push(structure.params(child as usize).start as u32);
                            }
                            (slot, _) => program.child.push(slot),
                        }
                    }
                    let (edges, leaves) = (program.child.len() as u32, program.leaf_token.len() as u32);
                    Op::Product { edges: first_edge..edges, leaves: first_leaf..leaves }
                }
            };
            program.slot_of[node] = program.ops.len() as u32;
            program.ops.push(op);
        }
        program
    }

    /// The structure.
    pub fn structure(&self) -> &Structure {
        &self.structure
    }

    pub(super) fn n_tokens(&self) -> usize {
        self.structure.n_tokens()
    }

    pub(super) fn n_params(&self) -> usize {
        self.structure.n_params()
    }

    /// The logarithms of these weights.
    pub(super) fn logs(&self, weights: &[f64]) -> Logs {
        debug_assert_eq!(weights.len(), self.n_params());
        let mut logs = Logs {
            edge: vec![0.0; self.child.len()],
            present: Vec::with_capacity(self.leaf_param.len()),
            unknown: Vec::with_capacity(self.leaf_param.len()),
            slots: Vec::with_capacity(self.ops.len()),
        };
        for op in &self.ops {
            let slot = match op {
                Op::Leaf { param, .. } => {
                    let [off, on] = [weights[*param as usize], weights[*param as usize + 1]];
                    [off.ln(), on.ln(), (off + on).ln()]
                }
                Op::Indicator { present, .. } => {
                    let of = |is_one: bool| if is_one { 0.0 } else { f64::NEG_INFINITY };
                    [of(!present), of(*present), 0.0]
                }
                Op::Sum { edges, param } => {
                    let weights = &weights[*param as usize..][..edges.len()];
                    let logs = &mut logs.edge[edges.start as usize..edges.end as usize];
                    logs.iter_mut().zip(weights).for_each(|(log, w)| *log = w.ln());
                    [0.0; 3]
                }
                Op::Product { leaves, .. } => {
                    let mut constant = 0.0;
                    for &param in &self.leaf_param[leaves.start as usize..leaves.end as usize] {
                        let [off, on] = [weights[param as usize], weights[param as usize + 1]];
                        let log_off = off.ln();
                        constant += log_off;
                        logs.present.push(on.ln() - log_off);
                        logs.unknown.push((off + on).ln() - log_off);
                    }
                    [constant, 0.0, 0.0]
                }
            };
            logs.slots.push(slot);
        }
        logs
    }
}

/// Logarithms of weights, in the order in which they are needed.
#[derive(Debug, Clone)]
pub(super) struct Logs {
    /// log w of every edge of a sum.
    pub(super) edge: Vec<f64>,
    /// What the presence of a fused leaf's token adds to its product, and what it adds if the token is unknown.
    pub(super) present: Vec<f64>,
    pub(super) unknown: Vec<f64>,
    /// Of a leaf or an indicator: absent, present, unknown; of a product the sum over absent leaves.
    pub(super) slots: Vec<[f64; 3]>,
}
