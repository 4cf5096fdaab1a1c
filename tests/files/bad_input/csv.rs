use super::support::{Good, KEEP_ALL, Table, bad, fine, utf16};

const TABLE: Table = Table::new("a.csv", KEEP_ALL);

fn good() -> Good {
    let text = "text,id\n\"the cat, \"\"Tom\"\"\",a\n,b\nW\u{f6}rter,c\n".into();
    Good { text, docs: 3, tokens: 4, files: ["a.csv", "a.csv.gz", "A.CSV.zst"] }
}

/// A row between two good ones, under a header.
fn row(row: impl AsRef<[u8]>) -> Vec<u8> {
    [b"id,text\na,cat\n", row.as_ref(), b"\nb,dog\n"].concat()
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
            fine("an empty file", "", 0, 0).with("--format csv"),
            fine("only a header", "id,text\n", 0, 0),
            fine("empty lines are passed over", row("\n\r\n"), 2, 2),
            fine("empty lines before the header", "\n\nid,text\na,cat\n", 1, 1),
            fine("an empty text", row("c,"), 3, 2),
            fine("an empty text in quotes", row("c,\"\""), 3, 2),
            fine("commas in quotes", row("c,\"bird, fish\""), 3, 4),
            fine("quotes in quotes", row("c,\"a \"\"bird\"\"\""), 3, 3),
            fine("lines in quotes", row("c,\"bird\n\nfish\r\nworm\""), 3, 5),
            fine("a quote within a cell", row("c,6\" bird"), 3, 3),
            fine("quotes around all", "\"id\",\"text\"\n\"a\",\"cat\"\n", 1, 1),
            fine("semicolons", "id;text\na;cat, dog\n", 1, 2),
            fine("tabs", "id\ttext\na\tcat, dog\n", 1, 2),
            fine("duplicate ids", row("a,bird"), 3, 3),
            fine("a long id", row(format!("{},bird", "x".repeat(100_000))), 3, 3),
            fine("columns by number", "a,cat\nb,dog bird\n", 2, 3).with("--text-column 2"),
            fine("columns by name", "key,body\na,cat\n", 1, 1).with("--text-column body --id-column key"),
            fine("one column", "cat\ndog bird\n", 2, 3).with("--format csv"),
            fine("a lone carriage return", row("c,bird\rfish"), 3, 4),
            fine("control characters", row("\x1b[31m,bird\x07"), 3, 3),
            fine("another name", "text\ncat\n", 1, 1).named("a.dat").with("--format csv"),
        ],
    );
}

#[test]
fn faults() {
    TABLE.run(
        25,
        vec![
            bad("too few fields", row("c"), &[(3, &["1 field", "2"])]),
            bad("too many fields", row("c,bird, fish"), &[(3, &["3 fields", "2", "quote"])]),
            bad("a comma at the end", row("c,bird,"), &[(3, &["3 fields", "2"])]),
            bad("semicolons below commas", row("c;bird"), &[(3, &["1 field"])]),
            bad("spaces alone are a row", row("   "), &[(3, &["1 field"])]),
            bad("a quote not closed", row("c,\"bird"), &[(3, &["quoted cell", "begins here", "not closed"])]),
            bad("a quote not closed in the last line", "text\n\"cat", &[(2, &["not closed"])]),
            bad("a quote not closed in the header", "id,\"text\na,cat\n", &[(1, &["not closed"])])
                .with("--format csv"),
            bad("too few fields after lines in quotes", row("c,\"bird\n\nfish\"\nd"), &[(6, &["1 field"])]),
            bad("Latin-1 in the text", row(b"c,na\xefve"), &[(3, &["column 2", "byte 3", "0xef", "iconv"])]),
            bad(
                "Latin-1 in quotes over lines",
                row(b"c,\"bird\n\xef\""),
                &[(3, &["column 2", "byte 6", "0xef"])],
            ),
            bad("a NUL byte", row("c,bi\0rd"), &[(3, &["NUL", "iconv"])]),
            bad("a NUL byte in the header", "te\0xt,id\ncat,a\n", &[(1, &["NUL"])]),
            bad("UTF-16", utf16("text,id\ncat,a\n"), &[(1, &["NUL", "UTF-16"])]),
            bad("no column for the text", "a,b\n1,2\n", &[(1, &["--text-column", "'a', 'b'"])])
                .with("--format csv"),
            bad("text twice", "text,id,text\n", &[(1, &["columns 1 and 3", "'text'", "number"])]),
            bad("label twice", "text,label,label\n", &[(1, &["columns 2 and 3", "'label'", "number"])]),
            bad("no such column", "a,b\n1,2\n", &[(1, &["'body'", "'a', 'b'"])]).with("--text-column body"),
            bad("no such id", "text,b\n1,2\n", &[(1, &["'key'", "'text', 'b'"])]).with("--id-column key"),
            bad("no such number", "a,b\n1,2\n", &[(1, &["column 3", "'a', 'b'"])]).with("--text-column 3"),
            bad("control characters in the header", "\x1b[31m,b\n1,2\n", &[(1, &["'\\u{1b}[31m', 'b'"])])
                .with("--format csv"),
            bad("a long header", format!("{},b\n", "x".repeat(100_000)), &[(1, &["xxx...', 'b'"])])
                .with("--format csv"),
            bad("many columns", "c,".repeat(10_000), &[(1, &["(10001 in all)"])]).with("--format csv"),
            bad(
                "all faults of a file",
                b"id,text\nc\nd,x,e\nf,\xff\n\ng,\"c\nat\"\nh\n",
                &[(2, &["1 field"]), (3, &["3 fields"]), (4, &["0xff"]), (8, &["1 field"])],
            ),
            bad(
                "a fault before a quote not closed",
                "id,text\nc\nd,\"bird\ne,fish\n",
                &[(2, &["1 field"]), (3, &["not closed"])],
            ),
        ],
    );
}

#[test]
fn a_quote_that_is_never_closed_is_not_held_in_memory() {
    let mut bytes = b"id,text\na,\"cat\n".to_vec();
    (0..66).for_each(|_| bytes.extend([b'x'; (1 << 20) - 1].iter().chain(b"\n")));
    bytes.extend(b"b,dog\n");
    TABLE.run(1, vec![bad("66 MB after a quote", bytes, &[(2, &["longer than 64 MB", "quote not closed"])])]);
}
