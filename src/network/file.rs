//! Loading and saving: one entry for every format, one place where parts become a validated network.

use super::weights::is_weight;
use super::{Graph, GraphFault, MAX_WEIGHT, Names, Network, Weights};
use super::{edge_list, fingerprint, json, safetensors};
use crate::error::{Error, Result};
use crate::faults::{Faults, shown};
use crate::files;
use std::path::Path;

/// Larger files are taken for a mistake: at 12 bytes an edge this is a billion edges.
pub(super) const MAX_BYTES: u64 = 1 << 34;
/// What JSON and safetensors files say they are.
pub(super) const FORMAT: &str = "noisyor-model";
/// Stands for a weight that was a fault, so that the rest can still be checked.
pub(super) const ANY_WEIGHT: f64 = 1.0;

const NO_WEIGHTS: &str =
    "this is a graph without weights (every edge and every leak needs one); train it first";

/// What a file says, before validation.
pub(super) struct Parts {
    pub(super) names: Names,
    pub(super) edges: Vec<(u32, u32)>,
    pub(super) edge_weights: Option<Vec<f64>>,
    pub(super) leak: Option<Vec<f64>>,
    pub(super) training: String,
    pub(super) checksum: Option<String>,
    /// Edges that could not be read and stand there only to be counted.
    pub(super) malformed: Vec<usize>,
    /// Where all this stands.
    pub(super) lines: Places,
}

/// The line of every name, leak and edge; lists are empty where the format has no lines.
#[derive(Default)]
pub(super) struct Places {
    pub(super) names: Vec<u64>,
    pub(super) leaks: Vec<u64>,
    pub(super) edges: Vec<u64>,
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
    /// What may not be meant, a line each.
    pub notes: Vec<String>,
}

pub(super) enum Format {
    Json,
    Safetensors,
    EdgeList,
}

pub(super) fn format_of(path: &Path) -> Result<Format> {
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

/// Whether a file of this name can be saved: for those who work long before they do.
///
/// # Errors
///
/// [`Error::Usage`] where it cannot.
pub fn check_extension(path: &Path) -> Result<()> {
    format_of(path).map(|_| ())
}

/// Loads a model or a graph, told apart by extension.
///
/// # Errors
///
/// [`Error::Input`] with file and line for the first fault, [`Error::Io`] where it cannot
/// be read, [`Error::Usage`] for another extension.
pub fn load(path: &Path) -> Result<Loaded> {
    format_of(path)?;
    load_bytes(path, &files::read(path, MAX_BYTES)?)
}

/// Loads a model or a graph that is already in memory; `path` gives the format and the name in errors.
///
/// # Errors
///
/// As [`load`].
pub fn load_bytes(path: &Path, bytes: &[u8]) -> Result<Loaded> {
    let (loaded, _) = read(path, bytes, &mut Faults::strict(path))?;
    loaded.ok_or_else(|| Error::input(path, None, "not a model or a graph"))
}

/// Reads and validates; all faults go to `faults`. Where there are any, there is nothing loaded. The second value says
/// whether there is a checksum.
pub(super) fn read(path: &Path, bytes: &[u8], faults: &mut Faults) -> Result<(Option<Loaded>, bool)> {
    let parts = match format_of(path)? {
        Format::Json => json::parse(bytes, faults)?,
        Format::EdgeList => Some(edge_list::parse(bytes, faults)?),
        Format::Safetensors => safetensors::parse(bytes, faults)?,
    };
    let Some(parts) = parts else { return Ok((None, false)) };
    let has_checksum = parts.checksum.is_some();
    let loaded = assemble(parts, faults)?.filter(|_| faults.count == 0);
    Ok((loaded.map(|loaded| Loaded { notes: faults.notes.clone(), ..loaded }), has_checksum))
}

/// Loads a model; a graph without weights is an error.
///
/// # Errors
///
/// [`Error::Input`] for a graph without weights; else as [`load`].
pub fn load_model(path: &Path) -> Result<Network> {
    load(path)?.into_model(path)
}

impl Loaded {
    /// The model, if there are weights; `path` is for the error.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] where there are none.
    pub fn into_model(self, path: &Path) -> Result<Network> {
        let weights = self.weights.ok_or_else(|| Error::input(path, None, NO_WEIGHTS))?;
        Ok(Network { graph: self.graph, weights, names: self.names, training: self.training })
    }
}

/// The network of the parts, if there is one without faults of the graph.
fn assemble(parts: Parts, faults: &mut Faults) -> Result<Option<Loaded>> {
    let line = |lines: &[u64], at: usize| lines.get(at).copied();
    let names = &parts.names;
    for (first, node, name) in names.all_repeated() {
        let mut message = format!("the name '{}' stands for two nodes; names must differ", shown(name));
        if let Some(line) = line(&parts.lines.names, first) {
            message += &format!(" (the first is in line {line})");
        }
        faults.add(line(&parts.lines.names, node), message)?;
    }
    let named = |node: u32| shown(names.of(node));
    let mut left_out = vec![false; parts.edges.len()];
    parts.malformed.iter().for_each(|&edge| left_out[edge] = true);
    let (n_topics, n_tokens) = (names.topics.len(), names.tokens.len());
    let mut graph_fault = |mut fault: GraphFault| {
        if let Some(line) = fault.first.and_then(|edge| line(&parts.lines.edges, edge)) {
            fault.message += &format!(" (the first is in line {line})");
        }
        faults.add(fault.edge.and_then(|edge| line(&parts.lines.edges, edge)), fault.message)
    };
    let built = Graph::build_with(n_topics, n_tokens, &parts.edges, &mut left_out, &named, &mut graph_fault)?;
    if let (Some(edge), Some(leak)) = (&parts.edge_weights, &parts.leak) {
        let n_nodes = n_topics + n_tokens;
        if leak.len() != n_nodes {
            faults.add(None, format!("{} leaks for {n_nodes} nodes", leak.len()))?;
        }
        if edge.len() != parts.edges.len() {
            faults.add(None, format!("{} weights for {} edges", edge.len(), parts.edges.len()))?;
        }
    }
    // A weight out of range does not keep the checksum from being computed; anything else does.
    let whole = faults.count == 0;
    check_weights(&parts, faults)?;
    let Some((graph, order)) = built.filter(|_| whole) else { return Ok(None) };
    let Parts { names, edge_weights, leak, training, checksum, .. } = parts;
    let weights = edge_weights
        .zip(leak)
        .map(|(edge, leak)| Weights { leak, edge: order.iter().map(|&at| edge[at as usize]).collect() });
    let loaded = Loaded { graph, names, weights, training, notes: Vec::new() };
    match checksum {
        Some(expected) => verify(loaded, &expected, faults),
        None => Ok(Some(loaded)),
    }
}

/// Every weight by itself, in the order of the file.
fn check_weights(parts: &Parts, faults: &mut Faults) -> Result<()> {
    let Parts { names, edges, edge_weights, leak, lines, .. } = parts;
    if edge_weights.is_some() != leak.is_some() {
        let (what, other) = if leak.is_some() { ("leaks", "weights of edges") } else { ("weights", "leaks") };
        faults.notes.push(format!("the {what} are not used, as there are no {other}: this is a graph"));
    }
    let remedy = format!("weights must be above zero and at most {MAX_WEIGHT}");
    let named = |node: usize| shown(names.of(u32::try_from(node).unwrap_or(u32::MAX)));
    let bad = |weight: &&f64| !is_weight(**weight);
    let (Some(edge_weights), Some(leak)) = (edge_weights, leak) else { return Ok(()) };
    for (node, weight) in leak.iter().enumerate().filter(|(_, weight)| bad(weight)) {
        let message = format!("the leak of '{}' is {weight}; {remedy}", named(node));
        faults.add(lines.leaks.get(node).copied(), message)?;
    }
    for (at, weight) in edge_weights.iter().enumerate().filter(|(_, weight)| bad(weight)) {
        let of = edges.get(at).map_or_else(String::new, |&(parent, child)| {
            format!(" of '{}' -> '{}'", named(parent as usize), named(child as usize))
        });
        faults.add(lines.edges.get(at).copied(), format!("the weight{of} is {weight}; {remedy}"))?;
    }
    Ok(())
}

fn verify(loaded: Loaded, expected: &str, faults: &mut Faults) -> Result<Option<Loaded>> {
    let Loaded { graph, names, weights, training, notes } = loaded;
    let Some(weights) = weights else { return faults.add(None, NO_WEIGHTS).map(|()| None) };
    let network = Network { graph, weights, names, training };
    let found = fingerprint(&network);
    if found != expected {
        let expected = shown(expected);
        let message = format!(
            "the checksum does not match (stored {expected}, content {found}): the file is damaged or was \
             edited; restore it, or remove the checksum from a .json file that was edited on purpose"
        );
        return faults.add(None, message).map(|()| None);
    }
    let Network { graph, weights, names, training } = network;
    Ok(Some(Loaded { graph, names, weights: Some(weights), training, notes }))
}

/// Saves a model atomically, in the format of the extension.
///
/// # Errors
///
/// [`Error::Io`] where it cannot be written, [`Error::Usage`] for another extension, or
/// names that the format cannot hold.
pub fn save(network: &Network, path: &Path) -> Result<()> {
    files::replace(path, &to_bytes(network, path)?)
}

/// The same, written aside in a folder on the same disk.
///
/// # Errors
///
/// As [`save`].
pub fn save_by(folder: &Path, network: &Network, path: &Path) -> Result<()> {
    files::replace_by(folder, path, &to_bytes(network, path)?)
}

/// The content of the file that [`save`] would write; [`load_bytes`] reads it again.
///
/// # Errors
///
/// As [`save`], but for writing.
pub fn to_bytes(network: &Network, path: &Path) -> Result<Vec<u8>> {
    let bytes = match format_of(path)? {
        Format::Json => json::format(network),
        Format::Safetensors => safetensors::format(network),
        Format::EdgeList => edge_list::format(network),
    };
    bytes.map_err(|message| Error::Usage(format!("{}: {message}", path.display())))
}

/// Saves the graph alone, without weights; safetensors always has them.
///
/// # Errors
///
/// As [`save`].
pub fn save_graph(network: &Network, path: &Path) -> Result<()> {
    let bytes = match format_of(path)? {
        Format::Json => json::format_graph(network),
        Format::Safetensors => {
            Err("a .safetensors file has weights; write the graph alone as .json or .tsv".into())
        }
        Format::EdgeList => edge_list::format_graph(network),
    };
    let bytes = bytes.map_err(|message| Error::Usage(format!("{}: {message}", path.display())))?;
    files::replace(path, &bytes)
}
