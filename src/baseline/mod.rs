//! Other models of the same documents, to compare with: mixtures, latent Dirichlet allocation, hierarchical Dirichlet processes,
//! matrix factorisation, sum-product networks.
//!
//! Every one is a [`Model`]: it learns by passes over the training documents, scores documents, and describes them by features. All
//! else is shared: corpora, splits, run folders, checkpoints, early stopping. A score says what it is ([`Score`]): scores of different
//! kinds are never in one column without that label.

mod model;
pub mod spn;
mod tensors;

pub use model::{Model, Pass, Score, Training};
pub use tensors::Tensors;
