//! The run folder: model, config and metrics.

use super::{Metrics, TrainOptions};
use crate::error::{Error, Result};
use crate::files;
use crate::network::{Network, save};
use serde_json::json;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A folder that holds `model.safetensors`, `config.json` and `metrics.jsonl`.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    metrics: File,
}

impl RunFolder {
    /// Makes the folder: `path`, which must be new or empty, or else the next free `runs/NNN`.
    pub fn create(path: Option<&Path>) -> Result<Self> {
        let path = match path {
            Some(path) => {
                fs::create_dir_all(path).map_err(|e| Error::io(path, e))?;
                let mut entries = fs::read_dir(path).map_err(|e| Error::io(path, e))?;
                if entries.next().is_some() {
                    let path = path.display();
                    return Err(Error::Usage(format!(
                        "{path} is not empty; give another folder with -o, or empty it"
                    )));
                }
                path.to_owned()
            }
            None => next_free()?,
        };
        let file = path.join("metrics.jsonl");
        let metrics = File::create(&file).map_err(|e| Error::io(&file, e))?;
        Ok(Self { path, metrics })
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The model's path.
    pub fn model_path(&self) -> PathBuf {
        self.path.join("model.safetensors")
    }

    /// Writes every option as used, and what else the caller knows.
    pub fn write_config(&self, options: &TrainOptions, about: serde_json::Value) -> Result<()> {
        let config = json!({"version": env!("CARGO_PKG_VERSION"), "options": options, "run": about});
        let text = serde_json::to_string_pretty(&config).map_err(|e| Error::Usage(e.to_string()))? + "\n";
        files::replace(&self.path.join("config.json"), text.as_bytes())
    }

    /// Removes the folder again, if nothing was trained.
    pub fn discard_if_empty(self) {
        if self.metrics.metadata().is_ok_and(|file| file.len() == 0) && !self.model_path().exists() {
            // Nothing of worth is in it; what cannot be removed stays.
            let _ = fs::remove_file(self.path.join("metrics.jsonl"));
            let _ = fs::remove_file(self.path.join("config.json"));
            let _ = fs::remove_dir(&self.path);
        }
    }

    /// Adds a line of metrics.
    pub fn write_metrics(&mut self, metrics: &Metrics) -> Result<()> {
        let line = serde_json::to_string(metrics).map_err(|e| Error::Usage(e.to_string()))? + "\n";
        self.metrics.write_all(line.as_bytes()).map_err(|e| Error::io(&self.path.join("metrics.jsonl"), e))
    }

    /// Saves the model.
    pub fn save_model(&self, network: &Network) -> Result<()> {
        save(network, &self.model_path())
    }
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
    Err(Error::Usage("runs/ has no free number; give a folder with -o".into()))
}
