//! The page put together: template, style, script, data; nothing is loaded from elsewhere.

use super::pack::base64;
use super::payload::Payload;
use crate::error::{Error, Result};
use sha2::{Digest, Sha256};

const TEMPLATE: &str = include_str!("web/report.html");
const STYLE: &str = include_str!("web/report.css");
const SCRIPT: &str = concat!(
    "'use strict';\n",
    include_str!("web/decode.js"),
    include_str!("web/dom.js"),
    include_str!("web/chart.js"),
    include_str!("web/tree.js"),
    include_str!("web/topic.js"),
    include_str!("web/documents.js"),
    include_str!("web/calibration.js"),
    include_str!("web/main.js"),
);

/// The whole file.
pub(super) fn assemble(title: &str, payload: &Payload) -> Result<String> {
    let section = |(name, data): &(&str, String)| {
        format!("<script type=\"application/octet-stream\" id=\"data-{name}\">{data}</script>\n")
    };
    let sections: String = payload.sections.iter().map(section).collect();
    let mut html = String::new();
    let mut pieces = TEMPLATE.split("{{");
    html += pieces.next().unwrap_or_default();
    // Piece by piece, so that data can look like a place in the template and still be data.
    for piece in pieces {
        let (place, rest) = piece.split_once("}}").unwrap_or((piece, ""));
        match place {
            "title" => html += &escaped(title),
            "policy" => html += &policy(),
            "style" => html += STYLE,
            "script" => html += SCRIPT,
            "summary" => html += &in_script(&payload.summary),
            "sections" => html += &sections,
            _ => return Err(Error::Usage(format!("the page's template has no place '{place}'"))),
        }
        html += rest;
    }
    Ok(html)
}

/// The script and the style of this page and nothing else: names in the data can hold anything.
fn policy() -> String {
    let hash = |source: &str| format!("'sha256-{}'", base64(&Sha256::digest(source)));
    format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    )
}

/// Text between tags; characters that HTML has no place for are left out.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// JSON that cannot end the element it is in: `<` and line separators occur in its strings alone.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}
