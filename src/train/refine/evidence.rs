//! What the documents say of every edge, and of edges that are not there: one E-step over the training documents, then, q held,
//! the best r of every positive node, by the r iterations of the CPU's E-step ([`Probe::hold_q`]): backends give q alone, and with r at
//! its best what the parents of a node pay for a share is one figure.
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
use crate::estep::cpu::Probe;
use crate::estep::{Bound, DocResults, Params};
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
/// Accelerated r iterations to the best r.
const R_ITERATIONS: u32 = 20;
/// Where x = w / r ends: exp(-x) is zero.
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
        let bound = trainer.options.estep.bound;
        let params = Params::derive(&graph, &weights, bound)?;
        let look =
            Look { graph: &graph, weights: &weights, params: &params, bound, levels, docs, unexplained };
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
        let (stats, _) = trainer.visit(true, Some(&mut take))?;
        evidence.add(&look, &waiting);
        let stats = stats.with_tail(&params);
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
    params: &'a Params,
    bound: Bound,
    levels: &'a Levels,
    docs: Docs<'a>,
    unexplained: bool,
}

impl Look<'_> {
    fn sums(&self, docs: &[Doc]) -> Sums {
        let mut sums = Sums { importance: vec![0.0; self.graph.n_edges()], ..Sums::default() };
        let mut q = vec![0.0; self.graph.n_topics()];
        let mut probe = Probe::empty(self.graph, self.bound, self.params);
        for doc in docs {
            doc.topics.iter().zip(&doc.q).for_each(|(&topic, &p)| q[topic as usize] = p);
            probe.load(&self.docs, doc.item.doc_ix);
            probe.hold_q(&q, R_ITERATIONS);
            for topic in probe.batch().topics(0) {
                if f64::from(probe.q()[topic]) >= Q_MIN {
                    self.node(&mut sums, &probe, doc, topic);
                }
            }
            let tokens = probe.batch().topics(0).end..probe.batch().n_nodes();
            let mut shares = Vec::new();
            for token in tokens {
                self.node(&mut sums, &probe, doc, token);
                if self.unexplained {
                    shares.push(self.unexplained(&probe, token));
                }
            }
            if self.unexplained {
                sums.unexplained.push((doc.item.count, shares));
            }
            doc.topics.iter().for_each(|&topic| q[topic as usize] = 0.0);
        }
        sums
    }

    /// Adds one positive node, given as a node of the batch.
    fn node(&self, sums: &mut Sums, probe: &Probe<'_>, doc: &Doc, node: usize) {
        let id = probe.batch().nodes[node].id;
        let v = f64::from(doc.item.count) * probe.q().get(node).map_or(1.0, |&q| f64::from(q));
        let importance = &mut sums.importance[self.graph.edges_into(id as usize)];
        for ((q, m), sum) in parents(probe, node).zip(importance) {
            *sum += v * q * m;
        }
        let (leak, price) = (self.weights.leak[id as usize], probe.price(node));
        let parents = self.graph.parents(id as usize);
        for (&topic, &p) in doc.topics.iter().zip(&doc.q) {
            let p = f64::from(p);
            if p >= Q_MIN && self.levels.allow(topic, id) && parents.binary_search(&topic).is_err() {
                *sums.candidates.entry((topic, id)).or_default() += v * p * (1.0 + slope_at(leak, price / p));
            }
        }
    }

    /// A token of the batch, and the share of it that the leak explains.
    fn unexplained(&self, probe: &Probe<'_>, node: usize) -> (u32, f32) {
        let id = probe.batch().nodes[node].id as usize;
        let (leak, weights) = (self.weights.leak[id], &self.weights.edge[self.graph.edges_into(id)]);
        let explained: f64 = parents(probe, node).zip(weights).map(|((q, _), w)| q * w).sum();
        ((id - self.graph.n_topics()) as u32, (leak / (leak + explained)) as f32)
    }
}

/// q and m of the parents of a node of the batch.
fn parents<'a>(probe: &'a Probe<'_>, node: usize) -> impl Iterator<Item = (f64, f64)> + 'a {
    let nodes = &probe.batch().nodes;
    let edges = nodes[node].edge_begin as usize..nodes[node + 1].edge_begin as usize;
    let q = |edge: usize| probe.q()[probe.batch().edges[edge].parent as usize];
    edges.map(move |edge| (f64::from(q(edge)), f64::from(probe.m()[edge])))
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
