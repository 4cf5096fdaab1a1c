//! Documents by tokens as a matrix: what its formats have in common.

use super::entries::{Gather, InOrder, MEMORY};
use super::{Document, OnFault, Reader, Tokens, Unlisted};
use crate::error::{Error, Result};
use std::path::PathBuf;

/// Up to here a matrix may have as many empty documents as it likes.
const FEW_DOCUMENTS: u64 = 1_000_000;
/// A matrix of more documents with fewer entries than one in so many of them is a slip or a trap.
const DOCUMENTS_PER_ENTRY: u64 = 100;

/// The entries of a matrix, one by one, as a file has them.
pub(super) trait Entries: Send {
    /// The document and token of the next entry, as [`entry`] gives it; none at the end, when all that the file claims about
    /// itself has been checked.
    fn next(&mut self, on_fault: &mut OnFault<'_>) -> Result<Option<(u32, u32)>>;
}

/// Marks the token of an entry that is absent, where that is not the same as not listed.
const ABSENT: u32 = 1 << 31;

/// An entry of the matrix: none if it says no more than if it were not there.
#[inline]
pub(super) fn entry(document: u32, token: u32, present: bool, unlisted: Unlisted) -> Option<(u32, u32)> {
    match (present, unlisted) {
        (true, _) => Some((document, token)),
        (false, Unlisted::Unknown) => Some((document, token | ABSENT)),
        (false, Unlisted::Absent) => None,
    }
}

/// What is known of a matrix before its entries.
pub(super) struct Shape {
    pub(super) n_documents: u32,
    pub(super) n_tokens: u32,
    pub(super) names: Option<Vec<String>>,
    pub(super) unlisted: Unlisted,
}

/// A number of documents or tokens, if tokens and documents can still be numbered.
pub(super) fn numberable(n: u64, what: &str) -> Result<u32, String> {
    u32::try_from(n).map_err(|_| format!("declares {n} {what}; at most {} can be read", u32::MAX))
}

/// What is wrong if almost all documents are empty: reading billions of them would take forever.
pub(super) fn check_density(n_documents: u32, n_entries: u64) -> Result<(), String> {
    let n_documents = u64::from(n_documents);
    if n_documents <= FEW_DOCUMENTS || n_documents <= n_entries.saturating_mul(DOCUMENTS_PER_ENTRY) {
        return Ok(());
    }
    Err(format!(
        "{n_documents} documents with {n_entries} entries in all: nearly all would be empty; \
         correct the number of documents, or leave out the empty ones"
    ))
}

/// Reads a matrix document by document.
pub(super) struct Matrix<E> {
    name: PathBuf,
    shape: Shape,
    entries: Order<E>,
    started: bool,
    n_read: u32,
    /// The entry after those read.
    ahead: Option<(u32, u32)>,
}

enum Order<E> {
    /// In any order; they are gathered by the first read.
    Any(E),
    ByDocument(E),
    Gathered(InOrder),
}

impl<E: Entries> Matrix<E> {
    /// Entries in any order.
    pub(super) fn unordered(name: PathBuf, shape: Shape, entries: E) -> Self {
        Self { name, shape, entries: Order::Any(entries), started: false, n_read: 0, ahead: None }
    }

    /// Entries that come in order of their documents.
    pub(super) fn by_document(name: PathBuf, shape: Shape, entries: E) -> Self {
        Self { name, shape, entries: Order::ByDocument(entries), started: false, n_read: 0, ahead: None }
    }

    fn start(&mut self, on_fault: &mut OnFault<'_>) -> Result<()> {
        self.started = true;
        if self.shape.unlisted == Unlisted::Unknown && self.shape.n_tokens > ABSENT {
            let message =
                format!("has {} columns; with `unlisted` unknown, at most {ABSENT}", self.shape.n_tokens);
            return Err(Error::input(&self.name, None, message));
        }
        if let Order::Any(entries) = &mut self.entries {
            let mut gather = Gather::new(MEMORY);
            while let Some((document, token)) = entries.next(on_fault)? {
                gather.push(document, token).map_err(|e| spill_error(&self.name, e))?;
            }
            self.entries = Order::Gathered(gather.finish().map_err(|e| spill_error(&self.name, e))?);
        }
        self.ahead = self.next_entry(on_fault)?;
        Ok(())
    }

    fn next_entry(&mut self, on_fault: &mut OnFault<'_>) -> Result<Option<(u32, u32)>> {
        match &mut self.entries {
            Order::Any(entries) | Order::ByDocument(entries) => entries.next(on_fault),
            Order::Gathered(entries) => entries.next().map_err(|e| spill_error(&self.name, e)),
        }
    }

    fn read_document(&mut self, document: &mut Document, on_fault: &mut OnFault<'_>) -> Result<bool> {
        if !self.started {
            self.start(on_fault)?;
        }
        if self.n_read == self.shape.n_documents {
            return Ok(false);
        }
        while let Some((_, token)) = self.ahead.filter(|&(document, _)| document == self.n_read) {
            match self.shape.unlisted {
                Unlisted::Unknown if token >= ABSENT => document.others.tokens.push(token - ABSENT),
                _ => document.tokens.push(token),
            }
            self.ahead = self.next_entry(on_fault)?;
        }
        document.others.rest_unknown = self.shape.unlisted == Unlisted::Unknown;
        self.n_read += 1;
        if let Some(token) = document.drop_conflicts() {
            let (row, column) = (self.n_read, u64::from(token) + 1);
            let message = format!(
                "row {row}, column {column}, counted from 1: has two values, above zero and not; leave out one"
            );
            on_fault(Error::input(&self.name, None, message))?;
        }
        Ok(true)
    }
}

impl<E: Entries> Reader for Matrix<E> {
    fn read(&mut self, document: &mut Document, on_fault: &mut OnFault<'_>) -> Result<bool> {
        let read = self.read_document(document, on_fault);
        if read.is_err() {
            // An error is the end.
            self.n_read = self.shape.n_documents;
        }
        read
    }

    fn tokens(&self) -> Tokens<'_> {
        Tokens::Numbers { n_tokens: Some(self.shape.n_tokens), names: self.shape.names.as_deref() }
    }
}

/// The file that is read is not the one that failed.
fn spill_error(name: &std::path::Path, error: std::io::Error) -> Error {
    let message = format!(
        "sorting its entries in a temporary file failed: {error}; make room in {}, or set TMPDIR to a folder with more",
        std::env::temp_dir().display()
    );
    Error::io(name, std::io::Error::new(error.kind(), message))
}
