//! One document's local model: H_d, the ancestors of its active tokens, by reverse reachability.
//!
//! The cost is proportional to the edges into H_d and the active tokens, never to the network. A topic is
//! "seen" when its stamp is the current one, so nothing is cleared and nothing is allocated per document.

use crate::network::Graph;

/// Finds ancestors; reused from document to document.
#[derive(Debug)]
pub struct Ancestors {
    marks: Vec<Mark>,
    stamp: u32,
    found: Vec<u32>,
    by_colour: Vec<u32>,
    colour_ends: Vec<u32>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    stamp: u32,
    n_children: u32,
}

impl Ancestors {
    /// For one graph.
    pub fn new(graph: &Graph) -> Self {
        Self {
            marks: vec![Mark::default(); graph.n_topics()],
            stamp: 0,
            found: Vec::new(),
            by_colour: Vec::new(),
            colour_ends: vec![0; graph.n_colours()],
        }
    }

    /// Finds the ancestors of `nodes`; with `full`, all topics count as such.
    pub fn find(&mut self, graph: &Graph, nodes: &[u32], full: bool) {
        self.found.clear();
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 {
            self.marks.fill(Mark::default());
            self.stamp = 1;
        }
        if full {
            self.marks.fill(Mark { stamp: self.stamp, n_children: 0 });
            self.found.extend(0..graph.n_topics() as u32);
        }
        for &node in nodes {
            self.visit(graph.parents(node as usize));
        }
        let mut at = 0;
        while at < self.found.len() {
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
        self.marks[topic as usize].n_children
    }

    /// Every positive edge is met here exactly once.
    #[inline]
    fn visit(&mut self, parents: &[u32]) {
        for &parent in parents {
            let mark = &mut self.marks[parent as usize];
            if mark.stamp == self.stamp {
                mark.n_children += 1;
            } else {
                *mark = Mark { stamp: self.stamp, n_children: 1 };
                self.found.push(parent);
            }
        }
    }

    /// A stable counting sort.
    fn sort_by_colour(&mut self, graph: &Graph) {
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
    }
}
