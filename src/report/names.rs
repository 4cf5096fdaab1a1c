//! Names of topics from the words they switch on.

use super::top_words;
use crate::network::Network;
use rustc_hash::FxHashSet;

/// Words of a name; more where two topics would have the same.
const WORDS: usize = 2;
/// Words to choose from.
const MOST_WORDS: usize = 6;

/// Names the given topics after their most likely words; no two nodes get the same name.
pub fn name_topics(network: &mut Network, topics: &[u32]) {
    let named: FxHashSet<u32> = topics.iter().copied().collect();
    let others = (0..network.graph.n_nodes() as u32).filter(|node| !named.contains(node));
    let mut taken: FxHashSet<String> = others.map(|node| network.names.of(node).to_owned()).collect();
    for &topic in topics {
        let words = top_words(network, topic as usize, MOST_WORDS);
        let longer = (WORDS..=MOST_WORDS).map(|n| words[..n.min(words.len())].join(" "));
        let numbered =
            (1..).map(|n: u32| format!("{} {n}", words.first().map_or("empty", |word| word.as_str())));
        let free = longer.filter(|name| !name.is_empty()).chain(numbered).find(|name| !taken.contains(name));
        let name = free.unwrap_or_default();
        taken.insert(name.clone());
        network.names.topics[topic as usize] = name;
    }
}
