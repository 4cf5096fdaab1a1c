//! `infer`: topic probabilities as .jsonl and .tsv; `infer_outputs` has the other formats.

use crate::support::{Folder, golden, number};
use serde_json::Value;
use std::collections::BTreeMap;

/// (document, topic, q) in the order of a .tsv output.
fn rows(folder: &Folder, name: &str) -> Vec<(String, String, f64)> {
    let mut rows = folder.table(name).into_iter();
    assert_eq!(rows.next().expect("a header"), ["doc", "topic", "q"]);
    let has_topic = |row: &Vec<String>| {
        assert_eq!(row.len(), 3, "{row:?}");
        !row[1].is_empty()
    };
    rows.filter(has_topic).map(|row| (row[0].clone(), row[1].clone(), row[2].parse().expect("q"))).collect()
}

#[test]
fn jsonl_has_a_line_per_document_with_id_bound_and_topics() {
    let folder = Folder::with_golden(&golden(3));
    folder.run("infer model.json docs.jsonl -o out.jsonl");
    folder.run("eval model.json docs.jsonl --per-doc bounds.tsv");
    let lines = folder.json_lines("out.jsonl");
    assert_eq!(lines.len(), 4);
    for (at, (line, bound)) in lines.iter().zip(&folder.table("bounds.tsv")[1..]).enumerate() {
        assert_eq!(line["doc"], format!("doc {at}"));
        assert_eq!(number(&line["elbo"]), bound[1].parse::<f64>().unwrap(), "the bound is eval's");
        let topics = line["topics"].as_object().unwrap();
        assert!(topics.values().all(|q| (0.01..=1.0).contains(&number(q))), "{line}");
    }
    assert!(!lines[3]["topics"].as_object().unwrap().is_empty());
}

#[test]
fn tsv_has_the_same_topics_strongest_first_documents_in_order() {
    let folder = Folder::with_golden(&golden(3));
    folder.run("infer model.json docs.jsonl -o out.jsonl");
    folder.run("infer model.json docs.jsonl -o out.tsv");
    let rows = rows(&folder, "out.tsv");
    assert!(rows.is_sorted_by(|a, b| a.0 < b.0 || (a.0 == b.0 && a.2 >= b.2)), "{rows:?}");
    let mut topics: BTreeMap<String, BTreeMap<String, f32>> = BTreeMap::new();
    for (doc, topic, q) in rows {
        assert!(topics.entry(doc).or_default().insert(topic, q as f32).is_none());
    }
    let value = |(topic, q): (&String, &Value)| (topic.clone(), number(q) as f32);
    for line in folder.json_lines("out.jsonl") {
        let expected: BTreeMap<String, f32> = line["topics"].as_object().unwrap().iter().map(value).collect();
        assert_eq!(topics.remove(line["doc"].as_str().unwrap()).unwrap_or_default(), expected);
    }
    assert!(topics.is_empty(), "{topics:?}");
}

#[test]
fn the_threshold_leaves_out_weaker_topics() {
    let case = golden(3);
    let folder = Folder::with_golden(&case);
    folder.run("infer model.json docs.svm -o all.tsv --threshold 0");
    let all = rows(&folder, "all.tsv");
    assert_eq!(all.len(), 4 * case["model"]["topics"].as_array().unwrap().len());
    let mut counts = Vec::new();
    for threshold in [0.01, 0.1, 0.5, 1.0] {
        folder.run(&format!("infer model.json docs.svm -o some.tsv --threshold {threshold}"));
        let mut expected = all.clone();
        expected.retain(|row| row.2 >= threshold);
        counts.push(expected.len());
        assert_eq!(rows(&folder, "some.tsv"), expected, "{threshold}");
    }
    assert!(counts[0] > counts[2] && counts[2] > 0, "{counts:?}");
    for threshold in ["2", "nan"] {
        folder.fails(&format!("infer model.json docs.svm -o no.tsv --threshold {threshold}"), 2, &["[0, 1]"]);
    }
}

#[test]
fn many_documents_come_in_order_on_any_number_of_threads() {
    let folder = Folder::new();
    folder.run("synth --preset tiny --docs 5000 -o tiny");
    for threads in [1, 8] {
        let out = format!("out{threads}.jsonl");
        folder.run(&format!("infer tiny/network.safetensors tiny/corpus.svm -o {out} --threads {threads}"));
    }
    let lines = folder.json_lines("out1.jsonl");
    assert_eq!(lines.len(), 5000);
    lines.iter().enumerate().for_each(|(at, line)| assert_eq!(line["doc"], at.to_string()));
    assert!(folder.bytes("out1.jsonl") == folder.bytes("out8.jsonl"));
}

#[test]
fn the_result_as_json_and_quietly() {
    let folder = Folder::with_golden(&golden(1));
    let result = folder.result("infer model.json docs.svm -o out.tsv --bound local");
    assert_eq!(result["docs"], 4);
    assert_eq!(result["bound"], "local");
    assert_eq!(result["output"], "out.tsv");
    let bound = folder.result("eval model.json docs.svm --bound local");
    // `eval` adds up in whole units of 2^-40 nats, `infer` in f64, document by document.
    let mean = |of: &Value| of["elbo_mean"].as_f64().unwrap();
    assert!((mean(&result) - mean(&bound)).abs() <= 2f64.powi(-40));
    let output = folder.run("infer model.json docs.svm -o out.tsv --quiet");
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
}

#[test]
fn a_run_folder_stands_for_its_model() {
    let folder = Folder::with_golden(&golden(1));
    std::fs::create_dir(folder.path("run")).unwrap();
    folder.fails("infer run docs.jsonl -o a.tsv", 2, &["run", "no model.safetensors"]);
    folder.fails("eval run docs.jsonl", 2, &["run", "no model.safetensors"]);
    folder.run("model convert model.json run/model.safetensors");
    for (model, out) in [("run", "a.tsv"), ("run/model.safetensors", "b.tsv")] {
        folder.run(&format!("infer {model} docs.jsonl -o {out}"));
    }
    assert_eq!(folder.text("a.tsv"), folder.text("b.tsv"));
    assert_eq!(folder.result("eval run docs.jsonl"), folder.result("eval run/model.safetensors docs.jsonl"));
    folder.run("model convert model.json model.tsv");
    let model = folder.text("model.tsv");
    folder.fails("eval model.tsv docs.jsonl --per-doc model.tsv", 2, &["model.tsv", "another file"]);
    assert_eq!(folder.text("model.tsv"), model);
}

#[test]
fn standard_output_has_the_bytes_of_a_file() {
    let folder = Folder::with_golden(&golden(3));
    for format in ["jsonl", "tsv", "csv", "parquet"] {
        let infer = "infer model.json docs.jsonl --quiet";
        folder.run(&format!("{infer} -o out.{format}"));
        let output = folder.run(&format!("{infer} -o - --output-format {format}"));
        assert!(
            output.stdout == folder.bytes(&format!("out.{format}")) && output.stderr.is_empty(),
            "{format}"
        );
        folder.run(&format!("{infer} -o out --output-format {format}"));
        assert!(output.stdout == folder.bytes("out"), "{format}");
    }
    assert_eq!(folder.stdout("infer model.json docs.jsonl -o -"), folder.text("out.jsonl"));
    // Shards are in order and need no names.
    let shard = |shard: &str| folder.stdout(&format!("infer model.json docs.jsonl -o - --shard {shard}"));
    assert_eq!(shard("1/2") + &shard("2/2"), folder.text("out.jsonl"));
    assert!(!folder.path("-").exists());
}

#[test]
fn an_empty_corpus_gives_an_empty_answer() {
    let folder = Folder::with_golden(&golden(1));
    folder.write("empty.svm", "");
    folder.run("infer model.json empty.svm -o out.tsv");
    folder.run("infer model.json empty.svm -o out.jsonl");
    assert_eq!(folder.text("out.tsv"), "doc\ttopic\tq\n");
    assert_eq!(folder.text("out.jsonl"), "");
}

#[test]
fn a_failure_leaves_nothing_behind_and_the_old_file_alone() {
    let folder = Folder::with_golden(&golden(1));
    folder.write("bad.jsonl", "{\"tokens\":[]}\nnot JSON\n");
    folder.write("bad.json", "{");
    folder.write("old.tsv", "old");
    std::fs::create_dir(folder.path("folder.tsv")).unwrap();
    let before = folder.names_in(".");
    for (arguments, status, parts) in [
        ("model.json docs.svm -o out.xls", 2, &["out.xls", ".jsonl, .tsv, .csv, .parquet or .npz"][..]),
        ("model.json docs.svm -o out", 2, &["out", ".jsonl, .tsv, .csv, .parquet or .npz"]),
        ("model.json docs.svm -o out --output-format xls", 2, &["xls", "jsonl"]),
        ("model.json docs.svm -o - --output-format npz", 2, &["file name"]),
        ("model.json docs.svm -o - --resume", 2, &["--resume", "standard output"]),
        ("model.json docs.svm -o - --json", 2, &["--json", "standard output"]),
        ("model.json docs.svm", 2, &["--output"]),
        ("model.json bad.jsonl -o out.tsv", 2, &["bad.jsonl:2"]),
        ("model.json bad.jsonl -o old.tsv", 2, &["bad.jsonl:2"]),
        ("bad.json docs.svm -o out.jsonl", 2, &["bad.json"]),
        ("model.json docs.svm -o folder.tsv", 2, &["folder.tsv is a folder"]),
        ("model.json docs.svm -o nowhere/out.tsv", 3, &["nowhere/out.tsv"]),
        ("model.json nowhere.svm -o out.tsv", 3, &["nowhere.svm"]),
    ] {
        folder.fails(&format!("infer {arguments}"), status, parts);
        assert_eq!(folder.names_in("."), before, "{arguments}");
    }
    assert_eq!(folder.text("old.tsv"), "old");
    assert_eq!(folder.names_in("folder.tsv"), [""; 0]);
    folder.run("infer model.json docs.svm -o old.tsv");
    assert!(folder.text("old.tsv").starts_with("doc\ttopic\tq\n"));
}
