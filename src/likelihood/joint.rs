//! One document's joint probability, over all topics of the network, in f64.
//!
//! With x the states of the topics, `a_i = w0_i + sum_k w_ki x_k` and `beta(a) = log(exp(a) - 1)`,
//!
//! ```text
//! log p(x, y) = -W0 + sum over on i of beta(a_i) - sum over on k of S_k,
//! g_k = log p(x_k on, rest) - log p(x_k off, rest)
//!     = beta(a_k) - S_k + sum over on children c of [beta(a_c) at k on - beta(a_c) at k off].
//! ```

use super::configurations::key;
use crate::batch::{Batch, Packer};
use crate::corpus::{Docs, Item};
use crate::network::Network;
use crate::numeric::f64::beta;
use std::ops::Range;

/// What all documents share.
#[derive(Debug)]
pub(super) struct Sums {
    /// S of every topic.
    child_sums: Vec<f64>,
    /// `-W0`.
    constant: f64,
}

impl Sums {
    pub(super) fn new(network: &Network) -> Self {
        let mut child_sums = vec![0.0; network.graph.n_topics()];
        for (&parent, &weight) in network.graph.edge_parents().iter().zip(&network.weights.edge) {
            child_sums[parent as usize] += weight;
        }
        Self { child_sums, constant: -network.weights.leak.iter().sum::<f64>() }
    }
}

/// One document, packed with all topics: nodes are counted from the document's first, topics before tokens. Its memory is reused.
#[derive(Debug)]
pub(super) struct Joint {
    packer: Packer,
    batch: Batch,
    /// w0 of every node.
    leak: Vec<f64>,
    /// w of every edge.
    w: Vec<f64>,
    /// S of every topic.
    child_sums: Vec<f64>,
    constant: f64,
    n_topics: usize,
    /// Unknown tokens of the document, and the nodes of the topics by their numbers.
    unknown: Vec<u32>,
    places: Vec<u32>,
}

impl Joint {
    pub(super) fn new(network: &Network) -> Self {
        Self {
            packer: Packer::new(&network.graph, true),
            batch: Batch::default(),
            leak: Vec::new(),
            w: Vec::new(),
            child_sums: Vec::new(),
            constant: 0.0,
            n_topics: network.graph.n_topics(),
            unknown: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Takes a document in.
    pub(super) fn load(&mut self, network: &Network, sums: &Sums, docs: &Docs<'_>, item: Item) {
        let (graph, weights) = (&network.graph, &network.weights);
        self.packer.pack(graph, docs, &[item], usize::MAX, &mut self.batch);
        let nodes = &self.batch.nodes[..self.batch.n_nodes()];
        self.leak.clear();
        self.leak.extend(nodes.iter().map(|node| weights.leak[node.id as usize]));
        self.w.clear();
        for node in nodes {
            self.w.extend_from_slice(&weights.edge[graph.edges_into(node.id as usize)]);
        }
        self.child_sums.clear();
        self.child_sums.extend(nodes[..self.n_topics].iter().map(|node| sums.child_sums[node.id as usize]));
        self.constant = sums.constant;
        docs.unknown(item.doc_ix as usize, &mut self.unknown);
        if !self.unknown.is_empty() {
            self.leave_out_unknown(network);
        }
    }

    /// W0 and S count every token as absent until it is seen: those that nobody looked at are taken out.
    fn leave_out_unknown(&mut self, network: &Network) {
        self.places.resize(self.n_topics, 0);
        for (place, node) in (0..).zip(&self.batch.nodes[..self.n_topics]) {
            self.places[node.id as usize] = place;
        }
        for &token in &self.unknown {
            let node = self.n_topics + token as usize;
            self.constant += network.weights.leak[node];
            let edges = network.graph.edges_into(node);
            for (&parent, w) in network.graph.parents(node).iter().zip(&network.weights.edge[edges]) {
                self.child_sums[self.places[parent as usize] as usize] -= w;
            }
        }
    }

    pub(super) fn n_topics(&self) -> usize {
        self.n_topics
    }

    /// The number in the network of a topic of the document.
    pub(super) fn topic(&self, at: usize) -> usize {
        self.batch.nodes[at].id as usize
    }

    fn edges_into(&self, node: usize) -> Range<usize> {
        self.batch.nodes[node].edge_begin as usize..self.batch.nodes[node + 1].edge_begin as usize
    }

    fn children(&self, topic: usize) -> &[u32] {
        let nodes = &self.batch.nodes;
        &self.batch.slot_children[nodes[topic].slot_begin as usize..nodes[topic + 1].slot_begin as usize]
    }

    /// `a` of a node, without one of its parents. Summed anew and not brought up to date: the difference of a large sum and a
    /// large weight may be a tiny leak.
    fn activation(&self, node: usize, on: &[bool], without: Option<usize>) -> f64 {
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
    pub(super) fn log_joint(&self, on: &[bool]) -> f64 {
        let n_nodes = self.batch.n_nodes();
        let topics = (0..self.n_topics).filter(|&topic| on[topic]);
        let of_topics: f64 =
            topics.map(|topic| beta(self.activation(topic, on, None)) - self.child_sums[topic]).sum();
        let tokens = self.n_topics..n_nodes;
        self.constant + of_topics + tokens.map(|token| beta(self.activation(token, on, None))).sum::<f64>()
    }
}

/// A configuration of a document's topics, with what every flip would change.
#[derive(Debug, Default, Clone)]
pub(super) struct Configuration {
    /// x.
    pub(super) on: Vec<bool>,
    /// g of every topic.
    pub(super) gain: Vec<f64>,
    /// `log p(x, y)`.
    pub(super) log_joint: f64,
    /// [`key`] of all topics that are on, together.
    pub(super) key: u64,
    /// `beta(a)` of every node.
    beta: Vec<f64>,
    /// `beta(a_c) at k on - beta(a_c) at k off` of every edge.
    term: Vec<f64>,
}

impl Configuration {
    /// All topics off.
    pub(super) fn clear(&mut self, joint: &Joint) {
        let (n_topics, n_nodes) = (joint.n_topics, joint.batch.n_nodes());
        self.on.clear();
        self.on.resize(n_topics, false);
        self.key = 0;
        self.beta.clear();
        self.beta.extend(joint.leak.iter().map(|&leak| beta(leak)));
        self.gain.clear();
        self.gain.extend(self.beta.iter().zip(&joint.child_sums).map(|(beta, sum)| beta - sum));
        self.log_joint = joint.constant + self.beta[n_topics..].iter().sum::<f64>();
        self.term.clear();
        for node in 0..n_nodes {
            for edge in joint.edges_into(node) {
                let term = beta(joint.leak[node] + joint.w[edge]) - self.beta[node];
                self.term.push(term);
                if node >= n_topics {
                    self.gain[joint.batch.edges[edge].parent as usize] += term;
                }
            }
        }
    }

    /// The same as another, without allocation.
    pub(super) fn copy(&mut self, other: &Self) {
        self.on.clone_from(&other.on);
        self.gain.clone_from(&other.gain);
        self.beta.clone_from(&other.beta);
        self.term.clone_from(&other.term);
        (self.log_joint, self.key) = (other.log_joint, other.key);
    }

    /// Flips a topic.
    pub(super) fn flip(&mut self, joint: &Joint, topic: usize) {
        let on = !self.on[topic];
        let sign = if on { 1.0 } else { -1.0 };
        self.on[topic] = on;
        self.log_joint += sign * self.gain[topic];
        self.key ^= key(topic);
        for edge in joint.edges_into(topic) {
            self.gain[joint.batch.edges[edge].parent as usize] += sign * self.term[edge];
        }
        for &child in joint.children(topic) {
            self.update_node(joint, child as usize);
        }
    }

    /// A node of which a parent was flipped: its own gain, and its terms in those of its parents.
    fn update_node(&mut self, joint: &Joint, node: usize) {
        let a = joint.activation(node, &self.on, None);
        let now = beta(a);
        if node < joint.n_topics {
            self.gain[node] += now - self.beta[node];
        }
        self.beta[node] = now;
        let is_on = node >= joint.n_topics || self.on[node];
        for edge in joint.edges_into(node) {
            let (parent, w) = (joint.batch.edges[edge].parent as usize, joint.w[edge]);
            let term = if !self.on[parent] {
                beta(a + w) - now
            } else if w < 0.5 * a {
                now - beta(a - w)
            } else {
                now - beta(joint.activation(node, &self.on, Some(parent)))
            };
            if is_on {
                self.gain[parent] += term - self.term[edge];
            }
            self.term[edge] = term;
        }
    }
}
