//! SVMlight / libsvm: `label column:value ... # comment`; column j is token j - 1, values above zero mean present, others absent.

use super::lines::{Lines, shown, utf8};
use super::{Document, OnFault, ReadOptions, Reader, Tokens, Unlisted};
use crate::error::Result;

/// Faults of a line that are listed; a line may have millions.
const MOST_FAULTS: usize = 100;

pub(super) struct Svmlight {
    lines: Lines,
    numbers: Numbers,
    unlisted: Unlisted,
}

/// Which columns there are.
#[derive(Clone, Copy)]
struct Numbers {
    first: u32,
    last: u32,
    /// The last one is that of the vocabulary.
    named: bool,
}

impl Svmlight {
    pub(super) fn new(lines: Lines, options: &ReadOptions) -> Self {
        let first = u32::from(!options.zero_based);
        let n_tokens = options.n_names.unwrap_or(u32::MAX);
        // Without any name there is no last one: then it is below the first.
        let last = if first == 1 { n_tokens } else { n_tokens.saturating_sub(1) };
        let numbers = Numbers { first, last, named: options.n_names.is_some() };
        Self { lines, numbers, unlisted: options.unlisted }
    }
}

impl Reader for Svmlight {
    /// Lines of comment alone are passed over; an empty line is an empty document.
    fn read(&mut self, document: &mut Document, on_fault: &mut OnFault<'_>) -> Result<bool> {
        let mut faults = Vec::new();
        while let Some(line) = self.lines.next(on_fault)? {
            if line.trim_ascii_start().starts_with(b"#") {
                continue;
            }
            document.others.rest_unknown = self.unlisted == Unlisted::Unknown;
            parse_line(line, self.numbers, document, &mut faults);
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

fn parse_line(line: &[u8], numbers: Numbers, document: &mut Document, faults: &mut Vec<String>) {
    let mut n_more = 0;
    let data = memchr::memchr(b'#', line).map_or(line, |comment| &line[..comment]);
    for (at, field) in data.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).enumerate() {
        let entry = match field.iter().position(|&b| b == b':') {
            None if at == 0 => {
                match utf8(field) {
                    Ok(label) => document.label.push_str(label),
                    Err(message) => faults.push(format!("label: {message}")),
                }
                continue;
            }
            None => Err(format!("'{}' is not column:value, as in 5:1", shown(field))),
            Some(_) if field.starts_with(b"qid:") => continue,
            Some(colon) => parse_entry(field, colon, numbers),
        };
        match entry {
            Ok((token, true)) => document.tokens.push(token),
            Ok((token, false)) if document.others.rest_unknown => document.others.tokens.push(token),
            Ok(_) => {}
            Err(message) if faults.len() < MOST_FAULTS => faults.push(message),
            Err(_) => n_more += 1,
        }
    }
    if let Some(token) = document.drop_conflicts() {
        let column = u64::from(token) + u64::from(numbers.first);
        faults.push(format!("column {column} is there twice, above zero and not; leave out one"));
    }
    if n_more > 0 {
        faults.push(format!("{n_more} more faults on this line; is this SVMlight?"));
    }
}

/// The token of `column:value`, and whether the value is above zero.
fn parse_entry(field: &[u8], colon: usize, numbers: Numbers) -> Result<(u32, bool), String> {
    let Numbers { first, .. } = numbers;
    let mut column: u32 = 0;
    if colon == 0 {
        return Err(format!("'{}' has no column; write column:value, as in 5:1", shown(field)));
    }
    for &byte in &field[..colon] {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            let least = if first == 0 { "from zero" } else { "above zero" };
            return Err(format!(
                "column of '{}' is not a whole number {least}; columns count from {first}",
                shown(field)
            ));
        }
        let next = column.checked_mul(10).and_then(|c| c.checked_add(u32::from(digit)));
        column = next.filter(|&column| column <= numbers.last).ok_or_else(|| beyond(field, numbers))?;
    }
    if column < first {
        return Err(format!(
            "'{}': columns count from 1; if yours count from 0, give `zero_based`",
            shown(field)
        ));
    }
    if &field[colon + 1..] == b"1" {
        return Ok((column - first, true));
    }
    let value = std::str::from_utf8(&field[colon + 1..]).ok().and_then(|text| text.parse::<f64>().ok());
    match value {
        Some(value) if value.is_finite() => Ok((column - first, value > 0.0)),
        _ => Err(format!("value of '{}' is not a finite number; correct it, or leave it out", shown(field))),
    }
}

fn beyond(field: &[u8], numbers: Numbers) -> String {
    let Numbers { first, last, named } = numbers;
    let (field, n_names) = (shown(field), last as u64 + u64::from(first == 0));
    if named {
        return format!(
            "column of '{field}' is beyond the {n_names} names of the vocabulary; give the right `vocab`"
        );
    }
    format!("column of '{field}' is above {last}, the last that can be read; number the columns without gaps")
}
