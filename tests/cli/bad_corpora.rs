//! Bad corpora: the status is 2, and the message names the file, the line and the fault; odd ones are fine.

use crate::support::{Folder, golden};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

#[test]
fn svmlight() {
    let folder = Folder::with_golden(&golden(0));
    for (line, parts) in [
        ("0 0:1", &["'0:1'", "columns count from 1"][..]),
        ("0 -1:1", &["'-1:1'", "whole number above zero"]),
        ("0 1.5:1", &["'1.5:1'", "whole number above zero"]),
        ("0 one:1", &["'one:1'", "whole number above zero"]),
        ("0 :1", &["':1'", "no column"]),
        ("0 1:nan", &["'1:nan'", "finite number"]),
        ("0 1:inf", &["'1:inf'", "finite number"]),
        ("0 1:x", &["'1:x'", "finite number"]),
        ("0 1:", &["'1:'", "finite number"]),
        ("0 1:1 3", &["'3'", "column:value"]),
        ("0 4294967296:1", &["'4294967296:1'", "4294967295"]),
        ("0 99999999999999999999:1", &["'99999999999999999999:1'", "4294967295"]),
    ] {
        folder.write("bad.svm", format!("0 1:1\n0 2:1 # fine\n{line}\n0 3:1\n"));
        folder.fails("eval model.json bad.svm", 2, &[parts, &["bad.svm:3: "]].concat());
        folder.fails("train bad.svm --graph model.json", 2, &[parts, &["bad.svm:3: "]].concat());
    }
}

#[test]
fn json_lines() {
    let folder = Folder::with_golden(&golden(0));
    for (line, parts) in [
        (&b"not JSON"[..], &["{\"tokens\": [\"word\", ...]}"][..]),
        (b"{\"tokens\":[\"w0\"", &["EOF"]),
        (b"{\"id\":\"x\"}", &["no 'tokens'"]),
        (b"{\"tokens\":null}", &["no 'tokens'"]),
        (b"{\"text\":\"some words\"}", &["'text' but no 'tokens'", "split the text"]),
        (b"{\"tokens\":\"w0\"}", &["w0"]),
        (b"{\"tokens\":[1]}", &["1", "string"]),
        (b"{\"tokens\":[\"w\xff\"]}", &["unicode"]),
        (b"{\"tokens\":[]} {\"tokens\":[]}", &["trailing"]),
        (b"\"w0\"", &["JSON object"]),
    ] {
        let good = b"{\"tokens\":[\"w0\"]}\n".as_slice();
        folder.write("bad.jsonl", [good, b"\n", line, b"\n", good].concat());
        folder.fails("eval model.json bad.jsonl", 2, &[parts, &["bad.jsonl:3: "]].concat());
    }
}

#[test]
fn a_name_that_tells_no_format() {
    let folder = Folder::with_golden(&golden(0));
    for name in ["docs.txt", "docs", "docs.gz", "svm"] {
        folder.write(name, "0 1:1\n0 2:1\n");
        folder.fails(&format!("eval model.json {name}"), 2, &[name, ".svm", ".jsonl", "--format"]);
    }
    assert_eq!(folder.result("eval model.json docs.txt --format svmlight")["docs"], 2);
    folder.fails("eval model.json docs.svm --format jsonl", 2, &["docs.svm:1"]);
    folder.fails("eval model.json docs.svm --format csv", 2, &["csv", "svmlight, jsonl"]);
}

#[test]
fn every_ending_of_a_format() {
    let folder = Folder::with_golden(&golden(0));
    let expected = folder.result("eval model.json docs.svm");
    for (source, names) in [
        ("docs.svm", &["a.svmlight", "a.libsvm", "A.SVM"][..]),
        ("docs.jsonl", &["a.ndjson", "a.b.jsonl", "A.JsonL"]),
    ] {
        for name in names {
            folder.write(name, folder.bytes(source));
            assert_eq!(folder.result(&format!("eval model.json {name}")), expected, "{name}");
        }
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("compressed");
    encoder.finish().expect("compressed")
}

#[test]
fn gzip_whole_and_damaged() {
    let folder = Folder::with_golden(&golden(0));
    let expected = folder.result("eval model.json docs.jsonl");
    let docs = folder.bytes("docs.jsonl");
    let whole = gzip(&docs);
    folder.write("docs.jsonl.gz", &whole);
    assert_eq!(folder.result("eval model.json docs.jsonl.gz"), expected);
    folder.write("docs.svm.GZ", gzip(&folder.bytes("docs.svm")));
    assert_eq!(folder.result("eval model.json docs.svm.GZ"), expected);
    let (head, rest) = docs.split_at(docs.len() / 2);
    folder.write("parts.jsonl.gz", [gzip(head), gzip(rest)].concat());
    assert_eq!(folder.result("eval model.json parts.jsonl.gz"), expected);

    let mut checksum = whole.clone();
    let at = checksum.len() - 6;
    checksum[at] ^= 1;
    for (what, bytes) in [
        ("cut short", &whole[..whole.len() - 12]),
        ("without its checksum", &whole[..whole.len() - 8]),
        ("wrong checksum", &checksum),
        ("not compressed", &docs),
        ("nothing", b""),
    ] {
        folder.write("bad.jsonl.gz", bytes);
        println!("{what}");
        folder.fails("eval model.json bad.jsonl.gz", 2, &["bad.jsonl.gz", "damaged or cut short"]);
    }
}

#[test]
fn line_ends_byte_order_marks_and_a_missing_last_newline_are_fine() {
    let folder = Folder::with_golden(&golden(0));
    for name in ["docs.svm", "docs.jsonl"] {
        let text = folder.text(name);
        let expected = folder.result(&format!("eval model.json {name}"));
        for (what, odd) in [
            ("CRLF", text.replace('\n', "\r\n")),
            ("byte-order mark", format!("\u{feff}{text}")),
            ("no last newline", text.trim_end().to_owned()),
            ("all of them", format!("\u{feff}{}", text.trim_end().replace('\n', "\r\n"))),
        ] {
            folder.write(&format!("odd-{name}"), odd);
            assert_eq!(folder.result(&format!("eval model.json odd-{name}")), expected, "{name}: {what}");
        }
    }
}
