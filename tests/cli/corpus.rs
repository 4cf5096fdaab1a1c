//! `noisyor corpus`: what goes in, what comes out, and what is left when it fails.
#![allow(clippy::unwrap_used)] // helpers of tests are tests too

use crate::support::{Folder, PANTRY, keys, pantry_docs, parse, text};
use flate2::Compression;
use flate2::write::GzEncoder;
use noisyor::corpus::Corpus;
use noisyor::corpus::native::open;
use serde_json::json;
use std::io::Write;

/// The documents of a native corpus, tokens by name or number, sorted.
pub(crate) fn documents(corpus: &Corpus) -> Vec<Vec<String>> {
    let name = |&token: &u32| match corpus.token_names() {
        Some(names) => names.get(token as usize).to_owned(),
        None => token.to_string(),
    };
    let document = |at| {
        let mut names: Vec<String> = corpus.tokens(at).iter().map(name).collect();
        names.sort();
        names
    };
    (0..corpus.n_docs()).map(document).collect()
}

/// Runs `corpus` and returns what it wrote to out.corpus.
pub(crate) fn made(folder: &Folder, arguments: &str) -> Corpus {
    folder.run(&format!("corpus {arguments} -o out.corpus"));
    open(&folder.path("out.corpus")).expect("a corpus")
}

pub(crate) fn names(corpus: &Corpus) -> Vec<String> {
    corpus.token_names().expect("names").iter().map(str::to_owned).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Four documents in every format; all mean the same.
fn in_every_format(folder: &Folder) {
    let docs = [&["eat", "apple", "pear"][..], &["flour"], &[], &["pear", "eat"]];
    let vocab = ["eat", "apple", "pear", "flour"];
    let lines = |line: &dyn Fn(&[&str]) -> String| docs.map(|doc| line(doc) + "\n").concat();
    let column = |word: &&str| format!(" {}:1", vocab.iter().position(|name| name == word).unwrap() + 1);
    folder.write("vocab.txt", vocab.join("\n"));
    folder.write("a.svm", lines(&|doc| doc.iter().map(column).collect()));
    folder.write("a.jsonl", lines(&|doc| json!({"tokens": doc}).to_string()));
    folder.write("b.jsonl", lines(&|doc| json!({"text": doc.join(", ").to_uppercase()}).to_string()));
    folder.write("a.txt", lines(&|doc| doc.join(" ")));
    folder.write("a.txt.gz", gzip(&folder.bytes("a.txt")));
    folder.write("a.svm.zst", zstd::encode_all(&folder.bytes("a.svm")[..], 0).unwrap());
}

#[test]
fn every_format_makes_the_same_corpus() {
    let folder = Folder::new();
    in_every_format(&folder);
    folder.run("corpus a.jsonl --vocab vocab.txt -o expected.corpus");
    let expected = folder.bytes("expected.corpus");
    let corpus = open(&folder.path("expected.corpus")).unwrap();
    let docs = documents(&corpus);
    assert_eq!(docs, [&["apple", "eat", "pear"][..], &["flour"], &[], &["eat", "pear"]]);
    assert_eq!(names(&corpus), ["eat", "apple", "pear", "flour"]);
    folder.write("without-ending", expected.clone());
    for input in [
        "a.svm",
        "b.jsonl",
        "a.txt",
        "a.txt.gz",
        "a.svm.zst",
        "expected.corpus",
        "without-ending",
        "expected.corpus --format native",
    ] {
        folder.run(&format!("corpus {input} --vocab vocab.txt -o out.corpus"));
        assert!(folder.bytes("out.corpus") == expected, "{input}");
    }
    for (format, name) in [("text", "a.txt"), ("svmlight", "a.svm.zst"), ("jsonl", "b.jsonl")] {
        let mut command =
            folder.noisyor(&format!("corpus - --format {format} --vocab vocab.txt -o out.corpus"));
        command.write_stdin(folder.bytes(name)).assert().success();
        assert!(folder.bytes("out.corpus") == expected, "{name} from standard input");
    }
    folder.fails("corpus - -o none.corpus", 2, &["standard input", "--format"]);
    folder.fails("corpus - --format native -o none.corpus", 2, &["standard input", "give its file"]);
    assert!(!folder.path("none.corpus").exists());
}

#[test]
fn a_native_corpus_again_is_the_same() {
    let folder = Folder::new();
    in_every_format(&folder);
    let documents =
        "{\"id\":\"x\",\"tokens\":[\"b\",\"a\"]}\n{\"tokens\":[]}\n{\"label\":\"l\",\"tokens\":[\"a\"]}\n";
    folder.write("named.jsonl", documents);
    for source in ["a.svm", "named.jsonl", "a.txt --min-df 1"] {
        folder.run(&format!("corpus {source} -o first.corpus"));
        folder.run("corpus first.corpus -o second.corpus");
        assert!(folder.bytes("first.corpus") == folder.bytes("second.corpus"), "{source}");
    }
    folder.fails("corpus first.corpus -o first.corpus", 2, &["first.corpus", "is read"]);
    assert!(folder.bytes("first.corpus") == folder.bytes("second.corpus"));
    // Tokens are chosen where they have names.
    folder.run("corpus named.jsonl -o named.corpus");
    assert_eq!(names(&made(&folder, "named.corpus --max-vocab 1")), ["a"]);
    folder.run("corpus a.svm -o numbers.corpus");
    folder.fails("corpus numbers.corpus --max-vocab 1 -o no.corpus", 2, &["numbers.corpus", "--vocab"]);
}

#[test]
fn several_inputs() {
    let folder = Folder::new();
    folder.write("a.jsonl", "{\"id\":\"a\",\"tokens\":[\"x\",\"y\"]}\n");
    folder.write("b.jsonl", "{\"tokens\":[\"z\",\"y\"]}\n{\"label\":\"b\",\"tokens\":[\"w\"]}\n");
    folder.run("corpus b.jsonl -o b.corpus");
    for second in ["b.jsonl", "b.corpus"] {
        let corpus = made(&folder, &format!("a.jsonl {second}"));
        assert_eq!(documents(&corpus), [&["x", "y"][..], &["y", "z"], &["w"]]);
        assert_eq!(names(&corpus), ["x", "y", "z", "w"]);
        assert_eq!((corpus.id(0).as_ref(), corpus.id(1).as_ref()), ("a", "1"));
        assert_eq!((corpus.label(1), corpus.label(2)), (None, Some("b")));
    }
    folder.write("a.svm", "1 1:1 3:1\n");
    folder.write("b.svm", "2 5:1\n2\n");
    let corpus = made(&folder, "a.svm b.svm");
    assert_eq!((corpus.n_docs(), corpus.n_tokens(), corpus.label(2)), (3, 5, Some("2")));
    folder.fails("corpus a.svm a.jsonl -o no.corpus", 2, &["a.svm", "a.jsonl", "names", "--vocab"]);
    folder.fails("corpus b.corpus a.svm -o no.corpus", 2, &["b.corpus", "a.svm", "--vocab"]);
    folder.write("vocab.txt", "v\nw\nx\ny\nz\n");
    let corpus = made(&folder, "a.svm a.jsonl --vocab vocab.txt");
    assert_eq!(documents(&corpus), [["v", "x"], ["x", "y"]]);
    assert!(!folder.path("no.corpus").exists());
}

#[test]
fn every_command_finds_the_same_in_the_native_corpus() {
    let folder = Folder::new();
    folder.write("model.tsv", PANTRY);
    folder.run("model convert model.tsv model.json");
    let tokens: Vec<String> = serde_json::from_value(folder.json("model.json")["tokens"].clone()).unwrap();
    folder.write(
        "docs.jsonl",
        pantry_docs().replace("{\"tokens\":[\"apple\"]}", "{\"id\":\"a\",\"tokens\":[\"apple\",\"x\"]}"),
    );
    let words = |line: &str| serde_json::from_value::<Vec<String>>(parse(line)["tokens"].clone()).unwrap();
    let lines = |line: &dyn Fn(Vec<String>) -> String| -> String {
        folder.text("docs.jsonl").lines().map(|doc| line(words(doc)) + "\n").collect()
    };
    folder.write("docs.txt", lines(&|words| words.join(" and ")));
    let column = |word: &String| tokens.iter().position(|name| name == word).map_or(9, |at| at + 1);
    let svm = lines(&|words| words.iter().map(|word| format!(" {}:1", column(word))).collect());
    folder.write("docs.svm", svm);
    for source in ["docs.jsonl", "docs.svm", "docs.txt"] {
        folder.run(&format!("corpus {source} -o docs.corpus"));
        // Columns without names are tokens by number alone where that is said.
        let by = if source == "docs.svm" { " --by-number" } else { "" };
        let results = [source, "docs.corpus"].map(|corpus| format!("{corpus}{by}")).map(|corpus| {
            folder.run(&format!("infer model.json {corpus} -o out.tsv --backend cpu"));
            let run =
                format!("train {corpus} --graph model.json --epochs 3 --valid 0.2 --backend cpu -o run");
            folder.run(&run);
            let model = folder.bytes("run/model.safetensors");
            std::fs::remove_dir_all(folder.path("run")).unwrap();
            let eval = folder.result(&format!("eval model.json {corpus} --backend cpu --per-doc docs.tsv"));
            (eval, folder.text("docs.tsv"), folder.text("out.tsv"), model)
        });
        assert_eq!(results[0].0, results[1].0, "{source}");
        assert_eq!(results[0].1, results[1].1, "{source}");
        assert_eq!(results[0].2, results[1].2, "{source}");
        assert!(results[0].3 == results[1].3, "{source}: other models");
    }
    // Names for the numbers of a native corpus.
    folder.run("corpus docs.svm -o docs.corpus");
    folder.write(
        "reversed.txt",
        format!(
            "{}\nz\nz2\nz3\nz4\nz5\n",
            tokens.iter().rev().map(|s| s.as_str()).collect::<Vec<_>>().join("\n")
        ),
    );
    let [named, native] = ["docs.svm", "docs.corpus"]
        .map(|corpus| folder.result(&format!("eval model.json {corpus} --vocab reversed.txt --backend cpu")));
    assert_eq!(named, native);
    assert_ne!(folder.result("eval model.json docs.corpus --by-number --backend cpu"), native);
}

/// Documents of words drawn by a simple recurrence; some neighbours always stand together.
fn many_docs(n_docs: usize) -> String {
    let mut state = 1u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut text = String::new();
    for _ in 0..n_docs {
        for _ in 0..draw(12) {
            let word = draw(40) * draw(40);
            text += &if word.is_multiple_of(7) {
                format!("left{word} right{word} ")
            } else {
                format!("Word{word}, ")
            };
        }
        text += "\n";
    }
    text
}

#[test]
fn the_same_bytes_whatever_the_threads() {
    let folder = Folder::new();
    folder.write("docs.txt", many_docs(10_000));
    let options = "docs.txt --phrases --max-vocab 300";
    let first = folder.result(&format!("corpus {options} -o 1.corpus --threads 1"));
    assert!(first["phrases"].as_u64() > Some(10), "{first}");
    for (name, threads) in [("2.corpus", "--threads 2"), ("5.corpus", "--threads 5"), ("again.corpus", "")] {
        folder.run(&format!("corpus {options} -o {name} {threads}"));
        assert!(folder.bytes(name) == folder.bytes("1.corpus"), "{name}");
    }
}

#[test]
fn the_result() {
    let folder = Folder::new();
    folder.write("docs.txt", "The cat sat\nthe dog sat\n\nof\ncat\n");
    let result = folder.result("corpus docs.txt -o out.corpus");
    assert_eq!(
        keys(&result),
        [
            "bytes",
            "docs",
            "empty_docs",
            "occurrences",
            "output",
            "phrases",
            "seconds",
            "stop_words",
            "tokens",
            "unknown",
            "unknown_docs",
            "unknown_values",
            "words"
        ]
    );
    for (key, value) in [
        ("docs", 5),
        ("empty_docs", 2),
        ("occurrences", 4),
        ("phrases", 0),
        ("stop_words", 3),
        ("tokens", 2),
        ("unknown", 0),
        ("unknown_docs", 0),
        ("unknown_values", 0),
        ("words", 3),
        ("bytes", folder.bytes("out.corpus").len() as u64),
    ] {
        assert_eq!(result[key], value, "{key}");
    }
    assert_eq!(result["output"], "out.corpus");
    let stdout = folder.stdout("corpus docs.txt -o out.corpus");
    assert!(stdout.contains("5 documents (2 empty), 2 tokens, 0.8 a document"), "{stdout}");
    assert!(stdout.contains("from 3 different words; 3 occurrences of stop words left out"), "{stdout}");
    let output = folder.run("corpus docs.txt -o out.corpus -q");
    assert_eq!(text(&output.stderr), "");
    for command in ["corpus", "corpus split"] {
        let help = folder.stdout(&format!("{command} --help"));
        assert!(help.contains("Example") && help.contains("  noisyor corpus "), "{help}");
    }
}

#[test]
fn nothing_in_it() {
    let folder = Folder::new();
    for name in ["empty.txt", "empty.svm", "empty.jsonl"] {
        folder.write(name, "");
        let message = folder.stderr(&format!("corpus {name} -o out.corpus"));
        assert!(message.contains("there are no documents"), "{message}");
        assert_eq!(open(&folder.path("out.corpus")).unwrap().n_docs(), 0);
        folder.run("corpus out.corpus -o again.corpus");
        assert!(folder.bytes("again.corpus") == folder.bytes("out.corpus"));
        folder.write("model.tsv", PANTRY);
        assert_eq!(folder.result("eval model.tsv out.corpus --backend cpu")["docs"], 0);
        folder.fails("train out.corpus --graph model.tsv -o run", 2, &["no documents"]);
    }
    folder.write("stop.txt", "the\nof\n\n");
    assert_eq!(folder.result("corpus stop.txt -o out.corpus")["empty_docs"], 3);
    folder.write("rare.txt", "red fish\ntwo birds\n");
    folder.fails("corpus rare.txt --max-vocab 0 -o no.corpus", 2, &["--max-vocab"]);
    for options in ["", "--min-df 3", "--max-df 0"] {
        folder.fails(&format!("corpus rare.txt {options} -o no.corpus"), 2, &["none of 4", "vocabulary"]);
    }
    assert!(!folder.path("no.corpus").exists());
}

#[test]
fn failures_leave_nothing_behind() {
    let folder = Folder::new();
    folder.write("a.txt", "fish\nfish\n");
    folder.write("a.svm", "0 1:1\n");
    folder.write("vocab", "fish\n");
    folder.write("bad.txt", b"fish\nfish\n\xff\n");
    folder.fails("corpus a.txt -o missing/out.corpus", 3, &["missing/out.corpus"]);
    folder.fails("corpus a.txt", 2, &["--output"]);
    folder.fails("corpus -o out.corpus", 2, &["INPUT"]);
    folder.fails("corpus nowhere.txt -o out.corpus", 3, &["nowhere.txt"]);
    folder.fails("corpus a.txt nowhere.txt -o out.corpus", 3, &["nowhere.txt"]);
    folder.fails("corpus bad.txt -o out.corpus", 2, &["bad.txt:3", "UTF-8"]);
    folder.fails("corpus a.txt --stop-words nowhere -o out.corpus", 3, &["nowhere"]);
    folder.fails("corpus a.txt --vocab nowhere -o out.corpus", 3, &["nowhere"]);
    folder.fails("corpus a.txt --phrases=2 -o out.corpus", 2, &["between -1 and 1"]);
    folder.fails("corpus a.txt --min-df 1.5 -o out.corpus", 2, &["a share of them"]);
    folder.fails(
        "corpus a.txt --vocab vocab --min-df 1 -o out.corpus",
        2,
        &["makes no sense", "--vocab", "--min-df"],
    );
    folder.fails("corpus a.svm --save-vocab vocab.txt -o out.corpus", 2, &["no names"]);
    folder.fails("corpus a.txt --save-vocab missing/vocab.txt -o out.corpus", 3, &["missing/vocab.txt"]);
    assert_eq!(folder.names_in("."), ["a.svm", "a.txt", "bad.txt", "vocab"]);

    // What was there before stays until the new one is whole.
    folder.write("out.corpus", "before");
    folder.fails("corpus bad.txt -o out.corpus", 2, &["bad.txt:3"]);
    assert_eq!(folder.text("out.corpus"), "before");
    folder.run("corpus a.txt -o out.corpus");
    assert_eq!(open(&folder.path("out.corpus")).unwrap().n_docs(), 2);
    assert_eq!(folder.names_in("."), ["a.svm", "a.txt", "bad.txt", "out.corpus", "vocab"]);
}
