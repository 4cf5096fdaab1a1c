//! JSON lines: `{"id": ..., "tokens": ["word", ...], "label": ...}` or `{"text": "..."}`, one document a line. Beside `tokens`
//! there may be `unknown`, and in place of it `present` and `absent`, which leave the rest unknown.

use super::lines::{Lines, shown};
use super::{Column, Columns, Document, OnFault, ReadOptions, Reader, Unlisted};
use crate::corpus::Words;
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
    present: Option<&'a RawValue>,
    #[serde(borrow)]
    absent: Option<&'a RawValue>,
    #[serde(borrow)]
    unknown: Option<&'a RawValue>,
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
        // Where the key of the tokens is given, others are none of ours.
        let list = |key| value(key).filter(|_| self.content.is_none());
        let [present, absent, unknown] = ["present", "absent", "unknown"].map(list);
        Ok(Line { tokens, text, present, absent, unknown, id: value(&self.id), label: value(&self.label) })
    }
}

pub(super) struct Jsonl {
    lines: Lines,
    keys: Option<Keys>,
    unlisted: Unlisted,
}

impl Jsonl {
    pub(super) fn new(lines: Lines, options: &ReadOptions) -> Result<Self> {
        Ok(Self { lines, keys: Keys::new(&options.columns)?, unlisted: options.unlisted })
    }
}

impl Reader for Jsonl {
    /// Blank lines are passed over.
    fn read(&mut self, document: &mut Document, on_fault: &mut OnFault<'_>) -> Result<bool> {
        while let Some(line) = self.lines.next(on_fault)? {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match parse_line(line, self.keys.as_ref(), self.unlisted, document) {
                Ok(()) => return Ok(true),
                Err(message) => on_fault(self.lines.fault(message))?,
            }
            document.clear();
        }
        Ok(false)
    }
}

fn parse_line(
    line: &[u8],
    keys: Option<&Keys>,
    unlisted: Unlisted,
    document: &mut Document,
) -> Result<(), String> {
    if line.trim_ascii_start().first() != Some(&b'{') {
        return Err(format!("'{}' is not a JSON object; {EXPECTED}", shown(line)));
    }
    let parsed: Line = keys
        .map_or_else(|| serde_json::from_slice(line), |keys| keys.parse(line))
        .map_err(|e| format!("column {}: {}; {EXPECTED}", e.column(), told(&e)))?;
    let [present, absent, unknown] =
        [("present", parsed.present), ("absent", parsed.absent), ("unknown", parsed.unknown)].map(list);
    let (present, absent, unknown) = (present?, absent?, unknown?);
    let rest_unknown = present.is_some() || absent.is_some() || unlisted == Unlisted::Unknown;
    match (parsed.tokens, parsed.text) {
        (Some(_), _) | (_, Some(_)) if present.is_some() || absent.is_some() => {
            return Err("has 'present' or 'absent' beside 'tokens' or 'text'; give either".into());
        }
        (None, _) if unknown.is_some() => {
            return Err("has 'unknown' without 'tokens'; only the rest of these is absent".into());
        }
        (Some(_), _) if unknown.is_some() && rest_unknown => {
            return Err("has 'unknown', and with `unlisted` unknown all others are; leave out one".into());
        }
        (None, None) if present.is_some() || absent.is_some() => {
            push_names(present.unwrap_or_default(), &mut document.words)?;
        }
        (None, None) => {
            return Err(match keys.and_then(|keys| keys.content.as_ref()) {
                Some(key) => format!("has no '{}'", faults::shown(key)),
                None => {
                    format!("has neither 'tokens' nor 'text', nor lists 'present' and 'absent'; {EXPECTED}")
                }
            });
        }
        (Some(tokens), _) => push_names(tokens, &mut document.words)?,
        (None, Some(_)) if rest_unknown => return Err(super::format::UNLISTED_TEXT.into()),
        (None, Some(Text(text))) => document.text.push_str(&text),
    }
    document.others.rest_unknown = rest_unknown;
    if let Some(others) = absent.or(unknown) {
        push_names(others, &mut document.other_words)?;
        document.check_names()?;
    }
    document.id = scalar("id", parsed.id)?;
    document.label = scalar("label", parsed.label)?;
    Ok(())
}

/// The names of a list; what is no list is no business of ours.
fn list<'a>((key, value): (&str, Option<&'a RawValue>)) -> Result<Option<Vec<Text<'a>>>, String> {
    let list = value.map(RawValue::get).filter(|value| value.starts_with('['));
    let names = list.map(serde_json::from_str).transpose();
    names.map_err(|e| format!("'{key}': {}; it must be a list of tokens", told(&e)))
}

fn push_names(names: Vec<Text<'_>>, words: &mut Words) -> Result<(), String> {
    for (at, Text(name)) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(format!("token {} is empty; leave it out", at + 1));
        }
        words.push(name);
    }
    Ok(())
}
