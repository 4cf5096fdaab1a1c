//! Sum-product networks (Poon and Domingos 2011): exact likelihoods, marginals and samples by one pass over a graph of sums and products.
//!
//! ```text
//! V_leaf = w[x],   V_product = prod_j V_j,   V_sum = sum_j w_kj V_j,   p(x) = V_root(x)
//! ```
//!
//! Structures are learned in the manner of LearnSPN (`learn/`), weights by collapsed variational Bayes (Zhao, Adel, Gordon and Amos 2016), EM
//! or gradient ascent (`fit.rs`). `evaluate.rs` has the two passes over the graph, for tiles of documents; `plain.rs` the same for
//! one row, as the mathematics has it.

mod evaluate;
mod fit;
mod lanes;
mod learn;
mod model;
mod options;
pub mod params;
pub mod plain;
mod program;
mod query;
mod save;
mod start;
mod structure;
mod sums;
mod tile;

pub use fit::online_step;
pub use model::Spn;
pub use options::{Clustering, Fit, PriorMean, SpnOptions, Start};
pub use program::Program;
pub use structure::{Node, Structure};
pub use sums::{Evaluator, Sums};
