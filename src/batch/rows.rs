//! Rows: what the threads of a dispatch stand for. A short row has a thread to itself or is taken through workgroup memory in a batch
//! with others; a long row has a workgroup. Documents that fit are put in bins, each of which a workgroup keeps in its memory.

use super::Chunk;
use super::lists::{
    BATCH_ROWS, Bin, BinRows, COLOURS, DOCS, Entries, FEW, List, Lists, RowBatch, RowRecord, SEVERAL,
    ShortRows,
};

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

impl Span {
    /// Two spans of which the second begins where the first ends.
    fn join(self, next: Self) -> Self {
        Self { begin: self.begin, len: self.len + next.len }
    }
}

/// Rows of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowSet {
    /// Short rows.
    pub short: Span,
    /// The same rows in batches.
    pub batches: Span,
    /// Long rows.
    pub long: Span,
}

impl RowSet {
    fn join(self, next: Self) -> Self {
        Self {
            short: self.short.join(next.short),
            batches: self.batches.join(next.batches),
            long: self.long.join(next.long),
        }
    }
}

/// All rows of one kind, and those of documents that are in no bin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kind {
    /// All of them.
    pub all: RowSet,
    /// Those of documents in no bin.
    pub unbinned: RowSet,
}

/// Lists of rows, one after another in one array.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    /// The array, two words a record: rows (the row; where its entries begin in its batch, and how many they are), batches (first row record; number of rows
    /// and, times 65,536, of entries), bins (where its record is, number of colours), and the bins' records: first and number of
    /// nodes, edges, documents; from and to of batches with several parents, with few; of row records of short and of long
    /// documents; of batches colour by colour.
    pub list: Vec<[u32; 2]>,
    /// Nodes with several parents.
    pub several_parents: Kind,
    /// Nodes with one parent or none: their r is 1 once and for all.
    pub few_parents: Kind,
    /// Topics by colour.
    pub colours: Vec<Kind>,
    /// Documents.
    pub docs: Kind,
    /// Bins.
    pub bins: Span,
    /// Upper limits to the iterations of loops that a thread of a bin's workgroup goes through: in one pass over the bin's nodes, and over
    /// its documents in a step of a search.
    pub longest_bin: [u32; 2],
}

/// The parts of a list, in the order in which they stand in the array.
#[derive(Clone, Copy)]
enum Side {
    Binned,
    Other,
    LongBinned,
    Long,
}

fn rows_of(list: &List, side: Side) -> &[RowRecord] {
    match side {
        Side::Binned => &list.binned.rows,
        Side::Other => &list.other.rows,
        Side::LongBinned => &list.long_binned,
        Side::Long => &list.long,
    }
}

/// Some lists, and the numbers of their first document, node and edge.
pub(super) type PartLists<'a> = (&'a Lists, [u32; 3]);

impl Rows {
    /// All rows of a chunk: its parts' lists, one after another, to stand at `begin` of the array.
    pub(super) fn join(parts: &[PartLists<'_>], n_colours: usize, begin: usize) -> Self {
        let mut joined = Joined { parts, begin: begin as u32, list: Vec::new() };
        let n_lists = COLOURS + n_colours;
        // Where each part's records of each list begin, for its batches and bins.
        let mut places: Vec<[Vec<u32>; 4]> = vec![Default::default(); n_lists];
        let mut spans: Vec<[Span; 4]> = vec![Default::default(); n_lists];
        for sides in [[Side::Binned, Side::Other], [Side::LongBinned, Side::Long]] {
            for at in 0..n_lists {
                for side in sides {
                    spans[at][side as usize] = joined.rows(at, side, &mut places[at][side as usize]);
                }
            }
        }
        let mut batch_places: Vec<Vec<u32>> = vec![Vec::new(); n_lists];
        let mut batch_spans: Vec<[Span; 2]> = vec![Default::default(); n_lists];
        for at in 0..n_lists {
            let places = &places[at];
            batch_spans[at][0] = joined.batches(at, |list| &list.binned, &places[0], &mut batch_places[at]);
            batch_spans[at][1] = joined.batches(at, |list| &list.other, &places[1], &mut Vec::new());
        }
        let kind = |at: usize| {
            let ([binned, other, long_binned, long], [binned_batches, other_batches]) =
                (spans[at], batch_spans[at]);
            let unbinned = RowSet { short: other, batches: other_batches, long };
            Kind {
                all: RowSet { short: binned, batches: binned_batches, long: long_binned }.join(unbinned),
                unbinned,
            }
        };
        let (bins, longest_bin) = joined.bins(n_colours, &places, &batch_places);
        Self {
            several_parents: kind(SEVERAL),
            few_parents: kind(FEW),
            docs: kind(DOCS),
            colours: (COLOURS..n_lists).map(kind).collect(),
            bins,
            longest_bin,
            list: joined.list,
        }
    }

    /// Documents in no bin.
    pub fn n_unbinned(&self) -> u32 {
        self.docs.unbinned.short.len + self.docs.unbinned.long.len
    }

    /// Every node: those with several parents, then those with few. Their long rows are those with several parents.
    pub fn every_node(&self) -> RowSet {
        let (several, few) = (self.several_parents.all, self.few_parents.all);
        RowSet {
            short: several.short.join(few.short),
            batches: several.batches.join(few.batches),
            long: several.long,
        }
    }

    /// The records of a span, where the array begins with these rows.
    fn records(&self, span: Span) -> &[[u32; 2]] {
        &self.list[span.begin as usize..][..span.len as usize]
    }

    /// The rows of documents for which `keep` holds, to stand at `begin` of the same array; without nodes with few parents and documents
    /// unless `with_all`. Bins keep their documents up to the last one that is kept.
    pub fn filter(&self, chunk: &Chunk, begin: usize, with_all: bool, keep: impl Fn(u32) -> bool) -> Self {
        let mut kept = Lists::default();
        kept.clear(self.colours.len());
        let kinds = [&self.several_parents, &self.few_parents, &self.docs].into_iter().chain(&self.colours);
        let kinds: Vec<&Kind> = kinds.collect();
        let doc_of =
            |list: usize, row: u32| if list == DOCS { row } else { chunk.nodes[row as usize].doc_ix };
        let wanted = |list: usize| with_all || !matches!(list, FEW | DOCS);
        let push = |kept: &mut Lists, list: usize, rows: &[RowRecord], in_bin: bool| {
            for &[row, _] in rows {
                if keep(doc_of(list, row)) {
                    kept.lists[list].push(row, entries(chunk, list, row), in_bin);
                }
            }
        };
        for bin in self.records(self.bins) {
            let record = &self.list[bin[0] as usize..][..7 + self.colours.len()];
            let [docs, n_docs] = record[2];
            let Some(first) = (docs..docs + n_docs).find(|&doc| keep(doc)) else { continue };
            let last = (docs..docs + n_docs).rfind(|&doc| keep(doc)).unwrap_or(first);
            for list in (0..kinds.len()).filter(|&list| wanted(list)) {
                match list {
                    DOCS => {
                        for [from, to] in [record[5], record[6]] {
                            push(&mut kept, list, &self.list[from as usize..to as usize], true);
                        }
                    }
                    _ => {
                        let [from, to] = record[match list {
                            SEVERAL => 3,
                            FEW => 4,
                            colour => 7 + colour - COLOURS,
                        }];
                        for &[first, size] in &self.list[from as usize..to as usize] {
                            let rows = &self.list[first as usize..][..size as usize % 65_536];
                            push(&mut kept, list, rows, true);
                        }
                    }
                }
            }
            let (from, to) = (chunk.docs[first as usize], chunk.docs[last as usize + 1]);
            kept.close(Bin {
                docs: [first, last + 1 - first],
                nodes: [from.node_begin, to.node_begin - from.node_begin],
                edges: [from.edge_begin, to.edge_begin - from.edge_begin],
                rows: Vec::new(),
            });
        }
        for (list, kind) in kinds.iter().enumerate().filter(|&(list, _)| wanted(list)) {
            for span in [kind.unbinned.short, kind.unbinned.long] {
                push(&mut kept, list, self.records(span), false);
            }
        }
        Self::join(&[(&kept, [0; 3])], self.colours.len(), begin)
    }
}

fn entries(chunk: &Chunk, list: usize, row: u32) -> Entries {
    let row = row as usize;
    if list == DOCS {
        let n_nodes = chunk.docs[row + 1].node_begin - chunk.docs[row].node_begin;
        return Entries { n_edges: n_nodes, n_slots: 0 };
    }
    let (node, next) = (chunk.nodes[row], chunk.nodes[row + 1]);
    let n_slots = if list < COLOURS { 0 } else { next.slot_begin - node.slot_begin };
    Entries { n_edges: next.edge_begin - node.edge_begin, n_slots }
}

/// The array as it grows.
struct Joined<'a> {
    parts: &'a [PartLists<'a>],
    /// Where the array begins in the device's.
    begin: u32,
    list: Vec<[u32; 2]>,
}

impl Joined<'_> {
    fn place(&self) -> u32 {
        self.begin + self.list.len() as u32
    }

    fn span_from(&self, begin: u32) -> Span {
        Span { begin, len: self.place() - begin }
    }

    /// Adds one side of a list; `places` gets where each part's begins.
    fn rows(&mut self, at: usize, side: Side, places: &mut Vec<u32>) -> Span {
        let begin = self.place();
        for (lists, [first_doc, first_node, _]) in self.parts {
            places.push(self.place());
            let first = if at == DOCS { first_doc } else { first_node };
            self.list
                .extend(rows_of(&lists.lists[at], side).iter().map(|[row, entry]| [row + first, *entry]));
        }
        self.span_from(begin)
    }

    /// Adds the batches of short rows, whose records begin at `row_places`.
    fn batches(
        &mut self,
        at: usize,
        side: impl Fn(&List) -> &ShortRows,
        row_places: &[u32],
        places: &mut Vec<u32>,
    ) -> Span {
        let begin = self.place();
        for ((lists, _), place) in self.parts.iter().zip(row_places) {
            places.push(self.place());
            if at == DOCS {
                continue; // they have a thread or a workgroup each
            }
            let batch = |batch: &RowBatch| [batch.first + place, batch.n_rows + (batch.n_entries << 16)];
            self.list.extend(side(&lists.lists[at]).batches.iter().map(batch));
        }
        self.span_from(begin)
    }

    /// Adds the bins, and how long the longest takes.
    fn bins(&mut self, n_colours: usize, rows: &[[Vec<u32>; 4]], batches: &[Vec<u32>]) -> (Span, [u32; 2]) {
        let n_bins = self.parts.iter().map(|(lists, _)| lists.bins.len()).sum::<usize>() as u32;
        let (begin, n_words) = (self.place(), 7 + n_colours as u32);
        let records = (0..n_bins).map(|bin| [begin + n_bins + bin * n_words, n_colours as u32]);
        self.list.extend(records);
        let mut longest = [0; 2];
        for (part, (lists, [docs, nodes, edges])) in self.parts.iter().enumerate() {
            for bin in &lists.bins {
                let from = |[first, len]: [u32; 2], at: &u32| [first + at, len];
                self.list.extend([from(bin.nodes, nodes), from(bin.edges, edges), from(bin.docs, docs)]);
                let place = |[from, to]: [u32; 2], place: u32| [from + place, to + place];
                let of_list = |at: usize| place(bin.rows[at][0], batches[at][part]);
                self.list.extend([of_list(SEVERAL), of_list(FEW)]);
                let [short, long]: BinRows = bin.rows[DOCS];
                let docs = &rows[DOCS];
                self.list.extend([
                    place(short, docs[Side::Binned as usize][part]),
                    place(long, docs[Side::LongBinned as usize][part]),
                ]);
                self.list.extend((COLOURS..COLOURS + n_colours).map(of_list));
                let of_bin = n_iterations(lists, bin);
                longest = [0, 1].map(|part| longest[part].max(of_bin[part]));
            }
        }
        (Span { begin, len: n_bins }, longest)
    }
}

/// Iterations of a bin's threads at most, in one pass over its nodes and over its documents: a thread claims a row's entries, reads its
/// share of them, and adds the row up.
fn n_iterations(lists: &Lists, bin: &Bin) -> [u32; 2] {
    let batches = (0..lists.lists.len()).filter(|&at| at != DOCS).flat_map(|at| {
        let [[from, to], _] = bin.rows[at];
        &lists.lists[at].binned.batches[from as usize..to as usize]
    });
    let per_batch = |batch: &RowBatch| 4 + 3 * batch.n_entries.div_ceil(BATCH_ROWS) + 4 * batch.longest;
    // A step of a short document's search goes through its topics five times, one of a long one's in strides of a workgroup; each adds up
    // and compares among threads.
    let n_long = bin.rows[DOCS][1][1] - bin.rows[DOCS][1][0];
    let docs = 5 * LONG_ROW as u32 + BATCH_ROWS * (1 + n_long) + 5 * bin.nodes[1].div_ceil(BATCH_ROWS);
    [batches.map(per_batch).sum(), docs]
}
