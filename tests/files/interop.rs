//! Files that other programs wrote (`tests/fixtures/interop`, made by `scripts/interop.sh`) read as what they hold.

#![allow(clippy::unwrap_used)]

use noisyor::corpus::text::StopWords;
use noisyor::corpus::{Corpus, Df, IngestOptions, ReadOptions, WordOptions, load_vocab, read};
use serde::Deserialize;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct Expected {
    id: String,
    label: String,
    tokens: Vec<String>,
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/interop")
}

/// Names of the files with this ending, sorted.
fn files(ending: &str) -> Vec<String> {
    let entries = std::fs::read_dir(fixtures()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(ending));
    names.sort();
    names
}

fn read_as(name: &str, options: &IngestOptions) -> Corpus {
    read(&fixtures().join(name), options, None, &Default::default()).unwrap_or_else(|e| panic!("{e}")).0
}

/// Numbered columns with the names of `words.txt`.
fn named() -> IngestOptions {
    let vocab = Some(load_vocab(&fixtures().join("words.txt")).unwrap());
    IngestOptions { vocab, ..IngestOptions::default() }
}

/// Every word of a text.
#[cfg(feature = "parquet")]
fn every_word() -> IngestOptions {
    let words =
        WordOptions { stop_words: StopWords::default(), min_df: Some(Df::Docs(1)), ..WordOptions::default() };
    IngestOptions { words, ..IngestOptions::default() }
}

fn check(name: &str, corpus: &Corpus, has_ids: bool, has_labels: bool) {
    let expected: Vec<Expected> =
        serde_json::from_str(&std::fs::read_to_string(fixtures().join("expected.json")).unwrap()).unwrap();
    assert_eq!(corpus.n_docs(), expected.len(), "{name}");
    let names = corpus.token_names().unwrap();
    for (doc_ix, mut expected) in expected.into_iter().enumerate() {
        let mut tokens: Vec<&str> =
            corpus.tokens(doc_ix).iter().map(|&token| names.get(token as usize)).collect();
        tokens.sort_unstable();
        expected.tokens.sort_unstable();
        assert_eq!(tokens, expected.tokens, "{name}, document {doc_ix}");
        let id = if has_ids { expected.id } else { doc_ix.to_string() };
        assert_eq!(corpus.id(doc_ix), id, "{name}");
        assert_eq!(corpus.label(doc_ix), has_labels.then_some(expected.label.as_str()), "{name}");
    }
}

/// Checks all files with an ending, of which there must be as many as told: none is passed over unseen.
fn check_all(ending: &str, n_files: usize, options: &IngestOptions, has_ids: bool, has_labels: bool) {
    let names = files(ending);
    assert_eq!(names.len(), n_files, "{names:?}");
    for name in names {
        check(&name, &read_as(&name, options), has_ids, has_labels);
    }
}

#[test]
fn scipys_sparse_matrices() {
    check_all(".npz", 8, &named(), false, false);
}

#[test]
fn matrix_market_files_of_scipy_and_gensim() {
    check_all(".mtx", 5, &named(), false, false);
    check_all(".mtx.gz", 1, &named(), false, false);
}

#[test]
fn svmlight_files_of_scikit_learn_and_gensim() {
    let zero_based = ReadOptions { zero_based: true, ..ReadOptions::default() };
    let names = files(".svm");
    assert_eq!(names.len(), 5, "{names:?}");
    for name in names {
        let read = if name == "from-zero.svm" { zero_based.clone() } else { ReadOptions::default() };
        check(&name, &read_as(&name, &IngestOptions { read, ..named() }), false, true);
    }
}

#[test]
fn gensims_uci_files_with_their_vocabulary() {
    let corpus = read_as("docword.gensim.txt", &IngestOptions::default());
    check("docword.gensim.txt", &corpus, false, false);
    assert_eq!(corpus.token_names().unwrap().iter().collect::<Vec<_>>(), named().vocab.unwrap());
}

#[test]
fn dense_tables_of_numpy_and_pyarrow() {
    check_all(".csv", 2, &IngestOptions::default(), false, false);
}

#[cfg(feature = "parquet")]
#[test]
fn pyarrows_parquet_files() {
    check_all(".parquet", 16, &every_word(), true, true);
}
