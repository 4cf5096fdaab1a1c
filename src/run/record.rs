//! What a run folder tells of a run, to those who only look: no lock is taken, and the run may still be active.

use super::RunConfig;
use super::folder::{MAX_CONFIG, METRICS};
use crate::error::{Error, Result};
use crate::files;
use crate::network::{Network, load_model};
use crate::train::Metrics;
use std::path::{Path, PathBuf};

/// Longer metrics are none of ours.
const MAX_METRICS: u64 = 1 << 30;

/// A run as its folder has it.
#[derive(Debug)]
pub struct RunRecord {
    /// The folder.
    pub path: PathBuf,
    /// What it was asked to do, and what it wrote down of itself.
    pub config: RunConfig,
    /// Every evaluation so far, in order.
    pub metrics: Vec<Metrics>,
    /// The best model so far.
    pub network: Network,
}

impl RunRecord {
    /// Reads a run folder. A line of metrics that is still being written is left out.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] where it holds no run or a damaged one, [`Error::Io`] where it
    /// cannot be read.
    pub fn read(path: &Path) -> Result<Self> {
        let config = read_config(path)?;
        let metrics = read_metrics(path)?;
        let model = path.join("model.safetensors");
        if !model.is_file() {
            let message = "the run has no model yet; look again when it has trained for a while";
            return Err(Error::input(&model, None, message));
        }
        Ok(Self { path: path.to_owned(), config, metrics, network: load_model(&model)? })
    }
}

/// `config.json` of a run folder.
///
/// # Errors
///
/// [`Error::Input`] where it is none of a run, [`Error::Io`] where it cannot be read.
pub fn read_config(path: &Path) -> Result<RunConfig> {
    let (text, file) = read_config_text(path)?;
    RunConfig::from_json(&text, &file)
}

/// `config.json` of a run folder of any kind, and its path.
pub(crate) fn read_config_text(path: &Path) -> Result<(String, PathBuf)> {
    let file = path.join("config.json");
    if !file.is_file() {
        let message = format!(
            "{} is no run folder: it has no config.json; give one that 'train' or 'baseline' made",
            path.display()
        );
        return Err(Error::Usage(message));
    }
    let bytes = files::read(&file, MAX_CONFIG)?;
    Ok((String::from_utf8_lossy(&bytes).into_owned(), file))
}

/// The evaluations of a run folder so far. A last line without an end is still being written.
///
/// # Errors
///
/// [`Error::Input`] for a line that is none of metrics, [`Error::Io`] where it cannot be
/// read.
pub fn read_metrics(path: &Path) -> Result<Vec<Metrics>> {
    let file = path.join(METRICS);
    let text = String::from_utf8_lossy(&files::read(&file, MAX_METRICS)?).into_owned();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let parse = |(at, line): (usize, &str)| {
        serde_json::from_str(line)
            .map_err(|e| Error::input(&file, Some(at as u64 + 1), format!("not a line of metrics: {e}")))
    };
    whole.lines().enumerate().map(parse).collect()
}
