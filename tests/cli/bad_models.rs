//! Bad models and graphs: the status is 2, and the message names the file, the line and the fault.

use crate::support::{Folder, golden};
use serde_json::{Value, json};

#[test]
fn edge_lists() {
    let folder = Folder::with_golden(&golden(0));
    let leaks = "\ta\t1\n\tb\t1\n\tc\t1\n\tw\t1\n";
    for (lines, parts) in [
        ("a\tb\t1\nb\tc\t1\nc\ta\t1\nc\tw\t1\n", &["cycle of 3 edges", "'a' -> 'b' -> 'c' -> 'a'"][..]),
        ("a\tb\t1\na\tw\t1\na\tb\t2\n", &["bad.tsv:7", "'a' -> 'b'", "same", "remove one"]),
        ("a\tb\t1\nb\tb\t1\n", &["bad.tsv:6", "'b' is its own parent"]),
        ("a\tb\t1\na\tw\t0\n", &["bad.tsv:6", "weight '0'", "above zero"]),
        ("a\tb\t1\na\tw\t-0.5\n", &["bad.tsv:6", "weight '-0.5'", "above zero"]),
        ("a\tb\t1\na\tw\theavy\n", &["bad.tsv:6", "weight 'heavy'", "finite number"]),
        ("a\tb\tnan\n", &["bad.tsv:5", "weight 'nan'", "finite number"]),
        ("a\tb\tinf\n", &["bad.tsv:5", "weight 'inf'", "finite number"]),
        ("a\tb\t1e999\n", &["bad.tsv:5", "weight '1e999'", "finite number"]),
        ("a\tb\t\n", &["bad.tsv:5", "weight ''"]),
        ("a\tb\t1\na\tw\n", &["bad.tsv:6", "no weight", "all or none"]),
        ("a\tb\t1\t2\n", &["bad.tsv:5", "more than three fields"]),
        ("a b 1\n", &["bad.tsv:5", "'a b 1'", "parent<TAB>child"]),
        ("a\t\t1\n", &["bad.tsv:5", "parent<TAB>child"]),
        ("\ta\t2\na\tw\t1\n", &["bad.tsv:5", "'a' has a second leak"]),
        ("\td\na\tw\t1\n", &["bad.tsv:5", "the leak of 'd' has no value"]),
        ("\td\t-1\na\tw\t1\n", &["bad.tsv:5", "weight '-1'"]),
        ("a\tb\t1\nb\tw\t1\nb\tv\t1\n", &["bad.tsv", "'v' has no leak"]),
    ] {
        folder.write("bad.tsv", format!("{leaks}{lines}"));
        folder.fails("eval bad.tsv docs.svm", 2, &[parts, &["bad.tsv"]].concat());
        folder.fails("train docs.svm --graph bad.tsv", 2, &[parts, &["bad.tsv"]].concat());
    }
    folder.write("bad.tsv", b"a\tb\n# comment\na\t\xff\n");
    folder.fails("train docs.svm --graph bad.tsv", 2, &["bad.tsv:3", "UTF-8"]);
}

#[test]
fn edge_lists_from_elsewhere_are_fine() {
    let folder = Folder::with_golden(&golden(0));
    let plain = "# a comment\n\ta\t1\n\tw\t0.5\n\na\tw\t2\n";
    folder.write("plain.tsv", plain);
    let expected = folder.result("eval plain.tsv docs.svm --by-number");
    for (what, text) in [
        ("CRLF", plain.replace('\n', "\r\n")),
        ("byte-order mark", format!("\u{feff}{plain}")),
        ("no last newline", plain.trim_end().to_owned()),
    ] {
        folder.write("odd.tsv", text);
        assert_eq!(folder.result("eval odd.tsv docs.svm --by-number"), expected, "{what}");
    }
}

/// Changes a golden model.
type Change = fn(&mut Value);

fn push(model: &mut Value, edge: Value) {
    model["edges"].as_array_mut().expect("a list").push(edge);
}

#[test]
fn json_models() {
    let case = golden(0);
    let folder = Folder::with_golden(&case);
    // Three topics, t0..t2, then five tokens, w0..w4; seven edges, none between topics.
    let cases: [(&str, Change, &[&str]); 27] = [
        (
            "cycle",
            |m| [[0, 1], [1, 2], [2, 0]].iter().for_each(|[a, b]| push(m, json!([a, b, 1]))),
            &["cycle of 3 edges", "'t0' -> 't1' -> 't2' -> 't0'"],
        ),
        (
            "duplicate edge",
            |m| push(m, m["edges"][0].clone()),
            &["edges 0 and 7", "'t2' -> 'w0'", "remove one"],
        ),
        ("dangling child", |m| push(m, json!([0, 99, 1])), &["0 -> 99", "no node 99", "0..8"]),
        ("dangling parent", |m| push(m, json!([8, 3, 1])), &["8 -> 3", "no node 8", "0..8"]),
        ("token with a child", |m| push(m, json!([4, 3, 1])), &["4 -> 3", "token 'w1' has a child"]),
        ("token above a topic", |m| push(m, json!([4, 1, 1])), &["4 -> 1", "token 'w1' has a child"]),
        ("own parent", |m| push(m, json!([1, 1, 1])), &["'t1' is its own parent"]),
        ("missing weight", |m| push(m, json!([0, 3])), &["7 of 8 edges", "all or none"]),
        ("short edge", |m| push(m, json!([0])), &["[parent, child]"]),
        ("long edge", |m| push(m, json!([0, 3, 1, 1])), &["[parent, child]"]),
        ("negative node", |m| push(m, json!([-1, 3, 1])), &["-1"]),
        ("zero weight", |m| m["edges"][0][2] = json!(0), &["'t2' -> 'w0' is 0", "above zero"]),
        ("negative weight", |m| m["edges"][0][2] = json!(-2.5), &["'t2' -> 'w0' is -2.5", "above zero"]),
        ("weight in words", |m| m["edges"][0][2] = json!("much"), &["much"]),
        ("no weight at all", |m| m["edges"][0][2] = Value::Null, &["null"]),
        ("zero leak", |m| m["leak"][4] = json!(0.0), &["leak of 'w1' is 0", "above zero"]),
        ("negative leak", |m| m["leak"][0] = json!(-1), &["leak of 't0' is -1", "above zero"]),
        ("a leak too few", |m| drop(m["leak"].as_array_mut().unwrap().pop()), &["7 leaks for 8 nodes"]),
        ("a leak too many", |m| m["leak"].as_array_mut().unwrap().push(json!(1)), &["9 leaks for 8 nodes"]),
        ("two topics of a name", |m| m["topics"][1] = json!("t0"), &["'t0'", "two nodes"]),
        ("two tokens of a name", |m| m["tokens"][1] = json!("w0"), &["'w0'", "two nodes"]),
        ("topic and token of a name", |m| m["tokens"][1] = json!("t0"), &["'t0'", "two nodes"]),
        ("other format", |m| m["format"] = json!("other"), &["'other'", "'noisyor-model'"]),
        ("later version", |m| m["version"] = json!(2), &["version 2", "reads version 1"]),
        ("no edges", |m| drop(m.as_object_mut().unwrap().remove("edges")), &["edges"]),
        (
            "graph without leaks",
            |m| drop(m.as_object_mut().unwrap().remove("leak")),
            &["without weights", "train"],
        ),
        (
            "wrong checksum",
            |m| m["checksum"] = json!("0"),
            &["checksum does not match", "remove the checksum"],
        ),
    ];
    for (what, change, parts) in cases {
        let mut model = case["model"].clone();
        change(&mut model);
        folder.write("bad.json", model.to_string());
        println!("{what}");
        folder.fails("eval bad.json docs.svm", 2, &[parts, &["bad.json"]].concat());
    }
    assert_eq!(folder.names_in("."), ["bad.json", "docs.jsonl", "docs.svm", "model.json"]);
}

#[test]
fn a_graph_without_weights_is_for_training_only() {
    let case = golden(0);
    let folder = Folder::with_golden(&case);
    let mut graph = case["model"].clone();
    graph.as_object_mut().unwrap().remove("leak");
    graph["edges"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .for_each(|edge| drop(edge.as_array_mut().unwrap().pop()));
    folder.write("graph.json", graph.to_string());
    folder.write("graph.tsv", "t\tw0\nt\tw1\n");
    for graph in ["graph.json", "graph.tsv"] {
        let parts = [graph, "graph without weights", "train it first"];
        folder.fails(&format!("eval {graph} docs.svm"), 2, &parts);
        folder.fails(&format!("topics {graph}"), 2, &parts);
        folder.fails(&format!("infer {graph} docs.svm -o out.tsv"), 2, &parts);
        folder.fails(&format!("model convert {graph} out.safetensors"), 2, &parts);
        folder.run(&format!("train docs.jsonl --graph {graph} --steps 1 -o run-{graph} -q"));
    }
}

#[test]
fn json_cut_short_anywhere() {
    let folder = Folder::with_golden(&golden(0));
    let whole = serde_json::to_string_pretty(&golden(0)["model"]).unwrap();
    for share in [0.0, 0.01, 0.2, 0.5, 0.8, 0.99] {
        let cut = &whole[..(share * whole.len() as f64) as usize];
        folder.write("cut.json", cut);
        let place = format!("cut.json:{}:", cut.lines().count().max(1));
        folder.fails("topics cut.json", 2, &[&place, "EOF"]);
    }
}

#[test]
fn json_edited_with_its_checksum_left_in() {
    let folder = Folder::with_golden(&golden(0));
    folder.run("model convert model.json sealed.json");
    let sealed = folder.json("sealed.json");
    assert!(sealed["checksum"].is_string());
    let changes: [(&str, Change); 4] = [
        ("weight", |m| m["edges"][2][2] = json!(0.75)),
        ("leak", |m| m["leak"][2] = json!(0.75)),
        ("name", |m| m["tokens"][2] = json!("other")),
        ("edge", |m| drop(m["edges"].as_array_mut().unwrap().pop())),
    ];
    for (what, change) in changes {
        let mut edited = sealed.clone();
        change(&mut edited);
        folder.write("edited.json", edited.to_string());
        println!("{what}");
        folder.fails(
            "topics edited.json",
            2,
            &["edited.json", "checksum does not match", "remove the checksum"],
        );
        edited.as_object_mut().unwrap().remove("checksum");
        folder.write("edited.json", edited.to_string());
        folder.run("topics edited.json");
    }
}

#[test]
fn safetensors_cut_short_or_with_a_flipped_bit() {
    let folder = Folder::with_golden(&golden(0));
    folder.run("model convert model.json model.safetensors");
    let whole = folder.bytes("model.safetensors");
    let header = 8 + u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
    for length in [0, 4, 8, 100, header, header + 50, whole.len() - 1] {
        folder.write("cut.safetensors", &whole[..length]);
        folder.fails("topics cut.safetensors", 2, &["cut.safetensors: not a safetensors file"]);
    }
    // The data: nine offsets of 8 bytes, seven parents, seven weights and eight leaks of 4.
    let starts = [header, header + 72, header + 100, header + 128];
    let name = whole.windows(2).position(|two| two == b"w3").unwrap();
    for at in
        starts.into_iter().flat_map(|start| [start, start + 3, start + 25]).chain([name + 1, whole.len() - 1])
    {
        let mut flipped = whole.clone();
        flipped[at] ^= 4;
        folder.write("flipped.safetensors", &flipped);
        println!("byte {at}");
        folder.fails("topics flipped.safetensors", 2, &["flipped.safetensors: "]);
    }
    let mut flipped = whole.clone();
    flipped[header + 101] ^= 1;
    folder.write("flipped.safetensors", flipped);
    folder.fails("eval flipped.safetensors docs.svm", 2, &["flipped.safetensors", "checksum does not match"]);
}

#[test]
fn safetensors_of_something_else() {
    let folder = Folder::with_golden(&golden(0));
    let file = |header: Value, data: &[u8]| {
        let header = header.to_string();
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
    };
    let leak = json!({"dtype": "F32", "shape": [1], "data_offsets": [0, 4]});
    let metadata = |format: &str, version: &str| {
        json!({
            "format": format, "version": version, "names": "[[],[\"w\"]]", "training": "", "sha256": "",
        })
    };
    for (header, parts) in [
        (json!({"leak": leak}), &["no metadata"][..]),
        (json!({"leak": leak, "__metadata__": {"made": "elsewhere"}}), &["no 'format'"]),
        (json!({"leak": leak, "__metadata__": metadata("other", "1")}), &["'other'", "'noisyor-model'"]),
        (
            json!({"leak": leak, "__metadata__": metadata("noisyor-model", "2")}),
            &["version 2", "reads version 1"],
        ),
        (
            json!({"leak": leak, "__metadata__": metadata("noisyor-model", "1")}),
            &["'edge_offsets' is missing"],
        ),
    ] {
        folder.write("bad.safetensors", file(header, &[0; 4]));
        folder.fails("topics bad.safetensors", 2, &[parts, &["bad.safetensors"]].concat());
    }
}
