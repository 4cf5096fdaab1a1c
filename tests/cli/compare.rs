//! `compare`: a run with itself, with another seed, with another corpus, and models alone.

use crate::support::{Folder, PANTRY, keys, list, number, pantry_docs, text, theme_docs};
use serde_json::{Value, json};

/// Two runs on the same documents with the same split: more or fewer epochs.
fn with_runs() -> Folder {
    let folder = Folder::new();
    folder.write("graph.tsv", PANTRY);
    folder.write("docs.jsonl", pantry_docs());
    let train = "train docs.jsonl --graph graph.tsv --patience 0 --valid 0.2 --test 0.2 -q";
    folder.run(&format!("{train} --epochs 8 -o a"));
    folder.run(&format!("{train} --epochs 1 --lambda 3 -o b"));
    folder
}

fn setting<'a>(result: &'a Value, key: &str) -> &'a Value {
    list(&result["settings"]).iter().find(|setting| setting["key"] == key).unwrap_or(&Value::Null)
}

#[test]
fn a_run_with_itself() {
    let folder = with_runs();
    let result = folder.result("compare a a");
    assert_eq!(keys(&result), ["a", "b", "documents", "notes", "settings", "topics"]);
    assert_eq!((&result["settings"], &result["notes"]), (&json!([]), &json!([])));
    let differences = &result["documents"]["differences"];
    assert_eq!((&differences["docs"], number(&differences["mean"])), (&json!(16), 0.0));
    assert_eq!((number(&differences["standard_error"]), &differences["a_better"]), (0.0, &json!(0)));
    let matched = list(&result["topics"]["matched"]);
    assert_eq!(matched.len(), 4);
    for pair in matched {
        assert_eq!(pair["a"], pair["b"]);
        // A vector of length 1 with itself, to rounding.
        assert!(number(&pair["similarity"]) > 1.0 - 1e-12, "{pair}");
    }
    let stdout = folder.stdout("compare a a");
    assert!(stdout.contains("all options are the same"), "{stdout}");
    assert!(stdout.contains("A - B: +0.0000"), "{stdout}");
    assert!(stdout.contains("4 of 4 topics in A and 4 in B are the same"), "{stdout}");
}

#[test]
fn two_runs_by_options_bounds_and_documents() {
    let folder = with_runs();
    let result = folder.result("compare a b --per-doc docs.tsv");
    assert_eq!(result["notes"], json!([]));
    assert_eq!(setting(&result, "options.epochs"), &json!({"key": "options.epochs", "a": 8, "b": 1}));
    assert_eq!(setting(&result, "options.step.lambda")["b"], 3.0);
    assert!(setting(&result, "run.arguments").is_null() && setting(&result, "run.ended").is_null());
    let metrics = folder.json_lines("a/metrics.jsonl");
    assert_eq!(result["a"]["last"], metrics[7]);
    assert_eq!(result["a"]["ended"], "finished");
    assert_eq!((&result["a"]["topics"], &result["a"]["edges"]), (&json!(4), &json!(8)));

    // Bounds of the documents held out, as the runs found them themselves: 8 validation documents and 8 of the test.
    let differences = &result["documents"]["differences"];
    assert_eq!(differences["docs"], 16);
    for (side, mean) in [("a", "mean_a"), ("b", "mean_b")] {
        let best = number(&result[side]["best"]["valid_elbo"]);
        let both = 0.5 * (best + number(&result[side]["test_elbo"]));
        // Documents are evaluated in another order, and each by itself, in f32.
        assert!((number(&differences[mean]) - both).abs() < 1e-3, "{side}: {both} {differences}");
    }
    assert!(number(&differences["mean"]) > 0.0, "eight epochs are better than one: {differences}");
    let table = folder.table("docs.tsv");
    assert_eq!((table.len(), table[0].join(" ")), (17, "doc elbo_a elbo_b difference".to_owned()));
    let sum: f64 = table[1..].iter().map(|row| row[3].parse::<f64>().unwrap()).sum();
    assert!((sum / 16.0 - number(&differences["mean"])).abs() < 1e-9);
    let first = &result["documents"]["best_under_a"][0];
    let largest =
        table[1..].iter().map(|row| row[3].parse::<f64>().unwrap()).fold(f64::NEG_INFINITY, f64::max);
    assert_eq!(number(&first["difference"]), largest);

    let stdout = folder.stdout("compare a b");
    for part in
        ["options.step.lambda", "best held-out bound", "test bound", "16 documents held out by both", "█"]
    {
        assert!(stdout.contains(part), "'{part}' is not in\n{stdout}");
    }
    let stdout = folder.stdout("compare a b --no-docs");
    assert!(!stdout.contains("held out by both") && stdout.contains("topics in A"), "{stdout}");
}

#[test]
fn topics_in_another_order_are_found() {
    let folder = Folder::new();
    folder.write("a.tsv", PANTRY);
    // Names and places of topics count for nothing, their words do.
    let other = PANTRY.replace("food", "1").replace("farm", "0").replace("fruit", "z").replace("bread", "y");
    folder.write("b.tsv", other.lines().rev().map(|line| format!("{line}\n")).collect::<String>());
    let result = folder.result("compare a.tsv b.tsv");
    let mut pairs: Vec<(&str, &str)> = list(&result["topics"]["matched"])
        .iter()
        .map(|pair| (pair["a"]["topic"].as_str().unwrap(), pair["b"]["topic"].as_str().unwrap()))
        .collect();
    pairs.sort_unstable();
    assert_eq!(pairs, [("bread", "y"), ("farm", "0"), ("food", "1"), ("fruit", "z")]);
    assert!(list(&result["topics"]["matched"]).iter().all(|pair| number(&pair["similarity"]) > 1.0 - 1e-9));
    assert!(result["documents"].is_null());
    let notes = result["notes"].to_string();
    assert!(notes.contains("A is a model alone") && notes.contains("--corpus"), "{notes}");
}

#[test]
fn another_seed_finds_mostly_the_same_topics() {
    let folder = Folder::new();
    folder.write("docs.jsonl", theme_docs());
    for seed in [1, 2] {
        folder
            .run(&format!("train docs.jsonl --topics 4 --epochs 20 --valid 0.3 --seed {seed} -q -o {seed}"));
    }
    let result = folder.result("compare 1 2");
    let (matched, only) = (list(&result["topics"]["matched"]).len(), list(&result["topics"]["only_a"]).len());
    assert!(matched >= 3 && matched + only == 4, "{}", result["topics"]);
    assert_eq!(setting(&result, "options.seed"), &json!({"key": "options.seed", "a": 1, "b": 2}));
    // Another seed is another split: of 60 documents held out by each about 18 are the same.
    let both = result["documents"]["differences"]["docs"].as_u64().unwrap();
    assert!((5..40).contains(&both), "{both}");
    assert!(result["notes"].to_string().contains("held out different documents"), "{}", result["notes"]);
}

#[test]
fn what_cannot_be_compared_is_said() {
    let folder = with_runs();
    folder.write("themes.jsonl", theme_docs());
    folder.run("train themes.jsonl --topics 4 --epochs 2 --bound local -q -o other");
    let result = folder.result("compare a other");
    let notes = result["notes"].to_string();
    for part in ["different documents", "tail bound", "local bound", "tokens are in A alone"] {
        assert!(notes.contains(part), "'{part}' is not in {notes}");
    }
    assert!(result["documents"].is_null());
    assert_eq!(list(&result["topics"]["matched"]).len(), 0);
    // A corpus that is gone, and is found again.
    std::fs::rename(folder.path("docs.jsonl"), folder.path("moved.jsonl")).unwrap();
    folder.fails("compare a b", 2, &["docs.jsonl", "--corpus"]);
    folder.run("compare a b --no-docs");
    let result = folder.result("compare a b --corpus moved.jsonl");
    assert_eq!(result["documents"]["differences"]["docs"], 16);
    folder.fails("compare a b --corpus themes.jsonl", 2, &["themes.jsonl", "not the documents"]);
}

#[test]
fn models_alone() {
    let folder = with_runs();
    let model = folder.result("compare a b/model.safetensors");
    let notes = model["notes"].to_string();
    assert!(notes.contains("B is a model alone") && notes.contains("may have seen"), "{notes}");
    let runs = folder.result("compare a b");
    assert_eq!(model["documents"]["differences"], runs["documents"]["differences"]);
    let models = folder.result("compare a/model.safetensors b/model.safetensors --corpus docs.jsonl");
    assert_eq!(models["documents"]["differences"]["docs"], 40);
    folder.write("empty.jsonl", "");
    let empty =
        folder.result("compare a/model.safetensors b/model.safetensors --corpus empty.jsonl --per-doc t.tsv");
    assert!(empty["documents"].is_null());
    assert_eq!(folder.text("t.tsv"), "doc\telbo_a\telbo_b\tdifference\n");
}

#[test]
fn no_topics_odd_names_and_long_ones() {
    let folder = Folder::new();
    let model = |topics: Value, tokens: Value, leak: Value, edges: Value| {
        json!({"format": "noisyor-model", "version": 1, "topics": topics, "tokens": tokens, "leak": leak, "edges": edges})
            .to_string()
    };
    folder.write("none.json", model(json!([]), json!(["w"]), json!([0.5]), json!([])));
    let long = "x".repeat(10_000);
    let odd = model(
        json!(["\u{1b}[31m<b>\n", &long]),
        json!(["\u{202e}evil\t", "w"]),
        json!([0.5, 0.5, 0.1, 0.1]),
        json!([[0, 2, 1.0], [1, 3, 1.0]]),
    );
    folder.write("odd.json", odd);
    let result = folder.result("compare none.json none.json");
    assert_eq!(result["topics"], json!({"matched": [], "only_a": [], "only_b": []}));
    assert!(folder.stdout("compare none.json none.json").contains("0 of 0 topics"));
    let stdout = folder.stdout("compare odd.json odd.json");
    assert!(stdout.contains("2 of 2 topics") && stdout.contains("<b> : "), "{stdout}");
    assert!(!stdout.contains('\u{1b}') && stdout.lines().all(|line| line.chars().count() < 120), "{stdout}");
    let result = folder.result("compare none.json odd.json");
    assert_eq!(list(&result["topics"]["only_b"]).len(), 2);
    assert!(result["notes"].to_string().contains("1 in B alone"), "{}", result["notes"]);
}

#[test]
fn inputs_are_not_replaced_and_faults_are_told() {
    let folder = with_runs();
    for file in ["docs.jsonl", "a/model.safetensors", "b/metrics.jsonl"] {
        let before = folder.bytes(file);
        folder.fails(&format!("compare a b --per-doc {file}"), 2, &["would be replaced"]);
        assert_eq!(folder.bytes(file), before);
    }
    folder.fails("compare a nowhere", 3, &["nowhere"]);
    folder.fails("compare a .", 2, &["no run folder"]);
    folder.fails("compare a b --no-docs --per-doc x.tsv", 2, &["--no-docs"]);
    let output = folder.run("compare a b -q");
    assert_eq!(text(&output.stderr), "");
}
