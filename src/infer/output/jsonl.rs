//! JSON lines: one document a line.

use super::{DocTopics, Output, Subject, TopicQ};
use crate::error::{Error, Result};
use crate::files::AtomicFile;
use crate::network::Names;
use serde::{Serialize, Serializer};
use std::io::Write;
use std::path::{Path, PathBuf};

pub(super) struct Jsonl<'a> {
    path: PathBuf,
    file: AtomicFile,
    subject: Subject<'a>,
}

impl<'a> Jsonl<'a> {
    pub(super) fn create(path: &Path, file: AtomicFile, subject: Subject<'a>) -> Result<Self> {
        Ok(Self { path: path.to_owned(), file, subject })
    }
}

impl Output for Jsonl<'_> {
    fn write(&mut self, doc: &DocTopics<'_>) -> Result<()> {
        let id = self.subject.corpus.id(doc.doc_ix);
        let line = Line { doc: &id, elbo: doc.elbo, topics: Strengths(doc.topics, self.subject.names) };
        let written = serde_json::to_writer(&mut self.file, &line).map_err(std::io::Error::from);
        written.and_then(|()| self.file.write_all(b"\n")).map_err(|e| Error::io(&self.path, e))
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.file.commit()
    }
}

#[derive(Serialize)]
struct Line<'a> {
    doc: &'a str,
    elbo: f64,
    topics: Strengths<'a>,
}

/// Topics with their q as a JSON object, in the order given: strongest first.
struct Strengths<'a>(&'a [TopicQ], &'a Names);

impl Serialize for Strengths<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|entry| (self.1.of(entry.topic), entry.q)))
    }
}
