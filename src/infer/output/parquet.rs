//! Parquet: the columns doc, topic and q, one row per document and topic; a document without topics has one row, without the two.

use super::{DocTopics, Kind, Output, Subject, Target, TopicQ};
use crate::error::{Error, Result};
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

/// Rows that are kept in memory, as a row group is written column by column.
const GROUP_ROWS: usize = 1 << 20;
/// Values of a column that are made at a time.
const BATCH_ROWS: usize = 1 << 12;
/// Enough for the ids of a row group; with longer ones the column goes on without a dictionary.
const DICTIONARY_BYTES: usize = 16 << 20;

struct Row {
    doc_ix: usize,
    topic: Option<TopicQ>,
}

pub(super) struct Parquet<'a> {
    path: PathBuf,
    file: SerializedFileWriter<Target>,
    subject: Subject<'a>,
    /// The topics' names, made once: a row costs no memory of its own.
    names: Vec<ByteArray>,
    rows: Vec<Row>,
}

impl<'a> Parquet<'a> {
    pub(super) fn create(file: Target, subject: Subject<'a>) -> Result<Self> {
        let (path, column) = (file.path().to_owned(), subject.column());
        let topic = subject.topic_column();
        let (key, figure, q) = match subject.kind {
            Kind::Topics { bound: Some(bound) } => ("noisyor.bound", bound.to_string(), "mean field"),
            Kind::Topics { bound: None } => ("noisyor.bound", "exact".to_owned(), "exact"),
            Kind::Features { score } => ("noisyor.score", score.to_string(), "features of a baseline"),
        };
        let about = [
            ("noisyor.version", env!("CARGO_PKG_VERSION").to_owned()),
            (key, figure),
            ("noisyor.q", q.to_owned()),
            ("noisyor.docs", subject.n_docs.to_string()),
        ];
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_dictionary_page_size_limit(DICTIONARY_BYTES)
            .set_column_dictionary_enabled(ColumnPath::from(column), false)
            .set_key_value_metadata(Some(
                about.map(|(key, value)| KeyValue::new(key.to_owned(), value)).into(),
            ))
            .build();
        let schema = parse_message_type(&format!(
            "message topics {{
                required binary doc (STRING);
                optional binary {topic} (STRING);
                optional float {column};
            }}"
        ));
        let file =
            schema.and_then(|schema| SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)));
        let file = file.map_err(|e| error(&path, e))?;
        let names = subject.names.topics.iter().map(|name| name.as_str().into()).collect();
        Ok(Self { path, file, subject, names, rows: Vec::new() })
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
            Some(last.1.clone())
        });
        let name = |row: &Row| row.topic.map(|entry| names[entry.topic as usize].clone());
        let value = |row: &Row| row.topic.map(|entry| subject.value(entry.q));
        write_column::<ByteArrayType>(&mut group, docs, false)?;
        write_column::<ByteArrayType>(&mut group, rows.iter().map(name), true)?;
        write_column::<FloatType>(&mut group, rows.iter().map(value), true)?;
        group.close()?;
        self.rows.clear();
        Ok(())
    }
}

impl Output for Parquet<'_> {
    fn write(&mut self, doc: &DocTopics<'_>) -> Result<()> {
        let none = doc.topics.is_empty().then_some(None);
        for topic in doc.topics.iter().copied().map(Some).chain(none) {
            self.rows.push(Row { doc_ix: doc.doc_ix, topic });
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

/// Writes the next column of a row group; only an optional one may lack values.
pub(crate) fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Target>,
    mut values: impl Iterator<Item = Option<T::T>>,
    optional: bool,
) -> ParquetResult<()> {
    let mut column =
        group.next_column()?.ok_or_else(|| ParquetError::General("no such column".to_owned()))?;
    let (mut batch, mut is_there) = (Vec::with_capacity(BATCH_ROWS), Vec::with_capacity(BATCH_ROWS));
    loop {
        for value in values.by_ref().take(BATCH_ROWS) {
            is_there.push(i16::from(value.is_some()));
            batch.extend(value);
        }
        if is_there.is_empty() {
            return column.close();
        }
        column.typed::<T>().write_batch(&batch, optional.then_some(&is_there), None)?;
        batch.clear();
        is_there.clear();
    }
}

/// The operating system's answer, where there is one.
pub(crate) fn error(path: &Path, error: ParquetError) -> Error {
    let source = match error {
        ParquetError::External(source) => {
            source.downcast::<io::Error>().map_or_else(io::Error::other, |e| *e)
        }
        other => io::Error::other(other),
    };
    Error::io(path, source)
}
