//! Models and graphs as JSON, the interchange format.

use super::file::{ANY_WEIGHT, FORMAT, Parts, Places};
use super::{Names, Network, fingerprint};
use crate::faults::{Faults, shown};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

const VERSION: u64 = 1;

#[derive(Serialize)]
struct File {
    format: String,
    version: u64,
    topics: Vec<String>,
    tokens: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    leak: Option<Vec<f64>>,
    edges: Vec<Edge>,
    #[serde(skip_serializing_if = "String::is_empty")]
    training: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    checksum: Option<String>,
}

/// `[parent, child]` or `[parent, child, weight]`.
struct Edge(u32, u32, Option<f64>);

impl Serialize for Edge {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.2 {
            Some(weight) => (self.0, self.1, weight).serialize(serializer),
            None => (self.0, self.1).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Edge {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EdgeVisitor;
        impl<'de> Visitor<'de> for EdgeVisitor {
            type Value = Edge;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("an edge [parent, child] or [parent, child, weight]")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Edge, A::Error> {
                let parent = seq.next_element()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
                let child = seq.next_element()?.ok_or_else(|| A::Error::invalid_length(1, &self))?;
                let weight = seq.next_element()?;
                if seq.next_element::<serde::de::IgnoredAny>()?.is_some() {
                    return Err(A::Error::invalid_length(4, &self));
                }
                Ok(Edge(parent, child, weight))
            }
        }
        deserializer.deserialize_seq(EdgeVisitor)
    }
}

/// The file with its lists not taken apart yet, so that every entry has a place and can be at fault by itself.
///
/// Other keys are refused: a misspelt 'leak' or 'checksum' would be lost in silence.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw<'a> {
    format: Option<String>,
    version: Option<u64>,
    #[serde(borrow)]
    topics: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    tokens: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    leak: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    edges: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    training: String,
    checksum: Option<String>,
}

/// A list's values and their lines. An entry at fault is marked by `malformed` and replaced by `instead`.
struct List<T> {
    values: Vec<T>,
    lines: Vec<u64>,
    malformed: Vec<usize>,
}

fn parse_list<'a, T: Deserialize<'a>>(
    text: &'a str,
    what: &str,
    raw: Vec<&'a RawValue>,
    instead: impl Fn(usize) -> T,
    faults: &mut Faults,
) -> crate::error::Result<List<T>> {
    let one_line = !text.trim_end().contains('\n');
    let mut list = List { values: Vec::with_capacity(raw.len()), lines: Vec::new(), malformed: Vec::new() };
    // Entries are slices of the text: where they begin says in which line.
    let (mut line, mut counted) = (1, 0);
    for (at, entry) in raw.iter().enumerate() {
        let begin = entry.get().as_ptr() as usize - text.as_ptr() as usize;
        line += memchr::memchr_iter(b'\n', &text.as_bytes()[counted..begin]).count() as u64;
        counted = begin;
        if !one_line {
            list.lines.push(line);
        }
        list.values.push(match serde_json::from_str(entry.get()) {
            Ok(value) => value,
            Err(e) => {
                list.malformed.push(at);
                let message = e.to_string();
                // Its line and column are those of the entry alone.
                let message = message.rsplit_once(" at line ").map_or(message.as_str(), |parts| parts.0);
                faults.add(Some(line), format!("{what} {at}: {}", shown(message)))?;
                instead(at)
            }
        });
    }
    Ok(list)
}

/// The whole file as text; each line that is not UTF-8 is a fault.
fn text_of<'a>(bytes: &'a [u8], faults: &mut Faults) -> crate::error::Result<Option<&'a str>> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok(Some(text));
    }
    for (at, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        if std::str::from_utf8(line).is_err() {
            faults.add(Some(at as u64 + 1), "not UTF-8 text; save the file as UTF-8")?;
        }
    }
    Ok(None)
}

/// Parses a model or graph; none where the faults leave no lists to look at.
pub(super) fn parse(bytes: &[u8], faults: &mut Faults) -> crate::error::Result<Option<Parts>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let Some(text) = text_of(bytes, faults)? else { return Ok(None) };
    let file: Raw = match serde_json::from_str(text) {
        Ok(file) => file,
        Err(e) => return faults.add(Some(e.line() as u64), shown(&e.to_string())).map(|()| None),
    };
    check_format(&file, faults)?;
    let topics =
        parse_list(text, "topic", file.topics.unwrap_or_default(), |at| format!("topic {at}?"), faults)?;
    let tokens =
        parse_list(text, "token", file.tokens.unwrap_or_default(), |at| format!("token {at}?"), faults)?;
    let has_leaks = file.leak.is_some();
    let leak = parse_list(text, "leak", file.leak.unwrap_or_default(), |_| ANY_WEIGHT, faults)?;
    let edges = file.edges.unwrap_or_default();
    let edges = parse_list(text, "edge", edges, |_| Edge(0, 0, None), faults)?;
    let n_edges = edges.values.len() - edges.malformed.len();
    let weighted = edges.values.iter().filter(|edge| edge.2.is_some()).count();
    if weighted > 0 && weighted < n_edges {
        faults.add(None, format!("{weighted} of {n_edges} edges have a weight: give all or none"))?;
    }
    // What is missing was told above; the rest is still to be checked.
    let has_weights = weighted > 0 || (n_edges == 0 && has_leaks);
    let weights = || edges.values.iter().map(|edge| edge.2.unwrap_or(ANY_WEIGHT)).collect();
    let edge_weights = has_weights.then(weights);
    Ok(Some(Parts {
        names: Names { topics: topics.values, tokens: tokens.values },
        edges: edges.values.iter().map(|edge| (edge.0, edge.1)).collect(),
        edge_weights,
        leak: has_leaks.then_some(leak.values),
        training: file.training,
        checksum: file.checksum,
        malformed: edges.malformed,
        lines: Places { names: [topics.lines, tokens.lines].concat(), leaks: leak.lines, edges: edges.lines },
    }))
}

/// What kind of file this is, and the fields that it must have.
fn check_format(file: &Raw, faults: &mut Faults) -> crate::error::Result<()> {
    match &file.format {
        Some(format) if format == FORMAT => (),
        Some(format) => faults.add(None, format!("format is '{}', expected '{FORMAT}'", shown(format)))?,
        None => faults.add(None, format!("missing field `format`, expected '{FORMAT}'"))?,
    }
    match file.version {
        Some(VERSION) => (),
        Some(version) => faults
            .add(None, format!("version {version} is not known; this program reads version {VERSION}"))?,
        None => faults.add(None, format!("missing field `version`; this program reads version {VERSION}"))?,
    }
    for (name, list) in [("topics", &file.topics), ("tokens", &file.tokens), ("edges", &file.edges)] {
        if list.is_none() {
            faults.add(None, format!("missing field `{name}`, a list"))?;
        }
    }
    Ok(())
}

/// The model as JSON text, one line.
pub(super) fn format(network: &Network) -> Result<Vec<u8>, String> {
    let edges = network.graph.edges().zip(&network.weights.edge);
    write(File {
        leak: Some(network.weights.leak.clone()),
        edges: edges.map(|((parent, child), &weight)| Edge(parent, child, Some(weight))).collect(),
        training: network.training.clone(),
        checksum: Some(fingerprint(network)),
        ..File::bare(network)
    })
}

/// The graph without weights.
pub(super) fn format_graph(network: &Network) -> Result<Vec<u8>, String> {
    write(File::bare(network))
}

impl File {
    fn bare(network: &Network) -> Self {
        Self {
            format: FORMAT.into(),
            version: VERSION,
            topics: network.names.topics.clone(),
            tokens: network.names.tokens.clone(),
            leak: None,
            edges: network.graph.edges().map(|(parent, child)| Edge(parent, child, None)).collect(),
            training: String::new(),
            checksum: None,
        }
    }
}

fn write(file: File) -> Result<Vec<u8>, String> {
    let mut text = serde_json::to_vec(&file).map_err(|e| e.to_string())?;
    text.push(b'\n');
    Ok(text)
}
