//! One layer of topics: the edges to the items below.

/// An edge from a topic to an item.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Edge {
    pub(super) topic: u32,
    /// Probability of the item in the topic's documents.
    pub(super) p: f32,
    /// How telling that is: what the budget goes by.
    pub(super) score: f32,
    /// Whether the edge must stay: from a topic to its core, or as given.
    pub(super) fixed: bool,
}

/// Topics above items; edges by item.
#[derive(Debug, Clone, Default)]
pub(super) struct Layer {
    pub(super) n_topics: usize,
    /// Of every item, fixed ones first, then the most telling.
    pub(super) parents: Vec<Vec<Edge>>,
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
