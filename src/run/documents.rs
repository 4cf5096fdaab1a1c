//! The documents of a run, read again as training read them.

use super::inputs::{read_corpus, refuse_other_corpus};
use super::observer::Observer;
use super::record::RunRecord;
use super::source::NetworkSource;
use crate::corpus::{Alignment, Corpus, Docs, Parts, Place, align};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
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
        let mut source = config.corpus.clone();
        if let Some(path) = moved {
            source.place = Place::File(path);
        }
        if let Some(path) = source.path().filter(|path| !path.exists()) {
            let message = "the run's corpus is no longer here; name its new place with `corpus`";
            return Err(Error::input(path, None, message));
        }
        let tokens = &run.network.names.tokens;
        let is_given = matches!(config.network, NetworkSource::File(_) | NetworkSource::Memory);
        let known = is_given.then_some(tokens.as_slice());
        let (corpus, ingested) = read_corpus(&source, None, known, monitor, observer)?;
        let remedy = "or name its new place with `corpus`";
        refuse_other_corpus(&config.run.corpus_fingerprint, &corpus, source.name(), remedy)?;
        let alignment = match is_given {
            true => source.match_with(tokens, &corpus, &ingested)?,
            false => align(&corpus, tokens),
        };
        let parts = config.options.split(corpus.n_docs());
        Ok(Self { corpus, alignment, parts, path: source.name().to_owned() })
    }

    /// The documents in the model's token numbers.
    pub fn docs(&self) -> Docs<'_> {
        self.alignment.docs(&self.corpus)
    }
}
