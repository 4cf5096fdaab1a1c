//! The hierarchy of topics with their strongest tokens.

use crate::network::Network;
use serde::Serialize;
use std::fmt::Write as _;

/// One topic of the hierarchy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TopicTree {
    /// Its name.
    pub topic: String,
    /// Probability that its parent alone switches it on, 1 - exp(-w); for a root, that its leak does.
    pub p: f64,
    /// Its strongest tokens, each with the probability that this topic alone switches it on.
    pub tokens: Vec<(String, f64)>,
    /// The topics below, strongest first. A topic with several parents stands under its strongest one.
    pub topics: Vec<TopicTree>,
    /// Topics below that stand under a stronger parent.
    pub also: Vec<String>,
}

/// Levels shown at most, whatever is asked for: deeper graphs are cut there.
pub const MAX_DEPTH: usize = 64;

/// Topics under a stronger parent that the text names.
const ALSO_SHOWN: usize = 4;

/// The hierarchy from the topics without parents down; `top` tokens each, `depth` levels of topics.
pub fn topic_tree(network: &Network, top: usize, depth: usize) -> Vec<TopicTree> {
    let graph = &network.graph;
    let strongest = |topic: usize| {
        let edges = graph.edges_into(topic);
        edges.max_by(|&a, &b| network.weights.edge[a].total_cmp(&network.weights.edge[b]))
    };
    let main_edge: Vec<Option<usize>> = (0..graph.n_topics()).map(strongest).collect();
    let roots = (0..graph.n_topics()).filter(|&topic| main_edge[topic].is_none());
    let depth = depth.min(MAX_DEPTH);
    roots.map(|topic| subtree(network, &main_edge, topic, network.weights.leak[topic], top, depth)).collect()
}

fn probability(weight: f64) -> f64 {
    -(-weight).exp_m1()
}

fn subtree(
    network: &Network,
    main_edge: &[Option<usize>],
    topic: usize,
    weight: f64,
    top: usize,
    depth: usize,
) -> TopicTree {
    let graph = &network.graph;
    let mut children: Vec<(f64, u32, usize)> = graph
        .child_edges(topic)
        .iter()
        .zip(graph.children(topic))
        .map(|(&edge, &child)| (network.weights.edge[edge as usize], child, edge as usize))
        .collect();
    children.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let (topics, tokens): (Vec<_>, Vec<_>) =
        children.into_iter().partition(|child| graph.is_topic(child.1 as usize));
    let name = |node: u32| network.names.of(node).to_owned();
    let (own, also): (Vec<_>, Vec<_>) =
        topics.into_iter().partition(|&(_, child, edge)| main_edge[child as usize] == Some(edge));
    let below = if depth > 1 { own } else { Vec::new() };
    TopicTree {
        topic: name(topic as u32),
        p: probability(weight),
        tokens: tokens
            .iter()
            .take(top)
            .map(|&(weight, token, _)| (name(token), probability(weight)))
            .collect(),
        topics: below
            .iter()
            .map(|&(weight, child, _)| subtree(network, main_edge, child as usize, weight, top, depth - 1))
            .collect(),
        also: also.iter().map(|&(_, child, _)| name(child)).collect(),
    }
}

impl TopicTree {
    /// The hierarchy as text, one topic a line.
    pub fn text(trees: &[Self]) -> String {
        let mut text = String::new();
        for tree in trees {
            tree.write(&mut text, "", "");
        }
        text
    }

    fn write(&self, text: &mut String, first: &str, rest: &str) {
        let words: Vec<&str> = self.tokens.iter().map(|(token, _)| token.as_str()).collect();
        let _ = write!(text, "{first}{}", self.topic);
        if !words.is_empty() {
            let _ = write!(text, ": {}", words.join(", "));
        }
        if !self.also.is_empty() {
            let shown = self.also.len().min(ALSO_SHOWN);
            let _ = write!(text, " (also {}", self.also[..shown].join(", "));
            let _ = match self.also.len() - shown {
                0 => write!(text, ")"),
                more => write!(text, " and {more} more)"),
            };
        }
        text.push('\n');
        for (at, child) in self.topics.iter().enumerate() {
            let last = at + 1 == self.topics.len();
            let (branch, bar) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            child.write(text, &format!("{rest}{branch}"), &format!("{rest}{bar}"));
        }
    }
}
