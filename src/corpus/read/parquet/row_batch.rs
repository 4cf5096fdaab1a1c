//! Some rows of a row group, decoded column by column.

use super::file::Bounded;
use super::pages::Pages;
use super::schema::Leaves;
use parquet::basic::ConvertedType;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescPtr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// About how much memory the values of a batch take.
const BATCH_BYTES: i64 = 1 << 22;
const MAX_BATCH: i64 = 4096;
/// What a value takes beside its bytes.
const VALUE_BYTES: i64 = 40;

/// One row group, read batch by batch.
pub(super) struct RowGroup {
    text: TextColumn,
    others: Option<TextColumn>,
    id: Option<ScalarColumn>,
    label: Option<ScalarColumn>,
    n_rows_left: usize,
    batch: usize,
}

impl RowGroup {
    pub(super) fn open(file: &SerializedFileReader<Bounded>, group: usize, leaves: Leaves) -> Result<Self> {
        let reader = file.get_row_group(group)?;
        let metadata = reader.metadata();
        let n_rows = metadata.num_rows().max(0);
        let column = |leaf: usize, n_values| -> Result<(ColumnDescPtr, Pages)> {
            Ok((
                metadata.column(leaf).column_descr_ptr(),
                Pages::new(reader.get_column_page_reader(leaf)?, n_values),
            ))
        };
        let scalar =
            |leaf: Option<usize>| leaf.map(|leaf| column(leaf, None).map(ScalarColumn::new)).transpose();
        let text = |leaf: usize| {
            let n_values = Arc::new(AtomicUsize::new(0));
            let in_lists = metadata.column(leaf).column_descr().max_rep_level() > 0;
            let (descriptor, pages) = column(leaf, in_lists.then(|| Arc::clone(&n_values)))?;
            Ok::<_, ParquetError>(TextColumn::new(descriptor, pages, n_values))
        };
        let n_bytes = [Some(leaves.text), leaves.others].into_iter().flatten().fold(0, |sum: i64, leaf| {
            let column = metadata.column(leaf);
            let values = column.num_values().saturating_mul(VALUE_BYTES);
            sum.saturating_add(values).saturating_add(column.uncompressed_size())
        });
        let bytes_a_row = (n_bytes / n_rows.max(1)).max(1);
        Ok(Self {
            text: text(leaves.text)?,
            others: leaves.others.map(text).transpose()?,
            id: scalar(leaves.id)?,
            label: scalar(leaves.label)?,
            n_rows_left: n_rows as usize,
            batch: (BATCH_BYTES / bytes_a_row).clamp(1, MAX_BATCH) as usize,
        })
    }

    /// The next rows; none at the end.
    pub(super) fn next(&mut self, batch: &mut RowBatch) -> Result<bool> {
        let n_rows = self.batch.min(self.n_rows_left);
        batch.n_rows = n_rows;
        batch.row = 0;
        if n_rows == 0 {
            return Ok(false);
        }
        self.text.read(n_rows, &mut batch.texts)?;
        self.others.iter_mut().try_for_each(|others| others.read(n_rows, &mut batch.others))?;
        for (column, values) in [(&mut self.id, &mut batch.ids), (&mut self.label, &mut batch.labels)] {
            values.clear();
            column.iter_mut().try_for_each(|column| column.read(n_rows, values))?;
        }
        self.n_rows_left -= n_rows;
        Ok(true)
    }
}

/// Decoded rows, and how far they have been given out.
#[derive(Default)]
pub(super) struct RowBatch {
    n_rows: usize,
    texts: Texts,
    others: Texts,
    ids: Vec<String>,
    labels: Vec<String>,
    row: usize,
}

/// A row as it is stored.
pub(super) struct Row<'a> {
    /// Texts or tokens.
    pub(super) texts: &'a [ByteArray],
    /// What is told beside the tokens.
    pub(super) others: &'a [ByteArray],
    pub(super) id: &'a str,
    pub(super) label: &'a str,
}

impl RowBatch {
    /// The next row; none at the end.
    pub(super) fn next(&mut self) -> Option<Row<'_>> {
        if self.row == self.n_rows {
            return None;
        }
        let (texts, others) = (self.texts.next(), self.others.next());
        let (id, label) = (self.ids.get(self.row), self.labels.get(self.row));
        self.row += 1;
        Some(Row {
            texts,
            others,
            id: id.map_or("", String::as_str),
            label: label.map_or("", String::as_str),
        })
    }
}

/// Texts or lists of them, and how far they have been given out.
#[derive(Default)]
struct Texts {
    values: Vec<ByteArray>,
    definition: Vec<i16>,
    repetition: Vec<i16>,
    /// The definition level of a value that is there; less is a null, or an empty list.
    max_definition: i16,
    level: usize,
    value: usize,
}

impl Texts {
    /// Those of the next row.
    fn next(&mut self) -> &[ByteArray] {
        let first_value = self.value;
        loop {
            let is_there = self.definition.get(self.level).is_none_or(|&level| level == self.max_definition);
            self.value += usize::from(is_there);
            self.level += 1;
            // A row goes on for as long as levels say that they repeat.
            if self.repetition.get(self.level).is_none_or(|&level| level == 0) {
                break;
            }
        }
        self.values.get(first_value..self.value).unwrap_or_default()
    }
}

struct TextColumn {
    reader: ColumnReaderImpl<ByteArrayType>,
    max_definition: i16,
    n_values: Arc<AtomicUsize>,
}

impl TextColumn {
    fn new(descriptor: ColumnDescPtr, pages: Pages, n_values: Arc<AtomicUsize>) -> Self {
        let max_definition = descriptor.max_def_level();
        Self { reader: ColumnReaderImpl::new(descriptor, Box::new(pages)), max_definition, n_values }
    }

    fn read(&mut self, n_rows: usize, batch: &mut Texts) -> Result<()> {
        self.n_values.store(0, Ordering::Relaxed);
        batch.max_definition = self.max_definition;
        (batch.level, batch.value) = (0, 0);
        batch.values.clear();
        batch.definition.clear();
        batch.repetition.clear();
        let (n_read, ..) = self.reader.read_records(
            n_rows,
            Some(&mut batch.definition),
            Some(&mut batch.repetition),
            &mut batch.values,
        )?;
        all_there(n_read, n_rows)?;
        let n_begun = batch.repetition.iter().filter(|&&level| level == 0).count();
        if batch.repetition.is_empty() || n_begun == n_rows {
            return Ok(());
        }
        Err(ParquetError::General(format!("{n_begun} of {n_rows} lists begin")))
    }
}

fn all_there(n_read: usize, n_rows: usize) -> Result<()> {
    if n_read == n_rows {
        return Ok(());
    }
    Err(ParquetError::EOF(format!("a column ends {} rows early", n_rows - n_read.min(n_rows))))
}

/// Ids or labels, of any type that can be written as text.
struct ScalarColumn {
    reader: ColumnReader,
    descriptor: ColumnDescPtr,
}

impl ScalarColumn {
    fn new((descriptor, pages): (ColumnDescPtr, Pages)) -> Self {
        Self { reader: get_column_reader(Arc::clone(&descriptor), Box::new(pages)), descriptor }
    }

    fn read(&mut self, n_rows: usize, texts: &mut Vec<String>) -> Result<()> {
        let max_definition = self.descriptor.max_def_level();
        let unsigned = matches!(
            self.descriptor.converted_type(),
            ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
        );
        match &mut self.reader {
            ColumnReader::BoolColumnReader(reader) => {
                read(reader, n_rows, max_definition, texts, bool::to_string)
            }
            ColumnReader::Int32ColumnReader(reader) if unsigned => {
                read(reader, n_rows, max_definition, texts, |&value| (value as u32).to_string())
            }
            ColumnReader::Int32ColumnReader(reader) => {
                read(reader, n_rows, max_definition, texts, i32::to_string)
            }
            ColumnReader::Int64ColumnReader(reader) if unsigned => {
                read(reader, n_rows, max_definition, texts, |&value| (value as u64).to_string())
            }
            ColumnReader::Int64ColumnReader(reader) => {
                read(reader, n_rows, max_definition, texts, i64::to_string)
            }
            ColumnReader::FloatColumnReader(reader) => {
                read(reader, n_rows, max_definition, texts, f32::to_string)
            }
            ColumnReader::DoubleColumnReader(reader) => {
                read(reader, n_rows, max_definition, texts, f64::to_string)
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                read(reader, n_rows, max_definition, texts, |value| {
                    String::from_utf8_lossy(value.data()).into_owned()
                })
            }
            _ => Err(ParquetError::NYI("ids and labels of this type".into())),
        }
    }
}

/// Reads values as text; a null is empty.
fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    n_rows: usize,
    max_definition: i16,
    texts: &mut Vec<String>,
    as_text: impl Fn(&T::T) -> String,
) -> Result<()> {
    let (mut definition, mut values) = (Vec::new(), Vec::new());
    let (n_read, ..) = reader.read_records(n_rows, Some(&mut definition), None, &mut values)?;
    all_there(n_read, n_rows)?;
    let mut values = values.iter();
    texts.extend((0..n_rows).map(|row| {
        let is_there = definition.get(row).is_none_or(|&level| level == max_definition);
        let value = if is_there { values.next() } else { None };
        value.map(&as_text).unwrap_or_default()
    }));
    Ok(())
}
