//! JSON lines: one document a line.

use super::{DocTopics, Output, Subject, Target};
use crate::error::{Error, Result};
use serde::{Serialize, Serializer};
use std::io::Write;

pub(super) struct Jsonl<'a> {
    file: Target,
    subject: Subject<'a>,
}

impl<'a> Jsonl<'a> {
    pub(super) fn create(file: Target, subject: Subject<'a>) -> Self {
        Self { file, subject }
    }
}

impl Output for Jsonl<'_> {
    fn write(&mut self, doc: &DocTopics<'_>) -> Result<()> {
        let id = self.subject.corpus.id(doc.doc_ix);
        let topics = Some(Strengths(doc, &self.subject));
        let (topics, log_odds) = if self.subject.log_odds { (None, topics) } else { (topics, None) };
        let line = Line { doc: &id, elbo: doc.elbo, topics, log_odds };
        let written = serde_json::to_writer(&mut self.file, &line).map_err(std::io::Error::from);
        written.and_then(|()| self.file.write_all(b"\n")).map_err(|e| Error::io(self.file.path(), e))
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.file.commit()
    }
}

#[derive(Serialize)]
struct Line<'a> {
    doc: &'a str,
    elbo: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    topics: Option<Strengths<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_odds: Option<Strengths<'a>>,
}

/// Topics with their values as a JSON object, in the order given: strongest first.
struct Strengths<'a>(&'a DocTopics<'a>, &'a Subject<'a>);

impl Serialize for Strengths<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let Self(doc, subject) = self;
        let entries = doc.topics.iter().map(|entry| (subject.names.of(entry.topic), subject.value(entry.q)));
        serializer.collect_map(entries)
    }
}
