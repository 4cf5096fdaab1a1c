//! `infer --resume`: a run that ended early and was gone on with gives the bytes of one that nobody disturbed.

use crate::running::{Running, wait_for};
use crate::support::{Folder, text};
use std::path::PathBuf;

const EXTENSIONS: [&str; 5] = ["jsonl", "tsv", "csv", "parquet", "npz"];
/// Slow enough to be stopped in the middle.
const JOB: &str =
    "infer tiny/network.safetensors tiny/corpus.svm --paper-estep --backend cpu --part-docs 500";
const N_DOCS: usize = 20_000;

fn folder_with_tiny() -> Folder {
    let folder = Folder::new();
    folder.run(&format!("synth --preset tiny --docs {N_DOCS} -o tiny"));
    folder
}

/// Names of the finished parts of an output.
fn parts(folder: &Folder, output: &str) -> Vec<String> {
    let path = folder.path(&format!("{output}.parts"));
    let mut names = if path.exists() { folder.names_in(&format!("{output}.parts")) } else { Vec::new() };
    names.retain(|name| name.ends_with(".part"));
    names
}

/// Starts an inference, and waits for three finished parts.
fn start(folder: &Folder, output: &str, more: &str) -> Running {
    let arguments = format!("{JOB} --threads 1 -o {output} {more}");
    let mut running = Running::start_into(folder, &arguments, "/dev/null", "stderr");
    wait_for("three parts", || {
        assert!(running.goes_on(), "it ended: {}", folder.text("stderr"));
        parts(folder, output).len() >= 3
    });
    running
}

/// Kills an inference when some parts are finished; returns their names.
fn kill_in_the_middle(folder: &Folder, output: &str) -> Vec<String> {
    drop(start(folder, output, ""));
    assert!(!folder.path(output).exists());
    let kept = parts(folder, output);
    assert!((3..N_DOCS / 500).contains(&kept.len()), "{kept:?}");
    kept
}

#[test]
fn resumed_is_undisturbed_in_all_formats() {
    let folder = folder_with_tiny();
    for extension in EXTENSIONS {
        let whole = folder.result(&format!("{JOB} -o whole.{extension}"));
        let output = format!("out.{extension}");
        let kept = kill_in_the_middle(&folder, &output);
        folder.fails(&format!("{JOB} -o {output}"), 2, &["out.", ".parts", "resume", "remove"]);
        let resumed = folder.result(&format!("{JOB} -o {output} --resume --threads 3"));
        assert!(folder.bytes(&output) == folder.bytes(&format!("whole.{extension}")), "{extension}");
        assert_eq!((&resumed["docs"], &resumed["elbo_mean"]), (&whole["docs"], &whole["elbo_mean"]));
        assert_eq!(resumed["resumed_docs"], 500 * kept.len());
        assert_eq!(whole["resumed_docs"], 0);
        assert!(!folder.path(&format!("{output}.parts")).exists());
    }
    let mut expected: Vec<String> = EXTENSIONS.map(|e| [format!("out.{e}"), format!("whole.{e}")]).concat();
    expected.extend(["stderr".into(), "tiny".into()]);
    for name in ["topics.txt", "ids.txt"] {
        assert!(
            folder.bytes(&format!("out.npz.{name}")) == folder.bytes(&format!("whole.npz.{name}")),
            "{name}"
        );
        expected.extend([format!("out.npz.{name}"), format!("whole.npz.{name}")]);
    }
    expected.sort();
    assert_eq!(folder.names_in("."), expected, "nothing is left behind");
}

#[test]
fn parts_of_something_else_are_refused_by_name() {
    let folder = folder_with_tiny();
    folder.run("synth --preset tiny --docs 20000 --seed 1 -o other");
    let kept = kill_in_the_middle(&folder, "out.tsv");
    for (command, what) in [
        (JOB.replace("tiny/network", "other/network"), "model was"),
        (JOB.replace("tiny/corpus", "other/corpus"), "corpus was"),
        (JOB.replace("--paper-estep", "--paper-estep=10,10,9"), "r_iterations was 10 and is 9"),
        (format!("{JOB} --threshold 0.25"), "threshold was 0.01 and is 0.25"),
        (format!("{JOB} --log-odds"), "log_odds was none and is true"),
        (format!("{JOB} --bound local"), "bound was \"tail\" and is \"local\""),
    ] {
        folder.fails(&format!("{command} -o out.tsv --resume"), 2, &["out.tsv.parts", what, "remove"]);
    }
    assert_eq!(parts(&folder, "out.tsv"), kept, "refusing costs nothing");
    std::fs::remove_file(folder.path("out.tsv.parts/manifest")).unwrap();
    folder.fails(&format!("{JOB} -o out.tsv --resume"), 2, &["manifest", "missing", "remove"]);
    folder.write("out.tsv.parts/manifest", "not sealed");
    folder.fails(&format!("{JOB} -o out.tsv --resume"), 2, &["manifest", "remove"]);
    std::fs::remove_dir_all(folder.path("out.tsv.parts")).unwrap();
    folder.run(&format!("{JOB} -o out.tsv --resume"));
}

#[test]
fn damaged_and_missing_parts_are_computed_again() {
    let folder = folder_with_tiny();
    folder.run(&format!("{JOB} -o whole.jsonl"));
    let kept = kill_in_the_middle(&folder, "out.jsonl");
    let path = |at: usize| folder.path(&format!("out.jsonl.parts/{}", kept[at]));
    let mut bytes = std::fs::read(path(1)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(path(1), bytes).unwrap();
    let message = text(&folder.run(&format!("{JOB} -o out.jsonl --resume")).stderr);
    assert!(
        message.contains(&format!("{}: damaged", kept[1])) && message.contains("computed again"),
        "{message}"
    );
    assert!(!message.contains(&kept[0]), "{message}");
    assert!(folder.bytes("out.jsonl") == folder.bytes("whole.jsonl"));

    let kept = kill_in_the_middle(&folder, "gap.jsonl");
    std::fs::remove_file(folder.path(&format!("gap.jsonl.parts/{}", kept[0]))).unwrap();
    let resumed = folder.result(&format!("{JOB} -o gap.jsonl --resume"));
    assert_eq!(resumed["resumed_docs"], 500 * (kept.len() - 1));
    assert!(folder.bytes("gap.jsonl") == folder.bytes("whole.jsonl"));
}

#[test]
fn two_processes_on_one_output_are_one_too_many() {
    let folder = folder_with_tiny();
    let running = start(&folder, "out.tsv", "");
    let process = format!("process {}", running.id());
    for more in ["", "--resume"] {
        folder.fails(&format!("{JOB} -o out.tsv {more}"), 2, &["out.tsv.parts", &process, "works on"]);
    }
    drop(running);
    folder.run(&format!("{JOB} -o out.tsv --resume"));
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_parts_and_says_how_to_go_on() {
    let folder = folder_with_tiny();
    let mut running = start(&folder, "out.parquet", "");
    let status = running.stop("INT");
    let message = folder.text("stderr");
    assert_eq!(status, Some(130), "{message}");
    let n_parts = parts(&folder, "out.parquet").len();
    assert!(n_parts >= 3 && !folder.path("out.parquet").exists());
    assert!(message.contains(&format!("{n_parts} finished parts are in")), "{message}");
    assert!(message.contains("--resume") && message.ends_with("noisyor: interrupted\n"), "{message}");
    let names = folder.names_in("out.parquet.parts");
    assert!(!names.iter().any(|name| name.starts_with(".noisyor-")), "{names:?}");
}

#[test]
fn files_of_others_in_the_folder_stay() {
    let folder = folder_with_tiny();
    let mine: PathBuf = folder.path("out.tsv.parts/mine.txt");
    std::fs::create_dir(folder.path("out.tsv.parts")).unwrap();
    std::fs::write(&mine, "mine").unwrap();
    folder.run(&format!("{JOB} -o out.tsv"));
    assert_eq!(folder.names_in("out.tsv.parts"), ["mine.txt"]);
}
