//! Topics found by their names and words.

use super::topics::{children, main_edges, probability};
use crate::network::Network;
use serde::Serialize;

/// A topic's tokens that are searched: its strongest ones.
const SEARCHED: usize = 20;

/// A topic that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundTopic {
    /// Its name.
    pub topic: String,
    /// Its number.
    pub number: usize,
    /// The topics above it from the root down, each the strongest parent of the next.
    pub path: Vec<String>,
    /// Probability that its strongest parent alone switches it on; for a root, that its leak does.
    pub p: f64,
    /// Its strongest tokens and those that match, with the probability that this topic alone switches each on.
    pub tokens: Vec<(String, f64)>,
    /// Whether the name matches.
    pub by_name: bool,
    /// The tokens that match.
    pub matched: Vec<String>,
}

/// The topics that have each of the words, capitals aside, in their name or in one of their 20 strongest tokens, where a word
/// may be the beginning of one; first those whose names match, then by how likely they switch on what matches.
pub fn search_topics(network: &Network, words: &[String], top: usize) -> Vec<FoundTopic> {
    let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    // Tokens are in many topics: each is compared once.
    let matches: Vec<Vec<bool>> =
        network.names.tokens.iter().map(|token| matches_of(token, &words)).collect();
    let main_edge = main_edges(network);
    let find = |topic: usize| {
        let in_name = matches_of(&network.names.topics[topic], &words);
        let (_, tokens) = children(network, topic);
        let first_token = network.graph.n_topics();
        let of_token = |token: u32| &matches[token as usize - first_token];
        let searched = &tokens[..tokens.len().min(SEARCHED)];
        let has = |word: usize| in_name[word] || searched.iter().any(|&(_, token, _)| of_token(token)[word]);
        if !(0..words.len()).all(has) {
            return None;
        }
        let is_match = |token: u32| of_token(token).contains(&true);
        let kept = searched.iter().enumerate().filter(|(at, token)| *at < top || is_match(token.1));
        let name = |node: u32| network.names.of(node).to_owned();
        Some(FoundTopic {
            topic: name(topic as u32),
            number: topic,
            path: path_to(network, &main_edge, topic).into_iter().map(name).collect(),
            p: probability(
                main_edge[topic].map_or(network.weights.leak[topic], |edge| network.weights.edge[edge]),
            ),
            tokens: kept.map(|(_, &(weight, token, _))| (name(token), probability(weight))).collect(),
            by_name: in_name.contains(&true),
            matched: searched.iter().filter(|token| is_match(token.1)).map(|token| name(token.1)).collect(),
        })
    };
    let mut found: Vec<FoundTopic> = (0..network.graph.n_topics()).filter_map(find).collect();
    let strength = |topic: &FoundTopic| {
        let matched = topic.tokens.iter().filter(|(token, _)| topic.matched.contains(token));
        matched.map(|(_, p)| p).sum::<f64>()
    };
    found.sort_by(|a, b| {
        b.by_name.cmp(&a.by_name).then(strength(b).total_cmp(&strength(a))).then(a.number.cmp(&b.number))
    });
    found
}

/// Which of the words, in lower case, are in a name.
fn matches_of(name: &str, words: &[String]) -> Vec<bool> {
    let name = name.to_lowercase();
    words.iter().map(|word| has_word(&name, word)).collect()
}

/// Whether a word, or one that begins with it, is in a name. Where words are not parted, as in Chinese, any place will do.
fn has_word(lower_name: &str, lower_word: &str) -> bool {
    let begins = |at: usize| !lower_name[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
    lower_name.match_indices(lower_word).any(|(at, _)| begins(at))
}

/// The strongest parents above a topic, root first.
fn path_to(network: &Network, main_edge: &[Option<usize>], topic: usize) -> Vec<u32> {
    let parent_of = |&topic: &u32| main_edge[topic as usize].map(|edge| network.graph.edge_parents()[edge]);
    let mut path: Vec<u32> = std::iter::successors(parent_of(&(topic as u32)), parent_of).collect();
    path.reverse();
    path
}
