//! The run of a baseline as its folder has it, for those who only look: no lock is taken, and the run may still be active.

use super::{BaselineConfig, Trained, baseline_file, load_baseline};
use crate::error::{Error, Result};
use crate::run::read_metrics;
use crate::train::Metrics;
use std::path::{Path, PathBuf};

/// A run of a baseline.
pub struct BaselineRecord {
    /// The folder.
    pub path: PathBuf,
    /// What it was asked to do, and what it wrote down of itself.
    pub config: BaselineConfig,
    /// Every evaluation so far, in order; scores in place of bounds.
    pub metrics: Vec<Metrics>,
    /// The best model.
    pub trained: Trained,
}

impl BaselineRecord {
    /// Reads a run folder.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] where it holds no such run, a damaged one, or one without a model yet, [`Error::Io`] where it cannot be read.
    pub fn read(path: &Path) -> Result<Self> {
        let config = BaselineConfig::read(path)?;
        let metrics = read_metrics(path)?;
        let Some(file) = baseline_file(path)? else {
            let message = "the run has no model yet; look again when it has ended, or was stopped";
            return Err(Error::input(&path.join("model.safetensors"), None, message));
        };
        Ok(Self { path: path.to_owned(), config, metrics, trained: load_baseline(&file)? })
    }

    /// Whether a folder holds the run of a baseline.
    pub fn is_in(path: &Path) -> bool {
        path.is_dir() && BaselineConfig::read(path).is_ok()
    }
}
