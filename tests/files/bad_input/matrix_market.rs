use super::support::{Case, Good, Table, bad, fine, unreadable, utf16};

const TABLE: Table = Table { beside: &[("three.txt", "a\nb\nc\n")], ..Table::new("a.mtx", "") };
const BANNER: &str = "%%MatrixMarket matrix coordinate real general\n";

fn good() -> Good {
    let text = format!("{BANNER}% comment\n3 5 4\n1 1 2\n1 5 1.5\n3 2 1\n3 3 0\n");
    Good { text, docs: 3, tokens: 3, files: ["a.mtx", "a.mtx.gz", "A.MM.zst"] }
}

/// A size and entries below the banner.
fn body(body: &str) -> String {
    format!("{BANNER}{body}")
}

/// An entry between two good ones.
fn entry(entry: impl AsRef<[u8]>) -> Vec<u8> {
    [body("3 5 3\n1 1 1\n").as_bytes(), entry.as_ref(), b"\n3 5 1\n"].concat()
}

fn bad_banner(banner: &'static str, parts: &'static [&'static str]) -> Case {
    bad(banner, format!("{banner}\n1 1 1\n1 1 1\n"), &[(1, parts)])
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
            fine("nothing at all", body("0 0 0\n"), 0, 0),
            fine("only a header", body("2 3 0"), 2, 0),
            fine("duplicates count once", entry("1 1 1"), 3, 2),
            fine("by column", body("2 2 3\n1 1 1\n2 1 1\n1 2 1\n"), 2, 3),
            fine("comments, empty lines and spaces", body("%\n\n 2 2 2 \n%\n\n 1\t1  1 \n%\n2 2 1\n"), 2, 2),
            fine("zero and negative values are absent", entry("2 1 -0.5"), 3, 2),
            fine("tiny values are present", entry("2 1 1e-300"), 3, 3),
            fine("signs", entry("2 1 +1E0"), 3, 3),
            fine(
                "a banner in capitals",
                "%%MATRIXMARKET MATRIX COORDINATE INTEGER GENERAL\n1 1 1\n1 1 1\n",
                1,
                1,
            ),
            fine("a pattern", "%%MatrixMarket matrix coordinate pattern general\n1 2 2\n1 1\n1 2\n", 1, 2),
            fine("columns that do not occur", body("1 4294967295 1\n1 4294967295 1\n"), 1, 1),
            fine("names by a vocabulary", body("1 3 1\n1 3 1\n"), 1, 1).with("--vocab three.txt"),
            fine("another name", body("1 1 1\n1 1 1\n"), 1, 1).named("a.dat").with("--format mtx"),
        ],
    );
}

#[test]
fn banners() {
    TABLE.run(
        9,
        vec![
            bad_banner("1 1 1", &["'1 1 1'", "first line", "%%MatrixMarket matrix coordinate"]),
            bad_banner("%MatrixMarket matrix coordinate real general", &["first line"]),
            bad_banner("%%MatrixMarket vector coordinate real general", &["first line"]),
            bad_banner("%%MatrixMarket matrix array real general", &["'array'", "csr_matrix"]),
            bad_banner(
                "%%MatrixMarket matrix coordinate real symmetric",
                &["'symmetric'", "symmetry='general'"],
            ),
            bad_banner(
                "%%MatrixMarket matrix coordinate complex general",
                &["'complex'", "real, integer or pattern"],
            ),
            bad_banner("%%MatrixMarket matrix coordinate real", &["symmetry ''"]),
            bad_banner("%%MatrixMarket matrix \x1b[31m real general", &["'\\u{1b}[31m'"]),
            bad("a long banner", "x".repeat(100_000), &[(1, &["xxx...'", "first line"])]),
            bad("an empty file", "", &[(1, &["''", "first line"])]),
            bad("UTF-16", utf16(BANNER), &[(1, &["NUL", "UTF-16"])]),
        ],
    );
}

#[test]
fn faults() {
    TABLE.run(
        25,
        vec![
            bad("row 0", entry("0 1 1"), &[(4, &["row 0", "count from 1", "add 1"])]),
            bad("column 0", entry("1 0 1"), &[(4, &["column 0", "count from 1"])]),
            bad("a negative row", entry("-1 1 1"), &[(4, &["row '-1'", "whole number above zero"])]),
            bad("a fraction", entry("1 1.0 1"), &[(4, &["column '1.0'", "whole number"])]),
            bad("a row beyond the header", entry("4 1 1"), &[(4, &["row 4", "above 3", "correct"])]),
            bad("a column beyond the header", entry("1 6 1"), &[(4, &["column 6", "above 5", "correct"])]),
            bad("u32 overflow", entry("1 4294967297 1"), &[(4, &["4294967297", "above 5"])]),
            bad(
                "u64 overflow",
                entry("18446744073709551617 1 1"),
                &[(4, &["18446744073709551617", "above 3"])],
            ),
            bad("nan", entry("1 2 nan"), &[(4, &["'nan'", "finite number", "leave"])]),
            bad("inf", entry("1 2 -inf"), &[(4, &["'-inf'", "finite number"])]),
            bad("too large", entry("1 2 1e999"), &[(4, &["'1e999'", "finite number"])]),
            bad("Fortran's exponent", entry("1 2 1D0"), &[(4, &["'1D0'", "finite number"])]),
            bad("too few fields", entry("1 2"), &[(4, &["'1 2'", "'row column value'"])]),
            bad("too many fields", entry("1 2 1 0"), &[(4, &["'1 2 1 0'", "'row column value'"])]),
            bad(
                "a value in a pattern",
                "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1 1\n",
                &[(3, &["'1 1 1'", "'row column'"])],
            ),
            bad("control characters", entry("1 2 \x1b[31m"), &[(4, &["'\\u{1b}[31m'"])]),
            bad("invalid UTF-8", entry(b"1 2 \xff"), &[(4, &["finite number"])]),
            bad("a NUL byte", body("3 5 1\n\0\n3 5 1\n"), &[(3, &["NUL"])]),
            bad(
                "more entries than declared",
                body("1 5 1\n1 1 1\n1 2 1\n"),
                &[(4, &["entry 2", "declares 1", "correct"])],
            ),
            bad(
                "fewer entries than declared",
                body("1 5 9\n1 1 1\n"),
                &[(3, &["after 1 entries", "declares 9", "cut short"])],
            ),
            bad("no size", BANNER, &[(1, &["''", "'rows columns entries'"])]),
            bad("a size of two numbers", body("1 1\n"), &[(2, &["'1 1'", "'rows columns entries'"])]),
            bad("a size of four numbers", body("1 1 1 1\n"), &[(2, &["'1 1 1 1'", "three whole numbers"])]),
            bad("a negative size", body("1 -1 1\n"), &[(2, &["'1 -1 1'", "three whole numbers"])]),
            bad(
                "10^12 rows",
                body("1000000000000 5 1\n1 1 1\n"),
                &[(2, &["1000000000000 rows", "4294967295"])],
            ),
            bad(
                "10^12 columns",
                body("3 1000000000000 1\n1 1 1\n"),
                &[(2, &["1000000000000 columns", "4294967295"])],
            ),
            bad(
                "10^12 entries",
                body("3 5 1000000000000\n1 1 1\n"),
                &[(3, &["after 1 entries", "1000000000000"])],
            ),
            bad(
                "10^24 entries",
                body("3 5 1000000000000000000000000\n1 1 1\n"),
                &[(2, &["1000000000000000000000000", "too large"])],
            ),
            bad(
                "rows that are nearly all empty",
                body("4000000000 5 1\n1 1 1\n"),
                &[(2, &["4000000000 documents", "empty"])],
            ),
            bad(
                "all faults of a file",
                body("3 5 4\n0 1 1\n%\n1 1 1\n1 9 1\n1 1\n"),
                &[(3, &["row 0"]), (6, &["column 9"]), (7, &["'1 1'"])],
            ),
            unreadable("more columns than names", body("1 5 1\n1 3 1\n"), &["5", "3 names", "vocabulary"])
                .with("--vocab three.txt"),
        ],
    );
}
