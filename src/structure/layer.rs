//! One layer of topics: the edges to the items below and what was counted of them.

/// An edge from a topic to an item.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Edge {
    pub(super) topic: u32,
    /// Affinity, as a share of all the item's affinities.
    pub(super) share: f32,
    /// Whether the edge must stay: from a topic to its core, or as given.
    pub(super) fixed: bool,
    /// Documents in which the topic explains the item.
    pub(super) n_explained: u32,
}

impl Edge {
    pub(super) fn new(topic: u32, share: f32, fixed: bool) -> Self {
        Self { topic, share, fixed, n_explained: 0 }
    }
}

/// Topics above items; edges by item.
#[derive(Debug, Clone, Default)]
pub(super) struct Layer {
    pub(super) n_topics: usize,
    /// Of every item, strongest first.
    pub(super) parents: Vec<Vec<Edge>>,
    /// Documents in which each topic explains anything.
    pub(super) n_present: Vec<u32>,
    pub(super) n_docs: usize,
}

impl Layer {
    /// Every edge with its item, by item.
    pub(super) fn edges(&self) -> impl Iterator<Item = (u32, &Edge)> {
        self.parents
            .iter()
            .enumerate()
            .flat_map(|(item, edges)| edges.iter().map(move |edge| (item as u32, edge)))
    }

    pub(super) fn n_edges(&self) -> usize {
        self.parents.iter().map(Vec::len).sum()
    }
}
