//! Training and inference of noisy-OR Bayesian networks: hierarchical topic models of binary data.
//!
//! Hidden topics switch on tokens and other topics through a directed acyclic graph; a node stays off with
//! probability `exp(-w0 - sum of w over its active parents)`. Training is variational, after Ji et al.,
//! "Variational Training for Large-Scale Noisy-OR Bayesian Networks" (UAI 2019).
//!
//! The flow: a corpus is aligned with a graph, documents become local models packed into batches, an E-step
//! computes q, r, the bound and the gradient sums of each batch, and the weight step uses the sums.
//!
//! ```
//! use noisyor::corpus::{Corpus, align};
//! use noisyor::estep::{Monitor, cpu::CpuEStep};
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

pub mod batch;
pub mod bench;
pub mod capacity;
pub mod columns;
pub mod compare;
pub mod corpus;
mod error;
pub mod estep;
pub mod exact;
pub mod explain;
mod faults;
pub mod files;
pub mod infer;
pub mod likelihood;
pub mod local;
pub mod lock;
mod markup;
pub mod mixture;
pub mod monitor;
pub mod network;
mod npy;
pub mod numeric;
pub mod plan;
pub mod report;
pub mod rng;
pub mod sealed;
pub mod structure;
pub mod synth;
pub mod train;
pub mod update;

pub use error::{Error, Result};
pub use faults::Check;
