//! A table as text: one document and topic a line; a document without topics has one line, with empty fields.

use super::{DocTopics, Output, Subject, Target, TopicQ};
use crate::error::Result;

pub(super) struct Tsv<'a> {
    file: Target,
    subject: Subject<'a>,
}

impl<'a> Tsv<'a> {
    pub(super) fn create(mut file: Target, subject: Subject<'a>) -> Result<Self> {
        file.put(&format!("doc\t{}\t{}\n", subject.topic_column(), subject.column()))?;
        Ok(Self { file, subject })
    }
}

impl Output for Tsv<'_> {
    fn write(&mut self, doc: &DocTopics<'_>) -> Result<()> {
        let subject = &self.subject;
        let id = subject.corpus.id(doc.doc_ix);
        let id = tsv_field(&id);
        if doc.topics.is_empty() {
            return self.file.put(&format!("{id}\t\t\n"));
        }
        let line = |&TopicQ { topic, q }: &TopicQ| {
            format!("{id}\t{}\t{}\n", tsv_field(subject.names.of(topic)), subject.value(q))
        };
        let lines: String = doc.topics.iter().map(line).collect();
        self.file.put(&lines)
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.file.commit()
    }
}

/// Text as a field of a table: tabs and line ends, which would break it, become spaces.
pub fn tsv_field(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains(['\t', '\n', '\r']) { text.replace(['\t', '\n', '\r'], " ").into() } else { text.into() }
}
