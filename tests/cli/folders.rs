//! Folders of text files as corpora, and paths that are not what was meant.

use crate::support::{Folder, PANTRY, pantry_docs};
use std::fs;

/// `docs`, with two documents about food, one about the sea, and a file that is none.
fn articles() -> Folder {
    let folder = Folder::new();
    folder.write("model.tsv", PANTRY);
    fs::create_dir_all(folder.path("docs/food/fruit")).expect("a folder");
    fs::create_dir_all(folder.path("docs/sea")).expect("a folder");
    folder.write("docs/food/b.txt", "Eat bread from flour.\nEat!");
    folder.write("docs/food/fruit/a.txt", "An apple, a pear");
    folder.write("docs/sea/a.txt", "Sail and apple");
    folder.write("docs/readme.md", "nothing");
    folder
}

#[test]
fn every_text_in_a_folder_is_a_document() {
    let folder = articles();
    let told = folder.stderr("corpus docs --min-df 1 -o docs.corpus");
    assert!(
        told.contains("warning: only .txt files are documents: other files in the folder are not read (1)")
    );
    let summary = folder.result("check docs.corpus")["summary"].clone();
    assert_eq!(summary["docs"], 3);
    assert_eq!(summary["top_labels"], serde_json::json!([["food", 2], ["sea", 1]]));
    let checked = folder.result("check docs");
    assert_eq!(checked["summary"]["ids"], 3);
    assert!(checked["notes"].to_string().contains("other files in the folder are not read (1)"));
    folder.run("infer model.tsv docs -o out.tsv");
    let ids: Vec<String> = folder.table("out.tsv").into_iter().skip(1).map(|mut row| row.remove(0)).collect();
    assert!(
        ids.iter().any(|id| id == "food/b.txt") && ids.iter().any(|id| id == "food/fruit/a.txt"),
        "{ids:?}"
    );
    assert!(ids.is_sorted());
    folder.run("train docs --graph model.tsv --steps 1 -o run");
    folder.fails("train run --graph model.tsv -o other", 2, &["run: this is the folder of a run"]);
}

#[test]
fn a_text_of_a_folder_that_is_not_utf_8_is_named() {
    let folder = articles();
    folder.write("docs/sea/latin1.txt", b"one\nna\xefve");
    let place = "docs/sea/latin1.txt:2: byte 3 (0xef) is not UTF-8";
    folder.fails("corpus docs -o out.corpus", 2, &[place]);
    let output = folder.noisyor("check docs").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stdout).contains(place));
}

#[test]
fn a_path_that_does_not_exist_says_what_is_similar() {
    let folder = articles();
    folder.write("documents.jsonl", pantry_docs());
    folder.fails(
        "eval model.tsv document.jsonl",
        3,
        &["document.jsonl: ", "os error", "is documents.jsonl meant?"],
    );
    folder.fails("eval modell.tsv documents.jsonl", 3, &["is model.tsv meant?"]);
    folder.fails("check docs/food/B.text", 3, &["docs/food/B.text"]);
    folder.fails("check docz/food.txt", 3, &["there is no folder docz"]);
    folder.fails("eval model.tsv documents.jsonl --per-doc none/x.tsv", 3, &["none/x.tsv", "no folder none"]);
}

#[test]
fn an_output_that_is_replaced_is_told() {
    let folder = articles();
    assert!(!folder.stderr("corpus docs -o out.corpus").contains("replaces"));
    assert!(folder.stderr("corpus docs -o out.corpus").contains("out.corpus exists and will be replaced"));
}

#[test]
fn an_edge_list_may_name_its_columns() {
    let folder = articles();
    folder.write("named.tsv", format!("parent\tchild\tweight\n{PANTRY}"));
    let note = "line 1 names the columns and is no edge";
    let checked = folder.stdout("check named.tsv");
    assert!(checked.contains(note) && checked.contains("a model or graph without faults"), "{checked}");
    folder.write("docs.jsonl", pantry_docs());
    assert_eq!(folder.result("eval named.tsv docs.jsonl"), folder.result("eval model.tsv docs.jsonl"));
    assert!(folder.stderr("train docs.jsonl --graph named.tsv --steps 1 -o run").contains(note));
}
