//! The command line: every test runs the program in a temporary folder of its own.

mod bad_corpora;
mod bad_models;
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
mod errors;
mod eval;
mod explain;
mod freeze;
mod graph;
mod infer;
mod infer_large;
mod infer_outputs;
mod infer_resume;
mod infer_shards;
mod likelihood;
mod memory;
mod model;
mod options;
mod plan;
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
        "bench",
        "devices",
        "corpus",
        "corpus split",
        "graph",
        "plan",
        "watch",
        "compare",
        "report",
    ] {
        let help = folder.stdout(&format!("{command} --help"));
        assert!(help.contains("Example") && help.contains("noisyor "), "{command}: {help}");
    }
}

#[test]
fn version_is_the_packages() {
    assert_eq!(Folder::new().stdout("--version"), concat!("noisyor ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn no_command_or_an_unknown_one_is_bad_usage() {
    let folder = Folder::new();
    folder.fails("", 2, &["Usage"]);
    folder.fails("trian", 2, &["trian", "train"]);
    folder.fails("eval", 2, &["MODEL", "CORPUS"]);
}
