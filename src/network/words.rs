//! The words of a topic: those it switches on, by itself or through topics below.

use super::Network;
use rustc_hash::FxHashMap;

/// Topics below topics that are followed at most: a chain could be as long as there are topics.
pub const MAX_DEPTH: usize = 64;

/// The names of [`top_tokens`].
pub fn top_words(network: &Network, topic: usize, top: usize) -> Vec<String> {
    let tokens = top_tokens(network, topic, top).into_iter();
    tokens.map(|(token, _)| network.names.of(token).to_owned()).collect()
}

/// The tokens, as nodes, that a topic is most likely to switch on by itself or through topics below, each with the probability that
/// it does, most likely first.
pub fn top_tokens(network: &Network, topic: usize, top: usize) -> Vec<(u32, f64)> {
    let graph = &network.graph;
    // Weak paths are left out: they cannot lead to strong words, and there are too many.
    const WIDTH: usize = 64;
    let mut level: Vec<(u32, f64)> = vec![(topic as u32, 1.0)];
    let mut words: FxHashMap<u32, f64> = FxHashMap::default();
    for _ in 0..MAX_DEPTH {
        let mut below: FxHashMap<u32, f64> = FxHashMap::default();
        for (topic, on) in level {
            for (&child, &edge) in
                graph.children(topic as usize).iter().zip(graph.child_edges(topic as usize))
            {
                let p = on * -(-network.weights.edge[edge as usize]).exp_m1();
                let list = if graph.is_topic(child as usize) { &mut below } else { &mut words };
                let sum = list.entry(child).or_default();
                *sum = 1.0 - (1.0 - *sum) * (1.0 - p);
            }
        }
        level = strongest(below, WIDTH);
    }
    strongest(words, top)
}

fn strongest(nodes: FxHashMap<u32, f64>, most: usize) -> Vec<(u32, f64)> {
    let mut nodes: Vec<(u32, f64)> = nodes.into_iter().collect();
    nodes.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    nodes.truncate(most);
    nodes
}
