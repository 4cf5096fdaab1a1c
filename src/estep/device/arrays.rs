//! The arrays that kernels read and write, and their records on the Rust side; tests/gpu/layout.rs compares them with WGSL.

use bytemuck::{Pod, Zeroable};

/// An array of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(usize)]
pub enum Array {
    /// Weights, then four words a node: slope, bias, tail, first edge. The only one that chunks share.
    Network,
    /// `DocRecord`s of the chunk.
    Docs,
    /// `NodeRecord`s.
    Nodes,
    /// `EdgeRecord`s, then the child of every slot, two in a record.
    Edges,
    /// Lists of rows.
    Rows,
    /// `TouchedRecord`s.
    Touched,
    /// The touched node of every touched edge.
    EdgeOwners,
    /// Nodes of the chunk by touched node.
    Positions,
    /// Per document: 1 + the last alternation or round of a search in which it moved. Between two starts: whether it is concerned.
    DocState,
    /// Seven sections, each a number per node: q; log-odds, in the end `count q`, or `weight q`; kappa, then the bound's term, in the end the
    /// leak's; marks of clamped topics; slope, bias and first edge, copied from the network. In a search: q; what a topic that is off is
    /// worth, or the part of one that is on in the log joint; what a node gains by its parents, then what a topic's flip gains; marks; the
    /// parameters. Behind them, by documents: in a search, the log joint of the configuration that is kept.
    NodeState,
    /// [`EdgeState`]s.
    EdgeState,
    /// m of the edge to every slot's child.
    Slots,
    /// The bound of every document; before the sums over pieces, their weights.
    DocBounds,
    /// N of every touched edge.
    EdgeTotals,
    /// Q and L of every touched node.
    NodeTotals,
    /// q of every node, then r of every edge, at the best of several starts so far; only there if several are tried.
    Kept,
}

impl Array {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::Network,
        Self::Docs,
        Self::Nodes,
        Self::Edges,
        Self::Rows,
        Self::Touched,
        Self::EdgeOwners,
        Self::Positions,
        Self::DocState,
        Self::NodeState,
        Self::EdgeState,
        Self::Slots,
        Self::DocBounds,
        Self::EdgeTotals,
        Self::NodeTotals,
        Self::Kept,
    ];

    /// Those of packed documents. Only the host writes them: all of them when a chunk is loaded, the room behind the lists of rows later.
    /// The others but the network are the state of a flight.
    pub const PACKED: [Self; 7] =
        [Self::Docs, Self::Nodes, Self::Edges, Self::Rows, Self::Touched, Self::EdgeOwners, Self::Positions];

    /// Whether it is one of [`Self::PACKED`].
    pub fn is_packed(self) -> bool {
        Self::PACKED.contains(&self)
    }

    /// Its name in the shaders.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Docs => "docs",
            Self::Nodes => "nodes",
            Self::Edges => "edges",
            Self::Rows => "rows",
            Self::Touched => "touched",
            Self::EdgeOwners => "edge_owners",
            Self::Positions => "positions",
            Self::DocState => "doc_state",
            Self::NodeState => "node_state",
            Self::EdgeState => "edge_state",
            Self::Slots => "slots",
            Self::DocBounds => "doc_bounds",
            Self::EdgeTotals => "edge_totals",
            Self::NodeTotals => "node_totals",
            Self::Kept => "kept",
        }
    }

    /// The type of its elements in the shaders.
    pub const fn element(self) -> &'static str {
        match self {
            Self::Docs => "DocRecord",
            Self::Nodes => "NodeRecord",
            Self::Edges => "EdgeRecord",
            Self::Touched => "TouchedRecord",
            Self::EdgeState => "EdgeState",
            Self::Rows => "vec2<u32>",
            Self::Network | Self::EdgeOwners | Self::Positions | Self::DocState => "u32",
            Self::NodeState | Self::Slots | Self::DocBounds | Self::EdgeTotals | Self::Kept => "f32",
            Self::NodeTotals => "vec2<f32>",
        }
    }
}

/// What changes on a positive edge.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Pod, Zeroable)]
pub struct EdgeState {
    /// r. In a search, at a topic's first edge: the edge from the parent that comes on with it, counted from the first, or -1.
    pub r: f32,
    /// In a search: w. While q and r alternate: the slope of a in r, Eq. 10's numerator without q and r. Then: the edge's gradient term.
    pub term: f32,
}

/// Buffers that take the place of smaller ones are made this much larger than asked for, in sixteenths, so that the next slightly
/// larger chunk needs no new ones.
const SPARE_16THS: u64 = 2;

/// Bytes of a buffer that is made for an array of so many in place of one of `old` bytes. The first has no spare room: packed
/// documents that stay need none.
pub fn grown(old: u64, n_bytes: u64) -> u64 {
    let n_bytes = n_bytes.max(16);
    let spare = if old > 0 { n_bytes / 16 * SPARE_16THS } else { 0 };
    (n_bytes + spare).next_multiple_of(16)
}

/// Bytes of a buffer that is made for the arguments of so many bytes.
pub fn grown_args(n_bytes: u64) -> u64 {
    2 * n_bytes
}

/// Bytes of a buffer that is made to read so many back.
pub fn grown_staging(n_bytes: u64) -> u64 {
    (n_bytes + n_bytes / 4).next_multiple_of(16)
}

/// Arguments of a dispatch.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Pod, Zeroable)]
pub struct Args {
    /// First row, batch or bin.
    pub row_begin: u32,
    /// Number of rows, batches or bins.
    pub n_rows: u32,
    /// Workgroups along x: dispatches of more than 65,535 workgroups are folded.
    pub groups_x: u32,
    /// Nodes of the chunk.
    pub n_nodes: u32,
    /// Where the node parameters begin in the network.
    pub params_begin: u32,
    /// Topics of the network.
    pub n_topics: u32,
    /// Alternations since T = 1, or rounds of a search.
    pub alternation: u32,
    /// 1: accelerated r iterations; 0: Eq. 10 as it stands.
    pub accelerate: u32,
    /// A topic that moves by more keeps its document at work.
    pub tolerance: f32,
    /// 1 / T.
    pub inverse_temperature: f32,
    /// q of topics to begin with.
    pub q_start: f32,
    /// 1: documents are pieces, with clamped topics and with weights that stand in [`Array::DocBounds`] before the sums. Of `init_q`:
    /// the host has marked topics.
    pub pieces: u32,
    /// Of kernels that work on bins: alternations or rounds, one after another. Of `init_q`: whether rounds of a search follow.
    pub n_steps: u32,
    /// Layers of topics.
    pub n_levels: u32,
    /// q sweeps of an alternation.
    pub q_sweeps: u32,
    /// r iterations of an alternation.
    pub r_iterations: u32,
    /// Edges of the chunk.
    pub n_edges: u32,
}
