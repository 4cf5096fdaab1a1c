//! A run written down: what it was asked to do, and what is known of it by now. `config.json` is this, and nothing else.

use super::backend::{Backend, BackendOptions};
use super::learning::Learning;
use super::source::NetworkSource;
use crate::baseline::BaselineConfig;
use crate::corpus::CorpusSource;
use crate::error::{Error, Result};
use crate::train::{CheckedOptions, PriorOptions, StepRule, TrainOptions};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Of the layout of [`RunConfig`]; goes up when one that was written before can no longer be read.
const FORMAT: u32 = 2;

/// A run: what was asked for, and what came of it so far.
///
/// ```
/// use noisyor::corpus::{CorpusSource, Place};
/// use noisyor::run::{NetworkSource, RunConfig};
///
/// // What `noisyor train` does without arguments.
/// let config = RunConfig::new(CorpusSource::new(Place::Sample), NetworkSource::chosen());
/// assert!(config.options.smooth);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunConfig {
    format: u32,
    /// The version of the program or library that wrote it.
    pub version: String,
    /// The documents.
    pub corpus: CorpusSource,
    /// The network.
    pub network: NetworkSource,
    /// Training.
    pub options: TrainOptions,
    /// Files that list weights to keep ([`Freeze::add_list`](crate::train::Freeze::add_list)); read once there is a graph.
    #[serde(default)]
    pub freeze_lists: Vec<PathBuf>,
    /// What computes.
    pub backend: BackendOptions,
    /// Memory to keep to, about, in MB.
    pub memory_mb: Option<u64>,
    /// When checkpoints are written.
    pub checkpoints: CheckpointRule,
    /// Whether metrics are written for TensorBoard, too.
    pub tensorboard: bool,
    /// What is known of the run by now.
    pub run: RunFacts,
}

/// When checkpoints are written, beside the start, the end, and when training is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckpointRule {
    /// After so many minutes.
    Minutes(f64),
    /// After so many weight steps.
    Steps(u64),
}

/// What a run found out about itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunFacts {
    /// The command line that began it, for people; nothing reads it.
    pub arguments: Vec<String>,
    /// Documents of the corpus.
    pub docs: u64,
    /// Of the corpus, in hexadecimal.
    pub corpus_fingerprint: String,
    /// What computed.
    pub backend: String,
    /// How the graph was learned; none if it was given.
    pub learning: Option<Learning>,
    /// Documents that the model will stand for: those it is trained on, and those of a model that it was trained from.
    pub speaks_for_docs: u64,
    /// Topics of the graph that training started from.
    pub topics: u64,
    /// Its tokens.
    pub tokens: u64,
    /// Its edges.
    pub edges: u64,
    /// Whether the weights in `graph.safetensors` mean something.
    pub graph_weights: bool,
    /// Of `graph.safetensors`.
    pub graph_fingerprint: String,
    /// Documents to train on.
    pub train_docs: Option<usize>,
    /// Documents held out.
    pub valid_docs: Option<usize>,
    /// Documents that training never sees.
    pub test_docs: Option<usize>,
    /// Weight steps of an epoch.
    pub batches_per_epoch: Option<usize>,
    /// The smallest leak.
    pub leak_floor: Option<f64>,
    /// How it ended; none while it trains, or if it was killed.
    pub ended: Option<String>,
    /// The bound of the test part, in nats a document.
    pub test_elbo: Option<f64>,
}

impl RunConfig {
    /// A run with the usual options for such a network.
    pub fn new(corpus: CorpusSource, network: NetworkSource) -> Self {
        Self {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            options: network.default_options(),
            corpus,
            network,
            freeze_lists: Vec::new(),
            backend: BackendOptions::default(),
            memory_mb: None,
            checkpoints: CheckpointRule::Minutes(10.0),
            tensorboard: false,
            run: RunFacts::default(),
        }
    }

    /// The options, checked. What a model counts as is not known before it is read; that it counts at all is.
    ///
    /// # Errors
    /// Options that make no sense, alone or together.
    pub fn check(&self) -> Result<CheckedOptions> {
        let mut options = self.options.clone();
        if let NetworkSource::Model { docs, .. } = self.network
            && docs != Some(0)
            && options.prior.is_none()
        {
            let docs = docs.map_or(1.0, |docs| docs as f64);
            options.prior = Some(PriorOptions { docs, trained_docs: docs, tokens: 0 });
        }
        if let NetworkSource::Learned(request) | NetworkSource::Chosen { known: request, .. } = &self.network
            && options.refine.is_some()
            && request.has_constraints()
        {
            let option = if request.anchors.is_empty() { "exclude" } else { "anchors" };
            return Err(Error::Usage(format!(
                "`{option}` cannot be kept to by `refine`, which chooses edges freely; leave out one of the two"
            )));
        }
        let wants_gpu = self.backend.backend == Backend::Gpu || self.backend.device.is_some();
        if wants_gpu && matches!(options.step, StepRule::Mcmc(_)) {
            return Err(Error::Usage(
                "`step` mcmc samples on the CPU; use `backend` cpu, and leave out `device`".into(),
            ));
        }
        options.check()
    }

    /// What computes. Topics are sampled on the CPU, so that documents held out are evaluated there, too.
    pub(super) fn backend(&self) -> BackendOptions {
        let backend = match self.options.step {
            StepRule::Mcmc(_) => Backend::Cpu,
            _ => self.backend.backend,
        };
        BackendOptions { backend, ..self.backend.clone() }
    }

    /// From JSON that stands in a file.
    pub(super) fn from_json(text: &str, file: &Path) -> Result<Self> {
        let fault = |message: String| Error::input(file, None, message);
        let value: Value =
            serde_json::from_str(text).map_err(|e| fault(format!("the config is not JSON: {e}")))?;
        if BaselineConfig::is_one(&value) {
            return Err(fault(
                "this is the run of a baseline, not of a network: 'eval', 'infer', 'compare', 'report' and 'watch' take it, \
                 and 'baseline' with `resume` continues it"
                    .into(),
            ));
        }
        match value["format"].as_u64() {
            Some(format) if format == u64::from(FORMAT) => {}
            None if value["run"]["arguments"].is_array() && value["options"].is_object() => {
                return Err(fault(
                    "the run was made by an earlier noisyor, which wrote down its command line instead of what it meant; its model can \
                     still be used, and trained from, but only that version can resume or report the run"
                        .into(),
                ));
            }
            format => {
                let format = format.map_or("none".into(), |format| format.to_string());
                return Err(fault(format!(
                    "the config's format is {format}, and this version reads {FORMAT}; start a new run"
                )));
            }
        }
        serde_json::from_value(value)
            .map_err(|e| fault(format!("not the config of a run: {e}; start a new run")))
    }
}
