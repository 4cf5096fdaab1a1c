//! What a vocabulary lacks of documents, as taking them in would count it, with nothing kept of them.

use super::{Ingest, IngestOptions, Ingested, Numbers, Sink};
use crate::corpus::read::Tokens;
use crate::corpus::{Document, Others};
use crate::error::Result;
use std::path::Path;

/// Counts document by document.
pub(in crate::corpus) struct Coverage<'a> {
    path: &'a Path,
    ingest: Ingest<'a>,
    numbers: Option<Numbers>,
}

/// Keeps nothing.
#[derive(Default)]
pub(in crate::corpus) struct Nowhere;

impl<'a> Coverage<'a> {
    /// For the documents of one file; none where no vocabulary is given, or it only names the file's columns.
    pub(in crate::corpus) fn new(
        path: &'a Path,
        tokens: Tokens<'_>,
        options: &'a IngestOptions,
        nowhere: &'a mut Nowhere,
    ) -> Result<Option<Self>> {
        if options.vocab.is_none() || matches!(tokens, Tokens::Numbers { names: None, .. }) {
            return Ok(None);
        }
        let mut ingest = Ingest::new(options, &std::env::temp_dir(), nowhere)?;
        let numbers = ingest.meaning(path, tokens)?;
        Ok(Some(Self { path, ingest, numbers }))
    }

    pub(in crate::corpus) fn add(&mut self, document: &Document) -> Result<()> {
        let documents = &mut [document.clone()];
        self.ingest.take_documents(self.path, documents, self.numbers.as_ref())
    }

    pub(in crate::corpus) fn finish(self) -> Ingested {
        self.ingest.result
    }
}

impl Sink for Nowhere {
    fn push_state(&mut self, _: &mut Vec<u32>, _: &mut Others, _id: &str, _label: &str) -> Result<()> {
        Ok(())
    }

    fn set_names(&mut self, _names: &mut dyn Iterator<Item = &str>) -> Result<()> {
        Ok(())
    }

    fn set_n_tokens(&mut self, _n_tokens: u32) {}
}
