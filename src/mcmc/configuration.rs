//! A configuration of a document's topics, and the Gibbs sampler that moves it.
//!
//! The log-odds g of every topic are kept up to date: a conditional probability is `sigmoid(g_k)`, and only a flip costs more, the
//! edges into the children of the topic. Topics that share a child that is on are coupled, so they are sampled one after another.

use super::joint::Joint;
use super::met::key;
use crate::numeric::f64::{beta, sigmoid};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// A configuration of a document's topics, with what every flip would change.
#[derive(Debug, Default, Clone)]
pub struct Configuration {
    /// x.
    pub on: Vec<bool>,
    /// g of every topic.
    pub gain: Vec<f64>,
    /// `log p(x, y)`.
    pub log_joint: f64,
    /// `key` of all topics that are on, together.
    pub(crate) key: u64,
    /// `beta(a)` of every node.
    beta: Vec<f64>,
    /// `beta(a_c) at k on - beta(a_c) at k off` of every edge.
    term: Vec<f64>,
}

impl Configuration {
    /// All topics off.
    pub fn clear(&mut self, joint: &Joint) {
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

    /// Sums everything anew: what flips add up loses a digit or so in a million of them.
    pub fn refresh(&mut self, joint: &Joint) {
        let on = std::mem::take(&mut self.on);
        self.clear(joint);
        (0..on.len()).filter(|&topic| on[topic]).for_each(|topic| self.flip(joint, topic));
    }

    /// The same as another, without allocation.
    pub(crate) fn copy(&mut self, other: &Self) {
        self.on.clone_from(&other.on);
        self.gain.clone_from(&other.gain);
        self.beta.clone_from(&other.beta);
        self.term.clone_from(&other.term);
        (self.log_joint, self.key) = (other.log_joint, other.key);
    }

    /// Flips a topic.
    pub fn flip(&mut self, joint: &Joint, topic: usize) {
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

    /// Samples a topic given all others. Returns whether it flipped.
    #[inline]
    pub(super) fn sample(&mut self, joint: &Joint, topic: usize, rng: &mut ChaCha8Rng) -> bool {
        let flips = (rng.random::<f64>() < sigmoid(self.gain[topic])) != self.on[topic];
        if flips {
            self.flip(joint, topic);
        }
        flips
    }

    /// Samples every topic once, in order.
    pub fn sweep(&mut self, joint: &Joint, rng: &mut ChaCha8Rng) {
        for topic in 0..joint.n_topics() {
            self.sample(joint, topic, rng);
        }
    }
}
