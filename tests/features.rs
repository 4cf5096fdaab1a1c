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

/// The program in a folder of its own, as one of several processes that a launcher has started.
#[cfg(not(feature = "mpi"))]
fn started(arguments: &str, variables: [(&str, &str); 2]) -> (std::process::Output, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut program = assert_cmd::cargo::cargo_bin_cmd!("noisyor");
    let output = program
        .current_dir(&folder)
        .args(arguments.split(' '))
        .envs(variables)
        .output()
        .expect("the program runs");
    (output, folder)
}

#[cfg(not(feature = "mpi"))]
#[test]
fn several_processes_of_a_launcher_are_refused_without_the_feature() {
    const OPEN_MPI: [&str; 2] = ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"];
    let of = |rank, size| [(OPEN_MPI[0], rank), (OPEN_MPI[1], size)];
    for command in ["train -o run", "infer model.json docs.txt -o topics.tsv", "corpus docs.txt -o x.corpus"]
    {
        let (first, folder) = started(command, of("0", "2"));
        let said = String::from_utf8(first.stderr).unwrap();
        assert_eq!(first.status.code(), Some(2), "{said}");
        assert!(said.contains("2 processes were started"), "{said}");
        let remedy = if command.starts_with("corpus") { "runs in one" } else { "without the feature mpi" };
        assert!(said.contains(remedy), "{said}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");

        let (second, _folder) = started(command, of("1", "2"));
        assert_eq!(second.status.code(), Some(2));
        assert!(second.stderr.is_empty(), "one of them tells");
    }
    let (wrong, _folder) = started("train --nonsense", of("1", "2"));
    assert_eq!((wrong.status.code(), wrong.stderr.len()), (Some(2), 0));
    let (alone, _folder) = started("devices --help", of("0", "1"));
    assert_eq!(alone.status.code(), Some(if cfg!(feature = "gpu") { 0 } else { 2 }), "one process is no job");
    // Shards are work of one's own.
    let (shard, _folder) = started("infer no-model.json docs.txt -o topics.tsv --shard 1/2", of("0", "2"));
    assert!(String::from_utf8(shard.stderr).unwrap().contains("no-model.json"));
}

#[cfg(all(feature = "gpu", feature = "parquet"))]
#[test]
fn a_program_with_all_features_has_the_command_devices() {
    refused(&["devices", "--nonsense"], 2, "unexpected argument '--nonsense'");
}
