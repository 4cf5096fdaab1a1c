//! Models as safetensors, the native format. The crate reads; the header is written here, because the
//! crate's own writer puts the metadata in random order and the same model must give the same bytes.

use super::{Names, Network, file::Parts, fingerprint};
use ::safetensors::{Dtype, SafeTensors};
use serde_json::{Value, json};

const FORMAT: &str = "noisyor-model";
const VERSION: &str = "1";
/// What the format's readers accept.
const MAX_HEADER: usize = 100_000_000;

/// Parses a model.
pub(super) fn parse(bytes: &[u8]) -> Result<Parts, String> {
    let (_, header) =
        SafeTensors::read_metadata(bytes).map_err(|e| format!("not a safetensors file: {e}"))?;
    let tensors = SafeTensors::deserialize(bytes).map_err(|e| format!("not a safetensors file: {e}"))?;
    let metadata = header.metadata().as_ref().ok_or("no metadata: not a noisyor model")?;
    let field =
        |key: &str| metadata.get(key).ok_or_else(|| format!("metadata has no '{key}': not a noisyor model"));
    if field("format")? != FORMAT {
        return Err(format!("format is '{}', expected '{FORMAT}'", field("format")?));
    }
    if field("version")? != VERSION {
        return Err(format!(
            "version {} is not known; this program reads version {VERSION}",
            field("version")?
        ));
    }
    let (topics, tokens) = serde_json::from_str::<(Vec<String>, Vec<String>)>(field("names")?)
        .map_err(|e| format!("metadata 'names' is not [topics, tokens]: {e}"))?;
    let names = Names { topics, tokens };
    let n_nodes = names.topics.len() + names.tokens.len();

    let raw = |name: &str, dtype: Dtype| {
        let tensor = tensors.tensor(name).map_err(|_| format!("tensor '{name}' is missing"))?;
        if tensor.dtype() != dtype || tensor.shape().len() != 1 {
            return Err(format!(
                "tensor '{name}' is {:?} {:?}, expected a {dtype:?} vector",
                tensor.dtype(),
                tensor.shape()
            ));
        }
        Ok(tensor.data().to_vec())
    };
    let floats = |name: &str| -> Result<Vec<f64>, String> {
        Ok(raw(name, Dtype::F32)?.as_chunks().0.iter().map(|&b| f64::from(f32::from_le_bytes(b))).collect())
    };
    let offsets: Vec<u64> =
        raw("edge_offsets", Dtype::U64)?.as_chunks().0.iter().map(|&b| u64::from_le_bytes(b)).collect();
    let parents: Vec<u32> =
        raw("edge_parents", Dtype::U32)?.as_chunks().0.iter().map(|&b| u32::from_le_bytes(b)).collect();
    if offsets.len() != n_nodes + 1 || offsets[0] != 0 || offsets[n_nodes] != parents.len() as u64 {
        return Err(format!(
            "edge_offsets must have {} entries from 0 to {}, the number of edges",
            n_nodes + 1,
            parents.len()
        ));
    }
    let mut edges = Vec::with_capacity(parents.len());
    for child in 0..n_nodes {
        let (begin, end) = (offsets[child], offsets[child + 1]);
        if begin > end || end > parents.len() as u64 {
            return Err(format!("edge_offsets fall from {begin} to {end} at node {child}"));
        }
        edges.extend(parents[begin as usize..end as usize].iter().map(|&parent| (parent, child as u32)));
    }
    Ok(Parts {
        edges,
        edge_weights: Some(floats("edge_weights")?),
        leak: Some(floats("leak")?),
        training: field("training")?.clone(),
        checksum: Some(field("sha256")?.clone()),
        names,
        edge_lines: Vec::new(),
    })
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
    let tensors = [
        (
            "edge_offsets",
            "U64",
            graph.edge_offsets().iter().flat_map(|&v| u64::from(v).to_le_bytes()).collect(),
        ),
        ("edge_parents", "U32", graph.edge_parents().iter().flat_map(|v| v.to_le_bytes()).collect()),
        ("edge_weights", "F32", f32s(&weights.edge)),
        ("leak", "F32", f32s(&weights.leak)),
    ];
    let mut header = serde_json::Map::new();
    header.insert(
        "__metadata__".into(),
        json!({
            "format": FORMAT,
            "names": Value::from(serde_json::to_string(&(&names.topics, &names.tokens)).map_err(|e| e.to_string())?),
            "sha256": fingerprint(&rounded),
            "training": training,
            "version": VERSION,
        }),
    );
    let mut begin = 0;
    for (name, dtype, data) in &tensors {
        let data: &Vec<u8> = data;
        let end = begin + data.len();
        let width = if *dtype == "U64" { 8 } else { 4 };
        let info = json!({"dtype": dtype, "shape": [data.len() / width], "data_offsets": [begin, end]});
        header.insert((*name).into(), info);
        begin = end;
    }
    let mut header = serde_json::to_vec(&Value::Object(header)).map_err(|e| e.to_string())?;
    header.resize(header.len().next_multiple_of(8), b' ');
    if header.len() > MAX_HEADER {
        return Err(format!(
            "the names take {} bytes, and a safetensors header holds {MAX_HEADER} at most; use .json",
            header.len()
        ));
    }
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header);
    tensors.iter().for_each(|(_, _, data)| bytes.extend(data));
    Ok(bytes)
}
