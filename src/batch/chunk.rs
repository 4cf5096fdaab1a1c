//! A chunk: whole reduction blocks of packed documents, with what a device needs besides: the rows its threads stand
//! for, and an inverse index from the nodes a block touches to their places in the chunk.
//!
//! A positive node comes with all of its edges, so the index lists nodes, not edges: edge j of a touched node has its
//! terms at `nodes[position].edge_begin + j`, over all positions of the node.

use super::layout::{Batch, DocRecord, EdgeRecord, NodeRecord, TouchedRecord};
use super::rows::{LONG_ROW, Rows};
use crate::network::Graph;
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
    /// Joins packed documents into one chunk; each of `blocks` lists the parts of one reduction block. The index is made only
    /// where gradients are wanted.
    pub fn join(graph: &Graph, first_item: usize, blocks: &[&[Batch]], gradients: bool) -> Self {
        let mut chunk = Self::default();
        let mut colour_ends = Vec::new();
        for parts in blocks {
            let first_doc = chunk.docs.len();
            for part in *parts {
                let n_nodes = chunk.nodes.len() as u32;
                chunk.append(part);
                colour_ends.extend(part.colour_ends.iter().map(|end| end + n_nodes));
            }
            chunk.blocks.push(Block { docs: first_doc..chunk.docs.len(), touched: [0..0, 0..0] });
        }
        chunk.items = first_item..first_item + chunk.docs.len();
        let (node_end, edge_end, doc_ix) =
            (chunk.nodes.len() as u32, chunk.edges.len() as u32, chunk.docs.len() as u32);
        chunk.docs.push(DocRecord {
            node_begin: node_end,
            token_begin: node_end,
            edge_begin: edge_end,
            count: 0,
        });
        chunk.nodes.push(NodeRecord { id: u32::MAX, edge_begin: edge_end, slot_begin: edge_end, doc_ix });
        chunk.rows = Rows::new(&chunk.docs, &chunk.nodes, &colour_ends, graph.n_colours());
        if gradients {
            chunk.index(graph);
        }
        chunk
    }

    fn append(&mut self, part: &Batch) {
        let (n_docs, n_nodes, n_edges) =
            (self.docs.len() as u32, self.nodes.len() as u32, self.edges.len() as u32);
        self.docs.extend(part.docs[..part.n_docs()].iter().map(|doc| DocRecord {
            node_begin: doc.node_begin + n_nodes,
            token_begin: doc.token_begin + n_nodes,
            edge_begin: doc.edge_begin + n_edges,
            count: doc.count,
        }));
        self.nodes.extend(part.nodes[..part.n_nodes()].iter().map(|node| NodeRecord {
            id: node.id,
            edge_begin: node.edge_begin + n_edges,
            slot_begin: node.slot_begin + n_edges,
            doc_ix: node.doc_ix + n_docs,
        }));
        let moved =
            |edge: &EdgeRecord| EdgeRecord { parent: edge.parent + n_nodes, slot: edge.slot + n_edges };
        self.edges.extend(part.edges.iter().map(moved));
    }

    /// Number of documents.
    pub fn n_docs(&self) -> usize {
        self.docs.len().saturating_sub(1)
    }

    /// Number of positive nodes.
    pub fn n_nodes(&self) -> usize {
        self.nodes.len().saturating_sub(1)
    }

    /// Number of positive edges.
    pub fn n_edges(&self) -> usize {
        self.edges.len()
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
            + 8 * (self.edges.len() + self.touched.len() + self.touched_ids.len())
            + 4 * (self.rows.list.len() + self.edge_owners.len() + self.positions.len())
    }

    /// Makes the inverse index, blocks in parallel.
    fn index(&mut self, graph: &Graph) {
        let (docs, nodes) = (&self.docs, &self.nodes);
        let indices: Vec<BlockIndex> = self
            .blocks
            .par_iter()
            .map_init(
                || vec![0u32; graph.n_nodes()],
                |counts, block| BlockIndex::new(docs, nodes, &block.docs, counts),
            )
            .collect();
        let mut ends = TouchedRecord { position_begin: 0, edge_begin: 0 };
        for side in 0..2 {
            for (index, block) in indices.iter().zip(&mut self.blocks) {
                let begin = self.touched_ids.len();
                for node in index.sides[side].clone() {
                    let (id, positions) = (index.ids[node], index.positions(node));
                    let n_edges = graph.edges_into(id as usize).len() as u32;
                    self.touched.push(ends);
                    self.edge_owners
                        .extend(std::iter::repeat_n(self.touched_ids.len() as u32, n_edges as usize));
                    self.touched_ids.push(id);
                    let count = |&at: &u32| self.docs[self.nodes[at as usize].doc_ix as usize].count;
                    self.touched_docs.push(positions.iter().map(count).sum());
                    self.positions.extend_from_slice(positions);
                    ends.position_begin += positions.len() as u32;
                    ends.edge_begin += n_edges;
                }
                block.touched[side] = begin..self.touched_ids.len();
            }
        }
        self.touched.push(ends);
    }
}

/// The nodes that one block touches, short lists first, and their positions.
struct BlockIndex {
    ids: Vec<u32>,
    ends: Vec<u32>,
    positions: Vec<u32>,
    sides: [Range<usize>; 2],
}

impl BlockIndex {
    /// A counting sort of the block's nodes by their number; `counts` holds a zero for every node of the network.
    fn new(docs: &[DocRecord], nodes: &[NodeRecord], block: &Range<usize>, counts: &mut [u32]) -> Self {
        let range = docs[block.start].node_begin as usize..docs[block.end].node_begin as usize;
        let nodes = &nodes[range.clone()];
        let mut ids = Vec::new();
        for node in nodes {
            let count = &mut counts[node.id as usize];
            if *count == 0 {
                ids.push(node.id);
            }
            *count += 1;
        }
        ids.sort_unstable();
        let (short, mut long): (Vec<u32>, Vec<u32>) =
            ids.iter().partition(|&&id| counts[id as usize] as usize <= LONG_ROW);
        let n_short = short.len();
        ids = short;
        ids.append(&mut long);
        let mut begin = 0;
        for &id in &ids {
            (begin, counts[id as usize]) = (begin + counts[id as usize], begin);
        }
        let mut positions = vec![0; nodes.len()];
        for (at, node) in (range.start as u32..).zip(nodes) {
            let place = &mut counts[node.id as usize];
            positions[*place as usize] = at;
            *place += 1;
        }
        let ends = ids.iter().map(|&id| std::mem::take(&mut counts[id as usize])).collect();
        let n_ids = ids.len();
        Self { ids, ends, positions, sides: [0..n_short, n_short..n_ids] }
    }

    fn positions(&self, node: usize) -> &[u32] {
        let begin = if node == 0 { 0 } else { self.ends[node - 1] };
        &self.positions[begin as usize..self.ends[node] as usize]
    }
}
