//! A graph taken apart into weighted edges, changed, and put together again; and which edges it may have.

use crate::network::{Graph, Weights, keep};
use crate::rng::{Stream, rng};
use crate::train::state::State;
use crate::train::trainer::Trainer;
use rand::RngExt;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

/// New edges of a complete graph start at random around this: small, so that topics grow apart before they compete.
const START: f64 = 0.05;

/// How far every node is from the tokens. Edges lead from higher to lower levels, so no change of edges can make a cycle. A layered graph may so have edges past a layer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Levels(Vec<u32>);

impl Levels {
    pub(super) fn of(graph: &Graph) -> Self {
        Self(graph.levels())
    }

    /// Number of nodes.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there may be an edge.
    pub(super) fn allow(&self, parent: u32, child: u32) -> bool {
        self.0[parent as usize] > self.0[child as usize]
    }

    /// How many edges there may be.
    pub(super) fn n_pairs(&self) -> usize {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted.iter().map(|&level| sorted.partition_point(|&other| other < level)).sum()
    }
}

/// Edges with weights, and leaks.
#[derive(Debug)]
pub(in crate::train) struct Wired {
    n_topics: usize,
    pub(super) edges: Vec<(u32, u32)>,
    pub(super) weights: Weights,
}

impl Wired {
    pub(in crate::train) fn of(trainer: &Trainer<'_>) -> Self {
        let State { graph, weights, .. } = &trainer.state;
        Self { n_topics: graph.n_topics(), edges: graph.edges().collect(), weights: weights.clone() }
    }

    /// Keeps some edges, by their ends and weights.
    pub(in crate::train) fn retain(&mut self, is_kept: impl Fn((u32, u32), f64) -> bool) {
        let marks: Vec<bool> =
            self.edges.iter().zip(&self.weights.edge).map(|(&edge, &w)| is_kept(edge, w)).collect();
        keep(&mut self.edges, &marks);
        keep(&mut self.weights.edge, &marks);
    }

    /// Adds an edge.
    pub(in crate::train) fn push(&mut self, edge: (u32, u32), weight: f64) {
        self.edges.push(edge);
        self.weights.edge.push(weight);
    }

    /// Keeps the edges of the highest `score`; of equals the first.
    pub(super) fn keep_best(self, score: &[f64], n_edges: usize) -> Self {
        let mut order: Vec<usize> = (0..self.edges.len()).collect();
        order.sort_by(|&a, &b| score[b].total_cmp(&score[a]).then(a.cmp(&b)));
        order.truncate(n_edges);
        let edge = order.iter().map(|&at| self.weights.edge[at]).collect();
        Self {
            edges: order.iter().map(|&at| self.edges[at]).collect(),
            weights: Weights { edge, ..self.weights },
            ..self
        }
    }

    /// Adds edges of one weight.
    pub(super) fn join(mut self, edges: &[(u32, u32)], weight: f64) -> Self {
        self.edges.extend(edges);
        self.weights.edge.resize(self.edges.len(), weight);
        self
    }

    /// Adds every edge that is allowed and missing, at random small weights.
    pub(super) fn complete(mut self, levels: &Levels, seed: u64) -> Self {
        let there: FxHashSet<(u32, u32)> = self.edges.iter().copied().collect();
        let mut rng = rng(seed, Stream::Refine);
        for parent in 0..self.n_topics as u32 {
            for child in 0..self.weights.leak.len() as u32 {
                if levels.allow(parent, child) && !there.contains(&(parent, child)) {
                    self.edges.push((parent, child));
                    self.weights.edge.push(START * rng.random_range(0.2..1.8));
                }
            }
        }
        self
    }

    /// Puts graph and weights together.
    pub(super) fn build(self) -> (Graph, Weights) {
        let n_tokens = self.weights.leak.len() - self.n_topics;
        let (graph, order) = Graph::build(self.n_topics, n_tokens, &self.edges, &|node| node.to_string())
            .unwrap_or_else(|fault| unreachable!("levels allow no other graph: {}", fault.message));
        let edge = order.iter().map(|&at| self.weights.edge[at as usize]).collect();
        let mut weights = Weights { edge, leak: self.weights.leak };
        weights.round_to_f32();
        (graph, weights)
    }
}
