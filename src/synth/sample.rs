//! Sampling documents from a network.
//!
//! A noisy-OR node is on when a Poisson count with rate `w0 + sum w x` is at least one. So the leaks are one
//! Poisson process over all nodes laid end to end, each node as long as its leak, and every topic that is on
//! is another over its children: a document costs what is on in it, not the size of the network.

use crate::network::{Graph, Network};
use crate::rng::{Stream, rng};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Samples documents of one network.
#[derive(Debug)]
pub struct Sampler<'a> {
    graph: &'a Graph,
    /// Sums of the leaks up to and including each node.
    leak_ends: Vec<f64>,
    /// Sums of the weights up to and including each child, topic by topic.
    child_ends: Vec<Vec<f64>>,
    /// Place of each topic in the order in which parents come first.
    rank: Vec<u32>,
}

/// A sampled document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sampled {
    /// Active tokens, ascending.
    pub tokens: Vec<u32>,
    /// Active topics, ascending.
    pub topics: Vec<u32>,
}

impl<'a> Sampler<'a> {
    /// Prepares a network.
    pub fn new(network: &'a Network) -> Self {
        let graph = &network.graph;
        let children =
            |topic: usize| graph.child_edges(topic).iter().map(|&e| network.weights.edge[e as usize]);
        let mut rank = vec![0; graph.n_topics()];
        for (at, &topic) in graph.topic_order().iter().enumerate() {
            rank[topic as usize] = at as u32;
        }
        Self {
            graph,
            leak_ends: running_sums(network.weights.leak.iter().copied()),
            child_ends: (0..graph.n_topics()).map(|topic| running_sums(children(topic))).collect(),
            rank,
        }
    }

    /// Document number `doc_ix` of a seed: always the same one.
    pub fn sample(&self, seed: u64, doc_ix: u64) -> Sampled {
        let rng = &mut rng(seed, Stream::SynthDocument(doc_ix));
        let n_topics = self.graph.n_topics() as u32;
        let mut tokens = Vec::new();
        // Topics still to be played, parents first; a topic may stand there more than once.
        let mut waiting = BinaryHeap::new();
        let mut switch_on = |node: u32, waiting: &mut BinaryHeap<_>| match node.checked_sub(n_topics) {
            Some(token) => tokens.push(token),
            None => waiting.push(Reverse((self.rank[node as usize], node))),
        };
        poisson_events(&self.leak_ends, rng, |at| switch_on(at as u32, &mut waiting));
        let mut topics = Vec::new();
        while let Some(Reverse((_, topic))) = waiting.pop() {
            if topics.last() != Some(&topic) {
                topics.push(topic);
                let children = self.graph.children(topic as usize);
                poisson_events(&self.child_ends[topic as usize], rng, |at| {
                    switch_on(children[at], &mut waiting)
                });
            }
        }
        tokens.sort_unstable();
        tokens.dedup();
        topics.sort_unstable();
        Sampled { tokens, topics }
    }
}

/// Tokens that nobody looked at in document `doc_ix` of a seed, ascending: each with probability `share`.
pub fn unknown_tokens(share: f64, n_tokens: usize, seed: u64, doc_ix: u64) -> Vec<u32> {
    if share <= 0.0 {
        return Vec::new();
    }
    let rng = &mut rng(seed, Stream::SynthUnknown(doc_ix));
    (0..n_tokens as u32).filter(|_| rng.random::<f64>() < share).collect()
}

/// More than this changes nothing: exp(-40) is below the resolution of the random numbers. It keeps the number of
/// events in hand, whatever the weights.
const CERTAIN: f64 = 40.0;

fn running_sums(values: impl Iterator<Item = f64>) -> Vec<f64> {
    values
        .scan(0.0, |sum, value| {
            *sum += value.min(CERTAIN);
            Some(*sum)
        })
        .collect()
}

/// Events of a unit-rate Poisson process on `[0, ends.last())`; `f` gets the interval each falls into.
fn poisson_events(ends: &[f64], rng: &mut ChaCha8Rng, mut f: impl FnMut(usize)) {
    let end = ends.last().copied().unwrap_or(0.0);
    let mut at = 0.0;
    loop {
        at -= (-rng.random::<f64>()).ln_1p();
        if at >= end {
            return;
        }
        f(ends.partition_point(|&interval_end| interval_end <= at));
    }
}
