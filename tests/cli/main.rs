//! The command line: every test runs the program in a temporary folder of its own.

#![cfg(all(feature = "cli", feature = "gpu", feature = "parquet"))]

mod bad_corpora;
mod bad_models;
mod baseline;
mod bench;
mod capacity;
mod compare;
mod complete;
mod corpus;
mod corpus_large;
mod corpus_odd;
mod corpus_split;
mod corpus_words;
mod damaged_corpus;
mod devices;
mod docs;
mod errors;
mod eval;
mod explain;
mod folders;
mod freeze;
mod graph;
mod infer;
mod infer_large;
mod infer_outputs;
mod infer_resume;
mod infer_shards;
mod library_run;
mod likelihood;
mod matching;
mod mcmc;
mod memory;
mod model;
mod moments;
mod options;
mod pages;
mod plan;
mod posterior;
mod refine;
mod report;
mod resume;
mod robust;
mod running;
#[cfg(unix)]
mod signals;
mod support;
mod synth;
mod tensorboard;
mod topics;
mod train;
mod trust;
mod unknown;
mod update;
mod watch;

use support::Folder;

#[test]
fn every_help_has_an_example() {
    let folder = Folder::new();
    for command in [
        "",
        "train",
        "infer",
        "eval",
        "topics",
        "explain",
        "synth",
        "model convert",
        "model rename",
        "model drop",
        "model merge",
        "docs",
        "bench",
        "devices",
        "corpus",
        "corpus split",
        "graph",
        "moments",
        "baseline",
        "baseline mixture",
        "baseline lda",
        "baseline hdp",
        "baseline nmf",
        "baseline spn",
        "baseline query",
        "baseline sample",
        "plan",
        "watch",
        "compare",
        "report",
        "completions",
        "man",
    ] {
        let help = folder.stdout(&format!("{command} --help"));
        assert!(help.contains("Example") && help.contains("noisyor "), "{command}: {help}");
    }
}

#[test]
fn version_is_the_packages_and_the_long_one_says_more() {
    let (short, long) = (Folder::new().stdout("-V"), Folder::new().stdout("--version"));
    assert_eq!(short, concat!("noisyor ", env!("CARGO_PKG_VERSION"), "\n"));
    // Only release builds have the commit.
    assert_eq!(long, concat!("noisyor ", env!("NOISYOR_VERSION"), "\n"));
    let more = long.strip_prefix(short.trim_end()).expect(&long).trim_end();
    assert!(more.is_empty() || more.starts_with(" (") && more.ends_with(')'), "{long}");
}

#[test]
fn the_program_alone_prints_its_help() {
    let folder = Folder::new();
    assert_eq!(folder.stdout(""), folder.stdout("-h"));
    assert!(folder.stdout("").contains("Usage: noisyor") && folder.stderr("").is_empty());
}

#[test]
fn no_command_or_an_unknown_one_is_bad_usage() {
    let folder = Folder::new();
    folder.fails("-q", 2, &["Usage"]);
    folder.fails("trian", 2, &["trian", "train"]);
    folder.fails("eval", 2, &["MODEL", "CORPUS"]);
}
