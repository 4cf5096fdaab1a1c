//! How the columns and words of a corpus meet the tokens of a model, and what is said where they do not fit.

use crate::support::{Folder, PANTRY, pantry_docs};

/// A folder with the model `model.tsv`, whose tokens are eat, apple, pear and flour.
fn pantry() -> Folder {
    let folder = Folder::new();
    folder.write("model.tsv", PANTRY);
    folder.write("docs.jsonl", pantry_docs());
    folder
}

#[test]
fn columns_without_names_are_not_taken_for_named_tokens() {
    let folder = pantry();
    folder.write("docs.svm", "0 2:1 3:1\n0 4:1\n");
    folder.write("docs.csv", "0,1,1,0\n0,0,0,1\n");
    for file in ["docs.svm", "docs.csv"] {
        for command in [
            "infer model.tsv FILE -o out.tsv",
            "eval model.tsv FILE",
            "explain model.tsv --corpus FILE --doc 0",
            "report model.tsv --corpus FILE -o out.html",
            "plan FILE --graph model.tsv",
            "train FILE --graph model.tsv -o run",
            "train FILE --from model.tsv -o run",
        ] {
            let parts = ["no names for its 4 columns", "'eat'"];
            folder.fails(&command.replace("FILE", file), 2, &parts);
        }
        let by_number = folder.result(&format!("eval model.tsv {file} --by-number"));
        folder.write("names.txt", "eat\napple\npear\nflour\n");
        assert_eq!(folder.result(&format!("eval model.tsv {file} --vocab names.txt")), by_number);
        folder.write("named.jsonl", "{\"tokens\":[\"apple\",\"pear\"]}\n{\"tokens\":[\"flour\"]}\n");
        assert_eq!(folder.result("eval model.tsv named.jsonl"), by_number);
        folder.fails(&format!("eval model.tsv {file} --vocab names.txt --by-number"), 2, &["cannot be used"]);
    }
    assert!(!folder.path("run").exists());
}

#[test]
fn names_that_are_numbers_are_matched_by_number() {
    let folder = Folder::new();
    let leaks = "\ttopic\t1\n\t0\t1\n\t1\t1\n\t2\t1\n";
    folder.write("model.tsv", format!("{leaks}topic\t0\t1\ntopic\t1\t1\ntopic\t2\t1\n"));
    folder.write("docs.svm", "0 2:1 3:1\n");
    let told = folder.stderr("eval model.tsv docs.svm --backend cpu");
    assert_eq!(told, "");
    folder.write("docs.svm", "0 2:1\n");
    let told = folder.stderr("eval model.tsv docs.svm --backend cpu");
    assert_eq!(told, "warning: the corpus has 2 columns, the model 3 tokens; they are matched by number\n");
    let without_model = [
        "corpus docs.svm -o a.corpus",
        "graph docs.svm -o a.json",
        "check docs.svm",
        "train docs.svm -o run",
    ];
    for command in without_model {
        folder.fails(&format!("{command} --by-number"), 2, &["--by-number"]);
    }
}

#[test]
fn documents_of_which_the_model_knows_nothing_are_refused() {
    let folder = pantry();
    folder.write("case.jsonl", "{\"tokens\":[\"Stove\",\"Apple\"]}\n");
    let told = ["case.jsonl: ", "none of the 2", "'Stove'", "'Apple' is 'apple' there"];
    folder.fails("infer model.tsv case.jsonl -o out.tsv", 2, &told);
    folder.write("case.csv", "APPLE,Pear\n1,1\n");
    folder.fails("eval model.tsv case.csv", 2, &["case.csv: ", "'APPLE' is 'apple' there"]);
    folder.write("other.txt", "Schnee und Regen\n");
    folder.fails("eval model.tsv other.txt", 2, &["other.txt: ", "none of the 3", "'schnee'", "trained on"]);
    folder.write("empty.jsonl", "{\"tokens\":[]}\n{\"text\":\"the\"}\n");
    assert_eq!(folder.result("eval model.tsv empty.jsonl")["docs"], 2);
    folder.write("some.txt", "apple and snow\n");
    assert!(folder.stderr("eval model.tsv some.txt").contains("does not know 1 of 2"));
}

#[test]
fn columns_that_a_table_lacks_are_told() {
    let folder = pantry();
    folder.write("table.csv", "pear,apple\n1,yes\nNo,0\n");
    let told = folder.stderr("eval model.tsv table.csv --backend cpu");
    let expected = "warning: there is no column for 2 of the model's 4 tokens (for example 'eat'); no document has them: they count as absent; if nobody looked, give --unlisted unknown\n";
    assert_eq!(told, expected);
    folder.write("table.csv", "flour,eat,pear,apple\n1,1,0,0\n");
    assert_eq!(folder.stderr("eval model.tsv table.csv --backend cpu"), "");
}

#[test]
fn values_that_are_neither_0_nor_1_are_noted() {
    let folder = pantry();
    folder.write("table.csv", "eat,apple\n1,0\n0,63\n");
    let note = "values other than 0 and 1: column 2 ('apple'), such as 63 in line 3";
    assert!(folder.stdout("check table.csv").contains(&format!("note: {note}")));
    assert!(folder.stderr("corpus table.csv -o out.corpus").contains(&format!("warning: {note}")));
    assert!(folder.stderr("eval model.tsv table.csv").contains(&format!("warning: {note}")));
}

#[test]
fn check_tells_what_a_vocabulary_lacks_as_corpus_does() {
    let folder = pantry();
    folder.write("vocab.txt", "apple pie\npear\n");
    folder.write("docs.txt", "An apple pie and a pear\na stove, an apple\n");
    let lacks = "the vocabulary lacks 2 of 4 occurrences of words (for example 'stove'); they are left out";
    assert!(folder.stdout("check docs.txt --vocab vocab.txt").contains(&format!("note: {lacks}\n")));
    let told = folder.stderr("corpus docs.txt --vocab vocab.txt -o out.corpus");
    assert!(told.contains(&format!("warning: {lacks}\n")), "{told}");
    folder.run("corpus docs.txt --min-df 1 -o own.corpus");
    let of_native = folder.stderr("corpus own.corpus --vocab vocab.txt -o out.corpus");
    let told = of_native.lines().find_map(|line| line.strip_prefix("warning: ")).unwrap();
    assert!(folder.stdout("check own.corpus --vocab vocab.txt").contains(told), "{told}");
    assert!(!folder.stdout("check docs.txt").contains("lacks"));
}
