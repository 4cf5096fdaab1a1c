//! One document's local model: H_d, the ancestors of its active tokens, by reverse reachability.
//!
//! The cost is proportional to the edges into H_d and the active tokens, never to the network. A topic is
//! "seen" when its stamp is the current one, so nothing is cleared and nothing is allocated per document.

use crate::network::Graph;

/// Finds ancestors; reused from document to document.
#[derive(Debug)]
pub struct Ancestors {
    stamps: Vec<u32>,
    stamp: u32,
    found: Vec<u32>,
    by_colour: Vec<u32>,
    colour_ends: Vec<u32>,
}

impl Ancestors {
    /// For one graph.
    pub fn new(graph: &Graph) -> Self {
        Self {
            stamps: vec![0; graph.n_topics()],
            stamp: 0,
            found: Vec::new(),
            by_colour: Vec::new(),
            colour_ends: vec![0; graph.n_colours()],
        }
    }

    /// The ancestors of `nodes`, ordered by colour, and where each colour ends.
    pub fn find(&mut self, graph: &Graph, nodes: impl Iterator<Item = usize>) -> (&[u32], &[u32]) {
        self.found.clear();
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 {
            self.stamps.fill(0);
            self.stamp = 1;
        }
        for node in nodes {
            self.visit(graph.parents(node));
        }
        let mut at = 0;
        while at < self.found.len() {
            self.visit(graph.parents(self.found[at] as usize));
            at += 1;
        }
        self.sort_by_colour(graph)
    }

    /// All topics, ordered by colour: the full model.
    pub fn all(&mut self, graph: &Graph) -> (&[u32], &[u32]) {
        self.found.clear();
        self.found.extend(0..graph.n_topics() as u32);
        self.sort_by_colour(graph)
    }

    #[inline]
    fn visit(&mut self, parents: &[u32]) {
        for &parent in parents {
            let stamp = &mut self.stamps[parent as usize];
            if *stamp != self.stamp {
                *stamp = self.stamp;
                self.found.push(parent);
            }
        }
    }

    /// A stable counting sort.
    fn sort_by_colour(&mut self, graph: &Graph) -> (&[u32], &[u32]) {
        self.colour_ends.fill(0);
        for &topic in &self.found {
            self.colour_ends[graph.colour(topic as usize)] += 1;
        }
        let mut begin = 0;
        for end in &mut self.colour_ends {
            (begin, *end) = (begin + *end, begin);
        }
        self.by_colour.resize(self.found.len(), 0);
        for &topic in &self.found {
            let end = &mut self.colour_ends[graph.colour(topic as usize)];
            self.by_colour[*end as usize] = topic;
            *end += 1;
        }
        (&self.by_colour, &self.colour_ends)
    }
}
