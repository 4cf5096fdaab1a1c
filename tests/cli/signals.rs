//! Interruption: the status is 130; what was trained is saved, what was inferred in part is not.

use crate::running::{Running, wait_for};
use crate::support::{Folder, RUN_FILES, parse, text};

#[test]
fn a_signal_stops_training_and_saves_the_model() {
    for signal in ["INT", "TERM"] {
        let folder = Folder::with_sample();
        let arguments = "train --graph sample.tsv --patience 0 --epochs 100000 -o run --json";
        let mut running = Running::start_into(&folder, arguments, "stdout", "stderr");
        let evaluated =
            || std::fs::metadata(folder.path("run/metrics.jsonl")).is_ok_and(|file| file.len() > 0);
        wait_for("the first evaluation", evaluated);
        let status = running.stop(signal);

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
    let mut running = Running::start_into(&folder, arguments, "stdout", "stderr");
    // Before the first evaluation: the first epochs of refinement are running.
    wait_for("the start", || folder.path("run/config.json").exists());
    let status = running.stop("INT");
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
        let mut running = Running::start(&folder, &arguments);
        wait_for("the file written aside", || {
            let parts = folder.path(&format!("out.{extension}.parts"));
            let mut names = std::fs::read_dir(parts).into_iter().flatten().flatten();
            names.any(|name| name.file_name().to_string_lossy().starts_with(".noisyor-"))
        });
        assert_eq!(running.stop("INT"), Some(130), "{extension}");
        assert_eq!(folder.names_in("."), ["tiny"], "{extension}");
    }
}
