//! `plan`: what it says, and its memory against that of real runs.

use crate::support::{Folder, PANTRY, gpu_is_tested, keys, number, pantry_docs};
use noisyor::corpus::{Item, align, read, split};
use noisyor::estep::device::{DeviceEStep, DeviceOptions};
use noisyor::estep::gpu::{GpuMachine, GpuOptions};
use noisyor::estep::{EStep, EStepOptions, Monitor, Params, Start, Work};
use noisyor::network::load_model;
use std::sync::Arc;

/// The pantry and its documents.
fn pantry() -> Folder {
    let folder = Folder::new();
    folder.write("pantry.tsv", PANTRY);
    folder.write("docs.jsonl", pantry_docs());
    folder
}

const QUICK: &str = "--seconds 0.2 --backend cpu --threads 2";

#[test]
fn every_figure_is_there() {
    let folder = pantry();
    let plan = folder.result(&format!("plan docs.jsonl --graph pantry.tsv --epochs 3 {QUICK}"));
    let fields = [
        "alternations_per_doc",
        "available_memory",
        "backend",
        "batches_per_epoch",
        "chunks_per_epoch",
        "device_memory",
        "distinct_docs",
        "docs",
        "edges",
        "edges_per_doc",
        "fits",
        "memory",
        "nodes_per_doc",
        "sample_docs",
        "steps",
        "test_docs",
        "threads",
        "time",
        "tokens",
        "topics",
        "train_docs",
        "valid_docs",
    ];
    assert_eq!(keys(&plan), fields);
    assert_eq!(
        (&plan["docs"], &plan["train_docs"], &plan["valid_docs"]),
        (&40.into(), &36.into(), &4.into())
    );
    assert_eq!((&plan["topics"], &plan["tokens"], &plan["edges"]), (&4.into(), &4.into(), &8.into()));
    let n_batches = plan["batches_per_epoch"].as_u64().unwrap();
    assert_eq!(plan["steps"].as_u64().unwrap(), 3 * n_batches);
    assert!(plan["device_memory"].is_null() && plan["chunks_per_epoch"].is_null());
    let memory = plan["memory"].as_object().unwrap();
    let parts = memory.iter().filter(|(name, _)| !["total", "checkpoint_file"].contains(&name.as_str()));
    let sum: f64 = parts.map(|(_, bytes)| number(bytes)).sum();
    assert!((sum - number(&memory["total"])).abs() < 10.0, "{memory:?}");
    for what in ["epoch", "evaluation", "total", "infer", "reading"] {
        assert!(number(&plan["time"][what]["wall"]) > 0.0, "{what}: {plan}");
    }
    let (epoch, total) = (number(&plan["time"]["epoch"]["wall"]), number(&plan["time"]["total"]["wall"]));
    assert!(total > 2.9 * epoch, "{plan}");
}

#[test]
fn the_table_has_a_verdict_and_a_split() {
    let folder = pantry();
    let table = folder.stdout(&format!("plan docs.jsonl --graph pantry.tsv {QUICK}"));
    for row in [
        "memory  ",
        "  corpus ",
        "an epoch ",
        "an evaluation ",
        "the run ",
        "infer, all documents ",
        "checkpoints",
    ] {
        assert!(table.contains(row), "'{row}' is not in\n{table}");
    }
    assert_eq!(table.contains("memory of this machine"), std::path::Path::new("/proc/meminfo").exists());
}

#[test]
fn steps_and_batches_count_as_in_training() {
    let folder = pantry();
    let plan =
        |options: &str| folder.result(&format!("plan docs.jsonl --graph pantry.tsv {QUICK} {options}"));
    let full = plan("--batch full --epochs 7 --test 0.2 --no-share");
    assert_eq!(
        (&full["steps"], &full["batches_per_epoch"], &full["test_docs"]),
        (&7.into(), &1.into(), &8.into())
    );
    assert_eq!(full["distinct_docs"], full["train_docs"]);
    let few = plan("--batch 6 --steps 4");
    assert_eq!((&few["steps"], &few["batches_per_epoch"]), (&4.into(), &6.into()));
    // Of 36 documents with eight texts many are the same, in one batch more than in six.
    let distinct = |plan: &serde_json::Value| plan["distinct_docs"].as_u64().unwrap();
    assert!(distinct(&plan("--batch full")) < distinct(&few) && distinct(&few) < 36);
    assert_eq!(plan("--steps 0")["steps"], 0);
}

#[test]
fn what_cannot_be_planned_is_refused_with_a_remedy() {
    let folder = pantry();
    folder.write("empty.jsonl", "");
    folder.fails("plan docs.jsonl", 2, &["--graph", "noisyor graph"]);
    folder.fails(&format!("plan empty.jsonl --graph pantry.tsv {QUICK}"), 2, &["no documents"]);
    folder.fails("plan docs.jsonl --graph pantry.tsv --refine --backend cpu", 2, &["--refine"]);
    folder.fails("plan docs.jsonl --graph pantry.tsv --seconds 0", 2, &["--seconds", "0"]);
    folder.fails("plan docs.jsonl --graph pantry.tsv --batch 0 --backend cpu", 2, &["batch"]);
    folder.fails("plan docs.jsonl --graph pantry.tsv --valid 1.5 --backend cpu", 2, &["1.5"]);
    folder.fails("plan docs.jsonl --graph nosuch.tsv --backend cpu", 3, &["nosuch.tsv"]);
    folder.fails("plan --graph pantry.tsv", 2, &["CORPUS"]);
}

#[test]
fn one_document_is_enough() {
    let folder = pantry();
    folder.write("one.jsonl", "{\"tokens\": [\"apple\"]}\n");
    let plan = folder.result(&format!("plan one.jsonl --graph pantry.tsv {QUICK}"));
    assert_eq!(
        (&plan["train_docs"], &plan["sample_docs"], &plan["valid_docs"]),
        (&1.into(), &1.into(), &0.into())
    );
}

/// The peak of a run's resident memory, in bytes, as it says itself while it ends.
#[cfg(target_os = "linux")]
fn peak_of(folder: &Folder, arguments: &str) -> f64 {
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_noisyor"))
        .current_dir(folder.path(""))
        .args(arguments.split_whitespace())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the program starts");
    let status = format!("/proc/{}/status", program.id());
    let mut peak = 0.0f64;
    loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kb = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        peak = peak.max(kb.unwrap_or(0.0) * 1024.0);
        if let Some(ended) = program.try_wait().expect("the program ends") {
            assert!(ended.success(), "{arguments}");
            return peak;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn memory_is_within_a_quarter_of_the_peak() {
    for (preset, docs) in [("dblp", 2000), ("qmr", 4000)] {
        let folder = Folder::new();
        folder.run(&format!("synth --preset {preset} --docs {docs} -o made --quiet"));
        let run =
            "made/corpus.svm --graph made/network.safetensors --epochs 2 --backend cpu --threads 2 --quiet";
        let planned = folder.result(&format!("plan {run} --seconds 0.2"));
        let peak = peak_of(&folder, &format!("train {run} -o run"));
        let ratio = number(&planned["memory"]["total"]) / peak;
        assert!((0.75..1.25).contains(&ratio), "{preset}: {ratio} of {peak}, {}", planned["memory"]);
        let checkpoints = std::fs::read_dir(folder.path("run/checkpoint")).unwrap();
        let largest = checkpoints.map(|entry| entry.unwrap().metadata().unwrap().len()).max().unwrap();
        let ratio = number(&planned["memory"]["checkpoint_file"]) / largest as f64;
        assert!((0.75..1.25).contains(&ratio), "{preset}: {ratio} of {largest}");
    }
}

#[test]
fn device_memory_is_that_of_the_buffers() {
    if !gpu_is_tested() {
        return;
    }
    let folder = Folder::new();
    folder.run("synth --preset dblp --docs 3000 -o made --quiet");
    let run = "made/corpus.svm --graph made/network.safetensors --batch full --threads 2 --start plain --estep-max 1";
    let planned = folder.result(&format!("plan {run} --seconds 0.2 --backend gpu --quiet"));
    let with_residents =
        folder.result(&format!("plan {run} --seconds 0.2 --backend gpu --device-mb 2000 --quiet"));
    let network = load_model(&folder.path("made/network.safetensors")).unwrap();
    let monitor = Arc::new(Monitor::default());
    let corpus =
        read(&folder.path("made/corpus.svm"), &Default::default(), Some(&network.names.tokens), &monitor);
    let corpus = corpus.unwrap().0;
    let alignment = align(&corpus, &network.names.tokens);
    let docs = alignment.docs(&corpus);
    let parts = split(corpus.n_docs(), 0.1, 0.0, 0);
    let options = EStepOptions { start: Start::Plain, max_alternations: 1, ..EStepOptions::default() };
    let params = Params::derive(&network.graph, &network.weights, options.bound).unwrap();
    // Software keeps no packed documents of its own unless it is given memory.
    for (planned, resident_bytes) in [(planned, 0), (with_residents, 2000 << 20)] {
        let device = DeviceOptions { resident_bytes, ..DeviceOptions::default() };
        let mut estep = DeviceEStep::new(GpuMachine::open(GpuOptions::default()).unwrap(), device);
        for (part, gradients) in [(&parts.train, true), (&parts.valid, false)] {
            let items = Item::shared(&docs, part);
            let (graph, options, monitor) = (&network.graph, &options, &*monitor);
            let (params, kept_on) = (&params, None);
            let work = Work { graph, params, docs, items: &items, options, gradients, kept_on, monitor };
            estep.run(&work, None).unwrap();
        }
        let need = &planned["device_memory"];
        let (planned, used) = (number(&need["total"]), estep.machine().n_bytes() as f64);
        assert!((0.9..1.1).contains(&(planned / used)), "{need} planned, {used} used");
        assert_eq!(number(&need["resident"]) > 0.0, resident_bytes > 0, "{need}");
    }
}
