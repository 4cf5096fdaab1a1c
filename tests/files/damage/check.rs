//! Checking lists every fault with its place, notes what is odd, and sums up what is sound.

use super::models::model;
use noisyor::Check;
use noisyor::network::{Checksum, Summary, check_bytes, load_bytes};
use serde_json::{Value, json};

/// Checks a file, whose faults must be these: each with its place and a part of its message.
fn lists(name: &str, bytes: &[u8], expected: &[(&str, &str)]) {
    let check = check_bytes(name.as_ref(), bytes).unwrap();
    let found: Vec<String> = check.faults.iter().map(ToString::to_string).collect();
    let all = found.join("\n");
    for (place, part) in expected {
        let place = format!("{name}{place}: ");
        assert!(
            found.iter().any(|fault| fault.starts_with(&place) && fault.contains(part)),
            "'{place}' with '{part}' is not in\n{all}"
        );
    }
    assert_eq!((found.len(), check.n_faults), (expected.len(), expected.len() as u64), "{all}");
    assert!(check.summary.is_none() && check.notes.is_empty());
    // Loading stops at one of them.
    assert!(found.contains(&load_bytes(name.as_ref(), bytes).unwrap_err().to_string()), "{all}");
}

#[test]
fn edge_lists() {
    let lines: [&[u8]; 20] = [
        b"# leaks",
        b"\ta\t1",
        b"\tb\t-1",
        b"\tc\t2e6",
        b"\tw\t1\t7",
        b"\ta\t2",
        b"\td",
        b"# edges",
        b"a\tb\t1",
        b"b\tc\t1",
        b"c\ta\t1",
        b"a\tb\t2",
        b"w w",
        b"a\t\xff\t1",
        b"a\td\theavy",
        b"b\tb\t1",
        b"c\tw\tnan",
        b"b\tw",
        b"c\tx\t0",
        b"b\t\xfe\xff\t1",
    ];
    let expected = [
        (":3", "weight '-1'"),
        (":4", "the leak of 'c' is 2000000"),
        (":5", "more than three fields"),
        (":6", "'a' has a second leak; the first is in line 2"),
        (":7", "the leak of 'd' has no value"),
        (":12", "are the same, 'a' -> 'b'; remove one (the first is in line 9)"),
        (":13", "'w w' is not parent<TAB>child"),
        (":14", "UTF-8"),
        (":15", "weight 'heavy'"),
        (":16", "'b' is its own parent"),
        (":17", "weight 'nan'"),
        (":18", "no weight but others have"),
        (":19", "weight '0'"),
        (":20", "UTF-8"),
        ("", "'x' has no leak"),
        ("", "a cycle of 3 edges: 'a' -> 'b' -> 'c' -> 'a'"),
    ];
    lists("bad.tsv", &lines.join(&b'\n'), &expected);
    lists("bad.tsv", &lines.join(&b"\r\n"[..]), &expected);
    let large = "\ta\t1\n\tb\t1\n#\n\tc\t2e6\na\tb\t1\nb\tc\t3e6\n";
    let expected = [(":4", "the leak of 'c' is 2000000"), (":6", "the weight of 'b' -> 'c' is 3000000")];
    lists("bad.tsv", large.as_bytes(), &expected);
}

#[test]
fn json() {
    let text = r#"{
"format": "other",
"version": 2,
"topics": ["a", "b",
  "a", 7],
"tokens": ["w",
  "b", "x", "y"],
"leak": [1, 1, 1, 1, 1,
  0, 1e7, "much"],
"edges": [[0, 1, 1],
  [1, 2, 1],
  [2, 0, 1],
  [0, 1, 1], [0, 99, 1],
  [4, 5, 1],
  [1, 1, 1],
  [0],
  [0, 4, 1, 1],
  [-1, 4, 1],
  [0, 4, -3],
  [0, 5, 1e999],
  [0, 1, 2]]}"#;
    let expected = [
        ("", "format is 'other'"),
        ("", "version 2"),
        (":5", "topic 3: invalid type: integer `7`, expected a string"),
        (":5", "the name 'a' stands for two nodes; names must differ (the first is in line 4)"),
        (":7", "the name 'b' stands for two nodes; names must differ (the first is in line 4)"),
        (":9", "the leak of 'b' is 0;"),
        (":9", "the leak of 'x' is 10000000;"),
        (":9", "leak 7: invalid type"),
        (":13", "edges 0 and 3 are the same, 'a' -> 'b'; remove one (the first is in line 10)"),
        (":13", "edge 4 (0 -> 99): there is no node 99; nodes are 0..8"),
        (":14", "edge 5 (4 -> 5): token 'w' has a child"),
        (":15", "'b' is its own parent"),
        (":16", "edge 7: invalid length 1"),
        (":17", "edge 8: invalid length 4"),
        (":18", "edge 9: invalid value: integer `-1`"),
        (":19", "the weight of 'a' -> 'w' is -3;"),
        (":20", "edge 11: number out of range"),
        (":21", "edges 0 and 12 are the same, 'a' -> 'b'; remove one (the first is in line 10)"),
        ("", "a cycle of 3 edges"),
    ];
    lists("bad.json", text.as_bytes(), &expected);
    // Other line ends and a byte-order mark do not move the lines.
    lists("bad.json", format!("\u{feff}{}", text.replace('\n', "\r\n")).as_bytes(), &expected);

    let few = r#"{"format": "noisyor-model", "topics": ["a"], "leak": [1, 2, 3], "edges": []}"#;
    lists("bad.json", few.as_bytes(), &[("", "`version`"), ("", "`tokens`"), ("", "3 leaks for 1 nodes")]);
    lists(
        "bad.json",
        b"{\n\"topics\": [\"\xff\"],\n\"tokens\":\n[\"\xfe\"]}",
        &[(":2", "UTF-8"), (":4", "UTF-8")],
    );
    lists("bad.json", b"{\n\"topics\": [\n\"a\",,", &[(":3", "expected value")]);
    lists("bad.json", br#"{"leaks": [1]}"#, &[(":1", "unknown field `leaks`, expected one of")]);
    let mixed = r#"{"format": "noisyor-model", "version": 1, "topics": ["a"], "tokens": ["w", "x"],
        "leak": [1, 1, 1], "edges": [[0, 1, 2], [0, 2]]}"#;
    lists("bad.json", mixed.as_bytes(), &[("", "1 of 2 edges have a weight: give all or none")]);
}

#[test]
fn json_with_its_checksum() {
    let mut sealed: Value = serde_json::from_slice(&model("model.json").0).unwrap();
    sealed["leak"][0] = json!(-0.5);
    sealed["edges"][1][2] = json!(0);
    let expected =
        [("", "the leak of 'food' is -0.5"), ("", "'farm' -> 'fruit' is 0"), ("", "checksum does not match")];
    lists("bad.json", sealed.to_string().as_bytes(), &expected);
}

/// A safetensors file with the pieces of a sound one, changed.
fn tensors(change: impl Fn(&mut Value, &mut Vec<u8>)) -> Vec<u8> {
    let (bytes, _) = model("model.safetensors");
    let end = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&bytes[8..end]).unwrap();
    let mut data = bytes[end..].to_vec();
    change(&mut header, &mut data);
    let header = header.to_string();
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat()
}

#[test]
fn safetensors() {
    // Seven offsets of 8 bytes; six parents, six weights and six leaks of 4.
    let (parents, weights, leaks) = (56, 80, 104);
    let put = |data: &mut Vec<u8>, at: usize, value: [u8; 4]| data[at..at + 4].copy_from_slice(&value);
    let bytes = tensors(|header, data| {
        header["__metadata__"]["names"] = json!(r#"[["a","b","c"],["w","b","x"]]"#);
        put(data, parents, 9u32.to_le_bytes());
        put(data, parents + 4, 2u32.to_le_bytes());
        put(data, parents + 8, 4u32.to_le_bytes());
        put(data, weights, f32::NAN.to_le_bytes());
        put(data, weights + 8, (-2f32).to_le_bytes());
        put(data, leaks + 4, 0f32.to_le_bytes());
        put(data, leaks + 8, f32::INFINITY.to_le_bytes());
    });
    let expected = [
        ("", "the name 'b' stands for two nodes"),
        ("", "there is no node 9; nodes are 0..6"),
        ("", "'c' is its own parent"),
        ("", "token 'b' has a child"),
        ("", "-> 'c' is NaN"),
        ("", "is -2;"),
        ("", "the leak of 'b' is 0;"),
        ("", "the leak of 'c' is inf;"),
    ];
    lists("bad.safetensors", &bytes, &expected);

    let bytes = tensors(|header, _| {
        let metadata = header["__metadata__"].as_object_mut().unwrap();
        metadata.insert("format".into(), json!("other"));
        metadata.insert("version".into(), json!("2"));
        metadata.insert("names".into(), json!("[1]"));
        metadata.remove("sha256");
        metadata.remove("training");
        header["leak"]["dtype"] = json!("U32");
        let weights = header.as_object_mut().unwrap().remove("edge_weights").unwrap();
        header["edge_weight"] = weights;
    });
    let expected = [
        ("", "format is 'other'"),
        ("", "version 2 is not known"),
        ("", "metadata has no 'training'"),
        ("", "metadata has no 'sha256'"),
        ("", "'names' is not [topics, tokens]"),
        ("", "tensor 'edge_weights' is missing"),
        ("", "tensor 'leak' is U32 [6], expected a F32 vector"),
    ];
    lists("bad.safetensors", &bytes, &expected);

    let bytes = tensors(|_, data| {
        put(data, 8, 5u32.to_le_bytes());
        put(data, 32, 99u32.to_le_bytes());
    });
    let falls = [("", "fall from 5 to 0 at node 1"), ("", "to 99 at node 3"), ("", "fall from 99 to")];
    lists("bad.safetensors", &bytes, &falls);
    let bytes = tensors(|header, _| header["__metadata__"]["names"] = json!(r#"[["a"],[]]"#));
    lists("bad.safetensors", &bytes, &[("", "must have 2 entries from 0 to 6")]);
    let bytes = tensors(|_, data| put(data, weights, 7f32.to_le_bytes()));
    lists("bad.safetensors", &bytes, &[("", "checksum does not match")]);
}

#[test]
fn many_faults_are_counted_and_the_first_kept() {
    let Check { faults, n_faults, .. } = check_bytes("bad.tsv".as_ref(), &b"x\n".repeat(5_000)).unwrap();
    assert_eq!((faults.len(), n_faults), (1_000, 5_000));
    assert!(faults[999].to_string().starts_with("bad.tsv:1000: "));
}

fn sound(name: &str, bytes: &[u8]) -> Check<Summary> {
    let check = check_bytes(name.as_ref(), bytes).unwrap();
    assert!(check.faults.is_empty() && check.n_faults == 0, "{:?}", check.faults);
    check
}

#[test]
fn a_model_summed_up() {
    let check = sound("model.safetensors", &model("model.safetensors").0);
    assert_eq!(check.notes, [""; 0]);
    let summary = check.summary.unwrap();
    assert_eq!((summary.topics, summary.tokens, summary.edges, summary.layers), (3, 3, 6, 2));
    assert_eq!((summary.max_parents, summary.dead_topics), (2, Some(0)));
    assert_eq!(summary.checksum, Checksum::Right);
    let text = summary.to_string();
    for line in
        ["kind        model", "layers      2", "parents     1.33 a token, at most 2", "checksum    right"]
    {
        assert!(text.lines().any(|found| found == line), "{text}");
    }
    assert!(text.contains("weights     0.1000 to 3.0000, median 1.5000\n"), "{text}");
    assert!(text.contains("leaks       0.0100 to 0.5000, median 0.0625\n"), "{text}");
    assert!(text.contains("training    {\"steps\":3"), "{text}");
    let json = serde_json::to_value(&summary).unwrap();
    assert_eq!(
        (&json["kind"], &json["checksum"], &json["leaks"]["max"]),
        (&json!("model"), &json!("right"), &json!(0.5))
    );
}

#[test]
fn oddities_are_notes() {
    let graph = json!({
        "format": "noisyor-model", "version": 1, "topics": ["a", "b", "c", "d"], "tokens": ["w", "x"],
        "leak": [1, 1, 1, 1, 1, 1], "edges": [[0, 4, 0.5], [1, 2, 0.5], [3, 4, 0.0001]],
    });
    let check = sound("odd.json", graph.to_string().as_bytes());
    assert_eq!(
        check.notes,
        [
            "1 topics without children: 'c'",
            "1 topics with children but no tokens below: 'b'",
            "1 tokens without parents, which no topic explains: 'x'",
            "1 topics whose weights are all below 0.001, which explain nothing: 'd'",
        ]
    );
    let summary = check.summary.unwrap();
    assert_eq!((summary.dead_topics, summary.checksum), (Some(1), Checksum::None));

    let check = sound("graph.tsv", b"a\tw\t1\n");
    assert_eq!(check.notes, ["the weights are not used, as there are no leaks: this is a graph"]);
    assert_eq!(check.summary.unwrap().kind, "graph");
    assert!(sound("graph.tsv", b"a\tw\n").notes.is_empty());
}
