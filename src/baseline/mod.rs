//! Other models of the same documents, to compare with: mixtures, latent Dirichlet allocation, hierarchical Dirichlet processes,
//! matrix factorisation, sum-product networks.
//!
//! Every one is a [`Model`]: it learns by passes over the training documents, scores documents, and describes them by features. All
//! else is shared: corpora, splits, run folders, checkpoints, early stopping. A score says what it is ([`Score`]): scores of different
//! kinds are never in one column without that label.

mod bernoulli_lda;
mod config;
mod file;
mod hdp;
mod lda;
mod mixture;
mod model;
mod nmf;
mod options;
mod page;
mod record;
mod run;
mod scoring;
pub mod spn;
mod state;
mod tensors;
mod topics;

pub use bernoulli_lda::{BernoulliLda, BernoulliLdaOptions};
pub use config::{BaselineConfig, BaselineFacts};
pub(crate) use file::FORMAT;
pub use file::{Trained, baseline_file, load_baseline};
pub use hdp::{Hdp, HdpOptions, Sticks};
pub use lda::{Dirichlet, Lda, LdaOptions};
pub use mixture::{MixtureModel, MixtureOptions};
pub use model::{Model, Pass, Score, Training};
pub use nmf::{Factors, Nmf, NmfOptions};
pub use options::ModelOptions;
pub use page::baseline_page;
pub use record::BaselineRecord;
pub use run::{BaselineChanges, BaselineOutcome, BaselineRun};
pub use scoring::{describe, estimates, mean_score, scores};
pub use state::Evaluation;
pub use tensors::Tensors;
pub use topics::{Completion, Local, Svi, SviOptions, Variance, completion};
