//! JSON lines: one document a line.

use super::{DocTopics, Kind, Output, Subject, Target};
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
        let mut line =
            Line { doc: &id, elbo: None, score: None, topics: None, features: None, log_odds: None };
        let strengths = Some(Strengths(doc, &self.subject));
        match self.subject.kind {
            _ if self.subject.log_odds => line.log_odds = strengths,
            Kind::Topics { .. } => line.topics = strengths,
            Kind::Features { .. } => line.features = strengths,
        }
        match self.subject.kind {
            Kind::Topics { .. } => line.elbo = Some(doc.elbo),
            Kind::Features { .. } => line.score = Some(doc.elbo),
        }
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
    #[serde(skip_serializing_if = "Option::is_none")]
    elbo: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    topics: Option<Strengths<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    features: Option<Strengths<'a>>,
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
