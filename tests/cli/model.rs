//! `model`: nothing is lost between the formats; topics are renamed, dropped and merged.

use crate::support::{Folder, N_GOLDEN, PANTRY, golden, list, number, text};
use safetensors::{Dtype, SafeTensors};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Names, leaks by name and edges by names, with weights as f32.
fn content(model: &Value) -> (Value, BTreeMap<String, f32>) {
    let names: Vec<&str> = ["topics", "tokens"]
        .iter()
        .flat_map(|key| list(&model[key]))
        .map(|name| name.as_str().expect("a name"))
        .collect();
    let name = |node: &Value| names[node.as_u64().expect("a node") as usize];
    let edge = |edge: &Value| (format!("{} -> {}", name(&edge[0]), name(&edge[1])), number(&edge[2]) as f32);
    let leaks =
        names.iter().zip(list(&model["leak"])).map(|(name, leak)| ((*name).to_owned(), number(leak) as f32));
    (json!([model["topics"], model["tokens"]]), list(&model["edges"]).iter().map(edge).chain(leaks).collect())
}

#[test]
fn round_trip_through_all_formats() {
    for case_ix in 0..N_GOLDEN {
        let case = golden(case_ix);
        let folder = Folder::with_golden(&case);
        let files = ["model.json", "a.safetensors", "b.json", "c.tsv", "d.safetensors", "e.json"];
        for pair in files.windows(2) {
            folder.run(&format!("model convert {} {}", pair[0], pair[1]));
        }
        let expected = content(&case["model"]);
        assert_eq!(
            expected.1.len(),
            list(&case["model"]["edges"]).len() + list(&case["model"]["leak"]).len()
        );
        assert_eq!(content(&folder.json("b.json")), expected, "case {case_ix}");
        assert_eq!(content(&folder.json("e.json")), expected, "case {case_ix}");
        assert_eq!(folder.bytes("a.safetensors"), folder.bytes("d.safetensors"), "case {case_ix}");
        folder.run("model convert model.json again.safetensors");
        assert_eq!(folder.bytes("a.safetensors"), folder.bytes("again.safetensors"), "case {case_ix}");
    }
}

#[test]
fn every_format_evaluates_the_same() {
    let folder = Folder::with_golden(&golden(8));
    let expected = number(&folder.result("eval model.json docs.jsonl")["elbo_mean"]);
    for name in ["copy.json", "copy.tsv", "copy.safetensors"] {
        folder.run(&format!("model convert model.json {name}"));
        let elbo = number(&folder.result(&format!("eval {name} docs.jsonl"))["elbo_mean"]);
        assert!((elbo - expected).abs() < 1e-5, "{name}: {elbo} instead of {expected}");
    }
}

#[test]
fn json_keeps_every_digit() {
    let case = golden(8);
    let folder = Folder::with_golden(&case);
    folder.run("model convert model.json copy.json");
    folder.run("model convert copy.json list.tsv");
    folder.run("model convert list.tsv last.json");
    for copy in ["copy.json", "last.json"] {
        let copy = folder.json(copy);
        assert_eq!((&copy["format"], &copy["version"]), (&json!("noisyor-model"), &json!(1)));
        assert_eq!(copy["leak"], case["model"]["leak"]);
        let sorted = |model: &Value| {
            let mut edges = list(&model["edges"]).to_vec();
            edges.sort_by_key(|edge| (edge[1].as_u64(), edge[0].as_u64()));
            edges
        };
        assert_eq!(sorted(&copy), sorted(&case["model"]));
    }
}

#[test]
fn safetensors_hold_what_the_contract_says() {
    let case = golden(4);
    let folder = Folder::with_golden(&case);
    folder.run("model convert model.json model.safetensors");
    let bytes = folder.bytes("model.safetensors");
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let (n_nodes, n_edges) = (list(&case["model"]["leak"]).len(), list(&case["model"]["edges"]).len());
    assert_eq!(tensors.len(), 4);
    for (name, dtype, length) in [
        ("edge_offsets", Dtype::U64, n_nodes + 1),
        ("edge_parents", Dtype::U32, n_edges),
        ("edge_weights", Dtype::F32, n_edges),
        ("leak", Dtype::F32, n_nodes),
    ] {
        let tensor = tensors.tensor(name).unwrap();
        assert_eq!((tensor.dtype(), tensor.shape()), (dtype, &[length][..]), "{name}");
    }
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let metadata = header.metadata().as_ref().unwrap();
    assert_eq!((metadata["format"].as_str(), metadata["version"].as_str()), ("noisyor-model", "1"));
    assert_eq!(
        serde_json::from_str::<Value>(&metadata["names"]).unwrap(),
        json!([case["model"]["topics"], case["model"]["tokens"]])
    );
}

#[test]
fn a_trained_model_keeps_its_training_summary() {
    let folder = Folder::with_sample();
    folder.run("train --graph sample.tsv --steps 2 --seed 77 -o run");
    folder.run("model convert run/model.safetensors model.json");
    folder.run("model convert model.json model.safetensors");
    assert!(folder.bytes("run/model.safetensors") == folder.bytes("model.safetensors"));
    let training: Value =
        serde_json::from_str(folder.json("model.json")["training"].as_str().unwrap()).unwrap();
    assert_eq!(training["options"]["seed"], 77);
    assert_eq!(training["step"], 2);
}

#[test]
fn it_says_what_it_did_unless_quiet() {
    let folder = Folder::with_golden(&golden(0));
    let output = folder.run("model convert model.json copy.tsv");
    assert_eq!(text(&output.stdout), "");
    assert_eq!(text(&output.stderr), "3 topics, 5 tokens, 7 edges -> copy.tsv\n");
    assert_eq!(folder.stderr("model convert model.json copy.tsv --quiet"), "");
}

#[test]
fn what_a_format_cannot_hold_is_refused() {
    let folder = Folder::with_golden(&golden(0));
    let model = |topic: &str, token: &str, edges: Value| {
        json!({
            "format": "noisyor-model", "version": 1, "topics": ["a", topic], "tokens": [token],
            "leak": [1, 1, 1], "edges": edges,
        })
        .to_string()
    };
    folder.write("childless.json", model("lonely", "w", json!([[0, 2, 1]])));
    folder.write("tab.json", model("b", "a\tb", json!([[0, 2, 1], [1, 2, 1]])));
    folder.write("comment.json", model("b", "#w", json!([[0, 2, 1], [1, 2, 1]])));
    let before = folder.names_in(".");
    for (arguments, parts) in [
        ("childless.json out.tsv", &["out.tsv", "lonely", "use .json"][..]),
        ("tab.json out.tsv", &["out.tsv", "a\\tb", "use .json"]),
        ("comment.json out.tsv", &["out.tsv", "#w", "use .json"]),
        ("model.json out.bin", &["out.bin", ".json, .safetensors or .tsv"]),
        ("model.json out", &["out", ".json, .safetensors or .tsv"]),
        ("docs.svm out.json", &["docs.svm", ".json, .safetensors or .tsv"]),
        ("model.json", &["<TO>"]),
    ] {
        folder.fails(&format!("model convert {arguments}"), 2, parts);
        assert_eq!(folder.names_in("."), before, "{arguments}");
    }
    for name in ["childless", "tab", "comment"] {
        folder.run(&format!("model convert {name}.json {name}.safetensors"));
        folder.run(&format!("model convert {name}.safetensors {name}2.json"));
        assert_eq!(
            content(&folder.json(&format!("{name}2.json"))),
            content(&folder.json(&format!("{name}.json")))
        );
    }
}

/// A folder with `model.tsv`, two levels of topics.
fn pantry() -> Folder {
    let folder = Folder::new();
    folder.write("model.tsv", PANTRY);
    folder
}

#[test]
fn topics_are_renamed_by_name_part_or_number() {
    let folder = pantry();
    folder.run("model convert model.tsv model.json");
    let mut expected = folder.json("model.json");
    expected["topics"][2] = json!("orchard");
    for topic in ["fruit", "FRU", "2"] {
        folder.run(&format!("model rename model.tsv {topic} orchard -o new.json"));
        assert_eq!(content(&folder.json("new.json")), content(&expected), "{topic}");
    }
    std::fs::create_dir(folder.path("run")).unwrap();
    folder.run("model convert model.tsv run/model.safetensors");
    folder.run("model rename run fruit orchard -o of_run.json");
    assert_eq!(content(&folder.json("of_run.json")), content(&expected));
}

#[test]
fn a_dropped_topic_leaves_its_words_as_frequent_as_they_were() {
    let folder = pantry();
    let result = folder.result("model drop model.tsv bread farm -o new.json");
    assert_eq!((&result["topics"], &result["edges"]), (&json!(2), &json!(4)));
    folder.run("model convert model.tsv model.json");
    let (_, before) = content(&folder.json("model.json"));
    let (names, after) = content(&folder.json("new.json"));
    assert_eq!(names[0], json!(["food", "fruit"]));
    // P(bread) by its leak and by food; then P(flour off | bread) on average.
    let food = 1.0 - (-0.5f64).exp();
    let bread = 1.0 - (-0.05f64).exp() * (1.0 - food * (1.0 - (-2f64).exp()));
    let flour = 0.01 - (1.0 - bread * (1.0 - (-3f64).exp())).ln();
    assert!((f64::from(after["flour"]) - flour).abs() < 1e-6, "{after:?}");
    assert_eq!(after["fruit -> apple"], before["fruit -> apple"]);
    assert_eq!(after["eat"], before["eat"]);
}

#[test]
fn merged_topics_are_one_that_is_on_where_any_was() {
    let folder = pantry();
    folder.run("model merge model.tsv bread fruit --name pantry -o new.json");
    let (names, weights) = content(&folder.json("new.json"));
    assert_eq!(names[0], json!(["food", "farm", "pantry"]));
    assert_eq!((weights["pantry"], weights["food -> pantry"], weights["farm -> pantry"]), (0.1, 3.0, 0.5));
    assert!(weights["pantry -> flour"] > 0.0 && weights["pantry -> flour"] < 3.0, "{weights:?}");
    // Above and below each other: the edge between them goes.
    folder.run("model merge model.tsv fruit food -o up.json");
    assert_eq!(folder.json("up.json")["topics"], json!(["farm", "fruit", "bread"]));
}

#[test]
fn edits_that_make_no_sense_are_refused_and_nothing_is_written() {
    let folder = pantry();
    folder.write("chain.tsv", "\ta\t1\n\tb\t1\n\tc\t1\n\tw\t1\na\tb\t1\nb\tc\t1\nc\tw\t1\n");
    let before = folder.names_in(".");
    for (arguments, parts) in [
        ("rename model.tsv fruit bread -o out.json", &["topic", "'bread'", "differ"][..]),
        ("rename model.tsv fruit apple -o out.json", &["token", "'apple'", "differ"]),
        ("rename model.tsv nothing apple -o out.json", &["nothing", "no topic"]),
        ("rename model.tsv fruit orchard -o model.tsv", &["model.tsv", "another file"]),
        ("rename model.tsv fruit orchard -o out.bin", &["out.bin", ".json"]),
        ("rename model.tsv fruit orchard", &["--output"]),
        ("drop model.tsv -o out.json", &["TOPIC"]),
        ("drop model.tsv fruit 2 -o out.json", &["'fruit'", "twice"]),
        ("merge model.tsv fruit -o out.json", &["TOPIC"]),
        ("merge model.tsv fruit FRUIT -o out.json", &["twice"]),
        ("merge model.tsv fruit bread --name farm -o out.json", &["topic", "'farm'"]),
        ("merge chain.tsv a c -o out.json", &["'b'", "merge it"]),
    ] {
        folder.fails(&format!("model {arguments}"), 2, parts);
        assert_eq!(folder.names_in("."), before, "{arguments}");
    }
    folder.run("model merge chain.tsv a b c -o out.json");
    assert_eq!(folder.json("out.json")["topics"], json!(["a"]));
}
