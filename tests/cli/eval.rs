//! `eval`: bounds and exact log-likelihoods of the golden cases, the table per document, odd corpora.

use crate::support::{Folder, N_GOLDEN, golden, keys, list, number, text};
use serde_json::{Value, json};

const CONTRACT: [&str; 8] =
    ["backend", "baseline_mean", "bound", "docs", "elbo_mean", "elbo_sum", "exact_mean", "gain_bits_a_word"];

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// A column of a table with a header.
fn column(folder: &Folder, table: &str, name: &str) -> Vec<f64> {
    let mut rows = folder.table(table).into_iter();
    let at = rows.next().expect("a header").iter().position(|field| field == name).expect("the column");
    rows.map(|row| row[at].parse().expect("a number")).collect()
}

#[test]
fn exact_is_the_golden_log_likelihood_and_above_every_bound() {
    for case_ix in 0..N_GOLDEN {
        let case = golden(case_ix);
        let folder = Folder::with_golden(&case);
        let expected: Vec<f64> =
            list(&case["docs"]).iter().map(|doc| number(&doc["exact_log_likelihood"])).collect();
        for (corpus, bound) in [("docs.svm", "tail"), ("docs.jsonl", "local"), ("docs.svm", "full")] {
            let arguments = format!("eval model.json {corpus} --bound {bound} --exact --per-doc table.tsv");
            let result = folder.result(&arguments);
            assert!(
                (number(&result["exact_mean"]) - mean(&expected)).abs() < 1e-6,
                "case {case_ix}: {result}"
            );
            assert_eq!(result["bound"], bound);
            assert_eq!(result["docs"], expected.len());
            let (elbo, exact) = (column(&folder, "table.tsv", "elbo"), column(&folder, "table.tsv", "exact"));
            assert!((number(&result["elbo_mean"]) - mean(&elbo)).abs() < 1e-6, "case {case_ix}: {result}");
            assert!(
                (number(&result["elbo_sum"]) - elbo.iter().sum::<f64>()).abs() < 1e-6,
                "case {case_ix}: {result}"
            );
            for doc_ix in 0..expected.len() {
                assert!((exact[doc_ix] - expected[doc_ix]).abs() < 1e-6, "case {case_ix} document {doc_ix}");
                assert!(elbo[doc_ix] <= exact[doc_ix] + 1e-5, "case {case_ix} document {doc_ix}, {bound}");
            }
        }
    }
}

#[test]
fn the_tail_adds_its_constant_to_the_local_bound() {
    for case_ix in 0..N_GOLDEN {
        let case = golden(case_ix);
        let folder = Folder::with_golden(&case);
        for bound in ["local", "tail"] {
            folder.run(&format!("eval model.json docs.svm --bound {bound} --per-doc {bound}.tsv"));
        }
        let (local, tail) = (column(&folder, "local.tsv", "elbo"), column(&folder, "tail.tsv", "elbo"));
        for (doc_ix, doc) in list(&case["docs"]).iter().enumerate() {
            let gain = tail[doc_ix] - local[doc_ix];
            assert!(gain >= -1e-6, "case {case_ix} document {doc_ix}: tail is below local by {gain}");
            assert!((gain - number(&doc["tail"])).abs() < 1e-4, "case {case_ix} document {doc_ix}: {gain}");
        }
    }
}

#[test]
fn json_has_the_contracts_keys() {
    let folder = Folder::with_golden(&golden(1));
    let result = folder.result("eval model.json docs.svm");
    assert_eq!(keys(&result), CONTRACT);
    assert_eq!(result["bound"], "tail");
    assert_eq!(result["exact_mean"], Value::Null);
    let result = folder.result("eval model.json docs.svm --exact --bound full --backend cpu");
    assert_eq!(keys(&result), CONTRACT);
    assert_eq!(result["bound"], "full");
    assert!(result["exact_mean"].is_number());
    assert!(result["backend"].as_str().unwrap().contains("cpu"));
}

#[test]
fn text_names_the_bound_and_the_unit() {
    let folder = Folder::with_golden(&golden(1));
    let stdout = folder.stdout("eval model.json docs.svm --exact --bound local");
    assert!(stdout.starts_with("4 documents, mean bound (local) -"), "{stdout}");
    assert!(stdout.contains("nats a document\n") && stdout.contains("\nexact log-likelihood -"), "{stdout}");
    assert!(stdout.contains("\nindependent words -") && stdout.contains(" bits a word\n"), "{stdout}");
}

#[test]
fn independent_words_stand_beside_the_bound() {
    // Two words, each in half of the documents, always together: log 2 a document, and 2 log 2 if they were independent.
    let folder = Folder::new();
    folder.write("docs.jsonl", "{\"tokens\":[\"a\",\"b\"]}\n{\"tokens\":[]}\n".repeat(50));
    folder.write("model.tsv", "\tt\t0.69\nt\ta\t9\nt\tb\t9\n\ta\t0.0001\n\tb\t0.0001\n");
    let result = folder.result("eval model.tsv docs.jsonl");
    let (baseline, log2) = (number(&result["baseline_mean"]), 2f64.ln());
    assert!((baseline + 2.0 * log2).abs() < 1e-9, "{result}");
    let bits = (number(&result["elbo_mean"]) - baseline) / log2;
    assert!((number(&result["gain_bits_a_word"]) - bits).abs() < 1e-9 && bits > 0.99, "{result}");
}

#[test]
fn the_table_per_document() {
    let folder = Folder::with_golden(&golden(2));
    folder.run("eval model.json docs.jsonl --per-doc plain.tsv");
    folder.run("eval model.json docs.svm --per-doc exact.tsv --exact");
    let (plain, exact) = (folder.table("plain.tsv"), folder.table("exact.tsv"));
    assert_eq!(plain[0], ["doc", "elbo"]);
    assert_eq!(exact[0], ["doc", "elbo", "exact"]);
    assert_eq!((plain.len(), exact.len()), (5, 5));
    for at in 1..5 {
        assert_eq!((plain[at].len(), exact[at].len()), (2, 3));
        assert_eq!(plain[at][0], format!("doc {}", at - 1), "ids are kept");
        assert_eq!(exact[at][0], (at - 1).to_string(), "a document without an id has its number");
        let bound = |row: &[String]| row[1].parse::<f64>().unwrap();
        assert!((bound(&plain[at]) - bound(&exact[at])).abs() < 1e-5, "both corpora hold the same documents");
    }

    folder.write(
        "odd.jsonl",
        "{\"id\":\"a\\tb\\nc\",\"tokens\":[]}\n{\"id\":7,\"tokens\":[]}\n{\"tokens\":[]}\n",
    );
    folder.run("eval model.json odd.jsonl --per-doc odd.tsv");
    let ids: Vec<String> = folder.table("odd.tsv").into_iter().skip(1).map(|row| row[0].clone()).collect();
    assert_eq!(ids, ["a b c", "7", "2"]);
}

#[test]
fn empty_documents_count() {
    let case = golden(0);
    let folder = Folder::with_golden(&case);
    folder.write("empty.svm", "0\n\n+1 # nothing\n0 2:0 3:-1\n");
    folder.write("empty.jsonl", "{\"tokens\":[]}\n".repeat(4));
    for corpus in ["empty.svm", "empty.jsonl"] {
        let result = folder.result(&format!("eval model.json {corpus} --exact"));
        assert_eq!(result["docs"], 4, "{corpus}");
        let expected = number(&case["docs"][0]["exact_log_likelihood"]);
        assert!((number(&result["exact_mean"]) - expected).abs() < 1e-6, "{corpus}: {result}");
    }
}

#[test]
fn a_repeated_token_counts_once_and_order_does_not_matter() {
    let folder = Folder::with_golden(&golden(3));
    folder.write("plain.svm", "0 3:1 5:1 9:1\n");
    folder.write("odd.svm", "0 9:2.5 5:1 3:1 9:1e-3 5:7\n");
    folder.write("odd.jsonl", json!({"tokens": ["w8", "w4", "w2", "w8"]}).to_string());
    let plain = folder.result("eval model.json plain.svm");
    assert_eq!(folder.result("eval model.json odd.svm"), plain);
    let named = folder.result("eval model.json odd.jsonl");
    assert!((number(&named["elbo_sum"]) - number(&plain["elbo_sum"])).abs() < 1e-5, "{named} {plain}");
}

#[test]
fn unknown_tokens_are_warned_about_and_left_out() {
    let folder = Folder::with_golden(&golden(3));
    folder.write("known.jsonl", "{\"tokens\":[\"w2\",\"w4\"]}\n{\"tokens\":[]}\n");
    folder.write("more.jsonl", "{\"tokens\":[\"w2\",\"zebra\",\"w4\"]}\n{\"tokens\":[\"zebra\"]}\n");
    folder.write("known.svm", "0 3:1 5:1\n0\n");
    folder.write("more.svm", "0 3:1 5:1 900:1\n0 4294967295:1\n");
    for (known, more, example) in
        [("known.jsonl", "more.jsonl", "'zebra'"), ("known.svm", "more.svm", "number 899")]
    {
        let expected = folder.run(&format!("eval model.json {known} --exact --json --backend cpu"));
        assert!(!text(&expected.stderr).contains("left out"));
        let output = folder.run(&format!("eval model.json {more} --exact --json --backend cpu"));
        assert_eq!(text(&output.stdout), text(&expected.stdout), "{more}");
        let warning = text(&output.stderr);
        for part in ["warning: ", "2 of 4", example, "left out"] {
            assert!(warning.contains(part), "{part} is not in {warning}");
        }
        assert_eq!(folder.stderr(&format!("eval model.json {more} --quiet")), "");
    }
}

#[test]
fn an_empty_corpus_has_an_answer() {
    let folder = Folder::with_golden(&golden(0));
    folder.write("empty.jsonl", "");
    folder.write("blank.jsonl", "\n  \n");
    folder.write("empty.svm", "");
    for corpus in ["empty.jsonl", "blank.jsonl", "empty.svm"] {
        let result = folder.result(&format!("eval model.json {corpus} --exact --per-doc table.tsv"));
        assert_eq!(keys(&result), CONTRACT);
        assert_eq!(result["docs"], 0, "{corpus}");
        assert_eq!(result["elbo_sum"], 0.0);
        for key in ["elbo_mean", "exact_mean", "baseline_mean", "gain_bits_a_word"] {
            assert_eq!(result[key], Value::Null, "{key}");
        }
        assert_eq!(folder.text("table.tsv"), "doc\telbo\texact\n");
        assert_eq!(folder.stdout(&format!("eval model.json {corpus}")), "no documents\n");
    }
}

/// Topics with one token below them all.
fn star(n_topics: usize, topic_leak: f64, token_leak: f64, weight: f64) -> String {
    let topic = |at: usize| format!("\tt{at}\t{topic_leak}\nt{at}\tw\t{weight}\n");
    (0..n_topics).map(topic).collect::<String>() + &format!("\tw\t{token_leak}\n")
}

#[test]
fn exact_is_for_up_to_22_topics() {
    let folder = Folder::new();
    let (topic_leak, token_leak, weight) = (0.3f64, 0.2f64, 0.1f64);
    folder.write("docs.jsonl", "{\"tokens\":[]}\n");
    folder.write("most.tsv", star(22, topic_leak, token_leak, weight));
    let one_topic = (-topic_leak).exp() + (1.0 - (-topic_leak).exp()) * (-weight).exp();
    let expected = 22.0 * one_topic.ln() - token_leak;
    let result = folder.result("eval most.tsv docs.jsonl --exact");
    assert!((number(&result["exact_mean"]) - expected).abs() < 1e-9, "{result}, expected {expected}");

    folder.write("more.tsv", star(23, topic_leak, token_leak, weight));
    folder.fails("eval more.tsv docs.jsonl --exact", 2, &["23 topics", "at most 22", "leave out --exact"]);
    folder.run("eval more.tsv docs.jsonl");
}

#[test]
fn threads_change_nothing_and_schedules_little() {
    let folder = Folder::new();
    folder.run("synth --preset tiny --docs 500 -o tiny");
    let eval = |options: &str| {
        let result = folder.result(&format!("eval tiny/network.safetensors tiny/corpus.svm {options}"));
        (number(&result["elbo_mean"]), number(&result["elbo_sum"]))
    };
    let reference = eval("--threads 1");
    assert_eq!(eval("--threads 8"), reference);
    let plain = eval("--start plain");
    let tight = "--estep-tol 1e-5 --estep-max 500";
    for (options, like) in [("--paper-estep", plain), ("--temper", plain), (tight, reference)] {
        let (mean, _) = eval(options);
        assert!(mean != like.0, "{options} does nothing");
        assert!((mean - like.0).abs() < 1.0, "{options}: {mean}, but {} without", like.0);
    }
}

#[test]
fn starts_and_clamped_topics_raise_the_bound() {
    let folder = Folder::new();
    folder.run("synth --preset tiny --docs 300 -o tiny");
    let eval =
        |options: &str| folder.result(&format!("eval tiny/network.safetensors tiny/corpus.svm {options}"));
    let mean = |options: &str| number(&eval(options)["elbo_mean"]);
    let (plain, greedy, best) = (mean("--start plain"), mean(""), mean("--start best"));
    assert_eq!(mean("--start greedy"), greedy);
    assert!(plain < greedy && greedy <= best, "plain {plain}, greedy {greedy}, best {best}");
    let (few, auto) = (eval("--clamp 2 --exact"), eval("--clamp auto"));
    assert_eq!((&few["clamp"], &auto["clamp"]), (&json!(2), &json!(16)));
    assert!(eval("").get("clamp").is_none());
    let (few_mean, auto_mean) = (number(&few["elbo_mean"]), number(&auto["elbo_mean"]));
    assert!(greedy < few_mean && few_mean < auto_mean, "{greedy}, clamped {few_mean}, {auto_mean}");
    assert!(auto_mean < number(&few["exact_mean"]), "{auto_mean} above {few}");
    assert!(
        folder.stdout("eval tiny/network.safetensors tiny/corpus.svm --clamp 2").contains("(tail, clamp 2)")
    );
    folder.fails("eval tiny/network.safetensors tiny/corpus.svm --clamp 25", 2, &["from 0 to 24", "auto"]);
    folder.fails("eval tiny/network.safetensors tiny/corpus.svm --clamp 2 --start plain", 2, &["greedy"]);
    folder.fails(
        "eval tiny/network.safetensors tiny/corpus.svm --start best --temper=4,12",
        2,
        &["--start tempered"],
    );
}
