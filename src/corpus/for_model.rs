//! A corpus read for a model.

use super::align::{Alignment, align_checked, none_known};
use super::{Corpus, IngestOptions, Ingested, read};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use std::path::Path;
use std::sync::Arc;

/// Reads a corpus for a model with these tokens. Of text, its words are the vocabulary, unless one is given.
///
/// # Errors
///
/// If the file cannot be read, and where [`align_checked`] refuses it. An empty corpus is no error.
pub fn read_for(
    path: &Path,
    options: &IngestOptions,
    model_tokens: &[String],
    by_number: bool,
    monitor: &Arc<Monitor>,
) -> Result<(Corpus, Alignment, Ingested)> {
    let (corpus, ingested) = read(path, options, Some(model_tokens), monitor)?;
    let in_file = |error| match error {
        Error::Usage(message) => Error::input(path, None, message),
        other => other,
    };
    // Words that a vocabulary lacks are not in the corpus any more.
    if ingested.n_known == 0 && ingested.n_unknown > 0 {
        let vocabulary = options.vocab.as_deref().unwrap_or(model_tokens);
        let example = ingested.unknown_example.as_ref().map(|word| format!("'{word}'"));
        let words = ingested.unknown_words.iter().map(String::as_str);
        let error = none_known(ingested.n_unknown, example.as_deref(), words, vocabulary);
        return Err(in_file(error));
    }
    let alignment = align_checked(&corpus, model_tokens, by_number).map_err(in_file)?;
    Ok((corpus, alignment, ingested))
}
