//! Parquet: a column of text, or of lists of tokens, with another of lists of absent or unknown ones; a document a row. Read row group by row group, in batches.

mod file;
mod footer;
mod guard;
mod pages;
mod row_batch;
mod schema;
#[cfg(test)]
mod tests;

use super::format::UNLISTED_TEXT;
use super::source::{Bomb, OnDisk, Source};
use super::{Document, OnFault, ReadOptions, Reader, Unlisted};
use crate::corpus::Words;
use crate::error::{Error, Result};
use file::Bounded;
use guard::guarded;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use row_batch::{Row, RowBatch, RowGroup};
use schema::Leaves;
use std::path::PathBuf;

/// What a row and each of its tokens take beside their bytes: nulls are not for free.
const ROW_BYTES: usize = 64;
const TOKEN_BYTES: usize = 8;

pub(super) struct Parquet {
    name: PathBuf,
    on_disk: OnDisk,
    growth: Growth,
    file: SerializedFileReader<Bounded>,
    leaves: Leaves,
    /// Values of the text column are tokens, not texts.
    in_lists: bool,
    /// Tokens in no list are unknown.
    rest_unknown: bool,
    next_group: usize,
    group: Option<RowGroup>,
    batch: RowBatch,
    /// Rows given out so far.
    row: u64,
    ended: bool,
}

impl Parquet {
    pub(super) fn open(source: Source, options: &ReadOptions) -> Result<Self> {
        let name = source.name().to_owned();
        let on_disk = source.into_file()?;
        let mut file = on_disk.open().map_err(|e| Error::io(&name, e))?;
        let n_bytes = file.metadata().map_err(|e| Error::io(&name, e))?.len();
        let checked = footer::check_schema(&mut file, n_bytes).map_err(|e| Error::io(&name, e))?;
        checked.map_err(|m| Error::input(&name, None, m))?;
        let file = unless_damaged(|| SerializedFileReader::new(Bounded(file)))
            .map_err(|m| Error::input(&name, None, m))?;
        let metadata = file.metadata();
        schema::check_sizes(metadata, n_bytes).map_err(|m| Error::input(&name, None, damaged(&m)))?;
        let schema = metadata.file_metadata().schema_descr();
        let leaves = schema::choose(schema, &options.columns).map_err(|m| Error::input(&name, None, m))?;
        let in_lists = schema.column(leaves.text).max_rep_level() > 0;
        let rest_unknown = leaves.rest_unknown || options.unlisted == Unlisted::Unknown;
        if rest_unknown && !in_lists {
            return Err(Error::Usage(UNLISTED_TEXT.into()));
        }
        if leaves.others.is_some() && rest_unknown != leaves.rest_unknown {
            let message =
                "has a column 'unknown', and with `unlisted` unknown all other tokens are; leave out one";
            return Err(Error::input(&name, None, message));
        }
        let batch = RowBatch::default();
        let (next_group, group) = (0, None);
        let growth = Growth { n_stored: n_bytes, n_given: 0 };
        let (row, ended) = (0, false);
        Ok(Self {
            name,
            on_disk,
            growth,
            file,
            leaves,
            in_lists,
            rest_unknown,
            next_group,
            group,
            batch,
            row,
            ended,
        })
    }

    /// Reads the next batch of rows; false at the end.
    fn next_batch(&mut self) -> Result<bool, String> {
        unless_damaged(|| {
            loop {
                if let Some(group) = &mut self.group
                    && group.next(&mut self.batch)?
                {
                    return Ok(true);
                }
                if self.next_group == self.file.num_row_groups() {
                    return Ok(false);
                }
                self.group = Some(RowGroup::open(&self.file, self.next_group, self.leaves)?);
                self.next_group += 1;
            }
        })
    }

    /// Fills the document from the next row of the batch; none at its end.
    fn next_row(&mut self, document: &mut Document) -> Option<Result<(), Fault>> {
        let Row { texts, others, id, label } = self.batch.next()?;
        document.id.push_str(id);
        document.label.push_str(label);
        self.row += 1;
        let grown = self.growth.add(ROW_BYTES + id.len() + label.len());
        document.others.rest_unknown = self.rest_unknown;
        let (in_lists, growth) = (self.in_lists, &mut self.growth);
        let filled = grown.and_then(|()| match in_lists {
            true => fill_list(texts, &mut document.words, growth),
            false => fill_text(texts, &mut document.text, growth),
        });
        if others.is_empty() {
            return Some(filled);
        }
        let filled = filled.and_then(|()| fill_list(others, &mut document.other_words, growth));
        Some(filled.and_then(|()| document.check_names().map_err(Fault::Row)))
    }
}

/// What is wrong with a row.
enum Fault {
    Row(String),
    Bomb(Bomb),
}

/// Bytes of the file, and of what was given out: a dictionary lets one text stand for any number of them.
struct Growth {
    n_stored: u64,
    n_given: u64,
}

impl Growth {
    fn add(&mut self, n_bytes: usize) -> Result<(), Fault> {
        self.n_given += n_bytes as u64;
        Bomb::of(self.n_given, self.n_stored).map_or(Ok(()), |bomb| Err(Fault::Bomb(bomb)))
    }
}

fn fill_text(values: &[ByteArray], text: &mut String, growth: &mut Growth) -> Result<(), Fault> {
    values.iter().try_for_each(|value| {
        text.push_str(utf8(value, growth)?);
        Ok(())
    })
}

fn fill_list(values: &[ByteArray], words: &mut Words, growth: &mut Growth) -> Result<(), Fault> {
    for (at, value) in values.iter().enumerate() {
        let name = utf8(value, growth)?;
        if name.is_empty() {
            return Err(Fault::Row(format!("token {} is empty; leave it out", at + 1)));
        }
        words.push(name);
    }
    Ok(())
}

fn utf8<'a>(value: &'a ByteArray, growth: &mut Growth) -> Result<&'a str, Fault> {
    growth.add(TOKEN_BYTES + value.len())?;
    value.as_utf8().map_err(|e| Fault::Row(format!("a text or token is not UTF-8 ({e})")))
}

impl Reader for Parquet {
    fn read(&mut self, document: &mut Document, on_fault: &mut OnFault<'_>) -> Result<bool> {
        while !self.ended {
            match self.next_row(document) {
                Some(Ok(())) => return Ok(true),
                Some(Err(Fault::Row(message))) => {
                    document.clear();
                    on_fault(Error::input(&self.name, None, format!("row {}: {message}", self.row)))?;
                }
                Some(Err(Fault::Bomb(bomb))) => {
                    document.clear();
                    self.ended = true;
                    let message =
                        format!("{bomb}; if you trust the file, write the text without a dictionary");
                    return Err(Error::input(&self.name, None, message));
                }
                None => {
                    // Nothing is read after an error, least of all after a panic.
                    self.ended = true;
                    let n_rows = self.file.metadata().file_metadata().num_rows();
                    self.on_disk.report(self.row, n_rows.max(0) as u64);
                    let more = self.next_batch();
                    if !matches!(more, Ok(true)) {
                        // What looks like damage may be a file that is just written.
                        self.on_disk.check_unchanged().map_err(|e| Error::io(&self.name, e))?;
                    }
                    self.ended = !more.map_err(|m| Error::input(&self.name, None, m))?;
                }
            }
        }
        Ok(false)
    }
}

/// Runs what reads the file; errors and panics of the Parquet library are told alike.
fn unless_damaged<T>(run: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, String> {
    match guarded(run) {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(ParquetError::NYI(what))) => Err(format!("Parquet with this cannot be read: {what}")),
        Ok(Err(error)) => Err(damaged(&error.to_string())),
        Err(panic) => Err(damaged(&panic)),
    }
}

fn damaged(why: &str) -> String {
    format!("the Parquet file is damaged ({why}); fetch or write it again")
}
