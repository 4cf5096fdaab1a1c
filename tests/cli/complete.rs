//! `--parents all`, and `--init mixture`.

use crate::support::{Folder, THEMES, list, number, pantry_docs, theme_docs};
use noisyor::network::{load, load_model};
use serde_json::json;

/// Documents of one theme each, in `docs.jsonl`: twenty words of four themes.
fn themes() -> Folder {
    let folder = Folder::new();
    folder.write("docs.jsonl", theme_docs());
    folder
}

const ALL: &str = "train docs.jsonl --topics 4 --parents all --backend cpu";

#[test]
fn a_complete_graph_starts_from_a_mixture_and_is_named_after_its_words() {
    let folder = themes();
    let result = folder.result(&format!("{ALL} --epochs 3 -o run"));
    assert_eq!((&result["topics"], &result["edges"]), (&json!(4), &json!(80)));
    let config = folder.json("run/config.json");
    assert_eq!(
        (&config["network"]["complete"]["topics"], &config["options"]["init"]),
        (&json!([4]), &json!("mixture"))
    );
    assert_eq!(config["run"]["learning"], json!({ "topics": [4], "parents": "all" }));
    let network = load_model(&folder.path("run/model.safetensors")).unwrap();
    let mut themes: Vec<usize> = Vec::new();
    for (topic, name) in network.names.topics.iter().enumerate() {
        assert_eq!(network.graph.children(topic).len(), 20);
        // The words of a name are of one theme, and every theme has a topic.
        let of_theme = |theme: &&str| name.split(' ').all(|word| theme.split(' ').any(|own| own == word));
        themes.extend(THEMES.iter().position(of_theme));
    }
    themes.sort_unstable();
    assert_eq!(themes, [0, 1, 2, 3], "{:?}", network.names.topics);
    // Much better than at random.
    let random = folder.result(&format!("{ALL} --init data --steps 0 -o random"));
    let start = folder.result(&format!("{ALL} --steps 0 -o start"));
    let bound = |result: &serde_json::Value| number(&result["metrics"]["valid_elbo"]);
    assert!(bound(&start) > bound(&random) + 1.0, "{} {}", bound(&start), bound(&random));
    assert!(bound(&result) >= bound(&start));
}

#[test]
fn threads_and_stops_do_not_change_the_model() {
    let folder = themes();
    let options = "--topics 5,2 --parents all --epochs 4 --seed 3 --backend cpu";
    folder.run(&format!("train docs.jsonl {options} --threads 1 -o one"));
    folder.run(&format!("train docs.jsonl {options} --threads 2 -o two"));
    let model = folder.bytes("one/model.safetensors");
    assert!(model == folder.bytes("two/model.safetensors"));
    folder.run("train docs.jsonl --topics 5,2 --parents all --epochs 2 --seed 3 --backend cpu -o short");
    folder.run("train --resume short --epochs 4");
    let (whole, parts) = (folder.path("one/model.safetensors"), folder.path("short/model.safetensors"));
    assert_eq!(load_model(&whole).unwrap().weights, load_model(&parts).unwrap().weights);
}

#[test]
fn the_graph_alone_has_every_edge_between_layers_and_no_weights() {
    let folder = themes();
    let result = folder.result("graph docs.jsonl -o g.json --topics 4,2 --parents all");
    assert_eq!((&result["topics"], &result["edges"]), (&json!(6), &json!(88)));
    assert!(list(&result["layers"]).iter().all(|layer| list(&layer["examples"]).is_empty()));
    let loaded = load(&folder.path("g.json")).unwrap();
    assert!(loaded.weights.is_none());
    assert_eq!(loaded.names.topics, ["topic 1", "topic 2", "topic 3", "topic 4", "topic 5", "topic 6"]);
    // The top layer comes first, as in learned graphs.
    assert!((0..2).all(|topic| loaded.graph.children(topic) == [2, 3, 4, 5]));
    assert!((2..6).all(|topic| loaded.graph.children(topic).len() == 20));
    folder.fails(
        "graph docs.jsonl -o g.safetensors --topics 4 --parents all",
        2,
        &["g.safetensors", ".json"],
    );
    let quick = "--seconds 0.2 --backend cpu --threads 2 --epochs 2";
    assert_eq!(folder.result(&format!("plan docs.jsonl --graph g.json --init mixture {quick}"))["edges"], 88);
    // The same training as without the file, but for names.
    folder.run("graph docs.jsonl -o flat.json --topics 4 --parents all");
    folder.run("train docs.jsonl --graph flat.json --init mixture --epochs 2 --backend cpu -o given");
    folder.run(&format!("{ALL} --epochs 2 -o made"));
    let weights = |run: &str| load_model(&folder.path(&format!("{run}/model.safetensors"))).unwrap().weights;
    assert_eq!(weights("given"), weights("made"));
}

#[test]
fn what_cannot_be_is_refused_with_a_remedy() {
    let folder = themes();
    folder.write("sparse.tsv", "a\tball\na\tteam\nb\tteam\n");
    folder.write("words.txt", "x: ball\n");
    for (arguments, parts) in [
        ("train docs.jsonl --parents all", &["--parents all", "add --topics"][..]),
        ("train docs.jsonl --parents all --layers 2", &["--parents all", "add --topics"]),
        ("graph docs.jsonl --parents all -o g.json", &["--parents all", "add --topics"]),
        ("train docs.jsonl --parents all --topics 4 --max-edges 50", &["--max-edges", "leave out"]),
        ("train docs.jsonl --parents all --topics 4 --exclude ball,team", &["--exclude", "leave out"]),
        ("train docs.jsonl --parents all --topics 4 --anchors words.txt", &["--anchors", "leave out"]),
        ("train docs.jsonl --parents all --topics 4 --min-support 9", &["--min-support", "leave out"]),
        (
            "train docs.jsonl --parents all --topics 9000000",
            &["180000000 edges", "fewer topics", "--parents N"],
        ),
        ("train docs.jsonl --parents all --topics 4,0", &["0 topics", "1 topic or more"]),
        ("train docs.jsonl --parents some", &["--parents", "'all'"]),
        ("train docs.jsonl --graph sparse.tsv --parents all", &["--parents all", "--graph"]),
        ("train docs.jsonl --parents all --topics 4 --init graph", &["no weights", "--init data", "mixture"]),
        ("train docs.jsonl --topics 4 --init mixture", &["every token", "--parents all", "--init data"]),
        ("plan docs.jsonl --graph sparse.tsv --init mixture", &["every token", "--init data"]),
    ] {
        let rest = if arguments.starts_with("train") { " --backend cpu -o run" } else { "" };
        folder.fails(&format!("{arguments}{rest}"), 2, parts);
        assert!(!folder.path("run").exists(), "{arguments}");
    }
}

#[test]
fn it_can_be_refined_and_renewed() {
    let folder = themes();
    let result = folder.result(&format!("{ALL} --refine --max-edges 20 --epochs 2 -o refined"));
    assert!(number(&result["edges"]) <= 20.0);
    folder.write("pantry.jsonl", pantry_docs());
    folder.run("train pantry.jsonl --topics 2 --parents all --renew=1 --epochs 2 --backend cpu -o renewed");
}
