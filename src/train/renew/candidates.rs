//! What a topic could be instead: tokens that documents suggest, and the weights that fit the documents which hold them.

use crate::network::{Graph, Weights};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Documents that a partner is looked for among.
const PARTNERS: usize = 20;
/// Tokens that suggest a topic, at least.
const TOKENS: usize = 3;
/// A document holds a candidate if it has this share of its tokens.
const HELD: f64 = 0.7;
/// Documents that hold it, at least.
const DOCS: f64 = 5.0;
/// Weights of a candidate. EM multiplies, so none is at the floor.
const WEIGHTS: (f64, f64) = (0.01, 4.0);
/// Leaks are at least this.
const MIN_LEAK: f64 = 1e-3;

/// Documents with what the E-step found.
#[derive(Debug, Default)]
pub(super) struct Sample {
    docs: Vec<Doc>,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Doc {
    /// How many documents it stands for.
    count: f64,
    tokens: Vec<u32>,
    /// Topics that are on, with q.
    pub(super) on: Vec<(u32, f32)>,
    pub(super) elbo: f64,
}

impl Sample {
    pub(super) fn add(&mut self, count: u32, tokens: Vec<u32>, on: Vec<(u32, f32)>, elbo: f64) {
        self.docs.push(Doc { count: f64::from(count), tokens, on, elbo });
    }

    pub(super) fn docs(&self) -> impl Iterator<Item = &Doc> {
        self.docs.iter()
    }
}

/// A leak and the weights of all tokens.
#[derive(Debug)]
pub(super) struct Candidate {
    leak: f64,
    tokens: Vec<f64>,
}

/// Whether a topic has tokens below it.
pub(super) fn has_tokens(graph: &Graph, topic: u32) -> bool {
    graph.children(topic as usize).iter().any(|&child| !graph.is_topic(child as usize))
}

impl Candidate {
    /// The weights with a topic replaced; edges to other topics and from them stay.
    pub(super) fn in_place_of(&self, topic: u32, graph: &Graph, weights: &Weights) -> Weights {
        let mut weights = weights.clone();
        weights.leak[topic as usize] = self.leak;
        let topic = topic as usize;
        for (&edge, &child) in graph.child_edges(topic).iter().zip(graph.children(topic)) {
            if let Some(token) = (child as usize).checked_sub(graph.n_topics()) {
                weights.edge[edge as usize] = self.tokens[token];
            }
        }
        weights.round_to_f32();
        weights
    }

    /// Fits a topic to the documents that hold most of some tokens (in order). With P the frequency of a token in these and p in all others,
    /// a noisy-OR has `1 - P = (1 - p) exp(-w)` if the topic is independent of the rest.
    fn fit(tokens: &[u32], sample: &Sample, n_tokens: usize) -> Option<Self> {
        let (mut with, mut without) = ((0.0, vec![0.0; n_tokens]), (0.0, vec![0.0; n_tokens]));
        for doc in &sample.docs {
            let n_held = tokens.iter().filter(|token| doc.tokens.contains(token)).count();
            let side = if n_held as f64 >= super::tune("T_HELD", HELD) * tokens.len() as f64 {
                &mut with
            } else {
                &mut without
            };
            side.0 += doc.count;
            doc.tokens.iter().for_each(|&token| side.1[token as usize] += doc.count);
        }
        if with.0 < DOCS || without.0 < DOCS {
            return None;
        }
        // Half a document more that lacks the token, so that none is certain.
        let absent = |side: &(f64, Vec<f64>), token: usize| (side.0 - side.1[token] + 0.5) / (side.0 + 1.0);
        let weight = |token| {
            (absent(&without, token) / absent(&with, token))
                .ln()
                .clamp(super::tune("T_WMIN", WEIGHTS.0), WEIGHTS.1)
        };
        let leak = (without.0 / (with.0 + without.0)).ln().abs().max(MIN_LEAK);
        Some(Self { leak, tokens: (0..n_tokens).map(weight).collect() })
    }
}

/// Draws candidates, from badly explained documents more often than from others.
pub(super) fn draw(
    graph: &Graph,
    weights: &Weights,
    sample: &Sample,
    most: usize,
    rng: &mut ChaCha8Rng,
) -> Vec<Candidate> {
    let docs = &sample.docs;
    let cumulated: Vec<f64> = docs
        .iter()
        .scan(0.0, |sum, doc| {
            *sum += (-doc.elbo).max(0.0);
            Some(*sum)
        })
        .collect();
    let all = cumulated.last().copied().unwrap_or(0.0);
    if all <= 0.0 {
        return Vec::new();
    }
    let mut candidates = Vec::new();
    for at in 0..most {
        let point = rng.random_range(0.0..all);
        let doc = &docs[cumulated.partition_point(|&sum| sum <= point).min(docs.len() - 1)];
        // In turn: what no topic explains, what the document uses of one of its topics, what it shares with others.
        let mut tokens = match at % 3 {
            0 => explained_by(None, graph, weights, doc),
            1 if !doc.on.is_empty() => {
                let topic = doc.on[rng.random_range(0..doc.on.len())].0;
                explained_by(Some(topic), graph, weights, doc)
            }
            _ => Vec::new(),
        };
        for _ in 0..PARTNERS {
            if tokens.len() >= TOKENS {
                break;
            }
            let other = &docs[rng.random_range(0..docs.len())];
            tokens = doc.tokens.iter().copied().filter(|token| other.tokens.contains(token)).collect();
        }
        if tokens.len() >= TOKENS {
            candidates.extend(Candidate::fit(&tokens, sample, graph.n_tokens()));
        }
    }
    candidates
}

/// The tokens of a document that a topic, or else the leak, explains more than all others do together.
fn explained_by(topic: Option<u32>, graph: &Graph, weights: &Weights, doc: &Doc) -> Vec<u32> {
    let q = |topic: u32| doc.on.iter().find(|on| on.0 == topic).map_or(0.0, |on| f64::from(on.1));
    let is_explained = |&token: &u32| {
        let node = graph.n_topics() + token as usize;
        let (mut by_it, mut by_others) = (0.0, 0.0);
        let parents = graph.parents(node).iter().zip(&weights.edge[graph.edges_into(node)]);
        let shares = parents.map(|(&parent, w)| (Some(parent), w * q(parent)));
        for (explanation, share) in shares.chain([(None, weights.leak[node])]) {
            *(if explanation == topic { &mut by_it } else { &mut by_others }) += share;
        }
        by_it > by_others
    };
    doc.tokens.iter().copied().filter(is_explained).collect()
}
