//! Reading documents: one trait, one file a format. Readers stream; none trusts what a header claims.

mod columns;
mod coordinates;
mod csv;
mod dense;
mod entries;
mod folder;
mod format;
mod jsonl;
mod lines;
mod matrix;
mod matrix_market;
mod native;
mod npz;
mod npz_archive;
#[cfg(feature = "parquet")]
mod parquet;
mod records;
mod source;
mod svmlight;
mod table;
#[cfg(test)]
mod testing;
mod text;
mod uci;

pub use format::Format;
pub use source::{MAX_EXPANSION, STDIN};

use super::Document;
use super::native::is_native;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use lines::Lines;
use records::Records;
use serde::{Deserialize, Serialize};
use source::Source;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// What becomes of a fault: strict reading returns it and so ends there; a check notes it, and reading goes on without
/// the faulty value or document.
pub type OnFault<'a> = dyn FnMut(Error) -> Result<()> + 'a;

/// A streaming reader of one format.
pub trait Reader: Send {
    /// Reads the next document into `document`, which comes empty; false at the end. A fault after which the rest can
    /// still be read goes to `on_fault`; an error is the end.
    ///
    /// # Errors
    ///
    /// Strict reading: the first fault. [`Error::Input`] and [`Error::Io`] where nothing
    /// more can be read.
    fn read(&mut self, document: &mut Document, on_fault: &mut OnFault<'_>) -> Result<bool>;

    /// How documents tell their tokens: known once the reader is open.
    fn tokens(&self) -> Tokens<'_> {
        Tokens::Words
    }

    /// What is no fault but may not be meant, of all that was read so far: a line each.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// How the documents of a file tell their tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tokens<'a> {
    /// By name, or as text.
    Words,
    /// By number, from zero.
    Numbers {
        /// How many there are, where the file says so.
        n_tokens: Option<u32>,
        /// Their names, where the file has them.
        names: Option<&'a [String]>,
    },
}

/// How to read a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadOptions {
    /// The format, where it is not to be told from the name.
    pub format: Option<Format>,
    /// Columns of tables (CSV, TSV, Parquet).
    pub columns: Columns,
    /// SVMlight columns count from zero.
    pub zero_based: bool,
    /// What tokens are that a document does not list.
    #[serde(default)]
    pub unlisted: Unlisted,
    /// Tokens that have a number alone are among so many: those of a vocabulary.
    #[serde(skip)]
    pub n_names: Option<u32>,
}

impl ReadOptions {
    /// Whether any is given.
    pub fn is_given(&self) -> bool {
        self.format.is_some()
            || self.columns != Columns::default()
            || self.zero_based
            || self.unlisted != Unlisted::default()
    }
}

/// What tokens are that a document does not list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unlisted {
    /// They are absent.
    #[default]
    Absent,
    /// Nobody knows; what is absent has a zero, or is in a list of its own.
    Unknown,
}

/// Which columns of a table hold what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Columns {
    /// The text, or in Parquet a list of tokens.
    pub text: Option<Column>,
    /// The document's id.
    pub id: Option<Column>,
    /// The document's label.
    pub label: Option<Column>,
    /// The first line has the columns' names, even if no column is chosen by name.
    pub header: bool,
    /// What stands between two cells of a CSV file, where that is not to be told from the first line.
    pub separator: Option<u8>,
}

/// A column by name, or by number from one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Column {
    /// By the name in the header.
    Name(String),
    /// By number, from one.
    Number(usize),
}

impl std::str::FromStr for Column {
    type Err = String;

    /// Digits are a number, anything else is a name.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(0) => Err("columns count from 1".into()),
            Ok(number) => Ok(Self::Number(number)),
            Err(_) if text.is_empty() => Err("a column's name or its number, from 1".into()),
            Err(_) => Ok(Self::Name(text.into())),
        }
    }
}

/// Opens a file, or standard input for `-`, or a folder of text files, a document each; what is read is counted in the monitor.
///
/// # Errors
///
/// [`Error::Io`] where it cannot be read, [`Error::Input`] where its beginning is no such
/// file, [`Error::Usage`] for options that do not go with the format.
pub fn open(path: &Path, options: &ReadOptions, monitor: &Arc<Monitor>) -> Result<Box<dyn Reader>> {
    if path.is_dir() {
        return Ok(Box::new(folder::Folder::open(path, options, monitor)?));
    }
    let format = match options.format {
        Some(format) => format,
        None if is_native(path) => Format::Native,
        None => Format::of(path)?,
    };
    format.check(options)?;
    let reader = match format {
        Format::Native if path != Path::new(STDIN) => Box::new(native::Native::open(path, monitor)?),
        _ => start(format, Source::open(path, monitor)?, options)?,
    };
    check_names(path, reader.tokens(), options.n_names)?;
    Ok(reader)
}

/// A file must not declare more tokens than the vocabulary has names for.
fn check_names(path: &Path, tokens: Tokens<'_>, n_names: Option<u32>) -> Result<()> {
    match (tokens, n_names) {
        (Tokens::Numbers { n_tokens: Some(n_tokens), names: None }, Some(n_names)) if n_tokens > n_names => {
            let message = format!(
                "has {n_tokens} columns, but the vocabulary only {n_names} names; give the right `vocab`"
            );
            Err(Error::input(path, None, message))
        }
        _ => Ok(()),
    }
}

/// Opens a stream; `name` gives the format, the compression and the name in errors.
///
/// # Errors
///
/// As [`open`].
pub fn open_stream(
    name: &Path,
    stream: impl Read + Send + 'static,
    options: &ReadOptions,
) -> Result<Box<dyn Reader>> {
    let format = options.format.map_or_else(|| Format::of(name), Ok)?;
    start(format, Source::new(name, Box::new(stream))?, options)
}

fn start(format: Format, source: Source, options: &ReadOptions) -> Result<Box<dyn Reader>> {
    format.check(options)?;
    Ok(match format {
        Format::Svmlight => Box::new(svmlight::Svmlight::new(Lines::new(source), options)),
        Format::Jsonl => Box::new(jsonl::Jsonl::new(Lines::new(source), options)?),
        Format::Text => Box::new(text::Text::new(Lines::new(source))),
        Format::Uci => Box::new(uci::open(source, options.unlisted)?),
        Format::MatrixMarket => Box::new(matrix_market::open(source, options.unlisted)?),
        Format::Npz => Box::new(npz::open(source, options.unlisted)?),
        Format::Tsv => {
            Box::new(table::Table::new(Records::plain(Lines::new(source), b'\t'), &options.columns)?)
        }
        Format::Csv => Box::new(csv::open_text(Lines::new(source), &options.columns)?),
        Format::Dense => Box::new(csv::open_dense(Lines::new(source), options)?),
        #[cfg(feature = "parquet")]
        Format::Parquet => Box::new(parquet::Parquet::open(source, options)?),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => return Err(Error::input(source.name(), None, crate::error::NO_PARQUET)),
        Format::CsvOrDense => csv::open(Lines::new(source), options)?,
        Format::Native => {
            let message = "a native corpus is mapped into memory: give its file, not a stream";
            return Err(Error::input(source.name(), None, message));
        }
    })
}
