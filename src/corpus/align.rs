//! Matching a corpus with a model: by token name where the corpus has names, else by number.

use super::{Corpus, RELEASE_DOCS};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

const UNKNOWN: u32 = u32::MAX;
/// How a corpus's tokens map to a model's.
#[derive(Debug, Clone)]
pub struct Alignment {
    /// Model token of every corpus token; none where numbers are the same.
    map: Option<Vec<u32>>,
    n_tokens: u32,
    /// Occurrences of tokens that the model does not know; they are left out.
    pub n_unknown: u64,
    /// An example of an unknown token.
    pub unknown_example: Option<String>,
}

/// Aligns a corpus with a model's tokens.
pub fn align(corpus: &Corpus, model_tokens: &[String]) -> Alignment {
    let map = corpus.token_names().map(|names| {
        let number_of: FxHashMap<&str, u32> =
            model_tokens.iter().enumerate().map(|(at, name)| (name.as_str(), at as u32)).collect();
        names.iter().map(|name| number_of.get(name).copied().unwrap_or(UNKNOWN)).collect()
    });
    let mut alignment =
        Alignment { map, n_tokens: model_tokens.len() as u32, n_unknown: 0, unknown_example: None };
    let all_known = match &alignment.map {
        Some(map) => !map.contains(&UNKNOWN),
        None => corpus.n_tokens() <= model_tokens.len(),
    };
    // Most corpora are known at a glance; the others are read once to count, and nothing of that stays in memory.
    let unknown = |doc_ix: usize| {
        let tokens = corpus.tokens(doc_ix).iter().copied();
        let mut unknown = tokens.filter(|&token| alignment.token(token) == UNKNOWN);
        let first = unknown.next();
        (u64::from(first.is_some()) + unknown.count() as u64, first)
    };
    let mut counted = (0, None);
    for begin in (0..if all_known { 0 } else { corpus.n_docs() }).step_by(RELEASE_DOCS) {
        let docs = begin..corpus.n_docs().min(begin + RELEASE_DOCS);
        let of_these =
            docs.into_par_iter().map(unknown).reduce(|| (0, None), |a, b| (a.0 + b.0, a.1.or(b.1)));
        counted = (counted.0 + of_these.0, counted.1.or(of_these.1));
        corpus.release_now();
    }
    let example = counted.1;
    alignment.n_unknown = counted.0;
    alignment.unknown_example = example.map(|token| match corpus.token_names() {
        Some(names) => format!("'{}'", names.get(token as usize)),
        None => format!("number {token}"),
    });
    alignment
}

impl Alignment {
    #[inline]
    fn token(&self, corpus_token: u32) -> u32 {
        match &self.map {
            Some(map) => map.get(corpus_token as usize).copied().unwrap_or(UNKNOWN),
            None if corpus_token < self.n_tokens => corpus_token,
            None => UNKNOWN,
        }
    }

    /// The corpus seen with the model's token numbers.
    pub fn docs<'a>(&'a self, corpus: &'a Corpus) -> Docs<'a> {
        Docs { corpus, alignment: self }
    }
}

/// Documents in a model's token numbers.
#[derive(Debug, Clone, Copy)]
pub struct Docs<'a> {
    corpus: &'a Corpus,
    alignment: &'a Alignment,
}

impl<'a> Docs<'a> {
    /// Number of documents.
    pub fn n_docs(&self) -> usize {
        self.corpus.n_docs()
    }

    /// The tokens of a document that the model knows.
    #[inline]
    pub fn tokens(&self, doc_ix: usize) -> impl Iterator<Item = u32> + 'a {
        let alignment = self.alignment;
        let tokens = self.corpus.tokens(doc_ix).iter();
        tokens.map(move |&token| alignment.token(token)).filter(|&token| token != UNKNOWN)
    }

    /// The corpus behind.
    pub fn corpus(&self) -> &'a Corpus {
        self.corpus
    }
}

/// The share of the given documents that hold each model token.
pub fn token_frequency(docs: &Docs<'_>, doc_ixs: &[u32], n_tokens: usize) -> Vec<f64> {
    let mut counts = vec![0u64; n_tokens];
    for docs_of_slice in doc_ixs.chunks(RELEASE_DOCS) {
        for &doc_ix in docs_of_slice {
            docs.tokens(doc_ix as usize).for_each(|token| counts[token as usize] += 1);
        }
        docs.corpus().release();
    }
    counts.iter().map(|&count| count as f64 / doc_ixs.len().max(1) as f64).collect()
}
