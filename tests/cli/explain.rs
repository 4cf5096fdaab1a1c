//! `explain`: one document as text, as JSON and as pictures.

use crate::support::{Folder, N_GOLDEN, PANTRY, golden, list, number, parse, text};
use serde_json::{Value, json};

/// Names that are no words.
const ODD: [&str; 6] =
    ["<script>alert(1)</script>", "a\"b\\c", "\u{1b}[2J\nline", "\u{202e}rtl", "שלום", "日本語"];

fn pantry() -> Folder {
    let folder = Folder::new();
    folder.write("model.tsv", PANTRY);
    folder
}

/// A topic of odd name over tokens of odd names.
fn odd() -> Folder {
    let folder = Folder::new();
    let long = "x".repeat(10_000);
    let names: Vec<&str> = ODD[1..].iter().copied().chain([long.as_str()]).collect();
    let edges: Vec<Value> = (1..=names.len()).map(|token| json!([0, token, 2.5])).collect();
    let leak: Vec<f64> = std::iter::once(0.3).chain(names.iter().map(|_| 0.01)).collect();
    let model = json!({
        "format": "noisyor-model", "version": 1, "topics": [ODD[0]], "tokens": names, "leak": leak, "edges": edges,
    });
    folder.write("model.json", model.to_string());
    let doc = json!({"id": "<b>", "tokens": names});
    folder.write("docs.jsonl", format!("{doc}\n"));
    folder
}

/// Runs `explain` with a text that may have spaces.
fn explain(folder: &Folder, text_of: &str, options: &str) -> String {
    let mut command = folder.noisyor("explain model.tsv");
    let output =
        command.args(["--text", text_of]).args(options.split_whitespace()).output().expect("it starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn text_tells_topics_words_and_what_is_off() {
    let said = explain(&pantry(), "The Apple, the pear and a quince", "");
    for part in ["2 words", "unknown words: quince", "stop words: the, and", "fruit", "apple", "pear", "nats"]
    {
        assert!(said.contains(part), "'{part}' is not in\n{said}");
    }
    let off = said.split_once("considered, but off").expect("topics that are off").1;
    // Neither is bread there, which has none of the words and is not even considered.
    assert!(off.contains("food 0.0") && off.contains("no bread -2.0, no eat -1.5"), "{said}");
    assert!(
        said.contains("2 of 3 topics") && said.contains("  farm 0.8") && said.contains("  └─ fruit >0.999"),
        "{said}"
    );
    // 91.47 % where the E-step stops by default, 91.50 % where it goes on.
    assert!(said.contains("  apple  fruit 91 %, elsewhere farm"), "{said}");
    let tight = explain(&pantry(), "The Apple, the pear and a quince", "--estep-tol 1e-6");
    assert!(tight.contains("  apple  fruit 92 %, elsewhere farm"), "{tight}");
}

#[test]
fn every_source_of_a_document_gives_the_same_explanation() {
    let folder = pantry();
    folder.write(
        "docs.jsonl",
        "{\"id\":\"x\",\"tokens\":[\"flour\"]}\n{\"id\":\"y\",\"tokens\":[\"eat\",\"apple\"]}\n",
    );
    let mut all: Vec<Value> =
        ["--tokens eat,apple", "--corpus docs.jsonl --doc 1", "--corpus docs.jsonl --id y"]
            .map(|document| folder.result(&format!("explain model.tsv {document}")))
            .to_vec();
    all.push(parse(&explain(&folder, "eat apple", "--json")));
    let spaced = folder.noisyor("explain model.tsv --json --tokens").arg(" eat, apple ,, ").output().unwrap();
    all.push(parse(&text(&spaced.stdout)));
    assert_eq!(all[4]["document"]["unknown"], json!([]));
    for result in &mut all {
        result.as_object_mut().expect("an object").remove("document");
    }
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{all:#?}");
    assert_eq!(list(&all[0]["tokens"]).len(), 2);
}

/// What `infer`, `eval` and `explain` take: every start, a bound, a schedule, a tolerance.
const ESTEPS: [&str; 9] = [
    "",
    "--start plain",
    "--temper=3,8",
    "--start best",
    "--bound full",
    "--paper-estep",
    "--estep-tol 1e-6 --estep-max 2000",
    "--clamp 4",
    "--clamp auto --start best",
];

#[test]
fn json_adds_up_and_agrees_with_infer_and_eval_on_golden_networks() {
    for case in 0..N_GOLDEN {
        let (folder, estep) = (Folder::with_golden(&golden(case)), ESTEPS[case % ESTEPS.len()]);
        folder.run(&format!("infer model.json docs.jsonl -o q.jsonl --threshold 0 --backend cpu {estep} -q"));
        folder.run(&format!("eval model.json docs.jsonl --per-doc bounds.tsv --backend cpu {estep} -q"));
        for (doc, inferred) in folder.json_lines("q.jsonl").iter().enumerate() {
            let result =
                folder.result(&format!("explain model.json --corpus docs.jsonl --doc {doc} {estep}"));
            let bound: f64 = folder.table("bounds.tsv")[doc + 1][1].parse().expect("a number");
            // f32 sums of a hundred terms.
            let error = (number(&result["elbo"]) - bound).abs();
            assert!(error < 1e-5 * (1.0 + bound.abs()), "case {case} doc {doc} {estep}: {error}");
            for topic in list(&result["topics"]) {
                let name = topic["topic"].as_str().expect("a name");
                let inferred = inferred["topics"][name].as_f64().unwrap_or(0.0);
                assert!(
                    (number(&topic["q"]) - inferred).abs() < 1e-6,
                    "case {case} doc {doc} {estep}: {topic} {inferred}"
                );
            }
            for token in list(&result["tokens"]) {
                let topics = list(&token["topics"]);
                let shares: f64 = topics.iter().map(|topic| number(&topic["share"])).sum();
                assert!((shares + number(&token["leak_share"]) - 1.0).abs() < 1e-9, "{token}");
                let saved: f64 = topics.iter().map(|topic| number(&topic["contribution"])).sum();
                assert!(
                    (number(&token["leak_cost"]) - saved - number(&token["cost"])).abs() < 1e-9,
                    "{token}"
                );
            }
            if let Some(topic) = list(&result["topics"]).first() {
                let why = folder.result(&format!(
                    "explain model.json --corpus docs.jsonl --doc {doc} {estep} --why {}",
                    topic["number"]
                ));
                let sum: f64 = list(&why["why"]["terms"]).iter().map(|term| number(&term["value"])).sum();
                assert!((sum - number(&why["why"]["log_odds"])).abs() < 1e-9 * (1.0 + sum.abs()), "{why}");
                assert_eq!(why["why"]["mean_q"], topic["q"], "{why}");
                if list(&result["pieces"]).len() == 1 {
                    assert_eq!(why["why"]["log_odds"], topic["log_odds"], "{why}");
                }
            }
        }
    }
}

#[test]
fn why_names_what_raises_and_what_lowers() {
    let said = explain(&pantry(), "apple pear", "--why fruit");
    let why = said.split_once("why fruit is on").expect("the terms").1;
    for part in ["its leak", "food above", "farm above", "apple", "pear", "log-odds"] {
        assert!(why.contains(part), "'{part}' is not in\n{why}");
    }
    let said = explain(&pantry(), "apple", "--why bread");
    assert!(said.contains("bread was not considered") && said.contains("no flour"), "{said}");
    // By number, by a part of a name, by another case.
    for topic in ["2", "fru", "FRUIT"] {
        assert!(explain(&pantry(), "apple", &format!("--why {topic}")).contains("why fruit"), "{topic}");
    }
    let folder = pantry();
    folder.fails("explain model.tsv --text apple --why friut", 2, &["friut", "'fruit' (2)"]);
    folder.fails("explain model.tsv --text apple --why f", 2, &["3 topics", "'food' (0)", "'farm' (1)"]);
}

/// A word that two topics have, each also with words that are not there.
const STRING: &str = "\
\tPhysics\t0.05\n\tMusic\t0.05\n\tstring\t0.001\n\tenergy\t0.01\n\tviolin\t0.01
Physics\tstring\t2\nMusic\tstring\t2.2\nPhysics\tenergy\t0.5\nMusic\tviolin\t0.7\n";

#[test]
fn explanations_that_compete_are_told() {
    let folder = Folder::new();
    folder.write("model.tsv", STRING);
    let one = explain(&folder, "string", "");
    assert!(one.contains("bound (tail) ") && !one.contains("compete"), "{one}");
    let said = explain(&folder, "string", "--clamp 4 --why Music --html p.html --svg p.svg --dot p.dot");
    assert!(said.contains("bound (tail, clamp 4) ") && said.contains("3 explanations compete"), "{said}");
    let result = parse(&explain(&folder, "string", "--clamp 4 --why Music --json"));
    assert_eq!((&result["bound"], &result["clamp"]), (&json!("tail"), &json!(4)));
    let (pieces, why) = (list(&result["pieces"]), &result["why"]);
    let percent = |weight: &Value| format!("{:.0} %", 100.0 * number(weight));
    for (piece, topics) in pieces.iter().zip(["Physics", "Music"]) {
        assert_eq!(piece["on"][0]["topic"], topics, "{piece}");
        assert!(said.contains(&format!("   {}  {topics}\n", percent(&piece["weight"]))), "{said}");
    }
    // The split fixes it off in the heaviest piece, and the other one is where it is on.
    assert_eq!(
        (&why["clamped"], &why["q"], &why["weight"]),
        (&json!(true), &json!(0.0), &pieces[0]["weight"])
    );
    let mean = number(&why["mean_q"]);
    assert!((0.3..0.5).contains(&mean), "{why}");
    let place =
        format!("in the explanation of weight {}, where the split fixes it off", percent(&why["weight"]));
    let over_all = format!("the topic's probability over all explanations is {mean:.3}");
    let terms = said.split_once("why Music is off").expect("the terms").1;
    assert!(terms.contains(&format!("  {place}\n  {over_all}\n")), "{terms}");
    assert!(terms.contains("no violin") && terms.contains("log-odds, were it free"), "{terms}");
    let html = folder.text("p.html");
    for part in [
        "Bound (tail, clamp 4)",
        "3 explanations compete",
        "fixed by the split",
        &place,
        &over_all.replace('\'', "&#39;"),
    ] {
        assert!(html.contains(part), "'{part}' is not in\n{html}");
    }
    assert_balanced(&folder.text("p.svg"));
    assert!(folder.text("p.dot").contains(&format!("Music\\n{mean:.3}")));
}

#[test]
fn nothing_known_is_no_error() {
    let folder = pantry();
    for document in ["", "quince medlar", "the of and", "   "] {
        let said = explain(&folder, document, "--svg p.svg --html p.html --dot p.dot");
        assert!(said.contains("nothing to explain"), "{document}: {said}");
        assert!(folder.text("p.svg").contains("no word"), "{document}");
        let result = parse(&explain(&folder, document, "--json"));
        assert_eq!((&result["topics"], &result["tokens"]), (&json!([]), &json!([])));
        assert!(number(&result["elbo"]) < 0.0);
    }
    let model = json!({
        "format": "noisyor-model", "version": 1, "topics": [], "tokens": ["w"], "leak": [0.5], "edges": [],
    });
    folder.write("bare.json", model.to_string());
    let said = folder.stdout("explain bare.json --tokens w");
    assert!(said.contains("only the leak explains") && said.contains("0 of 0 topics"), "{said}");
    folder.fails("explain bare.json --tokens w --why 0", 2, &["no topics"]);
}

#[test]
fn lines_are_no_wider_than_asked() {
    let folder = odd();
    for width in [20, 40, 80] {
        let said =
            folder.stdout(&format!("explain model.json --corpus docs.jsonl --doc 0 --why 0 --width {width}"));
        for line in said.lines() {
            assert!(noisyor::columns::width(line) <= width, "{width}: {line}");
        }
        assert!(!said.contains('\u{1b}') && !said.contains('\u{202e}'), "{said}");
    }
}

#[test]
fn pictures_hold_any_name_as_text() {
    let folder = odd();
    folder.run("explain model.json --corpus docs.jsonl --doc 0 --svg p.svg --html p.html --dot p.dot -q");
    let (svg, html, dot) = (folder.text("p.svg"), folder.text("p.html"), folder.text("p.dot"));
    for picture in [&svg, &html] {
        assert!(picture.contains("&lt;script&gt;") && !picture.contains("<script"), "{picture}");
        assert!(!picture.contains(|c: char| c.is_control() && c != '\n'), "{picture}");
        assert!(picture.contains("prefers-color-scheme") && picture.contains("שלום"));
    }
    assert!(html.contains("document &lt;b&gt;") && html.contains("costs, nats"));
    assert!(dot.starts_with("digraph") && dot.contains(r#"a\"b\\c"#), "{dot}");
    assert_balanced(&svg);
    // Same input, same bytes.
    folder.run("explain model.json --corpus docs.jsonl --doc 0 --svg again.svg --html again.html -q");
    assert_eq!((folder.text("again.svg"), folder.text("again.html")), (svg, html));
}

/// Every element is closed in its order.
fn assert_balanced(xml: &str) {
    let mut open: Vec<&str> = Vec::new();
    for tag in xml.split('<').skip(1) {
        let inside = tag.split('>').next().expect("an end");
        let name = inside.trim_start_matches('/').split([' ', '/']).next().expect("a name");
        match (inside.starts_with('/'), inside.ends_with('/')) {
            (true, _) => assert_eq!(open.pop(), Some(name), "{inside}"),
            (_, true) => {}
            _ => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn a_large_document_leaves_out_and_says_so() {
    let folder = Folder::new();
    let mut model = String::new();
    for topic in 0..300 {
        let leak = if topic < 150 { 0.5 } else { 0.0001 };
        model += &format!("\ttopic{topic}\t{leak}\n\tword{topic}\t0.0001\ntopic{topic}\tword{topic}\t3\n");
        model += &format!("\tweak{topic}\t0.9\ntopic{topic}\tweak{topic}\t0.01\n");
    }
    folder.write("model.tsv", model);
    let words: Vec<String> =
        (0..300).map(|at| if at < 150 { format!("word{at}") } else { format!("weak{at}") }).collect();
    let tokens = words.join(",");
    let result = folder.result(&format!("explain model.tsv --tokens {tokens} --svg p.svg --html p.html"));
    assert_eq!(list(&result["topics"]).len(), 300);
    let svg = folder.text("p.svg");
    assert!(svg.contains("not shown: 110 topics that are on, 144 topics that are off, 236 words"), "{svg}");
    assert_eq!(svg.matches("class=\"nx-on\"").count(), 40);
    assert_eq!(svg.matches("class=\"nx-off\"").count(), 6);
    let said = folder.stdout(&format!("explain model.tsv --tokens {tokens}"));
    assert!(said.contains("and 145 more"), "{said}");
}

#[test]
fn a_run_folder_is_its_model_and_knows_its_corpus() {
    let folder = Folder::with_sample();
    folder.run("train --graph sample.tsv --epochs 1 -o run -q --backend cpu");
    let of_run = folder.result("explain run --doc 3");
    assert_eq!(of_run["document"]["name"], json!("document 3"));
    assert!(!list(&of_run["tokens"]).is_empty());
    assert_eq!(
        folder.result("explain run --tokens rain"),
        folder.result("explain run/model.safetensors --tokens rain")
    );
    assert_eq!(folder.stdout("topics run"), folder.stdout("topics run/model.safetensors"));
}

#[test]
fn bad_usage_is_told() {
    let folder = pantry();
    folder.write("docs.jsonl", "{\"tokens\":[\"eat\"]}\n");
    folder.fails("explain model.tsv", 2, &["--text", "--doc"]);
    folder.fails("explain model.tsv --text a --doc 1", 2, &["cannot be used with"]);
    folder.fails("explain model.tsv --doc 1", 2, &["--corpus", "run folder"]);
    folder.fails("explain model.tsv --text a --format jsonl", 2, &["--corpus"]);
    folder.fails(
        "explain model.tsv --corpus docs.jsonl --doc 1",
        2,
        &["docs.jsonl", "no document 1", "there are 1"],
    );
    folder.fails("explain model.tsv --corpus docs.jsonl --id z", 2, &["no document has the id 'z'"]);
    folder.fails("explain model.tsv --text eat --svg model.tsv", 2, &["model.tsv", "would be replaced"]);
    folder.fails(
        "explain model.tsv --corpus docs.jsonl --doc 0 --html docs.jsonl",
        2,
        &["would be replaced"],
    );
    folder.fails("explain model.tsv --text eat --start greedy --temper", 2, &["--start tempered"]);
    folder.fails("explain model.tsv --text eat --svg p --dot p", 2, &["two outputs"]);
    folder.fails("explain model.tsv --text eat --svg no/such/p.svg", 3, &["p.svg"]);
    folder.fails("explain . --text eat", 2, &["no model.safetensors"]);
    folder.fails("explain none.tsv --text eat", 3, &["none.tsv"]);
}
