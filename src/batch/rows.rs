//! Rows: what the threads of a dispatch stand for. Short rows have a thread each, long rows a workgroup each.

use super::layout::{DocRecord, NodeRecord};

/// Rows with more entries than this are long.
pub const LONG_ROW: usize = 128;

/// Part of a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// First.
    pub begin: u32,
    /// How many.
    pub len: u32,
}

/// Short rows and long rows.
pub type Spans = [Span; 2];

/// Lists of rows, one after another in one array.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    /// The lists.
    pub list: Vec<u32>,
    /// Nodes that have edges.
    pub with_edges: Spans,
    /// Nodes that have none.
    pub without_edges: Spans,
    /// Topics by colour.
    pub colours: Vec<Spans>,
    /// Documents.
    pub docs: Spans,
}

impl Rows {
    /// All rows of packed documents.
    pub fn new(docs: &[DocRecord], nodes: &[NodeRecord], colour_ends: &[u32], n_colours: usize) -> Self {
        let n_edges = |row: u32| {
            let (node, next) = (nodes[row as usize], nodes[row as usize + 1]);
            (next.edge_begin - node.edge_begin) as usize
        };
        let n_entries = |row: u32| {
            let (node, next) = (nodes[row as usize], nodes[row as usize + 1]);
            (next.slot_begin - node.slot_begin) as usize + n_edges(row)
        };
        let n_nodes = |row: u32| (docs[row as usize + 1].node_begin - docs[row as usize].node_begin) as usize;
        let (all, mut rows) = (0..nodes.len() as u32 - 1, Self::default());
        rows.with_edges = rows.push(all.clone().filter(|&row| n_edges(row) > 0), n_edges);
        rows.without_edges = rows.push(all.filter(|&row| n_edges(row) == 0), n_edges);
        for colour in 0..n_colours {
            let topics = |doc: usize| {
                let ends = &colour_ends[doc * n_colours..];
                if colour == 0 { docs[doc].node_begin..ends[0] } else { ends[colour - 1]..ends[colour] }
            };
            let spans = rows.push((0..docs.len() - 1).flat_map(topics), n_entries);
            rows.colours.push(spans);
        }
        rows.docs = rows.push(0..docs.len() as u32 - 1, n_nodes);
        rows
    }

    /// The nodes for which `keep` holds, to stand at `begin` of the same array; documents are not listed.
    pub fn filter(&self, begin: usize, keep: impl Fn(u32) -> bool) -> Self {
        let mut rows = Self::default();
        let mut filter = |spans: Spans| {
            spans.map(|span| {
                let from = rows.list.len();
                let all = &self.list[span.begin as usize..][..span.len as usize];
                rows.list.extend(all.iter().copied().filter(|&row| keep(row)));
                Span { begin: (begin + from) as u32, len: (rows.list.len() - from) as u32 }
            })
        };
        let with_edges = filter(self.with_edges);
        let colours = self.colours.iter().map(|&spans| filter(spans)).collect();
        Self { with_edges, colours, ..rows }
    }

    fn push(&mut self, rows: impl Iterator<Item = u32>, n_entries: impl Fn(u32) -> usize) -> Spans {
        let begin = self.list.len();
        let mut long = Vec::new();
        for row in rows {
            let list = if n_entries(row) > LONG_ROW { &mut long } else { &mut self.list };
            list.push(row);
        }
        let middle = self.list.len();
        self.list.append(&mut long);
        let span = |begin: usize, end: usize| Span { begin: begin as u32, len: (end - begin) as u32 };
        [span(begin, middle), span(middle, self.list.len())]
    }
}
