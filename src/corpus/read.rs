//! Opening a corpus: the format by extension, compression by extension, one reader trait.

use super::{Corpus, Document, jsonl, svmlight};
use crate::error::{Error, Result};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// A streaming reader of one format.
pub trait Reader {
    /// Reads the next document into `document`; false at the end.
    fn read(&mut self, document: &mut Document) -> Result<bool>;

    /// The tokens' names, once all documents are read.
    fn into_names(self: Box<Self>) -> Option<Vec<String>>;
}

/// Corpus formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `label column:value ...`, columns from 1.
    Svmlight,
    /// One JSON object a line, with `tokens`.
    Jsonl,
}

impl Format {
    /// The format that a file name promises, compression aside.
    pub fn of(path: &Path) -> Result<Self> {
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("").to_ascii_lowercase();
        let stem = name.strip_suffix(".gz").unwrap_or(&name);
        match stem.rsplit_once('.').map(|(_, extension)| extension) {
            Some("svm" | "svmlight" | "libsvm") => Ok(Self::Svmlight),
            Some("jsonl" | "ndjson") => Ok(Self::Jsonl),
            _ => Err(Error::Usage(format!(
                "{}: cannot tell the corpus format from this name; it must end in .svm, .svmlight, .libsvm, \
                 .jsonl or .ndjson (and .gz), or give --format svmlight|jsonl",
                path.display()
            ))),
        }
    }
}

/// Reads a whole corpus; `format` overrides what the name says.
pub fn read(path: &Path, format: Option<Format>) -> Result<Corpus> {
    let format = format.map_or_else(|| Format::of(path), Ok)?;
    let file = File::open(path).map_err(|e| Error::io(path, e))?;
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz")) {
        read_from(path, format, BufReader::with_capacity(1 << 16, MultiGzDecoder::new(file)))
    } else {
        read_from(path, format, BufReader::with_capacity(1 << 16, file))
    }
}

/// Reads a whole corpus from a stream; `path` is what errors call it.
pub fn read_from(path: &Path, format: Format, source: impl BufRead + 'static) -> Result<Corpus> {
    let lines = Lines::new(path, source);
    let mut reader: Box<dyn Reader> = match format {
        Format::Svmlight => Box::new(svmlight::Svmlight::new(lines)),
        Format::Jsonl => Box::new(jsonl::Jsonl::new(lines)),
    };
    let mut corpus = Corpus::default();
    let mut document = Document::default();
    while reader.read(&mut document)? {
        corpus.push(&mut document);
        document.tokens.clear();
    }
    corpus.set_token_names(reader.into_names());
    Ok(corpus)
}

/// Lines of a text source as bytes, numbered, without line ends, byte-order mark or carriage returns.
pub(super) struct Lines {
    path: std::path::PathBuf,
    source: Box<dyn BufRead>,
    line: Vec<u8>,
    number: u64,
}

impl Lines {
    fn new(path: &Path, source: impl BufRead + 'static) -> Self {
        Self { path: path.to_owned(), source: Box::new(source), line: Vec::new(), number: 0 }
    }

    /// The next line, or none at the end.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>> {
        self.line.clear();
        let read = self.source.read_until(b'\n', &mut self.line).map_err(|e| self.io_error(e))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Ok(Some(if self.number == 1 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line }))
    }

    /// A damaged compressed stream is bad input, not a failing disk.
    fn io_error(&self, error: std::io::Error) -> Error {
        use std::io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        match error.kind() {
            InvalidData | InvalidInput | UnexpectedEof => {
                let message =
                    format!("the compressed data is damaged or cut short ({error}); fetch the file again");
                Error::input(&self.path, Some(self.number + 1), message)
            }
            _ => Error::io(&self.path, error),
        }
    }

    /// A fault in the current line.
    pub(super) fn fault(&self, message: String) -> Error {
        Error::input(&self.path, Some(self.number), message)
    }
}
