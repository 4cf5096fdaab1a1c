//! Corpus formats, and which one a file name promises.

use super::STDIN;
use crate::error::{Error, Result};
use std::path::Path;

/// Corpus formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `label column:value ...`, columns from 1.
    Svmlight,
    /// One JSON object a line, with `tokens` or `text`.
    Jsonl,
    /// Plain text, a document a line.
    Text,
}

impl Format {
    /// All formats with their names, as `--format` takes them.
    pub const NAMES: [(&str, Self); 3] =
        [("svmlight", Self::Svmlight), ("jsonl", Self::Jsonl), ("text", Self::Text)];

    /// The format that a file name promises, compression aside.
    pub fn of(path: &Path) -> Result<Self> {
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("").to_ascii_lowercase();
        let stem = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
        match stem.rsplit_once('.').map(|(_, extension)| extension) {
            Some("svm" | "svmlight" | "libsvm") => Ok(Self::Svmlight),
            Some("jsonl" | "ndjson") => Ok(Self::Jsonl),
            Some("txt" | "text") => Ok(Self::Text),
            _ if path == Path::new(STDIN) => {
                Err(Error::Usage("standard input has no name that tells its format; give --format".into()))
            }
            _ => Err(Error::Usage(format!(
                "{}: cannot tell the corpus format from this name; it must end in .svm, .svmlight, .libsvm, \
                 .jsonl, .ndjson or .txt (and .gz or .zst), or give --format",
                path.display()
            ))),
        }
    }
}
