//! Parquet: the columns doc, topic and q, one row per document and topic.

use super::{DocTopics, Output, Subject, TopicQ};
use crate::error::{Error, Result};
use crate::files::AtomicFile;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, FloatType};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::{parser::parse_message_type, types::ColumnPath};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SCHEMA: &str = "message topics {
    required binary doc (STRING);
    required binary topic (STRING);
    required float q;
}";
/// Rows that are kept in memory, as a row group is written column by column.
const GROUP_ROWS: usize = 1 << 20;
/// Values of a column that are made at a time.
const BATCH_ROWS: usize = 1 << 12;
/// Enough for the ids of a row group; with longer ones the column goes on without a dictionary.
const DICTIONARY_BYTES: usize = 16 << 20;

struct Row {
    doc_ix: usize,
    topic: u32,
    q: f32,
}

pub(super) struct Parquet<'a> {
    path: PathBuf,
    file: SerializedFileWriter<AtomicFile>,
    subject: Subject<'a>,
    /// The topics' names, made once: a row costs no memory of its own.
    names: Vec<ByteArray>,
    rows: Vec<Row>,
}

impl<'a> Parquet<'a> {
    pub(super) fn create(path: &Path, file: AtomicFile, subject: Subject<'a>) -> Result<Self> {
        let about = [
            ("noisyor.version", env!("CARGO_PKG_VERSION").to_owned()),
            ("noisyor.bound", subject.bound.to_string()),
            ("noisyor.docs", subject.n_docs.to_string()),
        ];
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_dictionary_page_size_limit(DICTIONARY_BYTES)
            .set_column_dictionary_enabled(ColumnPath::from("q"), false)
            .set_key_value_metadata(Some(
                about.map(|(key, value)| KeyValue::new(key.to_owned(), value)).into(),
            ))
            .build();
        let schema = parse_message_type(SCHEMA);
        let file =
            schema.and_then(|schema| SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)));
        let file = file.map_err(|e| error(path, e))?;
        let names = subject.names.topics.iter().map(|name| name.as_str().into()).collect();
        Ok(Self { path: path.to_owned(), file, subject, names, rows: Vec::new() })
    }

    /// Writes the rows so far as a row group.
    fn write_group(&mut self) -> ParquetResult<()> {
        let Self { subject, names, rows, .. } = self;
        let mut group = self.file.next_row_group()?;
        let mut last = (usize::MAX, ByteArray::new());
        let docs = rows.iter().map(|row| {
            if last.0 != row.doc_ix {
                last = (row.doc_ix, subject.corpus.id(row.doc_ix).as_ref().into());
            }
            last.1.clone()
        });
        write_column::<ByteArrayType>(&mut group, docs)?;
        write_column::<ByteArrayType>(&mut group, rows.iter().map(|row| names[row.topic as usize].clone()))?;
        write_column::<FloatType>(&mut group, rows.iter().map(|row| row.q))?;
        group.close()?;
        self.rows.clear();
        Ok(())
    }
}

impl Output for Parquet<'_> {
    fn write(&mut self, doc: &DocTopics<'_>) -> Result<()> {
        for &TopicQ { topic, q } in doc.topics {
            self.rows.push(Row { doc_ix: doc.doc_ix, topic, q });
            if self.rows.len() == GROUP_ROWS {
                self.write_group().map_err(|e| error(&self.path, e))?;
            }
        }
        Ok(())
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        let last = if self.rows.is_empty() { Ok(()) } else { self.write_group() };
        let Self { path, file, .. } = *self;
        last.and_then(|()| file.into_inner()).map_err(|e| error(&path, e))?.commit()
    }
}

/// Writes the next column of a row group.
fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, AtomicFile>,
    mut values: impl Iterator<Item = T::T>,
) -> ParquetResult<()> {
    let mut column =
        group.next_column()?.ok_or_else(|| ParquetError::General("no such column".to_owned()))?;
    let mut batch = Vec::with_capacity(BATCH_ROWS);
    loop {
        batch.extend(values.by_ref().take(BATCH_ROWS));
        if batch.is_empty() {
            return column.close();
        }
        column.typed::<T>().write_batch(&batch, None, None)?;
        batch.clear();
    }
}

/// The operating system's answer, where there is one.
fn error(path: &Path, error: ParquetError) -> Error {
    let source = match error {
        ParquetError::External(source) => {
            source.downcast::<io::Error>().map_or_else(io::Error::other, |e| *e)
        }
        other => io::Error::other(other),
    };
    Error::io(path, source)
}
