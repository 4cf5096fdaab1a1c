//! Checkpoints: a training's whole state in a sealed file; the last two are kept.

use crate::error::{Error, Result};
use crate::network::Graph;
use crate::sealed::{Seal, SealedFile};
use crate::train::State;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Goes up whenever [`State`] or anything in it changes.
pub(super) const SEAL: Seal = Seal { magic: *b"noisyorK", version: 7, what: "a checkpoint" };
/// Larger files are not read.
const MAX_BYTES: u64 = 1 << 34;

/// What a checkpoint holds.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Checkpoint<S = State> {
    /// The run's config, as JSON.
    pub config: String,
    /// Bytes of metrics there were.
    pub metrics_len: u64,
    /// Where training stood.
    pub state: S,
}

/// The same, borrowed.
#[derive(Serialize)]
struct Written<'a, S> {
    config: &'a str,
    metrics_len: u64,
    state: &'a S,
}

impl<S: DeserializeOwned> Checkpoint<S> {
    /// Reads one with this seal; damaged ones are refused.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] where it is damaged or of another version, [`Error::Io`] where it
    /// cannot be read.
    fn read(path: &Path, seal: Seal) -> Result<Self> {
        let bytes = seal.read(path, MAX_BYTES)?;
        postcard::from_bytes(&bytes)
            .map_err(|e| Error::input(path, None, format!("not a checkpoint of this version: {e}")))
    }
}

impl Checkpoint {
    /// Refuses a state that is not one of the graph that training started from.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] where it is not.
    pub fn check(&self, path: &Path, start: &Graph) -> Result<()> {
        match self.state.fault(start) {
            Some(fault) => {
                Err(Error::input(path, None, format!("{fault}, not of the run's graph.safetensors")))
            }
            None => Ok(()),
        }
    }
}

/// The newest checkpoint that is sound, if there is one, and what is wrong with newer ones.
pub(super) struct Newest<S> {
    pub(super) sound: Option<(PathBuf, Checkpoint<S>)>,
    pub(super) damaged: Vec<Error>,
}

/// The checkpoints of a run.
#[derive(Debug)]
pub(super) struct Checkpoints {
    folder: PathBuf,
    seal: Seal,
    /// Number of the last one that is known to be good.
    last: Option<u64>,
    next: u64,
}

impl Checkpoints {
    /// A folder without any.
    pub(super) fn none(folder: PathBuf, seal: Seal) -> Self {
        Self { folder, seal, last: None, next: 1 }
    }

    /// Opens a folder, and reads the newest that is sound. An error if there are some but none is.
    pub(super) fn open<S: DeserializeOwned>(folder: PathBuf, seal: Seal) -> Result<(Self, Newest<S>)> {
        let mut numbers = numbers(&folder)?;
        numbers.sort_unstable();
        let next = numbers.last().map_or(1, |last| last + 1);
        let (mut checkpoints, mut damaged) = (Self { folder, seal, last: None, next }, Vec::new());
        for &number in numbers.iter().rev() {
            let path = checkpoints.path(number);
            match Checkpoint::read(&path, seal) {
                Ok(checkpoint) => {
                    checkpoints.last = Some(number);
                    return Ok((checkpoints, Newest { sound: Some((path, checkpoint)), damaged }));
                }
                Err(error) => damaged.push(error),
            }
        }
        match damaged.is_empty() {
            true => Ok((checkpoints, Newest { sound: None, damaged })),
            false => {
                let list: Vec<String> = damaged.iter().map(Error::to_string).collect();
                Err(Error::Usage(format!("no checkpoint can be read; {}", list.join("; "))))
            }
        }
    }

    /// Writes the next one; it and the one before remain. Returns its length.
    pub(super) fn write(&mut self, config: &str, metrics_len: u64, state: &impl Serialize) -> Result<u64> {
        let path = self.path(self.next);
        let mut target = Target { file: self.seal.create(&path)?, fault: None };
        let written = postcard::to_io(&Written { config, metrics_len, state }, &mut target).map(|_| ());
        if let Err(e) = written {
            return Err(Error::io(&path, target.fault.unwrap_or_else(|| io::Error::other(e))));
        }
        let len = target.file.commit()?;
        let kept = [self.last, Some(self.next)];
        for number in numbers(&self.folder)?.into_iter().filter(|&number| !kept.contains(&Some(number))) {
            let old = self.path(number);
            fs::remove_file(&old).map_err(|e| Error::io(&old, e))?;
        }
        (self.last, self.next) = (Some(self.next), self.next + 1);
        Ok(len)
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(file_name(number))
    }
}

/// A file that keeps its fault: the serialiser tells only that there was one.
struct Target {
    file: SealedFile,
    fault: Option<io::Error>,
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        self.keep(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        self.keep(flushed)
    }
}

impl Target {
    fn keep<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|e| {
            let kind = e.kind();
            self.fault = Some(e);
            kind.into()
        })
    }
}

fn file_name(number: u64) -> String {
    format!("{number:010}.ckpt")
}

/// Numbers of the checkpoints in a folder.
fn numbers(folder: &Path) -> Result<Vec<u64>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::io(folder, e)),
    };
    let number = |path: PathBuf| {
        let number = path.file_stem()?.to_str()?.parse().ok().filter(|&number| number < u64::MAX)?;
        path.ends_with(file_name(number)).then_some(number)
    };
    Ok(entries.flatten().filter_map(|entry| number(entry.path())).collect())
}
