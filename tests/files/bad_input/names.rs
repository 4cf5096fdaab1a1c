//! What a file's name tells and does not tell, files beside it, and what is printed of it.

use super::support::{Folder, harmless, text};

/// Runs the program, which must end with a status and tell all `parts` in one harmless line.
fn fails(folder: &Folder, arguments: &str, status: i32, parts: &[&str]) {
    let output = folder.noisyor(arguments);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{arguments}: {message}");
    for part in parts {
        assert!(message.contains(part), "{arguments}: '{part}' is not in\n{message}");
    }
}

#[test]
fn a_name_that_tells_no_format() {
    let folder = Folder::new();
    for name in ["docs", "docs.gz", "svm", "docs.doc", "docs.xlsx", "docs.svm.bz2"] {
        folder.write(name, "0 1:1\n0 2:1\n");
        for command in ["check", "corpus -o out"] {
            let parts = [name, ".svm", ".jsonl", ".parquet", "--format"];
            fails(&folder, &format!("{command} {name}"), 2, &parts);
        }
    }
    fails(&folder, "check - --as corpus", 2, &["standard input", "--format"]);
    fails(&folder, "check docs --format word", 2, &["'word'", "svmlight, jsonl, text"]);
    fails(&folder, "corpus docs -o out --format word", 2, &["'word'", "svmlight, jsonl, text"]);
    fails(&folder, "corpus docs -o out --text-column 0", 2, &["columns count from 1"]);
}

#[test]
fn every_ending_of_a_format() {
    let folder = Folder::new();
    for (bytes, names) in [
        ("0 1:1\n", &["a.svm", "a.svmlight", "a.libsvm", "A.SVM", "a.b.Svm"][..]),
        ("{\"tokens\":[\"a\"]}\n", &["a.jsonl", "a.ndjson", "A.JsonL"]),
        ("word\n", &["a.txt", "a.text", "A.TXT", "a.tsv", "a.tab"]),
        ("1\n1\n1\n1 1 1\n", &["a.uci", "docword.txt", "docword.a.txt", "docwords"]),
        ("%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n", &["a.mtx", "a.mm"]),
    ] {
        for name in names {
            folder.write(name, bytes);
            let output = folder.noisyor(&format!("check {name} --as corpus --json"));
            let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(
                (&result["summary"]["docs"], &result["summary"]["occurrences"]),
                (&1.into(), &1.into()),
                "{name}"
            );
        }
    }
}

#[test]
fn a_table_of_texts_is_no_graph() {
    let folder = Folder::new();
    for header in ["id\ttext", "label\ttext", "text\tid"] {
        folder.write("a.tsv", format!("{header}\na\tcat\n"));
        let output = folder.noisyor("check a.tsv");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
        assert!(text(&output.stdout).contains("a corpus without faults"));
    }
    folder.write("a.tsv", "topic\ttext\n");
    assert!(text(&folder.noisyor("check a.tsv").stdout).contains("model or graph"));
}

#[test]
fn a_vocabulary_with_faults() {
    let folder = Folder::new();
    folder.write("a.txt", "cat\n");
    for (vocab, parts) in [
        (&b"cat\ndog\n\x1b[31m\n\x1b[31m\n"[..], &["v.txt:4: ", "'\\u{1b}[31m'", "line 3", "differ"][..]),
        (b"cat\n\ndog\n", &["v.txt:2: ", "empty line", "every line"]),
        (b"cat\n\xff\n", &["v.txt:2: ", "0xff", "iconv"]),
        (b"cat\nd\0g\n", &["v.txt:2: ", "NUL"]),
    ] {
        folder.write("v.txt", vocab);
        for command in ["check a.txt", "corpus a.txt -o out"] {
            fails(&folder, &format!("{command} --vocab v.txt"), 2, parts);
        }
    }
    fails(&folder, "check a.txt --vocab nowhere.txt", 3, &["nowhere.txt", "os error"]);
    folder.write("docword.b.txt", "1\n2\n1\n1 2 1\n");
    folder.write("vocab.b.txt", "cat\n");
    for command in ["check", "corpus -o out"] {
        fails(&folder, &format!("{command} docword.b.txt"), 2, &[]);
    }
    assert_eq!(folder.names(), ["a.txt", "docword.b.txt", "v.txt", "vocab.b.txt"]);
}

#[test]
fn nothing_is_printed_that_would_move_the_cursor() {
    let folder = Folder::new();
    folder.write("labels.svm", "\x1b[31mred\u{9b}2J 1:1\n");
    folder.write("words.jsonl", "{\"tokens\":[\"\\u001b[31m\\u0007\"],\"label\":\"\\u001b]0;x\\u0007\"}\n");
    folder.write("bad\x1b[31m.svm", "0 x:1\n");
    folder.write("bad\x1b[31m.nothing", "0 x:1\n");
    folder.write("cat.txt", "cat\n");
    for arguments in [
        "check labels.svm",
        "check words.jsonl",
        "check bad\x1b[31m.svm",
        "corpus bad\x1b[31m.svm -o out",
        "corpus bad\x1b[31m.nothing -o out",
        "corpus words.jsonl --vocab cat.txt -o out",
        "corpus nowhere\x1b[31m.svm -o out",
    ] {
        let output = folder.noisyor(arguments);
        for line in text(&output.stdout).lines().chain(text(&output.stderr).lines()) {
            harmless(line).unwrap_or_else(|e| panic!("{arguments:?}: {e}"));
        }
    }
    let warned = text(&folder.noisyor("corpus words.jsonl --vocab cat.txt -o out").stderr);
    assert!(warned.contains("\\u{1b}[31m\\u{7}"), "{warned}");
}

#[test]
fn every_fault_is_counted_and_the_first_are_listed() {
    let folder = Folder::new();
    folder.write("many.svm", "0 x:1\n".repeat(5000));
    let output = folder.noisyor("check many.svm");
    let told = text(&output.stdout);
    assert_eq!(told.matches("'x:1'").count(), 100);
    assert!(told.contains("many.svm:100: ") && told.contains("... and 4900 more"), "{told}");
    assert!(told.contains("many.svm: 5000 faults"), "{told}");
    let told = text(&folder.noisyor("check many.svm --max-faults 3").stdout);
    assert_eq!(told.matches("'x:1'").count(), 3);
    // A line of millions of faults is not held in memory as millions of messages.
    folder.write("long.svm", "x ".repeat(2_000_000));
    let told = text(&folder.noisyor("check long.svm --max-faults 1000").stdout);
    assert!(told.contains("long.svm:1: 1999899 more faults on this line"), "{}", told.len());
}
