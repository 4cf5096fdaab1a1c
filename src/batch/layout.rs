//! The packed layout: plain old data, uploaded as it is.
//!
//! Positive nodes stand document by document: the topics of H_d by colour, then the active tokens. Positive
//! edges stand by child, in the graph's edge order: since every parent of a positive node is in H_d, a node's
//! edges are all of its edges in the network, and edge `edge_begin + j` of the batch is edge
//! `edges_into(id).start + j` of the network. Each topic also has a list of *slots*, one per positive edge
//! to a child; `edges[e].slot` is edge e's place in its parent's list, `slot_children` the child there.
//! A document's slots span the same range as its edges.

use bytemuck::{Pod, Zeroable};

/// One document. Its ends are the next record's begins.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct DocRecord {
    /// First node.
    pub node_begin: u32,
    /// First token among the nodes.
    pub token_begin: u32,
    /// First edge.
    pub edge_begin: u32,
    /// How many identical documents this one stands for.
    pub count: u32,
}

/// One positive node. Its ends are the next record's begins.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct NodeRecord {
    /// Node number in the network.
    pub id: u32,
    /// First edge into it.
    pub edge_begin: u32,
    /// First slot out of it.
    pub slot_begin: u32,
    /// Its document in the batch.
    pub doc_ix: u32,
}

/// One positive edge.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct EdgeRecord {
    /// The parent, as a node of the batch.
    pub parent: u32,
    /// The edge's place in the parent's list.
    pub slot: u32,
}

/// A node that a reduction block touches. Its ends are the next record's begins.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct TouchedRecord {
    /// First of its positions.
    pub position_begin: u32,
    /// First of its edges among the touched edges.
    pub edge_begin: u32,
}

/// Packed documents. `docs` and `nodes` end with one more record that holds only the ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// Documents, and a last record with the ends.
    pub docs: Vec<DocRecord>,
    /// Positive nodes, and a last record with the ends.
    pub nodes: Vec<NodeRecord>,
    /// Positive edges by child.
    pub edges: Vec<EdgeRecord>,
    /// The child of every slot, as a node of the batch.
    pub slot_children: Vec<u32>,
    /// Where each colour of each document ends, as a node of the batch: `n_docs * n_colours`.
    pub colour_ends: Vec<u32>,
    /// The network's edge for every edge, where topics were left out, so that a node's edges are not all of its edges in the network.
    pub edge_ids: Option<Vec<u32>>,
}

impl Batch {
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

    /// Documents, nodes and edges.
    pub fn size(&self) -> usize {
        self.n_docs() + self.n_nodes() + self.n_edges()
    }

    /// The topics of a document, as nodes of the batch.
    pub fn topics(&self, doc_ix: usize) -> std::ops::Range<usize> {
        self.docs[doc_ix].node_begin as usize..self.docs[doc_ix].token_begin as usize
    }
}
