//! The bundled sample, embedded in the program.

use super::read::{ReadOptions, open_stream};
use super::{Corpus, IngestOptions, ingest_reader};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::network::{Network, load_bytes};
use std::path::Path;

const NETWORK: &[u8] = include_bytes!("../../data/sample/network.tsv");
const CORPUS: &[u8] = include_bytes!("../../data/sample/corpus.jsonl.gz");

/// The sample's network, with the weights that the documents were sampled from.
///
/// # Errors
///
/// None: the file is part of the library.
pub fn sample_network() -> Result<Network> {
    let path = Path::new("data/sample/network.tsv");
    load_bytes(path, NETWORK)?.into_model(path)
}

/// The sample's 20,000 documents.
///
/// # Errors
///
/// None: the file is part of the library.
pub fn sample_corpus() -> Result<Corpus> {
    let path = Path::new("data/sample/corpus.jsonl.gz");
    let reader = open_stream(path, CORPUS, &ReadOptions::default())?;
    let mut corpus = Corpus::default();
    ingest_reader(path, reader, &IngestOptions::default(), &mut corpus, &Monitor::default())?;
    Ok(corpus)
}
