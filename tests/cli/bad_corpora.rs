//! Corpora under the commands that need a model; what each format allows and refuses is in tests/bad_input.

use crate::support::{Folder, golden};

#[test]
fn every_command_names_the_line_and_the_fault_and_writes_nothing() {
    let folder = Folder::with_golden(&golden(0));
    folder.write("bad.svm", "0 1:1\n0 2:1 # fine\n0 0:1\n0 3:1\n");
    folder.write("bad.jsonl", "{\"tokens\":[\"w0\"]}\n\n{\"tokens\":[1]}\n");
    folder.write("cut.jsonl.gz", [0x1f, 0x8b, 8, 0]);
    let before = folder.names_in(".");
    for (file, parts) in [
        ("bad.svm", &["bad.svm:3: ", "'0:1'", "--zero-based"][..]),
        ("bad.jsonl", &["bad.jsonl:3: ", "expected a string"]),
        ("cut.jsonl.gz", &["cut.jsonl.gz:1: ", "damaged or cut short"]),
    ] {
        for command in [
            "eval model.json FILE",
            "infer model.json FILE -o out.tsv",
            "train FILE --graph model.json -o run",
        ] {
            folder.fails(&command.replace("FILE", file), 2, parts);
            assert_eq!(folder.names_in("."), before, "{command}");
        }
    }
}

#[test]
fn a_name_that_tells_no_format_needs_one_given() {
    let folder = Folder::with_golden(&golden(0));
    folder.write("docs", "0 1:1\n0 2:1\n");
    folder.fails("eval model.json docs", 2, &["docs", ".svm", ".jsonl", "--format"]);
    assert_eq!(folder.result("eval model.json docs --format svmlight")["docs"], 2);
    folder.fails("eval model.json docs.svm --format jsonl", 2, &["docs.svm:1"]);
    folder.fails("eval model.json docs.svm --format word", 2, &["word", "svmlight, jsonl"]);
}

#[test]
fn text_is_split_into_the_words_of_the_model() {
    let folder = Folder::with_golden(&golden(0));
    folder.write("tokens.jsonl", "{\"tokens\":[\"w0\",\"w1\"]}\n{\"tokens\":[]}\n");
    let expected = folder.result("eval model.json tokens.jsonl");
    folder.write("a.txt", "W0, w1!\n\n");
    folder.write("a.jsonl", "{\"text\":\"w1 w0\"}\n{\"text\":\"\"}\n");
    folder.write("a.tsv", "id\ttext\n1\tw0 w1\n2\t\n");
    folder.write("a.csv", "id,text\n1,\"w0, w1\"\n2,\n");
    for file in ["a.txt", "a.jsonl", "a.tsv", "a.csv"] {
        assert_eq!(folder.result(&format!("eval model.json {file}")), expected, "{file}");
    }
}
