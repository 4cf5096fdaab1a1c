//! Loading and saving: one entry for every format, one place where parts become a validated network.

use super::{Graph, MAX_WEIGHT, Names, Network, Weights, edge_list, fingerprint, json, safetensors};
use crate::error::{Error, Result};
use crate::files;
use std::path::Path;

/// What a file says, before validation.
pub(super) struct Parts {
    pub(super) names: Names,
    pub(super) edges: Vec<(u32, u32)>,
    pub(super) edge_weights: Option<Vec<f64>>,
    pub(super) leak: Option<Vec<f64>>,
    pub(super) training: String,
    pub(super) checksum: Option<String>,
    /// The line of every edge, where the format has lines.
    pub(super) edge_lines: Vec<u64>,
}

/// A graph file's content: a model, or a graph without weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The graph.
    pub graph: Graph,
    /// The names.
    pub names: Names,
    /// The weights, if the file has leaks and edge weights.
    pub weights: Option<Weights>,
    /// The training summary, or empty.
    pub training: String,
}

enum Format {
    Json,
    Safetensors,
    EdgeList,
}

fn format_of(path: &Path) -> Result<Format> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    match extension.to_ascii_lowercase().as_str() {
        "json" => Ok(Format::Json),
        "safetensors" => Ok(Format::Safetensors),
        "tsv" | "txt" => Ok(Format::EdgeList),
        _ => Err(Error::Usage(format!(
            "{}: models and graphs are .json, .safetensors or .tsv (an edge list); this name ends in '{extension}'",
            path.display()
        ))),
    }
}

/// Loads a model or a graph, told apart by extension.
pub fn load(path: &Path) -> Result<Loaded> {
    format_of(path)?;
    load_bytes(path, &std::fs::read(path).map_err(|e| Error::io(path, e))?)
}

/// Loads a model or a graph that is already in memory; `path` gives the format and the name in errors.
pub fn load_bytes(path: &Path, bytes: &[u8]) -> Result<Loaded> {
    let parts = match format_of(path)? {
        Format::Json => json::parse(bytes),
        Format::EdgeList => edge_list::parse(bytes),
        Format::Safetensors => safetensors::parse(bytes).map_err(|message| (None, message)),
    };
    assemble(path, parts.map_err(|(line, message)| Error::input(path, line, message))?)
}

/// Loads a model; a graph without weights is an error.
pub fn load_model(path: &Path) -> Result<Network> {
    load(path)?.into_model(path)
}

impl Loaded {
    /// The model, if there are weights; `path` is for the error.
    pub fn into_model(self, path: &Path) -> Result<Network> {
        let message = "this is a graph without weights (every edge and every leak needs one); train it first";
        let weights = self.weights.ok_or_else(|| Error::input(path, None, message))?;
        Ok(Network { graph: self.graph, weights, names: self.names, training: self.training })
    }
}

fn assemble(path: &Path, parts: Parts) -> Result<Loaded> {
    let fault = |message: String| Error::input(path, None, message);
    let Parts { names, edges, edge_weights, leak, training, checksum, edge_lines } = parts;
    if let Some(name) = names.repeated() {
        return Err(fault(format!("the name '{name}' stands for two nodes; names must differ")));
    }
    let named = |node: u32| names.of(node).to_owned();
    let (n_topics, n_tokens) = (names.topics.len(), names.tokens.len());
    let (graph, order) = Graph::build(n_topics, n_tokens, &edges, &named).map_err(|fault| {
        let line = fault.edge.and_then(|edge| edge_lines.get(edge).copied());
        Error::input(path, line, fault.message)
    })?;
    let weights = match (edge_weights, leak) {
        (Some(edge), Some(leak)) => {
            if leak.len() != graph.n_nodes() {
                return Err(fault(format!("{} leaks for {} nodes", leak.len(), graph.n_nodes())));
            }
            if edge.len() != graph.n_edges() {
                return Err(fault(format!("{} weights for {} edges", edge.len(), graph.n_edges())));
            }
            let weights = Weights { leak, edge: order.iter().map(|&at| edge[at as usize]).collect() };
            if let Some(fault_found) = weights.fault(&graph, &named) {
                return Err(fault(format!(
                    "{fault_found}; weights must be above zero and at most {MAX_WEIGHT}"
                )));
            }
            Some(weights)
        }
        _ => None,
    };
    let loaded = Loaded { graph, names, weights, training };
    match checksum {
        Some(expected) => verify(path, loaded, &expected),
        None => Ok(loaded),
    }
}

fn verify(path: &Path, loaded: Loaded, expected: &str) -> Result<Loaded> {
    let network = loaded.into_model(path)?;
    let found = fingerprint(&network);
    if found != expected {
        let message = format!(
            "the checksum does not match (stored {expected}, content {found}): the file is damaged or was \
             edited; restore it, or remove the checksum from a .json file that was edited on purpose"
        );
        return Err(Error::input(path, None, message));
    }
    let Network { graph, weights, names, training } = network;
    Ok(Loaded { graph, names, weights: Some(weights), training })
}

/// Saves a model atomically, in the format of the extension.
pub fn save(network: &Network, path: &Path) -> Result<()> {
    let bytes = match format_of(path)? {
        Format::Json => json::format(network),
        Format::Safetensors => safetensors::format(network),
        Format::EdgeList => edge_list::format(network),
    };
    let bytes = bytes.map_err(|message| Error::Usage(format!("{}: {message}", path.display())))?;
    files::replace(path, &bytes)
}
