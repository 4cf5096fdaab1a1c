//! The weights of a network: one leak a node, one weight an edge.

use super::Graph;
use serde::{Deserialize, Serialize};

/// Larger weights are refused: exp(-w) is zero long before, and sums of them would leave the range of f32.
pub const MAX_WEIGHT: f64 = 1e6;

/// Whether a number can be a weight: in `(0, MAX_WEIGHT]`, which NaN is not.
pub(super) fn is_weight(weight: f64) -> bool {
    weight > 0.0 && weight <= MAX_WEIGHT
}

/// Leak and edge weights, f64 on the host; the fast path derives its f32 parameters from them.
///
/// Training rounds every step to f32, so that a model file holds exactly the weights that were trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Weights {
    /// `w0_i` of every node, topics first.
    pub leak: Vec<f64>,
    /// `w_ki` of every edge, in the graph's edge order.
    pub edge: Vec<f64>,
}

impl Weights {
    /// The first weight that is not in `(0, MAX_WEIGHT]`, in words.
    pub fn fault(&self, graph: &Graph, name: &dyn Fn(u32) -> String) -> Option<String> {
        let bad = |weight: &f64| !is_weight(*weight);
        if let Some(node) = self.leak.iter().position(bad) {
            return Some(format!("the leak of '{}' is {}", name(node as u32), self.leak[node]));
        }
        let edge = self.edge.iter().position(bad)?;
        let child = graph.edge_offsets().partition_point(|&begin| begin as usize <= edge) - 1;
        let parent = graph.edge_parents()[edge];
        Some(format!("the weight of '{}' -> '{}' is {}", name(parent), name(child as u32), self.edge[edge]))
    }

    /// Rounds every weight to the nearest f32.
    pub fn round_to_f32(&mut self) {
        for weight in self.leak.iter_mut().chain(&mut self.edge) {
            *weight = f64::from(*weight as f32);
        }
    }
}
