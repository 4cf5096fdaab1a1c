//! A program with fewer features says what it was built without.

#![cfg(feature = "cli")]

use predicates::prelude::*;

/// Runs the program; its error must have this status and these words.
fn refused(arguments: &[&str], status: i32, words: &str) {
    let mut program = assert_cmd::cargo::cargo_bin_cmd!("noisyor");
    program.args(arguments).assert().code(status).stderr(predicate::str::contains(words));
}

#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_files_are_refused_without_the_feature() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = folder.path().join("docs.parquet");
    std::fs::write(&corpus, "PAR1").unwrap();
    let words = "docs.parquet: Parquet is not possible here: noisyor was built without the feature parquet";
    refused(&["corpus", corpus.to_str().unwrap(), "-o", "x.corpus"], 2, words);
    refused(&["check", corpus.to_str().unwrap()], 2, words);

    let text = folder.path().join("docs.txt");
    std::fs::write(&text, "a b\n").unwrap();
    let out = folder.path().join("out.parquet");
    let arguments = ["infer", "model.json", text.to_str().unwrap(), "-o", out.to_str().unwrap()];
    refused(&arguments, 2, "out.parquet: Parquet is not possible here");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left behind");
}

#[cfg(not(feature = "gpu"))]
#[test]
fn a_gpu_is_refused_without_the_feature_and_auto_means_the_cpu() {
    let words = "noisyor was built without the feature gpu; use --backend cpu";
    refused(&["train", "--steps", "0", "--backend", "gpu", "-o", "/nonexistent/run"], 4, words);
    refused(&["bench", "--backend", "gpu"], 4, words);
    refused(&["devices"], 2, "unrecognized subcommand 'devices'");

    let bench = &["bench", "--repeat", "1"];
    let mut program = assert_cmd::cargo::cargo_bin_cmd!("noisyor");
    program.args(bench).assert().success().stderr(predicate::str::contains("gpu is left out"));
}

#[cfg(all(feature = "gpu", feature = "parquet"))]
#[test]
fn a_program_with_all_features_has_the_command_devices() {
    refused(&["devices", "--nonsense"], 2, "unexpected argument '--nonsense'");
}
