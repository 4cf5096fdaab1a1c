//! Files of safetensors: what networks and baselines have in common. The crate reads; the header is written here, because the crate's
//! own writer puts the metadata in random order and the same model must give the same bytes.

use safetensors::tensor::Metadata;
use safetensors::{Dtype, SafeTensors};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// What the format's readers accept.
const MAX_HEADER: usize = 100_000_000;

/// A tensor to be written.
pub(crate) struct Tensor<'a> {
    pub(crate) name: &'a str,
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<u64>,
    /// Little-endian.
    pub(crate) data: Vec<u8>,
}

impl<'a> Tensor<'a> {
    /// Of one dimension.
    pub(crate) fn vector(name: &'a str, dtype: Dtype, data: Vec<u8>) -> Self {
        let shape = vec![(data.len() * 8 / dtype.bitsize()) as u64];
        Self { name, dtype, shape, data }
    }
}

/// The header, and the tensors as views of `bytes`.
pub(crate) fn open(bytes: &[u8]) -> Result<(Metadata, SafeTensors<'_>), String> {
    let length = bytes.first_chunk().map_or(usize::MAX, |&b| u64::from_le_bytes(b) as usize);
    let data_begin = length.saturating_add(8);
    let header = bytes.get(8..data_begin).filter(|header| header.len() <= MAX_HEADER);
    // The crate adds up what the header says before it compares with the file, and the sum can overflow.
    let header: Option<Metadata> = header.and_then(|header| serde_json::from_slice(header).ok());
    let ends =
        header.iter().flat_map(|header| header.tensors().into_values()).map(|info| info.data_offsets.1);
    // They come in random order: the last one is always the same.
    if let Some(end) = ends.max().filter(|&end| end > bytes.len() - data_begin) {
        return Err(format!("a tensor ends at byte {end} of {} bytes of data", bytes.len() - data_begin));
    }
    let tensors = SafeTensors::deserialize(bytes).map_err(|e| e.to_string())?;
    Ok((header.ok_or("the header cannot be read")?, tensors))
}

/// A piece of the metadata of a file, if it is a safetensors file that has one; the tensors are not read.
pub(crate) fn metadata_of(path: &Path, key: &str) -> std::io::Result<Option<String>> {
    let mut file = File::open(path)?;
    let mut length = [0; 8];
    if file.read_exact(&mut length).is_err() {
        return Ok(None);
    }
    let length = u64::from_le_bytes(length);
    if length > MAX_HEADER as u64 || length > file.metadata()?.len() {
        return Ok(None);
    }
    let mut header = Vec::new();
    file.take(length).read_to_end(&mut header)?;
    let header: Option<Metadata> = serde_json::from_slice(&header).ok();
    Ok(header.and_then(|header| header.metadata().as_ref()?.get(key).cloned()))
}

/// A file with this metadata and these tensors, in their order: those of eight-byte numbers first, then every tensor is aligned.
pub(crate) fn write<'a>(
    metadata: Value,
    tensors: impl IntoIterator<Item = Tensor<'a>>,
) -> Result<Vec<u8>, String> {
    let mut header = Map::new();
    header.insert("__metadata__".into(), metadata);
    let mut data = Vec::new();
    for tensor in tensors {
        let (begin, end) = (data.len(), data.len() + tensor.data.len());
        let info = json!({"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [begin, end]});
        header.insert(tensor.name.into(), info);
        data.extend(tensor.data);
    }
    let mut header = serde_json::to_vec(&Value::Object(header)).map_err(|e| e.to_string())?;
    header.resize(header.len().next_multiple_of(8), b' ');
    if header.len() > MAX_HEADER {
        return Err(format!(
            "the names take {} bytes, and a safetensors header holds {MAX_HEADER} at most",
            header.len()
        ));
    }
    Ok([&(header.len() as u64).to_le_bytes()[..], &header, &data].concat())
}

#[cfg(test)]
mod tests {
    use super::open;

    #[test]
    fn of_several_tensors_beyond_the_end_the_last_is_told() {
        let header = br#"{"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]},
            "b":{"dtype":"U8","shape":[1],"data_offsets":[9,10]},"c":{"dtype":"U8","shape":[2],"data_offsets":[10,12]}}"#;
        let bytes = [&(header.len() as u64).to_le_bytes(), &header[..], b"data"].concat();
        for _ in 0..20 {
            assert_eq!(open(&bytes).unwrap_err(), "a tensor ends at byte 12 of 4 bytes of data");
        }
    }
}
