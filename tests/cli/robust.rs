//! What people meet around the edges: closed pipes, full disks, weights and graphs beyond reason.

use crate::support::{Folder, PANTRY, golden, pantry_docs, text};
use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use serde_json::json;
use std::process::{Command, Stdio};

#[test]
fn the_group_of_model_commands_has_an_example() {
    assert!(Folder::new().stdout("model --help").contains("Example"));
}

#[test]
fn an_error_of_the_system_is_told_once() {
    let folder = Folder::with_golden(&golden(0));
    let output = folder.noisyor("eval model.json nowhere.svm").output().unwrap();
    let message = text(&output.stderr);
    assert_eq!(message.matches("os error 2").count(), 1, "{message}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_the_result_is_status_3() {
    let folder = Folder::with_golden(&golden(0));
    let status = Command::new(cargo_bin!("noisyor"))
        .args(["topics", "model.json"])
        .current_dir(folder.path(""))
        .stdout(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(3));
}

#[test]
fn a_reader_of_messages_that_goes_away_is_no_error() {
    let folder = Folder::with_sample();
    let mut child = Command::new(cargo_bin!("noisyor"))
        .args(["train", "--graph", "sample.tsv", "--steps", "2", "-o", "run"])
        .current_dir(folder.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(folder.path("run/model.safetensors").exists());
}

#[test]
fn a_weight_that_f32_cannot_hold_is_not_written() {
    let folder = Folder::with_golden(&golden(0));
    for (weight, named) in [(1e-50, "out.safetensors"), (1e39, "odd.json")] {
        for place in ["/edges/0/2", "/leak/4"] {
            let mut model = golden(0)["model"].clone();
            *model.pointer_mut(place).unwrap() = json!(weight);
            folder.write("odd.json", model.to_string());
            folder.fails("model convert odd.json out.safetensors", 2, &[named]);
            assert!(!folder.path("out.safetensors").exists());
        }
    }
}

#[test]
fn a_deep_chain_of_topics_is_printed() {
    let folder = Folder::new();
    let edges: String = (0..100_000).map(|at| format!("t{at}\tt{}\n", at + 1)).collect();
    folder.write("graph.tsv", edges + "t100000\tw\n");
    folder.write("docs.jsonl", "{\"tokens\":[\"w\"]}\n{\"tokens\":[]}\n");
    folder.run("train docs.jsonl --graph graph.tsv --steps 1 -o run -q");
}

#[test]
fn one_document_is_trained_on_and_none_held_out() {
    let folder = Folder::new();
    folder.write("graph.tsv", PANTRY);
    folder.write("one.jsonl", pantry_docs().lines().next().unwrap());
    folder.run("train one.jsonl --graph graph.tsv --valid 0.9 --steps 1 -o run -q");
    assert!(folder.path("run/model.safetensors").exists());
}

#[test]
fn a_run_that_trained_nothing_leaves_no_folder() {
    let folder = Folder::with_sample();
    folder.fails("train --graph sample.tsv --step paper --rate 1e307 -o run", 5, &["--rate"]);
    assert!(!folder.path("run").exists());
}

#[test]
fn a_fault_in_json_lines_names_one_line() {
    let folder = Folder::with_golden(&golden(0));
    folder.write("bad.jsonl", "{\"tokens\":[]}\n{\"tokens\":[1]}\n");
    let output = folder.noisyor("eval model.json bad.jsonl").output().unwrap();
    assert!(!text(&output.stderr).contains("line 1"), "{}", text(&output.stderr));
}

#[test]
fn a_tempered_start_longer_than_the_e_step_is_refused() {
    let folder = Folder::with_golden(&golden(3));
    folder.fails("eval model.json docs.svm --temper=4,200", 2, &["--estep-max"]);
}

#[test]
fn convert_has_a_result_as_json() {
    let folder = Folder::with_golden(&golden(0));
    assert_eq!(folder.result("model convert model.json copy.tsv")["topics"], 3);
}

#[test]
fn comment_lines_of_svmlight_are_no_documents() {
    let folder = Folder::with_golden(&golden(0));
    folder.write("noted.svm", "# written by hand\n  # column 1 is w0\n1 1:1 # the first\n\n0 2:1\n");
    // The blank line is an empty document.
    assert_eq!(folder.result("eval model.json noted.svm")["docs"], 3);
}

#[test]
fn certain_tokens_are_sampled_at_once() {
    let folder = Folder::new();
    let tokens = (0..200).map(|at| format!("\tw{at}\t1000000\n")).collect::<String>();
    folder.write("certain.tsv", format!("\tt\t0.1\n{tokens}t\tw0\t1\n"));
    let result = folder.result("synth --model certain.tsv --docs 50 -o out");
    assert_eq!(result["tokens_per_doc"], 200.0);
}

#[test]
fn the_config_does_not_depend_on_the_threads() {
    let folder = Folder::with_sample();
    for threads in ["1", "8"] {
        folder.run(&format!("train --graph sample.tsv --steps 1 --threads {threads} -o run{threads} -q"));
    }
    let config = |name: &str| {
        let mut config = folder.json(name);
        // What was typed is another matter.
        config["run"]["arguments"] = Value::Null;
        config
    };
    assert_eq!(config("run1/config.json"), config("run8/config.json"));
}
