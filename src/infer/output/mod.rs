//! Topic probabilities as files: which topics of a document are written is decided here, each format has a file.

mod jsonl;
mod npz;
mod parquet;
mod tsv;

pub use tsv::tsv_field;

use crate::corpus::Corpus;
use crate::error::{Error, Result};
use crate::estep::{Bound, DocResults, Params};
use crate::network::Names;
use std::path::Path;

/// Formats of topic probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// `{"doc": id, "elbo": x, "topics": {name: q, ...}}`.
    Jsonl,
    /// `doc`, `topic`, `q`, with a header.
    Tsv,
    /// `doc`, `topic`, `q`, in columns.
    Parquet,
    /// SciPy's sparse matrix, a row per document and a column per topic.
    Npz,
}

impl OutputFormat {
    /// The format that a file name asks for.
    pub fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
        match extension.as_str() {
            "jsonl" => Ok(Self::Jsonl),
            "tsv" => Ok(Self::Tsv),
            "parquet" => Ok(Self::Parquet),
            "npz" => Ok(Self::Npz),
            _ => Err(Error::Usage(format!(
                "{}: topic probabilities are written as .jsonl, .tsv, .parquet or .npz; this name ends in '{extension}'",
                path.display()
            ))),
        }
    }
}

/// What is written about.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// Names of the topics.
    pub names: &'a Names,
    /// The documents.
    pub corpus: &'a Corpus,
    /// Which bound q and the elbo are of.
    pub bound: Bound,
}

/// What one document gives to write.
struct DocTopics<'a> {
    doc_ix: usize,
    elbo: f64,
    /// Topics at or above the threshold with their q, strongest first.
    topics: &'a [(u32, f32)],
}

/// A file being written aside in one format. Dropped without `commit`, it leaves nothing behind.
trait Output {
    /// Writes the next document.
    fn write(&mut self, doc: &DocTopics<'_>) -> Result<()>;

    /// Completes the file and puts it in place.
    fn commit(self: Box<Self>) -> Result<()>;
}

/// Writes topics with q at or above a threshold, document by document, in order.
pub struct TopicWriter<'a> {
    output: Box<dyn Output + 'a>,
    threshold: f32,
    /// Topics that reach the threshold even outside a document's local model, with that q.
    outside: Vec<(u32, f32)>,
    is_inside: Vec<bool>,
    topics: Vec<(u32, f32)>,
}

impl<'a> TopicWriter<'a> {
    /// Opens the output aside; [`TopicWriter::commit`] puts it in place.
    pub fn create(path: &Path, subject: Subject<'a>, threshold: f32, params: &Params) -> Result<Self> {
        let output: Box<dyn Output + 'a> = match OutputFormat::of(path)? {
            OutputFormat::Jsonl => Box::new(jsonl::Jsonl::create(path, subject)?),
            OutputFormat::Tsv => Box::new(tsv::Tsv::create(path, subject)?),
            OutputFormat::Parquet => Box::new(parquet::Parquet::create(path, subject)?),
            OutputFormat::Npz => Box::new(npz::Npz::create(path, subject)?),
        };
        let outside = params.tail_q.iter().enumerate().map(|(topic, &q)| (topic as u32, q as f32));
        Ok(Self {
            output,
            threshold,
            outside: outside.filter(|&(_, q)| q >= threshold && q > 0.0).collect(),
            is_inside: vec![false; subject.names.topics.len()],
            topics: Vec::new(),
        })
    }

    /// Writes consecutive documents.
    pub fn write(&mut self, results: &DocResults<'_>) -> Result<()> {
        for doc_ix in 0..results.n_docs() {
            let (topics, q) = results.doc(doc_ix);
            topics.iter().for_each(|&topic| self.is_inside[topic as usize] = true);
            self.topics.clear();
            let inside = topics.iter().copied().zip(q.iter().copied());
            self.topics.extend(inside.filter(|&(_, q)| q >= self.threshold));
            self.topics.extend(self.outside.iter().filter(|outside| !self.is_inside[outside.0 as usize]));
            topics.iter().for_each(|&topic| self.is_inside[topic as usize] = false);
            self.topics.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            self.output.write(&DocTopics {
                doc_ix: results.first_item + doc_ix,
                elbo: results.elbo[doc_ix],
                topics: &self.topics,
            })?;
        }
        Ok(())
    }

    /// Puts the file in place.
    pub fn commit(self) -> Result<()> {
        self.output.commit()
    }
}
