//! `noisyor posterior`: exact answers by name, bounds, given topics, outputs, and cases that make no sense.

#![allow(clippy::unwrap_used)] // helpers of tests are tests too

use crate::support::{FLU_AND_COLD, Folder, number, repository};
use serde_json::Value;

/// Flu and cold, fever and cough, of which the answers are known by hand.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("model.tsv", FLU_AND_COLD);
    folder.write(
        "cases.jsonl",
        "{\"id\":\"a\",\"present\":[\"fever\"]}\n{\"id\":\"b\",\"present\":[\"cough\"],\"absent\":[\"fever\"]}\n{\"id\":\"c\",\"present\":[]}\n",
    );
    folder
}

fn p(line: &Value, topic: &str) -> f64 {
    number(&line["topics"][topic]["p"])
}

#[test]
fn answers_are_those_of_bayes() {
    let folder = folder();
    let (pi, rest) = (1.0 - (-0.1f64).exp(), (-0.1f64).exp());
    let fever = |on: f64| 1.0 - (-0.01 - 1.5 * on).exp();
    let all = pi * fever(1.0) + rest * fever(0.0);
    for method in ["auto", "exact", "quickscore", "hybrid"] {
        folder.run(&format!("posterior model.tsv cases.jsonl --method {method} -o out.jsonl"));
        let lines = folder.json_lines("out.jsonl");
        assert_eq!(
            lines.iter().map(|line| line["id"].as_str().unwrap()).collect::<Vec<_>>(),
            ["a", "b", "c"]
        );
        assert!((p(&lines[0], "flu") - pi * fever(1.0) / all).abs() < 1e-9, "{method}");
        let log_p = &lines[0]["log_p"];
        assert!(number(&log_p["lower"]) <= all.ln() && all.ln() <= number(&log_p["upper"]), "{method}");
        assert!((p(&lines[2], "flu") - pi).abs() < 1e-9, "{method}: nothing is known, so it is the prior");
        assert!(p(&lines[1], "cold") > p(&lines[2], "cold"), "{method}");
    }
}

#[test]
fn every_method_answers_or_says_what_to_use() {
    let folder = folder();
    for method in ["jj", "mf0", "mf1", "mf2", "mf3", "ks", "vi", "sample"] {
        let told = folder.stdout(&format!("posterior model.tsv cases.jsonl --method {method}"));
        assert_eq!(told.lines().count(), 3, "{method}");
        for line in told.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            for topic in ["flu", "cold"] {
                let of = &line["topics"][topic];
                assert!(number(&of["lower"]) <= number(&of["p"]) && number(&of["p"]) <= number(&of["upper"]));
            }
        }
    }
    let deep = repository("data/illnesses/network.tsv");
    let deep = deep.display();
    folder.write("deep.jsonl", "{\"present\":[\"fever\"]}\n");
    folder.fails(&format!("posterior {deep} deep.jsonl --method jj"), 2, &["layer"]);
    folder.fails("posterior model.tsv cases.jsonl --method magic", 2, &["magic", "quickscore"]);
}

#[test]
fn topics_can_be_given() {
    let folder = folder();
    let line = |arguments: &str| -> Value {
        serde_json::from_str(
            folder.stdout(&format!("posterior model.tsv cases.jsonl {arguments}")).lines().next().unwrap(),
        )
        .unwrap()
    };
    let given = line("--given flu=1,cold=0");
    assert_eq!((p(&given, "flu"), p(&given, "cold")), (1.0, 0.0));
    let joint = (1.0 - (-0.1f64).exp()).ln() - 0.2 + (1.0 - (-1.51f64).exp()).ln();
    assert!((number(&given["log_p"]["lower"]) - joint).abs() < 1e-9);
    assert!(p(&line("--given flu=no"), "flu") == 0.0);
    folder.fails("posterior model.tsv cases.jsonl --given flu", 2, &["--given flu", "smoker=1"]);
    folder.fails("posterior model.tsv cases.jsonl --given flu=maybe", 2, &["1 or 0"]);
    folder.fails("posterior model.tsv cases.jsonl --given flu=1 --given flu=0", 2, &["on and as off"]);
    folder.fails("posterior model.tsv cases.jsonl --given gout=1", 2, &["no topic is named 'gout'"]);
    // Findings and parts of names are not taken for topics.
    folder.fails("posterior model.tsv cases.jsonl --given fever=1", 2, &["'fever' is a token"]);
    folder.fails("posterior model.tsv cases.jsonl --given col=1", 2, &["no topic is named 'col'", "'cold'"]);
    folder.write("comma.tsv", "a, b\tx\t1\nc\tx\t1\n\ta, b\t0.1\n\tc\t0.1\n\tx\t0.1\n");
    folder.write("x.jsonl", "{\"tokens\":[\"x\"]}\n");
    let arguments = ["posterior", "comma.tsv", "x.jsonl", "--given", "a, b=1", "--given", "c=0"];
    let told = folder.noisyor("").args(arguments).output().unwrap();
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!((p(&told, "a, b"), p(&told, "c")), (1.0, 0.0));
}

#[test]
fn certificates_and_tables() {
    let folder = folder();
    folder.run("posterior model.tsv cases.jsonl --certify 0.01 -o out.tsv --threshold 0.5");
    let table = folder.table("out.tsv");
    assert_eq!(
        table[0],
        [
            "id",
            "method",
            "log_p_lower",
            "log_p_upper",
            "log_p_estimate",
            "ess",
            "within",
            "topic",
            "p",
            "lower",
            "upper"
        ]
    );
    for row in &table[1..] {
        let [lower, upper] = [2, 3].map(|at| row[at].parse::<f64>().unwrap());
        assert!(lower <= upper && upper - lower <= 0.01, "{row:?}");
    }
    assert!(
        table.iter().any(|row| row[0] == "c" && row[7].is_empty()),
        "no topic is likely: its row is kept"
    );
    let summary = folder.result("posterior model.tsv cases.jsonl -o out.parquet");
    assert_eq!((&summary["cases"], &summary["met"]), (&3.into(), &3.into()));
    assert!(folder.bytes("out.parquet").starts_with(b"PAR1"));
}

#[test]
fn what_to_ask_next() {
    let folder = folder();
    folder.run("posterior model.tsv cases.jsonl --ask 3 -o out.jsonl");
    let lines = folder.json_lines("out.jsonl");
    let asked = |line: &Value| -> Vec<(String, f64, f64)> {
        let list = line["ask"].as_array().unwrap().iter();
        list.map(|q| (q["finding"].as_str().unwrap().to_owned(), number(&q["p"]), number(&q["gain_bits"])))
            .collect()
    };
    // Fever is known of a and of b, cough of b: there is nothing left to ask.
    assert_eq!(asked(&lines[0]).len(), 1);
    assert!(asked(&lines[1]).is_empty());
    let both = asked(&lines[2]);
    assert!(both.len() == 2 && both[0].2 >= both[1].2 && both[1].2 > 0.0, "{both:?}");
    // Of c nothing is known: the mutual information between fever and flu, the only topic that it depends on.
    let entropy = |p: f64| -p * p.log2() - (1.0 - p) * (1.0 - p).log2();
    let (pi, on, off) = (1.0 - (-0.1f64).exp(), 1.0 - (-1.51f64).exp(), 1.0 - (-0.01f64).exp());
    let p = pi * on + (1.0 - pi) * off;
    let gain = entropy(p) - pi * entropy(on) - (1.0 - pi) * entropy(off);
    let fever = both.iter().find(|(finding, ..)| finding == "fever").unwrap();
    assert!((fever.1 - p).abs() < 1e-6 && (fever.2 - gain).abs() < 1e-6, "{fever:?} {p} {gain}");
    folder.run("posterior model.tsv cases.jsonl --ask 0 --why 0 -o none.jsonl");
    assert!(folder.json_lines("none.jsonl").iter().all(|line| line.get("ask").is_none()));
    folder.fails("posterior model.tsv cases.jsonl --ask 3 -o out.tsv", 2, &["--ask", ".jsonl"]);
}

#[test]
fn reasons_and_pages() {
    let folder = folder();
    folder.run("posterior model.tsv cases.jsonl --why 2 -o out.jsonl");
    let lines = folder.json_lines("out.jsonl");
    // All that is known of a is fever: without it flu has its prior.
    let why = &lines[0]["topics"]["flu"]["why"];
    let logit = |p: f64| (p / (1.0 - p)).ln();
    assert_eq!((&why[0]["finding"], &why[0]["present"]), (&"fever".into(), &true.into()));
    let gain = logit(p(&lines[0], "flu")) - logit(p(&lines[2], "flu"));
    assert!((number(&why[0]["log_odds"]) - gain).abs() < 1e-6, "{why}");
    // Of b it is that it coughs, and has no fever.
    let of_b = lines[1]["topics"]["flu"]["why"].as_array().unwrap();
    assert_eq!(of_b.len(), 2);
    assert!(of_b.iter().any(|reason| reason["finding"] == "fever" && reason["present"] == false));
    assert!(lines[0].get("ask").is_none());

    folder.write("odd.jsonl", "{\"id\":\"<b>\",\"present\":[\"fever\"]}\n");
    folder.run("posterior model.tsv odd.jsonl -o page.html --given cold=0");
    let page = folder.text("page.html");
    for part in [
        "&lt;b&gt;",
        "<bdi>fever</bdi>",
        "Given as off:</b> <bdi>cold",
        "Ask next:",
        "because of",
        "cough",
        "</html>",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("<b>:</b>") && !page.contains("<bdi><b>"));
    folder.fails("posterior model.tsv cases.jsonl --why 3 -o out.tsv", 2, &["--why", ".html"]);
}

#[test]
fn cases_and_options_that_make_no_sense() {
    let folder = folder();
    folder.write("twice.jsonl", "{\"present\":[\"fever\"],\"absent\":[\"fever\"]}\n");
    folder.write("none.jsonl", "");
    folder.fails("posterior model.tsv twice.jsonl -o out.jsonl", 2, &["twice.jsonl:1", "present and absent"]);
    folder.fails("posterior model.tsv cases.jsonl -o out.xlsx", 2, &[".jsonl, .tsv, .parquet or .html"]);
    folder.fails("posterior model.tsv cases.jsonl --within 0 -o out.jsonl", 2, &["--within"]);
    folder.fails("posterior model.tsv cases.jsonl --threshold 2 -o out.jsonl", 2, &["--threshold 2"]);
    folder.fails("posterior model.tsv cases.jsonl --json", 2, &["standard output"]);
    folder.fails("posterior model.tsv cases.jsonl -o model.tsv", 2, &["would be replaced"]);
    assert!(!folder.path("out.jsonl").exists() && !folder.path("out.xlsx").exists());
    assert_eq!(folder.stdout("posterior model.tsv none.jsonl"), "");
}

#[test]
fn the_illnesses_of_the_guide() {
    let folder = Folder::new();
    let [network, patients] =
        ["network.tsv", "patients.csv"].map(|name| repository(&format!("data/illnesses/{name}")));
    let command = format!("posterior {} {} --threshold 0.5", network.display(), patients.display());
    let lines: Vec<Value> =
        folder.stdout(&command).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 9);
    for (id, illness) in [
        ("Ada", "Flu"),
        ("Ben", "Hay fever"),
        ("Cleo", "Strep throat"),
        ("Dan", "Migraine"),
        ("Gil", "Anaemia"),
    ] {
        let line = lines.iter().find(|line| line["id"] == id).unwrap();
        assert!(p(line, illness) > 0.7, "{line}");
        assert_eq!(line["within"], true);
    }
    assert_eq!(folder.stdout(&command), folder.stdout(&format!("{command} --threads 1")));
}
