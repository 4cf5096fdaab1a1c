//! The table of kernels: one row each, with its WGSL, its arrays and its twin on the CPU.

use super::twin::{self, Memory};
use super::{Args, Array, wgsl};

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
    /// The same, where several threads may write one element.
    Share,
}

/// A kernel.
pub struct Kernel {
    /// Its name: the stem of its file, its entry point, its twin.
    pub name: &'static str,
    /// Its arrays; binding 0 holds the arguments, the arrays follow in this order (`wgsl.rs` declares them).
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
        let (constants, bindings) = (wgsl::constants(), wgsl::bindings(self.arrays));
        let before = [rows, &constants, &bindings, lanes];
        before.iter().chain(self.parts).copied().collect::<Vec<_>>().join("\n")
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

/// Makes the kernels: `NAME = file_and_twin(shared parts): reads arrays; writes arrays; shares arrays;`.
macro_rules! kernels {
    ($(
        #[doc = $doc:literal]
        $kernel:ident = $name:ident($($part:ident),*):
            reads $($read:ident)*; writes $($written:ident)*; $(shares $($shared:ident)*;)?
    )*) => {
        $(
            #[doc = $doc]
            pub static $kernel: Kernel = Kernel {
                name: stringify!($name),
                arrays: &[
                    $((Array::$read, Access::Read),)*
                    $((Array::$written, Access::Write),)*
                    $($((Array::$shared, Access::Share),)*)?
                ],
                twin: twin::$name,
                parts: &[$($part,)* include_str!(concat!("../../../shaders/", stringify!($name), ".wgsl"))],
            };
        )*

        /// All kernels.
        pub static KERNELS: [&Kernel; [$(stringify!($name)),*].len()] = [$(&$kernel),*];
    };
}

kernels! {
    /// Where q begins.
    INIT_Q = init_q(SEARCH):
        reads Nodes Rows; writes NodeState; shares DocState;
    /// What every node says to its parents in a search.
    FLIP_TERMS = flip_terms(NUMERIC, NETWORK, SEARCH):
        reads Network Nodes Edges Rows DocState; writes NodeState Slots;
    /// What a flip of every topic gains.
    FLIP_GAIN = flip_gain(NETWORK, SEARCH):
        reads Network Nodes Rows Slots DocState; writes NodeState;
    /// What topics gain that come on with their ancestors.
    FLIP_CHAIN = flip_chain(SEARCH):
        reads Nodes Edges Rows Slots DocState; writes NodeState EdgeState;
    /// One step of every document's search.
    FLIP_BEST = flip_best(SEARCH):
        reads Docs Nodes Edges Rows EdgeState; writes DocState NodeState DocBounds;
    /// Where r begins, and the edge terms there.
    INIT_R = init_r(NUMERIC, NETWORK, EDGE_TERMS):
        reads Network Nodes Edges Rows; writes NodeState EdgeState Slots; shares DocState;
    /// One iteration of Eq. 10 at every node.
    R_UPDATE = r_update(NUMERIC, NETWORK, EDGE_TERMS):
        reads Network Nodes Edges Rows DocState; writes NodeState EdgeState Slots;
    /// q of the topics of one colour.
    Q_UPDATE = q_update(NUMERIC, NETWORK):
        reads Network Nodes Edges Rows Slots; writes NodeState; shares DocState;
    /// Every node's terms of the bound.
    NODE_BOUND = node_bound(NUMERIC, NETWORK):
        reads Network Nodes Edges Rows Slots; writes NodeState;
    /// Every document's bound.
    DOC_BOUND = doc_bound():
        reads Docs Rows NodeState; writes DocBounds;
    /// q and r of documents, kept.
    KEEP = keep():
        reads Nodes Rows DocState NodeState EdgeState; writes Kept;
    /// q and r of documents as they were kept.
    RESTORE = restore():
        reads Nodes Rows DocState Kept; writes NodeState EdgeState;
    /// Every edge's, leak's and topic's gradient terms.
    GRADIENT = gradient(NUMERIC, NETWORK):
        reads Network Docs Nodes Edges Rows DocBounds; writes NodeState EdgeState;
    /// N of every touched edge.
    EDGE_SUMS = edge_sums():
        reads Nodes Touched EdgeOwners Positions EdgeState; writes EdgeTotals;
    /// Q and L of every touched node.
    NODE_SUMS = node_sums():
        reads Touched Positions NodeState; writes NodeTotals;
}
