//! What several tests share: golden files, random networks, and the tolerances, each with its reason.
#![allow(dead_code)]

use noisyor::corpus::{Alignment, Corpus, align};
use noisyor::network::{Graph, Names, Network, Weights, load_bytes};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use std::path::Path;

/// f64 against f64: only the order of summation differs.
pub const F64: f64 = 1e-9;
/// Bounds of the fast path, relative to 1 + |bound|: sums of about a hundred f32 terms, each good to 4e-7.
pub const F32_BOUND: f64 = 3e-6;
/// Log-odds of the fast path, relative to the size of the terms that are summed.
pub const F32_LOG_ODDS: f64 = 3e-6;
/// Gradient sums of the fast path, relative to 1 + |sum|: one exponential and one division each.
pub const F32_SUMS: f64 = 5e-6;
/// The peer clips q, r and w at 1e-5 (tests/golden/README.md).
pub const PEER: f64 = 2e-3;

pub fn assert_close(what: &str, got: f64, want: f64, tolerance: f64) {
    let error = (got - want).abs() / (1.0 + want.abs());
    assert!(
        error <= tolerance,
        "{what}: got {got}, want {want}, relative error {error:e} above {tolerance:e}"
    );
}

pub fn golden_file(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap()
}

/// A golden network, with the place of each of its edges in the golden file's list.
pub struct Golden {
    pub name: String,
    pub network: Network,
    pub place: Vec<usize>,
    pub value: Value,
}

pub fn golden_cases() -> Vec<Golden> {
    (0..15).map(|number| golden(&format!("case{number:02}"))).collect()
}

fn golden(name: &str) -> Golden {
    let value = golden_file(&format!("{name}.json"));
    let network = golden_network(&value["model"]);
    let listed: Vec<(u32, u32)> = value["model"]["edges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| (e[0].as_u64().unwrap() as u32, e[1].as_u64().unwrap() as u32))
        .collect();
    let place =
        network.graph.edges().map(|edge| listed.iter().position(|&other| other == edge).unwrap()).collect();
    Golden { name: name.to_owned(), network, place, value }
}

pub fn golden_network(model: &Value) -> Network {
    let path = Path::new("golden.json");
    load_bytes(path, model.to_string().as_bytes()).unwrap().into_model(path).unwrap()
}

impl Golden {
    /// Values listed by golden edge, in the network's edge order.
    pub fn by_edge(&self, list: &Value) -> Vec<f64> {
        let list = floats(list);
        self.place.iter().map(|&place| list[place]).collect()
    }

    pub fn docs(&self) -> &[Value] {
        self.value["docs"].as_array().unwrap()
    }
}

pub fn floats(list: &Value) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

pub fn tokens(list: &Value) -> Vec<u32> {
    list.as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as u32).collect()
}

/// A corpus of token numbers, aligned with a network.
pub fn corpus_of(network: &Network, docs: impl IntoIterator<Item = Vec<u32>>) -> (Corpus, Alignment) {
    let corpus = Corpus::from_tokens(docs);
    let alignment = align(&corpus, &network.names.tokens);
    (corpus, alignment)
}

/// A network of the given edges and weights, nodes named by number.
pub fn network_of(n_topics: usize, n_tokens: usize, edges: &[(u32, u32, f64)], leak: Vec<f64>) -> Network {
    let pairs: Vec<(u32, u32)> = edges.iter().map(|edge| (edge.0, edge.1)).collect();
    let (graph, order) = Graph::build(n_topics, n_tokens, &pairs, &|node| node.to_string()).unwrap();
    let number = |prefix: &str, n: usize| (0..n).map(|i| format!("{prefix}{i}")).collect();
    Network {
        weights: Weights { leak, edge: order.iter().map(|&at| edges[at as usize].2).collect() },
        names: Names { topics: number("t", graph.n_topics()), tokens: number("w", graph.n_tokens()) },
        graph,
        training: String::new(),
    }
}

/// A random DAG with skip edges: up to `n_topics` topics and `n_tokens` tokens, random densities and weights.
pub fn random_network(seed: u64, n_topics: usize, n_tokens: usize) -> Network {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let (n_topics, n_tokens) = (rng.random_range(1..=n_topics), rng.random_range(1..=n_tokens));
    let density = rng.random_range(0.15..0.9);
    // Leaks from 1e-5 to 0.5: both the easy and the hard range.
    let leak_scale = 10f64.powf(rng.random_range(-4.5..-0.5));
    let mut edges = Vec::new();
    for child in 1..n_topics + n_tokens {
        for parent in 0..child.min(n_topics) {
            if rng.random::<f64>() < density {
                edges.push((parent as u32, child as u32, 10f64.powf(rng.random_range(-1.5..0.7))));
            }
        }
    }
    let leak = (0..n_topics + n_tokens).map(|_| leak_scale * rng.random_range(0.3..3.0)).collect();
    network_of(n_topics, n_tokens, &edges, leak)
}

/// Random documents of a network, the empty one and the one with every token among them.
pub fn random_docs(network: &Network, seed: u64, n_docs: usize) -> Vec<Vec<u32>> {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed ^ 0xd0c5);
    let n_tokens = network.graph.n_tokens() as u32;
    let mut docs = vec![Vec::new(), (0..n_tokens).collect()];
    docs.extend((0..n_docs).map(|_| {
        let share: f64 = rng.random();
        (0..n_tokens).filter(|_| rng.random::<f64>() < share).collect()
    }));
    docs
}
