//! One document's joint probability, over all topics of the network or those of its local model H_d, in f64.
//!
//! With x the states of the topics, `a_i = w0_i + sum_k w_ki x_k` and `beta(a) = log(exp(a) - 1)`,
//!
//! ```text
//! log p(x, y) = -W0 + sum over on i of beta(a_i) - sum over on k of S_k,
//! g_k = log p(x_k on, rest) - log p(x_k off, rest)
//!     = beta(a_k) - S_k + sum over on children c of [beta(a_c) at k on - beta(a_c) at k off].
//! ```

use super::Model;
use crate::batch::{Batch, Packer};
use crate::corpus::{Docs, Item};
use crate::network::{Graph, Weights};
use crate::numeric::f64::beta;
use std::ops::Range;

/// What all documents share: a network, and sums of its weights.
#[derive(Debug)]
pub struct Shared<'a> {
    pub(super) graph: &'a Graph,
    weights: &'a Weights,
    /// S of every topic.
    child_sums: Vec<f64>,
    /// `-W0`.
    constant: f64,
}

impl<'a> Shared<'a> {
    /// Of a network.
    pub fn new(graph: &'a Graph, weights: &'a Weights) -> Self {
        let mut child_sums = vec![0.0; graph.n_topics()];
        for (&parent, &weight) in graph.edge_parents().iter().zip(&weights.edge) {
            child_sums[parent as usize] += weight;
        }
        Self { graph, weights, child_sums, constant: -weights.leak.iter().sum::<f64>() }
    }
}

/// One document, packed with the topics of its model: nodes are counted from the document's first, topics before tokens. Its memory
/// is reused.
#[derive(Debug)]
pub struct Joint {
    packer: Packer,
    pub(super) batch: Batch,
    /// w0 of every node.
    pub(super) leak: Vec<f64>,
    /// w of every edge.
    pub(super) w: Vec<f64>,
    /// S of every topic.
    pub(super) child_sums: Vec<f64>,
    pub(super) constant: f64,
    pub(super) n_topics: usize,
    /// Unknown tokens of the document.
    pub(super) unknown: Vec<u32>,
    /// The nodes of the topics by their numbers, [`OUTSIDE`] of those that are not in the model; only where tokens are unknown.
    pub(super) places: Vec<u32>,
}

/// The place of a topic that is not in a document's model.
pub(super) const OUTSIDE: u32 = u32::MAX;

impl Joint {
    /// For documents of a network.
    pub fn new(graph: &Graph, model: Model) -> Self {
        Self {
            packer: Packer::new(graph, model == Model::Full),
            batch: Batch::default(),
            leak: Vec::new(),
            w: Vec::new(),
            child_sums: Vec::new(),
            constant: 0.0,
            n_topics: 0,
            unknown: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Takes a document in.
    pub fn load(&mut self, shared: &Shared<'_>, docs: &Docs<'_>, item: Item) {
        let (graph, weights) = (shared.graph, shared.weights);
        self.packer.pack(graph, docs, &[item], usize::MAX, &mut self.batch);
        self.n_topics = self.batch.topics(0).len();
        let nodes = &self.batch.nodes[..self.batch.n_nodes()];
        self.leak.clear();
        self.leak.extend(nodes.iter().map(|node| weights.leak[node.id as usize]));
        self.w.clear();
        for node in nodes {
            self.w.extend_from_slice(&weights.edge[graph.edges_into(node.id as usize)]);
        }
        self.child_sums.clear();
        self.child_sums.extend(nodes[..self.n_topics].iter().map(|node| shared.child_sums[node.id as usize]));
        self.constant = shared.constant;
        docs.unknown(item.doc_ix as usize, &mut self.unknown);
        if !self.unknown.is_empty() {
            self.leave_out_unknown(shared);
        }
    }

    /// W0 and S count every token as absent until it is seen: those that nobody looked at are taken out.
    fn leave_out_unknown(&mut self, shared: &Shared<'_>) {
        let (graph, weights) = (shared.graph, shared.weights);
        self.places.clear();
        self.places.resize(graph.n_topics(), OUTSIDE);
        for (place, node) in (0..).zip(&self.batch.nodes[..self.n_topics]) {
            self.places[node.id as usize] = place;
        }
        for &token in &self.unknown {
            let node = graph.n_topics() + token as usize;
            self.constant += weights.leak[node];
            let edges = graph.edges_into(node);
            for (&parent, w) in graph.parents(node).iter().zip(&weights.edge[edges]) {
                let place = self.places[parent as usize];
                if place != OUTSIDE {
                    self.child_sums[place as usize] -= w;
                }
            }
        }
    }

    /// Topics of the document's model.
    pub fn n_topics(&self) -> usize {
        self.n_topics
    }

    /// The number in the network of a topic of the document.
    pub fn topic(&self, at: usize) -> usize {
        self.batch.nodes[at].id as usize
    }

    pub(super) fn edges_into(&self, node: usize) -> Range<usize> {
        self.batch.nodes[node].edge_begin as usize..self.batch.nodes[node + 1].edge_begin as usize
    }

    pub(super) fn children(&self, topic: usize) -> &[u32] {
        let nodes = &self.batch.nodes;
        &self.batch.slot_children[nodes[topic].slot_begin as usize..nodes[topic + 1].slot_begin as usize]
    }

    /// `a` of a node, without one of its parents. Summed anew and not brought up to date: the difference of a large sum and a
    /// large weight may be a tiny leak.
    pub(super) fn activation(&self, node: usize, on: &[bool], without: Option<usize>) -> f64 {
        let edges = self.edges_into(node);
        let mut a = self.leak[node];
        for (edge, w) in self.batch.edges[edges.clone()].iter().zip(&self.w[edges]) {
            let parent = edge.parent as usize;
            if on[parent] && without != Some(parent) {
                a += w;
            }
        }
        a
    }

    /// `log p(x, y)`.
    pub fn log_joint(&self, on: &[bool]) -> f64 {
        let n_nodes = self.batch.n_nodes();
        let topics = (0..self.n_topics).filter(|&topic| on[topic]);
        let of_topics: f64 =
            topics.map(|topic| beta(self.activation(topic, on, None)) - self.child_sums[topic]).sum();
        let tokens = self.n_topics..n_nodes;
        self.constant + of_topics + tokens.map(|token| beta(self.activation(token, on, None))).sum::<f64>()
    }
}
