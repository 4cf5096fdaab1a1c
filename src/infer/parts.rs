//! Finished parts of an inference in a folder beside its output, so that a run that ended early need not begin anew.
//!
//! A part holds the records of consecutive documents and is named by the first of them. The manifest says what the parts were
//! made from: parts of anything else are not taken.

use super::OutputFormat;
use super::records::Records;
use crate::error::{Error, Result};
use crate::estep::EStepOptions;
use crate::files;
use crate::lock::{FolderLock, LOCK_FILE};
use crate::sealed::Seal;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

const PART: Seal = Seal { magic: *b"noisyorP", version: 1, what: "a part of an inference" };
const MANIFEST: Seal = Seal { magic: *b"noisyorM", version: 1, what: "the manifest of an inference" };
const MANIFEST_FILE: &str = "manifest";
/// Far above what is written: a part is finished at a hundredth of it.
const MAX_BYTES: u64 = 1 << 33;

/// All that the records depend on, and what they are for.
#[derive(Serialize)]
pub(super) struct Manifest<'a> {
    pub(super) noisyor: &'static str,
    pub(super) model: String,
    pub(super) corpus: String,
    pub(super) documents: usize,
    #[serde(flatten)]
    pub(super) options: Option<&'a EStepOptions>,
    pub(super) threshold: f32,
    pub(super) format: OutputFormat,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) log_odds: bool,
    pub(super) shard: Option<String>,
    pub(super) backend: String,
}

/// The folder; no other process works on it.
pub(super) struct Parts {
    folder: PathBuf,
    n_topics: usize,
    _lock: FolderLock,
    /// Where each finished part begins, and how many documents it has.
    kept: BTreeMap<usize, usize>,
}

impl Parts {
    /// The folder of an output.
    pub(super) fn folder_of(output: &Path) -> PathBuf {
        let mut folder = output.to_owned().into_os_string();
        folder.push(".parts");
        folder.into()
    }

    /// Opens a folder, making it if need be. Finished parts in it are taken if `resume` says so and they were made from the
    /// same; damaged ones are warned of and removed.
    pub(super) fn open(
        folder: PathBuf,
        manifest: &Manifest<'_>,
        resume: bool,
        range: &Range<usize>,
        n_topics: usize,
        warn: &mut dyn FnMut(&str),
    ) -> Result<Self> {
        fs::create_dir_all(&folder).map_err(|e| Error::io(&folder, e))?;
        let lock = FolderLock::take(&folder)?;
        let mut parts = Self { folder, n_topics, _lock: lock, kept: BTreeMap::new() };
        files::remove_left_over(&parts.folder);
        let json = serde_json::to_vec(manifest).map_err(|e| Error::io(&parts.folder, e.into()))?;
        let found = parts.find()?;
        if found.is_empty() {
            // Whatever was begun here did not come as far as a part.
            MANIFEST.write(&parts.folder.join(MANIFEST_FILE), &json)?;
            return Ok(parts);
        }
        if !resume {
            return Err(Error::Usage(format!(
                "{} holds {} finished parts of a run that ended early; go on behind them with `resume`, or remove the \
                 folder to begin anew",
                parts.folder.display(),
                found.len()
            )));
        }
        parts.compare(&json)?;
        let mut next = range.start;
        for begin in found {
            match parts.read(begin).map(|records| records.n_docs()) {
                Ok(n_docs) if n_docs > 0 && next <= begin && begin.saturating_add(n_docs) <= range.end => {
                    parts.kept.insert(begin, n_docs);
                    next = begin + n_docs;
                }
                read => {
                    let path = parts.path(begin);
                    let fault =
                        read.map_or_else(|e| e.to_string(), |_| format!("{}: out of place", path.display()));
                    warn(&format!("{fault}; its documents are computed again"));
                    fs::remove_file(&path).map_err(|e| Error::io(&path, e))?;
                }
            }
        }
        Ok(parts)
    }

    /// Where parts begin, by their names, in order.
    fn find(&self) -> Result<Vec<usize>> {
        let mut begins = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(|e| Error::io(&self.folder, e))? {
            let path = entry.map_err(|e| Error::io(&self.folder, e))?.path();
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
            begins.extend(stem.parse::<usize>().ok().filter(|&begin| self.path(begin) == path));
        }
        begins.sort_unstable();
        Ok(begins)
    }

    /// An error that names what is not as it was when the parts were made.
    fn compare(&self, manifest: &[u8]) -> Result<()> {
        let path = self.folder.join(MANIFEST_FILE);
        let remedy = "remove the folder to begin anew";
        let unusable = |message: &str| Error::input(&path, None, format!("{message}; {remedy}"));
        if !path.exists() {
            return Err(unusable("missing, so that nobody knows what the parts were made from"));
        }
        let json = MANIFEST.read(&path, 1 << 20).map_err(|e| Error::Usage(format!("{e}; {remedy}")))?;
        let map = |json: &[u8]| {
            serde_json::from_slice::<Map<String, Value>>(json)
                .map_err(|e| unusable(&format!("no manifest: {e}")))
        };
        let (before, manifest) = (&map(&json)?, &map(manifest)?);
        let keys: BTreeSet<&String> = manifest.keys().chain(before.keys()).collect();
        let told =
            |of: &Map<String, Value>, key: &str| of.get(key).map_or("none".to_owned(), Value::to_string);
        let different: Vec<String> = keys
            .into_iter()
            .filter(|&key| before.get(key) != manifest.get(key))
            .map(|key| format!("{key} was {} and is {}", told(before, key), told(manifest, key)))
            .collect();
        if different.is_empty() {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "{} was made from something else: {}; give what it was made from, another output, or {remedy}",
            self.folder.display(),
            different.join(", ")
        )))
    }

    fn path(&self, begin: usize) -> PathBuf {
        self.folder.join(format!("{begin:010}.part"))
    }

    /// Puts a finished part in place.
    pub(super) fn write(&self, begin: usize, records: &Records) -> Result<()> {
        PART.write(&self.path(begin), &records.to_bytes())
    }

    /// The part that begins at a document.
    pub(super) fn read(&self, begin: usize) -> Result<Records> {
        let path = self.path(begin);
        let bytes = PART.read(&path, MAX_BYTES)?;
        Records::from_bytes(&bytes, self.n_topics)
            .ok_or_else(|| Error::input(&path, None, "damaged: its numbers make no sense"))
    }

    /// Whether a finished part begins at a document.
    pub(super) fn has(&self, begin: usize) -> bool {
        self.kept.contains_key(&begin)
    }

    /// Documents of the finished part that begins at a document.
    pub(super) fn docs_at(&self, begin: usize) -> Option<usize> {
        self.kept.get(&begin).copied()
    }

    /// Where the next finished part begins behind a document.
    pub(super) fn next_behind(&self, doc_ix: usize) -> Option<usize> {
        self.kept.range(doc_ix..).next().map(|(&begin, _)| begin)
    }

    /// Documents in the parts that were there.
    pub(super) fn n_docs(&self) -> usize {
        self.kept.values().sum()
    }

    /// Parts that were there.
    pub(super) fn n_kept(&self) -> usize {
        self.kept.len()
    }

    /// The folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes all parts; dropping it removes the rest.
    pub(super) fn remove(self) -> Result<()> {
        for path in self.find()?.into_iter().map(|begin| self.path(begin)) {
            fs::remove_file(&path).map_err(|e| Error::io(&path, e))?;
        }
        Ok(())
    }
}

impl Drop for Parts {
    /// Without parts the folder is of no use. Files of others stay, and the folder with them.
    fn drop(&mut self) {
        if self.find().is_ok_and(|found| found.is_empty()) {
            let _ = fs::remove_file(self.folder.join(MANIFEST_FILE));
            let _ = fs::remove_file(self.folder.join(LOCK_FILE));
            let _ = fs::remove_dir(&self.folder);
        }
    }
}
