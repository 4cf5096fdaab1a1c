//! A run that is resumed: its config, what may change in it, and where it stood.

use super::backend::BackendOptions;
use super::config::{CheckpointRule, RunConfig};
use super::folder::{Found, RunFolder};
use super::observer::{Level, Observer};
use super::record::read_config_text;
use super::start::Start;
use crate::baseline::BaselineConfig;
use crate::corpus::Place;
use crate::error::{Error, Result};
use crate::files;
use crate::network::{fingerprint, load_bytes};
use crate::ranks::Team;
use crate::train::{RateSchedule, State, StepRule};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What may be different when a run is resumed: where it computes, and how long. What is none stays as it was.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// Where the corpus is now.
    pub corpus: Option<PathBuf>,
    /// Whether the corpus is given in memory now.
    pub corpus_in_memory: bool,
    /// What computes.
    pub backend: Option<BackendOptions>,
    /// Memory to keep to, in MB.
    pub memory_mb: Option<u64>,
    /// When checkpoints are written.
    pub checkpoints: Option<CheckpointRule>,
    /// Write metrics for TensorBoard, too.
    pub tensorboard: bool,
    /// Epochs at most.
    pub epochs: Option<u32>,
    /// Weight steps at most.
    pub max_steps: Option<u64>,
    /// Evaluations without improvement before stopping.
    pub patience: Option<u32>,
}

/// A run as its folder has it.
pub(super) struct Resumed {
    pub(super) config: RunConfig,
    /// None on ranks that write nothing.
    pub(super) folder: Option<RunFolder>,
    /// Where it stood; none if it had not begun to train.
    pub(super) standing: Option<(Start, Box<State>)>,
    /// Whether the config differs from what the last checkpoint says.
    pub(super) changed: bool,
}

impl Changes {
    /// Whether the run will have another length, or its corpus another place.
    fn are_noted(&self) -> bool {
        self.corpus.is_some() || self.epochs.is_some() || self.max_steps.is_some() || self.patience.is_some()
    }

    fn apply(self, config: &mut RunConfig) -> Result<()> {
        if let Some(path) = self.corpus {
            config.corpus.place = Place::File(path);
            config.corpus = config.corpus.clone().absolute();
        }
        if self.corpus_in_memory {
            config.corpus.place = Place::Memory;
        }
        config.backend = self.backend.unwrap_or_else(|| config.backend.clone());
        config.memory_mb = self.memory_mb.or(config.memory_mb);
        config.checkpoints = self.checkpoints.unwrap_or(config.checkpoints);
        config.tensorboard |= self.tensorboard;
        let options = &mut config.options;
        let falls = matches!(options.step, StepRule::Paper { schedule, .. } | StepRule::Adam { schedule, .. }
            if schedule == RateSchedule::Cosine);
        if falls && (self.epochs.is_some() || self.max_steps.is_some()) {
            let message = "the rate of this run falls over all its epochs, so their number cannot change; start a new run, or \
                           train from its model";
            return Err(Error::Usage(message.into()));
        }
        options.epochs = self.epochs.unwrap_or(options.epochs);
        options.max_steps = self.max_steps.or(options.max_steps);
        options.patience = self.patience.unwrap_or(options.patience);
        Ok(())
    }
}

impl Resumed {
    /// Opens the run's folder.
    pub(super) fn open(run: &Path, changes: Changes, observer: &mut dyn Observer) -> Result<Self> {
        // Checkpoints of a baseline are of another kind, and not damaged.
        if let Ok((text, file)) = read_config_text(run)
            && serde_json::from_str(&text).is_ok_and(|config| BaselineConfig::is_one(&config))
        {
            RunConfig::from_json(&text, &file)?;
        }
        let (folder, Found { config: (config, config_path), checkpoint, damaged }) = RunFolder::open(run)?;
        let mut config = RunConfig::from_json(&config, &config_path)?;
        for damage in &damaged {
            observer.says(Level::Warning, &format!("{damage}; the one before it is used"));
        }
        // How it ended is no longer so.
        (config.run.ended, config.run.test_elbo) = (None, None);
        let changed = changes.are_noted();
        changes.apply(&mut config)?;
        let standing = match checkpoint {
            Some((path, checkpoint)) => {
                let network = folder.load_graph()?;
                if config.run.graph_fingerprint != fingerprint(&network) {
                    let message =
                        "this is not the graph that the run started from; put it back, or start a new run";
                    return Err(Error::input(&folder.graph_path(), None, message));
                }
                checkpoint.check(&path, &network.graph)?;
                let message = format!(
                    "resuming {} at step {}, after {:.0} s of training",
                    run.display(),
                    checkpoint.state.step(),
                    checkpoint.state.seconds()
                );
                observer.says(Level::Info, &message);
                Some((Start::of_run(network, &config.run), Box::new(checkpoint.state)))
            }
            None => {
                let message =
                    format!("{} had not begun to train; it starts from the beginning", run.display());
                observer.says(Level::Info, &message);
                None
            }
        };
        Ok(Self { config, folder: Some(folder), standing, changed })
    }

    /// The run that the first rank has opened.
    pub(super) fn of_first(team: &Team, opened: Option<Self>) -> Result<Self> {
        let Some(opened) = opened.filter(|_| team.is_first()) else {
            let sent: Sent = postcard::from_bytes(&team.first(Vec::new())?).map_err(unreadable)?;
            let config = RunConfig::from_json(&sent.config, "config.json".as_ref())?;
            let standing = match sent.standing {
                Some((graph, state)) => {
                    let graph = load_bytes("graph.safetensors".as_ref(), &graph)?;
                    let network = graph.into_model("graph.safetensors".as_ref())?;
                    Some((Start::of_run(network, &config.run), state))
                }
                None => None,
            };
            return Ok(Self { config, folder: None, standing, changed: sent.changed });
        };
        if team.has_others() {
            let standing = match (&opened.standing, &opened.folder) {
                (Some((_, state)), Some(folder)) => {
                    Some((files::read(&folder.graph_path(), u64::MAX)?, state.clone()))
                }
                _ => None,
            };
            let config = serde_json::to_string(&opened.config).map_err(|e| Error::Usage(e.to_string()))?;
            let sent = Sent { config, changed: opened.changed, standing };
            team.first(postcard::to_allocvec(&sent).map_err(unreadable)?)?;
        }
        Ok(opened)
    }
}

/// A run as the first rank sends it: the config as JSON, and the graph's file and the state, if there are any.
#[derive(Serialize, Deserialize)]
struct Sent {
    config: String,
    changed: bool,
    standing: Option<(Vec<u8>, Box<State>)>,
}

fn unreadable(e: postcard::Error) -> Error {
    Error::Rank(format!("the run that the first rank has opened cannot be sent: {e}"))
}
