//! `report`: the page is whole, small, safe and the same every time, and its figures are those of `infer` and `eval`.

use crate::support::{Folder, PANTRY, list, number, pantry_docs, parse, text};
use flate2::read::DeflateDecoder;
use serde_json::{Value, json};
use std::fs;
use std::io::Read;

/// Names that must not come through as anything but text.
const ODD: &str = "</script><script>alert(1)</script>";

/// A run on the pantry: two thirds to train on, some held out, some for the test.
fn pantry_run() -> Folder {
    let folder = Folder::new();
    folder.write("model.tsv", PANTRY);
    folder.write("docs.jsonl", pantry_docs());
    folder.run("train docs.jsonl --graph model.tsv --init graph --epochs 3 --valid 0.2 --test 0.1 --backend cpu -o run");
    folder
}

/// What stands between two texts, the first time.
fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let begin = page.find(from).unwrap_or_else(|| panic!("no {from}")) + from.len();
    &page[begin..begin + page[begin..].find(to).expect("an end")]
}

fn summary(page: &str) -> Value {
    parse(between(page, "id=\"summary\">", "</script>"))
}

/// A section's bytes, read as the page reads them.
struct Section {
    bytes: Vec<u8>,
    at: usize,
}

impl Section {
    fn of(page: &str, name: &str) -> Self {
        let text = between(page, &format!("id=\"data-{name}\">"), "</script>");
        let digit = |c: u8| {
            let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
            digits.iter().position(|&digit| digit == c).expect("base 64") as u32
        };
        let mut packed = Vec::new();
        for group in text.trim_end_matches('=').as_bytes().chunks(4) {
            let bits = group.iter().fold(0, |bits, &c| bits << 6 | digit(c)) << (6 * (4 - group.len()));
            packed.extend(&bits.to_be_bytes()[1..group.len()]);
        }
        let mut bytes = Vec::new();
        DeflateDecoder::new(packed.as_slice()).read_to_end(&mut bytes).expect("deflate");
        Self { bytes, at: 0 }
    }

    fn number(&mut self) -> usize {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.bytes[self.at];
            self.at += 1;
            value |= usize::from(byte & 127) << shift;
            shift += 7;
            if byte < 128 {
                return value;
            }
        }
    }

    fn probability(&mut self) -> f64 {
        let code = u16::from_le_bytes([self.bytes[self.at], self.bytes[self.at + 1]]);
        self.at += 2;
        if code == 0 {
            0.0
        } else {
            2f64.powi(i32::from(code >> 11) - 31) * (1.0 + f64::from(code & 2047) / 2048.0)
        }
    }

    fn texts(&mut self) -> Vec<String> {
        let n = self.number();
        let lengths: Vec<usize> = (0..n).map(|_| self.number()).collect();
        let n_bytes = self.number();
        let all: Vec<u16> = text(&self.bytes[self.at..self.at + n_bytes]).encode_utf16().collect();
        self.at += n_bytes;
        let mut rest = all.as_slice();
        let mut take = |length: usize| {
            let (text, after) = rest.split_at(length);
            rest = after;
            String::from_utf16(text).expect("whole characters")
        };
        lengths.into_iter().map(&mut take).collect()
    }

    fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }
}

/// Mean q and number of documents with q of at least a half, of every topic.
fn uses(page: &str) -> Vec<(f64, usize)> {
    let mut graph = Section::of(page, "graph");
    let n = graph.number();
    (0..n).for_each(|_| {
        graph.number();
    });
    let means: Vec<f64> = (0..n).map(|_| graph.probability()).collect();
    (0..n).for_each(|_| {
        graph.probability();
    });
    means.into_iter().map(|mean| (mean, graph.number())).collect()
}

#[test]
fn prevalence_is_the_mean_q_of_infer_and_the_bounds_are_those_of_eval() {
    let folder = pantry_run();
    let result = folder.result("report run --backend cpu");
    let page = folder.text("run/report.html");
    assert_eq!((&result["topics"], &result["docs"]), (&json!(4), &json!(40)));
    assert_eq!(result["bytes"], page.len());
    folder.run("infer run/model.safetensors docs.jsonl -o q.jsonl --threshold 0 --backend cpu");
    let docs = folder.json_lines("q.jsonl");
    let names = Section::of(&page, "names").texts();
    for (name, (mean, n_on)) in names.iter().zip(uses(&page)) {
        let q: Vec<f64> = docs.iter().map(|doc| doc["topics"][name].as_f64().unwrap_or(0.0)).collect();
        let expected = q.iter().sum::<f64>() / 40.0;
        // Twelve binary digits are kept; infer writes q as f32.
        assert!((mean / expected - 1.0).abs() < 3e-4, "{name}: {mean}, by infer {expected}");
        assert_eq!(n_on, q.iter().filter(|&&q| q >= 0.5).count(), "{name}");
    }
    let about = &summary(&page)["docs"];
    let counts: Vec<u64> = list(&about["counts"]).iter().map(|n| n.as_u64().expect("a count")).collect();
    assert_eq!(counts, [28, 8, 4]);
    let bins = list(&about["bins"]);
    for part in 0..3 {
        let sum: f64 = bins.iter().map(|bin| number(&bin[part + 1])).sum();
        assert_eq!(sum as u64, counts[part], "part {part}");
    }
    let mean = (0..3).map(|part| number(&about["means"][part]) * counts[part] as f64).sum::<f64>() / 40.0;
    let eval = folder.result("eval run/model.safetensors docs.jsonl --backend cpu");
    assert!((mean - number(&eval["elbo_mean"])).abs() < 1e-9, "{mean} and {eval}");
}

#[test]
fn topics_list_their_strongest_documents_and_the_worst_ones_come_first() {
    let folder = pantry_run();
    folder.run("report run --backend cpu");
    folder.run("infer run/model.safetensors docs.jsonl -o q.jsonl --threshold 0 --backend cpu");
    let (page, docs) = (folder.text("run/report.html"), folder.json_lines("q.jsonl"));
    let mut section = Section::of(&page, "docs");
    for name in Section::of(&page, "names").texts() {
        let mut q: Vec<f64> = docs.iter().map(|doc| doc["topics"][&name].as_f64().unwrap_or(0.0)).collect();
        q.sort_unstable_by(|a, b| b.total_cmp(a));
        let n = section.number();
        let listed: Vec<usize> = (0..n).map(|_| (section.number(), section.number()).1).collect();
        let strongest: Vec<usize> = q.iter().take(n).map(|q| (q * 1000.0).round() as usize).collect();
        assert_eq!((listed, n), (strongest, 10), "{name}");
    }
    let nats =
        |code: usize| if code % 2 == 1 { -((code / 2 + 1) as f64) } else { (code / 2) as f64 } / 1000.0;
    let mut elbo: Vec<f64> = docs.iter().map(|doc| number(&doc["elbo"])).collect();
    elbo.sort_unstable_by(f64::total_cmp);
    for by in ["word", "document"] {
        assert_eq!(section.number(), 40, "all documents, by {by}");
        for at in 0..40 {
            section.number();
            let (_per_word, bound) = (section.number(), nats(section.number()));
            assert!(by == "word" || (bound - elbo[at]).abs() < 1e-3, "{at}: {bound}, by infer {}", elbo[at]);
            let costs: Vec<f64> =
                (0..section.number()).map(|_| nats((section.number(), section.number()).1)).collect();
            assert!(costs.is_sorted_by(|a, b| a >= b), "{costs:?}");
        }
    }
}

#[test]
fn sections_say_what_the_model_says() {
    let folder = Folder::new();
    folder.write("model.tsv", PANTRY);
    folder.run("report model.tsv -o page.html");
    let page = folder.text("page.html");
    let (mut words, mut graph) = (Section::of(&page, "words"), Section::of(&page, "graph"));
    let vocabulary = Section::of(&page, "vocabulary").texts();
    let topics = Section::of(&page, "names").texts();
    let mut next = 0;
    let mut read = Vec::new();
    for topic in &topics {
        let (total, kept) = (words.number(), words.number());
        assert_eq!(total, kept);
        for _ in 0..kept {
            let distance = words.number();
            next += usize::from(distance == 0);
            let word = if distance == 0 { next - 1 } else { next - distance };
            read.push((topic.as_str(), vocabulary[word].as_str(), words.number()));
        }
    }
    assert!(words.is_at_end());
    let of = |weight: f64| ((1.0 - (-weight).exp()) * 1000.0).round() as usize;
    let mut expected = vec![
        ("food", "eat", of(1.5)),
        ("farm", "apple", of(0.25)),
        ("fruit", "apple", of(2.0)),
        ("fruit", "pear", of(1.0)),
        ("bread", "flour", of(3.0)),
    ];
    expected.sort_unstable();
    read.sort_unstable();
    assert_eq!(read, expected);
    let n = graph.number();
    let levels: Vec<usize> = (0..n).map(|_| graph.number()).collect();
    (0..n).for_each(|_| assert_eq!(graph.probability(), 0.0));
    let leaks: Vec<f64> = (0..n).map(|_| graph.probability()).collect();
    (0..n).for_each(|_| assert_eq!(graph.number(), 0));
    for (at, topic) in topics.iter().enumerate() {
        let (level, leak) = match topic.as_str() {
            "food" => (2, 0.5f64),
            "farm" => (2, 0.4),
            _ => (1, 0.05),
        };
        assert_eq!(levels[at], level, "{topic}");
        assert!((leaks[at] / (1.0 - (-leak).exp()) - 1.0).abs() < 3e-4, "{topic}: {}", leaks[at]);
        let parents: Vec<(String, usize)> =
            (0..graph.number()).map(|_| (topics[graph.number()].clone(), graph.number())).collect();
        let expected = match topic.as_str() {
            "fruit" => vec![("food".to_owned(), of(1.0)), ("farm".to_owned(), of(0.5))],
            "bread" => vec![("food".to_owned(), of(2.0))],
            _ => vec![],
        };
        assert_eq!(parents, expected, "{topic}");
    }
    assert!(graph.is_at_end());
}

#[test]
fn the_same_bytes_whatever_the_threads_and_a_sample_by_seed() {
    let folder = pantry_run();
    let page = |options: &str| {
        folder.run(&format!("report run --backend cpu -o page.html {options}"));
        folder.text("page.html")
    };
    let all = page("");
    assert_eq!(all, page("--threads 1"));
    let some = page("--docs 10 --seed 1");
    assert_eq!(some, page("--docs 10 --seed 1"));
    assert_ne!(some, page("--docs 10 --seed 2"));
    let docs = &summary(&some)["docs"];
    assert_eq!((&docs["looked_at"], &docs["all"]), (&json!(10), &json!(40)));
    assert_eq!(list(&summary(&all)["metrics"]["step"]).len(), folder.json_lines("run/metrics.jsonl").len());
}

/// A network with names of all kinds, and documents with ids and labels of the same kind.
fn odd() -> Folder {
    let folder = Folder::new();
    let long = "x".repeat(5000);
    let model = json!({
        "format": "noisyor-model", "version": 1, "topics": [ODD, "&amp; \u{2028} \u{202e}'\"", long],
        "tokens": [ODD.to_owned() + "2", "{{summary}}"], "leak": [0.1, 0.1, 0.1, 0.01, 0.01],
        "edges": [[0, 1, 0.5], [0, 2, 0.5], [1, 3, 1.0], [2, 4, 1.0], [2, 3, 0.1]],
    });
    folder.write("model.json", model.to_string());
    let doc = json!({"id": ODD, "label": ODD, "tokens": [ODD.to_owned() + "2", "{{summary}}"]}).to_string();
    folder.write("docs.jsonl", format!("{doc}\n{}\n", json!({"tokens": []})));
    folder
}

#[test]
fn names_are_data_and_nothing_else() {
    let folder = odd();
    let mut command =
        folder.noisyor("report model.json --corpus docs.jsonl --backend cpu -o page.html --title");
    assert!(command.arg(ODD).output().expect("the program starts").status.success());
    let page = folder.text("page.html");
    assert!(!page.contains("<script>alert") && !page.contains('\u{2028}'));
    assert_eq!(summary(&page)["title"], ODD);
    let names = Section::of(&page, "names").texts();
    assert_eq!((names[0].as_str(), names[2].len()), (ODD, 5000));
    // Each script is the page's own: five sections, the summary, and the program, whose hash alone is allowed to run.
    assert_eq!(page.matches("<script").count(), 7);
    assert!(page.contains("default-src 'none'; script-src 'sha256-") && !page.contains("unsafe"));
    // The one address is the name of SVG, which nobody loads.
    assert_eq!(page.matches("://").count(), page.matches("http://www.w3.org/2000/svg").count());
}

#[test]
fn a_small_page_shows_less_and_says_so() {
    let folder = Folder::new();
    folder.run("synth --preset qmr --docs 500 -o qmr");
    let size = |mb: &str| {
        let options = format!(
            "report qmr/network.safetensors --corpus qmr/corpus.svm --backend cpu -o {mb}.html --max-mb {mb}"
        );
        let result = folder.result(&options);
        number(&result["bytes"]) as usize
    };
    let (large, small) = (size("5"), size("0.2"));
    assert!(large > 200_000 && small <= 200_000, "{large} and {small} bytes");
    let left_out =
        |mb: &str| summary(&folder.text(&format!("{mb}.html")))["left_out"].as_str().map(str::to_owned);
    assert_eq!(left_out("5").as_deref(), Some(""));
    assert!(left_out("0.2").expect("text").contains("edges to words"), "{:?}", left_out("0.2"));
    let stderr = folder.stderr("report qmr/network.safetensors -o bare.html --max-mb 0.01");
    assert!(stderr.contains("more than --max-mb 0.01"), "{stderr}");
    assert!(folder.text("bare.html").ends_with("</html>\n"));
}

#[test]
fn a_corpus_that_is_gone_or_moved() {
    let folder = pantry_run();
    fs::rename(folder.path("docs.jsonl"), folder.path("moved.jsonl")).expect("renamed");
    let stderr = folder.stderr("report run --backend cpu -o without.html");
    assert!(stderr.contains("docs.jsonl") && stderr.contains("--corpus"), "{stderr}");
    let without = summary(&folder.text("without.html"));
    assert_eq!(without["docs"], Value::Null);
    assert!(without["no_docs"].as_str().expect("text").contains("--corpus"));
    folder.run("report run --backend cpu --corpus moved.jsonl -o with.html");
    assert_eq!(summary(&folder.text("with.html"))["docs"]["looked_at"], 40);
    folder.write("other.jsonl", "{\"tokens\": [\"eat\"]}\n");
    folder.fails("report run --corpus other.jsonl -o no.html", 2, &["other.jsonl", "not the documents"]);
    assert!(!folder.path("no.html").exists());
}

#[test]
fn nothing_to_show_is_no_fault() {
    let folder = Folder::new();
    let empty =
        json!({"format": "noisyor-model", "version": 1, "topics": [], "tokens": [], "leak": [], "edges": []});
    folder.write("none.json", empty.to_string());
    folder.write("none.jsonl", "");
    folder.write("model.tsv", PANTRY);
    folder.write("docs.jsonl", pantry_docs());
    folder.run("report none.json -o none.html");
    folder.run("report none.json --corpus none.jsonl --backend cpu -o none.html");
    folder.run("report none.json --corpus docs.jsonl --backend cpu -o none.html");
    folder.run("report model.tsv --corpus none.jsonl --backend cpu -o empty.html");
    assert_eq!(summary(&folder.text("empty.html"))["docs"]["looked_at"], 0);
    folder.run("train docs.jsonl --graph model.tsv --init graph --steps 0 --valid 0 --backend cpu -o run");
    folder.run("report run --backend cpu");
    assert!(folder.text("run/report.html").contains("application/octet-stream"));
}

#[test]
fn a_run_with_clamped_topics_is_reported_by_its_bound() {
    let folder = pantry_run();
    folder.run("train docs.jsonl --graph model.tsv --init graph --epochs 1 --valid 0.2 --clamp 4 --backend cpu -o clamped");
    folder.run("report clamped --backend cpu");
    let page = folder.text("clamped/report.html");
    let about = summary(&page);
    assert_eq!(
        (&about["docs"]["bound"], &about["metrics"]["bound"]),
        (&json!("tail, clamp 4"), &json!("tail, clamp 4"))
    );
    let eval = folder.result("eval clamped/model.safetensors docs.jsonl --clamp 4 --backend cpu");
    let (means, counts) = (list(&about["docs"]["means"]), list(&about["docs"]["counts"]));
    let sum: f64 = means.iter().zip(counts).map(|(mean, n)| mean.as_f64().unwrap_or(0.0) * number(n)).sum();
    assert!((sum / 40.0 - number(&eval["elbo_mean"])).abs() < 1e-6, "{sum} {eval}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = pantry_run();
    folder.write("plain.txt", "x");
    fs::create_dir(folder.path("empty")).expect("a folder");
    for (arguments, status, parts) in [
        ("report nowhere", 3, &["nowhere"][..]),
        ("report empty", 2, &["empty", "config.json"]),
        ("report plain.txt", 2, &["plain.txt"]),
        ("report run --max-mb 0", 2, &["--max-mb"]),
        ("report run --docs 0", 2, &["--docs"]),
        ("report run --format jsonl", 2, &["--format"]),
        ("report model.tsv --format jsonl", 2, &["--corpus"]),
        ("report model.tsv -o model.tsv", 2, &["model.tsv", "replaced"]),
        ("report run -o run/model.safetensors", 2, &["replaced"]),
        ("report run -o docs.jsonl --backend cpu", 2, &["replaced"]),
        ("report run -o no/folder/page.html --backend cpu", 3, &["page.html"]),
    ] {
        folder.fails(arguments, status, parts);
    }
    folder.write("run/config.json", "{");
    folder.fails("report run", 2, &["config.json", "JSON"]);
}
