//! The run of a baseline, written down: its `config.json`, and nothing else.

use super::{ModelOptions, Score};
use crate::corpus::{CorpusSource, Parts, split};
use crate::error::{Error, Result};
use crate::run::{CheckpointRule, read_config_text};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// Of the layout of [`BaselineConfig`]; goes up when one that was written before can no longer be read.
const FORMAT: u32 = 1;

/// A run of a baseline: what was asked for, and what came of it so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaselineConfig {
    format: u32,
    /// The version of the program or library that wrote it.
    pub version: String,
    /// The documents.
    pub corpus: CorpusSource,
    /// The model.
    pub baseline: ModelOptions,
    /// Seed of the split and of everything else random.
    pub seed: u64,
    /// Share of documents held out for validation.
    pub valid: f64,
    /// Share of documents that training leaves alone.
    pub test: f64,
    /// Passes over the training documents at most.
    pub epochs: u32,
    /// Passes without a gain of the documents held out before stopping; 0 never stops early.
    pub patience: u32,
    /// When checkpoints are written.
    pub checkpoints: CheckpointRule,
    /// What is known of the run by now.
    pub run: BaselineFacts,
}

/// What the run of a baseline found out about itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BaselineFacts {
    /// The command line that began it, for people; nothing reads it.
    pub arguments: Vec<String>,
    /// Documents of the corpus.
    pub docs: u64,
    /// Of the corpus, in hexadecimal.
    pub corpus_fingerprint: String,
    /// Tokens.
    pub tokens: u64,
    /// Numbers that the model learned.
    pub parameters: Option<u64>,
    /// What its scores are.
    pub score: Option<Score>,
    /// What is scored, where it is not the presence and absence of every token.
    pub score_of: Option<String>,
    /// Documents to train on.
    pub train_docs: u64,
    /// Documents held out.
    pub valid_docs: u64,
    /// Documents that training never sees.
    pub test_docs: u64,
    /// How it ended; none while it trains, or if it was killed.
    pub ended: Option<String>,
    /// The mean score of the test part, in nats a document.
    pub test_score: Option<f64>,
}

impl BaselineConfig {
    /// A run with the usual options.
    pub fn new(corpus: CorpusSource, baseline: ModelOptions) -> Self {
        let usual = crate::train::TrainOptions::default();
        Self {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            corpus,
            seed: usual.seed,
            valid: usual.valid,
            test: usual.test,
            epochs: baseline.default_epochs(),
            patience: usual.patience,
            baseline,
            checkpoints: CheckpointRule::Minutes(10.0),
            run: BaselineFacts::default(),
        }
    }

    /// Refuses what makes no sense.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] then.
    pub fn check(&self) -> Result<()> {
        let Self { valid, test, .. } = *self;
        if !(0.0..1.0).contains(&valid) || !(0.0..1.0).contains(&test) || valid + test >= 1.0 {
            return Err(Error::Usage(format!(
                "`valid` {valid} and `test` {test} must be shares from 0, and below 1 together"
            )));
        }
        if self.epochs == 0 {
            return Err(Error::Usage("`epochs` must be 1 at least; it is 0".into()));
        }
        self.baseline.check()
    }

    /// The same split as a network is trained with.
    pub fn split(&self, n_docs: usize) -> Parts {
        split(n_docs, self.valid, self.test, self.seed)
    }

    /// Whether a config is one of a baseline.
    pub fn is_one(config: &Value) -> bool {
        config["baseline"].is_object()
    }

    /// That of a run folder.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where there is none, [`Error::Input`] where it is none of a baseline, [`Error::Io`] where it cannot be read.
    pub fn read(run: &Path) -> Result<Self> {
        let (text, file) = read_config_text(run)?;
        Self::from_json(&text, &file)
    }

    /// From JSON that stands in a file.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] where it is none, or one of another version.
    pub fn from_json(text: &str, file: &Path) -> Result<Self> {
        let fault = |message: String| Error::input(file, None, message);
        let value: Value =
            serde_json::from_str(text).map_err(|e| fault(format!("the config is not JSON: {e}")))?;
        if !Self::is_one(&value) {
            return Err(fault("this is not the run of a baseline; use the commands for networks".into()));
        }
        if value["format"].as_u64() != Some(FORMAT.into()) {
            let format = &value["format"];
            return Err(fault(format!(
                "the config's format is {format}, and this version reads {FORMAT}; start a new run"
            )));
        }
        serde_json::from_value(value)
            .map_err(|e| fault(format!("not the config of a baseline: {e}; start a new run")))
    }
}
