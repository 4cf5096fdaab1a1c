//! Nothing of a training on a damaged corpus is kept, so that it cannot go on from there.

use crate::support::{Folder, text};

#[test]
fn what_was_computed_from_damaged_documents_is_no_checkpoint() {
    let folder = Folder::new();
    // Above 64 MB, so that it is verified beside the work; of few different documents, so that the work is short.
    let lines: String = (0..60_000)
        .map(|doc| (0..300).map(|token| format!(" {}:1", token + doc % 3 + 1)).collect::<String>())
        .map(|line| format!("0{line}\n"))
        .collect();
    folder.write("docs.svm", lines);
    assert!(folder.run("corpus docs.svm -o docs.corpus -q").status.success());
    let good = folder.bytes("docs.corpus");
    assert!(good.len() > 1 << 26, "{}", good.len());
    let mut bad = good.clone();
    let middle = bad.len() / 2;
    bad[middle] ^= 1;
    folder.write("docs.corpus", bad);
    folder.write("graph.tsv", (0..302).map(|token| format!("topic\t{token}\n")).collect::<String>());
    let train = "train docs.corpus --graph graph.tsv --epochs 3 --checkpoint-steps 1 --backend cpu -o run";
    folder.fails(train, 2, &["docs.corpus", "damaged"]);
    assert!(!folder.path("run").exists(), "{:?}", folder.names_in("run"));
    folder.write("docs.corpus", good);
    let output = folder.run(train);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(folder.names_in("run/checkpoint").len(), 2);
}
