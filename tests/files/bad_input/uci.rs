use super::support::{Good, Table, bad, fine, unreadable, utf16};

const TABLE: Table = Table { beside: &[("three.txt", "a\nb\nc\n")], ..Table::new("docword.a.txt", "") };

fn good() -> Good {
    let text = "3\n5\n4\n1 1 2\n1 5 1\n3 2 1\n3 3 0\n".into();
    Good { text, docs: 3, tokens: 3, files: ["docword.a.txt", "docword.a.txt.gz", "a.UCI.zst"] }
}

/// An entry between two good ones.
fn entry(entry: impl AsRef<[u8]>) -> Vec<u8> {
    [b"3\n5\n3\n1 1 1\n", entry.as_ref(), b"\n3 5 1\n"].concat()
}

#[test]
fn dresses_and_damage() {
    TABLE.run(25, good().cases().into_iter().chain([good().long_line()]).collect());
}

#[test]
fn odd_but_legal() {
    TABLE.run(
        13,
        vec![
            fine("nothing at all", "0\n0\n0\n", 0, 0),
            fine("only a header", "2\n3\n0", 2, 0),
            fine("duplicates count once", entry("1 1 1"), 3, 2),
            fine("unsorted", "3\n5\n4\n3 1 1\n1 5 1\n2 2 1\n1 4 1\n", 3, 4),
            fine("empty lines and spaces", "3 \n 5\n3\t\n\n1 1 1 \n\n  1\t2   1\n3 5 1\n\n", 3, 3),
            fine("leading zeros", entry("02 01 001"), 3, 3),
            fine("a count of zero is absent", entry("2 1 0"), 3, 2),
            fine("a count beyond u64", entry("2 1 99999999999999999999999"), 3, 3),
            fine("documents without entries", "1000\n5\n1\n500 1 1\n", 1000, 1),
            fine("words that do not occur", "1\n4294967295\n1\n1 4294967295 1\n", 1, 1),
            fine("names by a vocabulary", "1\n3\n1\n1 3 1\n", 1, 1).with("--vocab three.txt"),
            fine("another name", "1\n3\n1\n1 3 1\n", 1, 1).named("a.dat").with("--format uci"),
            fine("a name in capitals", "1\n3\n1\n1 3 1\n", 1, 1).named("DOCWORD.A.TXT"),
        ],
    );
}

#[test]
fn faults() {
    let long = entry(format!("1 {} 1", "9".repeat(100_000)));
    TABLE.run(
        25,
        vec![
            bad("document 0", entry("0 1 1"), &[(5, &["docID 0", "count from 1", "add 1"])]),
            bad("word 0", entry("1 0 1"), &[(5, &["wordID 0", "count from 1", "add 1"])]),
            bad("a negative document", entry("-1 1 1"), &[(5, &["docID '-1'", "whole number above zero"])]),
            bad("a fraction", entry("1 1.0 1"), &[(5, &["wordID '1.0'", "whole number"])]),
            bad("a word", entry("1 cat 1"), &[(5, &["wordID 'cat'", "whole number"])]),
            bad(
                "a document beyond the header",
                entry("4 1 1"),
                &[(5, &["docID 4", "above 3", "header", "correct"])],
            ),
            bad(
                "a word beyond the header",
                entry("1 6 1"),
                &[(5, &["wordID 6", "above 5", "header", "correct"])],
            ),
            bad("u32 overflow", entry("1 4294967297 1"), &[(5, &["4294967297", "above 5"])]),
            bad(
                "u64 overflow",
                entry("18446744073709551617 1 1"),
                &[(5, &["18446744073709551617", "above 3"])],
            ),
            bad("a very long number", long, &[(5, &["999...", "above 5"])]),
            bad("a negative count", entry("1 2 -1"), &[(5, &["count '-1'", "whole number from zero"])]),
            bad("nan", entry("1 2 nan"), &[(5, &["count 'nan'", "whole number from zero"])]),
            bad("too few fields", entry("1 2"), &[(5, &["'1 2'", "'docID wordID count'"])]),
            bad("too many fields", entry("1 2 1 1"), &[(5, &["'1 2 1 1'", "'docID wordID count'"])]),
            bad("commas", entry("1,2,1"), &[(5, &["'1,2,1'", "'docID wordID count'"])]),
            bad("control characters", entry("1 \x1b[31m 1"), &[(5, &["'\\u{1b}[31m'"])]),
            bad("invalid UTF-8", entry(b"1 \xff 1"), &[(5, &["wordID", "whole number"])]),
            bad("a NUL byte", "3\n5\n2\n1 1 1\n\0\n3 5 1\n", &[(5, &["NUL", "iconv"])]),
            bad("UTF-16", utf16("3\n5\n2\n"), &[(1, &["NUL", "UTF-16"])]),
            bad(
                "more entries than declared",
                "3\n5\n1\n1 1 1\n1 2 1\n1 3 1\n",
                &[(5, &["entry 2", "declares 1", "correct"])],
            ),
            bad(
                "fewer entries than declared",
                "3\n5\n9\n1 1 1\n",
                &[(4, &["after 1 entries", "declares 9", "cut short"])],
            ),
            bad("an empty file", "", &[(1, &["''", "number of documents", "three lines"])]),
            bad("half a header", "3\n5\n", &[(2, &["''", "number of entries", "three lines"])]),
            bad("a header in one line", "3 5 1\n1 1 1\n", &[(1, &["'3 5 1'", "number of documents"])]),
            bad("a negative number of words", "3\n-5\n1\n", &[(2, &["'-5'", "number of words"])]),
            bad(
                "10^12 documents",
                "1000000000000\n5\n1\n1 1 1\n",
                &[(1, &["1000000000000 documents", "4294967295"])],
            ),
            bad(
                "10^12 words",
                "3\n1000000000000\n1\n1 1 1\n",
                &[(2, &["1000000000000 words", "4294967295"])],
            ),
            bad(
                "10^12 entries",
                "3\n5\n1000000000000\n1 1 1\n",
                &[(4, &["after 1 entries", "1000000000000"])],
            ),
            bad(
                "10^24 entries",
                "3\n5\n1000000000000000000000000\n1 1 1\n",
                &[(3, &["1000000000000000000000000", "too large"])],
            ),
            bad(
                "documents that are nearly all empty",
                "4000000000\n5\n1\n1 1 1\n",
                &[(3, &["4000000000 documents", "1 entries", "empty"])],
            ),
            bad(
                "a lie about entries for as many documents",
                "4000000000\n5\n1000000000000\n1 1 1\n",
                &[(4, &["after 1 entries"]), (4, &["4000000000 documents", "empty"])],
            ),
            bad("a sentence", "the cat\n", &[(1, &["'the cat'", "three lines"])]),
            bad(
                "all faults of a file",
                "3\n5\n4\n0 1 1\n\n1 1 1\n1 9 1\n1 1\n",
                &[(4, &["docID 0"]), (7, &["wordID 9"]), (8, &["'1 1'"])],
            ),
            unreadable("more words than names", "1\n5\n1\n1 3 1\n", &["5", "3 names", "vocabulary"])
                .with("--vocab three.txt"),
        ],
    );
}
