//! Models and graphs as JSON, the interchange format.

use super::{Names, Network, file::Parts, fingerprint};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const FORMAT: &str = "noisyor-model";
const VERSION: u64 = 1;

#[derive(Serialize, Deserialize)]
struct File {
    format: String,
    version: u64,
    topics: Vec<String>,
    tokens: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    leak: Option<Vec<f64>>,
    edges: Vec<Edge>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    training: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

/// Parses a model or graph; the error is (line, message).
pub(super) fn parse(bytes: &[u8]) -> Result<Parts, (Option<u64>, String)> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let file: File = serde_json::from_slice(bytes).map_err(|e| (Some(e.line() as u64), e.to_string()))?;
    if file.format != FORMAT {
        return Err((None, format!("format is '{}', expected '{FORMAT}'", file.format)));
    }
    if file.version != VERSION {
        return Err((
            None,
            format!("version {} is not known; this program reads version {VERSION}", file.version),
        ));
    }
    let weighted = file.edges.iter().filter(|edge| edge.2.is_some()).count();
    let edge_weights = match weighted {
        0 if file.leak.is_none() || !file.edges.is_empty() => None,
        n if n == file.edges.len() => Some(file.edges.iter().filter_map(|edge| edge.2).collect()),
        n => {
            return Err((None, format!("{n} of {} edges have a weight: give all or none", file.edges.len())));
        }
    };
    Ok(Parts {
        names: Names { topics: file.topics, tokens: file.tokens },
        edges: file.edges.iter().map(|edge| (edge.0, edge.1)).collect(),
        edge_weights,
        leak: file.leak,
        training: file.training,
        checksum: file.checksum,
        edge_lines: Vec::new(),
    })
}

/// The model as JSON text, one line.
pub(super) fn format(network: &Network) -> Result<Vec<u8>, String> {
    let edges = network.graph.edges().zip(&network.weights.edge);
    let file = File {
        format: FORMAT.into(),
        version: VERSION,
        topics: network.names.topics.clone(),
        tokens: network.names.tokens.clone(),
        leak: Some(network.weights.leak.clone()),
        edges: edges.map(|((parent, child), &weight)| Edge(parent, child, Some(weight))).collect(),
        training: network.training.clone(),
        checksum: Some(fingerprint(network)),
    };
    let mut text = serde_json::to_vec(&file).map_err(|e| e.to_string())?;
    text.push(b'\n');
    Ok(text)
}
