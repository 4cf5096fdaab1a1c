//! Edges by what they gain: every topic, of whatever layer, is linked to the tokens that its documents hold more often than the topics
//! above it explain.
//!
//! Layers are clusterings of the documents at several resolutions. With `N` documents of a topic, `C` of which hold a token, `P = C / N`, and
//! `b` the probability that the token has there without the topic, an edge gains about
//!
//! ```text
//! C log(P / b) + (N - C) log((1 - P) / (1 - b))
//! ```
//!
//! nats of the training documents, where b is made of the token's leak and of the edges from topics of upper layers, by the share
//! of the topic's documents that each has. So broad topics explain what is common, narrow ones what is special, and a document
//! has a few of both. Upper topics are linked to the topics of the layer below, too, whose documents they have.

use super::layering;
use super::members::Sums;
use super::occurrences::Occurrences;
use super::options::Constraints;
use super::settle::{Candidate, NONE, Settled};
use super::{Clusters, Links};
use rayon::prelude::*;

/// The leak of a token explains this share of its frequency at the start.
const LEAK: f64 = 0.5;
/// A topic without its parents has this share of its frequency, before what no parent explains.
const ALONE: f64 = 0.1;
/// An edge between topics must gain so many nats over a leak of this share of the lower topic's frequency.
const LINK_GAIN: f64 = 2.0;
const LINK_LEAK: f64 = 0.3;
/// Probabilities at the start: none is certain.
const MOST: f64 = 0.97;
const MOST_LINKED: f64 = 0.95;
/// An upper topic that has less of a topic's documents does not count there.
const LEAST_SHARE: f32 = 0.01;

/// The edges of one topic to tokens: token, weight.
type Row = Vec<(u32, f32)>;

/// Edges and, for every layer from the lowest up, the leaks of its topics as probabilities.
pub(super) fn links(
    layers: &[Clusters],
    token_docs: &Occurrences,
    min_gain: f64,
    doc_edges: Option<usize>,
    constraints: &Constraints,
) -> (Vec<Links>, Vec<Vec<f64>>) {
    let n_docs = token_docs.n_docs().max(1) as f64;
    let frequency: Vec<f64> =
        (0..token_docs.n_items()).map(|token| token_docs.df(token) as f64 / n_docs).collect();
    let mut to_tokens: Vec<Vec<Vec<Candidate>>> = vec![Vec::new(); layers.len()];
    let mut upper: Vec<(usize, Vec<Row>)> = Vec::new();
    for at in (0..layers.len()).rev() {
        let shares: Vec<_> =
            upper.iter().map(|(above, _)| shares(&layers[at].settled, &layers[*above].settled)).collect();
        let candidates_of = |scratch: &mut Vec<f32>, topic: usize| {
            candidates(topic, &layers[at].settled, &upper, &shares, &frequency, min_gain, scratch)
        };
        let by_topic: Vec<Vec<(u32, Candidate)>> = (0..layers[at].settled.n_topics)
            .into_par_iter()
            .map_init(|| vec![0.0; frequency.len()], candidates_of)
            .collect();
        let weight = |&(token, candidate): &(u32, Candidate)| (token, -(-candidate.p).ln_1p());
        upper.push((at, by_topic.iter().map(|list| list.iter().map(weight).collect()).collect()));
        let mut by_token: Vec<Vec<Candidate>> = vec![Vec::new(); frequency.len()];
        for (token, candidate) in by_topic.into_iter().flatten() {
            by_token[token as usize].push(candidate);
        }
        by_token.par_iter_mut().for_each(|list| Candidate::best(list, usize::MAX));
        to_tokens[at] = by_token;
    }
    if let Some(most) = doc_edges {
        keep_to(&mut to_tokens, token_docs, most as f64);
    }
    let (mut links, mut leaks) = (Vec::new(), Vec::new());
    let no_cores = vec![Vec::new(); frequency.len()];
    for (at, Clusters { settled, own }) in layers.iter().enumerate() {
        // Upper topics have topics as children in any case.
        let own = if at == 0 { own } else { &no_cores };
        let layer = layering::layer(&to_tokens[at], own, settled, usize::MAX, constraints);
        links.push(Links { from: at, to: None, layer });
        let share: Vec<f64> = settled.n_docs.iter().map(|&n| f64::from(n) / n_docs).collect();
        let Some(Clusters { settled: above, .. }) = layers.get(at + 1) else {
            leaks.push(share);
            continue;
        };
        let candidates = topics_of_topics(above, settled, n_docs);
        let unexplained = |(topic, share): (usize, &f64)| {
            let explained: f64 = candidates[topic]
                .iter()
                .map(|c| f64::from(c.p) * f64::from(above.n_docs[c.topic as usize]))
                .sum();
            (share - explained / n_docs).max(0.0) + ALONE * share
        };
        leaks.push(share.iter().enumerate().map(unexplained).collect());
        let own = layering::first_children(&candidates, above.n_topics, usize::MAX);
        let layer = layering::layer(&candidates, &own, above, usize::MAX, &Constraints::default());
        links.push(Links { from: at + 1, to: Some(at), layer });
    }
    (links, leaks)
}

/// The tokens that a topic may have as children.
fn candidates(
    topic: usize,
    settled: &Settled,
    upper: &[(usize, Vec<Row>)],
    shares: &[Vec<Row>],
    frequency: &[f64],
    min_gain: f64,
    explained: &mut [f32],
) -> Vec<(u32, Candidate)> {
    for ((_, rows), shares) in upper.iter().zip(shares) {
        for &(above, share) in shares[topic].iter().filter(|(_, share)| *share >= LEAST_SHARE) {
            rows[above as usize].iter().for_each(|&(token, w)| explained[token as usize] += share * w);
        }
    }
    let n = f64::from(settled.n_docs[topic]);
    let edge = |&(token, count): &(u32, u32)| {
        let at = token as usize;
        let base = 1.0 - (1.0 - LEAK * frequency[at]) * f64::from(-explained[at]).exp();
        let (score, p) = (gain(f64::from(count), n, base), (f64::from(count) / n).min(MOST));
        let candidate = Candidate {
            topic: topic as u32,
            p: (1.0 - (1.0 - p) / (1.0 - base)) as f32,
            score: score as f32,
        };
        (p > base && score >= min_gain).then_some((token, candidate))
    };
    let found = settled.counts[topic].iter().filter_map(edge).collect();
    explained.fill(0.0);
    found
}

/// What an edge gains: `C log(P / b) + (N - C) log((1 - P) / (1 - b))`.
fn gain(count: f64, n: f64, base: f64) -> f64 {
    let p = count / n;
    let off = if count < n { (n - count) * ((1.0 - p) / (1.0 - base)).ln() } else { 0.0 };
    count * (p / base).ln() + off
}

/// For every topic of a layer, the topics of an upper one and the shares that they have of its documents.
fn shares(below: &Settled, above: &Settled) -> Vec<Row> {
    let mut docs_of: Vec<Vec<u32>> = vec![Vec::new(); below.n_topics];
    for (&low, &high) in below.doc_topics.iter().zip(&above.doc_topics) {
        if low != NONE && high != NONE {
            docs_of[low as usize].push(high);
        }
    }
    let row = |sums: &mut Sums, (topic, docs): (usize, &Vec<u32>)| {
        docs.iter().for_each(|&high| sums.add(high, 1.0 / below.n_docs[topic].max(1) as f32));
        let mut row = sums.take();
        row.sort_unstable_by_key(|&(high, _)| high);
        row
    };
    docs_of
        .par_iter()
        .enumerate()
        .map_init(|| Sums::new(above.n_topics), |sums, topic| row(sums, topic))
        .collect()
}

/// For every topic the topics above that it may have as parents.
fn topics_of_topics(above: &Settled, below: &Settled, n_docs: f64) -> Vec<Vec<Candidate>> {
    let shares = shares(below, above);
    let candidates = |(low, row): (usize, &Row)| {
        let n_low = f64::from(below.n_docs[low]);
        let mut list: Vec<Candidate> = row
            .iter()
            .filter_map(|&(topic, share)| {
                let (count, n) =
                    ((f64::from(share) * n_low).round(), f64::from(above.n_docs[topic as usize]));
                let base = LINK_LEAK * n_low / n_docs;
                let score = gain(count, n, base);
                let p = (count / n).min(MOST_LINKED) as f32;
                (count > base * n && score > LINK_GAIN).then_some(Candidate { topic, p, score: score as f32 })
            })
            .collect();
        Candidate::best(&mut list, usize::MAX);
        list
    };
    shares.par_iter().enumerate().map(candidates).collect()
}

/// Leaves the edges that gain most for what they cost: a token's edge costs every document of the token a step. `most` edges a document
/// are left in the mean.
fn keep_to(to_tokens: &mut [Vec<Vec<Candidate>>], token_docs: &Occurrences, most: f64) {
    let worth = |token: usize, candidate: &Candidate| candidate.score / token_docs.df(token).max(1) as f32;
    let mut edges: Vec<(f32, u32)> = Vec::new();
    for layer in to_tokens.iter() {
        for (token, list) in layer.iter().enumerate() {
            edges.extend(list.iter().map(|candidate| (worth(token, candidate), token as u32)));
        }
    }
    edges.par_sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut left = most * token_docs.n_docs() as f64;
    let beyond = edges.iter().find(|&&(_, token)| {
        left -= token_docs.df(token as usize) as f64;
        left < 0.0
    });
    let Some(&(least, _)) = beyond else { return };
    for layer in to_tokens {
        for (token, list) in layer.iter_mut().enumerate() {
            list.retain(|candidate| worth(token, candidate) > least);
        }
    }
}
