//! The bundled sample, embedded in the program.

use super::{Corpus, Format, read_from};
use crate::error::Result;
use crate::network::{Network, load_bytes};
use flate2::read::GzDecoder;
use std::io::BufReader;
use std::path::Path;

const NETWORK: &[u8] = include_bytes!("../../data/sample/network.tsv");
const CORPUS: &[u8] = include_bytes!("../../data/sample/corpus.jsonl.gz");

/// The sample's network, with the weights that the documents were sampled from.
pub fn sample_network() -> Result<Network> {
    let path = Path::new("data/sample/network.tsv");
    load_bytes(path, NETWORK)?.into_model(path)
}

/// The sample's 20,000 documents.
pub fn sample_corpus() -> Result<Corpus> {
    let source = BufReader::new(GzDecoder::new(CORPUS));
    read_from(Path::new("data/sample/corpus.jsonl.gz"), Format::Jsonl, source)
}
