//! Bytes that kernels should move per unit of work: what the second level of cache hands to and takes from waves of 32, counted on
//! documents of `dblp` by running the WGSL under a model of caches. `cargo test --test gpu traffic::per_unit` computes the table.

use super::Units;
use crate::estep::EStepOptions;
use crate::estep::device::Route;

/// What bytes are counted per.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A positive edge of a document that searches, a round.
    Searched,
    /// A positive edge, an alternation.
    EdgeUpdate,
    /// A positive edge, a start.
    Edge,
    /// A positive edge: once, however many starts are tried.
    SummedEdge,
}

/// A kernel, or several that share their work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Modelled {
    /// Its name.
    pub name: &'static str,
    /// What its bytes are counted per.
    pub unit: Unit,
    /// Bytes per unit, in the order of [`Route::ALL`]; none where it does not run.
    pub bytes: [Option<f64>; 4],
}

/// The table.
pub const BYTES_PER_UNIT: [Modelled; 15] = [
    Modelled { name: "flip_terms", unit: Unit::Searched, bytes: [Some(162.6), Some(59.8), None, None] },
    Modelled { name: "flip_gain", unit: Unit::Searched, bytes: [Some(47.0), Some(20.1), None, None] },
    Modelled { name: "flip_chain", unit: Unit::Searched, bytes: [Some(85.1), Some(45.3), None, None] },
    Modelled { name: "flip_best", unit: Unit::Searched, bytes: [Some(6.5), Some(6.5), None, None] },
    Modelled { name: "search", unit: Unit::Searched, bytes: [None, None, Some(123.3), Some(104.6)] },
    Modelled { name: "q_update", unit: Unit::EdgeUpdate, bytes: [Some(79.6), Some(30.1), None, None] },
    Modelled { name: "r_update", unit: Unit::EdgeUpdate, bytes: [Some(221.3), Some(64.5), None, None] },
    Modelled { name: "alternations", unit: Unit::EdgeUpdate, bytes: [None, None, Some(88.7), Some(59.5)] },
    Modelled { name: "init_q", unit: Unit::Edge, bytes: [Some(23.5), Some(23.5), Some(23.7), Some(23.5)] },
    Modelled { name: "init_r", unit: Unit::Edge, bytes: [Some(194.5), Some(64.6), Some(64.3), Some(64.3)] },
    Modelled {
        name: "node_bound",
        unit: Unit::Edge,
        bytes: [Some(82.3), Some(31.3), Some(31.3), Some(31.2)],
    },
    Modelled { name: "doc_bound", unit: Unit::Edge, bytes: [Some(1.0), Some(1.0), Some(1.0), Some(1.0)] },
    Modelled {
        name: "gradient",
        unit: Unit::SummedEdge,
        bytes: [Some(143.1), Some(48.1), Some(48.2), Some(48.1)],
    },
    Modelled {
        name: "edge_sums",
        unit: Unit::SummedEdge,
        bytes: [Some(22.9), Some(22.9), Some(22.9), Some(22.9)],
    },
    Modelled {
        name: "node_sums",
        unit: Unit::SummedEdge,
        bytes: [Some(6.4), Some(6.4), Some(6.4), Some(6.4)],
    },
];

impl Unit {
    /// How many there are in a run.
    fn count(self, units: &Units, options: &EStepOptions) -> f64 {
        let n_starts = options.start.tries().len().max(1);
        match self {
            Self::Searched => units.searched as f64,
            Self::EdgeUpdate => units.edge_updates as f64,
            Self::Edge => units.edges as f64 * n_starts as f64,
            Self::SummedEdge => units.edges as f64,
        }
    }
}

/// The row of the table that a kernel belongs to: in bins one kernel does the work of several, and those do what is in no bin.
pub(super) fn row_of(route: Option<Route>, kernel: &'static str) -> &'static str {
    if route.is_none_or(|route| route.bin_lanes().is_none()) {
        return kernel;
    }
    match kernel {
        "alternate" | "q_update" | "r_update" => "alternations",
        "search" | "flip_terms" | "flip_gain" | "flip_chain" | "flip_best" => "search",
        other => other,
    }
}

/// Bytes that a row of the table should move in a run; none where nothing was modelled: where documents are split into pieces, or an
/// alternation is more than a sweep and an iteration.
pub(super) fn bytes(route: Route, row: &str, units: &Units, options: &EStepOptions) -> Option<f64> {
    if options.clamp > 0 || (options.q_sweeps, options.r_iterations) != (1, 1) {
        return None;
    }
    let at = Route::ALL.iter().position(|other| *other == route)?;
    let modelled = BYTES_PER_UNIT.iter().find(|modelled| modelled.name == row)?;
    Some(modelled.bytes[at]? * modelled.unit.count(units, options))
}
