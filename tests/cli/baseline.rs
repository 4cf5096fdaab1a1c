//! `baseline`, and other commands on its runs.

use crate::running::{Running, wait_for};
use crate::support::{Folder, keys, number, text, theme_docs};
use serde_json::{Value, json};

/// Models with options for a few small documents.
const MODELS: [(&str, &str, &str); 6] = [
    ("mixture --components 4", "mixture", "exact"),
    ("spn --min-rows 20", "spn", "exact"),
    ("lda --topics 4", "bernoulli-lda", "bound"),
    ("lda --likelihood multinomial --topics 4 --batch 20", "lda", "bound"),
    ("hdp --topics 6 --sticks 3 --batch 20", "hdp", "bound"),
    ("nmf --topics 4 --batch 20 --control-variates", "nmf", "estimate"),
];

fn with_documents() -> Folder {
    let folder = Folder::new();
    folder.write("docs.jsonl", theme_docs());
    folder
}

/// Metrics but for times.
fn untimed(folder: &Folder, run: &str) -> Vec<Value> {
    let mut lines = folder.json_lines(&format!("{run}/metrics.jsonl"));
    for line in &mut lines {
        ["seconds", "docs_per_s"].iter().for_each(|name| line[*name] = 0.into());
    }
    lines
}

#[test]
fn every_model_trains_scores_and_describes() {
    let folder = with_documents();
    for (at, (model, name, score)) in MODELS.iter().enumerate() {
        let run = format!("run{at}");
        let trained = folder.result(&format!("baseline {model} docs.jsonl --test 0.2 --epochs 8 -o {run}"));
        assert_eq!((&trained["baseline"], &trained["score"]), (&json!(name), &json!(score)), "{model}");
        assert_eq!((&trained["held_out_docs"], &trained["test_docs"]), (&json!(20), &json!(40)), "{model}");
        let lines = folder.json_lines(&format!("{run}/metrics.jsonl"));
        assert!(lines.iter().all(|line| line["score"] == *score && number(&line["valid_score"]) < 0.0));
        let best = lines.iter().map(|line| number(&line["valid_score"])).fold(f64::NEG_INFINITY, f64::max);
        assert_eq!(number(&trained["metrics"]["valid_score"]), best, "{model}");
        assert_eq!(folder.json(&format!("{run}/config.json"))["run"]["test_score"], trained["test_score"]);

        let evaluated = folder.result(&format!("eval {run} docs.jsonl --per-doc scores.tsv"));
        assert_eq!((&evaluated["docs"], &evaluated["score"]), (&json!(200), &json!(score)), "{model}");
        let scores: Vec<f64> =
            folder.table("scores.tsv")[1..].iter().map(|row| row[1].parse().expect("a number")).collect();
        let mean = scores.iter().sum::<f64>() / 200.0;
        assert!((number(&evaluated["score_mean"]) - mean).abs() < 1e-9, "{model}");
        // What is scored is said, and independent words stand beside scores of the same thing only.
        let comparable = evaluated["score_of"].is_null();
        assert_eq!(comparable, ["mixture", "spn", "bernoulli-lda"].contains(name), "{model}");
        assert_eq!(evaluated["baseline_mean"].is_null(), !comparable, "{model}");

        let inferred = folder.result(&format!("infer {run} docs.jsonl -o out.jsonl --threshold 0"));
        assert!((number(&inferred["score_mean"]) - mean).abs() < 1e-9, "{model}");
        let rows = folder.json_lines("out.jsonl");
        assert_eq!(rows.len(), 200);
        for (row, score) in rows.iter().zip(&scores) {
            assert_eq!(keys(row), ["doc", "features", "score"]);
            assert!((number(&row["score"]) - score).abs() < 1e-12, "{model}");
        }
        // The page has the words of topics, where a model has such.
        folder.run(&format!("report {run} -q"));
        assert_eq!(folder.text(&format!("{run}/report.html")).contains("ball"), *name != "spn", "{model}");
        // Documents of one theme are alike, and others are not.
        let strongest = |doc: usize| {
            let features = rows[doc]["features"].as_object().expect("features");
            features.iter().max_by(|a, b| number(a.1).total_cmp(&number(b.1))).map(|(name, _)| name.clone())
        };
        if *name == "mixture" {
            assert!((0..40).all(|doc| strongest(doc) == strongest(doc + 4)), "{model}");
            assert_ne!(strongest(0), strongest(1), "{model}");
        }
    }
}

#[test]
fn outputs_of_infer_are_those_of_networks_with_features_for_topics() {
    let folder = with_documents();
    folder.run("baseline mixture --components 4 docs.jsonl -o run -q");
    for format in ["tsv", "csv", "npz", "parquet"] {
        let output = folder.run(&format!("infer run docs.jsonl -o out.{format} -q"));
        assert!(output.status.success(), "{format}: {}", text(&output.stderr));
    }
    assert_eq!(folder.table("out.tsv")[0], ["doc", "feature", "value"]);
    assert!(folder.text("out.csv").starts_with("doc,component 0,component 1,"));
    // Parts, as of a network: killed or not, the same bytes.
    folder.run("infer run docs.jsonl -o parts.tsv --part-docs 30 -q");
    assert_eq!(folder.bytes("parts.tsv"), folder.bytes("out.tsv"));
    folder.fails("infer run docs.jsonl -o x.tsv --exact", 2, &["--exact", "for networks"]);
    folder.fails("eval run docs.jsonl --upper", 2, &["--upper", "baseline"]);
    folder.fails("eval run docs.jsonl --likelihood", 2, &["mixture has no estimate"]);
}

#[test]
fn the_seed_decides_and_threads_do_not() {
    let folder = with_documents();
    for (at, (model, ..)) in MODELS.iter().enumerate() {
        let train = |run: &str, options: &str| {
            folder.run(&format!("baseline {model} docs.jsonl --epochs 4 -o {run}{at} -q {options}"));
            folder.bytes(&format!("{run}{at}/model.safetensors"))
        };
        let one = train("a", "--threads 1");
        assert!(one == train("b", "--threads 3"), "{model}");
        assert!(one != train("c", "--seed 1"), "{model}");
    }
}

#[test]
fn a_run_that_was_stopped_goes_on_to_the_same_bytes() {
    let folder = with_documents();
    for (at, (model, ..)) in MODELS.iter().enumerate() {
        let train = |run: &str, epochs: u32| {
            let options = format!("--epochs {epochs} --patience 0 --checkpoint-steps 1 -q");
            let output = folder.run(&format!("baseline {model} docs.jsonl -o {run}{at} {options}"));
            assert!(output.status.success(), "{}", text(&output.stderr));
        };
        train("whole", 6);
        train("part", 2);
        let output = folder.run(&format!("baseline --resume part{at} --epochs 6"));
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("after 2 epochs"), "{}", text(&output.stderr));
        let same = |file: &str| {
            folder.bytes(&format!("whole{at}/{file}")) == folder.bytes(&format!("part{at}/{file}"))
        };
        assert!(same("model.safetensors"), "{model}");
        assert_eq!(
            untimed(&folder, &format!("whole{at}")),
            untimed(&folder, &format!("part{at}")),
            "{model}"
        );
    }
}

#[test]
fn a_run_killed_or_cancelled_goes_on_to_the_same_bytes() {
    let folder = Folder::new();
    folder.run("synth --preset tiny --docs 3000 -o t -q");
    let run = "baseline mixture --components 60 t/corpus.svm --patience 0 --epochs 40 --checkpoint-steps 1";
    folder.run(&format!("{run} -o whole -q"));
    for signal in ["KILL", "INT", "TERM"] {
        let stopped = format!("stopped{signal}");
        let mut running = Running::start(&folder, &format!("{run} -o {stopped}"));
        wait_for("an evaluation", || {
            !running.goes_on() || folder.lines_so_far(&format!("{stopped}/metrics.jsonl")) > 2
        });
        if running.goes_on() {
            running.signal(signal);
        }
        let status = running.end();
        assert!(matches!((signal, status), ("KILL", _) | (_, Some(130 | 0))), "{signal}: {status:?}");
        let output = folder.run(&format!("baseline --resume {stopped}"));
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(
            folder.bytes(&format!("{stopped}/model.safetensors")) == folder.bytes("whole/model.safetensors"),
            "{signal}"
        );
        assert_eq!(untimed(&folder, &stopped), untimed(&folder, "whole"), "{signal}");
    }
}

#[test]
fn runs_of_baselines_and_networks_side_by_side() {
    let folder = with_documents();
    let split = "--valid 0.2 --test 0.2 --seed 5 -q";
    folder.run(&format!("baseline mixture --components 4 docs.jsonl -o mixture {split}"));
    folder.run(&format!("baseline nmf --topics 4 docs.jsonl -o nmf {split}"));
    folder.run(&format!("train docs.jsonl --topics 4 --epochs 5 -o network {split}"));
    let result = folder.result("compare network mixture --per-doc docs.tsv");
    assert_eq!(result["documents"]["differences"]["docs"], 80, "both held out the same documents");
    assert_eq!((&result["topics"], &result["b"]["edges"]), (&Value::Null, &Value::Null));
    let notes = result["notes"].to_string();
    assert!(notes.contains("tail bound") && notes.contains("exact log-likelihood"), "{notes}");
    assert_eq!(folder.table("docs.tsv")[0], ["doc", "score_a", "score_b", "difference"]);
    let differences = &result["documents"]["differences"];
    let mean_b = number(&differences["mean_b"]);
    let of_runs = |key: &str| number(&folder.json("mixture/config.json")["run"][key]);
    let best = number(&result["b"]["best"]["valid_elbo"]);
    assert!((mean_b - (best + of_runs("test_score")) / 2.0).abs() < 1e-9, "{mean_b}");
    let stdout = folder.stdout("compare mixture network");
    assert!(
        stdout.contains("parameters") && stdout.contains("exact log-likelihood against tail"),
        "{stdout}"
    );
    // Scores of different things are not set against each other.
    let other = folder.result("compare mixture nmf");
    assert!(
        other["documents"].is_null() && other["notes"].to_string().contains("different things"),
        "{other}"
    );
    let page = {
        folder.run("report mixture -q");
        folder.text("mixture/report.html")
    };
    assert!(page.contains("exact") && page.contains("component 0") && page.contains("<polyline"), "{page}");
    assert!(folder.stdout("watch mixture --once").contains("exact log-likelihood"));
    assert_eq!(folder.result("watch mixture --once")["test_score"], of_runs("test_score"));
}

#[test]
fn the_bound_of_bernoulli_lda_lies_below_its_estimate() {
    let folder = with_documents();
    folder.run("baseline lda --topics 4 docs.jsonl -o run -q");
    let result = folder.result("eval run docs.jsonl --likelihood=300 --completion --per-doc docs.tsv");
    let (bound, estimate) = (number(&result["score_mean"]), number(&result["likelihood_mean"]));
    assert!(bound < estimate && number(&result["likelihood_se"]) < 0.1, "{result}");
    assert!(
        number(&result["completion_mean"]) < 0.0 && number(&result["completion_words"]) > 10.0,
        "{result}"
    );
    assert_eq!(folder.table("docs.tsv")[0], ["doc", "score", "likelihood", "likelihood_se"]);
    folder.fails("eval run docs.jsonl --completion=2", 2, &["between 0 and 1"]);
}

#[test]
fn tokens_given_others_and_documents_drawn() {
    let folder = with_documents();
    for model in ["mixture --components 12 --smoothing 0.1", "spn --min-rows 20"] {
        let name = model.split(' ').next().expect("a name");
        folder.run(&format!("baseline {model} docs.jsonl -o {name} -q"));
        let result = folder.result(&format!("baseline query {name} --given ball=1,song=0"));
        let p = |token: &str| number(&result["tokens"][token]["p"]);
        let before = |token: &str| number(&result["tokens"][token]["before"]);
        assert!(p("goal") > 0.6 && p("oven") < 0.1, "{name}: {result}");
        assert!((before("goal") - 0.2).abs() < 0.05, "{name}: {result}");
        assert_eq!(result["given"], json!({"ball": true, "song": false}));
        assert!(result["tokens"]["ball"].is_null());
        assert!(folder.stdout(&format!("baseline query {name} --given ball=1 --top 3")).lines().count() == 4);
        // Documents drawn have the frequencies that were asked for.
        folder.run(&format!("baseline sample {name} --docs 2000 --given ball=1,song=0 -o drawn.jsonl -q"));
        let drawn = folder.json_lines("drawn.jsonl");
        let share = |token: &str| {
            let has = |doc: &&Value| doc["tokens"].to_string().contains(&format!("\"{token}\""));
            drawn.iter().filter(has).count() as f64 / 2000.0
        };
        assert_eq!((share("ball"), share("song")), (1.0, 0.0), "{name}");
        for token in ["goal", "team", "oven", "band"] {
            // Five standard errors.
            let error = 5.0 * (p(token) * (1.0 - p(token)) / 2000.0).sqrt() + 1e-3;
            assert!((share(token) - p(token)).abs() < error, "{name} {token}: {} {}", share(token), p(token));
        }
        let again = folder.stdout(&format!("baseline sample {name} --docs 3 --seed 4"));
        assert_eq!(again, folder.stdout(&format!("baseline sample {name} --docs 3 --seed 4")));
        folder.fails(&format!("baseline query {name} --given ball=2"), 2, &["1 or 0"]);
        folder.fails(&format!("baseline query {name} --given bal=1"), 2, &["no such token"]);
        folder.fails(&format!("baseline query {name} --given ball=1,ball=0"), 2, &["give one of them"]);
    }
    folder.run("baseline nmf --topics 2 docs.jsonl -o nmf -q");
    folder.fails("baseline query nmf", 2, &["nmf cannot answer queries"]);
    folder.fails("baseline sample nmf", 2, &["nmf cannot draw"]);
    folder.fails("baseline query docs.jsonl", 2, &["no baseline"]);
}

#[test]
fn what_cannot_be_is_refused_and_leaves_no_folder() {
    let folder = with_documents();
    folder.write("empty.jsonl", "");
    folder.write(
        "unknown.jsonl",
        "{\"present\":[\"a\"],\"absent\":[\"b\"]}\n{\"present\":[\"b\"],\"absent\":[]}\n",
    );
    for (arguments, parts) in [
        ("mixture --components 0 docs.jsonl", &["--components", "0"][..]),
        ("mixture --smoothing 0 docs.jsonl", &["--smoothing", "above 0"]),
        ("mixture docs.jsonl --valid 0.5 --test 0.5", &["--valid", "--test"]),
        ("mixture docs.jsonl --epochs 0", &["--epochs"]),
        ("mixture empty.jsonl", &["no documents"]),
        ("mixture --format svmlight", &["none is given"]),
        ("lda docs.jsonl --batch 10", &["--likelihood multinomial"]),
        ("hdp docs.jsonl --kappa 7", &["kappa"]),
        ("spn docs.jsonl --p-value 2", &["--p-value", "is 2"]),
        ("spn docs.jsonl --spn-fit best", &["--spn-fit"]),
        ("nmf unknown.jsonl --unlisted unknown", &["unknown values", "baseline nmf"]),
    ] {
        folder.fails(&format!("baseline {arguments} -o run"), 2, parts);
        assert!(!folder.path("run").exists(), "{arguments}");
    }
    folder.fails("baseline mixture missing.jsonl -o run", 3, &["missing.jsonl"]);
    folder.fails("baseline", 2, &["Usage"]);
    folder.fails("baseline --epochs 3", 2, &["--resume"]);
    folder.run("baseline mixture docs.jsonl --components 3 -o run -q");
    folder.fails("baseline mixture docs.jsonl -o run", 2, &["not empty", "--resume"]);
    folder.fails("baseline --resume run --epochs 1", 2, &["--epochs is 1", "behind it"]);
    folder.fails("baseline sample run -o run/config.json", 2, &["would be replaced"]);
    folder.fails("baseline query missing", 3, &["missing"]);
    folder.fails("train --resume run", 2, &["run of a baseline", "--resume"]);
    folder.fails("topics run", 2, &["this is a baseline, no network"]);
    folder.fails("plan run docs.jsonl", 2, &[]);
    folder.write("docs.jsonl", theme_docs().replace("ball", "bat"));
    folder.fails("baseline --resume run", 2, &["not the documents"]);
    // One document, and none held out.
    folder.write("one.jsonl", "{\"tokens\":[\"a\"]}\n");
    let output = folder.run("baseline mixture one.jsonl --components 2 -o one");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn damaged_files_are_refused() {
    let folder = with_documents();
    folder.run("baseline mixture docs.jsonl --components 3 --checkpoint-steps 1 -o run -q");
    let whole = folder.bytes("run/model.safetensors");
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        folder.write("bad.safetensors", bytes);
    };
    with(&|bytes| bytes.truncate(bytes.len() - 9));
    folder.fails("eval bad.safetensors docs.jsonl", 2, &["bad.safetensors"]);
    // Eight bytes of a probability become no number.
    with(&|bytes| {
        let end = bytes.len();
        bytes[end - 8..].copy_from_slice(&f64::NAN.to_le_bytes());
    });
    folder.fails("eval bad.safetensors docs.jsonl", 2, &["bad.safetensors", "finite"]);
    let text = String::from_utf8_lossy(&whole)
        .replace("noisyor-baseline\",\"model\":\"mixture", "noisyor-baseline\",\"model\":\"mistures");
    with(&|bytes| *bytes = text.clone().into_bytes());
    assert_ne!(
        folder.noisyor("eval bad.safetensors docs.jsonl").output().expect("an end").status.code(),
        Some(0)
    );
    for checkpoint in folder.names_in("run/checkpoint") {
        let path = format!("run/checkpoint/{checkpoint}");
        let mut bytes = folder.bytes(&path);
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        folder.write(&path, bytes);
    }
    folder.fails("baseline --resume run", 2, &["no checkpoint can be read"]);
}
