//! `eval --likelihood`: keys, columns, text, seeds, threads, odd corpora, values that are refused.

use crate::support::{Folder, golden, keys, number};
use serde_json::Value;

const KEYS: [&str; 12] = [
    "backend",
    "baseline_mean",
    "bound",
    "configurations_bound_mean",
    "docs",
    "elbo_mean",
    "elbo_sum",
    "ess_mean",
    "exact_mean",
    "gain_bits_a_word",
    "likelihood_mean",
    "likelihood_se",
];

#[test]
fn json_table_and_text() {
    let folder = Folder::with_golden(&golden(2));
    let result = folder.result("eval model.json docs.jsonl --exact --likelihood --per-doc table.tsv");
    assert_eq!(keys(&result), KEYS);
    let [likelihood, se, exact] =
        ["likelihood_mean", "likelihood_se", "exact_mean"].map(|key| number(&result[key]));
    assert!((likelihood - exact).abs() < 4.0 * se + 1e-6, "{result}");
    assert!(number(&result["configurations_bound_mean"]) <= exact + 1e-9, "{result}");
    assert!((10.0..=100.0).contains(&number(&result["ess_mean"])), "{result}");

    let table = folder.table("table.tsv");
    assert_eq!(table[0], ["doc", "elbo", "exact", "likelihood", "likelihood_se", "ess", "configurations"]);
    assert_eq!(table.len(), 5);
    let column = |at: usize| table[1..].iter().map(|row| row[at].parse::<f64>().unwrap()).collect::<Vec<_>>();
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    for (at, key) in [(3, "likelihood_mean"), (5, "ess_mean"), (6, "configurations_bound_mean")] {
        assert!((mean(column(at)) - number(&result[key])).abs() < 1e-9, "{key}");
    }
    let squares: f64 = column(4).iter().map(|se| se * se).sum();
    assert!((squares.sqrt() / 4.0 - se).abs() < 1e-9, "the documents differ: {squares} {se}");

    folder.run("eval model.json docs.jsonl --likelihood=5 --per-doc short.tsv");
    assert_eq!(folder.table("short.tsv")[0][2..], table[0][3..], "without --exact");
    let text = folder.stdout("eval model.json docs.jsonl --likelihood=50");
    for part in [
        "\nestimated log-likelihood -",
        "standard error 0.",
        "of 50\n",
        "\nlower bound by all configurations met -",
    ] {
        assert!(text.contains(part), "'{part}' is not in {text}");
    }
}

#[test]
fn the_seed_decides_and_threads_do_not() {
    let folder = Folder::new();
    folder.run("synth --preset tiny --docs 40 -o tiny");
    let eval = |options: &str| {
        let arguments = "eval tiny/network.safetensors tiny/corpus.svm --likelihood=20 --per-doc table.tsv";
        (folder.stdout(&format!("{arguments} --json {options}")), folder.bytes("table.tsv"))
    };
    let reference = eval("--threads 1");
    assert_eq!(eval("--threads 3"), reference);
    assert_eq!(eval("--seed 0"), reference);
    assert_ne!(eval("--seed 1"), reference);
}

#[test]
fn empty_documents_and_an_empty_corpus() {
    let case = golden(0);
    let folder = Folder::with_golden(&case);
    folder.write("blank.svm", "0\n0\n0\n");
    let result = folder.result("eval model.json blank.svm --exact --likelihood");
    let (se, difference) = (
        number(&result["likelihood_se"]),
        number(&result["likelihood_mean"]) - number(&result["exact_mean"]),
    );
    assert!(difference.abs() < 4.0 * se + 1e-6, "{result}");

    folder.write("none.jsonl", "");
    let result = folder.result("eval model.json none.jsonl --likelihood --per-doc table.tsv");
    assert_eq!(keys(&result), KEYS);
    for key in ["likelihood_mean", "likelihood_se", "ess_mean", "configurations_bound_mean"] {
        assert_eq!(result[key], Value::Null, "{key}");
    }
    assert_eq!(folder.text("table.tsv"), "doc\telbo\tlikelihood\tlikelihood_se\tess\tconfigurations\n");
    assert_eq!(folder.stdout("eval model.json none.jsonl --likelihood"), "no documents\n");
}

#[test]
fn values_that_make_no_sense_are_refused() {
    let folder = Folder::with_golden(&golden(0));
    for n in ["0", "1"] {
        let parts: &[&str] = &["at least two samples", &format!("it is {n}")];
        folder.fails(&format!("eval model.json docs.svm --likelihood={n}"), 2, parts);
    }
    for n in ["-1", "x", "1.5", ""] {
        folder.fails(&format!("eval model.json docs.svm --likelihood={n}"), 2, &["--likelihood"]);
    }
}
