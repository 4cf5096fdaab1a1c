//! Inputs above 64 MB go through a temporary file: the answers are the same, and a disk without room is told with the remedy.
//!
//! Costs about 150 MB of disk and a second or two.

use crate::support::{Folder, PANTRY, text};
use std::fmt::Write;

/// 70 documents whose ids have a megabyte each.
fn folder_with_large() -> Folder {
    let folder = Folder::new();
    folder.write("model.tsv", PANTRY);
    let mut docs = String::new();
    for at in 0..70 {
        let token = ["apple", "pear", "flour"][at % 3];
        let id = format!("{}{at}", "x".repeat(1_000_000));
        writeln!(docs, "{{\"id\":\"{id}\",\"tokens\":[\"eat\",\"{token}\"],\"label\":\"{at}\"}}")
            .expect("text");
    }
    folder.write("docs.jsonl", docs);
    folder
}

#[test]
fn a_large_input_gives_the_answers_of_the_native_corpus() {
    let folder = folder_with_large();
    folder.run("corpus docs.jsonl -o docs.corpus --vocab model.tsv");
    for corpus in ["docs.jsonl", "docs.corpus"] {
        folder.run(&format!("infer model.tsv {corpus} -o {corpus}.npz --backend cpu"));
        folder.run(&format!("eval model.tsv {corpus} --per-doc {corpus}.tsv --backend cpu"));
    }
    assert!(folder.bytes("docs.jsonl.npz") == folder.bytes("docs.corpus.npz"));
    assert!(folder.bytes("docs.jsonl.tsv") == folder.bytes("docs.corpus.tsv"));
    assert!(folder.bytes("docs.jsonl.tsv").len() > 70_000_000, "the ids came through");
}

#[cfg(unix)]
#[test]
fn no_room_for_temporary_files() {
    let folder = folder_with_large();
    let arguments = "infer model.tsv docs.jsonl -o out.npz --backend cpu";
    let script = format!("trap '' XFSZ; ulimit -f 20000; exec \"$0\" {arguments}");
    let program = assert_cmd::cargo::cargo_bin!("noisyor");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &script]).arg(program).current_dir(folder.path("")).env("TMPDIR", folder.path(""));
    let output = shell.output().unwrap();
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(message.contains("TMPDIR") && message.contains(&*folder.path("").to_string_lossy()), "{message}");
    assert_eq!(folder.names_in("."), ["docs.jsonl", "model.tsv"]);
    let output = folder.noisyor(arguments).env("TMPDIR", "nowhere").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("nowhere") && text(&output.stderr).contains("TMPDIR"));
}
