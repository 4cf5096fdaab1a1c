//! JSON lines: `{"id": ..., "tokens": ["word", ...], "label": ...}`, one document a line.

use super::{Document, Reader, read::Lines};
use crate::error::Result;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use std::borrow::Cow;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    tokens: Option<Vec<Text<'a>>>,
    text: Option<serde::de::IgnoredAny>,
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

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => number.fmt(f),
            Self::Truth(truth) => truth.fmt(f),
        }
    }
}

pub(super) struct Jsonl {
    lines: Lines,
    number_of: FxHashMap<String, u32>,
    names: Vec<String>,
}

impl Jsonl {
    pub(super) fn new(lines: Lines) -> Self {
        Self { lines, number_of: FxHashMap::default(), names: Vec::new() }
    }
}

impl Reader for Jsonl {
    /// Blank lines are passed over.
    fn read(&mut self, document: &mut Document) -> Result<bool> {
        while let Some(line) = self.lines.next()? {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let parsed = parse_line(line, &mut self.number_of, &mut self.names, document);
            return parsed.map(|()| true).map_err(|message| self.lines.fault(message));
        }
        Ok(false)
    }

    fn into_names(self: Box<Self>) -> Option<Vec<String>> {
        Some(self.names)
    }
}

fn parse_line(
    line: &[u8],
    number_of: &mut FxHashMap<String, u32>,
    names: &mut Vec<String>,
    document: &mut Document,
) -> Result<(), String> {
    if line.trim_ascii_start().first() != Some(&b'{') {
        return Err("is not a JSON object; expected {\"tokens\": [\"word\", ...]}".to_owned());
    }
    let parsed: Line = serde_json::from_slice(line).map_err(|e| {
        let text = e.to_string();
        // Its own line number is always 1 here.
        let text = text.split(" at line ").next().unwrap_or(&text);
        format!("column {}: {text}; expected {{\"tokens\": [\"word\", ...]}}", e.column())
    })?;
    let Some(tokens) = parsed.tokens else {
        return Err(match parsed.text {
            Some(_) => "has 'text' but no 'tokens': split the text into words first".to_owned(),
            None => "has no 'tokens'; expected {\"tokens\": [\"word\", ...]}".to_owned(),
        });
    };
    for Text(token) in tokens {
        let number = match number_of.get(token.as_ref()) {
            Some(&number) => number,
            None => {
                let number = names.len() as u32;
                names.push(token.clone().into_owned());
                number_of.insert(token.into_owned(), number);
                number
            }
        };
        document.tokens.push(number);
    }
    document.id = parsed.id.map(|id| id.to_string());
    document.label = parsed.label.map(|label| label.to_string());
    Ok(())
}
