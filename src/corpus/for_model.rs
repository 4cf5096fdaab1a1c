//! A corpus read for a model, and what there is to say of the two.

use super::align::{Alignment, align_checked, none_known};
use super::{Corpus, CorpusSource, Ingested};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::ranks::Team;
use std::sync::Arc;

impl CorpusSource {
    /// Reads the documents for a model with these tokens. Of text, its words are the vocabulary, unless one is given.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, and where [`align_checked`] refuses it. An empty corpus is no error.
    pub fn read_for(
        &self,
        model_tokens: &[String],
        team: &Team,
        monitor: &Arc<Monitor>,
    ) -> Result<(Corpus, Alignment, Ingested)> {
        let (corpus, ingested) = self.read_on(team, Some(model_tokens), monitor)?;
        let alignment = self.match_with(model_tokens, &corpus, &ingested)?;
        Ok((corpus, alignment, ingested))
    }

    /// Matches documents that were read from here with a model.
    pub(crate) fn match_with(
        &self,
        model_tokens: &[String],
        corpus: &Corpus,
        ingested: &Ingested,
    ) -> Result<Alignment> {
        let in_file = |error| match error {
            Error::Usage(message) => Error::input(self.name(), None, message),
            other => other,
        };
        // Words that a vocabulary lacks are not in the corpus any more.
        if ingested.n_known == 0 && ingested.n_unknown > 0 && !model_tokens.is_empty() {
            let example = ingested.unknown_example.as_ref().map(|word| format!("'{word}'"));
            let words = ingested.unknown_words.iter().map(String::as_str);
            let error = none_known(ingested.n_unknown, example.as_deref(), words, model_tokens);
            return Err(in_file(error));
        }
        align_checked(corpus, model_tokens, self.by_number).map_err(in_file)
    }
}

/// What to warn of after reading: what may not be meant, and words that a given vocabulary lacks.
pub fn reading_warnings(ingested: &Ingested) -> Vec<String> {
    ingested.notes.iter().cloned().chain(missing_words(ingested)).collect()
}

/// The words that a given vocabulary lacks.
pub fn missing_words(ingested: &Ingested) -> Option<String> {
    let example = ingested.unknown_example.as_ref().filter(|_| ingested.n_unknown > 0)?;
    Some(format!(
        "the vocabulary lacks {} of {} occurrences of words (for example '{example}'); they are left out",
        ingested.n_unknown,
        ingested.n_unknown + ingested.n_known
    ))
}

/// What to warn of after reading for a model: what may not be meant, tokens that the model does not know, columns that the table
/// lacks, and different widths.
pub fn matching_warnings(
    corpus: &Corpus,
    alignment: &Alignment,
    ingested: &Ingested,
    model_tokens: &[String],
) -> Vec<String> {
    let mut warnings = ingested.notes.clone();
    let n_unknown = alignment.n_unknown + ingested.n_unknown;
    let quoted = ingested.unknown_example.as_ref().map(|word| format!("'{word}'"));
    if let Some(example) = alignment.unknown_example.clone().or(quoted).filter(|_| n_unknown > 0) {
        let n_all =
            if ingested.n_unknown > 0 { ingested.n_known + n_unknown } else { corpus.n_occurrences() as u64 };
        warnings.push(format!(
            "the model does not know {n_unknown} of {n_all} token occurrences (for example {example}); they are left out"
        ));
    }
    if let Some(example) = alignment.absent_example.as_ref().filter(|_| ingested.named_columns) {
        warnings.push(format!(
            "there is no column for {} of the model's {} tokens (for example '{example}'); {}",
            alignment.n_absent,
            model_tokens.len(),
            if corpus.has_unknown() {
                "they count as absent, unless the rest of a document is unknown: `unlisted` unknown makes it so"
            } else {
                "no document has them: they count as absent; if nobody looked, give `unlisted` unknown"
            }
        ));
    }
    let is_unnamed = corpus.token_names().is_none() && corpus.n_occurrences() > 0;
    if is_unnamed && corpus.n_tokens() != model_tokens.len() {
        warnings.push(format!(
            "the corpus has {} columns, the model {} tokens; they are matched by number",
            corpus.n_tokens(),
            model_tokens.len()
        ));
    }
    warnings
}
