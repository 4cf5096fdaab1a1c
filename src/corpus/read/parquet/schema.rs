//! Which leaves of the schema hold what, and whether the file can hold what its metadata claim.

use super::super::Columns;
use super::super::columns::unique;
use super::super::lines::shown;
use parquet::basic::Type;
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::SchemaDescriptor;

/// What a column of lists is called that leaves the rest unknown.
const PRESENT: &str = "present";

/// Leaf columns, by number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaves {
    pub(super) text: usize,
    /// Lists of what else is told beside lists of tokens: those that are absent, or unknown.
    pub(super) others: Option<usize>,
    /// The rest of the tokens is unknown, by the column's name.
    pub(super) rest_unknown: bool,
    pub(super) id: Option<usize>,
    pub(super) label: Option<usize>,
}

/// Finds the chosen columns, or those of the usual names.
pub(super) fn choose(schema: &SchemaDescriptor, columns: &Columns) -> Result<Leaves, String> {
    let roots = schema.root_schema().get_fields();
    let names: Vec<String> = roots.iter().map(|field| field.name().to_owned()).collect();
    let chosen = columns.choose(&names, &["tokens", "text", PRESENT])?;
    let about = |root: usize, what: String| format!("column '{}' {what}", shown(names[root].as_bytes()));
    let text = text_leaf(schema, chosen.text).map_err(|what| about(chosen.text, what))?;
    let scalar =
        |root: Option<usize>, asked_for: bool| match root.map(|root| (root, scalar_leaf(schema, root))) {
            Some((root, Err(what))) if asked_for => Err(about(root, what)),
            // Just a name that happens to be the usual one.
            Some((_, leaf)) => Ok(leaf.ok()),
            None => Ok(None),
        };
    let id = scalar(chosen.id, columns.id.is_some())?;
    let label = scalar(chosen.label, columns.label.is_some())?;
    let is_list = |leaf: &usize| schema.column(*leaf).max_rep_level() > 0;
    let name = names[chosen.text].as_str();
    let called = columns.text.is_none() && is_list(&text);
    let rest_unknown = called && name == PRESENT;
    let beside = if rest_unknown { "absent" } else { "unknown" };
    let others = if called && (rest_unknown || name == "tokens") { unique(beside, &names)? } else { None };
    let others = others.and_then(|root| text_leaf(schema, root).ok()).filter(is_list);
    Ok(Leaves { text, others, rest_unknown, id, label })
}

/// The only leaf of a top-level column.
fn only_leaf(schema: &SchemaDescriptor, root: usize) -> Option<usize> {
    let mut leaves = (0..schema.num_columns()).filter(|&leaf| schema.get_column_root_idx(leaf) == root);
    leaves.next().filter(|_| leaves.next().is_none())
}

fn text_leaf(schema: &SchemaDescriptor, root: usize) -> Result<usize, String> {
    let leaf =
        only_leaf(schema, root).ok_or("has several parts; give a column of text or of lists of strings")?;
    let column = schema.column(leaf);
    match (column.max_rep_level(), column.physical_type()) {
        (0 | 1, Type::BYTE_ARRAY) => Ok(leaf),
        (0, other) => Err(format!("is of type {other}; text must be strings")),
        (1, other) => Err(format!("holds lists of type {other}; tokens must be strings")),
        _ => Err("holds lists of lists; tokens must be strings".into()),
    }
}

fn scalar_leaf(schema: &SchemaDescriptor, root: usize) -> Result<usize, String> {
    let leaf = only_leaf(schema, root).filter(|&leaf| schema.column(leaf).max_rep_level() == 0);
    leaf.filter(|&leaf| {
        !matches!(schema.column(leaf).physical_type(), Type::INT96 | Type::FIXED_LEN_BYTE_ARRAY)
    })
    .ok_or_else(|| "must be strings, numbers or truth values".into())
}

/// The file must hold all that its metadata speak of, so that nothing is allocated that is not there.
pub(super) fn check_sizes(metadata: &ParquetMetaData, n_bytes: u64) -> Result<(), String> {
    let mut n_rows: i64 = 0;
    for (group, row_group) in metadata.row_groups().iter().enumerate() {
        if row_group.num_rows() < 0 {
            return Err(format!("row group {} claims {} rows", group + 1, row_group.num_rows()));
        }
        n_rows = n_rows.saturating_add(row_group.num_rows());
        for column in row_group.columns() {
            let begin = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            let size = column.compressed_size();
            let end =
                u64::try_from(begin).ok().zip(u64::try_from(size).ok()).and_then(|(b, s)| b.checked_add(s));
            if end.is_none_or(|end| end > n_bytes) {
                return Err(format!(
                    "row group {}, column '{}': {size} bytes at {begin} are not in the file of {n_bytes} bytes",
                    group + 1,
                    shown(column.column_path().string().as_bytes())
                ));
            }
        }
    }
    if n_rows > i64::from(u32::MAX) {
        return Err(format!("{n_rows} rows are more than {}", u32::MAX));
    }
    Ok(())
}
