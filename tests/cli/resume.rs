//! Runs that were stopped and go on: the same bytes in the end, and no other corpus, graph or option than the run's.

use crate::running::{Running, wait_for};
use crate::support::{Folder, text};
use std::time::Duration;

/// The run of these tests, but for its folder: short, with a checkpoint at every step.
const RUN: &str = "train docs.svm --topics 6,2 --epochs 6 --patience 0 --checkpoint-steps 1 --backend cpu";

/// A folder with documents.
fn with_documents() -> Folder {
    let folder = Folder::new();
    assert!(folder.run("synth --preset tiny --docs 400 -o t -q").status.success());
    std::fs::copy(folder.path("t/corpus.svm"), folder.path("docs.svm")).expect("a copy");
    folder
}

/// The same, with the run from start to end in `whole`.
fn with_run() -> Folder {
    let folder = with_documents();
    let output = folder.run(&format!("{RUN} -o whole"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    folder
}

/// Metrics but for times.
fn untimed(folder: &Folder, run: &str) -> Vec<serde_json::Value> {
    let mut lines = folder.json_lines(&format!("{run}/metrics.jsonl"));
    for line in &mut lines {
        ["seconds", "docs_per_s", "edges_per_s"].iter().for_each(|name| line[*name] = 0.into());
    }
    lines
}

fn assert_same_run(folder: &Folder, run: &str) {
    let model = |run: &str| folder.bytes(&format!("{run}/model.safetensors"));
    assert!(model(run) == model("whole"), "{run}: another model");
    assert_eq!(untimed(folder, run), untimed(folder, "whole"), "{run}");
}

fn checkpoints(folder: &Folder, run: &str) -> Vec<String> {
    folder.names_in(&format!("{run}/checkpoint"))
}

/// Waits until a run's newest checkpoint has at least this number, or the run has ended.
fn wait_for_checkpoint(folder: &Folder, running: &mut Running, run: &str, least: u64) {
    let newest = || {
        let entries =
            std::fs::read_dir(folder.path(&format!("{run}/checkpoint"))).into_iter().flatten().flatten();
        let number = |name: std::ffi::OsString| name.to_str()?.strip_suffix(".ckpt")?.parse().ok();
        entries.filter_map(|entry| number(entry.file_name())).max().unwrap_or(0u64)
    };
    wait_for(&format!("checkpoint {least}"), || newest() >= least || !running.goes_on());
}

#[test]
fn a_run_killed_again_and_again_ends_with_the_same_bytes() {
    let folder = with_run();
    let (mut arguments, mut n_kills) = (format!("{RUN} -o killed --threads 1"), 0);
    for least in [1, 9, 20, 33, 47, 60] {
        let mut running = Running::start(&folder, &arguments);
        wait_for_checkpoint(&folder, &mut running, "killed", least);
        n_kills += u32::from(running.goes_on());
        drop(running);
        arguments = "train --resume killed".to_owned();
    }
    assert!(n_kills >= 3, "{n_kills}");
    let output = folder.run("train --resume killed --threads 2");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("resuming killed at step"), "{}", text(&output.stderr));
    assert_same_run(&folder, "killed");
    assert_eq!(checkpoints(&folder, "killed").len(), 2);
    // Once more changes nothing.
    let before = checkpoints(&folder, "killed");
    let output = folder.run("train --resume killed");
    assert!(output.status.success() && text(&output.stdout).contains("finished"));
    assert_same_run(&folder, "killed");
    assert_eq!(checkpoints(&folder, "killed"), before);
}

#[test]
fn a_signal_leaves_a_checkpoint_and_says_how_to_go_on() {
    let folder = with_run();
    for signal in ["INT", "TERM"] {
        let run = format!("run{signal}");
        // Hardly any checkpoints but the one that the signal causes.
        let arguments =
            format!("{RUN} -o {run}").replace("--checkpoint-steps 1", "--checkpoint-minutes 1000");
        let mut running = Running::start(&folder, &arguments);
        wait_for_checkpoint(&folder, &mut running, &run, 1);
        std::thread::sleep(Duration::from_millis(30));
        let status = running.stop(signal);
        assert!(matches!(status, Some(130 | 0)), "{status:?}");
        let output = folder.run(&format!("train --resume {run}"));
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_same_run(&folder, &run);
    }
}

#[test]
fn a_run_goes_on_with_more_epochs_to_what_it_would_have_been() {
    let folder = with_run();
    let short = RUN.replace("--epochs 6", "--epochs 2");
    assert!(folder.run(&format!("{short} -o grown")).status.success());
    let output = folder.run("train --resume grown --epochs 6");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(untimed(&folder, "grown"), untimed(&folder, "whole"));
    let adam = "train docs.svm --topics 6,2 --step adam --epochs 2 -o adam --backend cpu";
    assert!(folder.run(adam).status.success());
    folder.fails("train --resume adam --epochs 6", 2, &["rate of this run falls over all its epochs"]);
}

#[test]
fn a_run_takes_no_other_options_corpus_graph_or_company() {
    let folder = with_run();
    folder.fails("train --resume whole --lambda 2", 2, &["--lambda cannot change in a run that is resumed"]);
    folder.fails("train --resume whole --topics 5", 2, &["--topics cannot change"]);
    folder.fails("train --resume whole -o other", 2, &["cannot be used with"]);
    folder.fails("train --resume nowhere", 2, &["nowhere is no run folder"]);
    folder.fails("train docs.svm --topics 6,2 -o whole", 2, &["--resume whole"]);

    // The same number of documents and tokens, but others.
    let docs = folder.text("docs.svm");
    let metrics = folder.bytes("whole/metrics.jsonl");
    let mut lines: Vec<&str> = docs.lines().collect();
    lines.rotate_left(1);
    folder.write("docs.svm", lines.join("\n") + "\n");
    folder.fails(
        "train --resume whole",
        2,
        &["docs.svm: these are not the documents that the run was trained on"],
    );
    std::fs::remove_file(folder.path("docs.svm")).expect("a file");
    folder.fails("train --resume whole", 3, &["docs.svm"]);
    assert_eq!(folder.bytes("whole/metrics.jsonl"), metrics, "a refusal changes nothing");
    folder.write("moved.svm", docs);
    let output = folder.run("train moved.svm --resume whole");
    assert!(output.status.success(), "{}", text(&output.stderr));
    // From now on it is found there.
    assert!(folder.run("train --resume whole").status.success());

    let graph = folder.bytes("whole/graph.safetensors");
    std::fs::copy(folder.path("whole/model.safetensors"), folder.path("whole/graph.safetensors"))
        .expect("a copy");
    folder.fails("train --resume whole", 2, &["not the graph that the run started from"]);
    folder.write("whole/graph.safetensors", &graph[..graph.len() / 2]);
    folder.fails("train --resume whole", 2, &["graph.safetensors"]);
    folder.write("whole/graph.safetensors", graph);

    let lock = std::fs::File::options().write(true).open(folder.path("whole/.lock")).expect("the lock");
    lock.lock().expect("locked");
    folder.fails("train --resume whole", 2, &["works on this folder"]);
}

#[test]
fn damaged_checkpoints_are_named_and_the_one_before_is_used() {
    let folder = with_run();
    let names = checkpoints(&folder, "whole");
    let damage = |name: &str| {
        let name = format!("whole/checkpoint/{name}");
        let mut bytes = folder.bytes(&name);
        let at = bytes.len() / 3;
        bytes[at] ^= 16;
        folder.write(&name, bytes);
    };
    damage(&names[1]);
    let output = folder.run("train --resume whole");
    let message = text(&output.stderr);
    assert!(output.status.success(), "{message}");
    assert!(message.contains(&names[1]) && message.contains("checksum"), "{message}");
    checkpoints(&folder, "whole").iter().for_each(|name| damage(name));
    folder.fails("train --resume whole", 2, &["no checkpoint can be read"]);
}

#[test]
fn a_run_killed_before_its_first_checkpoint_begins_again() {
    let folder = with_run();
    assert!(folder.run(&format!("{RUN} -o early")).status.success());
    std::fs::remove_dir_all(folder.path("early/checkpoint")).expect("a folder");
    ["model.safetensors", "graph.safetensors"]
        .iter()
        .for_each(|name| std::fs::remove_file(folder.path(&format!("early/{name}"))).expect("a file"));
    let output = folder.run("train --resume early");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("had not begun to train"), "{}", text(&output.stderr));
    assert_same_run(&folder, "early");
    // Killed even before it wrote down what to do: the folder is free.
    std::fs::create_dir(folder.path("bare")).expect("a folder");
    std::fs::create_dir(folder.path("bare/checkpoint")).expect("a folder");
    [".lock", "metrics.jsonl", "checkpoint/.noisyor-half"]
        .iter()
        .for_each(|name| folder.write(&format!("bare/{name}"), ""));
    assert!(folder.run(&format!("{RUN} -o bare")).status.success());
    assert_same_run(&folder, "bare");
    // A folder of somebody else stays as it is.
    std::fs::create_dir(folder.path("other")).expect("a folder");
    folder.write("other/.noisyor-abc", "being written");
    folder.fails(&format!("{RUN} -o other"), 2, &["other is not empty"]);
    assert_eq!(folder.names_in("other"), [".noisyor-abc"]);
}

#[test]
fn updated_refined_and_adam_runs_go_on_to_the_same_bytes() {
    let folder = with_run();
    let kinds = [
        ("updated", "train docs.svm --from whole/model.safetensors --epochs 4"),
        ("refined", "train docs.svm --topics 6,2 --max-edges 60 --refine --epochs 2"),
        ("adam", "train docs.svm --graph t/network.safetensors --step adam --epochs 8"),
    ];
    for (name, arguments) in kinds {
        let arguments = format!("{arguments} --patience 0 --checkpoint-steps 1 --backend cpu");
        assert!(folder.run(&format!("{arguments} -o {name}")).status.success(), "{name}");
        let killed = format!("{name}-killed");
        let mut running = Running::start(&folder, &format!("{arguments} -o {killed}"));
        wait_for_checkpoint(&folder, &mut running, &killed, 8);
        drop(running);
        let output = folder.run(&format!("train --resume {killed}"));
        assert!(output.status.success(), "{name}: {}", text(&output.stderr));
        let model = |run: &str| folder.bytes(&format!("{run}/model.safetensors"));
        assert!(model(&killed) == model(name), "{name}: another model");
        assert_eq!(untimed(&folder, &killed), untimed(&folder, name), "{name}");
    }
}

#[test]
fn a_longer_run_is_written_down_at_once() {
    let folder = with_run();
    let mut running =
        Running::start(&folder, "train --resume whole --epochs 100000 --checkpoint-minutes 1000");
    let last: u64 = checkpoints(&folder, "whole")[1]
        .strip_suffix(".ckpt")
        .and_then(|n| n.parse().ok())
        .expect("a number");
    wait_for_checkpoint(&folder, &mut running, "whole", last + 1);
    drop(running);
    // What it was made to be is not forgotten with the process.
    let mut running = Running::start(&folder, "train --resume whole");
    std::thread::sleep(Duration::from_millis(500));
    assert!(running.goes_on(), "it has 100,000 epochs");
}
