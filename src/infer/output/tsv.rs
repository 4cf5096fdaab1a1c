//! A table as text: one document and topic a line.

use super::{DocTopics, Output, Subject, TopicQ};
use crate::error::{Error, Result};
use crate::files::AtomicFile;
use std::io::Write;
use std::path::{Path, PathBuf};

pub(super) struct Tsv<'a> {
    path: PathBuf,
    file: AtomicFile,
    subject: Subject<'a>,
}

impl<'a> Tsv<'a> {
    pub(super) fn create(path: &Path, file: AtomicFile, subject: Subject<'a>) -> Result<Self> {
        let mut tsv = Self { path: path.to_owned(), file, subject };
        tsv.put("doc\ttopic\tq\n")?;
        Ok(tsv)
    }

    fn put(&mut self, text: &str) -> Result<()> {
        self.file.write_all(text.as_bytes()).map_err(|e| Error::io(&self.path, e))
    }
}

impl Output for Tsv<'_> {
    fn write(&mut self, doc: &DocTopics<'_>) -> Result<()> {
        let id = self.subject.corpus.id(doc.doc_ix);
        let id = tsv_field(&id);
        let line = |&TopicQ { topic, q }: &TopicQ| {
            format!("{id}\t{}\t{q}\n", tsv_field(self.subject.names.of(topic)))
        };
        let lines: String = doc.topics.iter().map(line).collect();
        self.put(&lines)
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.file.commit()
    }
}

/// Text as a field of a table: tabs and line ends, which would break it, become spaces.
pub fn tsv_field(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains(['\t', '\n', '\r']) { text.replace(['\t', '\n', '\r'], " ").into() } else { text.into() }
}
