//! Baselines as safetensors files: the arrays of a model, and in the metadata what it is, its facts, and the names of its tokens.

use super::Model;
use super::options::ModelOptions;
use super::tensors::{Array, Tensors};
use crate::error::{Error, Result};
use crate::faults::shown;
use crate::files;
use crate::network::Names;
use crate::tensor_file::{Tensor, metadata_of, open, write};
use safetensors::Dtype;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_64;

/// What the metadata says a file is.
pub(crate) const FORMAT: &str = "noisyor-baseline";
const VERSION: &str = "1";
/// Larger files are not read.
const MAX_BYTES: u64 = 1 << 35;

/// A baseline that was trained.
pub struct Trained {
    /// The model.
    pub model: Box<dyn Model>,
    /// Names of its features, in place of topics, and of its tokens.
    pub names: Names,
    /// What tells it from others, in hexadecimal.
    pub fingerprint: String,
}

/// The file of a baseline that a path means: a model file, or that of a run folder. None where it is something else, which its own reader
/// will judge.
///
/// # Errors
///
/// [`Error::Io`] where a file that is there cannot be read.
pub fn baseline_file(path: &Path) -> Result<Option<PathBuf>> {
    let file = if path.is_dir() { path.join("model.safetensors") } else { path.to_owned() };
    if !file.is_file() {
        return Ok(None);
    }
    let format = metadata_of(&file, "format").map_err(|e| Error::io(&file, e))?;
    Ok(format.filter(|format| format == FORMAT).map(|_| file))
}

/// The bytes of a model file.
pub(super) fn format(model: &dyn Model, tokens: &[String], training: &str) -> Result<Vec<u8>> {
    let Tensors { facts, arrays } = model.tensors().finished();
    let metadata = json!({
        "facts": facts, "format": FORMAT, "model": model.name(), "tokens": json!(tokens).to_string(), "training": training,
        "version": VERSION,
    });
    // Eight-byte numbers first: every tensor is then aligned.
    let is_wide = |(_, array): &(&String, &Array)| matches!(array, Array::F64(..));
    let (wide, narrow): (Vec<_>, Vec<_>) = arrays.iter().partition(is_wide);
    let tensors = wide.into_iter().chain(narrow).map(|(name, array)| match array {
        Array::F64(shape, values) => {
            let data = values.iter().flat_map(|x| x.to_le_bytes()).collect();
            Tensor { name, dtype: Dtype::F64, shape: shape.clone(), data }
        }
        Array::U32(shape, values) => {
            let data = values.iter().flat_map(|x| x.to_le_bytes()).collect();
            Tensor { name, dtype: Dtype::U32, shape: shape.clone(), data }
        }
    });
    write(metadata, tensors).map_err(Error::Usage)
}

/// Reads a baseline.
///
/// # Errors
///
/// [`Error::Input`] where the file is damaged or of another version, [`Error::Io`] where it cannot be read.
pub fn load_baseline(path: &Path) -> Result<Trained> {
    let bytes = files::read(path, MAX_BYTES)?;
    parse(&bytes).map_err(|message| Error::input(path, None, message))
}

fn parse(bytes: &[u8]) -> Result<Trained, String> {
    let (header, views) = open(bytes).map_err(|e| format!("not a safetensors file: {}", shown(&e)))?;
    let metadata = header.metadata().as_ref().ok_or("no metadata: not a baseline")?;
    let field =
        |key: &str| metadata.get(key).ok_or_else(|| format!("metadata has no '{key}': not a baseline"));
    if field("format")? != FORMAT {
        return Err(format!("format is '{}', expected '{FORMAT}'", shown(field("format")?)));
    }
    if field("version")? != VERSION {
        return Err(format!(
            "version {} is not known; this program reads {VERSION}",
            shown(field("version")?)
        ));
    }
    let tokens: Vec<String> = serde_json::from_str(field("tokens")?)
        .map_err(|e| format!("metadata 'tokens' is no list of names: {e}"))?;
    let mut tensors = Tensors { facts: field("facts")?.clone(), arrays: BTreeMap::new() };
    for (name, view) in views.iter() {
        let shape = view.shape().iter().map(|&n| n as u64).collect();
        let array = match view.dtype() {
            Dtype::F64 => {
                Array::F64(shape, view.data().as_chunks().0.iter().map(|&b| f64::from_le_bytes(b)).collect())
            }
            Dtype::U32 => {
                Array::U32(shape, view.data().as_chunks().0.iter().map(|&b| u32::from_le_bytes(b)).collect())
            }
            other => return Err(format!("tensor '{}' is {other:?}, expected F64 or U32", shown(name))),
        };
        tensors.arrays.insert(name.to_owned(), array);
    }
    let model = ModelOptions::load(field("model")?, tensors).map_err(|e| e.to_string())?;
    if model.n_tokens() != tokens.len() {
        return Err(format!("{} names for {} tokens", tokens.len(), model.n_tokens()));
    }
    let fingerprint = format!("{:016x}", XxHash3_64::oneshot(bytes));
    let names = Names { topics: model.feature_names(), tokens };
    Ok(Trained { model, names, fingerprint })
}
