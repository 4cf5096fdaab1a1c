//! Options of `train`: each is used as given and written down, and nonsense is refused.

use crate::support::Folder;
use serde_json::{Value, json};

#[test]
fn every_option_runs_and_is_written_to_the_config() {
    let folder = Folder::with_sample();
    let rule = |rule: Value| ("/options/step", rule);
    let cases = [
        ("--step em --lambda 2.5", rule(json!({"rule": "em", "lambda": 2.5}))),
        ("--step paper", ("/options/step/schedule", json!("constant"))),
        (
            "--step paper --rate 0.01 --c 10 --rate-schedule power",
            rule(json!({"rule": "paper", "rate": 0.01, "c": 10.0, "schedule": "power"})),
        ),
        ("--step adam", ("/options/step/schedule", json!("cosine"))),
        (
            "--step adam --rate 0.1 --rate-schedule constant",
            rule(json!({"rule": "adam", "rate": 0.1, "schedule": "constant"})),
        ),
        (
            "--step paper --rate 0.001 --c 1000 --rate-schedule cosine",
            rule(json!({"rule": "paper", "rate": 0.001, "c": 1000.0, "schedule": "cosine"})),
        ),
        ("--batch full", ("/options/batch", json!("full"))),
        ("--batch 500", ("/options/batch", json!({"docs": 500}))),
        ("--batch 1000000", ("/options/batch", json!({"docs": 1_000_000}))),
        ("--init data", ("/options/init", json!("data"))),
        ("--init graph", ("/options/init", json!("graph"))),
        ("--init constant", ("/options/init", json!("constant"))),
        ("--bound tail", ("/options/estep/bound", json!("tail"))),
        ("--bound local", ("/options/estep/bound", json!("local"))),
        ("--bound full", ("/options/estep/bound", json!("full"))),
        ("--paper-estep", ("/options/estep/q_sweeps", json!(10))),
        ("--paper-estep=3,2,4", ("/options/estep/r_iterations", json!(4))),
        ("--temper", ("/options/estep/start", json!({"tempered": {"from": 4.0, "alternations": 12}}))),
        ("--temper=2,5", ("/options/estep/start", json!({"tempered": {"from": 2.0, "alternations": 5}}))),
        ("--start tempered --temper=2,5", ("/options/estep/start/tempered/from", json!(2.0))),
        ("--start tempered", ("/options/estep/start/tempered/alternations", json!(12))),
        ("--start greedy", ("/options/estep/start", json!("greedy"))),
        ("--start plain", ("/options/estep/start", json!("plain"))),
        ("--start best", ("/options/estep/start", json!("best"))),
        ("--paper-estep", ("/options/estep/start", json!("plain"))),
        ("--paper-estep --start greedy", ("/options/estep/start", json!("greedy"))),
        ("--estep-tol 0.25", ("/options/estep/tolerance", json!(0.25))),
        ("--estep-max 7", ("/options/estep/max_alternations", json!(7))),
        ("--no-share", ("/options/share_identical", json!(false))),
        ("--floor 0.125", ("/options/floor", json!(0.125))),
        ("--cap 3.5", ("/options/cap", json!(3.5))),
        ("--valid 0.25", ("/options/valid", json!(0.25))),
        ("--keep-starts", ("/options/keep_starts", json!(true))),
        ("--batch full", ("/options/keep_starts", json!(false))),
        ("--batch 50 --control-variates", ("/options/control_variates", json!(true))),
        ("--control-variates=false", ("/options/control_variates", json!(false))),
        ("--patience 2", ("/options/patience", json!(2))),
        ("--eval-every 2", ("/options/eval_every", json!(2))),
        ("--seed 18446744073709551615", ("/options/seed", json!(u64::MAX))),
        ("--backend cpu", ("/options/max_steps", json!(2))),
        ("--backend auto --threads 1", ("/options/max_steps", json!(2))),
    ];
    for (at, (options, (place, expected))) in cases.into_iter().enumerate() {
        folder.run(&format!("train --graph sample.tsv --steps 2 {options} -o {at}"));
        let config = folder.json(&format!("{at}/config.json"));
        assert_eq!(config.pointer(place), Some(&expected), "{options}");
        let last = folder.json_lines(&format!("{at}/metrics.jsonl")).pop().unwrap();
        assert!(last["step"].as_u64().unwrap() <= 2, "{options}: {last}");
        assert!(last["valid_elbo"].as_f64().unwrap() < 0.0, "{options}: {last}");
        folder.run(&format!("topics {at}/model.safetensors --top 1"));
    }
}

#[test]
fn weights_stay_between_floor_and_cap() {
    let folder = Folder::with_sample();
    folder.run("train --graph sample.tsv --epochs 2 --floor 0.25 --cap 0.5 -o run -q");
    folder.run("model convert run/model.safetensors model.json");
    let model = folder.json("model.json");
    let weights: Vec<f64> =
        model["edges"].as_array().unwrap().iter().map(|edge| edge[2].as_f64().unwrap()).collect();
    assert!(weights.iter().all(|weight| (0.25..=0.5).contains(weight)));
    assert!(weights.contains(&0.25) && weights.contains(&0.5), "neither limit is met");
    assert!(model["leak"].as_array().unwrap().iter().all(|leak| leak.as_f64().unwrap() <= 0.5));
}

#[test]
fn nonsense_is_refused_with_a_remedy_before_anything_is_written() {
    let folder = Folder::new();
    for (options, parts) in [
        ("--valid 1.5", &["1.5", "[0, 1)"][..]),
        ("--valid 1", &["1", "[0, 1)"]),
        ("--valid=-0.1", &["-0.1", "[0, 1)"]),
        ("--valid nan", &["NaN", "[0, 1)"]),
        ("--floor 30", &["30", "20", "<= floor < cap"]),
        ("--floor 0", &["<= floor < cap"]),
        ("--cap inf", &["inf", "floor < cap"]),
        ("--batch 0", &["at least one document"]),
        ("--batch some", &["some", "a number of documents, or 'full'"]),
        ("--rate 0.1", &["--step paper or adam"]),
        ("--rate-schedule cosine", &["--step paper or adam"]),
        ("--step paper --rate 0", &["above 0"]),
        ("--step adam --rate nan", &["above 0"]),
        ("--step paper --c=-1", &["above 0", "-1"]),
        ("--lambda=-1", &["at least 0", "-1"]),
        ("--threads 0", &["--threads must be"]),
        ("--epochs 0", &["at least 1"]),
        ("--eval-every 0", &["at least 1"]),
        ("--estep-tol 2", &["2", "[0, 1)"]),
        ("--estep-max 0", &["at least one alternation"]),
        ("--paper-estep=1,2", &["three numbers", "--paper-estep=10,10,10"]),
        ("--paper-estep=0,1,1", &["at least one alternation"]),
        ("--paper-estep --estep-tol 0.1", &["--paper-estep", "--estep-tol"]),
        ("--temper=0.5,3", &["0.5", "at least 1"]),
        ("--temper=4", &["--temper=4,12"]),
        ("--temper=4,1.5", &["--temper=4,12"]),
        ("--bound best", &["best", "tail, local, full"]),
        ("--step sgd", &["sgd", "em, paper, adam"]),
        ("--init zero", &["zero", "graph, data, constant"]),
        ("--quiet --verbose", &["--quiet", "--verbose"]),
        ("--seed -1", &["-1"]),
    ] {
        folder.fails(&format!("train {options}"), 2, parts);
        assert_eq!(folder.names_in("."), [""; 0], "{options}");
    }
}
