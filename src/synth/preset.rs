//! Random layered networks of the sizes of published data sets.
//!
//! The nodes of every layer lie on a ring; a node's parents lie near its own place on the ring. Tokens that
//! occur together then share ancestors, as in a learned graph, and a document's local model stays small.

use super::Sampler;
use crate::error::{Error, Result};
use crate::network::{Graph, Names, Network, Weights};
use crate::rng::{Stream, rng};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rustc_hash::FxHashSet;

/// A random network's shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Nodes per layer: tokens first, then topics upwards.
    pub layers: Vec<usize>,
    /// Edges besides leaks.
    pub n_edges: usize,
    /// Documents at full size.
    pub n_docs: usize,
    /// Active tokens per document, about.
    pub doc_tokens: f64,
    /// Mean weight of an edge into each layer but the top one.
    edge_means: Vec<f64>,
    /// Parents are drawn from this many times as many neighbours as there are parents; none: from all.
    spread: Option<usize>,
    /// Tokens per document that no topic explains, about.
    noise_tokens: f64,
}

impl Preset {
    /// The preset of a name.
    pub fn of(name: &str) -> Option<Self> {
        let preset = match name {
            "tiny" => Self {
                name: "tiny",
                layers: vec![60, 12, 4],
                n_edges: 160,
                n_docs: 2_000,
                doc_tokens: 9.0,
                edge_means: vec![0.7, 0.6],
                spread: Some(2),
                noise_tokens: 0.5,
            },
            "qmr" => Self {
                name: "qmr",
                layers: vec![4_075, 570],
                n_edges: 45_470,
                n_docs: 10_000,
                doc_tokens: 40.0,
                edge_means: vec![0.25],
                spread: None,
                noise_tokens: 4.0,
            },
            "dblp" => Self {
                name: "dblp",
                layers: vec![199_861, 37_500, 9_400, 2_643],
                n_edges: 1_268_551,
                n_docs: 430_213,
                doc_tokens: 60.0,
                edge_means: vec![0.25, 0.25, 0.2],
                spread: Some(3),
                noise_tokens: 2.0,
            },
            "yelp" => Self {
                name: "yelp",
                layers: vec![117_702, 94_000, 24_500, 7_298],
                n_edges: 960_419,
                n_docs: 483_448,
                doc_tokens: 100.0,
                edge_means: vec![0.35, 0.4, 0.4],
                spread: Some(3),
                noise_tokens: 3.0,
            },
            _ => return None,
        };
        Some(preset)
    }

    /// Names of all presets.
    pub const NAMES: [&str; 4] = ["tiny", "qmr", "dblp", "yelp"];

    fn n_topics(&self) -> usize {
        self.layers[1..].iter().sum()
    }

    /// Number of a layer's first node: tokens come after all topics, topics from the top layer down.
    fn first_node(&self, layer: usize) -> usize {
        if layer == 0 { self.n_topics() } else { self.layers[layer + 1..].iter().sum() }
    }
}

/// A random network of a preset's exact counts.
pub fn random_network(preset: &Preset, seed: u64) -> Result<Network> {
    let rng = &mut rng(seed, Stream::SynthNetwork);
    let (mut edges, mut edge_weights) = (Vec::with_capacity(preset.n_edges), Vec::new());
    let n_children: usize = preset.layers[..preset.layers.len() - 1].iter().sum();
    let mut degrees = in_degrees(n_children, preset.n_edges, rng).into_iter();
    for layer in 0..preset.layers.len() - 1 {
        let (n_nodes, n_parents) = (preset.layers[layer], preset.layers[layer + 1]);
        for node in 0..n_nodes {
            let child = (preset.first_node(layer) + node) as u32;
            let degree = degrees.next().unwrap_or(1).min(n_parents);
            for parent in near_parents(node * n_parents / n_nodes, n_parents, degree, preset.spread, rng) {
                edges.push(((preset.first_node(layer + 1) + parent) as u32, child));
                // Exponential around the mean, kept away from zero: a few strong edges, many weak ones.
                let weight = preset.edge_means[layer] * (0.1 - 0.9 * (-rng.random::<f64>()).ln_1p());
                edge_weights.push(weight.min(5.0));
            }
        }
    }
    let (n_topics, n_tokens) = (preset.n_topics(), preset.layers[0]);
    let number = |prefix: &str, n: usize| (0..n).map(|i| format!("{prefix}{i}")).collect();
    let names = Names { topics: number("t", n_topics), tokens: number("w", n_tokens) };
    let (graph, order) = Graph::build(n_topics, n_tokens, &edges, &|node| node.to_string())
        .map_err(|fault| Error::Usage(format!("preset {}: {}", preset.name, fault.message)))?;
    let edge = order.iter().map(|&at| edge_weights[at as usize]).collect();
    let leak = vec![preset.noise_tokens / n_tokens as f64; n_topics + n_tokens];
    let mut network = Network { graph, weights: Weights { leak, edge }, names, training: String::new() };
    calibrate(&mut network, preset, seed);
    network.weights.round_to_f32();
    Ok(network)
}

/// Sets the topics' leaks so that documents have about the preset's number of tokens: what topics cause grows
/// nearly in proportion to the top layer's leaks.
fn calibrate(network: &mut Network, preset: &Preset, seed: u64) {
    const PROBE_DOCS: u64 = 1_000;
    let (n_topics, n_top) = (preset.n_topics(), preset.layers[preset.layers.len() - 1]);
    let mut top_leak = 2.0 / n_top as f64;
    for _ in 0..4 {
        network.weights.leak[..n_topics].fill(0.1 / n_topics as f64);
        network.weights.leak[..n_top].fill(top_leak);
        let sampler = Sampler::new(network);
        let n_tokens: usize = (0..PROBE_DOCS).map(|doc| sampler.sample(!seed, doc).tokens.len()).sum();
        let caused = (n_tokens as f64 / PROBE_DOCS as f64 - preset.noise_tokens).max(0.1);
        top_leak *= (preset.doc_tokens - preset.noise_tokens) / caused;
    }
    network.weights.leak[..n_top].fill(top_leak);
}

/// Random in-degrees from 1 to about twice the mean that sum to `total`.
fn in_degrees(n: usize, total: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
    let most = (2 * total / n).saturating_sub(1).max(1);
    let mut degrees: Vec<usize> = (0..n).map(|_| rng.random_range(1..=most)).collect();
    let mut sum: usize = degrees.iter().sum();
    while sum != total {
        let degree = &mut degrees[rng.random_range(0..n)];
        if sum < total {
            *degree += 1;
            sum += 1;
        } else if *degree > 1 {
            *degree -= 1;
            sum -= 1;
        }
    }
    degrees
}

/// `degree` different parents near `centre` on a ring of `n`.
fn near_parents(
    centre: usize,
    n: usize,
    degree: usize,
    spread: Option<usize>,
    rng: &mut ChaCha8Rng,
) -> Vec<usize> {
    let window = spread.map_or(n, |spread| (degree * spread).max(4).min(n));
    let mut chosen = FxHashSet::default();
    let mut parents = Vec::with_capacity(degree);
    while parents.len() < degree {
        let parent = (centre + n - window / 2 + rng.random_range(0..window)) % n;
        if chosen.insert(parent) {
            parents.push(parent);
        }
    }
    parents
}
