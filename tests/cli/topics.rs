//! `topics`: the hierarchy as text and as JSON.

use crate::support::{Folder, PANTRY, keys, list, number};
use serde_json::{Value, json};

fn pantry() -> Folder {
    let folder = Folder::new();
    folder.write("model.tsv", PANTRY);
    folder
}

#[test]
fn text_is_a_tree_with_the_strongest_first() {
    let expected = "\
food: eat
├─ bread: flour
└─ fruit: apple, pear
farm: apple (also fruit)
";
    assert_eq!(pantry().stdout("topics model.tsv"), expected);
}

#[test]
fn top_limits_tokens_and_depth_limits_levels() {
    let folder = pantry();
    for (options, expected) in [
        ("--top 1", "food: eat\n├─ bread: flour\n└─ fruit: apple\nfarm: apple (also fruit)\n"),
        ("--top 0", "food\n├─ bread\n└─ fruit\nfarm (also fruit)\n"),
        ("--depth 1", "food: eat\nfarm: apple (also fruit)\n"),
        ("--depth 2", "food: eat\n├─ bread: flour\n└─ fruit: apple, pear\nfarm: apple (also fruit)\n"),
        ("--depth 1 --top 0", "food\nfarm (also fruit)\n"),
    ] {
        assert_eq!(folder.stdout(&format!("topics model.tsv {options}")), expected, "{options}");
    }
}

#[test]
fn json_has_names_and_probabilities() {
    let folder = pantry();
    let trees = folder.result("topics model.tsv");
    let (food, farm) = (&trees[0], &trees[1]);
    assert_eq!(list(&trees).len(), 2);
    assert_eq!(keys(food), ["also", "p", "tokens", "topic", "topics"]);
    assert_eq!((&food["topic"], &farm["topic"]), (&json!("food"), &json!("farm")));
    assert_eq!((&food["also"], &farm["also"]), (&json!([]), &json!(["fruit"])));
    let fruit = &food["topics"][1];
    assert_eq!(fruit["topic"], "fruit");
    assert_eq!(fruit["tokens"][0][0], "apple");
    let on = |weight: f64| 1.0 - (-weight).exp();
    for (value, weight) in
        [(&food["p"], 0.5), (&fruit["p"], 1.0), (&fruit["tokens"][0][1], 2.0), (&farm["tokens"][0][1], 0.25)]
    {
        assert!((number(value) - on(weight)).abs() < 1e-12, "{value} for weight {weight}");
    }
    let cut = folder.result("topics model.tsv --depth 1 --top 0");
    assert_eq!((&cut[0]["topics"], &cut[0]["tokens"]), (&json!([]), &json!([])));
}

#[test]
fn no_topics() {
    let folder = Folder::new();
    let model = json!({
        "format": "noisyor-model", "version": 1, "topics": [], "tokens": ["w"], "leak": [0.5], "edges": [],
    });
    folder.write("model.json", model.to_string());
    assert_eq!(folder.stdout("topics model.json"), "no topics\n");
    assert_eq!(folder.result("topics model.json"), Value::Array(vec![]));
}

#[test]
fn lines_fit_the_width_and_the_strongest_tokens_stay() {
    let folder = pantry();
    let expected = "food: eat\n├─ bread: flour\n└─ fruit: apple…\nfarm: apple\n";
    assert_eq!(folder.stdout("topics model.tsv --width 20").replace("apple, …", "apple…"), expected);
    let wide = "日本語の長い話題の名前";
    folder.write("wide.tsv", format!("\t{wide}\t0.5\n\tw\t0.1\n{wide}\tw\t1\n"));
    let line = folder.stdout("topics wide.tsv --width 20");
    assert_eq!(line, "日本語の長い話題の…\n", "two columns a character");
}

#[test]
fn names_cannot_move_the_cursor() {
    let folder = Folder::new();
    let model = json!({
        "format": "noisyor-model", "version": 1, "topics": ["a\u{1b}[2Jb\nc"], "tokens": ["\u{202e}w"], "leak": [0.5, 0.5],
        "edges": [[0, 1, 1.0]],
    });
    folder.write("model.json", model.to_string());
    assert_eq!(folder.stdout("topics model.json"), "a\\u{1b}[2Jb\\nc: \\u{202e}w\n");
}

#[test]
fn search_finds_names_and_strong_words_with_their_path() {
    let folder = pantry();
    assert_eq!(folder.stdout("topics model.tsv --search FRUIT"), "food > *fruit*: apple, pear\n");
    assert_eq!(
        folder.stdout("topics model.tsv --search apple"),
        "food > fruit: *apple*, pear\nfarm: *apple*\n"
    );
    assert_eq!(folder.stdout("topics model.tsv --search pear --top 0"), "food > fruit: *pear*\n");
    assert_eq!(folder.stdout("topics model.tsv --search quince"), "no topic has quince\n");
    // Words that begin so, not words that have it inside.
    assert_eq!(folder.stdout("topics model.tsv --search ear"), "no topic has ear\n");
    // All of the words, each in the name or in a token.
    let output = folder.noisyor("topics model.tsv --search").arg("fru pear").output().expect("it starts");
    assert_eq!(output.stdout, "food > *fruit*: *pear*, apple\n".as_bytes());
    let found = folder.result("topics model.tsv --search apple");
    assert_eq!(found[0]["path"], json!(["food"]));
    assert_eq!((&found[0]["number"], &found[0]["matched"]), (&json!(2), &json!(["apple"])));
    assert_eq!(folder.result("topics model.tsv --search quince"), json!([]));
    folder.fails("topics model.tsv --search", 2, &["--search"]);
}

#[test]
fn graph_exports_have_every_topic_edge_and_the_top_tokens() {
    let folder = pantry();
    folder.run("topics model.tsv --top 1 --dot g.dot --graphml g.graphml -q");
    let (dot, graphml) = (folder.text("g.dot"), folder.text("g.graphml"));
    // Four topics, and eat, apple and flour, each the strongest of some topic.
    assert_eq!((graphml.matches("<node ").count(), graphml.matches("<edge ").count()), (7, 7));
    assert_eq!((dot.matches("label=").count(), dot.matches(" -> ").count()), (7, 7));
    assert!(!graphml.contains("pear") && graphml.contains("<data key=\"name\">apple</data>"), "{graphml}");
    let edge = "<edge source=\"n0\" target=\"n2\"><data key=\"weight\">1</data><data key=\"p\">0.6321205588285577</data></edge>";
    assert!(graphml.contains(edge), "{graphml}");
    folder.run("topics model.tsv --top 0 --graphml bare.graphml -q");
    assert_eq!(folder.text("bare.graphml").matches("<node ").count(), 4);
    folder.fails("topics model.tsv --dot model.tsv", 2, &["would be replaced"]);
    folder.fails("topics model.tsv --dot g --graphml g", 2, &["one file"]);
}
