//! `docs`: the documents of a topic.

use crate::support::{Folder, PANTRY, list, number};
use serde_json::json;

fn pantry() -> Folder {
    let folder = Folder::new();
    folder.write("model.tsv", PANTRY);
    let docs = ["flour", "eat apple pear", "pear", "eat", "apple", "apple pear"];
    let line = |(at, doc): (usize, &str)| {
        let tokens: Vec<&str> = doc.split(' ').collect();
        json!({"id": format!("d{at}"), "tokens": tokens}).to_string() + "\n"
    };
    folder.write("docs.jsonl", docs.into_iter().enumerate().map(line).collect::<String>());
    folder
}

#[test]
fn the_strongest_come_first_with_the_q_of_infer_and_their_words() {
    let folder = pantry();
    folder.run("infer model.tsv docs.jsonl -o all.tsv --threshold 0 --backend cpu");
    for (topic, words) in [("fruit", &["apple", "pear"][..]), ("food", &["eat", "apple", "pear", "flour"])] {
        let q = |row: &&Vec<String>| row[1] == topic;
        let mut expected: Vec<(String, f64)> = folder
            .table("all.tsv")
            .iter()
            .filter(q)
            .map(|row| (row[0].clone(), row[2].parse().unwrap()))
            .collect();
        expected.sort_by(|a, b| b.1.total_cmp(&a.1));
        let result =
            folder.result(&format!("docs model.tsv {topic} --corpus docs.jsonl --top 3 --backend cpu"));
        assert_eq!((&result["topic"], &result["docs"]), (&json!(topic), &json!(6)));
        assert_eq!(result["on"], json!(expected.iter().filter(|doc| doc.1 >= 0.5).count()));
        let found = list(&result["documents"]);
        assert_eq!(found.len(), 3);
        for (doc, (id, q)) in found.iter().zip(&expected) {
            assert_eq!(doc["id"], json!(id));
            assert!((number(&doc["q"]) - q).abs() < 1e-6, "{doc}");
            let shares: Vec<f64> = list(&doc["words"]).iter().map(|word| number(&word[1])).collect();
            assert!(
                shares.is_sorted_by(|a, b| a >= b) && shares.iter().all(|share| (0.1..=1.0).contains(share)),
                "{doc}"
            );
            let known = |word: &serde_json::Value| words.contains(&word[0].as_str().unwrap());
            assert!(!shares.is_empty() && list(&doc["words"]).iter().all(known), "{doc}");
        }
    }
    let said = folder.stdout("docs model.tsv fru --corpus docs.jsonl --top 2 --backend cpu");
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].starts_with("fruit (2): on in ") && lines[0].ends_with(" of 6 documents"), "{said}");
    assert_eq!(lines.len(), 3);
    assert!(lines[1].contains("  d1  ") && lines[1].ends_with("pear, apple"), "{said}");
    let narrow = folder.stdout("docs model.tsv fru --corpus docs.jsonl --width 30 --backend cpu");
    assert!(narrow.lines().all(|line| noisyor::columns::width(line) <= 30), "{narrow}");
    // With all topics in every document all are looked at.
    let all = folder.result("docs model.tsv 2 --corpus docs.jsonl --bound full --backend cpu");
    assert_eq!(list(&all["documents"]).len(), 6);
}

#[test]
fn a_run_knows_its_documents_and_which_were_held_out() {
    let folder = Folder::with_sample();
    folder.run("train --graph sample.tsv --epochs 1 -o run -q --backend cpu");
    let result = folder.result("docs run 0 --top 50 --backend cpu");
    let parts: Vec<&str> =
        list(&result["documents"]).iter().map(|doc| doc["part"].as_str().unwrap()).collect();
    assert!(parts.len() == 50 && parts.contains(&"train"), "{parts:?}");
    let said = folder.stdout("docs run 0 --top 50 --backend cpu");
    assert_eq!(said.matches("(held out)").count(), parts.iter().filter(|&&part| part != "train").count());
}

#[test]
fn bad_usage_is_told() {
    let folder = pantry();
    for (arguments, parts) in [
        ("docs model.tsv fruit", &["--corpus", "run folder"][..]),
        ("docs model.tsv nothing --corpus docs.jsonl", &["nothing", "no topic"]),
        ("docs model.tsv fruit --corpus docs.jsonl --top 0", &["--top"]),
        ("docs model.tsv fruit --format jsonl", &["--corpus"]),
    ] {
        folder.fails(arguments, 2, parts);
    }
}
