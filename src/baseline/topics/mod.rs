//! What topic models of words have in common: LDA, hierarchical Dirichlet processes and matrix factorisation learn Dirichlet
//! distributions over the words of topics by stochastic variational inference ([`Svi`]), from the words that are active in a document.
//! They differ in what a document is ([`Local`]).

mod checks;
mod completion;
mod control;
#[cfg(test)]
pub(super) mod golden;
mod lambda;
mod local;
mod membership;
mod options;
mod rows;
mod step;
mod sums;
mod svi;
#[cfg(test)]
mod tests;
mod variance;

pub(super) use super::Tensors;
pub(super) use checks::{MAX_TOPICS, cells, check_range, n_of, within};
pub use completion::{Completion, completion};
pub(super) use control::coefficient;
pub(super) use local::Found;
pub use local::Local;
pub(super) use membership::{Membership, Prior, Until};
pub use options::SviOptions;
pub(super) use rows::Rows;
pub(super) use step::Step;
pub use svi::Svi;
pub use variance::Variance;

/// Names of topics, in order.
pub(super) fn names(n_topics: usize) -> Vec<String> {
    (0..n_topics).map(|topic| format!("topic{topic}")).collect()
}

/// Numbers over their sum; equal shares where there is nothing.
pub(super) fn shares(gamma: &[f64]) -> impl Iterator<Item = f64> + '_ {
    let (sum, equal) = (gamma.iter().sum::<f64>(), 1.0 / gamma.len() as f64);
    gamma.iter().map(move |gamma| if sum > 0.0 { gamma / sum } else { equal })
}
