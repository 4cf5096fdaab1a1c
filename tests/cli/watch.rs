//! `watch`: a run seen from outside, while it goes on and after.

use crate::running::{Running, wait_for};
use crate::support::{Folder, PANTRY, keys, number, pantry_docs, parse, text};

/// A folder with a run of `epochs`, all evaluated.
fn with_run(epochs: u32) -> Folder {
    let folder = Folder::new();
    folder.write("graph.tsv", PANTRY);
    folder.write("docs.jsonl", pantry_docs());
    let train = "train docs.jsonl --graph graph.tsv --patience 0 --test 0.1 -q -o run";
    folder.run(&format!("{train} --epochs {epochs}"));
    folder
}

#[test]
fn one_picture_of_a_run_that_is_over() {
    let folder = with_run(6);
    let picture = folder.stdout("watch run --once --width 70 --height 18");
    let lines: Vec<&str> = picture.lines().collect();
    assert_eq!(lines[0], "run");
    assert!(lines[1].starts_with("tail bound"), "{picture}");
    assert!(lines.len() <= 18 && lines.iter().all(|line| line.chars().count() <= 70), "{picture}");
    assert!(picture.contains('┤') && picture.contains("6.00 epochs"), "{picture}");
    assert!(picture.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c)), "{picture}");
    assert!(!picture.contains('\u{1b}'), "no cursor control outside of a terminal: {picture}");
    let last = folder.json_lines("run/metrics.jsonl").pop().unwrap();
    let held_out = format!("held out {:.4}", number(&last["valid_elbo"]));
    assert!(picture.contains(&held_out) && picture.contains("epoch 6.00 of 6"), "{picture}");
    assert!(lines[lines.len() - 1].starts_with("finished; trained for "), "{picture}");
    // A place too small for a chart has the figures alone.
    let small = folder.stdout("watch run --once --width 20 --height 8");
    assert!(!small.contains('┤') && small.contains("finished"), "{small}");
}

#[test]
fn one_object_of_a_run_that_is_over() {
    let folder = with_run(6);
    let state = folder.result("watch run --once");
    assert_eq!(
        keys(&state),
        [
            "best",
            "epochs_at_most",
            "evaluations",
            "last",
            "may_stop_early",
            "process",
            "run",
            "seconds_left",
            "standing",
            "test_elbo"
        ]
    );
    let metrics = folder.json_lines("run/metrics.jsonl");
    assert_eq!((&state["standing"], &state["evaluations"]), (&"finished".into(), &6.into()));
    assert_eq!(state["last"], metrics[5]);
    let best = metrics.iter().map(|line| number(&line["valid_elbo"])).fold(f64::NEG_INFINITY, f64::max);
    assert_eq!(number(&state["best"]["valid_elbo"]), best);
    assert_eq!(number(&state["epochs_at_most"]), 6.0);
    assert!(number(&state["test_elbo"]) < 0.0 && state["seconds_left"].is_null());
}

#[test]
fn lines_of_a_run_that_is_over() {
    let folder = with_run(4);
    let stdout = folder.stdout("watch run");
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines.len(), 5, "{stdout}");
    assert!(lines[0].starts_with("epoch 1.00 step ") && lines[3].starts_with("epoch 4.00 step "), "{stdout}");
    assert_eq!(lines[4], "finished");
    let printed: Vec<serde_json::Value> = folder.stdout("watch run --json").lines().map(parse).collect();
    assert_eq!(printed, folder.json_lines("run/metrics.jsonl"));
}

/// While one trains, others look: they end with it, or when they are told to, and it takes no notice.
#[cfg(unix)]
#[test]
fn a_run_is_followed_to_its_end() {
    let folder = Folder::with_sample();
    let train = "train --graph sample.tsv --patience 0 --epochs 100000 --backend cpu -o run";
    let mut training = Running::start(&folder, train);
    wait_for("a run folder", || folder.path("run/config.json").exists());
    let mut watching = Running::start_into(&folder, "watch run", "watched", "warned");
    let mut reading = Running::start(&folder, "watch run --json");
    wait_for("three evaluations", || folder.text("watched").lines().count() >= 3);
    let state = folder.result("watch run --once");
    assert_eq!((&state["standing"], &state["process"]), (&"running".into(), &training.id().into()));
    assert!(number(&state["seconds_left"]) > 0.0, "{state}");
    assert!(folder.stdout("watch run --once").contains("running (process "));

    folder.fails("watch run --once --tensorboard run/tensorboard", 2, &["goes on"]);
    folder.run("watch run --once --tensorboard events");
    assert_eq!(folder.names_in("events").len(), 1);

    // Ctrl-C ends the watching alone.
    assert_eq!(reading.stop("INT"), Some(0));
    assert!(training.goes_on());
    assert_eq!(training.stop("INT"), Some(130));
    assert_eq!(watching.end(), Some(0));
    let watched = folder.text("watched");
    let n_lines = folder.json_lines("run/metrics.jsonl").len();
    assert_eq!(watched.lines().count(), n_lines + 1, "{watched}");
    assert!(watched.ends_with("interrupted; to continue: noisyor train --resume run\n"), "{watched}");
    assert_eq!(folder.result("watch run --once")["standing"], "interrupted");
}

#[cfg(unix)]
#[test]
fn a_run_that_was_killed_is_told_from_one_that_ended() {
    let folder = Folder::with_sample();
    let train = "train --graph sample.tsv --patience 0 --epochs 100000 --backend cpu -o run";
    let mut training = Running::start(&folder, train);
    wait_for("an evaluation", || {
        std::fs::metadata(folder.path("run/metrics.jsonl")).is_ok_and(|m| m.len() > 0)
    });
    training.stop("KILL");
    assert_eq!(folder.result("watch run --once")["standing"], "stopped");
    let picture = folder.stdout("watch run --once");
    assert!(picture.contains("stopped before its end; to continue: noisyor train --resume run"), "{picture}");
    // What it had ended with before does not count once it goes on, not even if it must begin anew.
    folder.write("graph.tsv", PANTRY);
    folder.write("docs.jsonl", pantry_docs());
    folder.run("train docs.jsonl --graph graph.tsv --patience 0 --epochs 2 -q -o short");
    std::fs::remove_dir_all(folder.path("short/checkpoint")).unwrap();
    let mut training = Running::start(&folder, "train --resume short --epochs 100000000");
    wait_for("more evaluations", || folder.lines_so_far("short/metrics.jsonl") > 3);
    training.stop("KILL");
    assert_eq!(folder.result("watch short --once")["standing"], "stopped");
}

#[test]
fn half_a_line_and_no_line() {
    let folder = with_run(3);
    let metrics = folder.text("run/metrics.jsonl");
    folder.write("run/metrics.jsonl", &metrics[..metrics.len() - 10]);
    assert_eq!(folder.result("watch run --once")["evaluations"], 2);
    for nothing in ["", "{\"step\":"] {
        folder.write("run/metrics.jsonl", nothing);
        let state = folder.result("watch run --once");
        assert!(state["last"].is_null() && state["best"].is_null(), "{state}");
        assert!(folder.stdout("watch run --once").contains("no evaluation yet"));
    }
    std::fs::remove_file(folder.path("run/metrics.jsonl")).unwrap();
    assert_eq!(folder.result("watch run --once")["evaluations"], 0);
}

#[test]
fn what_is_no_run_is_refused() {
    let folder = with_run(1);
    folder.fails("watch nowhere", 2, &["nowhere", "no run folder"]);
    folder.fails("watch docs.jsonl", 2, &["docs.jsonl", "no run folder"]);
    folder.fails("watch run --tensorboard x", 2, &["--once"]);
    folder.fails("watch run --width 3", 2, &["--width"]);
    folder.write("run/metrics.jsonl", "{}\n");
    folder.fails("watch run --once", 2, &["metrics.jsonl:1: ", "step"]);
    folder.write("run/metrics.jsonl", [b'x'; 100_000]);
    folder.fails("watch run --once", 2, &["metrics.jsonl:1: "]);
    folder.write("run/config.json", "{");
    folder.fails("watch run --once", 2, &["config.json", "not JSON"]);
}

#[test]
fn numbers_out_of_range_are_drawn_or_left_out() {
    let folder = with_run(3);
    let lines = folder.text("run/metrics.jsonl");
    let mut metrics: Vec<serde_json::Value> = lines.lines().map(parse).collect();
    metrics[0]["valid_elbo"] = (-1e308).into();
    metrics[1]["train_elbo"] = serde_json::Value::Null;
    metrics[2]["seconds"] = (-1e300).into();
    metrics[2]["docs_per_s"] = 1e308.into();
    metrics[2]["epoch"] = (-5.0).into();
    folder.write("run/metrics.jsonl", metrics.iter().map(|line| format!("{line}\n")).collect::<String>());
    let mut config = folder.json("run/config.json");
    config["options"]["refine"] = serde_json::json!({
        "max_edges": 1, "first_epochs": u32::MAX, "epochs": u32::MAX, "reseeds": u32::MAX, "rounds": 1, "swaps": 1,
    });
    config["run"]["ended"] = "\u{1b}[31mred\nline".into();
    folder.write("run/config.json", config.to_string());
    let picture = text(&folder.run("watch run --once").stdout);
    assert!(!picture.contains('\u{1b}') && picture.contains("red line"), "{picture}");
    assert_eq!(folder.result("watch run --once")["evaluations"], 3);
}
