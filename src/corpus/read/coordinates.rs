//! Lines of `document token value`, numbered from one: what UCI bags of words and Matrix Market files are made of.

use super::lines::{Lines, shown};
use super::matrix::{Entries, check_density, entry};
use super::{OnFault, Unlisted};
use crate::error::Result;

/// What stands behind document and token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    /// Whole numbers from zero.
    Counts,
    /// Any finite numbers; what is not above zero means absent.
    Numbers,
    /// Nothing: what is listed is present.
    None,
}

/// How a format writes an entry.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// What the fields are called in messages.
    pub(super) document: &'static str,
    pub(super) token: &'static str,
    pub(super) values: Values,
    /// Lines that begin with this are passed over.
    pub(super) comment: Option<u8>,
    pub(super) n_documents: u32,
    pub(super) n_tokens: u32,
    pub(super) unlisted: Unlisted,
}

/// The lines after a header that declares how many there are.
pub(super) struct Coordinates {
    lines: Lines,
    layout: Layout,
    n_declared: u64,
    n_entries: u64,
}

impl Coordinates {
    pub(super) fn new(lines: Lines, layout: Layout, n_declared: u64) -> Self {
        Self { lines, layout, n_declared, n_entries: 0 }
    }

    /// Checks at the end what the header declares.
    fn check_number(&self, on_fault: &mut OnFault<'_>) -> Result<()> {
        let Self { n_declared, n_entries, .. } = self;
        if n_entries < n_declared {
            on_fault(self.lines.fault(format!(
                "the file ends after {n_entries} entries, but its header declares {n_declared}; \
                 is it cut short? fetch it again, or correct the header"
            )))?;
        }
        check_density(self.layout.n_documents, *n_entries).map_err(|message| self.lines.fault(message))
    }
}

impl Entries for Coordinates {
    /// Blank lines are passed over.
    fn next(&mut self, on_fault: &mut OnFault<'_>) -> Result<Option<(u32, u32)>> {
        while let Some(line) = self.lines.next(on_fault)? {
            match line.trim_ascii_start().first() {
                None => continue,
                first if first == self.layout.comment.as_ref() => continue,
                Some(_) => {}
            }
            let entry = parse_entry(line, &self.layout);
            self.n_entries += 1;
            if self.n_entries == self.n_declared.saturating_add(1) {
                on_fault(self.lines.fault(format!(
                    "entry {}, but the header declares {}; correct the header",
                    self.n_entries, self.n_declared
                )))?;
            }
            match entry {
                Ok(None) => {}
                Ok(entry) => return Ok(entry),
                Err(message) => on_fault(self.lines.fault(message))?,
            }
        }
        self.check_number(on_fault)?;
        Ok(None)
    }
}

/// The entry of a line.
fn parse_entry(line: &[u8], layout: &Layout) -> Result<Option<(u32, u32)>, String> {
    let mut rest = line;
    let (document, token) = (next_field(&mut rest), next_field(&mut rest));
    let value = if layout.values == Values::None { b"1".as_slice() } else { next_field(&mut rest) };
    if value.is_empty() || token.is_empty() || !rest.trim_ascii_start().is_empty() {
        return Err(wrong_fields(line, layout));
    }
    let document = parse_id(document, layout.document, layout.n_documents)?;
    let token = parse_id(token, layout.token, layout.n_tokens)?;
    Ok(entry(document, token, is_present(value, layout.values)?, layout.unlisted))
}

fn wrong_fields(line: &[u8], layout: &Layout) -> String {
    let value = match layout.values {
        Values::Counts => " count",
        Values::Numbers => " value",
        Values::None => "",
    };
    format!("'{}' is not '{} {}{value}'", shown(line.trim_ascii()), layout.document, layout.token)
}

/// A number from one to `n` as one from zero.
#[inline]
fn parse_id(field: &[u8], what: &str, n: u32) -> Result<u32, String> {
    match parse_whole(field) {
        Some(0) => Err(format!("{what} 0: they count from 1; if yours count from 0, add 1 to each")),
        Some(id) if id <= u64::from(n) => Ok((id - 1) as u32),
        Some(_) => Err(format!(
            "{what} {} is above {n}, which the header declares; correct one of them",
            shown(field)
        )),
        None => Err(format!("{what} '{}' is not a whole number above zero; correct it", shown(field))),
    }
}

#[inline]
fn is_present(value: &[u8], values: Values) -> Result<bool, String> {
    match (parse_whole(value), values) {
        (Some(value), _) => Ok(value > 0),
        (None, Values::Counts) => Err(format!(
            "count '{}' is not a whole number from zero; correct it, or leave the line out",
            shown(value)
        )),
        (None, _) => match std::str::from_utf8(value).ok().and_then(|text| text.parse::<f64>().ok()) {
            Some(value) if value.is_finite() => Ok(value > 0.0),
            _ => Err(format!(
                "value '{}' is not a finite number; correct it, or leave the line out",
                shown(value)
            )),
        },
    }
}

/// Takes the next field off a line; empty if there is none.
#[inline]
pub(super) fn next_field<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let field = rest.trim_ascii_start();
    let end = field.iter().position(u8::is_ascii_whitespace).unwrap_or(field.len());
    let (field, after) = field.split_at(end);
    *rest = after;
    field
}

/// A number of a header, if it can be counted to.
pub(super) fn parse_declared(field: &[u8], what: &str) -> Result<Option<u64>, String> {
    match parse_whole(field) {
        Some(u64::MAX) => Err(format!("{} {what} are too large a number; correct the header", shown(field))),
        number => Ok(number),
    }
}

/// A whole number in digits alone; one of more than 19 digits becomes the largest.
#[inline]
pub(super) fn parse_whole(field: &[u8]) -> Option<u64> {
    let mut number: u64 = 0;
    for &byte in field {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    match field.len() {
        0 => None,
        1..=19 => Some(number),
        _ => Some(u64::MAX),
    }
}
