//! Words and their numbers, and which of them make the vocabulary.

use super::read::{Format, ReadOptions, open};
use super::text::StopWords;
use super::{Document, native};
use crate::error::{Error, Result};
use crate::faults::shown;
use crate::files::AtomicFile;
use crate::network;
use rustc_hash::FxHashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// No word: two neighbours with this between them do not follow each other directly.
pub(crate) const BREAK: u32 = u32::MAX;

/// How text becomes tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct WordOptions {
    /// Words that are left out.
    pub stop_words: StopWords,
    /// A token is in at least so many documents [default for text: 2].
    pub min_df: Option<Df>,
    /// A token is in at most so many documents.
    pub max_df: Option<Df>,
    /// The vocabulary has at most so many tokens; those in the most documents stay.
    pub max_vocab: Option<usize>,
    /// Neighbouring words with at least this score become one token.
    pub phrases: Option<f64>,
}

impl Default for WordOptions {
    fn default() -> Self {
        Self { stop_words: StopWords::english(), min_df: None, max_df: None, max_vocab: None, phrases: None }
    }
}

impl WordOptions {
    /// Whether tokens are chosen by their frequency even where they are not made from text.
    pub(super) fn choose(&self) -> bool {
        self.min_df.is_some() || self.max_df.is_some() || self.max_vocab.is_some()
    }
}

/// A number of documents, or a share of them.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Df {
    /// So many documents.
    Docs(u64),
    /// A share of all documents, from 0 to 1.
    Share(f64),
}

impl std::str::FromStr for Df {
    type Err = String;

    /// `3` is a number of documents, `0.5` and `1.0` are shares.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "a number of documents (3), or a share of them with a point (0.5)".to_owned();
        if let Ok(docs) = text.parse() {
            return Ok(Self::Docs(docs));
        }
        match text.parse::<f64>() {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(Self::Share(share)),
            _ => Err(wrong()),
        }
    }
}

impl Df {
    fn docs(self, n_docs: u64) -> f64 {
        match self {
            Self::Docs(docs) => docs as f64,
            Self::Share(share) => share * n_docs as f64,
        }
    }
}

/// Words by number, in the order in which they came.
#[derive(Default)]
pub(super) struct Interner {
    number_of: FxHashMap<Box<str>, u32>,
}

impl Interner {
    pub(super) fn len(&self) -> usize {
        self.number_of.len()
    }

    pub(super) fn get(&self, word: &str) -> Option<u32> {
        self.number_of.get(word).copied()
    }

    /// A word's number, a new one if it is new. Fails past 2^32 - 2 words.
    pub(super) fn intern(&mut self, word: &str) -> Result<u32> {
        if let Some(number) = self.get(word) {
            return Ok(number);
        }
        let number = self.len() as u32;
        if number >= BREAK - 1 {
            return Err(Error::Usage("more than four billion different tokens".into()));
        }
        self.number_of.insert(word.into(), number);
        Ok(number)
    }

    /// The words in the order of their numbers.
    pub(super) fn names(&self) -> Vec<&str> {
        let mut names = vec![""; self.len()];
        self.number_of.iter().for_each(|(name, &number)| names[number as usize] = name);
        names
    }
}

/// The numbers of the tokens that `options` keep: those in most documents first, then by name.
pub(super) fn choose(
    options: &WordOptions,
    default_min_df: u64,
    df: &[u64],
    n_docs: u64,
    name: impl Fn(u32) -> String,
) -> Vec<u32> {
    // A share of documents is rounded: 0.07 of 100 is a little more than 7, and is meant to be 7.
    const ROUNDING: f64 = 1e-6;
    let least = options.min_df.unwrap_or(Df::Docs(default_min_df)).docs(n_docs).max(1.0) - ROUNDING;
    let most = options.max_df.map_or(f64::INFINITY, |df| df.docs(n_docs)) + ROUNDING;
    let kept = |&token: &u32| (least..=most).contains(&(df[token as usize] as f64));
    let mut tokens: Vec<u32> = (0..df.len() as u32).filter(kept).collect();
    tokens.sort_by_cached_key(|&token| (std::cmp::Reverse(df[token as usize]), name(token)));
    tokens.truncate(options.max_vocab.unwrap_or(usize::MAX));
    tokens
}

/// Loads a vocabulary: from a native corpus, from a model or graph (.safetensors, .json, .tsv), or from a text file with a name a line.
///
/// # Errors
///
/// [`Error::Io`] where it cannot be read, [`Error::Input`] where it is no vocabulary: a
/// name that is empty or there twice, no names at all.
pub fn load_vocab(path: &Path) -> Result<Vec<String>> {
    if native::is_native(path) {
        let corpus = native::open(path)?;
        corpus.verify()?;
        let names = corpus.token_names().map(|names| names.iter().map(str::to_owned).collect());
        return names.ok_or_else(|| Error::input(path, None, "this corpus has no names for its tokens"));
    }
    let extension =
        path.extension().and_then(|extension| extension.to_str()).unwrap_or("").to_ascii_lowercase();
    match extension.as_str() {
        "safetensors" | "json" | "tsv" => Ok(network::load(path)?.names.tokens),
        _ => read_names(path),
    }
}

/// Names from a text file, one a line; each once, none empty.
pub(super) fn read_names(path: &Path) -> Result<Vec<String>> {
    let options = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
    let mut reader = open(path, &options, &Default::default())?;
    let mut line_of: FxHashMap<String, u64> = FxHashMap::default();
    let (mut names, mut document) = (Vec::new(), Document::default());
    for line in 1.. {
        document.clear();
        if !reader.read(&mut document, &mut Err)? {
            break;
        }
        let fault = |message: String| Error::input(path, Some(line), message);
        let name = std::mem::take(&mut document.text);
        if name.is_empty() {
            return Err(fault("an empty line; a vocabulary has a name on every line".into()));
        }
        if name.contains('\t') {
            let name = shown(&name);
            return Err(fault(format!("'{name}' has a tab; a vocabulary has nothing but a name on a line")));
        }
        if let Some(first) = line_of.insert(name.clone(), line) {
            let name = shown(&name);
            return Err(fault(format!("'{name}' is on line {first} already; names must differ")));
        }
        names.push(name);
    }
    Ok(names)
}

/// A vocabulary to be saved, a name a line; [`VocabFile::commit`] puts it in place.
pub struct VocabFile {
    path: PathBuf,
    file: AtomicFile,
}

impl VocabFile {
    /// Opens the output aside.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where it cannot be written.
    pub fn create(path: &Path) -> Result<Self> {
        Ok(Self { path: path.to_owned(), file: AtomicFile::create(path)? })
    }

    /// Adds a name; fails if it does not fit a line.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for a name with a line break, [`Error::Io`] where it cannot be
    /// written.
    pub fn push(&mut self, name: &str) -> Result<()> {
        if name.contains(['\n', '\r']) || name.is_empty() {
            let (path, name) = (self.path.display(), name.escape_debug());
            return Err(Error::Usage(format!("{path}: the name '{name}' does not fit a line")));
        }
        writeln!(self.file, "{name}").map_err(|e| Error::io(&self.path, e))
    }

    /// Puts the file in place.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where it cannot be written.
    pub fn commit(self) -> Result<()> {
        self.file.commit()
    }
}
