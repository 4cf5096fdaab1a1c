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
