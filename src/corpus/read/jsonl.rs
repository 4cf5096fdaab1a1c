//! JSON lines: `{"id": ..., "tokens": ["word", ...], "label": ...}` or `{"text": "..."}`, one document a line.

use super::lines::Lines;
use super::{Document, OnFault, Reader};
use crate::error::Result;
use serde::Deserialize;
use std::borrow::Cow;

const EXPECTED: &str = "expected {\"tokens\": [\"word\", ...]} or {\"text\": \"...\"}";

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    tokens: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    text: Option<Text<'a>>,
    id: Option<Scalar>,
    label: Option<Scalar>,
}

/// A string that borrows from the line where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar {
    Text(String),
    Number(serde_json::Number),
    Truth(bool),
}

impl From<Scalar> for String {
    fn from(scalar: Scalar) -> Self {
        match scalar {
            Scalar::Text(text) => text,
            Scalar::Number(number) => number.to_string(),
            Scalar::Truth(truth) => truth.to_string(),
        }
    }
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
            if let Err(message) = parse_line(line, document) {
                on_fault(self.lines.fault(message))?;
            }
            return Ok(true);
        }
        Ok(false)
    }
}

fn parse_line(line: &[u8], document: &mut Document) -> Result<(), String> {
    if line.trim_ascii_start().first() != Some(&b'{') {
        return Err(format!("is not a JSON object; {EXPECTED}"));
    }
    let parsed: Line = serde_json::from_slice(line).map_err(|e| {
        let text = e.to_string();
        // Its own line number is always 1 here.
        let text = text.split(" at line ").next().unwrap_or(&text);
        format!("column {}: {text}; {EXPECTED}", e.column())
    })?;
    match (parsed.tokens, parsed.text) {
        (None, None) => return Err(format!("has neither 'tokens' nor 'text'; {EXPECTED}")),
        (Some(tokens), _) => {
            for Text(token) in &tokens {
                document.words.push(token);
            }
        }
        (None, Some(Text(text))) => document.text.push_str(&text),
    }
    document.id = parsed.id.map(String::from).unwrap_or_default();
    document.label = parsed.label.map(String::from).unwrap_or_default();
    Ok(())
}
