//! Parameters of networks of two layers without inference: by the method of moments.
//!
//! Halpern and Sontag, "Unsupervised Learning of Noisy-Or Bayesian Networks" (UAI 2013). Where the graph is known and sparse enough, all
//! parameters follow from how often one, two and three tokens are absent together. A [`Schedule`] says from which sets, after which other
//! parameters; a [`Certificate`] what is learned at which depth and what is left; [`Counts`] are made in one pass over documents; and
//! [`estimate()`] computes the parameters with standard errors. No start, no local optima.
//!
//! ```
//! use noisyor::{Monitor, Network, Weights};
//! use noisyor::moments::{Exact, Schedule, ScheduleOptions, Weighting, estimate};
//! use noisyor::network::load_bytes;
//!
//! let graph = "flu\tfever\nflu\tcough\nflu\taches\n";
//! let graph = load_bytes("graph.tsv".as_ref(), graph.as_bytes())?.graph;
//! let truth = Weights { leak: vec![0.3, 0.1, 0.1, 0.1], edge: vec![1.0, 2.0, 0.5] };
//! let schedule = Schedule::of(&graph, &ScheduleOptions::default(), &Monitor::default())?;
//! let moments = Exact::new(&graph, &truth);
//! let learned = estimate(&graph, &schedule, &moments, Weighting::Pooled, &Monitor::default())?;
//! let weights = learned.weights(&graph, &moments, None);
//! assert!(weights.edge.iter().zip(&truth.edge).all(|(found, true_)| (found - true_).abs() < 1e-9));
//! # Ok::<(), noisyor::Error>(())
//! ```

mod anchor;
mod average;
mod certificate;
mod count;
mod estimate;
pub mod formula;
mod pool;
mod rank;
mod schedule;
mod search;
mod source;
mod start;
mod structure;
mod suggest;
mod table;

pub use average::{CLIP, Estimate};
pub use certificate::{Certificate, LeftTopic, MAX_UNKNOWN, Remainder, Round, Why};
pub use count::Counts;
pub use estimate::{Learned, Weighting, estimate};
pub use rank::{UnknownTopic, Unknowns};
pub use schedule::{Kind, Order, Schedule, ScheduleOptions, Step};
pub use source::{ByGroup, Exact, GROUPS, Source, Table};
pub(crate) use start::start_weights;
pub use suggest::{MAX_TOKENS, SuggestedTopic, suggest};
pub use table::Group;
