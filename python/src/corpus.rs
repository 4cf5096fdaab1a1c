//! Documents for Python: from arrays, lists, and files of any format.

use crate::array;
use crate::errors::OrRaise;
use crate::options::parse;
use crate::task::{Reporter, RunObserver, run, whole};
use noisyor::Monitor;
use noisyor::corpus::native::NativeWriter;
use noisyor::corpus::read::{OnFault, Reader};
use noisyor::corpus::{
    CorpusSource, Document, IngestOptions, Ingested, Place, ReadOptions, WordRequest, Words, ingest_reader,
    reading_warnings,
};
use noisyor::run::{Level, Observer, Stage};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;

/// Documents that do not change; clones share their arrays.
#[pyclass(frozen, module = "noisyor._core")]
pub struct Corpus {
    pub(crate) corpus: noisyor::Corpus,
    pub(crate) ingested: Ingested,
    /// Where it was read from, where that was a file.
    pub(crate) source: Option<CorpusSource>,
}

/// How documents are read, as JSON has it.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Reading {
    read: Option<ReadOptions>,
    vocab: Option<PathBuf>,
    by_number: bool,
    words: Option<WordRequest>,
}

impl Corpus {
    fn in_memory(corpus: noisyor::Corpus, ingested: Ingested) -> Self {
        Self { corpus: corpus.shared(), ingested, source: None }
    }
}

#[pymethods]
impl Corpus {
    /// From the arrays of a CSR matrix; rows that ascend are read where they lie.
    #[staticmethod]
    #[pyo3(signature = (indptr, indices, n_tokens, names=None))]
    fn from_csr(
        py: Python<'_>,
        indptr: &Bound<'_, PyAny>,
        indices: &Bound<'_, PyAny>,
        n_tokens: u32,
        names: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let (indptr, indices) = (array::indptr(indptr)?, array::indices(indices)?);
        let corpus = py.detach(|| noisyor::Corpus::from_shared_csr(indptr, indices, n_tokens, names));
        Ok(Self::in_memory(corpus.or_raise(py)?, Ingested::default()))
    }

    /// From texts, or else from lists of tokens; `known` is the vocabulary where it is given, `words` says how one is chosen, as JSON.
    #[staticmethod]
    #[pyo3(signature = (texts, token_lists, known, words, n_threads, listener=None))]
    fn from_lists(
        py: Python<'_>,
        texts: Option<Vec<String>>,
        token_lists: Option<Vec<Vec<String>>>,
        known: Option<Vec<String>>,
        words: &str,
        n_threads: usize,
        listener: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let words: WordRequest = parse(py, "words", words)?;
        let documents = Lists {
            texts: texts.unwrap_or_default().into_iter(),
            token_lists: token_lists.unwrap_or_default().into_iter(),
        };
        let (n_docs, monitor) =
            (documents.texts.len() + documents.token_lists.len(), Arc::new(Monitor::default()));
        let read = |reporter: &mut Reporter| {
            let mut observer = RunObserver { reporter, monitor: &monitor };
            observer.begins(Stage::Reading, Some(n_docs as u64));
            let options = IngestOptions { vocab: known, words: words.options()?, ..IngestOptions::default() };
            let mut corpus = noisyor::Corpus::default();
            let name = "documents".as_ref();
            let ingested = ingest_reader(name, Box::new(documents), &options, &mut corpus, &monitor);
            observer.ended();
            let ingested = ingested?;
            // Words that a model lacks are told where the documents are matched with it.
            let notes = ingested.notes.iter();
            notes.for_each(|note| observer.says(Level::Warning, note));
            Ok((corpus, ingested))
        };
        let (corpus, ingested) = whole(py, run(py, n_threads, &monitor, listener, read)?)?;
        Ok(Self::in_memory(corpus, ingested))
    }

    /// From a file or folder of any format; without a path the bundled sample.
    #[staticmethod]
    #[pyo3(signature = (path, reading, known, n_threads, listener=None))]
    fn read(
        py: Python<'_>,
        path: Option<PathBuf>,
        reading: &str,
        known: Option<Vec<String>>,
        n_threads: usize,
        listener: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let source = source(py, path, reading)?;
        let monitor = Arc::new(Monitor::default());
        let read = |reporter: &mut Reporter| {
            let mut observer = RunObserver { reporter, monitor: &monitor };
            observer.begins(Stage::Reading, source.n_bytes());
            let read = source.read(known.as_deref(), &monitor);
            observer.ended();
            let (corpus, ingested) = read?;
            reading_warnings(&ingested).iter().for_each(|warning| observer.says(Level::Warning, warning));
            Ok((corpus, ingested))
        };
        let (corpus, ingested) = whole(py, run(py, n_threads, &monitor, listener, read)?)?;
        Ok(Self { corpus: corpus.shared(), ingested, source: Some(source) })
    }

    /// Writes a native corpus.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let save = || {
            let mut writer = NativeWriter::create(&path)?;
            self.corpus.copy_to(&mut writer)?;
            writer.commit()
        };
        py.detach(save).or_raise(py)
    }

    #[getter]
    fn n_docs(&self) -> usize {
        self.corpus.n_docs()
    }

    #[getter]
    fn n_tokens(&self) -> usize {
        self.corpus.n_tokens()
    }

    #[getter]
    fn n_occurrences(&self) -> usize {
        self.corpus.n_occurrences()
    }

    /// Names of the tokens; none where they only have numbers.
    #[getter]
    fn token_names(&self) -> Option<Vec<&str>> {
        self.corpus.token_names().map(|names| names.iter().collect())
    }

    /// Ids of the documents; their numbers where they have none.
    #[getter]
    fn ids(&self) -> Vec<String> {
        (0..self.corpus.n_docs()).map(|doc_ix| self.corpus.id(doc_ix).into_owned()).collect()
    }

    /// Labels of the documents.
    #[getter]
    fn labels(&self) -> Vec<Option<&str>> {
        (0..self.corpus.n_docs()).map(|doc_ix| self.corpus.label(doc_ix)).collect()
    }

    #[getter]
    fn fingerprint(&self) -> String {
        format!("{:016x}", self.corpus.fingerprint())
    }

    /// Whether tokens of some documents are neither present nor absent.
    #[getter]
    fn has_unknown(&self) -> bool {
        self.corpus.has_unknown()
    }

    /// All documents as rows of a sparse matrix: where they begin, and columns.
    fn rows<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>) {
        let (mut indptr, mut indices) = (vec![0], Vec::with_capacity(self.corpus.n_occurrences()));
        py.detach(|| {
            for doc_ix in 0..self.corpus.n_docs() {
                indices.extend(self.corpus.tokens(doc_ix).iter().map(|&token| token as i32));
                indptr.push(indices.len() as i64);
            }
        });
        (indptr.into_pyarray(py), indices.into_pyarray(py))
    }

    /// The tokens of one document, by number.
    fn tokens(&self, doc_ix: usize) -> PyResult<Vec<u32>> {
        if doc_ix >= self.corpus.n_docs() {
            let message = format!("no document {doc_ix}: there are {}", self.corpus.n_docs());
            return Err(pyo3::exceptions::PyIndexError::new_err(message));
        }
        Ok(self.corpus.tokens(doc_ix).to_vec())
    }
}

/// A corpus as it is asked for.
pub fn source(py: Python<'_>, path: Option<PathBuf>, reading: &str) -> PyResult<CorpusSource> {
    let Reading { read, vocab, by_number, words } = parse(py, "reading", reading)?;
    let mut source = CorpusSource::new(path.map_or(Place::Sample, Place::File));
    source.read = read.unwrap_or_default();
    source.words = words.unwrap_or_default();
    (source.vocab, source.by_number) = (vocab, by_number);
    Ok(source)
}

/// Texts, then lists of tokens; one of the two is empty.
struct Lists {
    texts: std::vec::IntoIter<String>,
    token_lists: std::vec::IntoIter<Vec<String>>,
}

impl Reader for Lists {
    fn read(&mut self, document: &mut Document, _: &mut OnFault<'_>) -> noisyor::Result<bool> {
        if let Some(text) = self.texts.next() {
            document.text = text;
            return Ok(true);
        }
        let Some(tokens) = self.token_lists.next() else { return Ok(false) };
        let mut words = Words::default();
        for token in &tokens {
            words.push(token);
        }
        document.words = words;
        Ok(true)
    }
}
