//! `train --step mcmc` and `eval --likelihood=mcmc`: keys, columns, text, seeds, threads, resuming, options that are refused.

use crate::support::{Folder, PANTRY, golden, keys, list, number, pantry_docs};
use serde_json::Value;

#[test]
fn eval_json_table_and_text() {
    let folder = Folder::with_golden(&golden(2));
    let arguments = "eval model.json docs.jsonl --exact --likelihood=mcmc:20000 --per-doc table.tsv";
    let result = folder.result(arguments);
    let of_mcmc: Vec<&str> = keys(&result).into_iter().filter(|key| key.starts_with("mcmc")).collect();
    assert_eq!(
        of_mcmc,
        ["mcmc_bound_curve", "mcmc_bound_mean", "mcmc_elbo_mean", "mcmc_flips", "mcmc_model"]
    );
    assert_eq!((&result["mcmc_model"], &result["mcmc_flips"]), (&"full".into(), &20_000.into()));
    assert!(result.get("likelihood_mean").is_none(), "an estimate was not asked for");
    let [bound, elbo, exact] =
        ["mcmc_bound_mean", "mcmc_elbo_mean", "exact_mean"].map(|key| number(&result[key]));
    assert!(bound <= exact + 1e-9 && bound > exact - 0.01, "{result}");
    assert!(elbo <= exact + 1e-4 && elbo > exact - 5.0, "{result}");
    let curve: Vec<(f64, f64)> =
        list(&result["mcmc_bound_curve"]).iter().map(|at| (number(&at[0]), number(&at[1]))).collect();
    assert_eq!(curve.iter().map(|at| at.0).collect::<Vec<_>>(), [100.0, 1_000.0, 10_000.0, 20_000.0]);
    assert!(curve.windows(2).all(|pair| pair[0].1 <= pair[1].1) && curve[3].1 == bound, "{result}");

    let table = folder.table("table.tsv");
    assert_eq!(table[0], ["doc", "elbo", "exact", "mcmc_bound", "mcmc_elbo"]);
    for (at, want) in [(3, bound), (4, elbo)] {
        let sum: f64 = table[1..].iter().map(|row| row[at].parse::<f64>().unwrap()).sum();
        assert!((sum / (table.len() - 1) as f64 - want).abs() < 1e-9);
    }

    let both = "eval model.json docs.jsonl --likelihood --likelihood=mcmc:500 --mcmc-model local";
    let result = folder.result(&format!("{both} --per-doc both.tsv"));
    assert!(number(&result["likelihood_mean"]) < 0.0 && result["mcmc_model"] == "local", "{result}");
    assert_eq!(
        folder.table("both.tsv")[0][2..],
        ["likelihood", "likelihood_se", "ess", "configurations", "mcmc_bound", "mcmc_elbo"]
    );
    let text = folder.stdout(both);
    for part in [
        "\nestimated log-likelihood -",
        "\nlower bound by the states around a chain of 500 samples (local model) -",
        "; mean bound at its marginals -",
    ] {
        assert!(text.contains(part), "'{part}' is not in {text}");
    }

    folder.write("none.jsonl", "");
    let result = folder.result("eval model.json none.jsonl --likelihood=mcmc:10");
    assert_eq!((&result["mcmc_bound_mean"], &result["mcmc_elbo_mean"]), (&Value::Null, &Value::Null));
}

#[test]
fn the_seed_decides_and_threads_do_not() {
    let folder = Folder::new();
    folder.run("synth --preset tiny --docs 40 -o tiny");
    let eval = |options: &str| {
        let arguments =
            "eval tiny/network.safetensors tiny/corpus.svm --likelihood=mcmc:200 --per-doc table.tsv";
        (folder.stdout(&format!("{arguments} --json {options}")), folder.bytes("table.tsv"))
    };
    let reference = eval("--threads 1");
    assert_eq!(eval("--threads 4"), reference);
    assert_ne!(eval("--seed 1"), reference);
}

#[test]
fn training_ends_the_same_on_any_threads_and_resumed() {
    let folder = Folder::new();
    folder.write("pantry.tsv", PANTRY);
    folder.write("docs.jsonl", pantry_docs());
    let train = "train docs.jsonl --graph pantry.tsv --step mcmc --patience 0 --valid 0.2 --batch 10";
    let result = folder.result(&format!("{train} --epochs 6 --threads 1 -o whole"));
    assert_eq!(result["metrics"]["train_elbo"], Value::Null, "samples are no bound");
    assert!(number(&result["metrics"]["valid_elbo"]) < 0.0, "{result}");
    folder.run(&format!("{train} --epochs 6 --threads 4 -o threads"));
    folder.run(&format!("{train} --epochs 3 -o stopped"));
    let model = |run: &str| folder.bytes(&format!("{run}/model.safetensors"));
    assert_ne!(model("stopped"), model("whole"));
    folder.run("train --resume stopped --epochs 6");
    assert_eq!(model("threads"), model("whole"));
    assert_eq!(model("stopped"), model("whole"));
    let config = folder.json("whole/config.json");
    assert_eq!(config["options"]["step"]["rule"], "mcmc");
    assert_eq!(config["options"]["step"]["sweeps"], 20);
    assert_eq!(config["run"]["backend"], "cpu");
    folder.run(&format!("{train} --epochs 2 --mcmc-model local --augmentation poisson -o local"));
    assert_ne!(model("local"), model("whole"));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = Folder::new();
    folder.write("pantry.tsv", PANTRY);
    folder.write("docs.jsonl", pantry_docs());
    let train = "train docs.jsonl --graph pantry.tsv -o run";
    for (options, part) in [
        ("--sweeps 3", "--sweeps belongs to --step mcmc"),
        ("--step em --burn-in 3", "--burn-in belongs to --step mcmc"),
        ("--step adam --augmentation cascade", "--augmentation belongs to --step mcmc"),
        ("--mcmc-model local", "--mcmc-model belongs to --step mcmc"),
        ("--pseudo-count 2", "--pseudo-count belongs to --step mcmc"),
        ("--step mcmc --sweeps 0", "--sweeps is 0"),
        ("--step mcmc --pseudo-count=-1", "--pseudo-count must be at least 0; it is -1"),
        ("--step mcmc --rate 0.1", "--step mcmc has no rate"),
        ("--step mcmc --lambda 1", "--lambda belongs to --step em"),
        ("--step mcmc --clamp 3", "leave out --clamp"),
        ("--step mcmc --keep-starts", "leave out --keep-starts"),
        ("--step mcmc --refine", "--step em alone"),
        ("--step mcmc --renew", "--step em alone"),
        ("--step mcmc --condense", "dropped by EM"),
        ("--step mcmc --smoothing held-out", "goes with EM"),
        ("--step mcmc --backend gpu", "--step mcmc samples on the CPU"),
        ("--step mcmc --device 0", "--step mcmc samples on the CPU"),
    ] {
        folder.fails(&format!("{train} {options}"), 2, &[part]);
    }
    folder.fails("plan docs.jsonl --graph pantry.tsv --step mcmc", 2, &["plan another step"]);
    assert!(!folder.path("run").exists());
    folder.fails("train docs.jsonl --from pantry.tsv --step mcmc -o run", 2, &["only --step em"]);
    for (options, part) in [
        ("--likelihood=mcmc:0", "at least one sample"),
        ("--likelihood=mcmc:", "--likelihood"),
        ("--likelihood=mcmc5", "--likelihood"),
        ("--likelihood=mcmc:x", "'mcmc:N'"),
        ("--likelihood=5 --mcmc-model local", "--mcmc-model belongs to --likelihood=mcmc"),
    ] {
        folder.fails(&format!("eval pantry.tsv docs.jsonl {options}"), 2, &[part]);
    }
}

/// Unknown tokens are left out of chains, counts and bounds.
#[test]
fn unknown_tokens() {
    let folder = Folder::new();
    folder.write("pantry.tsv", PANTRY);
    folder.write(
        "docs.jsonl",
        "{\"present\": [\"apple\"], \"absent\": [\"eat\"]}\n{\"present\": [\"flour\"], \"absent\": []}\n",
    );
    for model in ["full", "local"] {
        let eval = format!("eval pantry.tsv docs.jsonl --exact --likelihood=mcmc:5000 --mcmc-model {model}");
        let result = folder.result(&eval);
        let [bound, elbo, exact] =
            ["mcmc_bound_mean", "mcmc_elbo_mean", "exact_mean"].map(|key| number(&result[key]));
        assert!(bound <= exact + 1e-9 && elbo <= bound + 1e-4, "{result}");
        let most_missing = if model == "full" { 1e-6 } else { 1.0 };
        assert!(exact - bound < most_missing, "{result}");
    }
    folder.run("train docs.jsonl --graph pantry.tsv --step mcmc --valid 0 --epochs 3 -o run");
}
