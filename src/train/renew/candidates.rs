//! What a topic could be instead: tokens that documents suggest, and the weights that fit the documents which hold them.

use crate::network::{Graph, Weights};
use crate::train::trainer::MIN_NEW_LEAK;
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
    /// In order.
    tokens: Vec<u32>,
    /// Topics that are on, with q.
    pub(super) on: Vec<(u32, f32)>,
    pub(super) elbo: f64,
}

impl Doc {
    fn holds(&self, token: u32) -> bool {
        self.tokens.binary_search(&token).is_ok()
    }
}

impl Sample {
    pub(super) fn add(&mut self, count: u32, mut tokens: Vec<u32>, on: Vec<(u32, f32)>, elbo: f64) {
        tokens.sort_unstable();
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

    /// Fits a topic to the documents that hold most of some tokens. With P the frequency of a token in these and p in all others, a noisy-OR has `1 - P = (1 - p) exp(-w)` if the topic is independent of the rest.
    fn fit(tokens: &[u32], sample: &Sample, n_tokens: usize) -> Option<Self> {
        let (mut with, mut without) = ((0.0, vec![0.0; n_tokens]), (0.0, vec![0.0; n_tokens]));
        for doc in &sample.docs {
            let n_held = tokens.iter().filter(|token| doc.holds(**token)).count();
            let side = if n_held as f64 >= HELD * tokens.len() as f64 { &mut with } else { &mut without };
            side.0 += doc.count;
            doc.tokens.iter().for_each(|&token| side.1[token as usize] += doc.count);
        }
        if with.0 < DOCS || without.0 < DOCS {
            return None;
        }
        // Half a document more that lacks the token, so that none is certain.
        let absent = |side: &(f64, Vec<f64>), token: usize| (side.0 - side.1[token] + 0.5) / (side.0 + 1.0);
        let weight =
            |token| (absent(&without, token) / absent(&with, token)).ln().clamp(WEIGHTS.0, WEIGHTS.1);
        let leak = (without.0 / (with.0 + without.0)).ln().abs().max(MIN_NEW_LEAK);
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
            tokens = doc.tokens.iter().copied().filter(|token| other.holds(*token)).collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Stream, rng};

    /// Tokens 0 to 4 come with one cause, 5 to 9 with another, each with probability 0.8; both causes are on in 0.3 of the documents.
    fn sample() -> Sample {
        let mut rng = rng(3, Stream::Init);
        let mut sample = Sample::default();
        for _ in 0..4_000 {
            let on = [rng.random_bool(0.3), rng.random_bool(0.3)];
            let tokens = (0..10).filter(|token| on[token / 5] && rng.random_bool(0.8));
            let tokens: Vec<u32> = tokens.map(|token| token as u32).collect();
            let elbo = -(tokens.len() as f64);
            sample.add(1, tokens, Vec::new(), elbo);
        }
        sample
    }

    #[test]
    fn a_candidate_has_the_weights_of_the_cause_that_its_tokens_come_from() {
        let got = Candidate::fit(&[1, 2, 3], &sample(), 10).unwrap();
        // All three tokens are held by 0.8^3 of the documents in which the cause is on; the others dilute nothing but p.
        for token in [0, 4] {
            assert!((1.0..2.0).contains(&got.tokens[token]), "{:?}", got.tokens);
        }
        assert!(got.tokens[5..].iter().all(|&w| w < 0.1), "{:?}", got.tokens);
        assert!((0.1..0.4).contains(&got.leak), "{}", got.leak);
        assert!(Candidate::fit(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], &Sample::default(), 10).is_none());
    }
}
