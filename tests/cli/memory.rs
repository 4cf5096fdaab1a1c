//! `train --memory-mb`: the same model, in less memory; too little is refused with what is needed.

#[cfg(target_os = "linux")]
use crate::running::{Running, wait_for};
use crate::support::{Folder, gpu_is_tested, text};

#[test]
fn a_limit_changes_nothing_but_the_memory() {
    let folder = Folder::new();
    assert!(folder.run("synth --preset tiny --docs 3000 -o t -q").status.success());
    assert!(folder.run("corpus t/corpus.svm -o docs.corpus -q").status.success());
    let train = |name: &str, more: &str| {
        let output = folder.run(&format!(
            "train docs.corpus --graph t/network.safetensors --epochs 3 --backend cpu -o {name} {more}"
        ));
        assert!(output.status.success(), "{}", text(&output.stderr));
        folder.bytes(&format!("{name}/model.safetensors"))
    };
    assert!(train("free", "") == train("limited", "--memory-mb 500"));
}

/// Bytes of a mapped file that are in a process's memory.
#[cfg(target_os = "linux")]
fn resident(process: u32, file: &str) -> u64 {
    let maps = std::fs::read_to_string(format!("/proc/{process}/smaps")).unwrap_or_default();
    let mut of_file = maps.lines().skip_while(|line| !line.ends_with(file));
    let kb = of_file.find_map(|line| line.strip_prefix("Rss:")).unwrap_or("0 kB");
    1024 * kb.trim().trim_end_matches(" kB").parse::<u64>().expect("a number")
}

#[cfg(target_os = "linux")]
#[test]
fn of_a_mapped_corpus_little_stays_in_memory() {
    let folder = Folder::new();
    folder.run("synth --preset tiny --docs 150000 -o t -q");
    folder.run("corpus t/corpus.svm -o docs.corpus -q");
    let n_bytes = folder.bytes("docs.corpus").len() as u64;
    let most = |name: &str, more: &str| {
        let train = "train docs.corpus --graph t/network.safetensors --patience 0 --epochs 10000 --no-share --backend cpu";
        let running = Running::start(&folder, &format!("{train} -o {name} {more}"));
        let n_evaluations = || folder.lines_so_far(&format!("{name}/metrics.jsonl"));
        // A file as small as this one is verified as a whole when it is opened.
        wait_for("an evaluation", || n_evaluations() >= 1);
        let mut most = 0;
        wait_for("two more", || {
            most = resident(running.id(), "docs.corpus").max(most);
            n_evaluations() >= 3
        });
        most
    };
    let (free, limited) = (most("free", ""), most("limited", "--memory-mb 200"));
    assert!(free > n_bytes / 10 * 9, "{free} of {n_bytes} bytes: not a test of anything");
    assert!(limited < n_bytes / 2, "{limited} of {n_bytes} bytes");
}

#[test]
fn too_little_memory_is_refused_with_what_is_needed() {
    let folder = Folder::new();
    assert!(folder.run("synth --preset tiny --docs 300 -o t -q").status.success());
    let train = "train t/corpus.svm --graph t/network.safetensors --backend cpu -o run --memory-mb";
    folder.fails(
        &format!("{train} 2"),
        2,
        &["--memory-mb 2 is too little", "needs about", "lower --threads"],
    );
    folder.fails(&format!("{train} 0"), 2, &["0"]);
    assert!(!folder.path("run").exists());
}

#[test]
fn a_gpu_counts_with_its_driver_and_packed_documents() {
    if !gpu_is_tested() {
        return;
    }
    let folder = Folder::new();
    folder.run("synth --preset tiny --docs 300 -o t -q");
    let train = "train t/corpus.svm --graph t/network.safetensors --epochs 1 -o run";
    // Enough for the CPU; the driver alone takes more.
    folder.run(&format!("{train}-cpu --backend cpu --memory-mb 50"));
    let parts = ["--memory-mb 50 is too little", "for packed documents", "lower --cache-mb"];
    folder.fails(&format!("{train} --backend gpu --memory-mb 50"), 2, &parts);
    folder.run(&format!("{train} --backend gpu --memory-mb 500"));
}

#[test]
fn a_graph_is_learned_from_as_many_documents_as_there_is_room_for() {
    let folder = Folder::new();
    assert!(folder.run("synth --preset tiny --docs 60000 -o t -q").status.success());
    let train = |limit: &str| {
        let output = folder.run(&format!(
            "train t/corpus.svm --topics 8 --steps 0 --backend cpu --threads 1 -o run{limit} --memory-mb {limit}"
        ));
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    assert!(train("50").contains("of 54000 documents, as many as --memory-mb has room for"));
    assert!(!train("4000").contains("room for"));
}
