//! `train --from`: a model goes on with new documents.

#![allow(clippy::unwrap_used)] // helpers of tests are tests too

use crate::support::{Folder, PANTRY, THEMES, parse, text, theme_docs};
use noisyor::network::{Network, load_model};
use serde_json::{Value, json};

/// `old.jsonl` with three words of every theme, a model of it in `old/`, and `new.jsonl` with all five.
fn folder() -> Folder {
    let folder = Folder::new();
    let new = theme_docs();
    let known: Vec<&str> = THEMES.iter().flat_map(|theme| theme.split(' ').take(3)).collect();
    let old_line = |line: &str| {
        let doc = parse(line);
        let words: Vec<&Value> = doc["tokens"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|w| known.contains(&w.as_str().unwrap()))
            .collect();
        json!({"tokens": words}).to_string() + "\n"
    };
    folder.write("old.jsonl", new.lines().map(old_line).collect::<String>());
    folder.write("new.jsonl", new);
    folder.write("empty.jsonl", "");
    folder.write("graph.tsv", "sport\tball\nsport\tteam\n");
    folder.run("train old.jsonl --topics 4 --parents 1 --epochs 5 --backend cpu -o old");
    folder
}

const FROM: &str = "--from old/model.safetensors --backend cpu";

fn model(folder: &Folder, run: &str) -> Network {
    load_model(&folder.path(&format!("{run}/model.safetensors"))).unwrap()
}

#[test]
fn topics_and_tokens_stay_and_new_tokens_join_their_themes() {
    let folder = folder();
    let output = folder.run(&format!("train new.jsonl {FROM} --parents 1 -o run"));
    let (said, printed) = (text(&output.stderr), text(&output.stdout));
    let line = "8 new tokens, 8 of them attached to topics (8 edges), 0 without a topic";
    assert!(said.contains(line), "{said}");
    assert!(
        printed.contains("the same under the model it was trained from, new tokens attached: "),
        "{printed}"
    );
    let (old, new) = (model(&folder, "old"), model(&folder, "run"));
    assert_eq!(new.names.topics, old.names.topics);
    assert_eq!(new.names.tokens[..12], old.names.tokens);
    let old_edges: Vec<_> = old.graph.edges().collect();
    assert_eq!(new.graph.edges().take(old_edges.len()).collect::<Vec<_>>(), old_edges);
    for theme in THEMES {
        let node = |word| 4 + new.names.tokens.iter().position(|token| token == word).unwrap();
        let parents: Vec<&[u32]> = theme.split(' ').map(|word| new.graph.parents(node(word))).collect();
        assert!(
            parents.iter().all(|topics| topics.len() == 1 && *topics == parents[0]),
            "{theme}: {parents:?}"
        );
    }
    let config = folder.json("run/config.json");
    assert!(
        config["network"]["model"]["path"]
            .as_str()
            .is_some_and(|path| path.ends_with("/old/model.safetensors"))
    );
    assert_eq!(config["options"]["init"], "graph");
    // 180 of 200 documents were trained on, twice.
    let prior = json!({"docs": 180.0, "trained_docs": 180.0, "tokens": 12});
    assert_eq!(config["options"]["prior"], prior);
    assert_eq!(parse(&old.training)["docs"], 180);
    assert_eq!(parse(&new.training)["docs"], 360);
    // Once more, and there is nothing new.
    let said = folder.stderr("train new.jsonl --from run/model.safetensors --backend cpu -o again");
    assert!(said.contains("no new tokens"), "{said}");
    assert_eq!(model(&folder, "again").names, new.names);
    assert_eq!(folder.json("again/config.json")["options"]["prior"]["docs"], 360.0);
}

#[test]
fn an_update_gives_the_same_bytes_on_any_number_of_threads() {
    let folder = folder();
    let train = |run: &str, threads: u32| {
        folder.run(&format!("train new.jsonl {FROM} --epochs 3 --seed 3 --threads {threads} -o {run}"));
        folder.bytes(&format!("{run}/model.safetensors"))
    };
    let one = train("one", 1);
    assert!(one == train("two", 2), "2 threads");
    assert!(one == train("eight", 8), "8 threads");
}

#[test]
fn the_model_counts_as_told() {
    let folder = folder();
    let docs = |options: &str, run: &str| {
        folder.run(&format!("train new.jsonl --epochs 2 --backend cpu {options} -o {run}"));
        let config = folder.json(&format!("{run}/config.json"));
        (config["options"]["prior"]["docs"].clone(), parse(&model(&folder, run).training)["docs"].clone())
    };
    let from = "--from old/model.safetensors";
    assert_eq!(docs(&format!("{from} --from-docs 20"), "some"), (json!(20.0), json!(200)));
    // Where it counts for nothing any step will do.
    assert_eq!(docs(&format!("{from} --from-docs 0"), "none"), (Value::Null, json!(180)));
    assert_eq!(docs(&format!("{from} --from-docs 0 --step adam"), "adam"), (Value::Null, json!(180)));
    // A file that does not say what it was trained on counts as many documents as are new.
    folder.write("plain.tsv", "\tsport\t0.5\n\tball\t0.1\nsport\tball\t1\nsport\tteam\t1\n\tteam\t0.1\n");
    assert_eq!(docs("--from plain.tsv", "plain"), (json!(200.0), json!(380)));
    for (summary, counted) in [("{\"docs\":1e300}", 200.0), ("{\"docs\":-3}", 200.0), ("no JSON", 200.0)] {
        folder.run("model convert old/model.safetensors odd.json");
        let mut odd = folder.json("odd.json");
        odd["training"] = json!(summary);
        odd.as_object_mut().unwrap().remove("checksum");
        folder.write("odd.json", odd.to_string());
        let run = format!("odd{counted}{}", summary.len());
        assert_eq!(docs("--from odd.json", &run).0, json!(counted));
    }
}

#[test]
fn numbers_beyond_the_models_are_new_tokens() {
    let folder = Folder::new();
    let docs = |last: usize| {
        let line = |at: usize| {
            if at.is_multiple_of(2) { "0 1:1 2:1\n".to_owned() } else { format!("0 3:1 {last}:1\n") }
        };
        (0..60).map(line).collect::<String>()
    };
    folder.write("old.svm", docs(4));
    folder.write("new.svm", docs(6));
    folder.run("train old.svm --topics 2 --epochs 3 --backend cpu -o old");
    let said = folder.stderr(&format!("train new.svm {FROM} --epochs 3 -o run"));
    // Number 4 never occurs, and number 5 does with 2.
    assert!(
        said.contains("2 new tokens, 1 of them attached to topics (1 edges), 1 without a topic"),
        "{said}"
    );
    let network = model(&folder, "run");
    assert_eq!(network.names.tokens, ["0", "1", "2", "3", "4", "5"]);
    assert_eq!(network.graph.parents(2 + 5), &network.graph.parents(2 + 2)[..1]);
}

#[test]
fn text_brings_its_own_words_and_none_may_be_called_as_a_topic_is() {
    let folder = Folder::new();
    folder.write("pantry.tsv", PANTRY);
    let docs = ["eat fruit and an apple cake", "flour for the cake of bread", "apple pear cake", "eat flour"];
    folder.write("docs.txt", (docs.join("\n") + "\n").repeat(10));
    let said = folder.stderr("train docs.txt --from pantry.tsv --epochs 2 --backend cpu -o run");
    assert!(said.contains("left out: topics of the model have these names (for example '"), "{said}");
    assert!(said.contains("1 new tokens, "), "{said}");
    let network = model(&folder, "run");
    assert_eq!(network.names.tokens.last().unwrap(), "cake");
    assert_eq!(network.names.topics, load_model(&folder.path("pantry.tsv")).unwrap().names.topics);
}

#[test]
fn what_does_not_go_together_is_refused() {
    let folder = folder();
    folder.write("words.txt", "ball team\n");
    for (options, parts) in [
        ("--graph graph.tsv", &["--graph", "cannot be used"][..]),
        ("--refine", &["--refine", "cannot be used"]),
        ("--topics 4", &["--topics", "--from", "leave out"]),
        ("--layers 2", &["--layers", "leave out"]),
        ("--max-edges 40", &["--max-edges", "leave out"]),
        ("--anchors words.txt", &["--anchors", "leave out"]),
        ("--exclude ball,song", &["--exclude", "leave out"]),
        ("--init data", &["--init", "leave out"]),
        ("--init constant --from-docs 0", &["--init", "leave out"]),
        ("--step adam", &["--step em", "--from-docs 0"]),
        ("--step paper --from-docs 9", &["--step em", "--from-docs 0"]),
        ("--from-docs -1", &["-1"]),
        ("--from-docs many", &["many", "--from-docs"]),
        ("--parents 0", &["parents", "1 or more"]),
        ("--min-support 0", &["1 or more"]),
    ] {
        folder.fails(&format!("train new.jsonl {FROM} {options} -o run"), 2, parts);
    }
    folder.fails("train new.jsonl --from-docs 5 -o run", 2, &["--from"]);
    folder.fails("train --from old/model.safetensors -o run", 2, &["CORPUS"]);
    folder.fails("train new.jsonl --from none.json -o run", 3, &["none.json"]);
    folder.fails("train new.jsonl --from graph.tsv -o run", 2, &["graph.tsv", "weights"]);
    folder.fails(&format!("train empty.jsonl {FROM} -o run"), 2, &["no documents to train on"]);
    folder.write("strange.jsonl", "{\"tokens\":[\"quark\",\"lepton\"]}\n");
    let parts = ["the model knows none of the", "quark"];
    folder.fails(&format!("train strange.jsonl {FROM} -o run"), 2, &parts);
    assert!(!folder.path("run").exists());
}
