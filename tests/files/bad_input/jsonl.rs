use super::support::{Good, KEEP_ALL, Table, bad, fine, utf16};

const TABLE: Table = Table::new("a.jsonl", KEEP_ALL);
const EXPECTED: &str = "expected {\"tokens\": [\"word\", ...]}";

fn good() -> Good {
    let text = "{\"id\":\"x\",\"tokens\":[\"cat\",\"dog\"]}\n{\"text\":\"The caf\u{e9}\",\"label\":1}\n{\"tokens\":[]}\n";
    Good { text: text.into(), docs: 3, tokens: 4, files: ["a.jsonl", "a.jsonl.gz", "A.NDJSON.zst"] }
}

/// A line between two good ones.
fn line(line: impl AsRef<[u8]>) -> Vec<u8> {
    [b"{\"tokens\":[\"cat\"]}\n", line.as_ref(), b"\n{\"text\":\"dog\"}\n"].concat()
}

#[test]
fn dresses_and_damage() {
    TABLE.run(25, good().cases().into_iter().chain([good().long_line()]).collect());
}

#[test]
fn odd_but_legal() {
    let nested = format!("{{\"tokens\":[\"a\"],\"more\":{}1{}}}", "[".repeat(5000), "]".repeat(5000));
    let tokens = vec!["\"w\""; 100_000].join(",");
    TABLE.run(
        20,
        vec![
            fine("an empty file", "", 0, 0),
            fine("blank lines are no documents", line(" \t \n\n\r\n"), 2, 2),
            fine("spaces around", line("  { \"tokens\" : [ \"a\" ] }  "), 3, 3),
            fine("duplicates count once", line("{\"tokens\":[\"a\",\"a\",\"b\",\"a\"]}"), 3, 4),
            fine("unsorted", line("{\"tokens\":[\"z\",\"b\",\"c\"]}"), 3, 5),
            fine(
                "a token with spaces and signs",
                line("{\"tokens\":[\"a b\",\" \",\"\\n\",\"\\u001b[31m\"]}"),
                3,
                6,
            ),
            fine("escapes", line("{\"tokens\":[\"\\u00e9\",\"\u{e9}\",\"\\ud83d\\ude00\"]}"), 3, 4),
            fine("present and absent", line("{\"present\":[\"a\"],\"absent\":[\"b\",\"b\"]}"), 3, 3),
            fine("absent alone", line("{\"absent\":[\"b\"]}\n{\"present\":[]}"), 4, 2),
            fine("unknown", line("{\"tokens\":[\"a\"],\"unknown\":[\"b\"]}"), 3, 3),
            fine(
                "such keys that are no lists",
                line("{\"tokens\":[\"a\"],\"present\":true,\"unknown\":3}"),
                3,
                3,
            ),
            fine("other keys", line("{\"tokens\":[\"a\"],\"stars\":5,\"user\":{\"name\":null}}"), 3, 3),
            fine("deep nesting in another key", line(nested), 3, 3),
            fine("another key twice", line("{\"tokens\":[\"a\"],\"x\":1,\"x\":2}"), 3, 3),
            fine("a huge number in another key", line("{\"tokens\":[\"a\"],\"x\":1e99999}"), 3, 3),
            fine(
                "ids and labels of any scalar",
                line("{\"tokens\":[\"a\"],\"id\":-1.5,\"label\":true}"),
                3,
                3,
            ),
            fine(
                "huge ids",
                line("{\"tokens\":[\"a\"],\"id\":123456789012345678901234567890,\"label\":1e999}"),
                3,
                3,
            ),
            fine("null id and label", line("{\"tokens\":[\"a\"],\"id\":null,\"label\":null}"), 3, 3),
            fine("an empty id", line("{\"tokens\":[\"a\"],\"id\":\"\",\"label\":\"\"}"), 3, 3),
            fine("tokens before text", line("{\"tokens\":[\"a\"],\"text\":\"three more words\"}"), 3, 3),
            fine("null tokens and text", line("{\"tokens\":null,\"text\":\"two words\"}"), 3, 4),
            fine("an empty text", line("{\"text\":\"\"}"), 3, 2),
            fine("line ends within text", line("{\"text\":\"one\\r\\ntwo\\u0000three\"}"), 3, 5),
            fine(
                "a long id",
                line(format!("{{\"tokens\":[\"a\"],\"id\":\"{}\"}}", "x".repeat(100_000))),
                3,
                3,
            ),
            fine("a long token", line(format!("{{\"tokens\":[\"{}\"]}}", "x".repeat(100_000))), 3, 3),
            fine("many tokens", line(format!("{{\"tokens\":[{tokens}]}}")), 3, 3),
            fine("another name", "{\"tokens\":[\"a\"]}", 1, 1).named("a.json").with("--format jsonl"),
        ],
    );
}

#[test]
fn faults() {
    let nested = format!("{{\"tokens\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let long = format!("{{\"tokens\":\"{}\"}}", "x".repeat(1_000_000));
    TABLE.run(
        30,
        vec![
            bad("not JSON", line("the cat"), &[(2, &["'the cat'", "not a JSON object", EXPECTED])]),
            bad("a list", line("[\"a\"]"), &[(2, &["'[\"a\"]'", "not a JSON object", EXPECTED])]),
            bad("a string", line("\"a\""), &[(2, &["not a JSON object", EXPECTED])]),
            bad("cut short", line("{\"tokens\":[\"a\""), &[(2, &["column 14", "EOF", EXPECTED])]),
            bad("single quotes", line("{'tokens':['a']}"), &[(2, &["column 2", EXPECTED])]),
            bad("a comma too many", line("{\"tokens\":[\"a\",]}"), &[(2, &["column 16", "trailing comma"])]),
            bad("two objects", line("{\"tokens\":[]} {\"tokens\":[]}"), &[(2, &["column 15", "trailing"])]),
            bad("neither", line("{\"id\":\"x\"}"), &[(2, &["neither 'tokens' nor 'text'", EXPECTED])]),
            bad("the wrong case", line("{\"Tokens\":[\"a\"]}"), &[(2, &["neither 'tokens' nor 'text'"])]),
            bad("nothing in it", line("{}"), &[(2, &["neither 'tokens' nor 'text'"])]),
            bad("null tokens", line("{\"tokens\":null}"), &[(2, &["neither 'tokens' nor 'text'"])]),
            bad(
                "tokens in a string",
                line("{\"tokens\":\"a b\"}"),
                &[(2, &["\"a b\"", "column 15", EXPECTED])],
            ),
            bad("tokens in an object", line("{\"tokens\":{\"a\":1}}"), &[(2, &["map", EXPECTED])]),
            bad(
                "numbers for tokens",
                line("{\"tokens\":[\"a\",17]}"),
                &[(2, &["17", "column 17", "string"])],
            ),
            bad("null for a token", line("{\"tokens\":[null]}"), &[(2, &["null", "string"])]),
            bad(
                "an empty token",
                line("{\"tokens\":[\"a\",\"b\",\"\",\"c\"]}"),
                &[(2, &["token 3 is empty", "leave it out"])],
            ),
            bad("a list for text", line("{\"text\":[\"a\"]}"), &[(2, &["sequence", "string"])]),
            bad("a number for text", line("{\"text\":5}"), &[(2, &["5", "string"])]),
            bad("a huge number for a token", line("{\"tokens\":[1e99999]}"), &[(2, &["column", EXPECTED])]),
            bad(
                "tokens twice",
                line("{\"tokens\":[\"a\"],\"tokens\":[\"b\"]}"),
                &[(2, &["duplicate", "tokens"])],
            ),
            bad("id twice", line("{\"tokens\":[\"a\"],\"id\":1,\"id\":2}"), &[(2, &["duplicate", "id"])]),
            bad(
                "a list for an id",
                line("{\"tokens\":[\"a\"],\"id\":[1]}"),
                &[(2, &["'id' is '[1]'", "a string or a number"])],
            ),
            bad(
                "an object for a label",
                line("{\"tokens\":[\"a\"],\"label\":{}}"),
                &[(2, &["'label' is '{}'", "a string or a number"])],
            ),
            bad("half a surrogate pair", line("{\"tokens\":[\"\\ud83d\"]}"), &[(2, &["column", EXPECTED])]),
            bad(
                "half a pair in an id",
                line("{\"tokens\":[],\"id\":\"\\ud83d\"}"),
                &[(2, &["'id'", "escape"])],
            ),
            bad("an escape that is none", line("{\"tokens\":[\"\\x41\"]}"), &[(2, &["escape"])]),
            bad("a control character", line("{\"tokens\":[\"a\x1b[31m\"]}"), &[(2, &["control character"])]),
            bad("control characters that are no JSON", line("\x1b[31mred"), &[(2, &["'\\u{1b}[31mred'"])]),
            bad("invalid UTF-8", line(b"{\"tokens\":[\"w\xff\"]}"), &[(2, &["column", "unicode"])]),
            bad("a NUL byte", line("{\"tokens\":[\"a\0\"]}"), &[(2, &["NUL", "iconv"])]),
            bad("UTF-16", utf16("{\"tokens\":[]}"), &[(1, &["NUL", "UTF-16"])]),
            bad("deep nesting", line(nested), &[(2, &["sequence", "string"])]),
            bad("a long wrong value", line(long), &[(2, &["xxx", "...", EXPECTED])]),
            bad(
                "present and absent at once",
                line("{\"present\":[\"a\",\"b\"],\"absent\":[\"c\",\"b\"]}"),
                &[(2, &["'b' is present and absent at once"])],
            ),
            bad(
                "present and unknown at once",
                line("{\"tokens\":[\"a\"],\"unknown\":[\"a\"]}"),
                &[(2, &["'a' is present and unknown at once"])],
            ),
            bad(
                "lists of two kinds",
                line("{\"tokens\":[\"a\"],\"absent\":[\"b\"]}\n{\"present\":[\"a\"],\"unknown\":[]}"),
                &[(2, &["'present' or 'absent' beside 'tokens'"]), (3, &["'unknown' without 'tokens'"])],
            ),
            bad("absent numbers", line("{\"absent\":[1]}"), &[(2, &["'absent'", "invalid type"])]),
            bad("an empty absent name", line("{\"absent\":[\"\"]}"), &[(2, &["token 1 is empty"])]),
            bad("texts", line("{\"tokens\":[]}"), &[(3, &["--unlisted unknown", "text"])])
                .with("--unlisted unknown"),
            bad("NaN", line("{\"tokens\":NaN}"), &[(2, &["column 11", EXPECTED])]),
            bad(
                "all faults of a file, over blank lines",
                "{\"tokens\":[1]}\n\n{\"tokens\":[\"a\"]}\n{}\n{\"tokens\":[\"\"]}",
                &[(1, &["string"]), (4, &["neither"]), (5, &["token 1 is empty"])],
            ),
            bad(
                "an object over lines",
                "{\n\"tokens\": []\n}\n",
                &[(1, &["EOF"]), (2, &["not a JSON object"]), (3, &["not a JSON object"])],
            ),
        ],
    );
}
