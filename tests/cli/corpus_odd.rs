//! What people really have: other keys, other separators, silent pipes, special files.
#![allow(clippy::unwrap_used)] // helpers of tests are tests too

use crate::corpus::{documents, made, names};
use crate::support::{Folder, PANTRY, pantry_docs, text};
use assert_cmd::cargo::cargo_bin;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn keys_of_json_lines_are_columns() {
    let folder = Folder::new();
    folder.write(
        "a.jsonl",
        "{\"body\":\"Apple pie\",\"url\":\"x/1\",\"n\":3}\n{\"body\":[\"apple\"],\"url\":7}\n",
    );
    let corpus = made(&folder, "a.jsonl --text-column body --id-column url --label-column n --min-df 1");
    assert_eq!(documents(&corpus), [vec!["apple", "pie"], vec!["apple"]]);
    assert_eq!((corpus.id(0).as_ref(), corpus.id(1).as_ref()), ("x/1", "7"));
    assert_eq!((corpus.label(0), corpus.label(1)), (Some("3"), None));
    folder.fails("corpus a.jsonl -o b.corpus", 2, &["a.jsonl:1", "neither 'tokens' nor 'text'"]);
    folder.fails("corpus a.jsonl --text-column title -o b.corpus", 2, &["a.jsonl:1", "no 'title'"]);
    folder.fails("corpus a.jsonl --text-column 1 -o b.corpus", 2, &["keys", "column 1"]);
}

#[test]
fn a_separator_can_be_given() {
    let folder = Folder::new();
    folder.write("a.csv", "1;apple, pie\n2;apple\n");
    let corpus = made(&folder, "a.csv --separator ; --id-column 1 --text-column 2 --min-df 1");
    assert_eq!(documents(&corpus), [vec!["apple", "pie"], vec!["apple"]]);
    folder.write("b.csv", "a|b\n1|0\n");
    assert_eq!(names(&made(&folder, "b.csv --separator |")), ["a", "b"]);
    folder.write("c.csv", "id|text\n1|apple apple\n2|apple\n");
    assert_eq!(names(&made(&folder, "c.csv --separator |")), ["apple"]);
    folder.fails("corpus a.csv --separator ;; -o b.corpus", 2, &["--separator"]);
    folder.fails("corpus a.txt --separator ; -o b.corpus", 2, &["--separator", "text"]);
}

#[test]
fn dense_tables_know_their_id_and_label() {
    let folder = Folder::new();
    folder.write("a.csv", "id,ball,team,label\n7,1,0,sport\n8,0,1,other\n");
    let corpus = made(&folder, "a.csv");
    assert_eq!(names(&corpus), ["ball", "team"]);
    assert_eq!((corpus.id(0).as_ref(), corpus.label(1)), ("7", Some("other")));
}

#[test]
fn options_that_mean_nothing_are_refused() {
    let folder = Folder::new();
    for (file, option) in [
        ("a.svm", "--text-column 1"),
        ("a.txt", "--header"),
        ("a.txt", "--label-column x"),
        ("a.mtx", "--zero-based"),
        ("a.corpus", "--id-column 1"),
    ] {
        folder.write(file, "");
        let name = option.split(' ').next().unwrap();
        folder.fails(&format!("corpus {file} {option} -o out.corpus"), 2, &[name, "means nothing"]);
    }
    folder.write("model.tsv", PANTRY);
    folder.write("docs.jsonl", pantry_docs());
    folder.run("corpus docs.jsonl -o docs.corpus");
    folder.fails("eval model.tsv docs.corpus --zero-based", 2, &["--zero-based", "means nothing"]);
}

#[test]
fn names_that_a_vocabulary_cannot_have() {
    let folder = Folder::new();
    folder.write("a.txt", "apple the who pie\n");
    folder.write("counts.txt", "apple\t3\npie\t1\n");
    folder.fails("corpus a.txt --vocab counts.txt -o out.corpus", 2, &["counts.txt:1", "tab"]);
    folder.write("phrase.txt", "apple\nthe who\n");
    assert_eq!(documents(&made(&folder, "a.txt --vocab phrase.txt")), [["apple", "the who"]]);
    folder.write("graph.tsv", "fruit\tapple\nfruit\tpie\n");
    assert_eq!(names(&made(&folder, "a.txt --vocab graph.tsv")), ["apple", "pie"]);
}

#[test]
fn outputs_that_are_no_files_are_refused() {
    let folder = Folder::new();
    folder.write("a.txt", "apple\napple\n");
    folder.fails("corpus a.txt -o -", 2, &["-"]);
    folder.fails("corpus a.txt -o /dev/null", 2, &["/dev/null", "regular file"]);
    folder.write("model.tsv", PANTRY);
    folder.write("docs.jsonl", pantry_docs());
    folder.fails("infer model.tsv docs.jsonl -o docs.jsonl", 2, &["docs.jsonl", "is read"]);
    assert_eq!(folder.text("docs.jsonl"), pantry_docs());
    folder.fails("infer model.tsv docs.jsonl -o ./model.tsv", 2, &["model.tsv", "is read"]);
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link() {
    let folder = Folder::new();
    folder.write("a.txt", "apple\napple\n");
    folder.write("real.corpus", "old");
    std::os::unix::fs::symlink("real.corpus", folder.path("link.corpus")).unwrap();
    folder.run("corpus a.txt -o link.corpus");
    assert!(folder.path("link.corpus").is_symlink());
    assert!(folder.bytes("real.corpus").starts_with(b"noisyorC"));
}

/// A run that reads standard input, which stays open.
fn with_open_input(folder: &Folder, input: &[u8]) -> Child {
    let mut child = Command::new(cargo_bin!("noisyor"))
        .args(["corpus", "-", "--format", "svmlight", "--vocab", "vocab.txt", "-o", "out.corpus"])
        .current_dir(folder.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(input).unwrap();
    child
}

fn wait(child: &mut Child) -> Option<i32> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(20) {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    panic!("it still waits for its input");
}

#[test]
fn a_fault_does_not_wait_for_the_end_of_input() {
    let folder = Folder::new();
    folder.write("vocab.txt", "apple\n");
    let mut child = with_open_input(&folder, "0 1:1\n".repeat(9_000).as_bytes());
    child.stdin.as_mut().unwrap().write_all(&"0 2:1\n".repeat(60_000).into_bytes()).unwrap_or(());
    assert_eq!(wait(&mut child), Some(2));
    assert_eq!(folder.names_in(""), ["vocab.txt"]);
}

#[cfg(unix)]
#[test]
fn a_stop_request_does_not_wait_for_the_end_of_input() {
    let folder = Folder::new();
    folder.write("vocab.txt", "apple\n");
    let mut child = with_open_input(&folder, b"0 1:1\n");
    std::thread::sleep(Duration::from_millis(500));
    Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(wait(&mut child), Some(130));
    assert_eq!(folder.names_in(""), ["vocab.txt"]);
}

#[test]
fn a_damaged_file_has_no_summary() {
    let folder = Folder::new();
    folder.write("a.mtx", "nothing of the kind\n");
    let output = folder.noisyor("check a.mtx").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(!text(&output.stdout).contains("documents"), "{}", text(&output.stdout));
}
