//! The documents of a run, read again as training read them.

use super::inputs::SAMPLE;
use super::resume::{recorded, refuse_other_corpus};
use crate::cli::Common;
use noisyor::corpus::{Alignment, Corpus, Docs, Parts, split};
use noisyor::monitor::Monitor;
use noisyor::train::RunRecord;
use noisyor::{Error, Result};
use std::path::PathBuf;
use std::sync::Arc;

/// A run's corpus, in the token numbers of its model, and the parts it was split into.
pub(crate) struct RunDocs {
    pub(crate) corpus: Corpus,
    alignment: Alignment,
    pub(crate) parts: Parts,
    /// Where the corpus was found; 'sample' if it is the bundled one.
    pub(crate) path: PathBuf,
}

impl RunDocs {
    /// Reads them; `moved` is where the corpus is now, if it is no longer where it was.
    pub(crate) fn read(
        run: &RunRecord,
        moved: Option<PathBuf>,
        common: &Common,
        monitor: &Arc<Monitor>,
    ) -> Result<Self> {
        let mut args = recorded(&run.path, &run.config)?;
        if moved.is_some() {
            args.corpus = moved;
        }
        if let Some(path) = args.corpus.as_ref().filter(|path| !path.exists()) {
            let message = "the run's corpus is no longer here; name its new place with --corpus";
            return Err(Error::input(path, None, message));
        }
        let (corpus, alignment) = args.read_corpus(Some(&run.network.names.tokens), common, monitor)?;
        let about = &run.config["run"];
        refuse_other_corpus(about, &corpus, args.corpus.as_deref(), "or name its new place with --corpus")?;
        let options = &run.options;
        let parts = split(corpus.n_docs(), options.valid, options.test, options.seed);
        Ok(Self { corpus, alignment, parts, path: args.corpus.unwrap_or_else(|| SAMPLE.into()) })
    }

    /// The documents in the model's token numbers.
    pub(crate) fn docs(&self) -> Docs<'_> {
        self.alignment.docs(&self.corpus)
    }
}
