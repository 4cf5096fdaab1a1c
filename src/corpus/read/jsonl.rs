//! JSON lines: `{"id": ..., "tokens": ["word", ...], "label": ...}` or `{"text": "..."}`, one document a line.

use super::lines::{Lines, shown};
use super::{Document, OnFault, Reader};
use crate::error::Result;
use crate::faults;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

const EXPECTED: &str = "expected {\"tokens\": [\"word\", ...]} or {\"text\": \"...\"}";

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    tokens: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    label: Option<&'a RawValue>,
}

/// A string that borrows from the line where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// An id or a label. Numbers stay as they are written: those of more digits than a float has tell documents apart, too.
fn scalar(key: &str, value: Option<&RawValue>) -> Result<String, String> {
    let value = value.map_or("", RawValue::get);
    match value.as_bytes().first() {
        None => Ok(String::new()),
        Some(b'[' | b'{') => {
            Err(format!("'{key}' is '{}'; it must be a string or a number", shown(value.as_bytes())))
        }
        Some(b'"') => serde_json::from_str(value).map_err(|e| format!("'{key}': {}", told(&e))),
        Some(_) => Ok(value.to_owned()),
    }
}

/// What is wrong, without the line, which is always the first here, and without more of the value than fits a line or two.
fn told(error: &serde_json::Error) -> String {
    let text = error.to_string();
    faults::shown(text.split(" at line ").next().unwrap_or(&text))
}

pub(super) struct Jsonl {
    lines: Lines,
}

impl Jsonl {
    pub(super) fn new(lines: Lines) -> Self {
        Self { lines }
    }
}

impl Reader for Jsonl {
    /// Blank lines are passed over.
    fn read(&mut self, document: &mut Document, on_fault: &mut OnFault<'_>) -> Result<bool> {
        while let Some(line) = self.lines.next(on_fault)? {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match parse_line(line, document) {
                Ok(()) => return Ok(true),
                Err(message) => on_fault(self.lines.fault(message))?,
            }
            document.clear();
        }
        Ok(false)
    }
}

fn parse_line(line: &[u8], document: &mut Document) -> Result<(), String> {
    if line.trim_ascii_start().first() != Some(&b'{') {
        return Err(format!("'{}' is not a JSON object; {EXPECTED}", shown(line)));
    }
    let parsed: Line = serde_json::from_slice(line)
        .map_err(|e| format!("column {}: {}; {EXPECTED}", e.column(), told(&e)))?;
    match (parsed.tokens, parsed.text) {
        (None, None) => return Err(format!("has neither 'tokens' nor 'text'; {EXPECTED}")),
        (Some(tokens), _) => {
            for (at, Text(token)) in tokens.iter().enumerate() {
                if token.is_empty() {
                    return Err(format!("token {} is empty; leave it out", at + 1));
                }
                document.words.push(token);
            }
        }
        (None, Some(Text(text))) => document.text.push_str(&text),
    }
    document.id = scalar("id", parsed.id)?;
    document.label = scalar("label", parsed.label)?;
    Ok(())
}
