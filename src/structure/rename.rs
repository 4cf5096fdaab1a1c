//! Names of topics of a network from the words they switch on, after training.

use super::settle::telling;
use crate::network::{Network, token_marginals, top_tokens, top_words};
use rustc_hash::FxHashSet;

/// Words of a name; more where two topics would have the same.
const WORDS: usize = 2;
/// Words to choose from.
const MOST_WORDS: usize = 6;
/// Words of a topic that its name may be made of and still hold.
const KEPT_WORDS: usize = 10;

/// Names the given topics after their most likely words; no two nodes get the same name.
pub fn name_topics(network: &mut Network, topics: &[u32]) {
    name_by(network, topics, &|network, topic| top_words(network, topic, MOST_WORDS));
}

/// The same after their most telling words: where every topic is linked to every word, the most likely ones are those that are likely
/// everywhere.
pub fn name_topics_by_telling(network: &mut Network, topics: &[u32]) {
    let base = token_marginals(network);
    name_by(network, topics, &|network, topic| telling_words(network, &base, topic, MOST_WORDS));
}

/// The topics that training has left without the words they are called by: no word of the name is among their most telling ones.
pub fn stale_names(network: &Network) -> Vec<u32> {
    let base = token_marginals(network);
    let is_stale = |&topic: &u32| {
        let name = network.names.of(topic);
        let words = telling_words(network, &base, topic as usize, KEPT_WORDS);
        !words.is_empty() && !words.iter().any(|word| name.contains(word.as_str()))
    };
    (0..network.graph.n_topics() as u32).filter(is_stale).collect()
}

/// The words of a topic that tell most, by `P log(P / p)` with P the probability that the topic switches the word on and p that it is on
/// at all (`base`).
fn telling_words(network: &Network, base: &[f64], topic: usize, most: usize) -> Vec<String> {
    let n_topics = network.graph.n_topics();
    let score = |(token, p): (u32, f64)| (telling(p, base[token as usize - n_topics]), token);
    let all = top_tokens(network, topic, usize::MAX).into_iter();
    let mut scored: Vec<(f64, u32)> = all.map(score).filter(|(score, _)| *score > 0.0).collect();
    scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.iter().take(most).map(|&(_, token)| network.names.of(token).to_owned()).collect()
}

fn name_by(network: &mut Network, topics: &[u32], words_of: &dyn Fn(&Network, usize) -> Vec<String>) {
    let named: FxHashSet<u32> = topics.iter().copied().collect();
    let others = (0..network.graph.n_nodes() as u32).filter(|node| !named.contains(node));
    let mut taken: FxHashSet<String> = others.map(|node| network.names.of(node).to_owned()).collect();
    for &topic in topics {
        let words = words_of(network, topic as usize);
        let longer = (WORDS..=MOST_WORDS).map(|n| words[..n.min(words.len())].join(" "));
        let numbered =
            (1..).map(|n: u32| format!("{} {n}", words.first().map_or("empty", |word| word.as_str())));
        let free = longer.filter(|name| !name.is_empty()).chain(numbered).find(|name| !taken.contains(name));
        let name = free.unwrap_or_default();
        taken.insert(name.clone());
        network.names.topics[topic as usize] = name;
    }
}
