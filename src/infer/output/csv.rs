//! A wide table: one document a line, one topic a column.

use super::{DocTopics, Output, Subject, Target, TopicQ};
use crate::error::Result;
use std::borrow::Cow;
use std::fmt::Write;

pub(super) struct Csv<'a> {
    file: Target,
    subject: Subject<'a>,
    /// The cells of a line.
    cells: Vec<Option<f32>>,
    line: String,
}

impl<'a> Csv<'a> {
    pub(super) fn create(mut file: Target, subject: Subject<'a>) -> Result<Self> {
        let names = &subject.names.topics;
        let header: String = names.iter().map(|name| format!(",{}", csv_field(name))).collect();
        file.put(&format!("doc{header}\n"))?;
        Ok(Self { file, subject, cells: vec![None; names.len()], line: String::new() })
    }
}

impl Output for Csv<'_> {
    fn write(&mut self, doc: &DocTopics<'_>) -> Result<()> {
        let Self { file, subject, cells, line } = self;
        for &TopicQ { topic, q } in doc.topics {
            cells[topic as usize] = Some(subject.value(q));
        }
        line.clear();
        line.push_str(&csv_field(&subject.corpus.id(doc.doc_ix)));
        // What is left out is about 0 as a probability; as log-odds there is no number for it.
        let left_out = if subject.log_odds { "," } else { ",0" };
        for cell in cells {
            let _ = match cell.take() {
                Some(value) => write!(line, ",{value}"),
                None => line.write_str(left_out),
            };
        }
        line.push('\n');
        file.put(line)
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.file.commit()
    }
}

/// Text as a field of a CSV file, in quotes where it must be.
fn csv_field(text: &str) -> Cow<'_, str> {
    if text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text.into()
    }
}
