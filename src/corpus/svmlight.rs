//! SVMlight / libsvm: `label column:value ... # comment`; column j is token j - 1, values above zero mean present.

use super::{Document, Reader, read::Lines};
use crate::error::Result;

pub(super) struct Svmlight {
    lines: Lines,
}

impl Svmlight {
    pub(super) fn new(lines: Lines) -> Self {
        Self { lines }
    }
}

impl Reader for Svmlight {
    /// Lines of comment alone are passed over.
    fn read(&mut self, document: &mut Document) -> Result<bool> {
        while let Some(line) = self.lines.next()? {
            if line.trim_ascii_start().starts_with(b"#") {
                continue;
            }
            let parsed = parse_line(line, document);
            return parsed.map(|()| true).map_err(|message| self.lines.fault(message));
        }
        Ok(false)
    }

    fn into_names(self: Box<Self>) -> Option<Vec<String>> {
        None
    }
}

/// An empty line is an empty document.
fn parse_line(line: &[u8], document: &mut Document) -> Result<(), String> {
    let data = line.split(|&b| b == b'#').next().unwrap_or(line);
    for (at, field) in data.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).enumerate() {
        match field.iter().position(|&b| b == b':') {
            None if at == 0 => document.label = Some(String::from_utf8_lossy(field).into_owned()),
            None => return Err(format!("'{}' is not column:value", String::from_utf8_lossy(field))),
            Some(_) if field.starts_with(b"qid:") => {}
            Some(colon) => document.tokens.extend(parse_entry(field, colon)?),
        }
    }
    Ok(())
}

/// The token of `column:value`, if the value is above zero.
fn parse_entry(field: &[u8], colon: usize) -> Result<Option<u32>, String> {
    let shown = || String::from_utf8_lossy(field).into_owned();
    let mut column: u32 = 0;
    if colon == 0 {
        return Err(format!("'{}' has no column", shown()));
    }
    for &byte in &field[..colon] {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(format!("column of '{}' is not a whole number above zero", shown()));
        }
        let next = column.checked_mul(10).and_then(|c| c.checked_add(u32::from(digit)));
        column = next.ok_or_else(|| format!("column of '{}' is above {}", shown(), u32::MAX))?;
    }
    if column == 0 {
        return Err(format!("'{}': columns count from 1; if yours count from 0, add one to each", shown()));
    }
    if &field[colon + 1..] == b"1" {
        return Ok(Some(column - 1));
    }
    let value = std::str::from_utf8(&field[colon + 1..]).ok().and_then(|text| text.parse::<f64>().ok());
    match value {
        Some(value) if value.is_finite() => Ok((value > 0.0).then_some(column - 1)),
        _ => Err(format!("value of '{}' is not a finite number", shown())),
    }
}
