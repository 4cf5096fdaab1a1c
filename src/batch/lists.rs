//! Listing rows: batches that a workgroup takes through workgroup memory, and bins of documents that fit into it.

use super::layout::Batch;
use super::rows::LONG_ROW;

/// Rows of a batch at most.
pub const BATCH_ROWS: u32 = 64;
/// Entries of a batch at most: more than a short row has.
pub const BATCH_ENTRIES: u32 = 512;
/// Documents of a bin at most: the threads of its workgroup search for a document each, and nobody waits long for the last.
pub const BIN_DOCS: u32 = 64;

/// A row; where its entries begin among those of its batch, from bit 10 on the number of its edges, from bit 18 on that of its slots.
pub(super) type RowRecord = [u32; 2];

/// The entries of a row: edges, then slots.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entries {
    pub(super) n_edges: u32,
    pub(super) n_slots: u32,
}

impl Entries {
    pub(super) fn n(self) -> u32 {
        self.n_edges + self.n_slots
    }

    /// Of a short row.
    fn record(self, row: u32, begin: u32) -> RowRecord {
        [row, begin | self.n_edges << 10 | self.n_slots << 18]
    }
}

/// Consecutive rows of a list.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RowBatch {
    /// The first, as a record of its list.
    pub(super) first: u32,
    pub(super) n_rows: u32,
    pub(super) n_entries: u32,
    /// Entries of its longest row.
    pub(super) longest: u32,
}

/// Short rows of one kind and their batches.
#[derive(Debug, Default)]
pub(super) struct ShortRows {
    pub(super) rows: Vec<RowRecord>,
    pub(super) batches: Vec<RowBatch>,
    /// Whether the last batch may get another row.
    open: bool,
}

impl ShortRows {
    fn push(&mut self, row: u32, entries: Entries) {
        let n_entries = entries.n();
        let fits =
            |batch: &&mut RowBatch| batch.n_rows < BATCH_ROWS && batch.n_entries + n_entries <= BATCH_ENTRIES;
        let at = self.rows.len() as u32;
        let entry = match self.batches.last_mut().filter(|_| self.open).filter(fits) {
            Some(batch) => {
                let entry = batch.n_entries;
                batch.n_rows += 1;
                batch.n_entries += n_entries;
                batch.longest = batch.longest.max(n_entries);
                entry
            }
            None => {
                self.batches.push(RowBatch { first: at, n_rows: 1, n_entries, longest: n_entries });
                self.open = true;
                0
            }
        };
        self.rows.push(entries.record(row, entry));
    }

    fn clear(&mut self) {
        self.rows.clear();
        self.batches.clear();
        self.open = false;
    }
}

/// Rows of one kind: those of documents in bins, the others' short ones and long ones. Only rows that are documents can be long and in
/// a bin.
#[derive(Debug, Default)]
pub(super) struct List {
    pub(super) binned: ShortRows,
    pub(super) other: ShortRows,
    pub(super) long_binned: Vec<RowRecord>,
    pub(super) long: Vec<RowRecord>,
}

impl List {
    pub(super) fn push(&mut self, row: u32, entries: Entries, in_bin: bool) {
        let is_long = entries.n() as usize > LONG_ROW;
        match (is_long, in_bin) {
            (true, true) => self.long_binned.push([row, 0]),
            (true, false) => self.long.push([row, 0]),
            (false, true) => self.binned.push(row, entries),
            (false, false) => self.other.push(row, entries),
        }
    }

    fn clear(&mut self) {
        self.binned.clear();
        self.other.clear();
        self.long_binned.clear();
        self.long.clear();
    }
}

/// Where a bin's rows of one kind stand: batches of nodes; of documents, short and long rows.
pub(super) type BinRows = [[u32; 2]; 2];

/// Documents whose q and m a workgroup keeps in its memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Bin {
    /// First and number: documents, nodes, edges.
    pub(super) docs: [u32; 2],
    pub(super) nodes: [u32; 2],
    pub(super) edges: [u32; 2],
    /// By list.
    pub(super) rows: Vec<BinRows>,
}

/// The lists, by their numbers: nodes with several parents, with few, documents, then topics colour by colour.
pub(super) const SEVERAL: usize = 0;
pub(super) const FEW: usize = 1;
pub(super) const DOCS: usize = 2;
pub(super) const COLOURS: usize = 3;

/// Rows of some documents.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub(super) lists: Vec<List>,
    pub(super) bins: Vec<Bin>,
}

impl Lists {
    pub(super) fn clear(&mut self, n_colours: usize) {
        self.lists.resize_with(COLOURS + n_colours, List::default);
        self.lists.iter_mut().for_each(List::clear);
        self.bins.clear();
    }

    /// Lists a part's rows, in memory that is reused. A bin takes `bin_words` words of q and m; 0 for no bins.
    pub(super) fn fill(&mut self, part: &Batch, n_colours: usize, bin_words: u32) {
        self.clear(n_colours);
        let mut bin = Bin::default();
        for (doc, pair) in part.docs.windows(2).enumerate() {
            let nodes = pair[0].node_begin..pair[1].node_begin;
            let n_nodes = nodes.end - nodes.start;
            let n_edges = pair[1].edge_begin - pair[0].edge_begin;
            let fits = |bin: &Bin| {
                bin.nodes[1] + bin.edges[1] + n_nodes + n_edges <= bin_words && bin.docs[1] < BIN_DOCS
            };
            let in_bin = bin_words > 0 && fits(&Bin::default()) && !has_long_rows(part, nodes.clone());
            if bin.docs[1] > 0 && !(in_bin && fits(&bin)) {
                self.close(std::mem::take(&mut bin));
            }
            if in_bin {
                if bin.docs[1] == 0 {
                    bin = Bin {
                        docs: [doc as u32, 0],
                        nodes: [nodes.start, 0],
                        edges: [pair[0].edge_begin, 0],
                        rows: Vec::new(),
                    };
                }
                bin.docs[1] += 1;
                bin.nodes[1] += n_nodes;
                bin.edges[1] += n_edges;
            }
            self.list_doc(part, doc, n_colours, in_bin);
        }
        if bin.docs[1] > 0 {
            self.close(bin);
        }
    }

    fn list_doc(&mut self, part: &Batch, doc: usize, n_colours: usize, in_bin: bool) {
        let [several, few, docs, colours @ ..] = &mut self.lists[..] else { return };
        let nodes = part.docs[doc].node_begin as usize..part.docs[doc + 1].node_begin as usize;
        docs.push(doc as u32, Entries { n_edges: nodes.len() as u32, n_slots: 0 }, in_bin);
        for row in nodes.clone() {
            let n_edges = part.nodes[row + 1].edge_begin - part.nodes[row].edge_begin;
            let list = if n_edges > 1 { &mut *several } else { &mut *few };
            list.push(row as u32, Entries { n_edges, n_slots: 0 }, in_bin);
        }
        let mut row = nodes.start;
        for (colour, &end) in colours.iter_mut().zip(&part.colour_ends[doc * n_colours..]) {
            for row in row..end as usize {
                let (node, next) = (part.nodes[row], part.nodes[row + 1]);
                let n_edges = next.edge_begin - node.edge_begin;
                let n_slots = next.slot_begin - node.slot_begin;
                colour.push(row as u32, Entries { n_edges, n_slots }, in_bin);
            }
            row = end as usize;
        }
    }

    /// Ends a bin: no batch goes beyond it.
    pub(super) fn close(&mut self, mut bin: Bin) {
        let last = self.bins.last();
        bin.rows = (self.lists.iter_mut().enumerate())
            .map(|(at, list)| {
                let before = last.map_or([0; 2], |last| last.rows[at].map(|rows| rows[1]));
                list.binned.open = false;
                let ends = match at {
                    DOCS => [list.binned.rows.len(), list.long_binned.len()],
                    _ => [list.binned.batches.len(), 0],
                };
                [[before[0], ends[0] as u32], [before[1], ends[1] as u32]]
            })
            .collect();
        self.bins.push(bin);
    }
}

/// Whether a node of a document has more entries than a short row.
fn has_long_rows(part: &Batch, nodes: std::ops::Range<u32>) -> bool {
    part.nodes[nodes.start as usize..nodes.end as usize + 1].windows(2).any(|pair| {
        let (node, next) = (pair[0], pair[1]);
        (next.edge_begin - node.edge_begin + next.slot_begin - node.slot_begin) as usize > LONG_ROW
    })
}
