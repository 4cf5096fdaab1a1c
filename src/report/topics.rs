//! The hierarchy of topics with their strongest tokens.

use crate::columns::{UNLIMITED, fit, fit_list, plain, width};
use crate::network::{MAX_DEPTH, Network, topic_marginals};
use serde::Serialize;

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

/// Topics under a stronger parent that the text names.
const ALSO_SHOWN: usize = 4;
/// Columns that a name may take however deep it stands.
const NAME_COLUMNS: usize = 12;
/// A topic that has topics below shows the tokens that it switches on at least so often.
const LEAST_P: f64 = 0.02;
/// In fewer columns there is no token to be read.
const TOKEN_COLUMNS: usize = 8;

/// The hierarchy from the topics without parents down; `top` tokens each, `depth` levels of topics.
///
/// ```
/// use noisyor::report::{TopicTree, topic_tree};
///
/// let network = noisyor::corpus::sample_network()?;
/// println!("{}", TopicTree::text(&topic_tree(&network, 5, 2)));
/// # Ok::<(), noisyor::Error>(())
/// ```
pub fn topic_tree(network: &Network, top: usize, depth: usize) -> Vec<TopicTree> {
    let graph = &network.graph;
    let main_edge = main_edges(network);
    let roots = (0..graph.n_topics()).filter(|&topic| main_edge[topic].is_none());
    let depth = depth.min(MAX_DEPTH);
    roots.map(|topic| subtree(network, &main_edge, topic, network.weights.leak[topic], top, depth)).collect()
}

/// The topics that are on most often, by the probability of each under the network alone; `top` tokens each, no topics below.
pub fn largest_topics(network: &Network, most: usize, top: usize) -> Vec<TopicTree> {
    let marginals = topic_marginals(&network.graph, &network.weights);
    let mut topics: Vec<usize> = (0..network.graph.n_topics()).collect();
    topics.sort_by(|&a, &b| marginals[b].total_cmp(&marginals[a]).then(a.cmp(&b)));
    let own = |&topic: &usize| {
        let tree = subtree(network, &[], topic, 0.0, top, 1);
        TopicTree { p: marginals[topic], also: Vec::new(), ..tree }
    };
    topics.iter().take(most).map(own).collect()
}

/// The edge from the strongest parent of every topic that has one.
pub(super) fn main_edges(network: &Network) -> Vec<Option<usize>> {
    let weights = &network.weights.edge;
    let strongest =
        |topic| network.graph.edges_into(topic).max_by(|&a, &b| weights[a].total_cmp(&weights[b]));
    (0..network.graph.n_topics()).map(strongest).collect()
}

/// The probability that a weight alone switches a node on.
pub(super) fn probability(weight: f64) -> f64 {
    -(-weight).exp_m1()
}

/// A topic's children as (weight, child, edge), strongest first: topics, then tokens.
pub(super) type Children = (Vec<(f64, u32, usize)>, Vec<(f64, u32, usize)>);

/// The children of a topic, strongest first.
pub(super) fn children(network: &Network, topic: usize) -> Children {
    let graph = &network.graph;
    let mut children: Vec<(f64, u32, usize)> = graph
        .child_edges(topic)
        .iter()
        .zip(graph.children(topic))
        .map(|(&edge, &child)| (network.weights.edge[edge as usize], child, edge as usize))
        .collect();
    children.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    children.into_iter().partition(|child| graph.is_topic(child.1 as usize))
}

fn subtree(
    network: &Network,
    main_edge: &[Option<usize>],
    topic: usize,
    weight: f64,
    top: usize,
    depth: usize,
) -> TopicTree {
    let (topics, tokens) = children(network, topic);
    let name = |node: u32| network.names.of(node).to_owned();
    let (own, also): (Vec<_>, Vec<_>) =
        topics.into_iter().partition(|&(_, child, edge)| main_edge.get(child as usize) == Some(&Some(edge)));
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
        Self::text_within(trees, UNLIMITED)
    }

    /// The same in so many columns: what does not fit is left out, the weakest tokens first.
    pub fn text_within(trees: &[Self], columns: usize) -> String {
        let mut text = String::new();
        for tree in trees {
            tree.write(&mut text, columns, "", "");
        }
        text
    }

    /// Keeps the levels that make up to so many lines, at least one level, and of that the most frequent topics; returns how
    /// many topics are left out.
    pub fn shorten(trees: &mut Vec<Self>, max_lines: usize) -> usize {
        let sizes = Self::level_sizes(trees);
        let mut shown = 0;
        let fits = |&&size: &&usize| {
            shown += size;
            shown <= max_lines
        };
        let depth = sizes.iter().take_while(fits).count().max(1);
        trees.iter_mut().for_each(|tree| tree.cut(depth));
        if trees.len() > max_lines {
            trees.sort_by(|a, b| b.p.total_cmp(&a.p));
            trees.truncate(max_lines);
        }
        sizes.iter().sum::<usize>() - Self::level_sizes(trees).iter().sum::<usize>()
    }

    /// How many topics each level has.
    fn level_sizes(trees: &[Self]) -> Vec<usize> {
        let mut sizes = Vec::new();
        let mut level: Vec<&Self> = trees.iter().collect();
        while !level.is_empty() {
            sizes.push(level.len());
            level = level.iter().flat_map(|tree| &tree.topics).collect();
        }
        sizes
    }

    /// Leaves out all levels below `depth`.
    fn cut(&mut self, depth: usize) {
        if depth <= 1 {
            self.topics.clear();
        }
        self.topics.iter_mut().for_each(|tree| tree.cut(depth - 1));
    }

    fn write(&self, text: &mut String, columns: usize, first: &str, rest: &str) {
        let left = columns.saturating_sub(width(first));
        let mut line = fit(&plain(&self.topic), left.max(NAME_COLUMNS));
        let also = self.also_text();
        // Tokens matter more: others' topics are named only where they take little.
        let also = if width(&also) <= left.saturating_sub(width(&line)) / 2 { also } else { String::new() };
        let left = left.saturating_sub(width(&line) + width(&also));
        // A topic above others says nothing by words that it hardly ever switches on itself.
        let least = if self.topics.is_empty() && self.also.is_empty() { 0.0 } else { LEAST_P };
        let words: Vec<String> =
            self.tokens.iter().filter(|(_, p)| *p >= least).map(|(token, _)| plain(token)).collect();
        if !words.is_empty() && left > TOKEN_COLUMNS {
            line += &format!(": {}", fit_list(&words, left - 2));
        }
        text.extend([first, &line, &also, "\n"]);
        for (at, child) in self.topics.iter().enumerate() {
            let last = at + 1 == self.topics.len();
            let (branch, bar) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            child.write(text, columns, &format!("{rest}{branch}"), &format!("{rest}{bar}"));
        }
    }

    fn also_text(&self) -> String {
        if self.also.is_empty() {
            return String::new();
        }
        let shown = self.also.len().min(ALSO_SHOWN);
        let names: Vec<String> = self.also[..shown].iter().map(|name| plain(name)).collect();
        match self.also.len() - shown {
            0 => format!(" (also {})", names.join(", ")),
            more => format!(" (also {} and {more} more)", names.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(name: &str, p: f64, topics: Vec<TopicTree>) -> TopicTree {
        TopicTree { topic: name.to_owned(), p, tokens: Vec::new(), topics, also: Vec::new() }
    }

    #[test]
    fn a_giant_is_cut_to_whole_levels_then_to_its_most_frequent_roots() {
        let leaves = |n: usize| (0..n).map(|at| tree(&format!("leaf {at}"), 0.1, Vec::new())).collect();
        let whole = vec![
            tree("rare", 0.1, vec![tree("inner", 0.5, leaves(3))]),
            tree("often", 0.9, vec![tree("other", 0.5, leaves(2))]),
        ];
        for (max_lines, left_out, text) in [
            (9, 0, TopicTree::text(&whole)),
            (8, 5, "rare\n└─ inner\noften\n└─ other\n".to_owned()),
            (4, 5, "rare\n└─ inner\noften\n└─ other\n".to_owned()),
            (3, 7, "rare\noften\n".to_owned()),
            (1, 8, "often\n".to_owned()),
        ] {
            let mut trees = whole.clone();
            assert_eq!(TopicTree::shorten(&mut trees, max_lines), left_out, "{max_lines} lines");
            assert_eq!(TopicTree::text(&trees), text, "{max_lines} lines");
        }
        assert_eq!(TopicTree::shorten(&mut Vec::new(), 5), 0);
    }
}
