//! Corpus formats, and which one a file name promises.

use super::{Columns, ReadOptions, STDIN, Unlisted};
use crate::error::{Error, Result};
use std::path::Path;

/// Why texts have no unknown words.
pub(super) const UNLISTED_TEXT: &str = "`unlisted` unknown: a text does not tell which words are absent; give lists of tokens, or leave `unlisted` out";

/// Corpus formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// `label column:value ...`, columns from 1.
    Svmlight,
    /// One JSON object a line, with `tokens` or `text`.
    Jsonl,
    /// Plain text, a document a line.
    Text,
    /// UCI bag of words, with its vocabulary beside it.
    Uci,
    /// Matrix Market coordinates: documents are rows.
    MatrixMarket,
    /// SciPy's sparse matrices: documents are rows.
    Npz,
    /// Tab-separated table without quoting, a document a line.
    Tsv,
    /// Comma-separated table with a column of text, quoted as in RFC 4180.
    Csv,
    /// Comma-separated numbers: a document a row, a token a column.
    Dense,
    /// Parquet with a column of text, or of lists of tokens.
    Parquet,
    /// A `.csv` file: text if there is a column for it, else numbers.
    CsvOrDense,
    /// The native corpus, known by its content.
    Native,
}

impl Format {
    /// The formats that can be asked for, by name.
    pub const NAMES: [(&str, Self); 11] = [
        ("svmlight", Self::Svmlight),
        ("jsonl", Self::Jsonl),
        ("text", Self::Text),
        ("uci", Self::Uci),
        ("mtx", Self::MatrixMarket),
        ("npz", Self::Npz),
        ("tsv", Self::Tsv),
        ("csv", Self::Csv),
        ("dense", Self::Dense),
        ("parquet", Self::Parquet),
        ("native", Self::Native),
    ];

    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, format)| *format == self).map_or("csv", |(name, _)| name)
    }

    /// Refuses options that mean nothing for this format: a user who gave them would wonder.
    pub(in crate::corpus) fn check(self, options: &ReadOptions) -> Result<()> {
        let Columns { text, id, label, header, separator } = &options.columns;
        let csv = matches!(self, Self::Csv | Self::Dense | Self::CsvOrDense);
        let keyed = self == Self::Jsonl;
        let table = matches!(self, Self::Tsv | Self::Csv | Self::Parquet | Self::CsvOrDense);
        let dense = self == Self::Dense;
        // A native corpus tells for every document what is absent and what unknown.
        let lists = csv && self != Self::Csv
            || matches!(
                self,
                Self::Svmlight | Self::Jsonl | Self::Uci | Self::MatrixMarket | Self::Npz | Self::Parquet
            );
        if options.unlisted == Unlisted::Unknown && self != Self::Native && !lists {
            return Err(Error::Usage(UNLISTED_TEXT.into()));
        }
        let refused = [
            ("text_column", text.is_some() && !table && !keyed),
            ("id_column", id.is_some() && !table && !dense && !keyed),
            ("label_column", label.is_some() && !table && !dense && !keyed),
            ("header", *header && !table && !dense),
            ("separator", separator.is_some() && !csv),
            ("unlisted", options.unlisted == Unlisted::Unknown && self == Self::Native),
            ("zero_based", options.zero_based && self != Self::Svmlight),
        ];
        match refused.iter().find(|(_, refused)| *refused) {
            Some((option, _)) => Err(Error::Usage(format!(
                "`{option}` means nothing for a corpus that is read as {}",
                self.name()
            ))),
            None => Ok(()),
        }
    }

    /// The format that a file name promises, compression aside.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where the name promises none.
    pub fn of(path: &Path) -> Result<Self> {
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("").to_ascii_lowercase();
        let stem = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
        match stem.rsplit_once('.').map(|(_, extension)| extension) {
            Some("svm" | "svmlight" | "libsvm") => Ok(Self::Svmlight),
            Some("jsonl" | "ndjson") => Ok(Self::Jsonl),
            Some("mtx" | "mm") => Ok(Self::MatrixMarket),
            Some("npz") => Ok(Self::Npz),
            Some("uci") => Ok(Self::Uci),
            // As the UCI repository names them: docword.nips.txt
            _ if stem.starts_with("docword") => Ok(Self::Uci),
            Some("txt" | "text") => Ok(Self::Text),
            Some("tsv" | "tab") => Ok(Self::Tsv),
            Some("csv") => Ok(Self::CsvOrDense),
            Some("parquet" | "pq") => Ok(Self::Parquet),
            Some("corpus") => Ok(Self::Native),
            _ if path == Path::new(STDIN) => {
                Err(Error::Usage("standard input has no name that tells its format; give `format`".into()))
            }
            _ => Err(Error::Usage(format!(
                "{}: cannot tell the corpus format from this name; it must end in .svm, .svmlight, .libsvm, .jsonl, .ndjson, \
                 .txt, .tsv, .csv, .mtx, .mm, .npz, .uci, .parquet (and .gz or .zst) or .corpus, or begin with docword, or give `format`",
                path.display()
            ))),
        }
    }
}
