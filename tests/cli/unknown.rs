//! Documents whose tokens are present, absent or unknown: from every format to a native corpus, and what takes them.

#![allow(clippy::unwrap_used)] // helpers of tests are tests too

use crate::corpus::{made, names};
use crate::support::{Folder, number, text};
use noisyor::corpus::{Corpus, Listed};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The state of every token in every document: 1, 0 and ?, tokens by name.
fn states(corpus: &Corpus) -> Vec<String> {
    let mut order: Vec<usize> = (0..corpus.n_tokens()).collect();
    if corpus.token_names().is_some() {
        let names = names(corpus);
        order.sort_by_key(|&at| names[at].clone());
    }
    let of_doc = |doc_ix: usize| {
        let state = corpus.state(doc_ix);
        let of_token = |&token: &usize| match (state.present.contains(&(token as u32)), state.other) {
            (true, _) => '1',
            (_, Listed::Unknown(listed)) if listed.contains(&(token as u32)) => '?',
            (_, Listed::Unknown(_)) => '0',
            (_, Listed::Absent(listed)) if listed.contains(&(token as u32)) => '0',
            (_, Listed::Absent(_)) => '?',
        };
        order.iter().map(of_token).collect()
    };
    (0..corpus.n_docs()).map(of_doc).collect()
}

const STATES: [&str; 4] = ["1?0", "01?", "???", "001"];

/// The same four documents in every format that can tell them.
fn in_every_format(folder: &Folder) {
    folder.write("a.csv", "id,a,b,c\nw,1,,0\nx,0,1,NA\ny,?,nan,NULL\nz,0,0,1\n");
    let lines = [
        r#"{"id":"w","present":["a"],"absent":["c"]}"#,
        r#"{"id":"x","tokens":["b"],"unknown":["c"]}"#,
        r#"{"id":"y","present":[]}"#,
        r#"{"id":"z","tokens":["c"]}"#,
    ];
    folder.write("a.jsonl", lines.join("\n"));
    folder.write("a.svm", "w 1:1 3:0\nx 1:0 2:1\ny\nz 1:0 2:0 3:1\n");
    folder.write(
        "a.mtx",
        "%%MatrixMarket matrix coordinate integer general\n4 3 7\n4 3 1\n1 1 1\n1 3 0\n2 1 0\n2 2 1\n4 1 0\n4 2 0\n",
    );
    folder.write("a.uci", "4\n3\n7\n4 3 1\n1 1 1\n1 3 0\n2 1 0\n2 2 1\n4 1 0\n4 2 0\n");
    folder.write("a.uci.vocab", "a\nb\nc\n");
}

#[test]
fn every_format_tells_the_same_states() {
    let folder = Folder::new();
    in_every_format(&folder);
    for arguments in [
        "a.csv",
        "a.csv --unlisted unknown",
        "a.jsonl",
        "a.svm --unlisted unknown",
        "a.mtx --unlisted unknown",
        "a.uci --unlisted unknown",
    ] {
        let corpus = made(&folder, arguments);
        assert_eq!(states(&corpus), STATES, "{arguments}");
        folder.run(&format!("corpus {arguments} -o once.corpus"));
        let again = made(&folder, "once.corpus");
        assert!(again == corpus && again.fingerprint() == corpus.fingerprint(), "{arguments}");
        assert_eq!(states(&again), STATES, "{arguments}");
    }
    for arguments in ["a.svm", "a.mtx", "a.uci"] {
        let corpus = made(&folder, arguments);
        assert!(!corpus.has_unknown(), "{arguments}");
        assert_eq!(states(&corpus), ["100", "010", "000", "001"], "{arguments}");
    }
    // A list of tokens alone does not tell what is absent.
    folder.write("b.jsonl", "{\"tokens\":[\"a\"]}\n{\"tokens\":[\"b\"]}\n");
    assert_eq!(states(&made(&folder, "b.jsonl --unlisted unknown")), ["1?", "?1"]);
}

#[test]
fn a_vocabulary_takes_tokens_off_the_lists_too() {
    let folder = Folder::new();
    in_every_format(&folder);
    folder.write("vocab.txt", "c\nd\na\n");
    // By name: a, c, d. What the vocabulary has beyond the file is unknown only where the rest is.
    let corpus = made(&folder, "a.jsonl --vocab vocab.txt");
    assert_eq!(states(&corpus), ["10?", "0?0", "???", "010"]);
    assert_eq!(states(&made(&folder, "a.csv --vocab vocab.txt")), ["100", "0?0", "??0", "010"]);
    // Frequencies count present tokens.
    folder.write(
        "b.jsonl",
        "{\"present\":[\"a\"],\"absent\":[\"b\"]}\n{\"present\":[\"a\",\"c\"],\"absent\":[\"b\"]}\n",
    );
    let chosen = made(&folder, "b.jsonl --min-df 2");
    assert_eq!((names(&chosen), states(&chosen)), (vec!["a".into()], vec!["1".into(), "1".into()]));
    let all = made(&folder, "b.jsonl");
    assert_eq!((names(&all).len(), states(&all)), (3, vec!["10?".into(), "101".into()]));
}

#[test]
fn parts_of_a_split_keep_the_states() {
    let folder = Folder::new();
    in_every_format(&folder);
    folder.run("corpus split a.jsonl --valid 0.25 --test 0.25 -o parts");
    let mut seen = vec![];
    for part in ["train", "valid", "test"] {
        let part = noisyor::corpus::native::open(&folder.path(&format!("parts/{part}.corpus"))).unwrap();
        seen.extend(
            states(&part).into_iter().enumerate().map(|(at, state)| (part.id(at).into_owned(), state)),
        );
    }
    seen.sort();
    let expected: Vec<_> = ["w", "x", "y", "z"].into_iter().zip(STATES).collect();
    assert_eq!(seen.iter().map(|(id, state)| (id.as_str(), state.as_str())).collect::<Vec<_>>(), expected);
}

#[test]
fn a_token_in_two_states_is_refused_with_its_line() {
    let folder = Folder::new();
    folder.write("a.jsonl", "{\"tokens\":[\"a\"]}\n{\"present\":[\"a\",\"b\"],\"absent\":[\"b\"]}\n");
    folder.write("a.svm", "x 1:1\nx 3:1 2:1 3:0\n");
    folder.write("a.mtx", "%%MatrixMarket matrix coordinate integer general\n2 2 2\n2 1 0\n2 1 1\n");
    for (arguments, parts) in [
        ("a.jsonl", &["a.jsonl:2: 'b' is present and absent at once"][..]),
        ("a.svm --unlisted unknown", &["a.svm:2: column 3 is there twice"]),
        ("a.mtx --unlisted unknown", &["a.mtx: row 2, column 1, counted from 1: has two values"]),
    ] {
        folder.fails(&format!("corpus {arguments} -o out.corpus"), 2, parts);
        let checked = folder.noisyor(&format!("check {arguments}")).output().unwrap();
        assert_eq!(checked.status.code(), Some(2), "{arguments}");
        assert!(text(&checked.stdout).contains(parts[0]), "{arguments}");
    }
    assert!(!folder.path("out.corpus").exists());
    assert_eq!(made(&folder, "a.svm").tokens(1), [1, 2]);
}

#[test]
fn text_has_no_unknown_words() {
    let folder = Folder::new();
    in_every_format(&folder);
    folder.write("a.txt", "one two\n");
    folder.write("t.csv", "id,text\n1,one two\n");
    for corpus in ["a.txt", "t.csv", "."] {
        let command = format!("corpus {corpus} --unlisted unknown -o out.corpus");
        folder.fails(&command, 2, &["--unlisted unknown", "which words are absent"]);
    }
    folder.run("corpus a.csv -o a.corpus");
    folder.fails("check a.corpus --unlisted unknown --format native", 2, &["--unlisted means nothing"]);
}

#[test]
fn a_corpus_without_unknown_tokens_is_written_as_ever() {
    let folder = Folder::new();
    folder.write("s.svm", "x 1:1 3:1 4:0\ny 2:1\n\nz 1:2 2:-1 5:1\n");
    folder.write("d.csv", "id,cat,dog,eel,label\na,1,0,1,x\nb,0,0,0,\nc,1,1,0,y\n");
    let lines = "{\"id\":\"p\",\"tokens\":[\"b\",\"a\"],\"label\":\"1\"}\n{\"tokens\":[]}\n{\"tokens\":[\"c\",\"a\"]}\n";
    folder.write("j.jsonl", lines);
    // Of the files that the version before unknown tokens wrote.
    for (source, expected) in [
        ("s.svm", "5bcfdb66c37d9579ea6987ff3d0537a4326d192e55a1abeb50e3a94183b3267b"),
        ("d.csv", "6be9acae86ffc751dee0038bb849fd8c2ad715e812a69bc9103077e6b5bfaa0b"),
        ("j.jsonl", "ee98640a3f281ca8e880479a798a3093a20a7c6e1c43112ce3f5b22337356776"),
    ] {
        folder.run(&format!("corpus {source} -o out.corpus"));
        let hash: String =
            Sha256::digest(folder.bytes("out.corpus")).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(hash, expected, "{source}");
    }
}

#[test]
fn check_and_corpus_count_what_is_unknown() {
    let folder = Folder::new();
    in_every_format(&folder);
    folder.run("corpus a.csv -o a.corpus");
    for arguments in ["a.csv", "a.jsonl", "a.corpus", "a.svm --unlisted unknown", "a.mtx --unlisted unknown"]
    {
        let summary: Value = folder.result(&format!("check {arguments}"))["summary"].clone();
        assert_eq!(summary["unknown_values"], json!(5), "{arguments}: {summary}");
        assert!((number(&summary["unknown_share"]) - 5.0 / 12.0).abs() < 1e-12, "{arguments}: {summary}");
        let text = folder.stdout(&format!("check {arguments}"));
        assert!(text.contains("unknown     5 values (41.6667 %), in"), "{arguments}: {text}");
    }
    assert_eq!(folder.result("check a.csv")["summary"]["unknown_docs"], json!(3));
    assert!(
        folder
            .stdout("corpus a.csv -o b.corpus")
            .contains("5 values are unknown (41.6667 %), in 3 documents")
    );
    let result = folder.result("corpus a.jsonl -o b.corpus");
    assert_eq!((&result["unknown_docs"], &result["unknown_values"]), (&json!(3), &json!(5)));
    folder.write("never.csv", "a,b,c\n1,,1\n0,NA,1\n");
    folder.write("never.jsonl", "{\"tokens\":[\"a\"],\"unknown\":[\"b\"]}\n");
    folder.run("corpus never.csv -o never.corpus");
    for source in ["never.csv", "never.corpus", "never.jsonl"] {
        let notes = folder.result(&format!("check {source}"))["notes"].to_string();
        assert!(
            notes.contains("1 tokens are unknown in every document, for example 'b'"),
            "{source}: {notes}"
        );
    }
    let plain = folder.result("check a.svm")["summary"].clone();
    assert_eq!((&plain["unknown_values"], &plain["unknown_docs"]), (&json!(0), &json!(0)));
}

#[test]
fn commands_that_do_not_take_them_say_so_and_write_nothing() {
    let folder = Folder::new();
    in_every_format(&folder);
    folder.write("model.tsv", "t\ta\t1\nt\tb\t1\n\tt\t0.5\n\ta\t0.1\n\tb\t0.1\n\tc\t0.1\n");
    let told =
        |command: &str| format!("3 of 4 documents have unknown values, which '{command}' does not take yet");
    for (command, arguments) in [
        ("refine", "train a.jsonl --graph model.tsv --refine -o out"),
        ("docs", "docs model.tsv t --corpus a.jsonl"),
    ] {
        folder.fails(arguments, 2, &[&told(command), "--unlisted absent"]);
    }
    assert!(!folder.path("out/model.safetensors").exists());
}

#[test]
fn what_is_unknown_says_nothing() {
    let folder = Folder::new();
    in_every_format(&folder);
    folder.write("model.tsv", "t\ta\t1\nt\tb\t1\n\tt\t0.5\n\ta\t0.1\n\tb\t0.1\n\tc\t0.1\n");
    let eval = folder.result("eval model.tsv a.jsonl --exact --per-doc docs.tsv");
    let exact: Vec<f64> = folder.table("docs.tsv")[1..].iter().map(|row| row[2].parse().unwrap()).collect();
    // c tells nothing of t. w: a present, c absent; y: nothing at all; z: only c.
    let off = |w: f64| (-w).exp();
    let on = 1.0 - off(0.5);
    let a = on * (1.0 - off(1.1)) + (1.0 - on) * (1.0 - off(0.1));
    assert!((exact[0] - (a.ln() - 0.1)).abs() < 1e-6, "{exact:?}");
    assert!(exact[2].abs() < 1e-9, "{exact:?}");
    assert!(number(&eval["elbo_mean"]) <= number(&eval["exact_mean"]) + 1e-6);
    folder.run("infer model.tsv a.jsonl -o topics.jsonl --threshold 0");
    let q = |at: usize| number(&folder.json_lines("topics.jsonl")[at]["topics"]["t"]);
    assert!((q(2) - on).abs() < 1e-5, "nothing is known of y: q is the prior");
    let explained = folder.stdout("explain model.tsv --corpus a.jsonl --id w");
    assert!(explained.contains("1 of 3 tokens unknown") && explained.contains("1 words"), "{explained}");
    folder.run("train a.jsonl --graph model.tsv --epochs 2 -o run");
    folder.run("train a.jsonl --graph model.tsv --epochs 2 -o other --backend cpu --threads 1");
    assert_eq!(folder.bytes("run/model.safetensors"), folder.bytes("other/model.safetensors"));
}

/// Tables of two causes with three findings each; a fifth of the cells is empty, or none is.
fn two_causes(empty: bool) -> String {
    let rng = &mut ChaCha8Rng::seed_from_u64(7);
    let mut table = "a,b,c,d,e,f\n".to_owned();
    for _ in 0..400 {
        let on = [0, 1].map(|_| rng.random::<f64>() < 0.4);
        let cells: Vec<&str> = (0..6)
            .map(|token| {
                let present = rng.random::<f64>() < if on[token / 3] { 0.8 } else { 0.05 };
                let is_empty = rng.random::<f64>() < 0.2;
                if empty && is_empty { "" } else { ["0", "1"][usize::from(present)] }
            })
            .collect();
        table += &(cells.join(",") + "\n");
    }
    table
}

#[test]
fn tables_with_empty_cells_are_trained_on() {
    let folder = Folder::new();
    folder.write("some.csv", two_causes(true));
    folder.write("all.csv", two_causes(false));
    folder.write(
        "zeros.csv",
        two_causes(true)
            .lines()
            .map(|line| {
                let cells: Vec<&str> =
                    line.split(',').map(|cell| if cell.is_empty() { "0" } else { cell }).collect();
                cells.join(",") + "\n"
            })
            .collect::<String>(),
    );
    let told = folder.stderr("train some.csv -o some");
    assert!(told.contains("count as absent while the graph is learned"), "{told}");
    folder.run("train zeros.csv -o zeros -q");
    // The whole truth is nearer to what leaves unknown cells out than to what takes them for absent.
    let bound = |run: &str| number(&folder.result(&format!("eval {run} all.csv"))["elbo_mean"]);
    let (some, zeros) = (bound("some"), bound("zeros"));
    assert!(some > zeros + 0.05, "{some} {zeros}");
    let told = folder.stderr("report some");
    assert!(told.contains("no documents are shown: they have unknown values"), "{told}");
    let compared = folder.result("compare some zeros --corpus all.csv");
    assert!(compared.is_object());
    folder.run("train some.csv -o again --seed 1 -q");
    assert!(folder.stdout("compare some again").contains("documents"), "documents with unknown values");
    let told = folder.stderr("graph some.csv --topics 2 -o graph.json");
    assert!(told.contains("count as absent"), "{told}");
}

#[test]
fn names_that_the_model_does_not_know_are_counted_in_every_list() {
    let folder = Folder::new();
    folder.write("model.tsv", "t\ta\t1\nt\tb\t1\n\tt\t0.5\n\ta\t0.1\n\tb\t0.1\n");
    for line in [
        "{\"present\":[\"a\"],\"absent\":[\"bb\"]}",
        "{\"tokens\":[\"a\"],\"unknown\":[\"bb\"]}",
        "{\"present\":[\"a\",\"bb\"]}",
    ] {
        folder.write("odd.jsonl", format!("{line}\n"));
        let told = folder.stderr("posterior model.tsv odd.jsonl");
        assert!(told.contains("does not know 1 of") && told.contains("'bb'"), "{line}: {told}");
    }
    folder.write("wrong.jsonl", "{\"present\":\"a\"}\n");
    folder.fails("posterior model.tsv wrong.jsonl", 2, &["wrong.jsonl:1", "'present'"]);
    folder.write("few.csv", "a\n1\n");
    assert!(folder.stderr("posterior model.tsv few.csv").contains("--unlisted unknown"));
}
