//! Documents as CSR, in memory or in a mapped file, with ids, labels and token names where there are any.

use super::column::{Column, Strings};
use super::{Others, Sink, native};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use memmap2::Mmap;
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use twox_hash::XxHash3_64;

/// Documents after which pages of a mapped file are given back, where they are: what is mapped meanwhile stays small.
pub const RELEASE_DOCS: usize = 2048;
/// Bytes that a system maps round a place that is read (Linux: fault_around_bytes).
const MAPPED_AROUND: u64 = 1 << 16;

/// Documents: which tokens occur in each.
#[derive(Debug, Clone, Default)]
pub struct Corpus {
    /// Where each document's tokens end.
    pub(super) doc_ends: Column<u64>,
    pub(super) tokens: Column<u32>,
    /// What documents list beside their present tokens, and where each list ends, with its kind in the highest bit
    /// ([`Others`]); both are empty where no document has unknown tokens.
    pub(super) others: Column<u32>,
    pub(super) other_ends: Column<u64>,
    pub(super) n_tokens: u32,
    pub(super) token_names: Option<Strings>,
    /// Empty, or one a document; an empty text is none.
    pub(super) ids: Strings,
    pub(super) labels: Strings,
    /// The file behind it, if it is mapped.
    pub(super) mapped: Option<Arc<Mapped>>,
}

#[derive(Debug)]
pub(super) struct Mapped {
    pub(super) path: PathBuf,
    pub(super) map: Arc<Mmap>,
    /// XXH3 of the sections that [`Corpus::fingerprint`] is about, as the header has them.
    pub(super) checksums: Vec<u64>,
    /// Whether all of it has been compared with its checksums.
    pub(super) verified: AtomicBool,
    /// Whether pages that were read are given back.
    pub(super) gives_back: AtomicBool,
}

impl Sink for Corpus {
    fn push_state(
        &mut self,
        present: &mut Vec<u32>,
        others: &mut Others,
        id: &str,
        label: &str,
    ) -> Result<()> {
        Self::push_state(self, present, others, id, label)
    }

    fn set_names(&mut self, names: &mut dyn Iterator<Item = &str>) -> Result<()> {
        self.set_token_names(names);
        Ok(())
    }

    fn set_n_tokens(&mut self, n_tokens: u32) {
        self.n_tokens = self.n_tokens.max(n_tokens);
    }
}

impl Corpus {
    /// Adds a document; its tokens are sorted and repeats dropped. Empty id, empty label: none.
    pub fn push(&mut self, tokens: &mut Vec<u32>, id: &str, label: &str) {
        tokens.sort_unstable();
        tokens.dedup();
        if self.has_unknown() {
            let end = self.others.len() as u64;
            self.other_ends.to_mut().push(end);
        }
        self.push_present(tokens, id, label);
    }

    /// Adds a document's present tokens, which are ascending.
    pub(super) fn push_present(&mut self, tokens: &[u32], id: &str, label: &str) {
        self.n_tokens = self.n_tokens.max(tokens.last().map_or(0, |last| last.saturating_add(1)));
        self.tokens.to_mut().extend(tokens);
        let doc_ix = self.n_docs();
        for (list, value) in [(&mut self.ids, id), (&mut self.labels, label)] {
            if !value.is_empty() || !list.is_empty() {
                (list.len()..doc_ix).for_each(|_| list.push(""));
                list.push(value);
            }
        }
        let end = self.tokens.len() as u64;
        self.doc_ends.to_mut().push(end);
    }

    /// A corpus from lists of token numbers.
    pub fn from_tokens(docs: impl IntoIterator<Item = Vec<u32>>) -> Self {
        let mut corpus = Self::default();
        docs.into_iter().for_each(|mut tokens| corpus.push(&mut tokens, "", ""));
        corpus
    }

    /// Sets the tokens' names, and so their number.
    pub fn set_token_names<T: AsRef<str>>(&mut self, names: impl IntoIterator<Item = T>) {
        let names: Strings = names.into_iter().collect();
        self.n_tokens = names.len() as u32;
        self.token_names = Some(names);
    }

    /// Gives all documents to a sink, and the tokens' names: to the writer of a native corpus, say.
    ///
    /// # Errors
    ///
    /// What the sink fails with.
    pub fn copy_to(&self, sink: &mut dyn Sink) -> Result<()> {
        match self.token_names() {
            Some(names) => sink.set_names(&mut names.iter())?,
            None => sink.set_n_tokens(self.n_tokens),
        }
        let (mut present, mut others) = (Vec::new(), Others::default());
        for doc_ix in 0..self.n_docs() {
            let state = self.state(doc_ix);
            present.clear();
            present.extend_from_slice(state.present);
            others.copy(state.other);
            let label = self.label(doc_ix).unwrap_or("");
            sink.push_state(&mut present, &mut others, self.own_id(doc_ix), label)?;
        }
        Ok(())
    }

    /// Names of the tokens, where the corpus has them.
    pub fn token_names(&self) -> Option<&Strings> {
        self.token_names.as_ref()
    }

    /// Number of documents, empty ones included.
    pub fn n_docs(&self) -> usize {
        self.doc_ends.len()
    }

    /// Number of tokens there are: the vocabulary, or else one above the largest number that occurs.
    pub fn n_tokens(&self) -> usize {
        self.n_tokens as usize
    }

    /// Number of tokens over all documents.
    pub fn n_occurrences(&self) -> usize {
        self.tokens.len()
    }

    /// Bytes of memory; of a mapped corpus, of its file.
    pub fn n_bytes(&self) -> usize {
        let texts = |texts: &Strings| 8 * texts.len() + texts.bytes.len();
        self.mapped.as_ref().map_or_else(
            || {
                let names = self.token_names.as_ref().map_or(0, texts);
                4 * (self.tokens.len() + self.others.len())
                    + 8 * (self.doc_ends.len() + self.other_ends.len())
                    + texts(&self.ids)
                    + texts(&self.labels)
                    + names
            },
            |mapped| mapped.map.len(),
        )
    }

    /// The tokens of one document, ascending. Empty where a mapped file is damaged.
    #[inline]
    pub fn tokens(&self, doc_ix: usize) -> &[u32] {
        let begin = if doc_ix == 0 { 0 } else { self.doc_ends[doc_ix - 1] as usize };
        self.tokens.get(begin..self.doc_ends[doc_ix] as usize).unwrap_or(&[])
    }

    /// Reads all of a mapped file and compares it with its checksums; a corpus in memory is always right.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] where the file is damaged.
    pub fn verify(&self) -> Result<()> {
        self.verify_while(&Monitor::default())
    }

    /// The same, until the user asks to stop.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] where the file is damaged, [`Error::Interrupted`] where
    /// the monitor says stop.
    pub fn verify_while(&self, monitor: &Monitor) -> Result<()> {
        let Some(mapped) = self.mapped.as_ref().filter(|_| !self.is_verified()) else { return Ok(()) };
        let verified = native::verify(self, mapped, &|| {
            self.release();
            monitor.go_on().is_ok()
        });
        if let Err(message) = verified {
            monitor.go_on()?;
            return Err(Error::input(&mapped.path, None, message));
        }
        mapped.verified.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// A number that tells corpora apart: the same for the same documents and token names, in memory or mapped. Ids and labels
    /// do not count. Of a mapped file it is what the header claims, so it is instant; [`Corpus::verify`] tells whether that is so.
    pub fn fingerprint(&self) -> u64 {
        let checksums = self.mapped.as_ref().map_or_else(
            || {
                let (none, names) = (Strings::default(), &self.token_names);
                let names = names.as_ref().unwrap_or(&none);
                let mut parts: Vec<&[u8]> = vec![
                    bytemuck::cast_slice(&self.tokens),
                    bytemuck::cast_slice(&self.doc_ends),
                    bytemuck::cast_slice(&names.ends),
                    &names.bytes,
                ];
                if self.has_unknown() {
                    parts.push(bytemuck::cast_slice(&self.others));
                    parts.push(bytemuck::cast_slice(&self.other_ends));
                }
                parts.into_iter().map(XxHash3_64::oneshot).collect()
            },
            |mapped| mapped.checksums.clone(),
        );
        let all = [checksums.as_slice(), &[self.n_tokens.into()]].concat();
        XxHash3_64::oneshot(bytemuck::cast_slice(&all))
    }

    /// Whether it is in a mapped file.
    pub fn is_mapped(&self) -> bool {
        self.mapped.is_some()
    }

    /// From now on, [`Corpus::release`] gives back the pages of a mapped file: it does not stay in memory, however large it is.
    pub fn give_back_pages(&self) {
        if let Some(mapped) = &self.mapped {
            mapped.gives_back.store(true, Ordering::Relaxed);
        }
    }

    /// Gives back the pages of a mapped file that were read, if [`Corpus::give_back_pages`] was called; they are read again when
    /// they are wanted. To be called after every [`RELEASE_DOCS`] documents.
    pub fn release(&self) {
        if self.mapped.as_ref().is_some_and(|mapped| mapped.gives_back.load(Ordering::Relaxed)) {
            self.release_now();
        }
    }

    /// The same whether that was called or not.
    pub(super) fn release_now(&self) {
        if let Some(mapped) = &self.mapped {
            native::release(mapped);
        }
    }

    /// Bytes of a mapped file that stay in memory although pages are given back, while `n_docs` documents are read in their order.
    pub fn resident_bytes(&self, n_docs: usize) -> u64 {
        let apart = self.n_bytes() as u64 / n_docs.max(1) as u64;
        RELEASE_DOCS.min(n_docs) as u64 * apart.min(MAPPED_AROUND)
    }

    /// Whether there is nothing left to verify.
    pub fn is_verified(&self) -> bool {
        self.mapped.as_ref().is_none_or(|mapped| mapped.verified.load(Ordering::Relaxed))
    }

    /// A document's id, or its number as text.
    pub fn id(&self, doc_ix: usize) -> Cow<'_, str> {
        match self.ids.get(doc_ix) {
            "" => doc_ix.to_string().into(),
            id => id.into(),
        }
    }

    /// A document's id, or empty.
    pub(super) fn own_id(&self, doc_ix: usize) -> &str {
        self.ids.get(doc_ix)
    }

    /// A document's label.
    pub fn label(&self, doc_ix: usize) -> Option<&str> {
        Some(self.labels.get(doc_ix)).filter(|label| !label.is_empty())
    }
}

impl PartialEq for Corpus {
    fn eq(&self, other: &Self) -> bool {
        self.doc_ends[..] == other.doc_ends[..]
            && self.tokens[..] == other.tokens[..]
            && self.others[..] == other.others[..]
            && self.other_ends[..] == other.other_ends[..]
            && self.n_tokens == other.n_tokens
            && self.token_names == other.token_names
            && (0..self.n_docs())
                .all(|at| self.ids.get(at) == other.ids.get(at) && self.label(at) == other.label(at))
    }
}
