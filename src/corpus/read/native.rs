//! A native corpus as input: to merge it with others, to choose among its tokens, to name them.

use super::{Document, OnFault, Reader, Tokens};
use crate::corpus::{Corpus, native};
use crate::error::Result;
use crate::monitor::Monitor;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(super) struct Native {
    corpus: Corpus,
    names: Option<Vec<String>>,
    next: usize,
    monitor: Arc<Monitor>,
    n_bytes: u64,
}

impl Native {
    /// Verifies it first: what is written from it gets checksums of its own, which would vouch for the damage.
    pub(super) fn open(path: &Path, monitor: &Arc<Monitor>) -> Result<Self> {
        let corpus = native::open(path)?;
        corpus.verify()?;
        let names = corpus.token_names().map(|names| names.iter().map(str::to_owned).collect());
        let n_bytes = corpus.mapped.as_ref().map_or(0, |mapped| mapped.map.len() as u64);
        Ok(Self { corpus, names, next: 0, monitor: Arc::clone(monitor), n_bytes })
    }

    /// How far in the file a document is, by its share of all.
    fn position(&self, doc_ix: usize) -> u64 {
        (self.n_bytes as f64 * doc_ix as f64 / self.corpus.n_docs() as f64) as u64
    }
}

impl Reader for Native {
    fn read(&mut self, document: &mut Document, _on_fault: &mut OnFault<'_>) -> Result<bool> {
        let (corpus, at) = (&self.corpus, self.next);
        if at == corpus.n_docs() {
            return Ok(false);
        }
        let state = corpus.state(at);
        document.tokens.extend_from_slice(state.present);
        document.others.copy(state.other);
        document.id.push_str(corpus.ids.get(at));
        document.label.push_str(corpus.labels.get(at));
        let n_bytes = self.position(at + 1) - self.position(at);
        self.monitor.bytes_read.fetch_add(n_bytes, Ordering::Relaxed);
        self.next += 1;
        Ok(true)
    }

    fn tokens(&self) -> Tokens<'_> {
        Tokens::Numbers { n_tokens: Some(self.corpus.n_tokens), names: self.names.as_deref() }
    }
}
