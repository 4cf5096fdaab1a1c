//! Topic probabilities as files: each format has a file; which topics are written is decided in `records`.

mod jsonl;
mod npz;
#[cfg(feature = "parquet")]
mod parquet;
mod tsv;

pub use tsv::tsv_field;

use super::records::TopicQ;
use crate::corpus::Corpus;
use crate::error::{Error, Result};
use crate::estep::Bound;
use crate::files::AtomicFile;
use crate::network::Names;
use std::path::Path;

/// Formats of topic probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputFormat {
    /// `{"doc": id, "elbo": x, "topics": {name: q, ...}}`.
    Jsonl,
    /// `doc`, `topic`, `q`, with a header.
    Tsv,
    /// `doc`, `topic`, `q`, in columns.
    #[cfg(feature = "parquet")]
    Parquet,
    /// SciPy's sparse matrix, a row per document and a column per topic.
    Npz,
}

impl OutputFormat {
    /// The format that a file name asks for.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where it asks for none.
    pub fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
        match extension.as_str() {
            "jsonl" => Ok(Self::Jsonl),
            "tsv" => Ok(Self::Tsv),
            #[cfg(feature = "parquet")]
            "parquet" => Ok(Self::Parquet),
            #[cfg(not(feature = "parquet"))]
            "parquet" => Err(Error::input(path, None, crate::error::NO_PARQUET)),
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
#[cfg_attr(not(feature = "parquet"), allow(dead_code))] // Parquet files say more than others
pub(super) struct Subject<'a> {
    pub(super) names: &'a Names,
    pub(super) corpus: &'a Corpus,
    /// Documents that will be written.
    pub(super) n_docs: usize,
    /// Which bound q and the elbo are of.
    pub(super) bound: Bound,
}

/// What one document gives to write.
struct DocTopics<'a> {
    /// Its number in the corpus.
    doc_ix: usize,
    elbo: f64,
    /// Strongest first.
    topics: &'a [TopicQ],
}

/// A file being written aside in one format. Dropped without `commit`, it leaves nothing behind.
trait Output: Send {
    /// Writes the next document.
    fn write(&mut self, doc: &DocTopics<'_>) -> Result<()>;

    /// Completes the file and puts it in place.
    fn commit(self: Box<Self>) -> Result<()>;
}

/// Writes topics document by document, in order.
pub(super) struct TopicWriter<'a>(Box<dyn Output + 'a>);

impl<'a> TopicWriter<'a> {
    /// Opens the output aside, in a folder on the same disk; [`TopicWriter::commit`] puts it in place.
    pub(super) fn create(aside: &Path, path: &Path, subject: Subject<'a>) -> Result<Self> {
        let file = AtomicFile::create_in(aside, path)?;
        Ok(Self(match OutputFormat::of(path)? {
            OutputFormat::Jsonl => Box::new(jsonl::Jsonl::create(path, file, subject)?),
            OutputFormat::Tsv => Box::new(tsv::Tsv::create(path, file, subject)?),
            #[cfg(feature = "parquet")]
            OutputFormat::Parquet => Box::new(parquet::Parquet::create(path, file, subject)?),
            OutputFormat::Npz => Box::new(npz::Npz::create(path, file, subject)?),
        }))
    }

    /// Writes the next document: its number in the corpus, its bound, its topics, strongest first.
    pub(super) fn write(&mut self, doc_ix: usize, elbo: f64, topics: &[TopicQ]) -> Result<()> {
        self.0.write(&DocTopics { doc_ix, elbo, topics })
    }

    /// Puts the file in place.
    pub(super) fn commit(self) -> Result<()> {
        self.0.commit()
    }
}
