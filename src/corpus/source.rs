//! Where a corpus comes from and how it is read, in a form that can be written down and read again.

use super::ingest::{IngestOptions, Ingested, read};
use super::native::is_native;
use super::read::{Format, ReadOptions};
use super::text::StopWords;
use super::vocabulary::{Df, WordOptions, load_vocab};
use super::{Corpus, sample_corpus};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::ranks::Team;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where documents are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// The bundled sample.
    Sample,
    /// A file or folder.
    File(PathBuf),
    /// In the memory of a program that used the library; whoever wants them again must give them again.
    Memory,
}

/// A corpus as it is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CorpusSource {
    /// Where the documents are.
    pub place: Place,
    /// Format and columns.
    pub read: ReadOptions,
    /// A file with the only tokens that are kept, or with the names of numbered ones.
    pub vocab: Option<PathBuf>,
    /// Whether token i of a corpus without names is token i of a model, whatever that is called.
    #[serde(default)]
    pub by_number: bool,
    /// How a vocabulary is chosen where none is given.
    pub words: WordRequest,
}

/// How the vocabulary of a text is chosen, as it is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WordRequest {
    /// Words to leave out: a known list's name, `none`, or a file.
    pub stop_words: String,
    /// Tokens are in at least so many documents.
    pub min_df: Option<Df>,
    /// Tokens are in at most so many documents.
    pub max_df: Option<Df>,
    /// Tokens at most.
    pub max_vocab: Option<usize>,
    /// Neighbouring words are joined from this normalised pointwise mutual information on.
    pub phrases: Option<f64>,
}

impl Default for WordRequest {
    fn default() -> Self {
        Self { stop_words: "english".into(), min_df: None, max_df: None, max_vocab: None, phrases: None }
    }
}

impl WordRequest {
    /// Whether anything but the default is asked for.
    pub fn is_given(&self) -> bool {
        *self != Self::default()
    }

    /// The first option that chooses a vocabulary, if there is one; stop words do not.
    fn first_choice(&self) -> Option<&'static str> {
        let given = [
            ("min_df", self.min_df.is_some()),
            ("max_df", self.max_df.is_some()),
            ("max_vocab", self.max_vocab.is_some()),
            ("phrases", self.phrases.is_some()),
        ];
        given.iter().find(|(_, given)| *given).map(|&(option, _)| option)
    }

    /// The options, with the words of the file where one is named.
    ///
    /// # Errors
    /// A score of phrases outside of [-1, 1], or a file that cannot be read.
    pub fn options(&self) -> Result<WordOptions> {
        let stop_words = match self.stop_words.as_str() {
            "none" => StopWords::default(),
            given => match StopWords::of_language(given) {
                Some(words) => words,
                None if !Path::new(given).exists() => {
                    let languages: Vec<&str> = StopWords::languages().collect();
                    let message = format!(
                        "there is no such file, nor a list for such a language; `stop_words` takes a file, none, {}",
                        languages.join(", ")
                    );
                    return Err(Error::io(given.as_ref(), std::io::Error::new(ErrorKind::NotFound, message)));
                }
                None => StopWords::load(given.as_ref())?,
            },
        };
        if self.phrases.is_some_and(|score| !(-1.0..=1.0).contains(&score)) {
            return Err(Error::Usage("`phrases` is a score between -1 and 1, such as 0.5".into()));
        }
        let Self { min_df, max_df, max_vocab, phrases, .. } = *self;
        Ok(WordOptions { stop_words, min_df, max_df, max_vocab, phrases })
    }
}

impl CorpusSource {
    /// Documents of this place, read as is usual.
    pub fn new(place: Place) -> Self {
        Self {
            place,
            read: ReadOptions::default(),
            vocab: None,
            by_number: false,
            words: WordRequest::default(),
        }
    }

    /// A file or folder, read as is usual.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::new(Place::File(path.into()))
    }

    /// Its bytes, if it is a file that has a size.
    pub fn n_bytes(&self) -> Option<u64> {
        let file = std::fs::metadata(self.path()?).ok().filter(|file| file.is_file());
        file.map(|file| file.len())
    }

    /// The file or folder, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::File(path) => Some(path),
            Place::Sample | Place::Memory => None,
        }
    }

    /// What it is called.
    pub fn name(&self) -> &Path {
        match &self.place {
            Place::File(path) => path,
            Place::Sample => Path::new("sample"),
            Place::Memory => Path::new("memory"),
        }
    }

    /// The same with paths that hold wherever the program is started.
    pub fn absolute(mut self) -> Self {
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        if let Place::File(path) = &mut self.place
            && path.as_os_str() != super::read::STDIN
        {
            // As the file system spells it, so that a run tells the same of every way to name it.
            *path = path.canonicalize().unwrap_or_else(|_| absolute(path.clone()));
        }
        self.vocab = self.vocab.map(absolute);
        if Path::new(&self.words.stop_words).is_file() {
            self.words.stop_words =
                absolute(PathBuf::from(&self.words.stop_words)).to_string_lossy().into_owned();
        }
        self
    }

    /// What reading it takes: files with words are read.
    ///
    /// # Errors
    /// A vocabulary that is given and one that is to be chosen at once, and files that cannot be read.
    pub fn ingest_options(&self) -> Result<IngestOptions> {
        if let Some(option) = self.words.first_choice().filter(|_| self.vocab.is_some()) {
            return Err(Error::Usage(format!(
                "`vocab` gives the vocabulary: `{option}` makes no sense beside it; leave out one of the two"
            )));
        }
        let vocab = self.vocab.as_deref().map(load_vocab).transpose()?;
        let n_names = vocab.as_ref().map(|names| u32::try_from(names.len()).unwrap_or(u32::MAX));
        let read = ReadOptions { n_names, ..self.read.clone() };
        Ok(IngestOptions { read, vocab, words: self.words.options()? })
    }

    /// Reads the documents; where they come as words or text and no vocabulary is given, `known` is it.
    ///
    /// # Errors
    /// Files that cannot be read or hold something else, options that mean nothing for them, and documents that were in memory.
    pub fn read(&self, known: Option<&[String]>, monitor: &Arc<Monitor>) -> Result<(Corpus, Ingested)> {
        self.read_on(&Team::default(), known, monitor)
    }

    /// The same on ranks, of which each may have some parts of the documents: where the name has `{part}`, which stands for their numbers
    /// from 0, rank r of N gives parts r, r + N, and so on, and all get all.
    ///
    /// # Errors
    /// As [`CorpusSource::read`]; missing parts, and [`Error::Rank`].
    pub fn read_on(
        &self,
        team: &Team,
        known: Option<&[String]>,
        monitor: &Arc<Monitor>,
    ) -> Result<(Corpus, Ingested)> {
        match self.gathered(team)? {
            Some(gathered) => {
                let read = gathered.source.read_whole(known, monitor);
                read.map_err(|error| gathered.fault_of_part(error))
            }
            None => self.read_whole(known, monitor),
        }
    }

    fn read_whole(&self, known: Option<&[String]>, monitor: &Arc<Monitor>) -> Result<(Corpus, Ingested)> {
        let path = match &self.place {
            Place::Sample => return Ok((sample_corpus()?, Ingested::default())),
            Place::Memory => {
                let message = "the documents were in the memory of the program that trained; give them again, or name a file that has them";
                return Err(Error::Usage(message.into()));
            }
            Place::File(path) => path,
        };
        if let Some(option) = self.words.first_choice() {
            let is_native = matches!(self.read.format, None | Some(Format::Native)) && is_native(path);
            let holder = if is_native { "a native corpus" } else { "a graph or model that is given" };
            if is_native || known.is_some() {
                return Err(Error::Usage(format!(
                    "`{option}` chooses a vocabulary, and {holder} has its own; leave it out"
                )));
            }
        }
        read(path, &self.ingest_options()?, known, monitor)
    }
}
