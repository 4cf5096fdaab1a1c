//! The run folder: model, config, metrics, the graph that training started from, and checkpoints.

use super::checkpoint::{Checkpoint, Checkpoints, Newest, SEAL};
use super::{EventFile, OnRanks, read_metrics};
use crate::error::{Error, Result};
use crate::files;
use crate::lock::{FolderLock, LOCK_FILE};
use crate::network::{Network, load_model, save_by};
use crate::sealed::Seal;
use crate::train::{Metrics, State};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A longer config is none of ours.
pub(super) const MAX_CONFIG: u64 = 1 << 26;

pub(super) const METRICS: &str = "metrics.jsonl";
const CHECKPOINTS: &str = "checkpoint";
const TENSORBOARD: &str = "tensorboard";

/// A folder that one process trains in.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    metrics: File,
    metrics_len: u64,
    config: String,
    checkpoints: Checkpoints,
    /// Whether a checkpoint holds more than the start.
    has_trained: bool,
    /// The metrics once more, for TensorBoard.
    events: Option<EventFile>,
    _lock: FolderLock,
}

/// A line of metrics.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    metrics: &'a Metrics,
    #[serde(flatten)]
    on_ranks: Option<OnRanks>,
}

/// What a run folder held when it was opened.
#[derive(Debug)]
pub struct Found<S = State> {
    /// What the run was asked to do, and what it wrote down of itself, as JSON, and the file that it is from.
    pub config: (String, PathBuf),
    /// The newest sound checkpoint, if there is one.
    pub checkpoint: Option<(PathBuf, Checkpoint<S>)>,
    /// Newer ones that are not.
    pub damaged: Vec<Error>,
}

impl RunFolder {
    /// Makes the folder: `path`, which must be new or empty, or else the next free `runs/NNN`.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where it is not empty or another process has it, [`Error::Io`]
    /// where it cannot be made.
    pub fn create(path: Option<&Path>) -> Result<Self> {
        Self::create_for(path, SEAL)
    }

    /// The same for checkpoints with this seal.
    pub(crate) fn create_for(path: Option<&Path>, seal: Seal) -> Result<Self> {
        let path = match path {
            Some(path) => {
                fs::create_dir_all(path).map_err(|e| Error::io(path, e))?;
                path.to_owned()
            }
            None => next_free()?,
        };
        // Before the lock, which must leave nothing in the folder of somebody else, and again under it.
        refuse_full(&path)?;
        let lock = FolderLock::take(&path)?;
        refuse_full(&path)?;
        let aside = path.join(CHECKPOINTS);
        fs::create_dir_all(&aside).map_err(|e| Error::io(&aside, e))?;
        files::remove_left_over(&aside);
        let file = path.join(METRICS);
        let metrics = File::create(&file).map_err(|e| Error::io(&file, e))?;
        let checkpoints = Checkpoints::none(aside, seal);
        let (config, has_trained) = (String::new(), false);
        let events = None;
        Ok(Self { path, metrics, metrics_len: 0, config, checkpoints, has_trained, events, _lock: lock })
    }

    /// Opens the folder of a run that stopped.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where it holds no run or another process has it, [`Error::Input`] where the config is damaged, [`Error::Io`] where it
    /// cannot be read.
    pub fn open(path: &Path) -> Result<(Self, Found)> {
        Self::open_for(path, SEAL)
    }

    /// The same for checkpoints with this seal.
    pub(crate) fn open_for<S: DeserializeOwned>(path: &Path, seal: Seal) -> Result<(Self, Found<S>)> {
        let config_path = path.join("config.json");
        if !path.join(CHECKPOINTS).is_dir() && !config_path.is_file() {
            return Err(Error::Usage(format!(
                "{} is no run folder: it has neither checkpoints nor config.json; give one that 'train' or 'baseline' made",
                path.display()
            )));
        }
        let lock = FolderLock::take(path)?;
        let folder = path.join(CHECKPOINTS);
        fs::create_dir_all(&folder).map_err(|e| Error::io(&folder, e))?;
        files::remove_left_over(&folder);
        let (checkpoints, Newest { sound: checkpoint, damaged }) = Checkpoints::open(folder, seal)?;
        let (config_path, config) = match &checkpoint {
            Some((path, checkpoint)) => (path.clone(), checkpoint.config.clone()),
            None => {
                let bytes = files::read(&config_path, MAX_CONFIG)?;
                (config_path, String::from_utf8_lossy(&bytes).into_owned())
            }
        };
        let found = (config.clone(), config_path);
        let file = path.join(METRICS);
        let metrics = File::options().write(true).create(true).truncate(false).open(&file);
        let metrics = metrics.map_err(|e| Error::io(&file, e))?;
        let metrics_len = checkpoint.as_ref().map_or(0, |(_, checkpoint)| checkpoint.metrics_len);
        let (path, has_trained, events) = (path.to_owned(), true, None);
        let folder =
            Self { path, metrics, metrics_len, config, checkpoints, has_trained, events, _lock: lock };
        Ok((folder, Found { config: found, checkpoint, damaged }))
    }

    /// Drops the metrics that came after the checkpoint, as these evaluations will come again. Returns whether all others are there.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where it cannot be read or written.
    pub fn cut_metrics(&mut self) -> Result<bool> {
        let there = self.metrics.metadata().map(|file| file.len()).map_err(|e| self.metrics_fault(e))?;
        let is_whole = there >= self.metrics_len;
        self.metrics_len = there.min(self.metrics_len);
        let cut = self.metrics.set_len(self.metrics_len).and_then(|()| self.metrics.seek(SeekFrom::End(0)));
        cut.map(|_| is_whole).map_err(|e| self.metrics_fault(e))
    }

    fn metrics_fault(&self, e: std::io::Error) -> Error {
        Error::io(&self.path.join(METRICS), e)
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The model's path.
    pub fn model_path(&self) -> PathBuf {
        self.path.join("model.safetensors")
    }

    /// Where files are while they are written: what a killed run leaves there is nobody else's.
    pub(crate) fn aside(&self) -> PathBuf {
        self.path.join(CHECKPOINTS)
    }

    /// The path of the graph that training started from.
    pub(super) fn graph_path(&self) -> PathBuf {
        self.path.join("graph.safetensors")
    }

    /// Writes down the run.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where it cannot be written.
    pub fn write_config(&mut self, config: &impl Serialize) -> Result<()> {
        self.config = serde_json::to_string_pretty(config).map_err(|e| Error::Usage(e.to_string()))? + "\n";
        files::replace_by(&self.aside(), &self.path.join("config.json"), self.config.as_bytes())
    }

    /// Writes the graph that training starts from, with its weights.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where it cannot be written.
    pub fn save_graph(&self, network: &Network) -> Result<()> {
        save_by(&self.aside(), network, &self.graph_path())
    }

    /// Reads it again.
    ///
    /// # Errors
    ///
    /// As [`load_model`].
    pub fn load_graph(&self) -> Result<Network> {
        load_model(&self.graph_path())
    }

    /// Removes the folder again, if nothing was trained.
    pub fn discard_if_empty(&self) {
        if self.metrics_len == 0 && !self.model_path().exists() && !self.has_trained {
            // Nothing of worth is in it; what cannot be removed stays.
            for name in [METRICS, "config.json", "graph.safetensors", LOCK_FILE] {
                let _ = fs::remove_file(self.path.join(name));
            }
            let _ = fs::remove_dir_all(self.aside());
            let _ = fs::remove_dir_all(self.path.join(TENSORBOARD));
            let _ = fs::remove_dir(&self.path);
        }
    }

    /// Writes the metrics for TensorBoard, too, from now on: in `tensorboard/`, all that there are and all that come. A run that
    /// did so before goes on with it, `wanted` or not.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where it cannot be written.
    pub fn write_events(&mut self, wanted: bool) -> Result<()> {
        let folder = self.path.join(TENSORBOARD);
        if wanted || EventFile::is_in(&folder) {
            let now = std::time::SystemTime::now();
            self.events = Some(EventFile::start(&folder, &read_metrics(&self.path)?, now)?);
        }
        Ok(())
    }

    /// Adds a line of metrics; with what communication has cost, where there are ranks.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where it cannot be written.
    pub fn write_metrics(&mut self, metrics: &Metrics, on_ranks: Option<OnRanks>) -> Result<()> {
        self.write_line(&Line { metrics, on_ranks })?;
        self.events.as_mut().map_or(Ok(()), |events| events.write(metrics))
    }

    /// Adds a line of metrics of any kind.
    pub(crate) fn write_line(&mut self, metrics: &impl Serialize) -> Result<()> {
        let line = serde_json::to_string(metrics).map_err(|e| Error::Usage(e.to_string()))? + "\n";
        self.metrics.write_all(line.as_bytes()).map_err(|e| self.metrics_fault(e))?;
        self.metrics_len += line.len() as u64;
        Ok(())
    }

    /// Writes a checkpoint; returns its length.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where it cannot be written.
    pub fn save_checkpoint(&mut self, state: &State) -> Result<u64> {
        self.save_state(state, state.step() > 0 || state.partial_docs() > 0)
    }

    /// Writes a state of any kind; `has_trained`: it is more than the start.
    pub(crate) fn save_state(&mut self, state: &impl Serialize, has_trained: bool) -> Result<u64> {
        self.metrics.sync_data().map_err(|e| self.metrics_fault(e))?;
        self.has_trained |= has_trained;
        self.checkpoints.write(&self.config, self.metrics_len, state)
    }

    /// Saves the model.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where it cannot be written.
    pub fn save_model(&self, network: &Network) -> Result<()> {
        save_by(&self.aside(), network, &self.model_path())
    }
}

/// An error if a folder holds more than what a run leaves that was killed before it wrote anything down.
fn refuse_full(path: &Path) -> Result<()> {
    let is_nothing = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let of_length_zero = || entry.metadata().is_ok_and(|file| file.len() == 0);
        let holds_no_files = || {
            let mut inside = fs::read_dir(entry.path()).into_iter().flatten().flatten();
            inside.all(|entry| entry.file_name().to_string_lossy().starts_with(files::ASIDE_PREFIX))
        };
        name == LOCK_FILE || name == METRICS && of_length_zero() || name == CHECKPOINTS && holds_no_files()
    };
    let mut entries = fs::read_dir(path).map_err(|e| Error::io(path, e))?.flatten();
    if entries.all(|entry| is_nothing(&entry)) {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "{0} is not empty; give another folder with `output`, empty it, or continue the run in it by `resume` {0}",
        path.display()
    )))
}

fn next_free() -> Result<PathBuf> {
    let runs = Path::new("runs");
    fs::create_dir_all(runs).map_err(|e| Error::io(runs, e))?;
    for number in 1u32.. {
        let path = runs.join(format!("{number:03}"));
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(Error::io(&path, e)),
        }
    }
    Err(Error::Usage("runs/ has no free number; give a folder with `output`".into()))
}
