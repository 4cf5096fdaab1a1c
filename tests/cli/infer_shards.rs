//! `infer --shard I/N`: the shards joined are the whole.

use crate::support::{Folder, PANTRY, number, pantry_docs};

/// Runs all shards; their outputs in order.
fn shards(folder: &Folder, of: usize, extension: &str) -> Vec<String> {
    let names = (1..=of).map(|number| {
        let job = "infer model.tsv docs.jsonl --backend cpu --part-docs 7 --resume";
        let result = folder.result(&format!("{job} -o out.{extension} --shard {number}/{of}"));
        let name = format!("out-{number:05}-of-{of:05}.{extension}");
        assert_eq!(result["output"], name);
        name
    });
    names.collect()
}

#[test]
fn shards_join_to_the_whole() {
    let folder = Folder::new();
    folder.write("model.tsv", PANTRY);
    folder.write("docs.jsonl", pantry_docs());
    for extension in ["jsonl", "tsv"] {
        folder.run(&format!("infer model.tsv docs.jsonl --backend cpu -o whole.{extension}"));
        let whole = folder.text(&format!("whole.{extension}"));
        let header = if extension == "tsv" { "doc\ttopic\tq\n" } else { "" };
        for of in [1, 2, 3, 40, 45] {
            let mut joined = header.to_owned();
            for name in shards(&folder, of, extension) {
                joined += folder.text(&name).strip_prefix(header).expect("a header");
                std::fs::remove_file(folder.path(&name)).unwrap();
            }
            assert!(joined == whole, "{of} shards of {extension}: {joined}");
        }
    }
    assert_eq!(folder.names_in("."), ["docs.jsonl", "model.tsv", "whole.jsonl", "whole.tsv"]);
}

#[test]
fn a_shard_without_documents_is_a_valid_file() {
    let folder = Folder::new();
    folder.write("model.tsv", PANTRY);
    folder.write("docs.jsonl", pantry_docs());
    folder.write("nothing.jsonl", "");
    for extension in ["jsonl", "tsv", "csv", "parquet", "npz"] {
        let empty = folder.result(&format!("infer model.tsv docs.jsonl -o o.{extension} --shard 1/99"));
        assert_eq!((&empty["docs"], &empty["elbo_mean"]), (&0.into(), &serde_json::Value::Null));
        // What no documents at all give was always a valid file.
        folder.run(&format!("infer model.tsv nothing.jsonl -o empty.{extension} --resume"));
        let shard = folder.bytes(&format!("o-00001-of-00099.{extension}"));
        assert!(shard == folder.bytes(&format!("empty.{extension}")), "{extension}");
    }
}

#[test]
fn shards_have_the_documents_and_the_bound_of_the_whole() {
    let folder = Folder::new();
    folder.write("model.tsv", PANTRY);
    folder.write("docs.jsonl", pantry_docs());
    let whole = folder.result("infer model.tsv docs.jsonl -o whole.npz");
    let (mut n_docs, mut elbo_sum) = (0.0, 0.0);
    for number_of in 1..=3 {
        let shard = folder.result(&format!("infer model.tsv docs.jsonl -o out.npz --shard {number_of}/3"));
        n_docs += number(&shard["docs"]);
        elbo_sum += number(&shard["docs"]) * number(&shard["elbo_mean"]);
    }
    assert_eq!(n_docs, 40.0);
    assert!((elbo_sum / n_docs - number(&whole["elbo_mean"])).abs() < 1e-12);
}

#[test]
fn no_such_shard() {
    let folder = Folder::new();
    folder.write("model.tsv", PANTRY);
    folder.write("docs.jsonl", pantry_docs());
    for shard in ["0/3", "4/3", "3", "1/0", "a/b"] {
        let arguments = format!("infer model.tsv docs.jsonl -o out.tsv --shard {shard}");
        folder.fails(&arguments, 2, &["--shard", "3/16"]);
    }
    // The output of a shard is not the file that its name was made from.
    folder.write("out.tsv", "old");
    folder.run("infer model.tsv docs.jsonl -o out.tsv --shard 1/3");
    assert_eq!(folder.text("out.tsv"), "old");
}
