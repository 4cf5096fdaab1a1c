//! Interruption: the status is 130; what was trained is saved, what was inferred in part is not.

use crate::support::{Folder, RUN_FILES, parse, text};
use assert_cmd::cargo::cargo_bin;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

/// Ends the program if a test fails before it does.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "{what} does not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a signal; the program's status once it ended.
fn stop(running: &mut Running, signal: &str) -> Option<i32> {
    let sent = Command::new("kill").args(["-s", signal, &running.0.id().to_string()]).status().expect("kill");
    assert!(sent.success());
    let mut status = None;
    wait_for("the end after a signal", || {
        status = running.0.try_wait().expect("a child");
        status.is_some()
    });
    status.and_then(|status| status.code())
}

#[test]
fn a_signal_stops_training_and_saves_the_model() {
    for signal in ["INT", "TERM"] {
        let folder = Folder::with_sample();
        let (stdout, stderr) = (folder.path("stdout"), folder.path("stderr"));
        let child = Command::new(cargo_bin!("noisyor"))
            .args([
                "train",
                "--graph",
                "sample.tsv",
                "--patience",
                "0",
                "--epochs",
                "100000",
                "-o",
                "run",
                "--json",
            ])
            .current_dir(folder.path(""))
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(&stdout).unwrap())
            .stderr(std::fs::File::create(&stderr).unwrap())
            .spawn()
            .unwrap();
        let mut running = Running(child);
        let evaluated =
            || std::fs::metadata(folder.path("run/metrics.jsonl")).is_ok_and(|file| file.len() > 0);
        wait_for("the first evaluation", evaluated);
        let status = stop(&mut running, signal);

        let message = folder.text("stderr");
        assert_eq!(status, Some(130), "SIG{signal}: {message}");
        assert!(message.ends_with("noisyor: interrupted\n"), "{message}");
        let result = parse(&folder.text("stdout"));
        assert_eq!(result["ended"], "interrupted");
        assert_eq!(folder.names_in("run"), RUN_FILES);
        assert!(folder.json_lines("run/metrics.jsonl").contains(&result["metrics"]));
        assert!(text(&folder.run("topics run/model.safetensors").stdout).contains("Food & Drink"));
    }
}

#[test]
fn a_signal_while_the_graph_is_refined_saves_what_there_is() {
    let folder = Folder::with_sample();
    let arguments = "train --graph sample.tsv --refine --max-edges 800 -o run --json --backend cpu";
    let child = Command::new(cargo_bin!("noisyor"))
        .args(arguments.split(' '))
        .current_dir(folder.path(""))
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(folder.path("stdout")).unwrap())
        .stderr(std::fs::File::create(folder.path("stderr")).unwrap())
        .spawn()
        .unwrap();
    let mut running = Running(child);
    // Before the first evaluation: the first epochs of refinement are running.
    wait_for("the start", || folder.path("run/config.json").exists());
    let status = stop(&mut running, "INT");
    assert_eq!(status, Some(130), "{}", folder.text("stderr"));
    let result = parse(&folder.text("stdout"));
    assert_eq!((&result["ended"], &result["metrics"]), (&"interrupted".into(), &serde_json::Value::Null));
    assert_eq!(folder.names_in("run"), RUN_FILES);
    assert!(text(&folder.run("topics run/model.safetensors").stdout).contains("Food & Drink"));
}

#[test]
fn a_signal_stops_inference_and_leaves_nothing_behind() {
    let folder = Folder::new();
    folder.run("synth --preset tiny --docs 200000 -o tiny");
    for extension in ["jsonl", "tsv", "parquet", "npz"] {
        let arguments = format!(
            "infer tiny/network.safetensors tiny/corpus.svm --paper-estep --threads 1 --backend cpu -o out.{extension}"
        );
        let child = Command::new(cargo_bin!("noisyor"))
            .args(arguments.split(' '))
            .current_dir(folder.path(""))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut running = Running(child);
        wait_for("the file written aside", || {
            let parts = folder.path(&format!("out.{extension}.parts"));
            let mut names = std::fs::read_dir(parts).into_iter().flatten().flatten();
            names.any(|name| name.file_name().to_string_lossy().starts_with(".noisyor-"))
        });
        assert_eq!(stop(&mut running, "INT"), Some(130), "{extension}");
        assert_eq!(folder.names_in("."), ["tiny"], "{extension}");
    }
}
