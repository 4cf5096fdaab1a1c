//! `bench`: what is measured, as JSON and as tables, and what is refused.

use crate::support::{Folder, gpu_is_tested, keys, list, number, parse, text, without_driver};
use noisyor::estep::cpu::InstructionSet;
use serde_json::Value;

const ROW: [&str; 16] = [
    "alternations_per_doc",
    "answers_agree",
    "backend",
    "cpu_s",
    "device",
    "difference",
    "docs_per_cpu_s",
    "docs_per_s",
    "edge_updates_per_s",
    "edges_per_doc",
    "elbo_difference",
    "elbo_mean",
    "on_device",
    "packed_before",
    "speedup",
    "wall_s",
];

/// Those that run by default.
const KERNELS: [&str; 13] = [
    "init_q",
    "flip_terms",
    "flip_gain",
    "flip_chain",
    "flip_best",
    "init_r",
    "q_update",
    "r_update",
    "node_bound",
    "doc_bound",
    "gradient",
    "edge_sums",
    "node_sums",
];

/// What must hold for every row of any run over `n_docs` documents.
fn check_row(row: &Value, n_docs: f64) {
    assert_eq!(keys(row), ROW);
    let wall = number(&row["wall_s"]["median"]);
    assert!(number(&row["wall_s"]["min"]) <= wall && wall <= number(&row["wall_s"]["max"]), "{row}");
    let close = |value: &Value, expected: f64| {
        assert!((number(value) / expected - 1.0).abs() < 1e-9, "{value} is not {expected} in {row}");
    };
    close(&row["docs_per_s"], n_docs / wall);
    close(&row["docs_per_cpu_s"], n_docs / number(&row["cpu_s"]));
    assert!(number(&row["alternations_per_doc"]) >= 1.0, "{row}");
    assert!(number(&row["edge_updates_per_s"]) > number(&row["docs_per_s"]), "{row}");
    assert!(number(&row["elbo_mean"]) < 0.0, "{row}");
    assert!(number(&row["difference"]["q_mean"]) <= 1e-4, "{row}");
    assert!(number(&row["difference"]["q_quantile_999"]) <= 1e-2, "{row}");
    assert!(number(&row["difference"]["sums"]) <= 1e-5, "{row}");
    assert_eq!(row["answers_agree"], true);
}

/// What must hold for a row of a device that ran kernels.
fn check_on_device(row: &Value, kernels: &[&str]) {
    let run = &row["on_device"];
    let wall = number(&row["wall_s"]["median"]);
    for part in ["pack_s", "starved_s", "upload_s", "submit_s", "kernel_s", "wait_s", "readback_s"] {
        // Two threads share the wall time, and clocks of different kinds do not tick alike.
        assert!((0.0..=1.1 * wall).contains(&number(&run[part])), "{part} in {row}");
    }
    assert!((number(&run["busy"]) - number(&run["kernel_s"]) / wall).abs() < 1e-9, "{row}");
    assert!(run["upload_bytes"].as_u64().expect("a whole number") > 1_000, "{row}");
    assert!(run["readback_bytes"].as_u64().expect("a whole number") > 1_000, "{row}");
    let chunks = run["chunks"].as_u64().expect("a whole number");
    let packed_before = row["packed_before"].as_bool().expect("yes or no");
    assert!(chunks > 0);
    assert_eq!(run["chunks_cached"], if packed_before { chunks } else { 0 }, "{row}");
    assert_eq!(run["chunks_resident"], run["chunks_cached"], "{row}");
    assert_eq!(number(&run["pack_s"]) == 0.0, packed_before, "{row}");
    let names: Vec<&Value> = list(&run["kernels"]).iter().map(|kernel| &kernel["name"]).collect();
    assert_eq!(names, kernels, "{row}");
    assert!(
        list(&run["kernels"]).iter().all(|kernel| kernel["dispatches"].as_u64().expect("a whole number") > 0),
        "{row}"
    );
    // One chunk: nothing overlaps.
    let n_dispatches: f64 = list(&run["kernels"]).iter().map(|kernel| number(&kernel["dispatches"])).sum();
    assert_eq!(number(&run["steps"]), n_dispatches, "{row}");
    match run["kernel_times"].as_str().expect("a text") {
        "device" => {
            let sum: f64 = list(&run["kernels"]).iter().map(|kernel| number(&kernel["seconds"])).sum();
            assert!((number(&run["kernel_s"]) - sum).abs() < 1e-9 && sum > 0.0, "{row}");
        }
        "wall" => assert_eq!(run["kernel_s"], run["wait_s"], "{row}"),
        other => panic!("{other}"),
    }
}

/// Rows as (backend, packed before).
fn rows(result: &Value) -> Vec<(&str, bool)> {
    list(&result["rows"])
        .iter()
        .map(|row| {
            (row["backend"].as_str().expect("a text"), row["packed_before"].as_bool().expect("yes or no"))
        })
        .collect()
}

fn check_speedups(result: &Value) {
    let first = &result["rows"][0];
    for row in list(&result["rows"]) {
        for (speedup, rate) in [("wall", "docs_per_s"), ("cpu", "docs_per_cpu_s")] {
            let expected = number(&row[rate]) / number(&first[rate]);
            assert!((number(&row["speedup"][speedup]) / expected - 1.0).abs() < 1e-9, "{row}");
        }
        let difference = number(&row["elbo_mean"]) - number(&first["elbo_mean"]);
        assert!((number(&row["elbo_difference"]) - difference).abs() < 1e-9, "{row}");
    }
    assert_eq!(result["answers_agree"], true);
}

#[test]
fn the_sample_on_cpu_and_twins_as_json() {
    let folder = Folder::new();
    let result = folder.result("bench --docs 300 --backend cpu,twins --repeat 2 -q");
    assert_eq!(result["input"], "sample");
    assert_eq!((&result["docs"], &result["repeat"]), (&300.into(), &2.into()));
    assert_eq!(
        (&result["topics"], &result["tokens"], &result["edges"]),
        (&84.into(), &635.into(), &890.into())
    );
    assert_eq!((&result["bound"], &result["gradients"]), (&"tail".into(), &true.into()));
    assert_eq!(result["estep"]["max_alternations"], 100);
    assert_eq!(rows(&result), [("cpu", false), ("twins", false), ("twins", true)]);
    list(&result["rows"]).iter().for_each(|row| check_row(row, 300.0));
    assert_eq!(result["rows"][0]["on_device"], Value::Null);
    let cpu = result["rows"][0]["device"].as_str().unwrap();
    assert!(cpu.ends_with(&format!(", {}", InstructionSet::widest().name())), "{cpu}");
    list(&result["rows"])[1..].iter().for_each(|row| check_on_device(row, &KERNELS));
    assert_eq!(result["rows"][1]["on_device"]["kernel_times"], "device");
    check_speedups(&result);
}

#[test]
fn the_gpu_beside_the_cpu() {
    if !gpu_is_tested() {
        return;
    }
    let folder = Folder::new();
    let result = folder.result("bench --docs 300 --backend cpu,gpu --repeat 1 --route flat");
    assert_eq!(rows(&result), [("cpu", false), ("gpu", false), ("gpu", true)]);
    list(&result["rows"]).iter().for_each(|row| check_row(row, 300.0));
    list(&result["rows"])[1..].iter().for_each(|row| check_on_device(row, &KERNELS));
    check_speedups(&result);
    assert_eq!(rows(&folder.result("bench --docs 20 --repeat 1")), rows(&result), "the default");
    // What is on the device is not uploaded again, unless there is no memory for it.
    let uploaded = |result: &Value| {
        [1, 2].map(|row| result["rows"][row]["on_device"]["upload_bytes"].as_u64().expect("a whole number"))
    };
    let little = folder.result("bench --docs 300 --backend cpu,gpu --repeat 1 --device-mb 2 --route flat");
    let (plenty, little_up) = (uploaded(&result), uploaded(&little));
    assert!(plenty[0] == little_up[0] && plenty[1] < plenty[0] && little_up[1] == little_up[0], "{little}");
    assert_eq!(little["rows"][2]["on_device"]["chunks_resident"], 0);
    // Ways through the kernels: one that is given, one that is measured, and one of documents too few to measure.
    let route = |options: &str| {
        let result = folder.result(&format!("bench --backend gpu --repeat 1 --no-gradients {options}"));
        let run = &result["rows"][0]["on_device"];
        let kernels: Vec<&str> = list(&run["kernels"]).iter().filter_map(|k| k["name"].as_str()).collect();
        (run["route"].as_str().map(str::to_owned), kernels.contains(&"alternate"))
    };
    assert_eq!(route("--docs 20 --route 16kb-bins"), (Some("16 KB bins".to_owned()), true));
    assert_eq!(route("--docs 20"), (None, false));
    assert!(route("--docs 300").0.is_some());
    folder.fails("bench --docs 20 --backend cpu --route flat", 2, &["--route", "gpu in --backend"]);
    let device = result["rows"][1]["device"].as_str().unwrap();
    let first = &folder.result("devices")["devices"][0];
    assert!(device.contains(first["name"].as_str().unwrap()), "{device} is not {first}");
    assert_eq!(device.ends_with(", software"), first["kind"] == "software", "{device} is not {first}");
    folder.fails("bench --docs 20 --device nosuchcard", 4, &["nosuchcard", "0: "]);
}

/// On software, where every figure is there, and the only finding is that they say nothing of a card.
#[test]
fn the_doctor_sets_kernels_against_copies() {
    if !gpu_is_tested() {
        return;
    }
    let folder = Folder::new();
    let options = "bench --docs 300 --backend gpu --repeat 1 --device-mb 64 --route stream --doctor";
    let result = folder.result(options);
    let doctor = &result["doctor"];
    assert_eq!(keys(doctor), ["copy_bytes_per_s", "is_hardware", "rows"]);
    let copies = number(&doctor["copy_bytes_per_s"]);
    assert!(copies > 1e8, "{doctor}");
    assert_eq!(list(&doctor["rows"]).len(), 2);
    for (diagnosis, row) in list(&doctor["rows"]).iter().zip(list(&result["rows"])) {
        let run = &row["on_device"];
        assert_eq!(diagnosis["packed_before"], row["packed_before"]);
        assert!(number(&run["units"]["searched"]) > number(&run["units"]["edges"]), "{run}");
        let edges = number(&row["edges_per_doc"]) * 300.0;
        assert!((number(&run["units"]["edges"]) - edges).abs() < 0.5, "{row}");
        assert_eq!(list(&diagnosis["kernels"]).len(), KERNELS.len());
        for (figure, kernel) in list(&diagnosis["kernels"]).iter().zip(list(&run["kernels"])) {
            assert_eq!((&figure["name"], &figure["dispatches"]), (&kernel["name"], &kernel["dispatches"]));
            assert_eq!(figure["seconds"], kernel["seconds"]);
            assert!(number(&figure["modelled_bytes"]) > 0.0, "{figure}");
            if run["kernel_times"] == "device" && number(&figure["seconds"]) > 0.0 {
                let rate = number(&figure["modelled_bytes"]) / number(&figure["seconds"]);
                assert!((number(&figure["bytes_per_s"]) / rate - 1.0).abs() < 1e-9, "{figure}");
                assert!((number(&figure["share_of_copy"]) * copies / rate - 1.0).abs() < 1e-9, "{figure}");
            }
        }
        if doctor["is_hardware"] == false {
            assert_eq!(diagnosis["findings"][0]["cause"], "software");
            assert_eq!(list(&diagnosis["findings"]).len(), 1);
            let remedy = diagnosis["findings"][0]["remedy"].as_str().expect("a text");
            assert!(remedy.ends_with("choose a card with --device"), "{remedy}");
        }
    }
    let table = text(&folder.run(options).stdout);
    assert!(table.lines().all(|line| line.chars().count() <= 110), "{table}");
    let (_, said) = table.split_once("\ndoctor: copies on the device read and write ").expect("the doctor");
    for part in ["modelled MB", "\nr_update ", "first run: ", "packed before: "] {
        assert!(said.contains(part), "'{part}' is not in\n{said}");
    }
}

#[test]
fn without_gradients_their_kernels_do_not_run() {
    let result =
        Folder::new().result("bench --docs 50 --backend twins --repeat 1 --no-gradients --bound local");
    assert_eq!((&result["bound"], &result["gradients"]), (&"local".into(), &false.into()));
    check_on_device(&result["rows"][0], &KERNELS[..10]);
}

#[test]
fn tables_hold_what_was_measured() {
    let output = Folder::new().run("bench --docs 300 --backend cpu,twins");
    let table = text(&output.stdout);
    assert!(table.lines().all(|line| line.chars().count() <= 110), "{table}");
    for part in [
        "300 documents of sample: 84 topics, 635 tokens, 890 edges",
        "with gradient sums",
        "bound (tail)",
        "packs documents while it runs",
        "twins: 1 thread",
    ] {
        assert!(table.contains(part), "'{part}' is not in\n{table}");
    }
    // How many tables a name begins a line of: rates, answers, and for devices where the time went.
    let lines = |begin: &str| table.lines().filter(|line| line.starts_with(begin)).count();
    assert_eq!((lines("cpu  "), lines("twins  "), lines("twins, resident  ")), (2, 3, 3), "{table}");
    for kernel in KERNELS {
        assert_eq!(lines(&format!("{kernel} ")), 1, "{table}");
    }
    assert_eq!(lines("steps  "), 1, "{table}");
    assert!(!table.contains("answers differ"), "{table}");
    let expected = "warming up cpu\nwarming up twins\nrun 1 of 3: cpu\nrun 1 of 3: twins\nrun 2 of 3: cpu\n";
    assert!(text(&output.stderr).starts_with(expected), "{}", text(&output.stderr));
}

#[test]
fn quiet_says_nothing_but_the_result() {
    let output = Folder::new().run("bench --docs 20 --backend cpu --preset tiny -q");
    assert_eq!(text(&output.stderr), "");
    assert!(text(&output.stdout).contains("20 documents of preset tiny: 16 topics, 60 tokens, 160 edges"));
}

#[test]
fn presets_and_corpora() {
    let folder = Folder::new();
    let tiny = |seed: &str| {
        folder.result(&format!("bench --preset tiny --docs 200 --backend cpu --repeat 1 {seed}"))
    };
    let elbo = |result: &Value| number(&result["rows"][0]["elbo_mean"]);
    assert_eq!(elbo(&tiny("")), elbo(&tiny("--seed 0")));
    assert_ne!(elbo(&tiny("")), elbo(&tiny("--seed 1")));

    folder.run("synth --preset tiny --docs 200 -o out -q");
    let model = "--model out/network.safetensors out/corpus.svm --backend cpu --repeat 1";
    let all = folder.result(&format!("bench {model}"));
    assert_eq!((&all["input"], &all["docs"]), (&"out/corpus.svm".into(), &200.into()));
    assert_eq!(elbo(&all), elbo(&tiny("")), "the same documents");
    let eval = folder.result("eval out/network.safetensors out/corpus.svm --backend cpu");
    assert!((number(&eval["elbo_mean"]) - elbo(&all)).abs() < 1e-9);
    assert_eq!(folder.result(&format!("bench {model} --docs 7"))["docs"], 7);
    assert_eq!(folder.result(&format!("bench {model} --docs 7000"))["docs"], 200);
}

#[test]
fn nonsense_is_refused_with_a_remedy() {
    let folder = Folder::new();
    folder.run("synth --preset tiny --docs 3 -o out -q");
    folder.write("empty.svm", "");
    for (options, parts) in [
        ("--backend tpu", &["tpu", "cpu, gpu, twins"][..]),
        ("--backend cpu,", &["cpu, gpu, twins"]),
        ("--backend cpu,cpu", &["--backend", "twice"]),
        ("--backend cpu --device 0", &["--device 0", "gpu"]),
        ("--backend twins --device-mb 9", &["--device-mb 9", "gpu"]),
        ("--backend cpu,twins --doctor", &["--doctor", "add gpu"]),
        ("--preset huge", &["huge", "tiny, qmr, dblp, yelp"]),
        ("out/corpus.svm", &["--model"]),
        ("--model out/network.safetensors", &["CORPUS"]),
        ("--model out/network.safetensors --preset tiny", &["--preset", "--model"]),
        ("--model out/network.safetensors empty.svm --backend cpu", &["no documents"]),
        ("--docs 0 --backend cpu", &["no documents"]),
        ("--repeat 0 --backend cpu", &["--repeat", "at least 1", "0"]),
        ("--seed 1", &["--preset"]),
        ("--format jsonl --backend cpu", &["--format", "corpus"]),
        ("--estep-max 0 --backend cpu", &["at least one alternation"]),
    ] {
        folder.fails(&format!("bench {options}"), 2, parts);
    }
    folder.fails("bench --model nowhere.json out/corpus.svm --backend cpu", 3, &["nowhere.json"]);
}

#[test]
fn without_an_adapter_the_gpu_is_left_out_unless_it_was_asked_for() {
    let folder = Folder::new();
    let output = without_driver(&mut folder.noisyor("bench --docs 20 --repeat 1 --json")).output().unwrap();
    let message = text(&output.stderr);
    assert!(output.status.success(), "{message}");
    let first = message.lines().next().unwrap();
    assert!(first.contains("gpu is left out") && first.contains("mesa-vulkan-drivers"), "{message}");
    assert_eq!(rows(&parse(&text(&output.stdout))), [("cpu", false)]);
    for wanted in ["--backend cpu,gpu", "--device 0", "--doctor"] {
        let output =
            without_driver(&mut folder.noisyor(&format!("bench --docs 20 {wanted}"))).output().unwrap();
        assert_eq!(output.status.code(), Some(4), "{wanted}");
        assert!(text(&output.stderr).contains("mesa-vulkan-drivers"), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout), "");
    }
}
