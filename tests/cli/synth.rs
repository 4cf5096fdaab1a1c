//! `synth`: exact sizes, the same bytes from the same seed, the bundled sample, and training on what it makes.

use crate::support::{Folder, PANTRY, number, repository, text};
use flate2::read::GzDecoder;
use std::io::Read;

#[test]
fn presets_have_exact_sizes() {
    let folder = Folder::new();
    for (preset, docs, n_docs, topics, tokens, edges, doc_tokens) in [
        ("tiny", "", 2_000, 16, 60, 160, 9.0),
        ("qmr", "--docs 20", 20, 570, 4_075, 45_470, 40.0),
        ("dblp", "--docs 20", 20, 49_543, 199_861, 1_268_551, 60.0),
        ("yelp", "--docs 20", 20, 125_798, 117_702, 960_419, 100.0),
    ] {
        let result = folder.result(&format!("synth --preset {preset} {docs} -o {preset}"));
        assert_eq!(result["docs"], n_docs, "{preset}");
        assert_eq!(result["topics"], topics, "{preset}");
        assert_eq!(result["tokens"], tokens, "{preset}");
        assert_eq!(result["edges"], edges, "{preset}");
        let per_doc = number(&result["tokens_per_doc"]);
        assert!((0.5..2.0).contains(&(per_doc / doc_tokens)), "{preset}: {per_doc} tokens a document");
        assert_eq!(folder.names_in(preset), ["corpus.svm", "network.safetensors", "truth.svm"]);
        for file in ["corpus.svm", "truth.svm"] {
            assert_eq!(folder.text(&format!("{preset}/{file}")).lines().count(), n_docs, "{preset}: {file}");
        }
    }
}

/// Every file of a folder, with its bytes.
fn content(folder: &Folder, below: &str) -> Vec<(String, Vec<u8>)> {
    let names = folder.names_in(below).into_iter();
    names.map(|name| (name.clone(), folder.bytes(&format!("{below}/{name}")))).collect()
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let folder = Folder::new();
    for (out, options) in [
        ("first", "--seed 9 --threads 1"),
        ("again", "--seed 9 --threads 8"),
        ("other", "--seed 10"),
        ("fewer", "--seed 9 --docs 100"),
    ] {
        folder.run(&format!("synth --preset tiny {options} -o {out}"));
    }
    let first = content(&folder, "first");
    assert!(first == content(&folder, "again"));
    let other = content(&folder, "other");
    assert!(first.iter().zip(&other).all(|(a, b)| a.0 == b.0 && a.1 != b.1), "the seed does nothing");
    let (few, many) = (folder.text("fewer/corpus.svm"), folder.text("first/corpus.svm"));
    assert!(many.starts_with(&few), "a document is the same however many there are");
}

#[test]
fn documents_of_a_model_by_name_with_the_truth() {
    let folder = Folder::new();
    folder.write("model.tsv", PANTRY);
    let result = folder.result("synth --model model.tsv --docs 4000 --format jsonl -o out");
    assert_eq!(result["docs"], 4000);
    assert_eq!(folder.names_in("out"), ["corpus.jsonl", "network.safetensors", "truth.svm"]);
    let docs = folder.json_lines("out/corpus.jsonl");
    let truth = folder.text("out/truth.svm");
    assert_eq!((docs.len(), truth.lines().count()), (4000, 4000));

    // food is topic number 0, column 1; it is on with 1 - exp(-0.5), and then causes eat with 1 - exp(-1.51).
    let (mut food, mut food_and_eat) = (0.0, 0.0);
    for (doc, topics) in docs.iter().zip(truth.lines()) {
        if topics.split(' ').any(|column| column == "1:1") {
            food += 1.0;
            food_and_eat += f64::from(u8::from(doc["tokens"].as_array().unwrap().contains(&"eat".into())));
        }
    }
    assert!((food / 4000.0 - (1.0 - (-0.5f64).exp())).abs() < 0.03, "food is on in {food} documents");
    assert!(
        (food_and_eat / food - (1.0 - (-1.51f64).exp())).abs() < 0.03,
        "eat comes with {food_and_eat} of them"
    );
}

#[test]
fn a_models_default_is_a_thousand_documents() {
    let folder = Folder::new();
    folder.write("model.tsv", PANTRY);
    let output = folder.run("synth --model model.tsv -o out -q");
    assert_eq!(text(&output.stderr), "");
    assert!(text(&output.stdout).starts_with("1000 documents of "));
    assert_eq!(folder.result("synth --model model.tsv --docs 0 -o none")["docs"], 0);
    assert_eq!(folder.text("none/corpus.svm"), "");
}

#[test]
fn the_bundled_sample_comes_from_its_network() {
    let folder = Folder::new();
    let network = repository("data/sample/network.tsv");
    let mut command = folder.noisyor("synth --docs 20000 --seed 1 --format jsonl -o out --model");
    command.arg(network).assert().success();
    let mut sample = Vec::new();
    let file = std::fs::File::open(repository("data/sample/corpus.jsonl.gz")).unwrap();
    GzDecoder::new(file).read_to_end(&mut sample).unwrap();
    assert!(folder.bytes("out/corpus.jsonl") == sample);
}

#[test]
fn training_on_a_synthesised_corpus() {
    let folder = Folder::new();
    folder.run("synth --preset tiny -o tiny");
    let result = folder.result("train tiny/corpus.svm --graph tiny/network.safetensors -o run");
    let (learned, truth) = (number(&result["metrics"]["valid_elbo"]), number(&result["graph_weights_elbo"]));
    assert!(learned > truth - 1.0, "{learned} is far below {truth}");
    let bound = folder.result("eval run/model.safetensors tiny/corpus.svm");
    assert_eq!(bound["docs"], 2000);
    folder.run("infer run/model.safetensors tiny/corpus.svm -o topics.jsonl");
    assert!(folder.stdout("topics run/model.safetensors").lines().count() == 16);
}

#[test]
fn usage_and_faults() {
    let folder = Folder::new();
    folder.write("bad.tsv", "a\tb\t1\nb\ta\t1\n");
    folder.write("graph.tsv", "a\tb\n");
    for (arguments, parts) in [
        ("synth -o out", &["--preset", "--model"][..]),
        ("synth --preset tiny --model bad.tsv -o out", &["--preset", "--model"]),
        ("synth --preset huge -o out", &["huge", "tiny, qmr, dblp, yelp"]),
        ("synth --preset tiny", &["--output"]),
        ("synth --preset tiny --docs -1 -o out", &["-1"]),
        ("synth --model bad.tsv -o out", &["bad.tsv", "cycle"]),
        ("synth --model graph.tsv -o out", &["graph.tsv", "without weights"]),
    ] {
        folder.fails(arguments, 2, parts);
        assert_eq!(folder.names_in("."), ["bad.tsv", "graph.tsv"], "{arguments}");
    }
}
