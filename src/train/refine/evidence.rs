//! What the documents say of every edge, and of edges that are not there: one E-step over the training documents, then, q held,
//! the best r of every positive node.
//!
//! An edge's importance is what the bound owes to it at held q, `sum_d v_i q_k m_ki - w_ki Q_k`. A candidate's is its gradient
//! at weight zero, `sum_d v_i q_k / (1 - exp(-u)) - Q_k` with `u = w0 + x`: as w goes to 0 so does r, and x = w / r is where the
//! share's value `q_k (F(x) - x F'(x))`, with `F(x) = f(w0 + x) - f(w0)`, equals the value mu that the node's parents pay for a share.

//!
//! Topics below [`Q_MIN`] in a document, and those outside its local model, are left out of the sums but are in Q: a candidate's
//! gradient is a little too low, never too high.

use super::edges::Levels;
use crate::corpus::{Docs, Item};
use crate::error::Result;
use crate::estep::DocResults;
use crate::network::{Graph, Weights};
use crate::numeric::f64::{log1mexp as f, log1mexp_slope as f_slope};
use crate::train::trainer::Trainer;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// Documents that one thread adds up at a time; sums are added in this order, whatever the threads.
const CHUNK: usize = 256;
/// Chunks gathered before they are added up.
const CHUNKS: usize = 16;
/// Topics and parents below this probability say nothing.
pub(super) const Q_MIN: f64 = 0.02;
/// Iterations of Eq. 10 to the best r.
const R_ITERATIONS: u32 = 20;
/// Where w / r ends: exp(-x) is zero.
const X_MAX: f64 = 60.0;

/// Sums over the training documents.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// What the bound owes to every edge, in nats over all documents.
    pub(super) importance: Vec<f64>,
    /// Gradients of edges that are not there, at weight zero.
    pub(super) candidates: FxHashMap<(u32, u32), f64>,
    /// Of every occurrence of a token, how much its leak explains: `w0 / (w0 + sum w q)`.
    pub(super) unexplained: Unexplained,
}

/// Occurrences as CSR over the items, with the share that no topic explains.
#[derive(Debug, Default)]
pub(super) struct Unexplained {
    pub(super) counts: Vec<u32>,
    pub(super) offsets: Vec<usize>,
    pub(super) tokens: Vec<u32>,
    pub(super) shares: Vec<f32>,
}

/// One document's results.
struct Doc {
    item: Item,
    topics: Vec<u32>,
    q: Vec<f32>,
}

/// Sums of a chunk.
#[derive(Default)]
struct Sums {
    importance: Vec<f64>,
    candidates: FxHashMap<(u32, u32), f64>,
    unexplained: Vec<(u32, Vec<(u32, f32)>)>,
}

impl Evidence {
    /// Runs the E-step over all training documents; `unexplained` occurrences only where they are wanted.
    pub(super) fn gather(trainer: &mut Trainer<'_>, levels: &Levels, unexplained: bool) -> Result<Self> {
        let (graph, weights, docs) =
            (trainer.state.graph.clone(), trainer.state.weights.clone(), trainer.docs);
        let mut evidence = Self { importance: vec![0.0; graph.n_edges()], ..Self::default() };
        evidence.unexplained.offsets.push(0);
        let look = Look { graph: &graph, weights: &weights, levels, docs, unexplained };
        let mut waiting: Vec<Doc> = Vec::new();
        let mut take = |items: &[Item], results: &DocResults<'_>| {
            for at in 0..results.n_docs() {
                let (topics, q) = results.doc(at);
                let item = items[results.first_item + at];
                waiting.push(Doc { item, topics: topics.to_vec(), q: q.to_vec() });
                if waiting.len() == CHUNK * CHUNKS {
                    evidence.add(&look, &std::mem::take(&mut waiting));
                }
            }
        };
        let (mut stats, params) = trainer.visit(true, Some(&mut take))?;
        evidence.add(&look, &waiting);
        stats.add_tail(&params);
        for (edge, &parent) in graph.edge_parents().iter().enumerate() {
            evidence.importance[edge] -= weights.edge[edge] * stats.topic_q[parent as usize];
        }
        evidence.candidates.iter_mut().for_each(|((parent, _), sum)| *sum -= stats.topic_q[*parent as usize]);
        Ok(evidence)
    }

    fn add(&mut self, look: &Look<'_>, docs: &[Doc]) {
        let chunks: Vec<Sums> = docs.par_chunks(CHUNK).map(|docs| look.sums(docs)).collect();
        for chunk in chunks {
            self.importance.iter_mut().zip(chunk.importance).for_each(|(sum, term)| *sum += term);
            for (edge, term) in chunk.candidates {
                *self.candidates.entry(edge).or_default() += term;
            }
            for (count, tokens) in chunk.unexplained {
                self.unexplained.counts.push(count);
                for (token, share) in tokens {
                    self.unexplained.tokens.push(token);
                    self.unexplained.shares.push(share);
                }
                self.unexplained.offsets.push(self.unexplained.tokens.len());
            }
        }
    }

    /// The candidates of the largest gradients above zero.
    pub(super) fn best_candidates(&self, most: usize) -> Vec<(u32, u32)> {
        let mut list: Vec<((u32, u32), f64)> =
            self.candidates.iter().filter(|(_, g)| **g > 0.0).map(|(&edge, &g)| (edge, g)).collect();
        list.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        list.iter().take(most).map(|&(edge, _)| edge).collect()
    }
}

/// What is looked at.
struct Look<'a> {
    graph: &'a Graph,
    weights: &'a Weights,
    levels: &'a Levels,
    docs: Docs<'a>,
    unexplained: bool,
}

impl Look<'_> {
    fn sums(&self, docs: &[Doc]) -> Sums {
        let mut sums = Sums { importance: vec![0.0; self.graph.n_edges()], ..Sums::default() };
        let mut q = vec![0.0; self.graph.n_topics()];
        let mut node = Node::default();
        for doc in docs {
            let count = f64::from(doc.item.count);
            doc.topics.iter().zip(&doc.q).for_each(|(&topic, &p)| q[topic as usize] = f64::from(p));
            let mut shares = Vec::new();
            for token in self.docs.tokens(doc.item.doc_ix as usize) {
                let share =
                    self.node(&mut sums, &mut node, doc, &q, self.graph.n_topics() as u32 + token, count);
                shares.push((token, share as f32));
            }
            for &topic in doc.topics.iter().filter(|&&topic| q[topic as usize] >= Q_MIN) {
                self.node(&mut sums, &mut node, doc, &q, topic, count * q[topic as usize]);
            }
            if self.unexplained {
                sums.unexplained.push((doc.item.count, shares));
            }
            doc.topics.iter().for_each(|&topic| q[topic as usize] = 0.0);
        }
        sums
    }

    /// Adds one positive node that counts `v` times; returns the share of it that the leak explains.
    fn node(&self, sums: &mut Sums, node: &mut Node, doc: &Doc, q: &[f64], id: u32, v: f64) -> f64 {
        let (edges, parents) = (self.graph.edges_into(id as usize), self.graph.parents(id as usize));
        let leak = self.weights.leak[id as usize];
        node.w.clear();
        node.w.extend_from_slice(&self.weights.edge[edges.clone()]);
        node.q.clear();
        node.q.extend(parents.iter().map(|&parent| q[parent as usize]));
        let mu = node.share(leak);
        let importance = &mut sums.importance[edges];
        for (j, sum) in importance.iter_mut().enumerate() {
            *sum += v * node.q[j] * (node.w[j] + node.value(leak, j));
        }
        for (&topic, &p) in doc.topics.iter().zip(&doc.q) {
            let p = f64::from(p);
            if p >= Q_MIN && self.levels.allow(topic, id) && parents.binary_search(&topic).is_err() {
                *sums.candidates.entry((topic, id)).or_default() += v * p * (1.0 + slope_at(leak, mu / p));
            }
        }
        let explained: f64 = node.w.iter().zip(&node.q).map(|(w, q)| w * q).sum();
        leak / (leak + explained)
    }
}

/// One positive node: weights and q of its parents, and their best shares.
#[derive(Default)]
struct Node {
    w: Vec<f64>,
    q: Vec<f64>,
    r: Vec<f64>,
    g: Vec<f64>,
}

impl Node {
    /// The best r by Eq. 10; returns what the parents pay for a share.
    fn share(&mut self, leak: f64) -> f64 {
        let sum: f64 = self.w.iter().zip(&self.q).map(|(w, q)| w * q).sum();
        self.r.clear();
        self.r.extend(self.w.iter().zip(&self.q).map(|(w, q)| if sum > 0.0 { w * q / sum } else { 0.0 }));
        let mut mu = 0.0;
        for _ in 0..R_ITERATIONS {
            self.g.clear();
            for j in 0..self.w.len() {
                self.g.push(if self.r[j] > 0.0 {
                    self.q[j] * share_value(leak, self.w[j] / self.r[j])
                } else {
                    0.0
                });
            }
            mu = self.r.iter().zip(&self.g).map(|(r, g)| r * g).sum();
            if mu <= 0.0 || self.r.len() < 2 {
                break;
            }
            self.r.iter_mut().zip(&self.g).for_each(|(r, g)| *r *= g / mu);
        }
        mu
    }

    /// `a = r (f(u) - f(w0))` of a parent.
    fn value(&self, leak: f64, j: usize) -> f64 {
        let r = self.r[j];
        if r > 0.0 { r * (f(leak + (self.w[j] / r).min(X_MAX)) - f(leak)) } else { 0.0 }
    }
}

/// `F(x) - x F'(x)`: the slope of `r F(w / r)` in r.
fn share_value(leak: f64, x: f64) -> f64 {
    let x = x.min(X_MAX);
    (f(leak + x) - f(leak) - x * f_slope(leak + x)).max(0.0)
}

/// `F'(x)` where `F(x) - x F'(x) = value`; zero where no x is worth so much. By bisection of log x.
fn slope_at(leak: f64, value: f64) -> f64 {
    if value >= share_value(leak, X_MAX) {
        return 0.0;
    }
    let (mut low, mut high) = (leak.min(1e-6).ln() - 10.0, X_MAX.ln());
    for _ in 0..24 {
        let mid = 0.5 * (low + high);
        if share_value(leak, mid.exp()) < value { low = mid } else { high = mid }
    }
    f_slope(leak + low.exp())
}
