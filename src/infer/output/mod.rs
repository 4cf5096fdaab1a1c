//! Topic probabilities as text: JSON lines (one document a line) or TSV (one document and topic a line).

use crate::corpus::Corpus;
use crate::error::{Error, Result};
use crate::estep::{DocResults, Params};
use crate::files::AtomicFile;
use crate::network::Names;
use serde::{Serialize, Serializer};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Formats of topic probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// `{"doc": id, "elbo": x, "topics": {name: q, ...}}`.
    Jsonl,
    /// `doc`, `topic`, `q`, with a header.
    Tsv,
}

impl OutputFormat {
    /// The format that a file name asks for.
    pub fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
        match extension.as_str() {
            "jsonl" => Ok(Self::Jsonl),
            "tsv" => Ok(Self::Tsv),
            _ => Err(Error::Usage(format!(
                "{}: topic probabilities are written as .jsonl or .tsv; this name ends in '{extension}'",
                path.display()
            ))),
        }
    }
}

/// Writes topics with q at or above a threshold, document by document, in order.
pub struct TopicWriter<'a> {
    path: PathBuf,
    file: AtomicFile,
    format: OutputFormat,
    names: &'a Names,
    corpus: &'a Corpus,
    threshold: f32,
    /// Topics that reach the threshold even outside a document's local model, with that q.
    outside: Vec<(u32, f32)>,
    is_inside: Vec<bool>,
    line: Vec<(u32, f32)>,
}

impl<'a> TopicWriter<'a> {
    /// Opens the output aside; [`TopicWriter::commit`] puts it in place.
    pub fn create(
        path: &Path,
        names: &'a Names,
        corpus: &'a Corpus,
        threshold: f32,
        params: &Params,
    ) -> Result<Self> {
        let format = OutputFormat::of(path)?;
        let outside = params.tail_q.iter().enumerate().map(|(topic, &q)| (topic as u32, q as f32));
        let mut writer = Self {
            path: path.to_owned(),
            file: AtomicFile::create(path)?,
            format,
            names,
            corpus,
            threshold,
            outside: outside.filter(|&(_, q)| q >= threshold && q > 0.0).collect(),
            is_inside: vec![false; names.topics.len()],
            line: Vec::new(),
        };
        if format == OutputFormat::Tsv {
            writer.put("doc\ttopic\tq\n")?;
        }
        Ok(writer)
    }

    /// Writes consecutive documents.
    pub fn write(&mut self, results: &DocResults<'_>) -> Result<()> {
        for doc_ix in 0..results.n_docs() {
            let (topics, q) = results.doc(doc_ix);
            topics.iter().for_each(|&topic| self.is_inside[topic as usize] = true);
            self.line.clear();
            let inside = topics.iter().copied().zip(q.iter().copied());
            self.line.extend(inside.filter(|&(_, q)| q >= self.threshold));
            self.line.extend(self.outside.iter().filter(|outside| !self.is_inside[outside.0 as usize]));
            topics.iter().for_each(|&topic| self.is_inside[topic as usize] = false);
            self.line.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            self.write_line(results.first_item + doc_ix, results.elbo[doc_ix])?;
        }
        Ok(())
    }

    fn write_line(&mut self, doc_ix: usize, elbo: f64) -> Result<()> {
        let id = self.corpus.id(doc_ix);
        let text = match self.format {
            OutputFormat::Jsonl => {
                let line = JsonLine { doc: &id, elbo, topics: Strengths(&self.line, self.names) };
                serde_json::to_string(&line).map_err(|e| Error::io(&self.path, e.into()))? + "\n"
            }
            OutputFormat::Tsv => {
                let line = |&(topic, q): &(u32, f32)| {
                    format!("{}\t{}\t{q}\n", tsv_field(&id), tsv_field(self.names.of(topic)))
                };
                self.line.iter().map(line).collect()
            }
        };
        self.put(&text)
    }

    fn put(&mut self, text: &str) -> Result<()> {
        self.file.write_all(text.as_bytes()).map_err(|e| Error::io(&self.path, e))
    }

    /// Puts the file in place.
    pub fn commit(self) -> Result<()> {
        self.file.commit()
    }
}

#[derive(Serialize)]
struct JsonLine<'a> {
    doc: &'a str,
    elbo: f64,
    topics: Strengths<'a>,
}

/// Topics with their q as a JSON object, in the order given: strongest first.
struct Strengths<'a>(&'a [(u32, f32)], &'a Names);

impl Serialize for Strengths<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|&(topic, q)| (self.1.of(topic), q)))
    }
}

/// Text as a field of a table: tabs and line ends, which would break it, become spaces.
pub fn tsv_field(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains(['\t', '\n', '\r']) { text.replace(['\t', '\n', '\r'], " ").into() } else { text.into() }
}
