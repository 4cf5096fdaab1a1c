//! What a model knows already, as counts of documents that are no longer there.
//!
//! EM on new documents alone would send the weights of whatever they lack to the floor in one step. But a model is the M-step of
//! its own documents: with Q the probability of a topic under it, those had `w Q` of an edge's counts per document, `w0` of a
//! leak's, and the penalty lambda made `w (Q + lambda / D)` of the first. Added to the counts of new documents, they make the M-step of
//! both. Tokens that are new were not observed in the old documents: neither they nor their edges have counts there.

use crate::network::{Graph, Weights, topic_marginals};
use serde::{Deserialize, Serialize};

/// How much a model that is trained on counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PriorOptions {
    /// It counts as so many documents.
    pub docs: f64,
    /// It was trained on so many.
    pub trained_docs: f64,
    /// It has so many tokens, the first ones; those behind are new.
    pub tokens: usize,
}

/// Counts per document of a model that is trained on. Topics, old tokens and old edges come first in every list of the network, so
/// these are the beginnings of those lists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prior {
    n_docs: f64,
    edge: Vec<f64>,
    leak: Vec<f64>,
    topic_q: Vec<f64>,
}

impl Prior {
    /// The counts of a model, its new tokens included in graph and weights, at the penalty `lambda`.
    pub fn new(graph: &Graph, weights: &Weights, options: &PriorOptions, lambda: f64) -> Self {
        let n_nodes = graph.n_topics() + options.tokens.min(graph.n_tokens());
        let n_edges = graph.edge_offsets()[n_nodes] as usize;
        let topic_q = topic_marginals(graph, weights);
        let penalty = lambda / options.trained_docs;
        let old = weights.edge[..n_edges].iter().zip(graph.edge_parents());
        Self {
            n_docs: options.docs,
            edge: old.map(|(w, &parent)| w * (topic_q[parent as usize] + penalty)).collect(),
            leak: weights.leak[..n_nodes].to_vec(),
            topic_q,
        }
    }

    /// Counts of so many documents in which every topic is on, and causes are as the initial rates (weights, or probabilities of a
    /// cascade) have them. Small counts of rare topics are drawn to these.
    pub(super) fn pseudo(graph: &Graph, rates: Weights, n_docs: f64) -> Self {
        Self { n_docs, edge: rates.edge, leak: rates.leak, topic_q: vec![1.0; graph.n_topics()] }
    }

    /// Whether it belongs to the beginning of a graph.
    pub(super) fn fits(&self, graph: &Graph) -> bool {
        self.topic_q.len() == graph.n_topics()
            && self.leak.len() <= graph.n_nodes()
            && graph.edge_offsets()[self.leak.len()] as usize == self.edge.len()
    }

    /// Adds the old counts of an edge to its counts n and Q per document of `n_docs` new ones.
    pub(super) fn add_edge(&self, edge: usize, parent: u32, (n, q): (f64, f64), n_docs: f64) -> (f64, f64) {
        let ratio = self.n_docs / n_docs;
        match self.edge.get(edge) {
            Some(old) => (n + ratio * old, q + ratio * self.topic_q[parent as usize]),
            None => (n, q),
        }
    }

    /// Averages the counts of leaks per document over `n_docs` new documents and the old ones.
    pub(super) fn add_leaks(&self, leak: &mut [f64], n_docs: f64) {
        for (n, old) in leak.iter_mut().zip(&self.leak) {
            *n = (n_docs * *n + self.n_docs * old) / (n_docs + self.n_docs);
        }
    }
}
