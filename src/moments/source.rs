//! Where moments come from: counts of documents, or a network.

use super::formula::BySubset;
use crate::network::{Graph, Weights};

/// Documents are dealt out to so many groups; how estimates differ between them gives standard errors.
pub const GROUPS: usize = 32;

/// What the documents of each group add to a value's error; they sum to zero.
pub type ByGroup = [f64; GROUPS];

/// The moments of a set of up to three tokens.
#[derive(Debug, Clone)]
pub struct Table {
    /// The share of documents without any token of a subset, among those in which all of it are known.
    pub moments: BySubset,
    /// Documents in which all tokens of a subset are known.
    pub known: BySubset,
    /// What each group of documents adds to the error of each moment.
    pub by_group: [ByGroup; 8],
}

impl Default for Table {
    fn default() -> Self {
        Self { moments: [1.0; 8], known: [1.0; 8], by_group: [[0.0; GROUPS]; 8] }
    }
}

/// Gives moments.
pub trait Source: Sync {
    /// Groups that have documents; none where moments are exact.
    fn n_groups(&self) -> usize;

    /// The moments of a set of one, two or three different tokens.
    fn table(&self, set: &[u32], table: &mut Table);
}

/// The moments of a network of two layers, exactly.
#[derive(Debug)]
pub struct Exact<'a> {
    graph: &'a Graph,
    weights: &'a Weights,
}

impl<'a> Exact<'a> {
    /// Of this network.
    pub fn new(graph: &'a Graph, weights: &'a Weights) -> Self {
        Self { graph, weights }
    }

    /// P(no token of a set is present): `prod of exp(-w0_j) * prod over topics of (1 - p + p prod of exp(-w_ij))`.
    pub fn moment(&self, set: &[u32]) -> f64 {
        let n_topics = self.graph.n_topics();
        let node = |token: u32| n_topics + token as usize;
        let mut sums: Vec<(u32, f64)> = Vec::new();
        for &token in set {
            let edges = self.graph.parents(node(token)).iter().zip(self.graph.edges_into(node(token)));
            sums.extend(edges.map(|(&topic, edge)| (topic, self.weights.edge[edge])));
        }
        sums.sort_unstable_by_key(|&(topic, _)| topic);
        let leaks: f64 = set.iter().map(|&token| self.weights.leak[node(token)]).sum();
        let influence = |of_topic: &[(u32, f64)]| {
            let weight: f64 = of_topic.iter().map(|(_, weight)| weight).sum();
            let p = -(-self.weights.leak[of_topic[0].0 as usize]).exp_m1();
            1.0 + p * (-weight).exp_m1()
        };
        (-leaks).exp() * sums.chunk_by(|a, b| a.0 == b.0).map(influence).product::<f64>()
    }
}

impl Source for Exact<'_> {
    fn n_groups(&self) -> usize {
        0
    }

    fn table(&self, set: &[u32], table: &mut Table) {
        for mask in 1..1usize << set.len() {
            table.moments[mask] = self.moment(&subset(set, mask));
        }
    }
}

/// The tokens of a mask.
pub(super) fn subset(set: &[u32], mask: usize) -> Vec<u32> {
    set.iter().enumerate().filter(|(at, _)| mask >> at & 1 == 1).map(|(_, &token)| token).collect()
}
