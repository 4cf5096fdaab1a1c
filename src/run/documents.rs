//! The documents of a run, read again as training read them.

use super::inputs::{read_corpus, refuse_other_corpus};
use super::observer::Observer;
use super::record::RunRecord;
use super::source::NetworkSource;
use crate::baseline::BaselineRecord;
use crate::corpus::{Alignment, Corpus, CorpusSource, Docs, Parts, Place, align};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::ranks::Team;
use std::path::PathBuf;
use std::sync::Arc;

/// A run's corpus, in the token numbers of its model, and the parts it was split into.
#[derive(Debug)]
pub struct RunDocs {
    /// The corpus.
    pub corpus: Corpus,
    alignment: Alignment,
    /// Its split.
    pub parts: Parts,
    /// Where the corpus was found; 'sample' if it is the bundled one.
    pub path: PathBuf,
}

impl RunDocs {
    /// Reads them; `moved` is where the corpus is now, if it is no longer where it was.
    ///
    /// # Errors
    /// A corpus that is gone, that cannot be read, or that is not the one that the run was trained on.
    pub fn read(
        run: &RunRecord,
        moved: Option<PathBuf>,
        monitor: &Arc<Monitor>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let config = &run.config;
        let is_given = matches!(config.network, NetworkSource::File(_) | NetworkSource::Memory);
        let of_run = OfRun {
            source: &config.corpus,
            fingerprint: &config.run.corpus_fingerprint,
            tokens: &run.network.names.tokens,
            is_given,
        };
        of_run.read(&|n_docs| config.options.split(n_docs), moved, monitor, observer)
    }

    /// The same of a run of a baseline.
    ///
    /// # Errors
    /// As [`RunDocs::read`].
    pub fn read_of_baseline(
        run: &BaselineRecord,
        moved: Option<PathBuf>,
        monitor: &Arc<Monitor>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let config = &run.config;
        let of_run = OfRun {
            source: &config.corpus,
            fingerprint: &config.run.corpus_fingerprint,
            tokens: &run.trained.names.tokens,
            is_given: false,
        };
        of_run.read(&|n_docs| config.split(n_docs), moved, monitor, observer)
    }

    /// The documents in the model's token numbers.
    pub fn docs(&self) -> Docs<'_> {
        self.alignment.docs(&self.corpus)
    }
}

/// What a run says of its documents.
struct OfRun<'a> {
    source: &'a CorpusSource,
    fingerprint: &'a str,
    tokens: &'a [String],
    /// Whether the tokens came with a graph, and are not those of the corpus.
    is_given: bool,
}

impl OfRun<'_> {
    fn read(
        &self,
        split: &dyn Fn(usize) -> Parts,
        moved: Option<PathBuf>,
        monitor: &Arc<Monitor>,
        observer: &mut dyn Observer,
    ) -> Result<RunDocs> {
        let Self { tokens, is_given, .. } = *self;
        let mut source = self.source.clone();
        if let Some(path) = moved {
            source.place = Place::File(path);
        }
        if let Some(path) = source.path().filter(|path| !path.exists()) {
            let message = "the run's corpus is no longer here; name its new place with `corpus`";
            return Err(Error::input(path, None, message));
        }
        let known = is_given.then_some(tokens);
        let (corpus, ingested) = read_corpus(&source, None, &Team::default(), known, monitor, observer)?;
        let remedy = "or name its new place with `corpus`";
        refuse_other_corpus(self.fingerprint, &corpus, source.name(), remedy)?;
        let alignment = match is_given {
            true => source.match_with(tokens, &corpus, &ingested)?,
            false => align(&corpus, tokens),
        };
        let parts = split(corpus.n_docs());
        Ok(RunDocs { corpus, alignment, parts, path: source.name().to_owned() })
    }
}
