//! Posteriors as Parquet: a row per case and topic; a case without topics has one row, without the last four columns.

use super::output::Row;
use crate::error::Result;
use crate::infer::Target;
use crate::infer::parquet::{error, write_column};
use crate::network::Names;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType};
use parquet::errors::Result as ParquetResult;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::path::PathBuf;
use std::sync::Arc;

/// Rows that are kept in memory, as a row group is written column by column.
const GROUP_ROWS: usize = 1 << 18;

const SCHEMA: &str = "message posteriors {
    required binary id (STRING);
    required binary method (STRING);
    optional double log_p_lower;
    optional double log_p_upper;
    optional double log_p_estimate;
    optional double ess;
    required boolean within;
    optional binary topic (STRING);
    optional double p;
    optional double lower;
    optional double upper;
}";

pub(super) struct Parquet {
    path: PathBuf,
    file: SerializedFileWriter<Target>,
    names: Vec<ByteArray>,
    rows: Vec<Row>,
}

impl Parquet {
    pub(super) fn create(file: Target, names: &Names) -> Result<Self> {
        let path = file.path().to_owned();
        let properties =
            WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        let file = parse_message_type(SCHEMA)
            .and_then(|schema| SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)))
            .map_err(|e| error(&path, e))?;
        let names = names.topics.iter().map(|name| name.as_str().into()).collect();
        Ok(Self { path, file, names, rows: Vec::new() })
    }

    pub(super) fn write(&mut self, row: Row) -> Result<()> {
        self.rows.push(row);
        if self.rows.len() < GROUP_ROWS {
            return Ok(());
        }
        self.write_group().map_err(|e| error(&self.path, e))
    }

    fn write_group(&mut self) -> ParquetResult<()> {
        let Self { rows, names, .. } = self;
        let mut group = self.file.next_row_group()?;
        let text = |text: &String| Some(ByteArray::from(text.as_str()));
        let finite = |x: f64| x.is_finite().then_some(x);
        write_column::<ByteArrayType>(&mut group, rows.iter().map(|row| text(&row.id)), false)?;
        write_column::<ByteArrayType>(&mut group, rows.iter().map(|row| text(&row.method)), false)?;
        for at in 0..3 {
            let values = rows.iter().map(|row| finite(row.log_p[at]));
            write_column::<DoubleType>(&mut group, values, true)?;
        }
        write_column::<DoubleType>(&mut group, rows.iter().map(|row| finite(row.ess)), true)?;
        write_column::<BoolType>(&mut group, rows.iter().map(|row| Some(row.within)), false)?;
        let topics = rows.iter().map(|row| Some(names[row.topic?.0 as usize].clone()));
        write_column::<ByteArrayType>(&mut group, topics, true)?;
        for at in 0..3 {
            let values = rows.iter().map(|row| finite(row.topic?.1[at]));
            write_column::<DoubleType>(&mut group, values, true)?;
        }
        group.close()?;
        self.rows.clear();
        Ok(())
    }

    pub(super) fn commit(mut self: Box<Self>) -> Result<()> {
        let last = if self.rows.is_empty() { Ok(()) } else { self.write_group() };
        let Self { path, file, .. } = *self;
        last.and_then(|()| file.into_inner()).map_err(|e| error(&path, e))?.commit()
    }
}
