//! Rows: what the threads of a dispatch stand for. Short rows have a thread each, long rows a workgroup each.

use super::layout::Batch;

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
    /// Nodes with several parents.
    pub several_parents: Spans,
    /// Nodes with one parent or none: their r is 1 once and for all.
    pub few_parents: Spans,
    /// Topics by colour.
    pub colours: Vec<Spans>,
    /// Documents.
    pub docs: Spans,
}

/// Rows of one packed part, short and long: nodes with several parents, with few, documents, then topics colour by colour.
#[derive(Debug, Default)]
pub(super) struct Lists(Vec<[Vec<u32>; 2]>);

impl Lists {
    /// Lists a part's rows, in memory that is reused.
    pub(super) fn fill(&mut self, part: &Batch, n_colours: usize) {
        self.0.resize_with(3 + n_colours, Default::default);
        self.0.iter_mut().flatten().for_each(Vec::clear);
        let [several, few, docs, colours @ ..] = &mut self.0[..] else { return };
        let place = |list: &mut [Vec<u32>; 2], row: usize, n_entries: u32| {
            list[usize::from(n_entries as usize > LONG_ROW)].push(row as u32);
        };
        for (row, pair) in part.nodes.windows(2).enumerate() {
            let n_edges = pair[1].edge_begin - pair[0].edge_begin;
            place(if n_edges > 1 { several } else { few }, row, n_edges);
        }
        for (doc, pair) in part.docs.windows(2).enumerate() {
            place(docs, doc, pair[1].node_begin - pair[0].node_begin);
            let mut row = pair[0].node_begin as usize;
            for (colour, &end) in colours.iter_mut().zip(&part.colour_ends[doc * n_colours..]) {
                for row in row..end as usize {
                    let (node, next) = (part.nodes[row], part.nodes[row + 1]);
                    let n_entries = next.edge_begin - node.edge_begin + next.slot_begin - node.slot_begin;
                    place(colour, row, n_entries);
                }
                row = end as usize;
            }
        }
    }
}

impl Rows {
    /// All rows of a chunk: its parts' lists, one after another. Each part comes with the number of its first node and document.
    pub(super) fn join(parts: &[(&Lists, u32, u32)], n_colours: usize) -> Self {
        let mut list = Vec::new();
        let mut join = |at: usize| {
            [0, 1].map(|side| {
                let begin = list.len();
                for (lists, first_node, first_doc) in parts {
                    let first = if at == 2 { first_doc } else { first_node };
                    list.extend(lists.0[at][side].iter().map(|row| row + first));
                }
                Span { begin: begin as u32, len: (list.len() - begin) as u32 }
            })
        };
        let (several_parents, few_parents, docs) = (join(0), join(1), join(2));
        let colours = (3..3 + n_colours).map(join).collect();
        Self { list, several_parents, few_parents, colours, docs }
    }

    /// The rows that alternations need and for which `keep` holds, to stand at `begin` of the same array.
    pub fn filter(&self, begin: usize, keep: impl Fn(u32) -> bool) -> Self {
        let mut rows = Self::default();
        rows.several_parents = rows.take(self, self.several_parents, begin, &keep);
        rows.colours = self.colours.iter().map(|&spans| rows.take(self, spans, begin, &keep)).collect();
        rows
    }

    /// The same for the rows that only a search needs, behind those in `rows`.
    pub fn filter_others(
        &self,
        begin: usize,
        keep: impl Fn(u32) -> bool,
        keep_doc: impl Fn(u32) -> bool,
        rows: &mut Self,
    ) {
        rows.few_parents = rows.take(self, self.few_parents, begin, keep);
        rows.docs = rows.take(self, self.docs, begin, keep_doc);
    }

    fn take(&mut self, from: &Self, spans: Spans, begin: usize, keep: impl Fn(u32) -> bool) -> Spans {
        spans.map(|span| {
            let at = self.list.len();
            let all = &from.list[span.begin as usize..][..span.len as usize];
            self.list.extend(all.iter().copied().filter(|&row| keep(row)));
            Span { begin: (begin + at) as u32, len: (self.list.len() - at) as u32 }
        })
    }
}
