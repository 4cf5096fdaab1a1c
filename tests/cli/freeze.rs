//! `train --freeze`: weights that stay.

#![allow(clippy::unwrap_used)] // helpers of tests are tests too

use crate::support::{Folder, parse, text};
use noisyor::network::{Network, load, load_model};

const UNUSED: &str = "training does not start from them";

/// A folder with `docs.svm`, and the network that they were sampled from, `model.safetensors`.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.run("synth --preset tiny --docs 300 -o t -q");
    for (from, to) in [("t/corpus.svm", "docs.svm"), ("t/network.safetensors", "model.safetensors")] {
        std::fs::copy(folder.path(from), folder.path(to)).unwrap();
    }
    folder
}

const RUN: &str = "train docs.svm --graph model.safetensors --epochs 3 --patience 0 --backend cpu";

fn model(folder: &Folder, path: &str) -> Network {
    load_model(&folder.path(path)).unwrap()
}

#[test]
fn edges_leaks_and_lists_are_kept_and_the_run_goes_on_with_them() {
    let folder = folder();
    let given = model(&folder, "model.safetensors");
    let said = folder.stderr(&format!("{RUN} --freeze edges -o edges"));
    assert!(!said.contains(UNUSED), "{said}");
    let trained = model(&folder, "edges/model.safetensors");
    assert_eq!(trained.weights.edge, given.weights.edge);
    assert_ne!(trained.weights.leak, given.weights.leak);
    // One edge and one leak, besides all leaks.
    let (parent, child) = given.graph.edges().last().unwrap();
    let (parent, child) = (given.names.of(parent), given.names.of(child));
    folder.write("kept.tsv", format!("# kept\n{parent}\t{child}\n{child}\n"));
    folder.run(&format!("{RUN} --freeze leaks --freeze kept.tsv -o some"));
    let trained = model(&folder, "some/model.safetensors");
    assert_eq!(trained.weights.leak, given.weights.leak);
    assert_eq!(trained.weights.edge.last(), given.weights.edge.last());
    assert_ne!(trained.weights.edge[0], given.weights.edge[0]);
    let freeze = &folder.json("some/config.json")["options"]["freeze"];
    assert_eq!(freeze["leaks"], true);
    assert_eq!(freeze["of_edges"], parse(&format!("[{}]", given.graph.n_edges() - 1)));
    // The list is in the config: the run goes on without its file.
    std::fs::remove_file(folder.path("kept.tsv")).unwrap();
    folder.run("train --resume some --epochs 5");
    let longer = model(&folder, "some/model.safetensors");
    assert_eq!(longer.weights.leak, given.weights.leak);
    assert_eq!(longer.weights.edge.last(), given.weights.edge.last());
    assert_ne!(longer.weights.edge, trained.weights.edge);
}

#[test]
fn a_learned_graph_keeps_the_edges_that_it_was_learned_with() {
    let folder = folder();
    folder.run("train docs.svm --topics 5 --epochs 2 --freeze edges --backend cpu -o run");
    let start = load(&folder.path("run/graph.safetensors")).unwrap().into_model(&folder.path("run")).unwrap();
    assert_eq!(model(&folder, "run/model.safetensors").weights.edge, start.weights.edge);
    // Where the network is chosen, nothing is dropped.
    folder.run("train docs.svm --epochs 2 --freeze leaks --backend cpu -o chosen");
    assert_eq!(folder.json("chosen/config.json")["options"]["condense"], false);
}

#[test]
fn faulty_lists_and_other_options_are_refused_with_nothing_left() {
    let folder = folder();
    folder.write("unknown.tsv", "# kept\nnobody\n");
    for (arguments, expected) in [
        (format!("{RUN} --freeze unknown.tsv"), "unknown.tsv:2: 'nobody' is no topic or token of the graph"),
        (format!("{RUN} --freeze nowhere.tsv"), "nowhere.tsv: "),
        (format!("{RUN} --freeze edges --freeze leaks"), "nothing is left to train"),
        (format!("{RUN} --freeze unknown.tsv --renew"), "--renew makes others"),
        (format!("{RUN} --freeze edges --init data"), "--init makes others"),
        (format!("{RUN} --freeze edges --condense"), "--condense makes others"),
        (
            "train docs.svm --topics 4 --refine --freeze edges --backend cpu".to_owned(),
            "--refine makes others",
        ),
        (
            "train docs.svm --topics 4 --parents all --freeze edges --backend cpu".to_owned(),
            "no weights for --freeze",
        ),
    ] {
        let output = folder.noisyor(&format!("{arguments} -o refused")).output().unwrap();
        let message = text(&output.stderr);
        assert!(message.contains(expected), "{arguments}: {message}");
        let status = if expected == "nowhere.tsv: " { 3 } else { 2 };
        assert_eq!(output.status.code(), Some(status), "{arguments}");
        assert!(!folder.path("refused").exists(), "{arguments}");
    }
}
