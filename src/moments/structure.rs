//! A graph of two layers: topics without parents, and the tokens below them.

use crate::error::{Error, Result};
use crate::network::Graph;

/// A view of a graph in which tokens count from zero.
#[derive(Clone, Copy)]
pub(super) struct TwoLayers<'a> {
    pub(super) graph: &'a Graph,
}

impl<'a> TwoLayers<'a> {
    /// Refuses graphs with topics below topics.
    pub(super) fn of(graph: &'a Graph) -> Result<Self> {
        match (0..graph.n_topics()).find(|&topic| !graph.parents(topic).is_empty()) {
            None => Ok(Self { graph }),
            Some(topic) => Err(Error::Usage(format!(
                "moments are for graphs of two layers, in which no topic has a parent; topic {topic} has {}",
                graph.parents(topic).len()
            ))),
        }
    }

    pub(super) fn n_topics(self) -> usize {
        self.graph.n_topics()
    }

    pub(super) fn n_tokens(self) -> usize {
        self.graph.n_tokens()
    }

    /// The topics above a token, ascending.
    pub(super) fn parents(self, token: u32) -> &'a [u32] {
        self.graph.parents(self.n_topics() + token as usize)
    }

    /// The number of the edge from the first of a token's parents; those of the others follow.
    pub(super) fn first_edge(self, token: u32) -> usize {
        self.graph.edges_into(self.n_topics() + token as usize).start
    }

    /// A topic's tokens, ascending, and the edges to them.
    pub(super) fn children(self, topic: u32) -> impl Iterator<Item = (u32, usize)> + 'a {
        let n_topics = self.n_topics() as u32;
        let edges = self.graph.child_edges(topic as usize).iter();
        let nodes = self.graph.children(topic as usize).iter();
        nodes.zip(edges).map(move |(&node, &edge)| (node - n_topics, edge as usize))
    }

    pub(super) fn n_children(self, topic: u32) -> usize {
        self.graph.children(topic as usize).len()
    }

    /// The edge from a topic to a token, if there is one.
    pub(super) fn edge(self, topic: u32, token: u32) -> Option<usize> {
        self.parents(token).binary_search(&topic).ok().map(|at| self.first_edge(token) + at)
    }

    /// Calls `f` with the topics that two tokens share, ascending, and the edges to both, in either order, until it says false.
    /// Returns whether it never did.
    pub(super) fn all_common(self, a: u32, b: u32, mut f: impl FnMut(u32, usize, usize) -> bool) -> bool {
        let (a, b) = if self.parents(a).len() > self.parents(b).len() { (b, a) } else { (a, b) };
        let (of_a, of_b) = (self.parents(a), self.parents(b));
        let mut from = 0;
        for (at, topic) in of_a.iter().enumerate() {
            from += of_b[from..].partition_point(|other| other < topic);
            let found = of_b.get(from) == Some(topic);
            if found && !f(*topic, self.first_edge(a) + at, self.first_edge(b) + from) {
                return false;
            }
        }
        true
    }

    /// The topics other than `topic` that are parents of two or more of a set, ascending.
    pub(super) fn coupling(self, topic: u32, set: &[u32]) -> Vec<u32> {
        let mut found = Vec::new();
        for (at, &a) in set.iter().enumerate() {
            for &b in &set[at + 1..] {
                self.all_common(a, b, |other, _, _| {
                    if other != topic {
                        found.push(other);
                    }
                    true
                });
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}
