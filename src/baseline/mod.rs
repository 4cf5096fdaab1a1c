//! Other models of the same documents, to compare with: mixtures, latent Dirichlet allocation, hierarchical Dirichlet processes,
//! matrix factorisation, sum-product networks.
//!
//! Every one is a [`Model`]: it learns by passes over the training documents, scores documents, and describes them by features. All
//! else is shared: corpora, splits, run folders, checkpoints, early stopping. A score says what it is ([`Score`]): scores of different
//! kinds are never in one column without that label.

mod bernoulli_lda;
mod hdp;
mod lda;
mod model;
mod nmf;
mod tensors;
mod topics;

pub use bernoulli_lda::{BernoulliLda, BernoulliLdaOptions};
pub use hdp::{Hdp, HdpOptions, Sticks};
pub use lda::{Dirichlet, Lda, LdaOptions};
pub use model::{Model, Pass, Score, Training};
pub use nmf::{Factors, Nmf, NmfOptions};
pub use tensors::Tensors;
pub use topics::{Completion, Local, Svi, SviOptions, Variance, completion};
