//! What EM counts in the states of one document.
//!
//! With v_i the state of a node, `a_i = w0_i + sum_k w_ki x_k` and x the states of the topics,
//!
//! ```text
//! N_ki = x_k v_i / (1 - exp(-a_i)),   L_i = v_i / (1 - exp(-a_i)),   Q_k = x_k,
//! ```
//!
//! averaged over samples of x. Both augmentations are these times what they are about: `n_ki = w_ki N_ki` for Poisson causes,
//! `c_ki = p_ki N_ki` for cascades, and leaks likewise. Where a token is unknown, nothing is known of its causes: `N_ki = x_k`, `L_i = 1`.

use super::joint::{Joint, OUTSIDE};
use crate::estep::Stats;
use crate::estep::cpu::Accumulator;
use crate::network::Graph;

/// N, L and Q of a document, by the nodes and edges of its model; memory that is reused.
#[derive(Debug, Default)]
pub struct DocSums {
    edge: Vec<f64>,
    leak: Vec<f64>,
    on: Vec<f64>,
}

impl DocSums {
    /// Zeros.
    pub fn clear(&mut self, joint: &Joint) {
        let zeros = |list: &mut Vec<f64>, n: usize| {
            list.clear();
            list.resize(n, 0.0);
        };
        zeros(&mut self.edge, joint.batch.n_edges());
        zeros(&mut self.leak, joint.batch.n_nodes());
        zeros(&mut self.on, joint.n_topics());
    }

    /// Adds a state, so many times.
    pub fn add(&mut self, joint: &Joint, on: &[bool], weight: f64) {
        for node in (0..joint.batch.n_nodes()).filter(|&node| on.get(node).copied().unwrap_or(true)) {
            // 1 / (1 - exp(-a)).
            let term = -weight / (-joint.activation(node, on, None)).exp_m1();
            self.leak[node] += term;
            for edge in joint.edges_into(node) {
                if on[joint.batch.edges[edge].parent as usize] {
                    self.edge[edge] += term;
                }
            }
        }
        self.on.iter_mut().zip(on).filter(|(_, on)| **on).for_each(|(sum, _)| *sum += weight);
    }

    /// The sums of the document, of a network.
    pub fn stats(&self, joint: &Joint, graph: &Graph) -> Stats {
        let (mut sums, mut stats) = (Accumulator::new(graph), Stats::new(graph, true));
        self.add_to(&mut sums, joint, graph, 1.0);
        stats.add(graph, &sums.take(graph));
        stats.n_docs = 1.0;
        stats
    }

    /// Adds the document to sums of a block, so many times.
    pub(crate) fn add_to(&self, sums: &mut Accumulator, joint: &Joint, graph: &Graph, count: f64) {
        for (node, record) in joint.batch.nodes[..joint.batch.n_nodes()].iter().enumerate() {
            let topic = self.on.get(node).map_or([0.0; 2], |on| [count * on, count]);
            let edges = self.edge[joint.edges_into(node)].iter().map(|n| count * n);
            sums.add_node(graph, record.id, count * self.leak[node], topic, edges);
        }
        for &token in &joint.unknown {
            let node = graph.n_topics() + token as usize;
            let on = |&parent: &u32| match joint.places[parent as usize] {
                OUTSIDE => 0.0,
                place => count * self.on[place as usize],
            };
            sums.add_node(graph, node as u32, count, [0.0; 2], graph.parents(node).iter().map(on));
        }
    }
}
