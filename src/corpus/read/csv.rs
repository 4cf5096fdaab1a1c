//! CSV: what separates the cells, and whether they are text or numbers, as the first line tells.

use super::dense::Dense;
use super::format::UNLISTED_TEXT;
use super::lines::Lines;
use super::records::Records;
use super::table::{TEXT, Table};
use super::{Column, Columns, ReadOptions, Reader, Unlisted};
use crate::error::{Error, Result};

/// Text if a column for it is chosen or called so, else numbers.
pub(super) fn open(mut lines: Lines, options: &ReadOptions) -> Result<Box<dyn Reader>> {
    let columns = &options.columns;
    let first = first_line(&mut lines)?;
    let is_called_text = separator_of_names(first, &[TEXT], columns.separator).is_some();
    if columns.text.is_none() && !is_called_text {
        return Ok(Box::new(open_dense(lines, options)?));
    }
    match options.unlisted {
        Unlisted::Absent => Ok(Box::new(open_text(lines, columns)?)),
        Unlisted::Unknown => Err(Error::Usage(UNLISTED_TEXT.into())),
    }
}

/// A table with a column of text.
pub(super) fn open_text(mut lines: Lines, columns: &Columns) -> Result<Table> {
    let chosen = [&columns.text, &columns.id, &columns.label].into_iter().flatten();
    let mut names: Vec<&str> = chosen
        .filter_map(|column| match column {
            Column::Name(name) => Some(name.as_str()),
            Column::Number(_) => None,
        })
        .collect();
    names.push(TEXT);
    // Where the first line is no header, a semicolon in it is more likely text.
    let named = separator_of_names(first_line(&mut lines)?, &names, columns.separator);
    let separator = named.or(columns.separator).unwrap_or(b',');
    Table::new(Records::quoted(lines, separator), columns)
}

/// A table of numbers.
pub(super) fn open_dense(mut lines: Lines, options: &ReadOptions) -> Result<Dense> {
    let first = first_line(&mut lines)?;
    // The last one wins a tie: decimal commas stand between semicolons.
    let count = |separator: &u8| memchr::memchr_iter(*separator, first).count();
    let likely = [b',', b';', b'\t'].into_iter().max_by_key(count).filter(|s| count(s) > 0);
    let separator = options.columns.separator.or(likely).unwrap_or(b',');
    Dense::new(Records::quoted(lines, separator), options)
}

/// A look at the first line that is not empty.
fn first_line(lines: &mut Lines) -> Result<&[u8]> {
    while let Some(line) = lines.next(&mut Err)? {
        if !line.is_empty() {
            lines.repeat();
            break;
        }
    }
    Ok(lines.current())
}

/// The separator, if not given, that sets off one of these names in a header.
fn separator_of_names(line: &[u8], names: &[&str], given: Option<u8>) -> Option<u8> {
    let is_name = |cell: &[u8]| {
        let bare = cell.strip_prefix(b"\"").and_then(|cell| cell.strip_suffix(b"\"")).unwrap_or(cell);
        names.iter().any(|name| name.as_bytes() == bare)
    };
    let candidates = given.map_or(vec![b',', b';', b'\t'], |given| vec![given]);
    candidates.into_iter().find(|separator| line.split(|byte| byte == separator).any(is_name))
}
