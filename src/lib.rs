//! Training and inference of noisy-OR Bayesian networks: hierarchical topic models of binary data.
//!
//! Hidden topics switch on tokens and other topics through a directed acyclic graph; a node stays off with
//! probability `exp(-w0 - sum of w over its active parents)`. Training is variational, after Ji et al.,
//! "Variational Training for Large-Scale Noisy-OR Bayesian Networks" (UAI 2019).
//!
//! The flow: a corpus is aligned with a graph, documents become local models packed into batches, an E-step
//! computes q, r, the bound and the gradient sums of each batch, and the weight step uses the sums.
//!
//! Where to begin:
//!
//! | to | see |
//! |---|---|
//! | read a corpus, build one in memory, split it | [`corpus`]: [`corpus::read()`], [`Corpus`], [`corpus::split`] |
//! | match its tokens with those of a model | [`corpus::align`] |
//! | make, load and save a network | [`network`]: [`Graph::build`], [`network::load_model`], [`network::save`] |
//! | learn a graph from documents, choose its size | [`structure::learn_graph`], [`capacity::Chooser`] |
//! | make a run with a folder, checkpoints and a model, and resume it | [`run`]: [`run::RunConfig`], [`run::Run`] |
//! | train without a folder, or from a model | [`train`](mod@train): [`train::train`], [`update`] |
//! | run the E-step, on the CPU or a GPU | [`estep`]: [`estep::EStep`], [`estep::cpu::CpuEStep`], `estep::gpu` |
//! | find the topics of documents | [`infer::run`], [`infer::Inference`] |
//! | estimate likelihoods, bound them by sampling | [`likelihood::estimate`], [`mcmc::bounds`] |
//! | find the topics of cases with certainty, with unknown tokens | [`posterior`]: [`posterior::Engine`] |
//! | train another model on the same documents, to compare with | [`baseline`]: [`baseline::BaselineRun`], [`baseline::Model`] |
//! | sample topics | [`mcmc`] |
//! | learn the parameters of a two-layer network without inference | [`moments`]: [`moments::Schedule`], [`moments::estimate()`] |
//! | train on several machines | [`ranks`]: [`ranks::Ranks`], [`ranks::Team`] |
//! | tell what was learned | [`report::topic_tree`], [`explain::Explainer`] |
//!
//! `examples/` has a program for training and inference in memory, one with an E-step loop of its own, one that scores the documents of
//! a file, and one that reads documents from a source of its own.
//!
//! # Features
//!
//! All but the last are on by default. `gpu`: the E-step on a GPU, by wgpu. `parquet`: Parquet files. `cli`: the program and what only it needs;
//! a library leaves it out (`default-features = false`). `mpi`: ranks by MPI.
//!
//! # Messages
//!
//! Errors name options by their ids in backticks, as in "lower `min_df`": a field of an options struct, or what the program has as
//! a flag of that name.
//!
//! ```
//! use noisyor::corpus::{Corpus, align};
//! use noisyor::Monitor;
//! use noisyor::estep::cpu::CpuEStep;
//! use noisyor::network::load_bytes;
//! use noisyor::train::{Begin, TrainOptions, train};
//!
//! // A graph by name: one topic that switches on two words, another for two more.
//! let graph = "sport\tball\nsport\tteam\nmusic\tsong\nmusic\tband\n";
//! let loaded = load_bytes("graph.tsv".as_ref(), graph.as_bytes())?;
//! // Documents as token numbers: ball 0, team 1, song 2, band 3.
//! let corpus = Corpus::from_tokens((0..100).map(|i| if i % 2 == 0 { vec![0, 1] } else { vec![2, 3] }));
//! let alignment = align(&corpus, &loaded.names.tokens);
//!
//! let options = TrainOptions { valid: 0.2, ..TrainOptions::default() }.check()?;
//! let mut estep = CpuEStep::new();
//! let outcome =
//!     train(Begin::New(&loaded.graph, None), alignment.docs(&corpus), &options, &mut estep, &Monitor::default(), &mut |_| Ok(()))?;
//! let bound = outcome.metrics.and_then(|metrics| metrics.valid_elbo).unwrap();
//! assert!(bound > -1.5, "two equally likely kinds of document cost log 2 each, and a little more: {bound}");
//! # Ok::<(), noisyor::Error>(())
//! ```

#![warn(clippy::missing_errors_doc)]

pub mod baseline;
pub mod capacity;
pub mod corpus;
mod error;
pub mod estep;
pub mod explain;
mod faults;
#[doc(hidden)]
pub mod gamma;
pub mod infer;
pub mod likelihood;
mod local;
mod markup;
pub mod mcmc;
pub mod moments;
pub mod network;
mod npy;
pub mod posterior;
pub mod ranks;
pub mod report;
pub mod run;
mod sealed;
pub mod structure;
mod tensor_file;
pub mod train;
pub mod update;

pub use corpus::Corpus;
pub use error::{Error, Result};
pub use faults::Check;
pub use monitor::Monitor;
pub use network::{Graph, Names, Network, Weights};

// Public for the program, tests and benchmarks alone: these may change at any time.
#[doc(hidden)]
pub mod batch;
#[doc(hidden)]
pub mod bench;
#[doc(hidden)]
pub mod columns;
#[doc(hidden)]
pub mod compare;
#[doc(hidden)]
pub mod exact;
#[doc(hidden)]
pub mod files;
#[doc(hidden)]
pub mod lock;
#[doc(hidden)]
pub mod mixture;
#[doc(hidden)]
pub mod monitor;
#[doc(hidden)]
pub mod numeric;
#[doc(hidden)]
pub mod plan;
#[doc(hidden)]
pub mod rng;
#[doc(hidden)]
pub mod synth;
