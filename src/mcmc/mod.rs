//! Markov chains over the topics of documents: Gibbs sampling, EM by its samples, and a lower bound of the likelihood by it.
//!
//! A [`Configuration`] is a state x of a document's topics; [`Joint`] knows `log p(x, y)` and the log-odds of every topic given the
//! others. [`Sampling`] runs a chain in each of many documents and sums what EM counts ([`sums`]): training by `StepRule::Mcmc`.
//! [`bounds`] sums p(x, y) over the different states that a chain met or passed by.

mod bound;
mod configuration;
mod joint;
pub(crate) mod met;
mod options;
mod sampling;
#[doc(hidden)] // for tests
pub mod sums;

pub use bound::{BoundOptions, Bounds, DocBound, FLIPS, bounds};
#[doc(hidden)] // for tests
pub use configuration::Configuration;
#[doc(hidden)] // for tests
pub use joint::{Joint, Shared};
pub use options::{Augmentation, McmcOptions, Model};
pub use sampling::Sampling;
