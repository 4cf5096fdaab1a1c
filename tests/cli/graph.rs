//! `graph`: files, options, words that the user gives.

#![allow(clippy::unwrap_used)] // helpers of tests are tests too

use crate::support::{Folder, THEMES, keys, list, number, theme_docs};
use noisyor::network::{load, load_model};
use serde_json::json;

/// Documents of one theme each, in `docs.jsonl`.
fn themes(folder: &Folder) {
    folder.write("docs.jsonl", theme_docs());
}

#[test]
fn every_format_and_a_summary() {
    let folder = Folder::new();
    themes(&folder);
    for name in ["g.json", "g.safetensors", "g.tsv"] {
        let result = folder.result(&format!("graph docs.jsonl -o {name} --topics 4,2"));
        assert_eq!(keys(&result), ["docs", "edges", "graph", "layers", "seconds", "tokens", "topics"]);
        assert_eq!(
            (&result["docs"], &result["tokens"], &result["topics"]),
            (&json!(200), &json!(20), &json!(6))
        );
        let layers = list(&result["layers"]);
        assert_eq!(layers.iter().map(|layer| number(&layer["nodes"])).collect::<Vec<_>>(), [20.0, 4.0, 2.0]);
        let network = load_model(&folder.path(name)).unwrap();
        assert_eq!((network.graph.n_topics(), network.graph.n_tokens()), (6, 20));
    }
    let (one, other) = (folder.bytes("g.json"), folder.path("again.json"));
    folder.run("graph docs.jsonl -o again.json --topics 4,2 --threads 1");
    assert!(std::fs::read(other).unwrap() == one);
    let text = folder.stdout("graph docs.jsonl -o g.json --topics 4,2");
    assert!(text.contains("layer 2, for example") && text.contains("6 topics above 20 tokens"), "{text}");
}

#[test]
fn themes_become_topics_and_train() {
    let folder = Folder::new();
    themes(&folder);
    folder.run("graph docs.jsonl -o g.tsv --topics 4 --parents 1");
    let network = load_model(&folder.path("g.tsv")).unwrap();
    for topic in 0..4 {
        let words: Vec<&str> =
            network.graph.children(topic).iter().map(|&node| network.names.of(node)).collect();
        let theme = THEMES.iter().find(|theme| theme.split(' ').any(|word| word == words[0])).unwrap();
        assert!(words.len() == 5 && words.iter().all(|word| theme.contains(word)), "{words:?}");
        // A name is made of the topic's own words.
        assert!(network.names.topics[topic].split(' ').all(|word| words.contains(&word)));
    }
    folder.run("train docs.jsonl --graph g.tsv --epochs 2 --backend cpu -o run");
    folder.run("check g.tsv");
}

#[test]
fn flat_has_no_weights() {
    let folder = Folder::new();
    themes(&folder);
    for name in ["g.json", "g.tsv"] {
        folder.run(&format!("graph docs.jsonl -o {name} --topics 4,2 --flat"));
        let loaded = load(&folder.path(name)).unwrap();
        assert!(loaded.weights.is_none() && loaded.graph.n_topics() == 6 && loaded.graph.n_tokens() == 20);
    }
    folder.fails("graph docs.jsonl -o g.safetensors --flat", 2, &["g.safetensors", ".json"]);
    // A token that is with no other would be lost from a list of edges.
    folder.write("lone.svm", "0 1:1 2:1\n".repeat(9) + &"0 5:1\n".repeat(9));
    folder.fails("graph lone.svm -o lone.tsv --flat", 2, &["lone.tsv", "no parents", ".json"]);
    folder.run("graph lone.svm -o lone.json --flat");
    assert_eq!(load(&folder.path("lone.json")).unwrap().names.tokens, ["0", "1", "2", "3", "4"]);
}

#[test]
fn held_out_documents_are_not_looked_at() {
    let folder = Folder::new();
    themes(&folder);
    folder.run("corpus docs.jsonl -o docs.corpus");
    let shares = "--valid 0.2 --test 0.3 --seed 5";
    folder.run(&format!("corpus split docs.corpus {shares} -o parts"));
    folder.run("graph parts/train.corpus -o part.json --topics 4,2");
    let result = folder.result(&format!("graph docs.corpus -o whole.json --topics 4,2 {shares}"));
    assert_eq!(result["docs"], json!(100));
    assert!(folder.bytes("whole.json") == folder.bytes("part.json"));
    folder.fails("graph docs.corpus -o g.json --valid 0.5 --test 0.5", 2, &["--valid", "below 1"]);
}

#[test]
fn anchors_and_exclusions() {
    let folder = Folder::new();
    themes(&folder);
    folder.write("anchors.txt", "# given topics\nship: sail oven\n\ncooking\tbread flour\nball goal\r\n");
    folder.write("apart.txt", "song band\n");
    folder.run("graph docs.jsonl -o g.json --topics 6,2 --anchors anchors.txt --exclude apart.txt --exclude drum,choir");
    let network = load_model(&folder.path("g.json")).unwrap();
    let words = |topic: usize| -> Vec<&str> {
        network.graph.children(topic).iter().map(|&node| network.names.of(node)).collect()
    };
    assert_eq!(network.names.topics[2..4], ["ship", "cooking"]);
    for (topic, given) in [(2, ["sail", "oven"]), (3, ["bread", "flour"]), (4, ["ball", "goal"])] {
        assert!(given.iter().all(|word| words(topic).contains(word)), "{:?}", words(topic));
    }
    for topic in 2..8 {
        for pair in [["song", "band"], ["drum", "choir"]] {
            assert!(!pair.iter().all(|word| words(topic).contains(word)), "{:?}", words(topic));
        }
    }
}

#[test]
fn bad_lists_of_words_are_named_with_their_line() {
    let folder = Folder::new();
    themes(&folder);
    let graph = "graph docs.jsonl -o g.json --topics 6";
    for (content, parts) in [
        ("ship: sail\nbread flower\n", ["anchors.txt:2", "'flower'"]),
        ("ball: goal\n", ["anchors.txt:1", "'ball'"]),
        ("a: goal\na: team\n", ["anchors.txt:2", "'a'"]),
        ("a\t\nb: goal\n", ["anchors.txt:1", "'a'"]),
        ("a: goal\nb: \u{7}\n", ["anchors.txt:2", "no token"]),
    ] {
        folder.write("anchors.txt", content);
        folder.fails(&format!("{graph} --anchors anchors.txt"), 2, &parts);
    }
    folder.write("anchors.txt", b"a: goal\n\xff\xfe\n");
    folder.fails(&format!("{graph} --anchors anchors.txt"), 2, &["anchors.txt:2", "UTF-8"]);
    folder.fails(&format!("{graph} --anchors nowhere.txt"), 3, &["nowhere.txt"]);
    folder.fails(&format!("{graph} --exclude nowhere"), 2, &["nowhere", "word,word"]);
    folder.fails(&format!("{graph} --exclude ball,"), 2, &["'ball'", "two words"]);
    folder.fails(&format!("{graph} --exclude ball,flower"), 2, &["--exclude ball,flower", "'flower'"]);
    folder.write("anchors.txt", "x: ball goal\n");
    folder.fails(
        &format!("{graph} --anchors anchors.txt --exclude ball,goal"),
        2,
        &["'x'", "'ball'", "'goal'"],
    );
    assert_eq!(folder.names_in("."), ["anchors.txt", "docs.jsonl"]);
}

#[test]
fn bad_sizes_and_files() {
    let folder = Folder::new();
    themes(&folder);
    for (options, parts) in [
        ("--topics 21", ["21", "20 tokens"]),
        ("--topics 4,5", ["5", "4 topics"]),
        ("--topics 0", ["0 topics", "layer 1"]),
        ("--layers 0", ["0 layers", "1 or more"]),
        ("--layers 2 --topics 4", ["--layers", "--topics"]),
        ("--parents 0", ["0 parents", "1 or more"]),
        ("--topics 4 --max-edges 3", ["3 edges", "4 topics"]),
        ("--min-support 0", ["0 documents", "1 or more"]),
    ] {
        folder.fails(&format!("graph docs.jsonl -o g.json {options}"), 2, &parts);
    }
    folder.fails("graph docs.jsonl -o g.xyz", 2, &["g.xyz", ".json"]);
    folder.fails("graph docs.jsonl", 2, &["--output"]);
    folder.fails("graph nowhere.jsonl -o g.json", 3, &["nowhere.jsonl"]);
    folder.write("none.jsonl", "");
    folder.fails("graph none.jsonl -o g.json", 2, &["needs tokens"]);
    folder.write("docs.json", folder.bytes("docs.jsonl"));
    folder.fails("graph docs.json --format jsonl -o docs.json", 2, &["docs.json", "replaced"]);
    assert_eq!(folder.names_in("."), ["docs.json", "docs.jsonl", "none.jsonl"]);
}
