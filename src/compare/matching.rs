//! Topics of two models matched by the words they switch on.
//!
//! A topic is the vector of the probabilities that it switches on its strongest words, itself or through topics below; two topics
//! are as similar as the cosine of their vectors. Pairs are taken one by one, the most similar first, each topic once. Pairs are
//! only looked for among topics that have a strong word in common, found by an index from words to topics, so that many topics take
//! no longer than their words.

use crate::error::Result;
use crate::monitor::Monitor;
use crate::network::{Network, top_tokens};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::sync::atomic::Ordering;

/// Words of a topic that count.
const WORDS: usize = 64;
/// Of these, words by which similar topics are looked for.
const INDEXED: usize = 24;
/// Topics of a word that are looked at, those for which it counts most: a word that is in all topics tells none apart.
const PER_WORD: usize = 256;
/// Topics that one is compared with in full, those that have most in common with it by the index.
const CANDIDATES: usize = 32;

/// From this similarity on two topics count as the same.
pub const SAME: f64 = 0.5;

/// Two topics that are the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Matched {
    /// The topic of A.
    pub a: u32,
    /// The topic of B.
    pub b: u32,
    /// Cosine of their words, from [`SAME`] to 1.
    pub similarity: f64,
}

/// Which topics of two models are the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Matching {
    /// Topics that are, the most similar first.
    pub pairs: Vec<Matched>,
    /// Topics of A that no topic of B is like, or only one that is more like another.
    pub only_a: Vec<u32>,
    /// Topics of B.
    pub only_b: Vec<u32>,
}

/// A topic's words, by ascending number: a vector of length 1, or nothing.
type Words = Vec<(u32, f64)>;

/// Matches the topics of two models, whose tokens are the same where their names are. Counts topics as documents done: those of
/// either model when their words are known, those of A again when they are compared.
pub fn match_topics(a: &Network, b: &Network, monitor: &Monitor) -> Result<Matching> {
    // Tokens of B that A does not have get numbers behind those of A.
    let number: FxHashMap<&str, u32> =
        a.names.tokens.iter().enumerate().map(|(at, name)| (name.as_str(), at as u32)).collect();
    let n_tokens = a.graph.n_tokens() as u32;
    let of_a: Vec<u32> = (0..n_tokens).collect();
    let of_b: Vec<u32> = (0u32..)
        .zip(&b.names.tokens)
        .map(|(at, name)| number.get(name.as_str()).copied().unwrap_or(n_tokens.saturating_add(at)))
        .collect();
    let (words_a, words_b) = (all_words(a, &of_a, monitor)?, all_words(b, &of_b, monitor)?);
    let index = Index::new(&words_b);
    let similar = |(topic, words): (usize, &Words)| -> Result<Vec<Matched>> {
        monitor.go_on()?;
        let pair = |b: u32| Matched { a: topic as u32, b, similarity: cosine(words, &words_b[b as usize]) };
        let candidates = index.candidates(words).into_iter();
        let pairs = candidates.map(pair).filter(|pair| pair.similarity >= SAME).collect();
        monitor.docs_done.fetch_add(1, Ordering::Relaxed);
        Ok(pairs)
    };
    let found: Vec<Vec<Matched>> = words_a.par_iter().enumerate().map(similar).collect::<Result<_>>()?;
    let mut found: Vec<Matched> = found.concat();
    found.sort_unstable_by(|x, y| y.similarity.total_cmp(&x.similarity).then((x.a, x.b).cmp(&(y.a, y.b))));
    let (mut taken_a, mut taken_b) = (vec![false; words_a.len()], vec![false; words_b.len()]);
    found.retain(|pair| {
        let free = !taken_a[pair.a as usize] && !taken_b[pair.b as usize];
        if free {
            (taken_a[pair.a as usize], taken_b[pair.b as usize]) = (true, true);
        }
        free
    });
    let left =
        |taken: &[bool]| (0u32..).zip(taken).filter(|(_, taken)| !**taken).map(|(topic, _)| topic).collect();
    Ok(Matching { pairs: found, only_a: left(&taken_a), only_b: left(&taken_b) })
}

/// The words of every topic; `number` gives those of a token.
fn all_words(network: &Network, number: &[u32], monitor: &Monitor) -> Result<Vec<Words>> {
    let n_topics = network.graph.n_topics();
    let of_topic = |topic: usize| {
        monitor.go_on()?;
        let tokens = top_tokens(network, topic, WORDS);
        let length = tokens.iter().map(|(_, p)| p * p).sum::<f64>().sqrt();
        let mut words: Words =
            tokens.into_iter().map(|(token, p)| (number[token as usize - n_topics], p / length)).collect();
        words.retain(|(_, p)| *p > 0.0);
        words.sort_unstable_by_key(|word| word.0);
        monitor.docs_done.fetch_add(1, Ordering::Relaxed);
        Ok(words)
    };
    (0..n_topics).into_par_iter().map(of_topic).collect()
}

fn cosine(a: &Words, b: &Words) -> f64 {
    let (mut sum, mut at) = (0.0, 0);
    for &(word, p) in a {
        while at < b.len() && b[at].0 < word {
            at += 1;
        }
        if at < b.len() && b[at].0 == word {
            sum += p * b[at].1;
        }
    }
    // Of the same words it is 1 but for rounding.
    f64::min(sum, 1.0)
}

/// The strongest of a topic's words.
fn strongest(words: &Words) -> Words {
    let mut words = words.clone();
    words.sort_unstable_by(|x, y| y.1.total_cmp(&x.1).then(x.0.cmp(&y.0)));
    words.truncate(INDEXED);
    words
}

/// Topics by their strongest words.
struct Index(FxHashMap<u32, Vec<(u32, f64)>>);

impl Index {
    fn new(topics: &[Words]) -> Self {
        let mut index: FxHashMap<u32, Vec<(u32, f64)>> = FxHashMap::default();
        for (topic, words) in (0u32..).zip(topics) {
            strongest(words).iter().for_each(|&(word, p)| index.entry(word).or_default().push((topic, p)));
        }
        index.par_iter_mut().for_each(|(_, topics)| {
            topics.sort_unstable_by(|x, y| y.1.total_cmp(&x.1).then(x.0.cmp(&y.0)));
            topics.truncate(PER_WORD);
        });
        Self(index)
    }

    /// The topics that have most in common with these words.
    fn candidates(&self, words: &Words) -> Vec<u32> {
        let mut common: FxHashMap<u32, f64> = FxHashMap::default();
        for (word, p) in strongest(words) {
            for &(topic, q) in self.0.get(&word).map_or(&[][..], Vec::as_slice) {
                *common.entry(topic).or_default() += p * q;
            }
        }
        let mut common: Vec<(u32, f64)> = common.into_iter().collect();
        common.sort_unstable_by(|x, y| y.1.total_cmp(&x.1).then(x.0.cmp(&y.0)));
        common.truncate(CANDIDATES);
        common.into_iter().map(|(topic, _)| topic).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Names, load_bytes};
    use crate::rng::{Stream, rng};
    use rand::RngExt;
    use rand::seq::SliceRandom;

    /// Topics of ten random words each.
    fn random(n_topics: usize, n_words: usize, seed: u64) -> Network {
        let mut rng = rng(seed, Stream::Init);
        let mut lines = String::new();
        for topic in 0..n_topics {
            lines += &format!("\tt{topic}\t0.1\n");
            let mut words: Vec<usize> = (0..n_words).collect();
            let (words, _) = words.partial_shuffle(&mut rng, 10);
            for word in words {
                lines += &format!("t{topic}\tw{word}\t{}\n", rng.random_range(0.1..3.0));
            }
        }
        (0..n_words).for_each(|word| lines += &format!("\tw{word}\t0.01\n"));
        load_bytes("graph.tsv".as_ref(), lines.as_bytes()).unwrap().into_model("graph.tsv".as_ref()).unwrap()
    }

    #[test]
    fn a_model_is_itself_in_any_order() {
        let a = random(300, 200, 1);
        let mut order: Vec<u32> = (0..300).collect();
        order.shuffle(&mut rng(2, Stream::Init));
        let place = |node: u32| order.iter().position(|&old| old == node).map_or(node, |at| at as u32);
        let edges: Vec<(u32, u32)> = a.graph.edges().map(|(parent, child)| (place(parent), child)).collect();
        let (graph, from) = crate::network::Graph::build(300, 200, &edges, &|node| node.to_string()).unwrap();
        let mut weights = a.weights.clone();
        weights.edge = from.iter().map(|&edge| a.weights.edge[edge as usize]).collect();
        let names = Names { topics: (0..300).map(|at| format!("b{at}")).collect(), ..a.names.clone() };
        let b = Network { graph, weights, names, training: String::new() };
        let matching = match_topics(&a, &b, &Monitor::default()).unwrap();
        assert_eq!(matching.pairs.len(), 300);
        assert!(matching.only_a.is_empty() && matching.only_b.is_empty());
        for pair in &matching.pairs {
            assert_eq!(order[pair.b as usize], pair.a);
            assert!(pair.similarity > 1.0 - 1e-12);
        }
    }

    #[test]
    fn each_topic_is_matched_once_and_the_most_similar_first() {
        let (a, b) = (random(60, 30, 1), random(80, 30, 2));
        let matching = match_topics(&a, &b, &Monitor::default()).unwrap();
        let n = matching.pairs.len();
        assert!(n > 10, "ten of thirty words are often alike: {n}");
        assert_eq!((n + matching.only_a.len(), n + matching.only_b.len()), (60, 80));
        assert!(matching.pairs.is_sorted_by(|x, y| x.similarity >= y.similarity));
        assert!(matching.pairs.iter().all(|pair| (SAME..=1.0).contains(&pair.similarity)));
        let distinct = |mut topics: Vec<u32>| {
            topics.sort_unstable();
            topics.dedup();
            topics.len()
        };
        assert_eq!(distinct(matching.pairs.iter().map(|pair| pair.a).collect()), n);
        assert_eq!(distinct(matching.pairs.iter().map(|pair| pair.b).collect()), n);
    }
}
