use super::support::{Good, KEEP_ALL, Table, bad, fine, utf16};

const TABLE: Table = Table::new("a.tsv", KEEP_ALL);

fn good() -> Good {
    let text = "text\tid\tlabel\nthe cat\ta\tx\n\tb\ty\nW\u{f6}rter \"here\tc\tz\n".into();
    Good { text, docs: 3, tokens: 4, files: ["a.tsv", "a.tsv.gz", "A.TAB.zst"] }
}

/// A row between two good ones, under a header.
fn row(row: impl AsRef<[u8]>) -> Vec<u8> {
    [b"id\ttext\na\tcat\n", row.as_ref(), b"\nb\tdog\n"].concat()
}

#[test]
fn dresses_and_damage() {
    TABLE.run(25, good().cases().into_iter().chain([good().long_line()]).collect());
}

#[test]
fn odd_but_legal() {
    TABLE.run(
        18,
        vec![
            fine("an empty file", "", 0, 0),
            fine("only a header", "id\ttext\n", 0, 0),
            fine("only a header without newline", "text", 0, 0),
            fine("an empty text", row("c\t"), 3, 2),
            fine("spaces alone", row("c\t   "), 3, 2),
            fine("duplicate ids", row("a\tbird"), 3, 3),
            fine("duplicate words", row("c\tbird bird"), 3, 3),
            fine("an empty id", row("\tbird"), 3, 3),
            fine("a quote is a character", row("c\t\"bird"), 3, 3),
            fine("trailing spaces", row("c\tbird  "), 3, 3),
            fine(
                "fewer fields than the header has, but all that are needed",
                "text\tid\tlabel\tmore\ncat\ta\tx\n",
                1,
                1,
            ),
            fine("one column", "cat dog\nbird\n", 2, 3),
            fine("empty lines of one column", "cat\n\nbird\n", 3, 2),
            fine("columns by number", "a\tcat\nb\tdog bird\n", 2, 3).with("--text-column 2"),
            fine("columns by number under a header", "x\ty\nb\tdog bird\n", 1, 2)
                .with("--text-column 2 --header"),
            fine("columns by name", "key\tbody\na\tcat\n", 1, 1).with("--text-column body --id-column key"),
            fine("a long id", row(format!("{}\tbird", "x".repeat(100_000))), 3, 3),
            fine("control characters", row("\x1b[31m\tbird\x07"), 3, 3),
            fine("a lone carriage return", row("c\tbird\rfish"), 3, 4),
            fine("another name", "cat\n", 1, 1).named("a.dat").with("--format tsv"),
        ],
    );
}

#[test]
fn faults() {
    TABLE.run(
        25,
        vec![
            bad("too few fields", row("c"), &[(3, &["1 field", "2", "tab"])]),
            bad("an empty line", row(""), &[(3, &["1 field", "2"])]),
            bad("spaces for tabs", row("c   bird"), &[(3, &["1 field", "tab"])]),
            bad("too many fields", row("c\tbird\tfish"), &[(3, &["3 fields", "2", "tab"])]),
            bad("a tab at the end", row("c\tbird\t"), &[(3, &["3 fields", "2"])]),
            bad("Latin-1 in the text", row(b"c\tna\xefve"), &[(3, &["column 2", "byte 3", "0xef", "iconv"])]),
            bad("Latin-1 in the id", row(b"\xef\tbird"), &[(3, &["column 1", "byte 1", "0xef"])]),
            bad("a NUL byte", row("c\tbi\0rd"), &[(3, &["NUL", "iconv"])]),
            bad("a NUL byte in the header", "te\0xt\ncat\n", &[(1, &["NUL"])]),
            bad("UTF-16", utf16("text\ncat\n"), &[(1, &["NUL", "UTF-16"])]),
            bad("no column for the text", "a\tb\n1\t2\n", &[(1, &["--text-column", "'a', 'b'"])]),
            bad("the wrong case", "id\tText\n1\t2\n", &[(1, &["--text-column", "'id', 'Text'"])]),
            bad("text twice", "text\tid\ttext\n", &[(1, &["columns 1 and 3", "'text'", "number"])]),
            bad("id twice", "text\tid\tid\n", &[(1, &["columns 2 and 3", "'id'", "number"])]),
            bad("no such column", "a\tb\n1\t2\n", &[(1, &["'body'", "'a', 'b'"])]).with("--text-column body"),
            bad("no such id", "a\tb\n1\t2\n", &[(1, &["'key'", "'a', 'b'"])])
                .with("--text-column b --id-column key"),
            bad("no such label", "a\tb\n1\t2\n", &[(1, &["'y'", "'a', 'b'"])])
                .with("--text-column b --label-column y"),
            bad("no such number", "a\tb\n1\t2\n", &[(1, &["column 3", "'a', 'b'"])]).with("--text-column 3"),
            bad("a number beyond all", "a\tb\n", &[(1, &["column 18446744073709551615"])])
                .with("--text-column 18446744073709551615"),
            bad("control characters in the header", "\x1b[31m\tb\n", &[(1, &["'\\u{1b}[31m', 'b'"])]),
            bad("control characters in a chosen name", "a\tb\n", &[(1, &["'\\u{7}'"])])
                .with("--text-column \u{7}"),
            bad("a long header", format!("{}\tb\n", "x".repeat(100_000)), &[(1, &["xxx...', 'b'"])]),
            bad("many columns", "c\t".repeat(10_000), &[(1, &["(10001 in all)"])]),
            bad("commas for tabs", "id,text\na,cat\n", &[(1, &["no column 'id'", "'id,text'"])])
                .with("--id-column id"),
            bad(
                "all faults of a file",
                b"id\ttext\nc\nd\tx\te\nf\t\xff\ng\tcat\n\n",
                &[(2, &["1 field"]), (3, &["3 fields"]), (4, &["0xff"]), (6, &["1 field"])],
            ),
            bad("a fault in the last line", "id\ttext\na\tcat\nb", &[(3, &["1 field"])]),
        ],
    );
}
