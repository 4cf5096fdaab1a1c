//! Models as safetensors, the native format.

use super::file::{FORMAT, Parts, Places};
use super::{Names, Network, fingerprint};
use crate::error::Result;
use crate::faults::{Faults, shown};
use crate::tensor_file::{Tensor, open, write};
use ::safetensors::{Dtype, SafeTensors};
use serde_json::{Value, json};

const VERSION: &str = "1";

/// Parses a model; none where the faults leave no edges to look at.
pub(super) fn parse(bytes: &[u8], faults: &mut Faults) -> Result<Option<Parts>> {
    let (header, tensors) = match open(bytes) {
        Ok(opened) => opened,
        Err(message) => {
            return faults.add(None, format!("not a safetensors file: {}", shown(&message))).map(|()| None);
        }
    };
    let Some(metadata) = header.metadata() else {
        return faults.add(None, "no metadata: not a noisyor model").map(|()| None);
    };
    let field = |key: &str, faults: &mut Faults| -> Result<Option<String>> {
        let value = metadata.get(key).cloned();
        if value.is_none() {
            faults.add(None, format!("metadata has no '{key}': not a noisyor model"))?;
        }
        Ok(value)
    };
    if let Some(format) = field("format", faults)?.filter(|format| format != FORMAT) {
        let hint = match format == crate::baseline::FORMAT {
            true => "; this is a baseline, no network: 'eval', 'infer', 'compare' and 'report' take it",
            false => "",
        };
        faults.add(None, format!("format is '{}', expected '{FORMAT}'{hint}", shown(&format)))?;
    }
    if let Some(version) = field("version", faults)?.filter(|version| version != VERSION) {
        let version = shown(&version);
        faults.add(None, format!("version {version} is not known; this program reads version {VERSION}"))?;
    }
    let (names, training) = (field("names", faults)?, field("training", faults)?);
    let checksum = field("sha256", faults)?;
    let names = match names.map(|text| serde_json::from_str::<(Vec<String>, Vec<String>)>(&text)) {
        Some(Ok((topics, tokens))) => Some(Names { topics, tokens }),
        Some(Err(e)) => {
            let e = shown(&e.to_string());
            faults.add(None, format!("metadata 'names' is not [topics, tokens]: {e}")).map(|()| None)?
        }
        None => None,
    };
    let offsets = vector(&tensors, "edge_offsets", Dtype::U64, u64::from_le_bytes, faults)?;
    let parents = vector(&tensors, "edge_parents", Dtype::U32, u32::from_le_bytes, faults)?;
    let edge_weights = vector(&tensors, "edge_weights", Dtype::F32, f32::from_le_bytes, faults)?;
    let leak = vector(&tensors, "leak", Dtype::F32, f32::from_le_bytes, faults)?;
    let (Some(names), Some(offsets), Some(parents)) = (names, offsets, parents) else { return Ok(None) };
    let Some(edges) = edges(&names, &offsets, &parents, faults)? else { return Ok(None) };
    let wide = |values: Vec<f32>| values.into_iter().map(f64::from).collect();
    Ok(Some(Parts {
        names,
        edges,
        edge_weights: edge_weights.map(wide),
        leak: leak.map(wide),
        training: training.unwrap_or_default(),
        checksum,
        malformed: Vec::new(),
        lines: Places::default(),
    }))
}

/// A tensor of one dimension; none where there is no such.
fn vector<const WIDTH: usize, T>(
    tensors: &SafeTensors,
    name: &str,
    dtype: Dtype,
    number: fn([u8; WIDTH]) -> T,
    faults: &mut Faults,
) -> Result<Option<Vec<T>>> {
    let Ok(tensor) = tensors.tensor(name) else {
        return faults.add(None, format!("tensor '{name}' is missing")).map(|()| None);
    };
    if tensor.dtype() != dtype || tensor.shape().len() != 1 {
        let (found, shape) = (tensor.dtype(), tensor.shape());
        let message = format!("tensor '{name}' is {found:?} {shape:?}, expected a {dtype:?} vector");
        return faults.add(None, message).map(|()| None);
    }
    Ok(Some(tensor.data().as_chunks().0.iter().map(|&bytes| number(bytes)).collect()))
}

/// The edges of the CSR by child; none where the offsets are no offsets.
fn edges(
    names: &Names,
    offsets: &[u64],
    parents: &[u32],
    faults: &mut Faults,
) -> Result<Option<Vec<(u32, u32)>>> {
    let n_nodes = names.topics.len() + names.tokens.len();
    let n_edges = parents.len() as u64;
    let mut sound = true;
    if offsets.len() != n_nodes + 1 || offsets[0] != 0 || offsets[n_nodes] != n_edges {
        let entries = n_nodes + 1;
        let message =
            format!("edge_offsets must have {entries} entries from 0 to {n_edges}, the number of edges");
        faults.add(None, message)?;
        sound = false;
    }
    let mut edges = Vec::with_capacity(parents.len());
    for (child, pair) in offsets.windows(2).enumerate() {
        let (begin, end) = (pair[0], pair[1]);
        if begin > end || end > n_edges {
            faults.add(None, format!("edge_offsets fall from {begin} to {end} at node {child}"))?;
            sound = false;
        } else if sound {
            let range = begin as usize..end as usize;
            edges.extend(parents[range].iter().map(|&parent| (parent, child as u32)));
        }
    }
    Ok(sound.then_some(edges))
}

/// The model as a safetensors file; weights are rounded to f32.
pub(super) fn format(network: &Network) -> Result<Vec<u8>, String> {
    let mut rounded = network.clone();
    rounded.weights.round_to_f32();
    if let Some(fault) = rounded.weights.fault(&rounded.graph, &|node| rounded.names.of(node).to_owned()) {
        return Err(format!("rounded to f32, {fault}, which is no weight; use .json, which holds f64"));
    }
    let Network { graph, weights, names, training } = &rounded;
    let f32s = |values: &[f64]| values.iter().flat_map(|&v| (v as f32).to_le_bytes()).collect::<Vec<u8>>();
    // Eight-byte numbers first: every tensor is then aligned.
    let offsets = graph.edge_offsets().iter().flat_map(|&v| u64::from(v).to_le_bytes()).collect();
    let parents = graph.edge_parents().iter().flat_map(|v| v.to_le_bytes()).collect();
    let tensors = [
        Tensor::vector("edge_offsets", Dtype::U64, offsets),
        Tensor::vector("edge_parents", Dtype::U32, parents),
        Tensor::vector("edge_weights", Dtype::F32, f32s(&weights.edge)),
        Tensor::vector("leak", Dtype::F32, f32s(&weights.leak)),
    ];
    let metadata = json!({
        "format": FORMAT,
        "names": Value::from(serde_json::to_string(&(&names.topics, &names.tokens)).map_err(|e| e.to_string())?),
        "sha256": fingerprint(&rounded),
        "training": training,
        "version": VERSION,
    });
    write(metadata, tensors).map_err(|e| format!("{e}; use .json"))
}
