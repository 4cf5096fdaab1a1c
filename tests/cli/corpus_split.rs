//! `noisyor corpus split`, and that `train` with the same shares and seed uses the same documents.

#![allow(clippy::unwrap_used)] // helpers of tests are tests too

use crate::corpus::documents;
use crate::support::{Folder, PANTRY, number, pantry_docs};
use noisyor::corpus::Corpus;
use noisyor::corpus::native::open;
use serde_json::json;

const PARTS: [&str; 3] = ["train", "valid", "test"];

fn part(folder: &Folder, name: &str) -> Corpus {
    open(&folder.path(&format!("parts/{name}.corpus"))).unwrap()
}

/// Documents 0 to 99 in `docs.jsonl`: two of three have ids, one of two a label; tokens tell which they are.
fn hundred(folder: &Folder) {
    let line = |at: usize| {
        let mut line = json!({"tokens": [format!("t{at}"), "all"]});
        if !at.is_multiple_of(3) {
            line["id"] = json!(format!("id {at}"));
        }
        if at.is_multiple_of(2) {
            line["label"] = json!(format!("label {at}"));
        }
        line.to_string() + "\n"
    };
    folder.write("docs.jsonl", (0..100).map(line).collect::<String>());
}

#[test]
fn parts_are_disjoint_and_complete_and_keep_everything() {
    let folder = Folder::new();
    hundred(&folder);
    folder.run("corpus docs.jsonl -o docs.corpus");
    let whole = open(&folder.path("docs.corpus")).unwrap();
    for source in ["docs.jsonl", "docs.corpus"] {
        let split = format!("corpus split {source} --valid 0.1 --test 0.25 --seed 7 -o parts");
        let result = folder.result(&split);
        assert_eq!(
            (&result["train"], &result["valid"], &result["test"]),
            (&json!(65), &json!(10), &json!(25))
        );
        assert_eq!(result["files"], json!(["parts/train.corpus", "parts/valid.corpus", "parts/test.corpus"]));
        let mut seen = vec![];
        for name in PARTS {
            let part = part(&folder, name);
            assert_eq!(part.token_names(), whole.token_names());
            for (at, doc) in documents(&part).iter().enumerate() {
                let number: usize = doc[1].strip_prefix('t').unwrap().parse().unwrap();
                assert_eq!(part.id(at), whole.id(number));
                assert_eq!(part.label(at), whole.label(number));
                seen.push(number);
            }
        }
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..100), "{source}");
    }
    assert_eq!(folder.names_in("parts"), ["test.corpus", "train.corpus", "valid.corpus"]);
}

#[test]
fn the_seed_makes_the_split() {
    let folder = Folder::new();
    hundred(&folder);
    let split = |seed: u32| {
        folder.run(&format!("corpus split docs.jsonl --valid 0.1 --seed {seed} -o parts"));
        PARTS.map(|name| folder.bytes(&format!("parts/{name}.corpus")))
    };
    let first = split(1);
    assert!(split(1) == first);
    let other = split(2);
    assert!((0..3).all(|part| other[part] != first[part]));
    // A larger validation part changes the training part alone.
    folder.run("corpus split docs.jsonl --valid 0.3 --seed 2 -o parts");
    assert!(folder.bytes("parts/test.corpus") == other[2]);
}

#[test]
fn train_uses_just_these_documents() {
    let folder = Folder::new();
    folder.write("graph.tsv", PANTRY);
    folder.write("docs.jsonl", pantry_docs());
    folder.run("corpus docs.jsonl -o docs.corpus");
    let shares = "--valid 0.1 --test 0.3 --seed 7";
    folder.run(&format!("corpus split docs.corpus {shares} -o parts"));
    for source in ["docs.jsonl", "docs.corpus"] {
        let run = format!("train {source} --graph graph.tsv {shares} --epochs 4 --backend cpu -o run");
        let trained = folder.result(&run);
        let eval = |part: &str| {
            folder.result(&format!("eval run/model.safetensors parts/{part}.corpus --backend cpu"))
        };
        let (valid, test) = (eval("valid"), eval("test"));
        assert_eq!((&trained["test_docs"], &test["docs"]), (&json!(12), &json!(12)));
        assert_eq!((&trained["held_out_docs"], &valid["docs"]), (&json!(4), &json!(4)));
        let equal = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{source}: {a} and {b}");
        equal(number(&trained["test_elbo"]), number(&test["elbo_mean"]));
        equal(number(&trained["metrics"]["valid_elbo"]), number(&valid["elbo_mean"]));
        assert_ne!(test["elbo_mean"], eval("train")["elbo_mean"]);
        std::fs::remove_dir_all(folder.path("run")).unwrap();
    }
}

#[test]
fn few_documents() {
    let folder = Folder::new();
    for (n_docs, train, valid, test) in [(0, 0, 0, 0), (1, 1, 0, 0), (2, 1, 1, 0), (3, 1, 1, 1)] {
        folder.write("docs.svm", "0 1:1 9:1\n".repeat(n_docs));
        let result = folder.result(&format!("corpus split docs.svm --valid 0.01 --test 0.01 -o {n_docs}"));
        assert_eq!(
            (&result["train"], &result["valid"], &result["test"]),
            (&json!(train), &json!(valid), &json!(test))
        );
        let names: Vec<_> =
            [("test", test), ("train", 1), ("valid", valid)].into_iter().filter(|(_, n)| *n > 0).collect();
        let expected: Vec<String> = names.iter().map(|(name, _)| format!("{name}.corpus")).collect();
        assert_eq!(folder.names_in(&n_docs.to_string()), expected);
        if n_docs > 0 {
            let corpus = open(&folder.path(&format!("{n_docs}/train.corpus"))).unwrap();
            assert_eq!((corpus.n_docs(), corpus.n_tokens(), corpus.label(0)), (1, 9, Some("0")));
        }
    }
}

#[test]
fn a_part_of_an_earlier_split_does_not_pass_for_one_of_this() {
    let folder = Folder::new();
    hundred(&folder);
    folder.run("corpus split docs.jsonl --valid 0.1 -o parts");
    let message = folder.stderr("corpus split docs.jsonl -o parts");
    assert!(message.contains("parts/valid.corpus") && message.contains("earlier"), "{message}");
}

#[test]
fn bad_shares_and_files() {
    let folder = Folder::new();
    hundred(&folder);
    for shares in
        ["--valid=-0.1", "--valid 1", "--test 1.5", "--test nan", "--valid 0.5 --test 0.5", "--valid 0.8"]
    {
        folder.fails(
            &format!("corpus split docs.jsonl {shares} -o parts"),
            2,
            &["--valid", "--test", "below 1"],
        );
    }
    folder.fails("corpus split docs.jsonl", 2, &["--output"]);
    folder.fails("corpus split nowhere.jsonl -o parts", 3, &["nowhere.jsonl"]);
    folder.fails("corpus split docs.jsonl -o docs.jsonl", 3, &["docs.jsonl"]);
    assert_eq!(folder.names_in("."), ["docs.jsonl"]);
}
