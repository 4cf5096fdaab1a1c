use super::support::{Good, Table, bad, fine, unreadable, utf16};

const TABLE: Table =
    Table { beside: &[("two.txt", "a\nb\n"), ("three.txt", "a\nb\nc\n")], ..Table::new("a.csv", "") };

fn good() -> Good {
    let text = "cat,dog,\"b, c\"\n1,0,1\n0,0,0\n1,1,1\n".into();
    Good { text, docs: 3, tokens: 5, files: ["a.csv", "a.csv.gz", "A.CSV.zst"] }
}

/// A row between two good ones, under a header.
fn row(row: impl AsRef<[u8]>) -> Vec<u8> {
    [b"cat,dog,b\n1,0,1\n", row.as_ref(), b"\n1,1,1\n"].concat()
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
            fine("empty lines alone", "\n\n", 0, 0),
            fine("only a header", "a,b\n", 0, 0),
            fine("a mark before numbers", "\u{feff}1,0\n1,1\n", 2, 3),
            fine("no header", "1,0,1\n0,1,0\n", 2, 3),
            fine("numbers for names", "1,0,1\n0,1,0\n", 1, 1).named("b.csv").with("--id-column 1 --header"),
            fine("empty lines are passed over", row("\n\r\n"), 2, 5),
            fine("truth values", row("true,FALSE, Yes"), 3, 7),
            fine("truth values and no header", "yes,no\nno,no\n", 2, 1),
            fine("spaces around", row(" 1 , 0 ,\t1"), 3, 7),
            fine("numbers of all kinds", row("2,-1,1e-9"), 3, 7),
            fine("signs and points", row("+1,.5,1."), 3, 8),
            fine("numbers beyond whole ones", row("99999999999999999999999,1e308,-0"), 3, 7),
            fine("numbers in quotes", row("\"1\",\"0\",\"no\""), 3, 6),
            fine("values that are not known", row("NA,,\"\"\n?,nan,NULL\n1, ,NaN"), 5, 6),
            fine("unknown without a column", row("NA,,1"), 3, 6).with("--unlisted unknown"),
            fine("semicolons", "a;b\n1;0\n", 1, 1),
            fine("tabs", "a\tb\n1\t0\n", 1, 1),
            fine("one column", "a\n1\n0\n", 2, 1),
            fine("an id and a label", "id,a,b,y\nx,1,1,pos\n", 1, 2).with("--id-column id --label-column y"),
            fine("an id by number", "x,1,1\ny,0,1\n", 2, 3).with("--id-column 1"),
            fine("a column that is called text", "text,a\n1,0\n", 1, 1).with("--format dense"),
            fine("names by a vocabulary", "1,0,1\n", 1, 2).with("--vocab three.txt"),
            fine("many columns", "1,".repeat(99_999) + "1", 1, 100_000),
            fine("another name", "1,0\n", 1, 1).named("a.dat").with("--format dense"),
        ],
    );
}

#[test]
fn faults() {
    TABLE.run(
        28,
        vec![
            bad("too few cells", row("1,0"), &[(3, &["2 cells", "3"])]),
            bad("too many cells", row("1,0,1,1"), &[(3, &["4 cells", "3"])]),
            bad("a comma at the end", row("1,0,1,"), &[(3, &["4 cells", "3"])]),
            bad("semicolons below commas", row("1;0;1"), &[(3, &["1 cell", "3"])]),
            bad("n/a", row("1,n/a,0"), &[(3, &["column 2 ('dog')", "'n/a'", "finite number", "0 or 1"])]),
            bad("none", row("1,none,0"), &[(3, &["'none'", "nothing for unknown"])]),
            bad("inf", row("1,0,inf"), &[(3, &["column 3 ('b')", "'inf'", "finite number"])]),
            bad("too large", row("1e999,0,0"), &[(3, &["column 1 ('cat')", "'1e999'"])]),
            bad("dots", row("1,.,.."), &[(3, &["column 2 ('dog')", "'.'", "1 more"])]),
            bad("a dash", row("1,0,-"), &[(3, &["column 3 ('b')", "'-'"])]),
            bad("a word", row("1,maybe,0"), &[(3, &["'maybe'", "0 or 1"])]),
            bad("short for true and false", row("T,F,0"), &[(3, &["'T'", "0 or 1", "1 more"])]),
            bad("hexadecimal", row("0x1,0,0"), &[(3, &["'0x1'"])]),
            bad("decimal commas", "a;b\n0,5;1\n", &[(2, &["'0,5'", "finite number"])]),
            bad(
                "a sentence",
                "id,body\n1,the cat sat on the mat again\n",
                &[(2, &["'the cat", "if column 2 is text", " body"])],
            ),
            bad("without a header there is no name", "1,0\n1,x\n", &[(2, &["column 2: 'x'"])]),
            bad("a name twice", "a,b,a\n1,0,1\n", &[(1, &["columns 1 and 3", "'a'", "rename"])]),
            bad("no name", "a,,b\n1,0,1\n", &[(1, &["column 2 has no name", "--id-column 2"])]),
            bad(
                "a name twice, with control characters",
                "\x1b[31m,\x1b[31m\n",
                &[(1, &["'\\u{1b}[31m'", "rename"])],
            ),
            bad("Latin-1 in the header", b"a,na\xefve\n1,0\n", &[(1, &["column 2", "byte 3", "0xef"])]),
            bad("invalid UTF-8 in a cell", row(b"1,\xff,0"), &[(3, &["column 2", "finite number"])]),
            bad("control characters in a cell", row("1,\x1b[31m,0"), &[(3, &["'\\u{1b}[31m'"])]),
            bad("a long cell", row(format!("1,{},0", "x".repeat(100_000))), &[(3, &["xxx...'"])]),
            bad("a NUL byte", row("1,\0,0"), &[(3, &["NUL", "iconv"])]),
            bad("UTF-16", utf16("a,b\n1,0\n"), &[(1, &["NUL", "UTF-16"])]),
            bad("a quote not closed", row("1,\"0,1"), &[(3, &["not closed"])]),
            bad("no such id", "a,b\n1,0\n", &[(1, &["'key'", "'a', 'b'"])]).with("--id-column key"),
            bad("no such number", "a,b\n1,0\n", &[(1, &["column 3", "'a', 'b'"])]).with("--label-column 3"),
            bad(
                "all faults of a file",
                "a,b\n1,x\n1\n\n1,0\n1,0,1\nx,inf\n",
                &[(2, &["'x'"]), (3, &["1 cell"]), (6, &["3 cells"]), (7, &["'x'", "1 more"])],
            ),
            unreadable("more columns than names", "1,0,1\n", &["3 columns", "2 names", "vocabulary"])
                .with("--vocab two.txt"),
        ],
    );
}
