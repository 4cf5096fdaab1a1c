//! How far answers can be trusted: both bounds, calibration, exact inference, given topics; and cases with unknown tokens to try it on.

#![allow(clippy::unwrap_used)] // helpers of tests are tests too

use crate::support::{FLU_AND_COLD, Folder, number, repository};
use serde_json::Value;

/// Two layers that small sums can check, and documents with unknown tokens.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("model.tsv", FLU_AND_COLD);
    folder.write(
        "docs.jsonl",
        "{\"id\":\"a\",\"present\":[\"fever\"]}\n{\"id\":\"b\",\"tokens\":[\"cough\"]}\n{\"id\":\"c\",\"tokens\":[]}\n{\"id\":\"d\",\"tokens\":[\"cough\",\"fever\"]}\n",
    );
    folder
}

fn illnesses(name: &str) -> String {
    repository(&format!("data/illnesses/{name}")).display().to_string()
}

/// The rows of a table with a header, as numbers by column.
fn columns(folder: &Folder, name: &str, wanted: [&str; 3]) -> Vec<[f64; 3]> {
    let mut rows = folder.table(name).into_iter();
    let header = rows.next().unwrap();
    let at = wanted.map(|name| header.iter().position(|field| field == name).unwrap());
    rows.map(|row| at.map(|at| row[at].parse().unwrap())).collect()
}

#[test]
fn the_likelihood_is_between_both_bounds() {
    let folder = folder();
    let (network, patients) = (illnesses("network.tsv"), illnesses("patients.csv"));
    for (model, docs) in [("model.tsv", "docs.jsonl"), (&*network, &*patients)] {
        let result = folder.result(&format!("eval {model} {docs} --exact --upper --per-doc t.tsv"));
        assert!(number(&result["exact_mean"]) <= number(&result["upper_mean"]), "{result}");
        for [elbo, exact, upper] in columns(&folder, "t.tsv", ["elbo", "exact", "upper"]) {
            assert!(elbo <= exact + 1e-5 && exact <= upper && upper <= 1e-9, "{model}");
        }
    }
    let text = folder.stdout(&format!("eval {network} {patients} --upper"));
    assert!(text.contains("upper bound") && text.contains("loose"), "{text}");
    assert!(!folder.stdout("eval model.tsv docs.jsonl --upper").contains("loose"));
}

#[test]
fn given_topics_are_part_of_what_is_known() {
    let folder = folder();
    let given = "--given cold=1,flu=0";
    // Flu off, cold on: p(flu off) p(cold on) and the findings with leaks 0.01 and 1.05.
    let states = -0.1 + (1.0 - (-0.2f64).exp()).ln();
    let (fever, cough) = ((1.0 - (-0.01f64).exp()).ln(), (1.0 - (-1.05f64).exp()).ln());
    let want = [states + fever, states - 0.01 + cough, states - 0.01 - 1.05, states + fever + cough];
    folder.run(&format!("eval model.tsv docs.jsonl {given} --exact --upper --per-doc t.tsv"));
    for (row, want) in columns(&folder, "t.tsv", ["elbo", "exact", "upper"]).iter().zip(want) {
        // Nothing is left to infer, so all are exact.
        row.iter().for_each(|value| assert!((value - want).abs() < 1e-5, "{row:?} {want}"));
    }
    for bound in ["tail", "local", "full"] {
        folder.run(&format!(
            "infer model.tsv docs.jsonl {given} --bound {bound} -o out.jsonl --threshold 0.001"
        ));
        for (line, want) in folder.json_lines("out.jsonl").iter().zip(want) {
            assert!((number(&line["elbo"]) - want).abs() < 1e-5, "{bound} {line} {want}");
            assert_eq!(line["topics"], serde_json::json!({"cold": 1.0}), "{bound}");
        }
    }
    folder.run("infer model.tsv docs.jsonl --given cold=1 --exact -o out.jsonl --threshold 0.001");
    for line in folder.json_lines("out.jsonl") {
        assert_eq!(line["topics"]["cold"], 1.0);
        assert!(number(&line["topics"]["flu"]) < 1.0);
    }
    let patients = illnesses("patients.csv");
    let network = illnesses("network.tsv");
    let told = folder.stdout(&format!("explain {network} --corpus {patients} --id Ada --given flu=1"));
    assert!(told.contains("Flu (given)") && told.contains("22 of 27 tokens unknown"), "{told}");
    for command in [
        "eval model.tsv docs.jsonl",
        "infer model.tsv docs.jsonl -o o.tsv",
        "explain model.tsv --tokens fever",
    ] {
        folder.fails(&format!("{command} --given gout=1"), 2, &["no topic is named 'gout'"]);
    }
    assert!(!folder.path("o.tsv").exists());
}

#[test]
fn infer_can_be_exact() {
    let folder = Folder::new();
    let (network, patients) = (illnesses("network.tsv"), illnesses("patients.csv"));
    let summary = folder.result(&format!("infer {network} {patients} --exact -o exact.jsonl --threshold 0"));
    assert_eq!((&summary["q"], &summary["bound"]), (&"exact".into(), &"exact".into()));
    folder.run(&format!("posterior {network} {patients} -o posterior.jsonl"));
    let (exact, posteriors) = (folder.json_lines("exact.jsonl"), folder.json_lines("posterior.jsonl"));
    assert_eq!((exact.len(), posteriors.len()), (9, 9));
    for (exact, posterior) in exact.iter().zip(&posteriors) {
        assert_eq!(exact["doc"], posterior["id"]);
        assert!((number(&exact["elbo"]) - number(&posterior["log_p"]["lower"])).abs() < 1e-6);
        for (topic, q) in exact["topics"].as_object().unwrap() {
            assert!((number(q) - number(&posterior["topics"][topic]["p"])).abs() < 1e-6, "{topic}");
        }
    }
    let by_field = folder.result(&format!("infer {network} {patients} -o field.jsonl"));
    assert_eq!(by_field["q"], "mean field");
    // Deep, and too many topics to enumerate.
    let edges: String = (0..30).map(|t| format!("a\tt{t}\t1\nt{t}\tw{t}\t1\n")).collect();
    let leaks: String = (0..30).map(|t| format!("\tt{t}\t0.1\n\tw{t}\t0.1\n")).collect();
    folder.write("large.tsv", format!("{edges}{leaks}\ta\t0.1\n"));
    folder.write("large.jsonl", "{\"tokens\":[\"w3\"]}\n");
    folder.fails(
        "infer large.tsv large.jsonl --exact -o large.tsv.out.jsonl",
        2,
        &["too large", "noisyor posterior"],
    );
    assert!(!folder.path("large.tsv.out.jsonl").exists());
}

#[test]
fn calibration_tells_mean_field_from_exact() {
    let folder = Folder::new();
    let network = illnesses("network.tsv");
    let command = format!("eval {network} --calibration=1500 --seed 5");
    let result = folder.result(&command);
    let calibration = &result["calibration"];
    assert_eq!(calibration["cases"], 1500);
    let bins = |of: &Value| -> Vec<Value> { of["bins"].as_array().unwrap().clone() };
    for way in ["q", "p"] {
        let n: f64 = bins(&calibration[way]).iter().map(|bin| number(&bin["n"])).sum();
        assert_eq!(n, 1500.0 * 15.0, "{way}: every topic of every case");
    }
    // What is exact is calibrated: in every bin the share that is on is within four standard errors of p.
    for bin in bins(&calibration["p"]).iter().filter(|bin| number(&bin["n"]) > 0.0) {
        let (n, mean, on) = (number(&bin["n"]), number(&bin["mean"]), number(&bin["on"]));
        let error = 4.0 * (mean * (1.0 - mean) / n).sqrt() + 1.0 / n;
        assert!((on - mean).abs() <= error, "{bin}");
    }
    // Mean field is too sure of itself, and has the larger square error.
    assert!(number(&calibration["q"]["sure_on"]) < 0.93 && number(&calibration["p"]["sure_on"]) > 0.95);
    assert!(number(&calibration["q"]["brier"]) > number(&calibration["p"]["brier"]));
    assert_eq!(folder.stdout(&command), folder.stdout(&format!("{command} --threads 1")));
    let table = folder.stdout(&command);
    assert!(table.contains("q (mean field)") && table.contains("enumerate 1500"), "{table}");

    // With documents that have unknown tokens the cases know less.
    let patients = illnesses("patients.csv");
    let few = folder.result(&format!("eval {network} {patients} --calibration=1500 --seed 5"));
    assert!(number(&few["calibration"]["p"]["brier"]) > number(&calibration["p"]["brier"]));
    assert_eq!(few["docs"], 9);

    folder.fails(&format!("eval {network} --calibration --upper"), 2, &["--upper", "corpus"]);
    folder.fails(&format!("eval {network} {patients} --calibration --given flu=1"), 2, &["--given"]);
    folder.fails(&format!("eval {network} --calibration=0"), 2, &["--calibration", "one case"]);
    folder.fails(&format!("eval {network}"), 2, &["CORPUS"]);
}

#[test]
fn a_report_shows_calibration() {
    let folder = Folder::new();
    let network = illnesses("network.tsv");
    folder.run(&format!("report {network} --calibration=200 -o with.html"));
    folder.run(&format!("report {network} -o without.html"));
    let [with, without] = ["with.html", "without.html"].map(|name| folder.text(name));
    assert!(with.contains("\"calibration\":{\"cases\":200"), "the data of the plot");
    assert!(without.contains("\"calibration\":null"));
}

#[test]
fn sampled_documents_may_have_unknown_tokens() {
    let folder = Folder::new();
    let network = illnesses("network.tsv");
    for (share, keys) in [("0.3", ["tokens", "unknown"]), ("0.8", ["absent", "present"])] {
        let command = format!("synth --model {network} --docs 200 --format jsonl --unknown {share} -o");
        folder.run(&format!("{command} some"));
        folder.run(&format!("{command} again"));
        assert_eq!(folder.text("some/corpus.jsonl"), folder.text("again/corpus.jsonl"), "the same seed");
        let lines = folder.json_lines("some/corpus.jsonl");
        let told = lines.iter().filter(|line| keys.iter().all(|key| line.get(key).is_some())).count();
        assert!(told > 150, "{share}: {told}");
        let checked = folder.result("corpus some/corpus.jsonl -o some.corpus");
        let known = number(&checked["unknown_values"]) / (200.0 * number(&checked["tokens"]));
        assert!((known - share.parse::<f64>().unwrap()).abs() < 0.05, "{share}: {known}");
    }
    folder.fails(&format!("synth --model {network} --unknown 0.5 -o svm"), 2, &["--format jsonl"]);
    folder.fails(&format!("synth --model {network} --unknown 2 -o svm"), 2, &["--unknown 2"]);
    assert!(!folder.path("svm").exists());
}
