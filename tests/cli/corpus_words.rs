//! Text to tokens: which words make the vocabulary, under which names, and which are left out.

#![allow(clippy::unwrap_used)] // helpers of tests are tests too

use crate::corpus::{documents, made, names};
use crate::support::{Folder, PANTRY};
use serde_json::json;
use std::collections::{BTreeSet, HashMap};

#[test]
fn a_vocabulary_from_a_text_file_a_corpus_or_a_model() {
    let folder = Folder::new();
    folder.write("model.tsv", PANTRY);
    folder.run("model convert model.tsv model.json");
    folder.run("model convert model.tsv model.safetensors");
    let tokens: Vec<String> = serde_json::from_value(folder.json("model.json")["tokens"].clone()).unwrap();
    folder.write("vocab.txt", tokens.join("\n"));
    folder.write("vocab.jsonl", json!({"tokens": tokens}).to_string());
    folder.run("corpus vocab.jsonl -o vocab.corpus");
    folder.write("docs.txt", "Eat an apple, eat!\nstone\nPEAR pear Pear\n");
    for vocab in ["vocab.txt", "vocab.corpus", "model.json", "model.safetensors"] {
        let corpus = made(&folder, &format!("docs.txt --vocab {vocab}"));
        assert_eq!(names(&corpus), tokens, "{vocab}");
        assert_eq!(documents(&corpus), [&["apple", "eat"][..], &[], &["pear"]], "{vocab}");
        let message = folder.stderr(&format!("corpus docs.txt --vocab {vocab} -o out.corpus"));
        assert!(message.contains("lacks 1 of 7 occurrences of words (for example 'stone')"), "{message}");
        let result = folder.result(&format!("corpus docs.txt --vocab {vocab} -o out.corpus"));
        assert_eq!(
            (&result["unknown"], &result["empty_docs"], &result["tokens"]),
            (&json!(1), &json!(1), &json!(4))
        );
    }
    folder.write("numbers.svm", "0 1:1\n");
    folder.run("corpus numbers.svm -o numbers.corpus");
    folder.fails("corpus docs.txt --vocab numbers.corpus -o no.corpus", 2, &["numbers.corpus", "no names"]);
    folder.write("twice.txt", "a\nb\na\n");
    folder.fails("corpus docs.txt --vocab twice.txt -o no.corpus", 2, &["twice.txt:3", "line 1"]);
    folder.write("gap.txt", "a\n\nb\n");
    folder.fails("corpus docs.txt --vocab gap.txt -o no.corpus", 2, &["gap.txt:2", "empty line"]);
    folder.write("wide.svm", "0 5:1\n");
    folder.fails("corpus wide.svm --vocab vocab.txt -o no.corpus", 2, &["wide.svm", "'5:1'", "4 names"]);
}

#[test]
fn a_saved_vocabulary_makes_the_same_corpus() {
    let folder = Folder::new();
    // 'big bad' is a phrase that does not get into a small vocabulary: its words must not go with it.
    let line = |at: usize| match at % 8 {
        0..=2 => "new york calls\n",
        3 => "big bad wolf calls\n",
        4 => "bad\n",
        5 => "bad wolf\n",
        6 => "wolf big calls\n",
        _ => "calls\n",
    };
    folder.write("docs.txt", (0..80).map(line).collect::<String>());
    for options in
        ["", "--phrases=0.4 --max-vocab 5", "--phrases=0.4 --max-vocab 4", "--phrases", "--stop-words none"]
    {
        folder.run(&format!("corpus docs.txt {options} --save-vocab vocab.txt -o a.corpus"));
        folder.run("corpus docs.txt --vocab vocab.txt -o b.corpus");
        folder.run("corpus docs.txt --vocab a.corpus -o c.corpus");
        assert!(
            folder.bytes("a.corpus") == folder.bytes("b.corpus"),
            "{options}: {}",
            folder.text("vocab.txt")
        );
        assert!(folder.bytes("b.corpus") == folder.bytes("c.corpus"), "{options}");
    }
    let corpus = made(&folder, "docs.txt --phrases=0.4 --max-vocab 4");
    assert!(names(&corpus).contains(&"new york".to_owned()), "{:?}", names(&corpus));
}

/// Documents of some of forty words, `w1` the rarest.
fn random_docs(n_docs: usize) -> Vec<BTreeSet<String>> {
    let mut state = 7u64;
    let mut draw = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let document = |_| (1..40).filter(|&word| draw(60) < word).map(|word| format!("w{word}")).collect();
    (0..n_docs).map(document).collect()
}

#[test]
fn frequencies_choose_the_tokens() {
    let folder = Folder::new();
    let docs = random_docs(100);
    let text: String =
        docs.iter().map(|doc| Vec::from_iter(doc.iter().map(|s| s.as_str())).join(" ") + "\n").collect();
    folder.write("docs.txt", text);
    let lists: String = docs.iter().map(|doc| json!({"tokens": doc}).to_string() + "\n").collect();
    folder.write("docs.jsonl", lists);
    let mut df: HashMap<&str, usize> = HashMap::new();
    docs.iter().flatten().for_each(|word| *df.entry(word).or_default() += 1);
    let expected = |least: usize, most: usize, n: usize| {
        let mut kept: Vec<&str> =
            df.keys().copied().filter(|word| (least..=most).contains(&df[word])).collect();
        kept.sort_by_key(|word| (usize::MAX - df[word], *word));
        kept.truncate(n);
        kept
    };
    for (options, least, most, n) in [
        ("--min-df 7", 7, 100, 100),
        // A share is no more exact than its decimals: 0.07 times 100 is a little more than 7, 0.57 a little less than 57.
        ("--min-df 0.07", 7, 100, 100),
        ("--min-df 1 --max-df 57", 1, 57, 100),
        ("--min-df 1 --max-df 0.57", 1, 57, 100),
        ("--min-df 0.14 --max-df 0.58 --max-vocab 9", 14, 58, 9),
        ("--min-df 0.29 --max-df 0.56", 29, 56, 100),
        ("--min-df 1 --max-vocab 3", 1, 100, 3),
        ("--min-df 0 --max-df 1.0", 1, 100, 100),
    ] {
        for source in ["docs.txt", "docs.jsonl"] {
            let corpus = made(&folder, &format!("{source} {options}"));
            assert_eq!(names(&corpus), expected(least, most, n), "{source} {options}");
        }
    }
    assert!(df.values().any(|&n| n == 1), "{df:?}");
    assert_eq!(names(&made(&folder, "docs.txt")), expected(2, 100, 100));
    assert_eq!(names(&made(&folder, "docs.txt --max-vocab 99")), expected(2, 100, 100));
    // Lists are taken as they are but for what is asked.
    assert_eq!(made(&folder, "docs.jsonl").n_tokens(), df.len());
    assert_eq!(names(&made(&folder, "docs.jsonl --max-vocab 99")), expected(1, 100, 100));
    for (at, doc) in documents(&made(&folder, "docs.txt --min-df 1")).iter().enumerate() {
        assert!(doc.iter().eq(&docs[at]), "{at}");
    }
}

#[test]
fn stop_words_of_other_languages() {
    let folder = Folder::new();
    folder.write("docs.txt", "Der Hund und die Katze\nein Hund ist keine Katze\n");
    let found = |options: &str| names(&made(&folder, &format!("docs.txt --min-df 1 {options}")));
    for language in ["german", "German", "de", "deu"] {
        let mut words = found(&format!("--stop-words {language}"));
        words.sort();
        assert_eq!(words, ["hund", "katze"], "{language}");
    }
    let unknown = ["klingon: ", "no such file", "english, german, french"];
    folder.fails("corpus docs.txt --stop-words klingon -o out.corpus", 3, &unknown);
}

#[cfg(feature = "cjk")]
#[test]
fn words_without_spaces_are_the_same_in_a_corpus_and_under_a_model() {
    let folder = Folder::new();
    folder.write("docs.txt", "我喜欢机器学习\n机器学习和自然语言\n東京大学で機械学習\n");
    let words = names(&made(&folder, "docs.txt --min-df 1"));
    for word in ["喜欢", "机器", "学习", "自然", "東京", "大学"] {
        assert!(words.iter().any(|other| other == word), "{word}: {words:?}");
    }
    let leaks: String = words.iter().map(|word| format!("\t{word}\t1\nt\t{word}\t1\n")).collect();
    folder.write("model.tsv", format!("\tt\t1\n{leaks}"));
    let told = folder.stderr("eval model.tsv docs.txt --backend cpu");
    assert_eq!(told, "", "every word of the text is known");
}

#[test]
fn stop_words() {
    let folder = Folder::new();
    folder.write("docs.txt", "The cat and the dog don't\nthe CAT and the dog don\u{2019}t\n");
    let found = |options: &str| {
        let mut names = names(&made(&folder, &format!("docs.txt {options}")));
        names.sort();
        names
    };
    assert_eq!(found(""), ["cat", "dog"]);
    assert_eq!(found("--stop-words english"), ["cat", "dog"]);
    assert_eq!(found("--stop-words none"), ["and", "cat", "dog", "the"]);
    folder.write("stop.txt", "\u{feff}Dog and # the\nthe\n");
    assert_eq!(found("--stop-words stop.txt"), ["cat"]);
    assert_eq!(folder.result("corpus docs.txt --stop-words stop.txt -o out.corpus")["stop_words"], 8);
    // A vocabulary that has one wants it.
    folder.write("vocab.txt", "the\ncat\n");
    assert_eq!(documents(&made(&folder, "docs.txt --vocab vocab.txt")), [["cat", "the"], ["cat", "the"]]);
    // Lists are taken as they are.
    folder.write("list.jsonl", json!({"tokens": ["the", "The", "a", "cat"]}).to_string());
    assert_eq!(names(&made(&folder, "list.jsonl")), ["the", "The", "a", "cat"]);
}

#[test]
fn neighbours_that_belong_together_become_phrases() {
    let folder = Folder::new();
    let mut text = String::new();
    for at in 0..10 {
        text += &format!("flying to New York for {} days\n", ["two", "three"][at % 2]);
        text += "the cat\nthe dog\nthe bird\ncat\ncat food\nmy cat\n";
    }
    folder.write("docs.txt", text);
    let corpus = made(&folder, "docs.txt --phrases=0.9 --stop-words none");
    let has = |name: &str| names(&corpus).iter().any(|found| found == name);
    assert!(has("new york") && !has("new") && !has("york"), "{:?}", names(&corpus));
    assert!(has("the") && has("cat") && !has("the cat"), "{:?}", names(&corpus));
    assert!(documents(&corpus)[0].contains(&"new york".to_owned()));
    let result = folder.result("corpus docs.txt --phrases -o out.corpus");
    assert!(result["phrases"].as_u64() >= Some(1), "{result}");
    // Those that stand together always have a score of one, whatever rounding makes of it.
    let corpus = made(&folder, "docs.txt --phrases=1 --stop-words none");
    assert!(names(&corpus).contains(&"new york".to_owned()), "{:?}", names(&corpus));
}

#[test]
fn a_vocabulary_with_a_phrase_joins_it() {
    let folder = Folder::new();
    folder.write("vocab.txt", "new york\nyork\nnew\nstate\nnew york state\n");
    let texts = [
        ("new york", &["new york"][..]),
        ("NEW  York", &["new york"]),
        ("New-York", &["new york"]),
        ("new\tyork", &["new york"]),
        ("new\n york", &["new york"]),
        ("new\u{a0}york", &["new york"]),
        ("new, york", &["new", "york"]),
        ("new. York", &["new", "york"]),
        ("new/york", &["new", "york"]),
        ("new the york", &["new", "york"]),
        ("new stone york", &["new", "york"]),
        ("new x york", &["new", "york"]),
        ("york new", &["new", "york"]),
        ("new new york york", &["new", "new york", "york"]),
        ("new york state", &["new york", "state"]),
    ];
    let lines: String = texts.iter().map(|(text, _)| json!({"text": text}).to_string() + "\n").collect();
    folder.write("docs.jsonl", lines);
    let found = documents(&made(&folder, "docs.jsonl --vocab vocab.txt"));
    for ((text, expected), found) in texts.iter().zip(found) {
        assert_eq!(found, *expected, "{text:?}");
    }
    // Tokens of a list are no neighbours, nor are numbers.
    let apart = [["new", "york"]];
    folder.write("list.jsonl", json!({"tokens": ["new", "york"]}).to_string());
    assert_eq!(documents(&made(&folder, "list.jsonl --vocab vocab.txt")), apart);
    folder.write("numbers.svm", "0 3:1 2:1\n");
    assert_eq!(documents(&made(&folder, "numbers.svm --vocab vocab.txt")), apart);
    folder.run("corpus list.jsonl -o list.corpus");
    assert_eq!(documents(&made(&folder, "list.corpus --vocab vocab.txt")), apart);
    // A part of a phrase that is no token itself is as unknown as any word.
    folder.write("phrase.txt", "new york\ncity\n");
    folder.write("docs.txt", "new york city\nold york city\nnew city\n");
    let result = folder.result("corpus docs.txt --vocab phrase.txt -o out.corpus");
    assert_eq!(result["unknown"], 3, "{result}");
    folder.write("docs.txt", "new york\nyork york city\n");
    let message = folder.stderr("corpus docs.txt --vocab phrase.txt -o out.corpus");
    assert!(message.contains("lacks 2 of 4 occurrences of words (for example 'york')"), "{message}");
}

#[test]
fn every_script() {
    let folder = Folder::new();
    for (text, expected) in [
        ("Straße, STRASSE; Größe ÄPFEL äpfel", &["größe", "strasse", "straße", "äpfel"][..]),
        ("ΟΔΟΣ οδος Οδός", &["οδος", "οδός"]),
        ("МОСКВА Москва слово-слово", &["москва", "слово"]),
        ("中文", &["中文"]),
        ("日本語 カタカナ", &["カタカナ", "日本語"]),
        ("happy 😀👍🏽 face", &["face", "happy"]),
        ("Cafe\u{301} CAFE\u{301}", &["cafe\u{301}"]),
        ("don't 3.14 a b é 42nd x1", &["3.14", "42nd", "don't", "x1", "é"]),
        ("İstanbul", &["i\u{307}stanbul"]),
        ("مرحبا हिन्दी 한국어", &["مرحبا", "हिन्दी", "한국어"]),
    ] {
        folder.write("docs.txt", text);
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        let corpus = made(&folder, "docs.txt --min-df 1 --stop-words none");
        assert_eq!(documents(&corpus), [expected], "{text}");
    }
}
