use super::support::{Good, Table, bad, fine, utf16};

const TABLE: Table = Table { beside: &[("three.txt", "a\nb\nc\n")], ..Table::new("a.svm", "") };

fn good() -> Good {
    let text = "1 1:1 3:0.5 # first\n-1 2:1\n0 1:0\n".into();
    Good { text, docs: 3, tokens: 3, files: ["a.svm", "a.svm.gz", "a.libsvm.ZST"] }
}

/// A line between two good ones.
fn line(line: &str) -> Vec<u8> {
    format!("0 1:1\n{line}\n0 3:1\n").into()
}

#[test]
fn dresses_and_damage() {
    TABLE.run(25, good().cases().into_iter().chain([good().long_line()]).collect());
}

#[test]
fn odd_but_legal() {
    TABLE.run(
        20,
        vec![
            fine("an empty file", "", 0, 0),
            fine("an empty line is an empty document", "0 1:1\n\n0 2:1\n", 3, 2),
            fine("a newline alone", "\n", 1, 0),
            fine("comments alone", "# one\n  # two\n", 0, 0),
            fine("duplicates count once", line("0 2:1 2:1 2:3"), 3, 3),
            fine("unsorted", line("0 9:1 4:1 7:1"), 3, 5),
            fine("trailing spaces and tabs", line("0\t2:1 \t 3:1   "), 3, 4),
            fine("no label", line("2:1 3:1"), 3, 4),
            fine("a mark before an entry", "\u{feff}1:1\n", 1, 1),
            fine("a label alone", line("7"), 3, 2),
            fine("a label that is no number", line("spam 2:1"), 3, 3),
            fine("query ids", line("3 qid:17 2:1"), 3, 3),
            fine("zero, negative and tiny values", line("0 2:0 3:-4 4:1e-300 5:1e-999"), 3, 3),
            fine("zeros that tell something", line("0 2:0 3:-4 4:1"), 3, 3).with("--unlisted unknown"),
            fine("leading zeros", line("0 0002:1"), 3, 3),
            fine("the highest column", line("0 4294967295:1"), 3, 3),
            fine("columns from zero", "0 0:1 2:1\n", 1, 2).with("--zero-based"),
            fine("the highest column from zero", "0 4294967294:1\n", 1, 1).with("--zero-based"),
            fine("within the vocabulary", "0 1:1 3:1\n", 1, 2).with("--vocab three.txt"),
            fine("a long label", line(&format!("{} 2:1", "x".repeat(100_000))), 3, 3),
            fine("any bytes in a comment", b"0 1:1 # caf\xe9 \x1b[31m\n0 2:1\n", 2, 2),
            fine("another name", "0 1:1\n", 1, 1).named("a.dat").with("--format svmlight"),
            fine("a lone carriage return between fields", "0 1:1\r2:1\n0 3:1\n", 2, 3),
        ],
    );
}

#[test]
fn faults() {
    TABLE.run(
        30,
        vec![
            bad("column 0", line("0 0:1"), &[(2, &["'0:1'", "columns count from 1", "--zero-based"])]),
            bad("negative", line("0 -1:1"), &[(2, &["'-1:1'", "not a whole number above zero", "count"])]),
            bad("negative from zero", line("0 -1:1"), &[(2, &["'-1:1'", "not a whole number from zero"])])
                .with("--zero-based"),
            bad("a fraction", line("0 1.5:1"), &[(2, &["'1.5:1'", "not a whole number"])]),
            bad("a sign", line("0 +2:1"), &[(2, &["'+2:1'", "not a whole number"])]),
            bad("a word", line("0 one:1"), &[(2, &["'one:1'", "not a whole number"])]),
            bad("no column", line("0 :1"), &[(2, &["':1'", "no column", "column:value"])]),
            bad(
                "u32 overflow",
                line("0 4294967296:1"),
                &[(2, &["'4294967296:1'", "above 4294967295", "number"])],
            ),
            bad("u32 overflow from zero", line("0 4294967295:1"), &[(2, &["above 4294967294"])])
                .with("--zero-based"),
            bad(
                "u64 overflow",
                line("0 99999999999999999999:1"),
                &[(2, &["'99999999999999999999:1'", "above 4294967295"])],
            ),
            bad("beyond the vocabulary", line("0 4:1"), &[(2, &["'4:1'", "3 names", "vocabulary"])])
                .with("--vocab three.txt"),
            bad("two states", line("0 2:1 2:0"), &[(2, &["column 2 is there twice"])])
                .with("--unlisted unknown"),
            bad("nan", line("0 1:nan"), &[(2, &["'1:nan'", "not a finite number", "leave it out"])]),
            bad("inf", line("0 1:inf"), &[(2, &["'1:inf'", "not a finite number"])]),
            bad("-Infinity", line("0 1:-Infinity"), &[(2, &["'1:-Infinity'", "not a finite number"])]),
            bad("too large", line("0 1:1e999"), &[(2, &["'1:1e999'", "not a finite number"])]),
            bad("hexadecimal", line("0 1:0x1"), &[(2, &["'1:0x1'", "not a finite number"])]),
            bad("a decimal comma", line("0 1:0,5"), &[(2, &["'1:0,5'", "not a finite number"])]),
            bad("no value", line("0 1:"), &[(2, &["'1:'", "not a finite number"])]),
            bad("two colons", line("0 1:1:1"), &[(2, &["'1:1:1'", "not a finite number"])]),
            bad("no colon", line("0 1:1 3"), &[(2, &["'3'", "column:value", "5:1"])]),
            bad("a sentence", line("the cat"), &[(2, &["'cat'", "column:value"])]),
            bad("control characters", line("0 \x1b[31m:1"), &[(2, &["\\u{1b}[31m:1", "whole number"])]),
            bad("a NUL byte", line("0 2:1\0"), &[(2, &["NUL", "iconv"])]),
            bad("UTF-16", utf16("0 1:1\n"), &[(1, &["NUL", "UTF-16", "iconv"]), (2, &["NUL"])]),
            bad("a label in Latin-1", b"0 1:1\ncaf\xe9 2:1\n", &[(2, &["label", "0xe9", "iconv"])]),
            bad("invalid UTF-8 in an entry", b"0 1:1\n0 \xff:1\n", &[(2, &["whole number"])]),
            bad(
                "a long field",
                line(&format!("0 {}:1", "x".repeat(100_000))),
                &[(2, &["xxx...", "whole number"])],
            ),
            bad(
                "all faults of a line",
                line("0 0:1 2:1 x:1 1:nan"),
                &[(2, &["'0:1'"]), (2, &["'x:1'"]), (2, &["'1:nan'"])],
            ),
            bad(
                "all faults of a file",
                "0 1:1\n0 0:1\n\n# comment\n0 2:1\n0 2:x\n0 3",
                &[(2, &["'0:1'"]), (6, &["'2:x'"]), (7, &["'3'"])],
            ),
            bad("a fault in the last line", "0 1:1\n0 2", &[(2, &["'2'"])]),
            bad("CRLF counts lines as LF does", "0 1:1\r\n\r\n0 2:x\r\n", &[(3, &["'2:x'"])]),
            bad(
                "JSON",
                "{\"tokens\": [\"a\"]}\n",
                &[(1, &["'{\"tokens\":'", "whole number"]), (1, &["column:value"])],
            ),
        ],
    );
}
