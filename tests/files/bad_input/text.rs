use super::support::{Good, KEEP_ALL, Table, bad, fine, utf16};

const TABLE: Table = Table::new("a.txt", KEEP_ALL);

fn good() -> Good {
    let text = "The cat, the dog.\nzwei W\u{f6}rter\nthree more words\n".into();
    Good { text, docs: 3, tokens: 8, files: ["a.txt", "a.txt.gz", "A.TXT.zst"] }
}

#[test]
fn dresses_and_damage() {
    TABLE.run(25, good().cases().into_iter().chain([good().long_line()]).collect());
}

#[test]
fn odd_but_legal() {
    TABLE.run(
        15,
        vec![
            fine("an empty file", "", 0, 0),
            fine("a newline alone", "\n", 1, 0),
            fine("empty lines are empty documents", "cat\n\n\ndog\n", 4, 2),
            fine("spaces alone", "cat\n  \t \ndog\n", 3, 2),
            fine("signs alone", "cat\n... !?\ndog\n", 3, 2),
            fine("duplicates count once", "cat cat Cat CAT\n", 1, 1),
            fine("trailing spaces", "cat dog   \t\n", 1, 2),
            fine("control characters are no words", "cat\x1b[31m\x07dog\n\x08bird\n", 2, 4),
            fine("a lone carriage return between words", "cat\rdog\nbird\n", 2, 3),
            fine("two carriage returns", "cat\r\r\ndog\r\n", 2, 2),
            fine("other spaces", "cat\u{a0}dog\u{2003}bird\u{85}fish\n", 1, 4),
            fine("a mark within the text", "cat\n\u{feff}dog\n", 2, 2),
            fine("other scripts", "\u{43a}\u{43e}\u{442} \u{3b3}\u{3ac}\u{3c4}\u{3b1}\n", 1, 2),
            fine("a long word", format!("{}\n", "x".repeat(100_000)), 1, 1),
            fine("a long line", "cat dog\t".repeat(100_000), 1, 2),
            fine("what looks like JSON", "{\"tokens\": [\"cat\"]}\n", 1, 2),
            fine("another name", "cat dog\n", 1, 2).named("notes").with("--format text"),
        ],
    );
}

#[test]
fn faults() {
    TABLE.run(
        9,
        vec![
            bad("Latin-1", b"cat\nna\xefve\ndog\n", &[(2, &["byte 3", "0xef", "iconv -f LATIN1"])]),
            bad("a lone continuation byte", b"cat\n\x80\n", &[(2, &["byte 1", "0x80"])]),
            bad("a character cut short", b"cat\ndog \xe2\x82", &[(2, &["byte 5", "0xe2"])]),
            bad("a surrogate", b"\xed\xa0\x80\n", &[(1, &["byte 1", "0xed"])]),
            bad("an overlong character", b"cat\xc0\xaf\n", &[(1, &["byte 4", "0xc0"])]),
            bad("a NUL byte", "cat\nd\0og\n", &[(2, &["NUL", "iconv -f UTF-16"])]),
            bad("NUL bytes alone", [0; 1000], &[(1, &["NUL"])]),
            bad("UTF-16", utf16("cat\ndog"), &[(1, &["NUL", "UTF-16"]), (2, &["NUL"])]),
            bad("a picture", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", &[(1, &["byte 1", "0x89"]), (3, &["NUL"])]),
            bad(
                "all faults of a file",
                b"\xff\ncat\n\n\xfe\nd\0g\n\xfd",
                &[(1, &["0xff"]), (4, &["0xfe"]), (5, &["NUL"]), (6, &["0xfd"])],
            ),
        ],
    );
}
