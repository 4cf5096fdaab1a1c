//! `train`: the run folder, what is printed, the same weights from the same seed, when it stops.

use crate::support::{Folder, PANTRY, RUN_FILES, keys, number, pantry_docs, parse, text};
use serde_json::{Value, json};

const METRICS: [&str; 8] =
    ["step", "epoch", "seconds", "train_elbo", "valid_elbo", "n_edges", "docs_per_s", "edges_per_s"];

fn pantry() -> Folder {
    let folder = Folder::new();
    folder.write("graph.tsv", PANTRY);
    folder.write("docs.jsonl", pantry_docs());
    folder
}

#[test]
fn without_arguments_it_trains_on_the_sample_into_the_next_free_folder() {
    let folder = Folder::new();
    let output = folder.run("train --epochs 2");
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    for part in ["held-out bound (tail) -", "under the network that the documents were sampled from: -"] {
        assert!(stdout.contains(part), "{part} is not in\n{stdout}");
    }
    assert!(stdout.ends_with("run folder: runs/001\n"), "{stdout}");
    assert!(stderr.contains("20000 documents, ") && stderr.contains(" topics, 635 tokens, "), "{stderr}");
    assert!(folder.json("runs/001/config.json")["network"]["chosen"].is_object());
    assert_eq!(folder.names_in("."), ["runs"]);
    assert_eq!(folder.names_in("runs/001"), RUN_FILES);

    assert!(folder.stdout("train --steps 1").ends_with("run folder: runs/002\n"));
    assert_eq!(folder.names_in("runs"), ["001", "002"]);
    assert_eq!(folder.names_in("runs/002"), RUN_FILES);
}

#[test]
fn without_steps_it_writes_the_initial_weights() {
    let folder = Folder::new();
    let result = folder.result("train --steps 0 -o run");
    assert_eq!((&result["metrics"]["step"], &result["metrics"]["train_elbo"]), (&json!(0), &Value::Null));
    assert!(number(&result["metrics"]["valid_elbo"]) < number(&result["graph_weights_elbo"]));
    assert_eq!(folder.names_in("run"), RUN_FILES);
}

#[test]
fn the_sample_is_learned_as_well_as_the_weights_it_was_sampled_from() {
    let result = Folder::with_sample().result("train --graph sample.tsv --epochs 4");
    let (learned, truth) = (number(&result["metrics"]["valid_elbo"]), number(&result["graph_weights_elbo"]));
    assert!(learned > truth - 0.1, "{learned} is not about {truth}");
}

#[test]
fn the_run_folder_has_what_the_contract_says() {
    let folder = Folder::with_sample();
    folder.run("train --graph sample.tsv --epochs 3 --seed 5 -o run");
    assert_eq!(folder.names_in("run"), RUN_FILES);
    let metrics = folder.json_lines("run/metrics.jsonl");
    assert_eq!(metrics.len(), 3);
    for (at, line) in metrics.iter().enumerate() {
        METRICS.iter().for_each(|field| assert!(line[field].is_number(), "{field} in {line}"));
        assert_eq!(line["bound"], "tail");
        assert_eq!(line["epoch"], at as f64 + 1.0);
        assert_eq!(line["step"], 10 * (at + 1));
    }
    let config = folder.json("run/config.json");
    assert_eq!(config["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(config["options"]["seed"], 5);
    assert_eq!(config["options"]["epochs"], 3);
    assert_eq!(config["options"]["cap"], 20.0);
    folder.run("topics run/model.safetensors");
}

#[test]
fn a_corpus_and_graph_of_ones_own() {
    let folder = pantry();
    let stdout = folder.stdout("train docs.jsonl --graph graph.tsv -o run");
    assert!(stdout.contains("food") && stdout.contains("over 4 documents"), "{stdout}");
    assert_eq!(folder.result("eval run/model.safetensors docs.jsonl")["docs"], 40);

    folder.write("bare.tsv", "fruit\tapple\nfruit\tpear\nbread\tflour\n");
    let result = folder.result("train docs.jsonl --graph bare.tsv -o bare");
    assert_eq!(result["graph_weights_elbo"], Value::Null);
    assert!(number(&result["metrics"]["valid_elbo"]) < 0.0);
}

#[test]
fn the_result_as_json() {
    let folder = pantry();
    let result = folder.result("train docs.jsonl --graph graph.tsv -o run --epochs 2 --bound local");
    let expected = "baseline_mean bound edges ended graph_weights_elbo held_out_docs metrics model run test_baseline_mean \
                    test_docs test_elbo topics";
    assert_eq!(keys(&result).join(" "), expected);
    assert_eq!(result["run"], "run");
    assert_eq!(result["model"], "run/model.safetensors");
    assert_eq!(result["ended"], "finished");
    assert_eq!(result["bound"], "local");
    assert_eq!(result["held_out_docs"], 4);
    assert_eq!((&result["topics"], &result["edges"]), (&json!(4), &json!(8)));
    let lines = folder.json_lines("run/metrics.jsonl");
    assert!(lines.contains(&result["metrics"]), "{result}");
    METRICS.iter().for_each(|field| assert!(result["metrics"][field].is_number(), "{field} in {result}"));
}

#[test]
fn a_folder_that_is_not_empty_is_left_alone() {
    let folder = pantry();
    folder.run("train docs.jsonl --graph graph.tsv -o run --steps 1");
    let before = folder.bytes("run/model.safetensors");
    folder.fails("train docs.jsonl --graph graph.tsv -o run --steps 2", 2, &["run is not empty", "-o"]);
    assert_eq!(folder.bytes("run/model.safetensors"), before);

    std::fs::create_dir(folder.path("empty")).unwrap();
    folder.run("train docs.jsonl --graph graph.tsv -o empty --steps 1");
    folder.run("train docs.jsonl --graph graph.tsv -o several/levels/down --steps 1");
}

/// The lines of `metrics.jsonl` without what depends on time.
fn timeless_metrics(folder: &Folder, run: &str) -> Vec<Value> {
    let mut lines = folder.json_lines(&format!("{run}/metrics.jsonl"));
    for line in &mut lines {
        let fields = line.as_object_mut().expect("an object");
        ["seconds", "docs_per_s", "edges_per_s"]
            .iter()
            .for_each(|field| assert!(fields.remove(*field).is_some()));
    }
    lines
}

#[test]
fn the_same_seed_gives_the_same_weights_on_any_number_of_threads() {
    let folder = Folder::with_sample();
    for (at, options) in ["--epochs 2", "--step adam --batch 700 --steps 9"].into_iter().enumerate() {
        let train = |run: &str, more: &str| {
            folder.run(&format!("train --graph sample.tsv {options} {more} -o {run}{at}"));
            let model = folder.bytes(&format!("{run}{at}/model.safetensors"));
            (model, timeless_metrics(&folder, &format!("{run}{at}")))
        };
        let first = train("first", "--seed 3 --threads 1");
        assert!(!first.1.is_empty());
        assert!(first == train("again", "--seed 3 --threads 1"), "{options}: not the same again");
        assert!(first == train("two", "--seed 3 --threads 2"), "{options}: not the same with 2 threads");
        assert!(first == train("eight", "--seed 3 --threads 8"), "{options}: not the same with 8 threads");
        let other = train("other", "--seed 4 --threads 1");
        assert!(first.0 != other.0 && first.1 != other.1, "{options}: the seed does nothing");
    }
}

#[test]
fn nothing_held_out() {
    let folder = pantry();
    let stdout = folder.stdout("train docs.jsonl --graph graph.tsv --valid 0 --epochs 3 -o run");
    assert!(!stdout.contains("held-out"), "{stdout}");
    assert!(stdout.contains("finished; best after 3.00 epochs"), "{stdout}");
    let lines = folder.json_lines("run/metrics.jsonl");
    assert_eq!(lines.iter().map(|line| &line["valid_elbo"]).collect::<Vec<_>>(), [&Value::Null; 3]);
    assert!(lines.iter().all(|line| number(&line["train_elbo"]) < 0.0));
}

#[test]
fn full_batch_em_never_falls() {
    let folder = pantry();
    let options = "--valid 0 --batch full --lambda 0 --epochs 20 --estep-tol 1e-6";
    folder.run(&format!("train docs.jsonl --graph graph.tsv {options} -o run"));
    let bounds: Vec<f64> =
        folder.json_lines("run/metrics.jsonl").iter().map(|line| number(&line["train_elbo"])).collect();
    assert_eq!(bounds.len(), 20);
    assert!(bounds.is_sorted_by(|a, b| *b > a - 1e-4), "{bounds:?}");
    assert!(bounds[19] > bounds[0] + 0.1, "{bounds:?}");
}

#[test]
fn it_stops_early_without_gain() {
    let folder = Folder::with_sample();
    let options = "train --graph sample.tsv --step paper --rate 1e-12 --batch full";
    let result = folder.result(&format!("{options} --epochs 50 --patience 1 -o one"));
    assert_eq!(result["ended"], "early stop");
    assert_eq!(folder.json_lines("one/metrics.jsonl").len(), 2);
    folder.run(&format!("{options} --epochs 50 --patience 3 -o three"));
    assert_eq!(folder.json_lines("three/metrics.jsonl").len(), 4);
    let result = folder.result(&format!("{options} --epochs 6 --patience 0 -o never"));
    assert_eq!(result["ended"], "finished");
    assert_eq!(folder.json_lines("never/metrics.jsonl").len(), 6);
}

#[test]
fn evaluations_come_every_so_many_epochs_and_at_the_end() {
    let folder = pantry();
    let train = "train docs.jsonl --graph graph.tsv --patience 0 --batch 12";
    folder.run(&format!("{train} --epochs 7 --eval-every 3 -o run"));
    let epochs: Vec<Value> =
        folder.json_lines("run/metrics.jsonl").iter().map(|line| line["epoch"].clone()).collect();
    assert_eq!(epochs, [json!(3.0), json!(6.0), json!(7.0)]);
    folder.run(&format!("{train} --epochs 7 --steps 4 -o few"));
    let last = folder.json_lines("few/metrics.jsonl").pop().unwrap();
    assert_eq!(last["step"], 4);
}

#[test]
fn quiet_prints_only_the_result() {
    let folder = pantry();
    let output = folder.run("train docs.jsonl --graph graph.tsv -o run --quiet");
    assert_eq!(text(&output.stderr), "");
    assert!(text(&output.stdout).ends_with("run folder: run\n"));
    let output = folder.run("train docs.jsonl --graph graph.tsv -o json -q --json");
    assert_eq!(text(&output.stderr), "");
    assert_eq!(parse(&text(&output.stdout))["run"], "json");
}

#[test]
fn unknown_tokens_are_left_out_of_training() {
    let folder = pantry();
    let docs = pantry_docs();
    folder.write("more.jsonl", docs.replace("\"eat\"", "\"eat\",\"brick\""));
    let stderr = folder.stderr("train more.jsonl --graph graph.tsv --epochs 2 -o more");
    assert!(
        stderr.contains("20 of") && stderr.contains("'brick'") && stderr.contains("left out"),
        "{stderr}"
    );
    folder.run("train docs.jsonl --graph graph.tsv --epochs 2 -o docs");
    assert_eq!(folder.bytes("more/model.safetensors"), folder.bytes("docs/model.safetensors"));
}

#[test]
fn identical_documents_share_an_e_step_but_all_count() {
    let folder = pantry();
    let elbos = |run: &str, option: &str| -> Vec<f64> {
        folder.run(&format!("train docs.jsonl --graph graph.tsv --epochs 3 {option} -o {run}"));
        folder
            .json_lines(&format!("{run}/metrics.jsonl"))
            .iter()
            .map(|line| number(&line["valid_elbo"]))
            .collect()
    };
    let (shared, each) = (elbos("shared", ""), elbos("each", "--no-share"));
    assert_eq!(shared.len(), 3);
    shared.iter().zip(&each).for_each(|(a, b)| assert!((a - b).abs() < 1e-3, "{shared:?} {each:?}"));
}

#[test]
fn what_cannot_be_trained_is_refused_and_leaves_nothing() {
    let folder = pantry();
    folder.write("empty.jsonl", "");
    folder.write("empty.svm", "");
    let before = folder.names_in(".");
    for (arguments, parts) in [
        ("train empty.jsonl", &["no documents"][..]),
        ("train empty.jsonl --graph graph.tsv", &["no documents"]),
        ("train empty.svm --graph graph.tsv -o run", &["no documents"]),
        ("train docs.jsonl --graph docs.jsonl", &["docs.jsonl", ".json, .safetensors or .tsv"]),
        ("train graph.tsv --graph graph.tsv", &["graph.tsv:1: ", "--text-column"]),
    ] {
        folder.fails(arguments, 2, parts);
    }
    assert_eq!(folder.names_in("."), before);
}

#[test]
fn of_many_topics_the_largest_are_printed() {
    let folder = Folder::new();
    let topics: Vec<String> = (0..120).map(|at| format!("topic{at}")).collect();
    let graph: String = (0..120).map(|at| format!("topic{at}\tw{at}\n")).collect();
    // Topic 7 has most documents.
    let docs: String =
        (0..240).map(|doc| format!("w{}\n", if doc % 2 == 0 { 7 } else { doc % 120 })).collect();
    folder.write("graph.tsv", graph);
    folder.write("docs.txt", docs);
    let output = folder.run("train docs.txt --graph graph.tsv --epochs 2 -o run");
    let printed = text(&output.stdout);
    assert!(printed.contains("the largest 20 of 120 topics; all of them: noisyor topics run\n"), "{printed}");
    let shown = topics
        .iter()
        .filter(|topic| printed.lines().any(|line| line.starts_with(&format!("{topic}: "))))
        .count();
    assert_eq!(shown, 20, "{printed}");
    assert!(printed.starts_with("topic7: "), "{printed}");
    assert_eq!(text(&folder.run("topics run").stdout).lines().count(), 120);
}

#[test]
fn weights_of_a_graph_that_are_not_used_are_mentioned() {
    let folder = Folder::new();
    folder.run("synth --preset tiny --docs 100 -o t -q");
    let said = |init: &str, run: &str| {
        let arguments =
            format!("train t/corpus.svm --graph t/network.safetensors --epochs 1 {init} -o {run}");
        text(&folder.run(&arguments).stderr).contains("training does not start from them; --init graph would")
    };
    assert_eq!((said("", "a"), said("--init graph", "b")), (true, false));
}
