//! `train --memory-mb`: the same model, in less memory; too little is refused with what is needed.

use crate::support::{Folder, text};

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
