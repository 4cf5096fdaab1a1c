//! SVMlight / libsvm: `label column:value ... # comment`; column j is token j - 1, values above zero mean present.

use super::lines::{Lines, shown};
use super::{Document, OnFault, Reader, Tokens};
use crate::error::Result;

pub(super) struct Svmlight {
    lines: Lines,
    zero_based: bool,
}

impl Svmlight {
    pub(super) fn new(lines: Lines, zero_based: bool) -> Self {
        Self { lines, zero_based }
    }
}

impl Reader for Svmlight {
    /// Lines of comment alone are passed over; an empty line is an empty document.
    fn read(&mut self, document: &mut Document, on_fault: &mut OnFault<'_>) -> Result<bool> {
        let first = u32::from(!self.zero_based);
        let mut faults = Vec::new();
        while let Some(line) = self.lines.next(on_fault)? {
            if line.trim_ascii_start().starts_with(b"#") {
                continue;
            }
            parse_line(line, first, document, &mut faults);
            for message in faults {
                on_fault(self.lines.fault(message))?;
            }
            return Ok(true);
        }
        Ok(false)
    }

    fn tokens(&self) -> Tokens<'_> {
        Tokens::Numbers { n_tokens: None, names: None }
    }
}

fn parse_line(line: &[u8], first: u32, document: &mut Document, faults: &mut Vec<String>) {
    let data = memchr::memchr(b'#', line).map_or(line, |comment| &line[..comment]);
    for (at, field) in data.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).enumerate() {
        let entry = match field.iter().position(|&b| b == b':') {
            None if at == 0 => {
                document.label = String::from_utf8_lossy(field).into_owned();
                continue;
            }
            None => Err(format!("'{}' is not column:value", shown(field))),
            Some(_) if field.starts_with(b"qid:") => continue,
            Some(colon) => parse_entry(field, colon, first),
        };
        match entry {
            Ok(token) => document.tokens.extend(token),
            Err(message) => faults.push(message),
        }
    }
}

/// The token of `column:value`, if the value is above zero.
fn parse_entry(field: &[u8], colon: usize, first: u32) -> Result<Option<u32>, String> {
    let mut column: u32 = 0;
    if colon == 0 {
        return Err(format!("'{}' has no column", shown(field)));
    }
    for &byte in &field[..colon] {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(format!("column of '{}' is not a whole number above zero", shown(field)));
        }
        let next = column.checked_mul(10).and_then(|c| c.checked_add(u32::from(digit)));
        column = next
            .filter(|&column| column - first.min(column) < u32::MAX)
            .ok_or_else(|| format!("column of '{}' is above {}", shown(field), u32::MAX))?;
    }
    if column < first {
        return Err(format!(
            "'{}': columns count from 1; if yours count from 0, give --zero-based",
            shown(field)
        ));
    }
    if &field[colon + 1..] == b"1" {
        return Ok(Some(column - first));
    }
    let value = std::str::from_utf8(&field[colon + 1..]).ok().and_then(|text| text.parse::<f64>().ok());
    match value {
        Some(value) if value.is_finite() => Ok((value > 0.0).then_some(column - first)),
        _ => Err(format!("value of '{}' is not a finite number", shown(field))),
    }
}
