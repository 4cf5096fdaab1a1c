//! What packed documents look like: positive nodes and edges, and what a block of them touches. No E-step is run.

use crate::batch::{BLOCK_DOCS, Batch, ChunkLimits, Packer};
use crate::corpus::{Docs, Item};
use crate::network::Graph;

/// Blocks that are packed.
const BLOCKS: usize = 8;

/// Means over some blocks of documents.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shape {
    /// Positive nodes of a document.
    pub(super) nodes: f64,
    /// Positive edges of a document.
    pub(super) edges: f64,
    /// Nodes and edges of the largest document seen.
    pub(super) largest: usize,
    /// Different nodes that a block holds, and edges into them.
    pub(super) touched: (f64, f64),
    /// Documents of a block.
    pub(super) block_docs: f64,
}

impl Shape {
    /// Packs some blocks of the items, evenly spread.
    pub(super) fn of(graph: &Graph, docs: &Docs<'_>, items: &[Item], full: bool) -> Self {
        let (mut packer, mut batch) = (Packer::new(graph, full), Batch::default());
        let mut seen = vec![usize::MAX; graph.n_nodes()];
        let (mut shape, mut n_docs, mut n_blocks) = (Self::default(), 0, 0);
        let blocks: Vec<&[Item]> = items.chunks(BLOCK_DOCS).collect();
        for block in blocks.iter().step_by(blocks.len().div_ceil(BLOCKS).max(1)) {
            for item in *block {
                packer.pack(graph, docs, std::slice::from_ref(item), usize::MAX, &mut batch);
                shape.nodes += batch.n_nodes() as f64;
                shape.edges += batch.n_edges() as f64;
                shape.largest = shape.largest.max(batch.size());
                for node in &batch.nodes[..batch.n_nodes()] {
                    let id = node.id as usize;
                    if std::mem::replace(&mut seen[id], n_blocks) != n_blocks {
                        shape.touched.0 += 1.0;
                        shape.touched.1 += graph.edges_into(id).len() as f64;
                    }
                }
            }
            n_docs += block.len();
            n_blocks += 1;
        }
        let (per_doc, per_block) = (1.0 / n_docs.max(1) as f64, 1.0 / n_blocks.max(1) as f64);
        shape.nodes *= per_doc;
        shape.edges *= per_doc;
        shape.touched = (shape.touched.0 * per_block, shape.touched.1 * per_block);
        shape.block_docs = n_docs as f64 * per_block;
        shape
    }

    /// Documents, nodes and edges of so many packed documents.
    pub(super) fn size(&self, n_items: usize) -> f64 {
        n_items as f64 * (1.0 + self.nodes + self.edges)
    }

    /// Chunks for a device that batches of so many documents each make.
    pub(super) fn n_chunks(&self, n_items: usize, n_batches: usize, limits: &ChunkLimits) -> usize {
        let per_batch = self.size(n_items) / n_batches.max(1) as f64 / limits.chunk_size as f64;
        n_batches * (per_batch.ceil() as usize).max(1)
    }
}
