//! JSON lines: `{"id": ..., "tokens": ["word", ...], "label": ...}` or `{"text": "..."}`, one document a line.

use super::lines::{Lines, shown};
use super::{Column, Columns, Document, OnFault, Reader};
use crate::error::{Error, Result};
use crate::faults;
use rustc_hash::FxHashMap;
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
#[derive(Deserialize, PartialEq, Eq, Hash)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl std::borrow::Borrow<str> for Text<'_> {
    fn borrow(&self) -> &str {
        &self.0
    }
}

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

/// Keys other than the usual ones.
struct Keys {
    /// Of a text, or of a list of tokens.
    content: Option<String>,
    id: String,
    label: String,
}

impl Keys {
    /// None if they are the usual ones, which are read faster.
    fn new(columns: &Columns) -> Result<Option<Self>> {
        let key = |column: &Option<Column>| match column {
            None => Ok(None),
            Some(Column::Name(key)) => Ok(Some(key.clone())),
            Some(Column::Number(number)) => {
                Err(Error::Usage(format!("columns of JSON lines are keys; there is no column {number}")))
            }
        };
        let (content, id, label) = (key(&columns.text)?, key(&columns.id)?, key(&columns.label)?);
        if content.is_none() && id.is_none() && label.is_none() {
            return Ok(None);
        }
        let (id, label) = (id.unwrap_or_else(|| "id".into()), label.unwrap_or_else(|| "label".into()));
        Ok(Some(Self { content, id, label }))
    }

    fn parse<'a>(&self, line: &'a [u8]) -> serde_json::Result<Line<'a>> {
        let values: FxHashMap<Text<'a>, &'a RawValue> = serde_json::from_slice(line)?;
        let value = |key: &str| values.get(key).copied().filter(|value| value.get() != "null");
        let content = self.content.as_deref().map_or_else(|| value("tokens").or(value("text")), value);
        let (mut tokens, mut text) = (None, None);
        match content.map(RawValue::get) {
            Some(list) if list.starts_with('[') => tokens = Some(serde_json::from_str(list)?),
            Some(other) => text = Some(serde_json::from_str(other)?),
            None => {}
        }
        Ok(Line { tokens, text, id: value(&self.id), label: value(&self.label) })
    }
}

pub(super) struct Jsonl {
    lines: Lines,
    keys: Option<Keys>,
}

impl Jsonl {
    pub(super) fn new(lines: Lines, columns: &Columns) -> Result<Self> {
        Ok(Self { lines, keys: Keys::new(columns)? })
    }
}

impl Reader for Jsonl {
    /// Blank lines are passed over.
    fn read(&mut self, document: &mut Document, on_fault: &mut OnFault<'_>) -> Result<bool> {
        while let Some(line) = self.lines.next(on_fault)? {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match parse_line(line, self.keys.as_ref(), document) {
                Ok(()) => return Ok(true),
                Err(message) => on_fault(self.lines.fault(message))?,
            }
            document.clear();
        }
        Ok(false)
    }
}

fn parse_line(line: &[u8], keys: Option<&Keys>, document: &mut Document) -> Result<(), String> {
    if line.trim_ascii_start().first() != Some(&b'{') {
        return Err(format!("'{}' is not a JSON object; {EXPECTED}", shown(line)));
    }
    let parsed: Line = keys
        .map_or_else(|| serde_json::from_slice(line), |keys| keys.parse(line))
        .map_err(|e| format!("column {}: {}; {EXPECTED}", e.column(), told(&e)))?;
    match (parsed.tokens, parsed.text) {
        (None, None) => {
            return Err(match keys.and_then(|keys| keys.content.as_ref()) {
                Some(key) => format!("has no '{}'", faults::shown(key)),
                None => format!("has neither 'tokens' nor 'text'; {EXPECTED}"),
            });
        }
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
