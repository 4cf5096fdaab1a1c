//! The arrays of a chunk in host memory.

use crate::batch::{DocRecord, EdgeRecord, NodeRecord, TouchedRecord};
use crate::estep::device::{Args, Array, EdgeState};
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use std::mem::swap;

/// One field per [`Array`].
#[derive(Debug, Clone, Default)]
#[allow(missing_docs)]
pub struct Memory {
    pub network: Vec<u32>,
    pub docs: Vec<DocRecord>,
    pub nodes: Vec<NodeRecord>,
    pub edges: Vec<EdgeRecord>,
    pub rows: Vec<[u32; 2]>,
    pub touched: Vec<TouchedRecord>,
    pub edge_owners: Vec<u32>,
    pub positions: Vec<u32>,
    pub doc_state: Vec<u32>,
    pub node_state: Vec<f32>,
    pub edge_state: Vec<EdgeState>,
    pub slots: Vec<f32>,
    pub doc_bounds: Vec<f32>,
    pub edge_totals: Vec<f32>,
    pub node_totals: Vec<[f32; 2]>,
    pub kept: Vec<f32>,
}

impl Memory {
    /// The child of a slot.
    #[inline(always)]
    pub(super) fn child_of(&self, args: &Args, slot: usize) -> u32 {
        let pair = self.edges[args.n_edges as usize + slot / 2];
        [pair.parent, pair.slot][slot % 2]
    }

    /// An array's bytes.
    pub fn bytes(&self, array: Array) -> &[u8] {
        match array {
            Array::Network => cast_slice(&self.network),
            Array::Docs => cast_slice(&self.docs),
            Array::Nodes => cast_slice(&self.nodes),
            Array::Edges => cast_slice(&self.edges),
            Array::Rows => cast_slice(&self.rows),
            Array::Touched => cast_slice(&self.touched),
            Array::EdgeOwners => cast_slice(&self.edge_owners),
            Array::Positions => cast_slice(&self.positions),
            Array::DocState => cast_slice(&self.doc_state),
            Array::NodeState => cast_slice(&self.node_state),
            Array::EdgeState => cast_slice(&self.edge_state),
            Array::Slots => cast_slice(&self.slots),
            Array::DocBounds => cast_slice(&self.doc_bounds),
            Array::EdgeTotals => cast_slice(&self.edge_totals),
            Array::NodeTotals => cast_slice(&self.node_totals),
            Array::Kept => cast_slice(&self.kept),
        }
    }

    /// Exchanges an array with another memory's.
    pub fn swap(&mut self, other: &mut Self, array: Array) {
        match array {
            Array::Network => swap(&mut self.network, &mut other.network),
            Array::Docs => swap(&mut self.docs, &mut other.docs),
            Array::Nodes => swap(&mut self.nodes, &mut other.nodes),
            Array::Edges => swap(&mut self.edges, &mut other.edges),
            Array::Rows => swap(&mut self.rows, &mut other.rows),
            Array::Touched => swap(&mut self.touched, &mut other.touched),
            Array::EdgeOwners => swap(&mut self.edge_owners, &mut other.edge_owners),
            Array::Positions => swap(&mut self.positions, &mut other.positions),
            Array::DocState => swap(&mut self.doc_state, &mut other.doc_state),
            Array::NodeState => swap(&mut self.node_state, &mut other.node_state),
            Array::EdgeState => swap(&mut self.edge_state, &mut other.edge_state),
            Array::Slots => swap(&mut self.slots, &mut other.slots),
            Array::DocBounds => swap(&mut self.doc_bounds, &mut other.doc_bounds),
            Array::EdgeTotals => swap(&mut self.edge_totals, &mut other.edge_totals),
            Array::NodeTotals => swap(&mut self.node_totals, &mut other.node_totals),
            Array::Kept => swap(&mut self.kept, &mut other.kept),
        }
    }

    /// An array's bytes, at least so many of them.
    pub fn bytes_mut(&mut self, array: Array, n_bytes: usize) -> &mut [u8] {
        match array {
            Array::Network => room(&mut self.network, n_bytes),
            Array::Docs => room(&mut self.docs, n_bytes),
            Array::Nodes => room(&mut self.nodes, n_bytes),
            Array::Edges => room(&mut self.edges, n_bytes),
            Array::Rows => room(&mut self.rows, n_bytes),
            Array::Touched => room(&mut self.touched, n_bytes),
            Array::EdgeOwners => room(&mut self.edge_owners, n_bytes),
            Array::Positions => room(&mut self.positions, n_bytes),
            Array::DocState => room(&mut self.doc_state, n_bytes),
            Array::NodeState => room(&mut self.node_state, n_bytes),
            Array::EdgeState => room(&mut self.edge_state, n_bytes),
            Array::Slots => room(&mut self.slots, n_bytes),
            Array::DocBounds => room(&mut self.doc_bounds, n_bytes),
            Array::EdgeTotals => room(&mut self.edge_totals, n_bytes),
            Array::NodeTotals => room(&mut self.node_totals, n_bytes),
            Array::Kept => room(&mut self.kept, n_bytes),
        }
    }
}

fn room<T: Pod>(field: &mut Vec<T>, n_bytes: usize) -> &mut [u8] {
    let len = n_bytes.div_ceil(size_of::<T>());
    if field.len() < len {
        field.resize(len, T::zeroed());
    }
    cast_slice_mut(field)
}
