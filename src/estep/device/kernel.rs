//! The table of kernels: one row each, with its WGSL, its arrays and its twin on the CPU.

use super::twin::{self, Memory};
use super::{Args, Array, wgsl};

/// Threads to a workgroup, in all kernels but those that work on bins.
pub const WORKGROUP: u32 = 64;
/// Workgroups along one dimension at most, on any adapter.
pub const MAX_GROUPS: u32 = 65_535;

/// Who works on what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lanes {
    /// One thread on a row.
    Thread,
    /// One workgroup on a row.
    Group,
    /// One workgroup on a batch of rows, entries dealt out to its threads.
    Stream,
    /// One workgroup of 16 KB on a bin of documents.
    SmallBin,
    /// One workgroup of 32 KB on a bin of documents.
    LargeBin,
}

impl Lanes {
    /// Workgroups for so many rows, batches or bins.
    pub fn n_groups(self, n_rows: u32) -> u32 {
        match self {
            Self::Thread => n_rows.div_ceil(WORKGROUP),
            _ => n_rows,
        }
    }

    /// Threads to a workgroup. Those of large bins have more, because few of them fit into a card's memory for workgroups.
    pub fn n_threads(self) -> u32 {
        match self {
            Self::SmallBin => 128,
            Self::LargeBin => 256,
            _ => WORKGROUP,
        }
    }

    /// Words of q and m in a bin.
    pub fn bin_words(self) -> u32 {
        // Besides the pool: 4,096 bytes of a batch's entries, 1,024 of its rows, 256 of doc_state, and a few words.
        match self {
            Self::SmallBin => 2_700,
            Self::LargeBin => 6_800,
            _ => 0,
        }
    }

    /// The least workgroup memory it takes, in bytes.
    pub fn workgroup_bytes(self) -> u32 {
        match self {
            Self::LargeBin => 32_768,
            _ => 16_384,
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
    /// What its file is put together with.
    parts: &'static [&'static str],
    /// The same of its variant for batches, where it has one.
    stream: Option<&'static [&'static str]>,
    /// Whether it works on bins, and on nothing else.
    on_bins: bool,
}

impl Kernel {
    /// Who may work on its rows.
    pub fn lanes(&self) -> &'static [Lanes] {
        match (self.on_bins, self.stream) {
            (true, _) => &[Lanes::SmallBin, Lanes::LargeBin],
            (false, Some(_)) => &[Lanes::Thread, Lanes::Group, Lanes::Stream],
            (false, None) => &[Lanes::Thread, Lanes::Group],
        }
    }

    /// The whole WGSL source, for one of its [`lanes`](Self::lanes).
    pub fn source(&self, lanes: Lanes) -> String {
        let (lanes_part, parts) = match lanes {
            Lanes::Thread => (include_str!("../../../shaders/shared/thread_rows.wgsl"), self.parts),
            Lanes::Group => (include_str!("../../../shaders/shared/group_rows.wgsl"), self.parts),
            Lanes::Stream => (
                include_str!("../../../shaders/shared/stream_rows.wgsl"),
                self.stream.expect("a kernel with a variant for batches"),
            ),
            Lanes::SmallBin | Lanes::LargeBin => ("", self.parts),
        };
        let rows = include_str!("../../../shaders/shared/rows.wgsl");
        let (constants, bindings) = (wgsl::constants(lanes), wgsl::bindings(self.arrays));
        let before = [rows, &constants, &bindings, lanes_part];
        before.iter().chain(parts).copied().collect::<Vec<_>>().join("\n")
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Names the files of `shaders/shared` as constants.
macro_rules! shared_parts {
    ($($part:ident = $name:literal;)*) => {
        $(const $part: &str = include_str!(concat!("../../../shaders/shared/", $name, ".wgsl"));)*
    };
}

shared_parts! {
    ALWAYS_AT_WORK = "always_at_work";
    AT_WORK = "at_work";
    AT_WORK_SHARED = "at_work_shared";
    BATCH = "batch";
    BEST_FLIP = "best_flip";
    BOUND_TERM = "bound_term";
    CHILDREN = "children";
    EDGE_TERMS = "edge_terms";
    FLIP_CHAIN_BATCH = "flip_chain_batch";
    FLIP_GAIN_BATCH = "flip_gain_batch";
    FLIP_TERMS_BATCH = "flip_terms_batch";
    GRADIENT_TERMS = "gradient_terms";
    IN_POOL = "in_pool";
    LIFTS = "lifts";
    MIXED_ROWS = "mixed_rows";
    M_IN_STORAGE = "m_in_storage";
    NETWORK = "network";
    NUMERIC = "numeric";
    PARAMS = "params";
    Q_BATCH = "q_batch";
    Q_IN_STORAGE = "q_in_storage";
    Q_STEP = "q_step";
    ROW_LIFTS = "row_lifts";
    ROW_SCALES = "row_scales";
    R_BATCH = "r_batch";
    R_STEP = "r_step";
    SEARCH = "search";
    SET_M = "set_m";
    WORTH = "worth";
}

/// Makes the kernels: `NAME = file_and_twin(shared parts): reads arrays; writes arrays; shares arrays;`, and `stream(shared parts);` for a
/// variant for batches. Those behind `on bins:` work on bins.
macro_rules! kernels {
    (@stream $name:ident) => { None };
    (@stream $name:ident $($part:ident)*) => {
        Some(&[$($part,)* include_str!(concat!("../../../shaders/stream/", stringify!($name), ".wgsl"))])
    };
    (@kernel $on_bins:literal
        #[doc = $doc:literal]
        $kernel:ident = $name:ident($($part:ident),*):
            reads $($read:ident)*; writes $($written:ident)*; $(shares $($shared:ident)*;)?
            $(stream($($stream:ident),*);)?
    ) => {
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
            stream: kernels!(@stream $name $($($stream)*)?),
            on_bins: $on_bins,
        };
    };
    ($(
        #[doc = $doc:literal]
        $kernel:ident = $name:ident($($part:ident),*):
            reads $($read:ident)*; writes $($written:ident)*; $(shares $($shared:ident)*;)?
            $(stream($($stream:ident),*);)?
    )*
    on bins:
    $(
        #[doc = $bin_doc:literal]
        $bin_kernel:ident = $bin_name:ident($($bin_part:ident),*):
            reads $($bin_read:ident)*; writes $($bin_written:ident)*;
    )*) => {
        $(kernels!(@kernel false
            #[doc = $doc]
            $kernel = $name($($part),*): reads $($read)*; writes $($written)*; $(shares $($shared)*;)? $(stream($($stream),*);)?
        );)*
        $(kernels!(@kernel true
            #[doc = $bin_doc]
            $bin_kernel = $bin_name($($bin_part),*): reads $($bin_read)*; writes $($bin_written)*;
        );)*

        /// All kernels.
        pub static KERNELS: [&Kernel; [$(stringify!($name),)* $(stringify!($bin_name)),*].len()] =
            [$(&$kernel,)* $(&$bin_kernel),*];
    };
}

kernels! {
    /// Where q begins.
    INIT_Q = init_q(NETWORK):
        reads Network Nodes Rows; writes NodeState EdgeState; shares DocState;
    /// What every node says to its parents in a search.
    FLIP_TERMS = flip_terms(NUMERIC, PARAMS, SEARCH, LIFTS):
        reads Nodes Edges Rows DocState EdgeState; writes NodeState Slots;
        stream(NUMERIC, PARAMS, SEARCH, LIFTS, AT_WORK, BATCH, ROW_LIFTS, FLIP_TERMS_BATCH);
    /// What a flip of every topic gains.
    FLIP_GAIN = flip_gain(PARAMS, CHILDREN, SEARCH, WORTH):
        reads Nodes Edges Rows Slots DocState; writes NodeState;
        stream(PARAMS, CHILDREN, SEARCH, WORTH, AT_WORK, BATCH, FLIP_GAIN_BATCH);
    /// What topics gain that come on with their ancestors.
    FLIP_CHAIN = flip_chain(SEARCH):
        reads Nodes Edges Rows Slots DocState; writes NodeState EdgeState;
        stream(SEARCH, AT_WORK, BATCH, FLIP_CHAIN_BATCH);
    /// One step of every document's search.
    FLIP_BEST = flip_best(SEARCH, BEST_FLIP):
        reads Docs Nodes Edges Rows EdgeState; writes DocState NodeState;
    /// Where r begins, and the edge terms there.
    INIT_R = init_r(NUMERIC, NETWORK, PARAMS, EDGE_TERMS):
        reads Network Nodes Edges Rows; writes NodeState EdgeState Slots; shares DocState;
        stream(NUMERIC, NETWORK, PARAMS, EDGE_TERMS, ALWAYS_AT_WORK, BATCH, ROW_SCALES);
    /// One iteration of Eq. 10 at every node.
    R_UPDATE = r_update(NUMERIC, NETWORK, PARAMS, EDGE_TERMS, R_STEP):
        reads Network Nodes Edges Rows DocState; writes NodeState EdgeState Slots;
        stream(NUMERIC, NETWORK, PARAMS, EDGE_TERMS, R_STEP, AT_WORK, Q_IN_STORAGE, SET_M, BATCH, R_BATCH);
    /// q of the topics of one colour.
    Q_UPDATE = q_update(NUMERIC, PARAMS, CHILDREN, AT_WORK_SHARED, Q_IN_STORAGE, Q_STEP):
        reads Nodes Edges Rows Slots; writes NodeState; shares DocState;
        stream(NUMERIC, PARAMS, CHILDREN, AT_WORK_SHARED, Q_IN_STORAGE, M_IN_STORAGE, Q_STEP, BATCH, Q_BATCH);
    /// Every node's terms of the bound.
    NODE_BOUND = node_bound(NUMERIC, NETWORK, PARAMS, BOUND_TERM):
        reads Network Nodes Edges Rows Slots; writes NodeState;
        stream(NUMERIC, NETWORK, PARAMS, BOUND_TERM, ALWAYS_AT_WORK, BATCH);
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
    GRADIENT = gradient(NUMERIC, NETWORK, PARAMS, GRADIENT_TERMS):
        reads Network Docs Nodes Edges Rows DocBounds; writes NodeState EdgeState;
        stream(NUMERIC, NETWORK, PARAMS, GRADIENT_TERMS, ALWAYS_AT_WORK, BATCH, ROW_SCALES);
    /// N of every touched edge.
    EDGE_SUMS = edge_sums():
        reads Nodes Touched EdgeOwners Positions EdgeState; writes EdgeTotals;
    /// Q and L of every touched node.
    NODE_SUMS = node_sums():
        reads Touched Positions NodeState; writes NodeTotals;

    on bins:
    /// Several alternations of a bin's documents.
    ALTERNATE = alternate(NUMERIC, NETWORK, PARAMS, CHILDREN, EDGE_TERMS, R_STEP, Q_STEP, IN_POOL, BATCH, Q_BATCH, R_BATCH):
        reads Network Nodes Edges Rows; writes DocState NodeState EdgeState Slots;
    /// Several rounds of the search for a bin's documents.
    SEARCH_BIN = search(
        NUMERIC, PARAMS, CHILDREN, SEARCH, LIFTS, WORTH, MIXED_ROWS, BEST_FLIP, BATCH, ROW_LIFTS, FLIP_TERMS_BATCH,
        FLIP_GAIN_BATCH, FLIP_CHAIN_BATCH
    ):
        reads Docs Nodes Edges Rows; writes DocState NodeState EdgeState Slots;
}
