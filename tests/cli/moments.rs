//! `noisyor moments`: certificates, models with errors, and what is refused.

#![allow(clippy::unwrap_used)]

use crate::support::{Folder, list, number};
use noisyor::network::load_model;
use serde_json::Value;

/// Figure 1 of the paper, with weights.
const FIGURE_1: &str = "A\ta\t0.9\nA\tb\t0.7\nA\tc\t1.1\nB\tb\t0.6\nB\tc\t0.8\nB\td\t1.2\nB\te\t0.9
\tA\t0.5\n\tB\t0.7\n\ta\t0.01\n\tb\t0.01\n\tc\t0.01\n\td\t0.01\n\te\t0.01\n";
/// Two topics with the same four tokens: no triplet, no anchor.
const COUPLED: &str = "A\ta\nA\tb\nA\tc\nA\td\nB\ta\nB\tb\nB\tc\nB\td\n";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("truth.tsv", FIGURE_1);
    folder.write(
        "graph.tsv",
        FIGURE_1
            .lines()
            .take(7)
            .map(|l| l.rsplit_once('\t').unwrap().0.to_owned() + "\n")
            .collect::<String>(),
    );
    folder.write("coupled.tsv", COUPLED);
    folder.run("synth --model truth.tsv --docs 20000 --format jsonl -o synth -q");
    folder
}

fn rows(folder: &Folder, name: &str) -> Vec<Vec<String>> {
    let table = folder.table(name);
    assert_eq!(table[0], ["kind", "topic", "token", "value", "se", "depth", "sets", "clipped", "degenerate"]);
    table[1..].to_vec()
}

#[test]
fn a_certificate_as_table_and_as_json() {
    let folder = folder();
    let told = folder.stdout("moments --schedule graph.tsv");
    assert!(told.contains("14 of 14 parameters") && told.contains("\ncomplete:"), "{told}");
    let json = folder.result("moments --schedule graph.tsv");
    assert_eq!((&json["complete"], &json["learned"]), (&Value::Bool(true), &Value::from(14)));
    let depths = list(&json["depths"]);
    assert_eq!(depths.len(), 2);
    assert_eq!((&depths[0]["by_triplet"], &depths[1]["by_triplet"]), (&Value::from(4), &Value::from(3)));
    let told = folder.stdout("moments --schedule coupled.tsv");
    assert!(
        told.contains("0 of 14") && told.contains("'A': 4 edges") && told.contains("not complete"),
        "{told}"
    );
    let json = folder.result("moments --schedule coupled.tsv");
    let left = &list(&json["left"])[0];
    assert_eq!(
        (&left["ranks"], &left["identified_at_order"]),
        (&serde_json::json!([4, 10, 14]), &Value::from(3))
    );
    assert!(left["topics"][0]["why"].as_str().unwrap().contains("'B'"));
}

#[test]
fn a_model_and_its_errors() {
    let folder = folder();
    let told =
        folder.result("moments synth/corpus.jsonl --graph graph.tsv -o model.json --estimates errors.tsv -q");
    assert_eq!((&told["docs"], &told["learned"]), (&Value::from(20_000), &Value::from(14)));
    let rows = rows(&folder, "errors.tsv");
    assert_eq!(rows.len(), 14);
    let truth = |kind: &str, from: &str, to: &str| {
        let mut lines = FIGURE_1.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        let w: f64 = match kind {
            "prior" => lines.find(|l| l[0].is_empty() && l[1] == from),
            "leak" => lines.find(|l| l[0].is_empty() && l[1] == to),
            _ => lines.find(|l| l[0] == from && l[1] == to),
        }
        .unwrap()[2]
            .parse()
            .unwrap();
        if kind == "prior" { 1.0 - (-w).exp() } else { (-w).exp() }
    };
    for row in &rows {
        let (value, se): (f64, f64) = (row[3].parse().unwrap(), row[4].parse().unwrap());
        let error = value - truth(&row[0], &row[1], &row[2]);
        assert!(error.abs() < 4.5 * se && se < 0.1, "{row:?}: off by {error}");
    }
    // The model has the same numbers, and is one that other commands take.
    let model = folder.json("model.json");
    assert!(model.to_string().contains("moments of 20000 documents"));
    folder.run("check model.json");
    // Same corpus, same bytes, whatever the number of threads.
    folder.run("moments synth/corpus.jsonl --graph graph.tsv -o again.json --threads 1 -q");
    assert_eq!(folder.text("model.json"), folder.text("again.json"));
}

#[test]
fn a_mapped_corpus_gives_the_same() {
    let folder = folder();
    folder.run("corpus synth/corpus.jsonl --vocab truth.tsv -o corpus.noisyor -q");
    folder.run("moments synth/corpus.jsonl --graph graph.tsv -o a.json -q");
    folder.run("moments corpus.noisyor --graph graph.tsv -o b.json -q");
    assert_eq!(folder.text("a.json"), folder.text("b.json"));
}

#[test]
fn what_cannot_be_learned_keeps_its_weights_or_is_guessed() {
    let folder = folder();
    folder.write(
        "weighted.tsv",
        &(COUPLED.replace('\n', "\t0.4\n") + "\tA\t0.3\n\tB\t0.2\n\ta\t0.1\n\tb\t0.1\n\tc\t0.1\n\td\t0.1\n"),
    );
    let told = folder.stderr("moments synth/corpus.jsonl --graph coupled.tsv -o model.tsv");
    assert!(
        told.contains("14 of 14 parameters cannot be learned and are guessed; --schedule tells"),
        "{told}"
    );
    assert!(folder.text("model.tsv").contains("A\ta\t0.2"));
    let told = folder.stderr("moments synth/corpus.jsonl --graph weighted.tsv -o model.tsv");
    assert!(told.contains("keep the weights of the graph"), "{told}");
    assert!(folder.text("model.tsv").contains("A\ta\t0.4"));
}

#[test]
fn a_few_documents_are_answered_with_open_errors() {
    let folder = folder();
    folder.write("few.jsonl", "{\"tokens\":[\"a\",\"b\"]}\n{\"tokens\":[\"c\"]}\n{\"tokens\":[]}\n");
    folder.run("moments few.jsonl --graph graph.tsv -o model.json --estimates errors.tsv");
    let rows = rows(&folder, "errors.tsv");
    assert!(rows.iter().any(|row| row[4] == "inf" && row[8] == "true"), "{rows:?}");
    assert!(!folder.text("errors.tsv").contains("NaN"));
    folder.run("check model.json");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = folder();
    folder.write("deep.tsv", "A\tB\nB\tb\n");
    folder.write("none.jsonl", "");
    folder.fails("moments --schedule deep.tsv", 2, &["deep.tsv", "two layers"]);
    folder.fails("moments synth/corpus.jsonl --graph deep.tsv -o m.json", 2, &["two layers"]);
    folder.fails("moments synth/corpus.jsonl --graph graph.tsv", 2, &["by -o"]);
    folder.fails("moments", 2, &["--schedule"]);
    folder.fails("moments synth/corpus.jsonl --graph graph.tsv -o graph.tsv", 2, &["another file"]);
    folder.fails("moments synth/corpus.jsonl --graph graph.tsv -o m.json --estimates m.json", 2, &["two"]);
    folder.fails("moments --schedule graph.tsv --zero-based", 2, &["no corpus"]);
    folder.fails("moments none.jsonl --graph graph.tsv -o m.json", 2, &["no documents"]);
}

#[test]
fn check_mentions_it_for_graphs_of_two_layers() {
    let folder = folder();
    let told = folder.stdout("check graph.tsv");
    assert!(told.contains("moments") && told.contains("14 of 14"), "{told}");
    folder.write("deep.tsv", "A\tB\nB\tb\n");
    assert!(!folder.stdout("check deep.tsv").contains("moments"));
}

#[test]
fn training_starts_from_moments() {
    let folder = folder();
    folder.run("train synth/corpus.jsonl --graph graph.tsv --init moments --steps 0 --valid 0 --backend cpu -o start -q");
    folder.run("moments synth/corpus.jsonl --graph graph.tsv -o moments.json -q");
    let (start, moments) =
        (load_model(&folder.path("start/model.safetensors")), load_model(&folder.path("moments.json")));
    let (start, moments) = (start.unwrap().weights, moments.unwrap().weights);
    for (start, moments) in start.edge.iter().zip(&moments.edge) {
        assert!((start - moments).abs() < 1e-6 * moments, "{start} {moments}");
    }
    // Random starts give the tokens that both topics have to one of them.
    let trained = |init: &str| {
        let run = format!("--init {init} --valid 0 --epochs 30 --batch full --backend cpu -o {init} -q");
        let told = folder.result(&format!("train synth/corpus.jsonl --graph graph.tsv {run}"));
        number(&told["metrics"]["train_elbo"])
    };
    assert!(trained("moments") > trained("data") + 0.01);
    folder.write("deep.tsv", "A\tB\nB\tb\n");
    folder.fails("train synth/corpus.jsonl --graph deep.tsv --init moments -o deep", 2, &["two layers"]);
}

/// Four topics of five tokens out of 15, by shifted tables: what a mixture does not find.
#[test]
fn topics_of_a_table_are_suggested_by_moments() {
    let folder = Folder::new();
    let mut network = String::new();
    for topic in 0..4 {
        network += &format!("\tt{topic}\t0.3\n");
        (0..5).for_each(|at| network += &format!("t{topic}\tw{}\t1.5\n", (4 * topic + at) % 15));
    }
    (0..15).for_each(|token| network += &format!("\tw{token}\t0.01\n"));
    folder.write("truth.tsv", &network);
    folder.run("synth --model truth.tsv --docs 6000 --format jsonl -o docs");
    folder.run("synth --model truth.tsv --docs 3000 --format jsonl --seed 1 -o fresh");
    folder.run("train docs/corpus.jsonl --topics 4 --parents all --init moments --backend cpu -o run -q");
    let bound = |model: &str| {
        number(&folder.result(&format!("eval {model} fresh/corpus.jsonl --backend cpu"))["elbo_mean"])
    };
    let (found, truth) = (bound("run"), bound("truth.tsv"));
    assert!(found > truth - 0.05, "{found} {truth}");
    folder.run("train docs/corpus.jsonl --topics 4 --parents all --init moments --backend cpu -o again -q --threads 1");
    assert_eq!(folder.bytes("run/model.safetensors"), folder.bytes("again/model.safetensors"));
}
