//! One document's local model: H_d, the ancestors of its active tokens, by reverse reachability.
//!
//! The cost is proportional to the edges into H_d and the active tokens, never to the network. A topic is
//! "seen" when its stamp is the current one, so nothing is cleared and nothing is allocated per document.
//! Whether it is cannot be foretold, so the loop over edges has no branch.

use crate::network::Graph;

/// Finds ancestors; reused from document to document.
#[derive(Debug)]
pub struct Ancestors {
    /// Of every topic: the stamp of the last document that it was found in, in the upper half, and its positive children there.
    marks: Vec<u64>,
    /// Of the document at hand.
    stamp: u64,
    /// Topics found, and room for all and one more.
    found: Vec<u32>,
    n_found: usize,
    by_colour: Vec<u32>,
    colour_ends: Vec<u32>,
}

/// From one stamp to the next.
const STAMP: u64 = 1 << 32;

impl Ancestors {
    /// For one graph.
    pub fn new(graph: &Graph) -> Self {
        Self {
            marks: vec![0; graph.n_topics()],
            stamp: 0,
            found: vec![0; graph.n_topics() + 1],
            n_found: 0,
            by_colour: Vec::new(),
            colour_ends: vec![0; graph.n_colours()],
        }
    }

    /// Finds the ancestors of `nodes`; with `full`, all topics count as such.
    pub fn find(&mut self, graph: &Graph, nodes: &[u32], full: bool) {
        self.n_found = 0;
        self.stamp = self.stamp.wrapping_add(STAMP);
        if self.stamp == 0 {
            self.marks.fill(0);
            self.stamp = STAMP;
        }
        if full {
            self.marks.fill(self.stamp);
            self.found.iter_mut().zip(0..graph.n_topics() as u32).for_each(|(found, topic)| *found = topic);
            self.n_found = graph.n_topics();
        }
        for &node in nodes {
            self.visit(graph.parents(node as usize));
        }
        let mut at = 0;
        while at < self.n_found {
            self.visit(graph.parents(self.found[at] as usize));
            at += 1;
        }
        self.sort_by_colour(graph);
    }

    /// The topics found, ordered by colour.
    pub fn topics(&self) -> &[u32] {
        &self.by_colour
    }

    /// Where each colour ends in [`Ancestors::topics`].
    pub fn colour_ends(&self) -> &[u32] {
        &self.colour_ends
    }

    /// How many positive children a topic found has.
    #[inline]
    pub fn n_children(&self, topic: u32) -> u32 {
        self.marks[topic as usize] as u32
    }

    /// Every positive edge is met here exactly once.
    #[inline]
    fn visit(&mut self, parents: &[u32]) {
        for &parent in parents {
            let mark = &mut self.marks[parent as usize];
            self.found[self.n_found] = parent;
            self.n_found += usize::from(*mark < self.stamp);
            *mark = (*mark).max(self.stamp) + 1;
        }
    }

    /// A stable counting sort.
    fn sort_by_colour(&mut self, graph: &Graph) {
        self.colour_ends.fill(0);
        let found = &self.found[..self.n_found];
        for &topic in found {
            self.colour_ends[graph.colour(topic as usize)] += 1;
        }
        let mut begin = 0;
        for end in &mut self.colour_ends {
            (begin, *end) = (begin + *end, begin);
        }
        self.by_colour.resize(found.len(), 0);
        for &topic in found {
            let end = &mut self.colour_ends[graph.colour(topic as usize)];
            self.by_colour[*end as usize] = topic;
            *end += 1;
        }
    }
}
