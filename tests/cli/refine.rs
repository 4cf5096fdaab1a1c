//! `train` that learns a graph, and `train --refine`: names, budgets, options that do not go together, hardly any documents.

#![allow(clippy::unwrap_used)] // helpers of tests are tests too

use crate::support::{Folder, PANTRY, THEMES, keys, list, number, pantry_docs, theme_docs};
use noisyor::network::load_model;
use serde_json::{Value, json};

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("docs.jsonl", theme_docs());
    folder.write("graph.tsv", PANTRY);
    folder.write("pantry.jsonl", pantry_docs());
    folder
}

#[test]
fn a_graph_is_learned_from_the_training_documents_and_written_down() {
    let folder = folder();
    let result = folder.result("train docs.jsonl --topics 4,2 --epochs 3 -o run");
    assert_eq!((&result["topics"], &result["graph_weights_elbo"]), (&json!(6), &Value::Null));
    let config = folder.json("run/config.json");
    assert_eq!(config["network"]["learned"]["topics"], json!([4, 2]));
    assert_eq!(config["options"]["init"], "graph");
    assert_eq!(config["run"]["learning"]["topics"], json!([4, 2]));
    let network = load_model(&folder.path("run/model.safetensors")).unwrap();
    assert_eq!(network.graph.n_edges(), number(&result["edges"]) as usize);
    // What `graph` learns from the same part is what training starts from.
    folder.run("graph docs.jsonl --topics 4,2 --valid 0.1 -o graph.json");
    folder.run("train docs.jsonl --topics 4,2 --steps 0 -o learned");
    folder.run("train docs.jsonl --graph graph.json --init graph --steps 0 -o given");
    let network = |run: &str| load_model(&folder.path(&format!("{run}/model.safetensors"))).unwrap();
    let (learned, given) = (network("learned"), network("given"));
    assert!((learned.graph, learned.weights, learned.names) == (given.graph, given.weights, given.names));
}

#[test]
fn learning_and_refining_gives_the_same_bytes_on_any_number_of_threads() {
    let folder = folder();
    let train = |run: &str, threads: u32| {
        let options = "--topics 4,2 --max-edges 24 --refine --epochs 2 --seed 3";
        folder.run(&format!("train docs.jsonl {options} --threads {threads} -o {run}"));
        folder.bytes(&format!("{run}/model.safetensors"))
    };
    let one = train("one", 1);
    assert!(one == train("two", 2), "2 threads");
    assert!(one == train("eight", 8), "8 threads");
    let config = folder.json("one/config.json");
    assert_eq!(config["options"]["refine"]["max_edges"], 24);
    assert_eq!(
        keys(&config["options"]["refine"]).join(" "),
        "epochs first_epochs max_edges reseeds rounds swaps"
    );
    assert!(load_model(&folder.path("one/model.safetensors")).unwrap().graph.n_edges() <= 24);
}

#[test]
fn refined_topics_are_the_themes_and_named_after_them() {
    let folder = folder();
    let result = folder.result("train docs.jsonl --topics 4 --max-edges 20 --refine -o run");
    assert_eq!(result["edges"], 20);
    let network = load_model(&folder.path("run/model.safetensors")).unwrap();
    assert_eq!(network.names.repeated(), None);
    for (topic, name) in network.names.topics.iter().enumerate() {
        let words: Vec<&str> =
            network.graph.children(topic).iter().map(|&node| network.names.of(node)).collect();
        let theme = THEMES.iter().find(|theme| theme.split(' ').any(|word| word == words[0])).unwrap();
        assert!(words.len() == 5 && words.iter().all(|word| theme.contains(word)), "{name}: {words:?}");
        assert!(name.split(' ').all(|word| words.contains(&word)), "{name}: {words:?}");
    }
    // Evaluations while refining are written, too, with the edges of the time.
    let metrics = folder.json_lines("run/metrics.jsonl");
    assert_eq!(metrics.last().unwrap()["n_edges"], 20);
    assert!(metrics.iter().any(|line| number(&line["n_edges"]) > 20.0));
    assert!(metrics.windows(2).all(|pair| number(&pair[0]["step"]) <= number(&pair[1]["step"])));
}

#[test]
fn topics_of_a_given_graph_keep_their_names_unless_they_begin_anew() {
    let folder = folder();
    let words: String = THEMES
        .iter()
        .enumerate()
        .flat_map(|(at, theme)| theme.split(' ').map(move |word| format!("theme {at}\t{word}\n")))
        .collect();
    folder.write("themes.tsv", words);
    folder.run("train docs.jsonl --graph themes.tsv --refine --epochs 2 -o same");
    let names = load_model(&folder.path("same/model.safetensors")).unwrap().names.topics;
    assert_eq!(names, ["theme 0", "theme 1", "theme 2", "theme 3"]);

    // The last theme is known to no topic, and the only word of "idle" does not occur. So many other words do not either that
    // the complete graph is too large to start from.
    let mut graph = "\tidle\t0.01\nidle\tnever\t0.1\n\tnever\t0.01\n".to_owned();
    for (at, theme) in THEMES.iter().enumerate() {
        theme.split(' ').for_each(|word| graph += &format!("\t{word}\t0.02\n"));
        if at < 3 {
            theme.split(' ').for_each(|word| graph += &format!("theme {at}\t{word}\t1\n"));
            graph += &format!("\ttheme {at}\t0.1\n");
        }
    }
    graph += &(0..40).map(|at| format!("\tnever {at}\t0.01\n")).collect::<String>();
    folder.write("idle.tsv", graph);
    let result =
        folder.result("train docs.jsonl --graph idle.tsv --refine --max-edges 20 --epochs 2 -o idle");
    let network = load_model(&folder.path("idle/model.safetensors")).unwrap();
    let names = &network.names.topics;
    let (kept, new): (Vec<&String>, Vec<&String>) = names.iter().partition(|name| name.starts_with("theme "));
    assert_eq!(kept, ["theme 0", "theme 1", "theme 2"]);
    assert_eq!((new.len(), &result["topics"]), (1, &json!(4)));
    assert!(new[0].split(' ').all(|word| THEMES[3].contains(word)), "{names:?}");
}

#[test]
fn topics_without_edges_are_dropped() {
    let folder = folder();
    let result =
        folder.result("train pantry.jsonl --graph graph.tsv --refine --max-edges 2 --epochs 2 -o run");
    assert!(number(&result["edges"]) <= 2.0 && number(&result["topics"]) <= 2.0, "{result}");
    let network = load_model(&folder.path("run/model.safetensors")).unwrap();
    assert!((0..network.graph.n_topics()).all(|topic| !network.graph.children(topic).is_empty()));
    folder.run("eval run/model.safetensors pantry.jsonl");
    folder.run("check run/model.safetensors");
}

#[test]
fn nothing_held_out() {
    let folder = folder();
    let stdout = folder.stdout("train docs.jsonl --topics 4 --refine --valid 0 --epochs 2 -o run");
    assert!(!stdout.contains("held-out") && stdout.contains("finished"), "{stdout}");
    let result = folder.result("train docs.jsonl --topics 4 --valid 0 --epochs 2 -o plain");
    assert_eq!(result["metrics"]["valid_elbo"], Value::Null);
}

#[test]
fn a_test_part_is_judged_at_the_end() {
    let folder = folder();
    let result = folder.result("train docs.jsonl --topics 4 --refine --test 0.3 --epochs 2 -o run");
    assert_eq!(result["test_docs"], 60);
    assert!(number(&result["test_elbo"]) < 0.0);
}

#[test]
fn hardly_any_documents() {
    let folder = Folder::new();
    let doc = |words: &[&str]| json!({"tokens": words}).to_string() + "\n";
    let (empty, one, two) = (doc(&[]), doc(&["a"]), doc(&["a", "b"]));
    for (at, docs) in [
        one.clone(),
        two.clone(),
        one.repeat(3),
        two.repeat(3),
        empty.clone() + &two + &empty,
        empty.repeat(2) + &one.repeat(12) + &two.repeat(12),
    ]
    .into_iter()
    .enumerate()
    {
        folder.write("docs.jsonl", docs);
        for (how, options) in
            [("learn", ""), ("refine", "--refine"), ("one", "--topics 1 --max-edges 1 --refine")]
        {
            // Documents held out may hold the only tokens: then there is nothing to learn from, which is said.
            let command = format!("train docs.jsonl {options} --epochs 2 -o {how}{at} -q");
            let output = folder.noisyor(&command).output().unwrap();
            let message = String::from_utf8(output.stderr).unwrap();
            match output.status.code() {
                Some(0) => _ = folder.run(&format!("topics {how}{at}/model.safetensors")),
                Some(2) => assert!(message.contains("nothing to learn a graph from"), "{command}: {message}"),
                _ => panic!("{command}: {message}"),
            }
        }
    }
    folder.write("docs.jsonl", empty.repeat(3));
    folder.fails("train docs.jsonl --refine -o none", 2, &["tokens"]);
    assert!(!folder.path("none").exists());
}

#[test]
fn what_does_not_go_together_is_refused_and_leaves_nothing() {
    let folder = folder();
    folder.write("bare.tsv", "fruit\tapple\nfruit\tpear\nbread\tflour\n");
    let before = folder.names_in(".");
    let given = "train pantry.jsonl --graph graph.tsv -o run";
    let learned = "train docs.jsonl -o run";
    for (arguments, parts) in [
        (format!("{given} --max-edges 5"), &["--max-edges", "--graph"][..]),
        (format!("{given} --topics 4"), &["--topics", "--graph"]),
        (format!("{given} --layers 2"), &["--layers", "--graph"]),
        (format!("{given} --refine --parents 3"), &["--parents", "--graph"]),
        (format!("{given} --refine --min-support 7"), &["--min-support", "--graph"]),
        (format!("{given} --refine --exclude a,b"), &["--exclude", "--graph"]),
        (format!("{given} --anchors graph.tsv"), &["--anchors", "--graph"]),
        (format!("{given} --refine --max-edges 0"), &["at least one edge"]),
        (format!("{learned} --refine --max-edges 0"), &["at least one edge"]),
        (format!("{learned} --max-edges 0"), &["0 edges"]),
        (format!("{learned} --topics 4 --max-edges 3"), &["3 edges", "4 topics"]),
        (format!("{learned} --topics 21"), &["21", "20 tokens"]),
        (format!("{learned} --anchors nowhere.txt"), &["nowhere.txt"]),
        ("train pantry.jsonl --graph bare.tsv --init graph -o run".into(), &["no weights", "--init data"]),
        ("train --format jsonl -o run".into(), &["--format", "none is given"]),
    ] {
        let status = if arguments.contains("nowhere") { 3 } else { 2 };
        folder.fails(&arguments, status, parts);
        assert_eq!(folder.names_in("."), before, "{arguments}");
    }
}

#[test]
fn weights_of_the_graph_are_a_start() {
    let folder = folder();
    folder.run("train pantry.jsonl --graph graph.tsv --init graph --steps 0 --cap 2 -o run");
    folder.run("model convert graph.tsv given.json");
    folder.run("model convert run/model.safetensors start.json");
    let (given, start) = (folder.json("given.json"), folder.json("start.json"));
    assert_eq!(list(&given["edges"]).len(), list(&start["edges"]).len());
    for (given, start) in list(&given["edges"]).iter().zip(list(&start["edges"])) {
        assert_eq!((&given[0], &given[1]), (&start[0], &start[1]));
        assert!((number(&given[2]).min(2.0) - number(&start[2])).abs() < 1e-6, "{given} {start}");
    }
    for (given, start) in list(&given["leak"]).iter().zip(list(&start["leak"])) {
        assert!((number(given) - number(start)).abs() < 1e-6, "{given} {start}");
    }
    folder.run("train pantry.jsonl --graph graph.tsv --steps 0 -o data");
    assert!(folder.bytes("run/model.safetensors") != folder.bytes("data/model.safetensors"));
}

#[test]
fn what_refinement_would_not_keep_to_is_refused() {
    let folder = folder();
    folder.write("topics.txt", "salt flour\n");
    for option in ["--exclude salt,flour", "--anchors topics.txt"] {
        let train = format!("train docs.jsonl --topics 4 --refine {option} -o run");
        folder.fails(&train, 2, &["--refine", "leave out one"]);
        assert!(!folder.path("run").exists());
    }
    folder.fails("train docs.jsonl --topics 4 --refine --steps 0 -o run", 2, &["--steps 0"]);
}
