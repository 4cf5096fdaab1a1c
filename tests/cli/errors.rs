//! Exit statuses that are not about bad input: files, devices, numbers, a reader that goes away.

use crate::support::{Folder, golden, without_driver};
use assert_cmd::cargo::cargo_bin;
use predicates::prelude::*;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

#[test]
fn files_that_are_not_there_or_cannot_be_written() {
    let folder = Folder::with_golden(&golden(0));
    folder.write("file", "");
    let before = folder.names_in(".");
    for (arguments, file) in [
        ("eval nowhere.json docs.svm", "nowhere.json"),
        ("eval model.json nowhere.svm", "nowhere.svm"),
        ("eval model.json nowhere.jsonl.gz", "nowhere.jsonl.gz"),
        ("eval model.json docs.svm --per-doc file/table.tsv", "file/table.tsv"),
        ("eval model.json docs.svm --per-doc nowhere/table.tsv", "nowhere/table.tsv"),
        ("infer model.json docs.svm -o file/out.tsv", "file/out.tsv"),
        ("topics nowhere.safetensors", "nowhere.safetensors"),
        ("train nowhere.svm --graph model.json", "nowhere.svm"),
        ("train docs.svm --graph nowhere.tsv", "nowhere.tsv"),
        ("train --steps 1 -o file/run", "file/run"),
        ("train --steps 1 -o file", "file"),
        ("synth --preset tiny -o file/out", "file/out"),
        ("synth --model nowhere.json -o out", "nowhere.json"),
        ("model convert nowhere.json out.json", "nowhere.json"),
        ("model convert model.json file/out.json", "file/out.json"),
    ] {
        folder.fails(arguments, 3, &[file, "os error"]);
        assert_eq!(folder.names_in("."), before, "{arguments}");
    }
}

#[test]
fn outputs_that_exist_are_named() {
    let folder = Folder::with_golden(&golden(0));
    for (arguments, output) in [
        ("infer model.json docs.svm --by-number -o out.tsv", "out.tsv"),
        ("eval model.json docs.svm --by-number --per-doc bounds.tsv", "bounds.tsv"),
        ("graph docs.jsonl --topics 2 -o graph.tsv", "graph.tsv"),
        ("model convert model.json out.safetensors", "out.safetensors"),
        ("topics model.json --dot out.dot", "out.dot"),
        ("explain model.json --corpus docs.jsonl --doc 1 --svg out.svg", "out.svg"),
        ("report model.json -o out.html", "out.html"),
    ] {
        let message = format!("{output} exists and will be replaced");
        assert!(!folder.stderr(arguments).contains(&message), "{arguments}");
        assert!(folder.stderr(arguments).contains(&message), "{arguments}");
    }
}

#[test]
fn a_missing_device() {
    let folder = Folder::with_golden(&golden(0));
    let remedy =
        predicate::str::contains("mesa-vulkan-drivers").and(predicate::str::contains("--backend cpu"));
    without_driver(&mut folder.noisyor("eval model.json docs.svm --backend gpu"))
        .assert()
        .code(4)
        .stdout("")
        .stderr(remedy);
    let no_gpu = predicate::str::contains("no GPU found: computing on the CPU\n");
    without_driver(&mut folder.noisyor("eval model.json docs.svm")).assert().success().stderr("");
    without_driver(&mut folder.noisyor("eval model.json docs.svm -v")).assert().success().stderr(no_gpu);
}

#[test]
fn numbers_out_of_hand() {
    let folder = Folder::with_sample();
    let command = &mut folder.noisyor("train --graph sample.tsv --step paper --rate 1e307 --steps 3 -o run");
    let message =
        predicate::str::is_match(r"(weight of edge|leak of node) \d+ is (-?inf|NaN) after weight step \d")
            .unwrap()
            .and(predicate::str::contains("lower --rate"));
    command.assert().code(5).stdout("").stderr(message);
    assert!(!folder.path("run/model.safetensors").exists());
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::new();
    // Far more than a pipe holds.
    let topics: String = (0..20_000).map(|at| format!("\ttopic{at}\t1\ntopic{at}\tword\t1\n")).collect();
    folder.write("model.tsv", topics + "\tword\t1\n");
    folder.write("docs.txt", "word\nword\n");
    let fast = ["--backend", "cpu", "--start", "plain", "--estep-max", "1", "--threshold", "0"];
    let infer = [&["infer", "model.tsv", "docs.txt", "-o", "-"][..], &fast].concat();
    for (arguments, first) in [
        (&infer[..], "{\"doc\":\"0\""),
        (&["topics", "model.tsv"], "topic0: word\n"),
        (&["topics", "model.tsv", "--json"], "[{\"topic\":\"topic0\""),
    ] {
        let mut child = Command::new(cargo_bin!("noisyor"))
            .args(arguments)
            .current_dir(folder.path(""))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap()).take(first.len() as u64);
        stdout.read_line(&mut line).unwrap();
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        assert_eq!(line, first);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
}
