//! A chunk: whole reduction blocks of packed documents, with what a device needs besides: the rows its threads stand
//! for, and an inverse index from the nodes a block touches to their places in the chunk.
//!
//! A positive node comes with all of its edges, so the index lists nodes, not edges: edge j of a touched node has its
//! terms at `nodes[position].edge_begin + j`, over all positions of the node.

use super::layout::{Batch, DocRecord, EdgeRecord, NodeRecord, TouchedRecord};
use super::lists::Lists;
use super::rows::{LONG_ROW, Rows};
use crate::network::Graph;
use bytemuck::Pod;
use rayon::prelude::*;
use std::ops::Range;

/// Packed documents, ready for a device.
#[derive(Debug, Clone, Default)]
pub struct Chunk {
    /// Which of the items these are.
    pub items: Range<usize>,
    /// Documents, and a last record with the ends.
    pub docs: Vec<DocRecord>,
    /// Positive nodes, and a last record with the ends.
    pub nodes: Vec<NodeRecord>,
    /// Positive edges by child.
    pub edges: Vec<EdgeRecord>,
    /// The child of every slot; an even number of them.
    pub slot_children: Vec<u32>,
    /// What the threads stand for.
    pub rows: Rows,
    /// The reduction blocks.
    pub blocks: Vec<Block>,
    /// Touched nodes: the short ones of every block, then the long ones of every block, then a record with the ends.
    pub touched: Vec<TouchedRecord>,
    /// Their numbers in the network.
    pub touched_ids: Vec<u32>,
    /// How many documents of the block hold each of them, identical documents counted.
    pub touched_docs: Vec<u32>,
    /// The touched node of every touched edge.
    pub edge_owners: Vec<u32>,
    /// The nodes of the chunk that are each touched node, in the order of the documents.
    pub positions: Vec<u32>,
}

/// One reduction block of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Its documents.
    pub docs: Range<usize>,
    /// Its touched nodes: those with short lists of positions, and those with long ones.
    pub touched: [Range<usize>; 2],
}

impl Chunk {
    /// Joins packed parts into one chunk; each of `blocks` lists the parts of one reduction block. The index is made only where
    /// gradients are wanted.
    pub(super) fn join(graph: &Graph, first_item: usize, blocks: &[&[Part]], gradients: bool) -> Self {
        let parts: Vec<&Part> = blocks.iter().copied().flatten().collect();
        let mut at = Offsets::default();
        let mut offsets: Vec<Offsets> = Vec::with_capacity(parts.len());
        for part in &parts {
            offsets.push(at);
            at.docs += part.batch.n_docs() as u32;
            at.nodes += part.batch.n_nodes() as u32;
            at.edges += part.batch.n_edges() as u32;
        }
        let mut chunk = Self {
            items: first_item..first_item + at.docs as usize,
            docs: gather(
                &parts,
                &offsets,
                at.docs,
                |batch| &batch.docs[..batch.n_docs()],
                |doc, at| DocRecord {
                    node_begin: doc.node_begin + at.nodes,
                    token_begin: doc.token_begin + at.nodes,
                    edge_begin: doc.edge_begin + at.edges,
                    count: doc.count,
                },
            ),
            nodes: gather(
                &parts,
                &offsets,
                at.nodes,
                |batch| &batch.nodes[..batch.n_nodes()],
                |node, at| NodeRecord {
                    id: node.id,
                    edge_begin: node.edge_begin + at.edges,
                    slot_begin: node.slot_begin + at.edges,
                    doc_ix: node.doc_ix + at.docs,
                },
            ),
            edges: gather(
                &parts,
                &offsets,
                at.edges,
                |batch| &batch.edges,
                |edge, at| EdgeRecord { parent: edge.parent + at.nodes, slot: edge.slot + at.edges },
            ),
            ..Self::default()
        };
        chunk.slot_children = gather(
            &parts,
            &offsets,
            at.edges,
            |batch| &batch.slot_children[..],
            |child, at| child + at.nodes,
        );
        chunk.slot_children.resize(chunk.edges.len().next_multiple_of(2), 0);
        let Offsets { docs, nodes, edges } = at;
        chunk.docs.push(DocRecord { node_begin: nodes, token_begin: nodes, edge_begin: edges, count: 0 });
        chunk.nodes.push(NodeRecord { id: u32::MAX, edge_begin: edges, slot_begin: edges, doc_ix: docs });
        let lists: Vec<_> = parts
            .iter()
            .zip(&offsets)
            .map(|(part, at)| (&part.lists, [at.docs, at.nodes, at.edges]))
            .collect();
        chunk.rows = Rows::join(&lists, graph.n_colours(), 0);
        let mut first_doc = 0;
        for block in blocks {
            let end = first_doc + block.iter().map(|part| part.batch.n_docs()).sum::<usize>();
            chunk.blocks.push(Block { docs: first_doc..end, touched: [0..0, 0..0] });
            first_doc = end;
        }
        if gradients {
            chunk.index(graph);
        }
        chunk
    }

    /// Number of documents.
    pub fn n_docs(&self) -> usize {
        self.docs.len().saturating_sub(1)
    }

    /// The topics of a document, as nodes of the chunk.
    pub fn topics(&self, doc_ix: usize) -> Range<usize> {
        self.docs[doc_ix].node_begin as usize..self.docs[doc_ix].token_begin as usize
    }

    /// Number of positive nodes.
    pub fn n_nodes(&self) -> usize {
        self.nodes.len().saturating_sub(1)
    }

    /// Number of positive edges.
    pub fn n_edges(&self) -> usize {
        self.edges.len()
    }

    /// Documents, nodes and edges.
    pub fn size(&self) -> usize {
        self.n_docs() + self.n_nodes() + self.n_edges()
    }

    /// Entries of the longest row that a node or a document has.
    pub fn longest_row(&self) -> usize {
        let long = self.rows.colours.iter().chain([&self.rows.several_parents]).map(|kind| kind.all.long);
        let rows = long.flat_map(|span| &self.rows.list[span.begin as usize..][..span.len as usize]);
        let n_entries = |&[row, _]: &[u32; 2]| {
            let (node, next) = (self.nodes[row as usize], self.nodes[row as usize + 1]);
            (next.edge_begin - node.edge_begin + next.slot_begin - node.slot_begin) as usize
        };
        let docs = self.docs.windows(2).map(|pair| (pair[1].node_begin - pair[0].node_begin) as usize);
        rows.map(n_entries).chain(docs).max().unwrap_or(0)
    }

    /// Number of touched edges, over all blocks.
    pub fn n_touched_edges(&self) -> usize {
        self.edge_owners.len()
    }

    /// The edges of touched node `at`, as touched edges.
    pub fn touched_edges(&self, at: usize) -> Range<usize> {
        self.touched[at].edge_begin as usize..self.touched[at + 1].edge_begin as usize
    }

    /// Bytes of memory.
    pub fn n_bytes(&self) -> usize {
        16 * (self.docs.len() + self.nodes.len())
            + 8 * (self.edges.len() + self.touched.len() + self.touched_ids.len()) // their numbers and documents, too
            + 8 * self.rows.list.len()
            + 4 * (self.slot_children.len() + self.edge_owners.len() + self.positions.len())
    }

    /// Makes the inverse index, blocks in parallel.
    fn index(&mut self, graph: &Graph) {
        let (docs, nodes) = (&self.docs, &self.nodes);
        let scratch = || vec![[0u32; 2]; graph.n_nodes()];
        let index =
            |counts: &mut Vec<[u32; 2]>, block: &Block| index_block(graph, docs, nodes, &block.docs, counts);
        let indices: Vec<[Index; 2]> = self.blocks.par_iter().map_init(scratch, index).collect();
        for side in 0..2 {
            for (indices, block) in indices.iter().zip(&mut self.blocks) {
                let index = &indices[side];
                let (n_touched, n_positions) = (self.touched.len() as u32, self.positions.len() as u32);
                let n_edges = self.edge_owners.len() as u32;
                block.touched[side] = n_touched as usize..n_touched as usize + index.ids.len();
                self.touched.extend(index.touched.iter().map(|record| TouchedRecord {
                    position_begin: record.position_begin + n_positions,
                    edge_begin: record.edge_begin + n_edges,
                }));
                self.touched_ids.extend_from_slice(&index.ids);
                self.touched_docs.extend_from_slice(&index.docs);
                self.edge_owners.extend(index.edge_owners.iter().map(|owner| owner + n_touched));
                self.positions.extend_from_slice(&index.positions);
            }
        }
        self.touched.push(TouchedRecord {
            position_begin: self.positions.len() as u32,
            edge_begin: self.edge_owners.len() as u32,
        });
    }
}

/// Documents packed at once, and their rows.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) batch: Batch,
    pub(super) lists: Lists,
}

/// What stands before a part in its chunk.
#[derive(Debug, Clone, Copy, Default)]
struct Offsets {
    docs: u32,
    nodes: u32,
    edges: u32,
}

/// One array of all parts, with room for one record more; parts in parallel, each record moved to its place in the chunk.
fn gather<T: Pod + Send + Sync>(
    parts: &[&Part],
    offsets: &[Offsets],
    len: u32,
    array: impl for<'a> Fn(&'a Batch) -> &'a [T] + Sync,
    moved: impl Fn(&T, &Offsets) -> T + Sync,
) -> Vec<T> {
    let mut all = Vec::with_capacity(len as usize + 1);
    all.resize(len as usize, T::zeroed());
    let mut rest = &mut all[..];
    let mut places = Vec::with_capacity(parts.len());
    for (part, offsets) in parts.iter().zip(offsets) {
        let from = array(&part.batch);
        let (to, behind) = rest.split_at_mut(from.len());
        rest = behind;
        places.push((from, offsets, to));
    }
    places.into_par_iter().for_each(|(from, offsets, to)| {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = moved(from, offsets));
    });
    all
}

/// One block's index, of its short or of its long lists; fields as in [`Chunk`], counted from the block's own begin.
#[derive(Default)]
struct Index {
    ids: Vec<u32>,
    docs: Vec<u32>,
    touched: Vec<TouchedRecord>,
    edge_owners: Vec<u32>,
    positions: Vec<u32>,
}

/// A counting sort of the block's nodes by their number. `counts` holds zeros for every node of the network, and does again in the
/// end.
fn index_block(
    graph: &Graph,
    docs: &[DocRecord],
    nodes: &[NodeRecord],
    block: &Range<usize>,
    counts: &mut [[u32; 2]],
) -> [Index; 2] {
    let mut ids = Vec::new();
    for doc in block.clone() {
        for node in &nodes[docs[doc].node_begin as usize..docs[doc + 1].node_begin as usize] {
            let [n_positions, n_docs] = &mut counts[node.id as usize];
            if *n_positions == 0 {
                ids.push(node.id);
            }
            *n_positions += 1;
            *n_docs += docs[doc].count;
        }
    }
    ids.sort_unstable();
    let mut sides = [Index::default(), Index::default()];
    let mut n_positions = [0; 2];
    for id in ids {
        let [n, n_docs] = counts[id as usize];
        let side = usize::from(n as usize > LONG_ROW);
        let index = &mut sides[side];
        let (owner, n_edges) = (index.ids.len() as u32, graph.edges_into(id as usize).len());
        index.touched.push(TouchedRecord {
            position_begin: n_positions[side],
            edge_begin: index.edge_owners.len() as u32,
        });
        index.edge_owners.extend(std::iter::repeat_n(owner, n_edges));
        index.ids.push(id);
        index.docs.push(n_docs);
        // From here on: the next place, and the side.
        counts[id as usize] = [n_positions[side], side as u32];
        n_positions[side] += n;
    }
    for (index, n) in sides.iter_mut().zip(n_positions) {
        index.positions = vec![0; n as usize];
    }
    let range = docs[block.start].node_begin..docs[block.end].node_begin;
    for (at, node) in range.clone().zip(&nodes[range.start as usize..range.end as usize]) {
        let [place, side] = &mut counts[node.id as usize];
        sides[*side as usize].positions[*place as usize] = at;
        *place += 1;
    }
    sides.iter().flat_map(|index| &index.ids).for_each(|&id| counts[id as usize] = [0; 2]);
    sides
}
