//! The table of kernels: one row each, with its WGSL, its arrays and its twin on the CPU.

use super::twin::{self, Memory};
use super::{Args, Array};

/// Threads to a workgroup, in all kernels.
pub const WORKGROUP: u32 = 64;
/// Workgroups along one dimension at most, on any adapter.
pub const MAX_GROUPS: u32 = 65_535;

/// Who works on a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lanes {
    /// One thread.
    Thread,
    /// One workgroup.
    Group,
}

impl Lanes {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Thread, Self::Group];

    /// Workgroups for so many rows.
    pub fn n_groups(self, n_rows: u32) -> u32 {
        match self {
            Self::Thread => n_rows.div_ceil(WORKGROUP),
            Self::Group => n_rows,
        }
    }
}

/// Whether a kernel writes an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It reads it.
    Read,
    /// It reads and writes it.
    Write,
}

use Access::{Read, Write};

/// A kernel.
pub struct Kernel {
    /// Its name: the stem of its file, its entry point, its twin.
    pub name: &'static str,
    /// Its arrays; binding 0 holds the arguments, the arrays follow in this order.
    pub arrays: &'static [(Array, Access)],
    /// The same on the CPU, row by row.
    pub twin: fn(&mut Memory, Lanes, &Args),
    parts: &'static [&'static str],
}

impl Kernel {
    /// The whole WGSL source.
    pub fn source(&self, lanes: Lanes) -> String {
        let lanes = match lanes {
            Lanes::Thread => include_str!("../../../shaders/shared/thread_rows.wgsl"),
            Lanes::Group => include_str!("../../../shaders/shared/group_rows.wgsl"),
        };
        let rows = include_str!("../../../shaders/shared/rows.wgsl");
        [rows, lanes].iter().chain(self.parts).copied().collect::<Vec<_>>().join("\n")
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const NUMERIC: &str = include_str!("../../../shaders/shared/numeric.wgsl");
const NETWORK: &str = include_str!("../../../shaders/shared/network.wgsl");
const EDGE_TERMS: &str = include_str!("../../../shaders/shared/edge_terms.wgsl");
const SEARCH: &str = include_str!("../../../shaders/shared/search.wgsl");
const CLAMPS: &str = include_str!("../../../shaders/shared/clamps.wgsl");

/// Where q begins.
pub static INIT_Q: Kernel = Kernel {
    name: "init_q",
    arrays: &[(Array::Nodes, Read), (Array::Rows, Read), (Array::DocState, Write), (Array::NodeState, Write)],
    twin: twin::init_q,
    parts: &[SEARCH, CLAMPS, include_str!("../../../shaders/init_q.wgsl")],
};

/// What every node says to its parents in a search.
pub static FLIP_TERMS: Kernel = Kernel {
    name: "flip_terms",
    arrays: &[
        (Array::Network, Read),
        (Array::Nodes, Read),
        (Array::Edges, Read),
        (Array::Rows, Read),
        (Array::DocState, Read),
        (Array::NodeState, Write),
        (Array::Slots, Write),
    ],
    twin: twin::flip_terms,
    parts: &[NUMERIC, NETWORK, SEARCH, include_str!("../../../shaders/flip_terms.wgsl")],
};

/// What a flip of every topic gains.
pub static FLIP_GAIN: Kernel = Kernel {
    name: "flip_gain",
    arrays: &[
        (Array::Network, Read),
        (Array::Nodes, Read),
        (Array::Rows, Read),
        (Array::Slots, Read),
        (Array::DocState, Read),
        (Array::NodeState, Write),
    ],
    twin: twin::flip_gain,
    parts: &[NETWORK, SEARCH, CLAMPS, include_str!("../../../shaders/flip_gain.wgsl")],
};

/// What topics gain that come on with their ancestors.
pub static FLIP_CHAIN: Kernel = Kernel {
    name: "flip_chain",
    arrays: &[
        (Array::Nodes, Read),
        (Array::Edges, Read),
        (Array::Rows, Read),
        (Array::Slots, Read),
        (Array::DocState, Read),
        (Array::NodeState, Write),
        (Array::EdgeState, Write),
    ],
    twin: twin::flip_chain,
    parts: &[SEARCH, include_str!("../../../shaders/flip_chain.wgsl")],
};

/// One step of every document's search.
pub static FLIP_BEST: Kernel = Kernel {
    name: "flip_best",
    arrays: &[
        (Array::Docs, Read),
        (Array::Nodes, Read),
        (Array::Edges, Read),
        (Array::Rows, Read),
        (Array::EdgeState, Read),
        (Array::DocState, Write),
        (Array::NodeState, Write),
        (Array::DocBounds, Write),
    ],
    twin: twin::flip_best,
    parts: &[SEARCH, CLAMPS, include_str!("../../../shaders/flip_best.wgsl")],
};

/// Where r begins, and the edge terms there.
pub static INIT_R: Kernel = Kernel {
    name: "init_r",
    arrays: &[
        (Array::Network, Read),
        (Array::Nodes, Read),
        (Array::Edges, Read),
        (Array::Rows, Read),
        (Array::DocState, Write),
        (Array::NodeState, Write),
        (Array::EdgeState, Write),
        (Array::Slots, Write),
    ],
    twin: twin::init_r,
    parts: &[NUMERIC, NETWORK, EDGE_TERMS, include_str!("../../../shaders/init_r.wgsl")],
};

/// One iteration of Eq. 10 at every node.
pub static R_UPDATE: Kernel = Kernel {
    name: "r_update",
    arrays: &[
        (Array::Network, Read),
        (Array::Nodes, Read),
        (Array::Edges, Read),
        (Array::Rows, Read),
        (Array::DocState, Read),
        (Array::NodeState, Write),
        (Array::EdgeState, Write),
        (Array::Slots, Write),
    ],
    twin: twin::r_update,
    parts: &[NUMERIC, NETWORK, EDGE_TERMS, include_str!("../../../shaders/r_update.wgsl")],
};

/// q of the topics of one colour.
pub static Q_UPDATE: Kernel = Kernel {
    name: "q_update",
    arrays: &[
        (Array::Network, Read),
        (Array::Nodes, Read),
        (Array::Edges, Read),
        (Array::Rows, Read),
        (Array::Slots, Read),
        (Array::DocState, Write),
        (Array::NodeState, Write),
    ],
    twin: twin::q_update,
    parts: &[NUMERIC, NETWORK, CLAMPS, include_str!("../../../shaders/q_update.wgsl")],
};

/// Every node's terms of the bound.
pub static NODE_BOUND: Kernel = Kernel {
    name: "node_bound",
    arrays: &[
        (Array::Network, Read),
        (Array::Nodes, Read),
        (Array::Edges, Read),
        (Array::Rows, Read),
        (Array::Slots, Read),
        (Array::NodeState, Write),
    ],
    twin: twin::node_bound,
    parts: &[NUMERIC, NETWORK, include_str!("../../../shaders/node_bound.wgsl")],
};

/// Every document's bound.
pub static DOC_BOUND: Kernel = Kernel {
    name: "doc_bound",
    arrays: &[(Array::Docs, Read), (Array::Rows, Read), (Array::NodeState, Read), (Array::DocBounds, Write)],
    twin: twin::doc_bound,
    parts: &[include_str!("../../../shaders/doc_bound.wgsl")],
};

/// q and r of documents, kept.
pub static KEEP: Kernel = Kernel {
    name: "keep",
    arrays: &[
        (Array::Nodes, Read),
        (Array::Rows, Read),
        (Array::DocState, Read),
        (Array::NodeState, Read),
        (Array::EdgeState, Read),
        (Array::Kept, Write),
    ],
    twin: twin::keep,
    parts: &[include_str!("../../../shaders/keep.wgsl")],
};

/// q and r of documents as they were kept.
pub static RESTORE: Kernel = Kernel {
    name: "restore",
    arrays: &[
        (Array::Nodes, Read),
        (Array::Rows, Read),
        (Array::DocState, Read),
        (Array::Kept, Read),
        (Array::NodeState, Write),
        (Array::EdgeState, Write),
    ],
    twin: twin::restore,
    parts: &[include_str!("../../../shaders/restore.wgsl")],
};

/// Every edge's, leak's and topic's gradient terms.
pub static GRADIENT: Kernel = Kernel {
    name: "gradient",
    arrays: &[
        (Array::Network, Read),
        (Array::Docs, Read),
        (Array::Nodes, Read),
        (Array::Edges, Read),
        (Array::Rows, Read),
        (Array::NodeState, Write),
        (Array::EdgeState, Write),
        (Array::DocBounds, Read),
    ],
    twin: twin::gradient,
    parts: &[NUMERIC, NETWORK, include_str!("../../../shaders/gradient.wgsl")],
};

/// N of every touched edge.
pub static EDGE_SUMS: Kernel = Kernel {
    name: "edge_sums",
    arrays: &[
        (Array::Nodes, Read),
        (Array::Touched, Read),
        (Array::EdgeOwners, Read),
        (Array::Positions, Read),
        (Array::EdgeState, Read),
        (Array::EdgeTotals, Write),
    ],
    twin: twin::edge_sums,
    parts: &[include_str!("../../../shaders/edge_sums.wgsl")],
};

/// Q and L of every touched node.
pub static NODE_SUMS: Kernel = Kernel {
    name: "node_sums",
    arrays: &[
        (Array::Touched, Read),
        (Array::Positions, Read),
        (Array::NodeState, Read),
        (Array::NodeTotals, Write),
    ],
    twin: twin::node_sums,
    parts: &[include_str!("../../../shaders/node_sums.wgsl")],
};

/// All kernels.
pub static KERNELS: [&Kernel; 15] = [
    &INIT_Q,
    &FLIP_TERMS,
    &FLIP_GAIN,
    &FLIP_CHAIN,
    &FLIP_BEST,
    &INIT_R,
    &R_UPDATE,
    &Q_UPDATE,
    &NODE_BOUND,
    &DOC_BOUND,
    &KEEP,
    &RESTORE,
    &GRADIENT,
    &EDGE_SUMS,
    &NODE_SUMS,
];
