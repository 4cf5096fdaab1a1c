//! From readers to a corpus.

use super::read::{Format, ReadOptions, Reader, Tokens, open, open_stream};
use super::{Corpus, Document};
use crate::error::Result;
use rustc_hash::FxHashMap;
use std::path::Path;

/// Reads a whole corpus; `format` overrides what the name says.
pub fn read(path: &Path, format: Option<Format>) -> Result<Corpus> {
    gather(open(path, &ReadOptions { format, ..ReadOptions::default() }, &Default::default())?.as_mut())
}

/// Reads a whole corpus from a stream; `path` is what errors call it.
pub fn read_from(path: &Path, format: Format, source: impl std::io::Read + Send + 'static) -> Result<Corpus> {
    gather(
        open_stream(path, source, &ReadOptions { format: Some(format), ..ReadOptions::default() })?.as_mut(),
    )
}

fn gather(reader: &mut dyn Reader) -> Result<Corpus> {
    let (mut corpus, mut document) = (Corpus::default(), Document::default());
    let mut number_of: FxHashMap<String, u32> = FxHashMap::default();
    let mut names: Vec<String> = Vec::new();
    while reader.read(&mut document, &mut Err)? {
        let Document { tokens, words, id, label, .. } = &mut document;
        for word in words.iter() {
            tokens.push(*number_of.entry(word.to_owned()).or_insert_with(|| {
                names.push(word.to_owned());
                names.len() as u32 - 1
            }));
        }
        corpus.push(tokens, id, label);
        document.clear();
    }
    if reader.tokens() == Tokens::Words {
        corpus.set_token_names(names);
    }
    Ok(corpus)
}
