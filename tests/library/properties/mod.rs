//! What holds for every network, checked on random DAGs with skip edges.

#![allow(clippy::unwrap_used)]

mod ascent;
mod bounds;
mod em_step;
mod extremes;
mod fast_path;
mod finite_differences;
mod instructions;
mod order;
mod packing;
mod reduced;
mod search;
mod structured;
mod unknown;

use crate::common::*;
use noisyor::batch::{BLOCK_DOCS, Batch, Packer};
use noisyor::corpus::{Docs, Item};
use noisyor::estep::cpu::Probe;
use noisyor::estep::oracle::{Oracle, Point};
use noisyor::estep::{Bound, EStepOptions, Params, Start, Stats, StepSums, Temper};
use noisyor::network::{Graph, Network, Weights};
use noisyor::numeric;
use noisyor::train::{StepRule, Stepper};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed ^ 0x7e57)
}

fn f32s(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&v| v as f32).collect()
}

fn derive(network: &Network) -> Params {
    Params::derive(&network.graph, &network.weights, Bound::Tail).unwrap()
}

/// Alternations in f64, topic by topic: q of the topics inside, r of the nodes that can be on.
fn alternate_f64(oracle: &Oracle<'_>, inside: &[bool], point: &mut Point, n_alternations: usize) {
    for _ in 0..n_alternations {
        (0..inside.len()).filter(|&topic| inside[topic]).for_each(|topic| oracle.update_q(point, topic));
        oracle.positive_nodes(inside).into_iter().for_each(|node| oracle.update_r(point, node));
    }
}

/// A network with its nodes and edges in another order, and where each old one is now.
struct Reordered {
    network: Network,
    node: Vec<usize>,
    edge: Vec<usize>,
}

fn reorder(network: &Network, rng: &mut ChaCha8Rng) -> Reordered {
    let (graph, n_topics) = (&network.graph, network.graph.n_topics());
    let mut node: Vec<usize> = (0..graph.n_nodes()).collect();
    let (topics, tokens) = node.split_at_mut(n_topics);
    topics.shuffle(rng);
    tokens.shuffle(rng);
    let renamed = |(parent, child): (u32, u32)| (node[parent as usize] as u32, node[child as usize] as u32);
    let pairs: Vec<(u32, u32)> = graph.edges().map(renamed).collect();
    let mut edges: Vec<(u32, u32, f64)> =
        pairs.iter().zip(&network.weights.edge).map(|(&(parent, child), &w)| (parent, child, w)).collect();
    edges.shuffle(rng);
    let leak = moved(&network.weights.leak, &node);
    let network = network_of(n_topics, graph.n_tokens(), &edges, leak);
    let edge =
        pairs.iter().map(|pair| network.graph.edges().position(|edge| edge == *pair).unwrap()).collect();
    Reordered { network, node, edge }
}

/// `values[at]` at `to[at]`.
fn moved<T: Copy>(values: &[T], to: &[usize]) -> Vec<T> {
    let mut moved = values.to_vec();
    to.iter().zip(values).for_each(|(&to, &value)| moved[to] = value);
    moved
}

impl Reordered {
    fn tokens(&self, tokens: &[u32]) -> Vec<u32> {
        let n_topics = self.network.graph.n_topics();
        let mut tokens: Vec<u32> =
            tokens.iter().map(|&token| (self.node[n_topics + token as usize] - n_topics) as u32).collect();
        tokens.sort_unstable();
        tokens
    }

    fn point(&self, point: &Point) -> Point {
        let topic = &self.node[..point.q.len()];
        Point { q: moved(&point.q, topic), r: moved(&point.r, &self.edge) }
    }

    /// N, L and Q are the same.
    fn assert_same(&self, name: &str, old: [&[f64]; 3], new: [&[f64]; 3], tolerance: f64) {
        let to = [&*self.edge, &*self.node, &self.node[..old[2].len()]];
        for (kind, letter) in ["N", "L", "Q"].into_iter().enumerate() {
            for (at, &old) in old[kind].iter().enumerate() {
                assert_close(&format!("{name}: {letter} {at}"), new[kind][to[kind][at]], old, tolerance);
            }
        }
    }

    /// `new` is the point `old` in the new order, (q, r) within tolerances.
    fn assert_same_point(&self, name: &str, old: &Point, new: &Point, tolerance: (f64, f64)) {
        let old = self.point(old);
        old.q.iter().zip(&new.q).for_each(|(a, b)| assert_close(&format!("{name}: q"), *b, *a, tolerance.0));
        old.r.iter().zip(&new.r).for_each(|(a, b)| assert_close(&format!("{name}: r"), *b, *a, tolerance.1));
    }

    /// One update of r at a node and, for a topic, of q.
    fn assert_same_updates(&self, name: &str, old: &Oracle<'_>, new: &Oracle<'_>, point: &Point) {
        for node in old.positive_nodes(&old.local_topics()) {
            let (mut a, mut b) = (point.clone(), self.point(point));
            old.update_r(&mut a, node);
            new.update_r(&mut b, self.node[node]);
            if old.graph.is_topic(node) {
                old.update_q(&mut a, node);
                new.update_q(&mut b, self.node[node]);
            }
            self.assert_same_point(name, &a, &b, (F64, F64));
        }
    }
}

/// The fast path at a point of a document.
fn probe_at<'a>(network: &'a Network, tokens: &[u32], params: &'a Params, point: &Point) -> Probe<'a> {
    let (corpus, alignment) = corpus_of(network, [tokens.to_vec()]);
    let mut probe = Probe::new(&network.graph, &alignment.docs(&corpus), 0, Bound::Tail, params);
    probe.set(&f32s(&point.q), &f32s(&point.r));
    probe
}

fn assert_sums(name: &str, a: &Stats, b: &Stats, tolerance: f64) {
    assert_eq!((a.n_docs, &a.topic_docs), (b.n_docs, &b.topic_docs), "{name}");
    assert_close(&format!("{name}: bound"), b.elbo_sum, a.elbo_sum, F64_SUMS);
    let n_blocks = 1.0 + a.n_docs / BLOCK_DOCS as f64;
    let fixed = FIXED_SUMS * a.n_docs * n_blocks;
    for (kind, a, b, most) in
        [("N", &a.edge, &b.edge, MOST_N), ("L", &a.leak, &b.leak, MOST_L), ("Q", &a.topic_q, &b.topic_q, 1.0)]
    {
        for (at, (&a, &b)) in a.iter().zip(b).enumerate() {
            let allowed = tolerance * a.abs() + fixed * most;
            assert!((a - b).abs() <= allowed, "{name}: {kind} {at} is {a} or {b}");
        }
    }
}

fn add_stats(total: &mut Stats, part: &Stats) {
    total.add_totals(part);
    for (sum, terms) in [
        (&mut total.edge, &part.edge),
        (&mut total.leak, &part.leak),
        (&mut total.topic_q, &part.topic_q),
        (&mut total.topic_docs, &part.topic_docs),
    ] {
        sum.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
    }
}

/// Calls `update` again and again and sees that the bound never falls.
fn assert_ascends(
    what: &str,
    oracle: &Oracle<'_>,
    point: &mut Point,
    updates: impl Iterator<Item = usize>,
    mut update: impl FnMut(&mut Point, usize),
) {
    let mut before = oracle.elbo(point);
    for at in updates {
        update(point, at);
        let now = oracle.elbo(point);
        assert!(now >= before - F64_UPDATE, "{what} {at}: the bound falls from {before} to {now}");
        before = now;
    }
}

/// All topics of one colour from the same point.
fn update_colour(oracle: &Oracle<'_>, inside: &[bool], point: &mut Point, colour: usize) {
    let topics = |&topic: &usize| inside[topic] && oracle.graph.colour(topic) == colour;
    let held = point.clone();
    for topic in (0..inside.len()).filter(topics) {
        point.q[topic] = numeric::f64::sigmoid(oracle.log_odds(&held, topic));
    }
}

/// Documents held at points of the variational family.
struct Held {
    network: Network,
    points: Vec<(Vec<u32>, Point)>,
}

fn held(seed: u64, network: Network, docs: Vec<Vec<u32>>) -> Held {
    let rng = &mut rng(seed);
    let mut points = Vec::new();
    for tokens in docs {
        let oracle = oracle(&network, &tokens);
        let inside = oracle.local_topics();
        let mut point = random_point(&network, &inside, rng);
        alternate_f64(&oracle, &inside, &mut point, rng.random_range(0..3));
        points.push((tokens, point));
    }
    Held { network, points }
}

fn assert_same_docs(name: &str, order: &[usize], a: &Ran, b: &Ran) {
    for (at, &from) in order.iter().enumerate() {
        assert_eq!(a.elbo[from].to_bits(), b.elbo[at].to_bits(), "{name}: the bound of document {from}");
        assert_eq!(a.q[from], b.q[at], "{name}: q of document {from}");
    }
}
