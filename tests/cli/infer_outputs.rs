//! The outputs of `infer`, read back: all formats tell the same, completely or not at all.

use crate::support::{Folder, N_GOLDEN, PANTRY, golden, list, number, text};
use parquet::basic::Encoding;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Read;

const EXTENSIONS: [&str; 5] = ["jsonl", "tsv", "csv", "parquet", "npz"];

/// A document, and a topic of it with its q; a document without topics has one row with none.
type Row = (String, Option<(String, f32)>);

fn tsv_rows(folder: &Folder, name: &str) -> Vec<Row> {
    let rows = folder.table(name).into_iter().skip(1);
    let topic = |row: &[String]| match &row[1..] {
        [topic, q] if topic.is_empty() && q.is_empty() => None,
        [topic, q] => Some((topic.clone(), q.parse().expect("q"))),
        _ => panic!("three fields: {row:?}"),
    };
    rows.map(|row| (row[0].clone(), topic(&row))).collect()
}

fn open_parquet(folder: &Folder, name: &str) -> SerializedFileReader<std::fs::File> {
    SerializedFileReader::new(std::fs::File::open(folder.path(name)).expect("a file")).expect("Parquet")
}

fn parquet_rows(folder: &Folder, name: &str) -> Vec<Row> {
    let rows = open_parquet(folder, name).into_iter().map(|row| {
        let row = row.expect("a row");
        let topic = row.get_string(1).ok().map(|topic| (topic.clone(), row.get_float(2).expect("q")));
        let is_null = |column| row.is_null(column).expect("a column");
        assert_eq!(topic.is_none(), is_null(1) && is_null(2));
        (row.get_string(0).expect("an id").clone(), topic)
    });
    rows.collect()
}

/// A document of a .jsonl output: its id, and its topics by name.
type Doc = (String, BTreeMap<String, f32>);

fn jsonl_docs(folder: &Folder, name: &str) -> Vec<Doc> {
    let doc = |line: serde_json::Value| {
        let topics = line["topics"].as_object().expect("topics").iter();
        let topics = topics.map(|(topic, q)| (topic.clone(), number(q) as f32)).collect();
        (line["doc"].as_str().expect("an id").to_owned(), topics)
    };
    folder.json_lines(name).into_iter().map(doc).collect()
}

/// SciPy's CSR arrays.
#[derive(Debug, PartialEq)]
struct Csr {
    shape: Vec<i64>,
    indptr: Vec<i64>,
    indices: Vec<i64>,
    data: Vec<f64>,
}

fn read_npz(folder: &Folder, name: &str) -> Csr {
    let mut zip =
        zip::ZipArchive::new(std::fs::File::open(folder.path(name)).expect("a file")).expect("a zip");
    let names: Vec<_> = zip.file_names().map(|name| name.expect("a name")).collect();
    assert_eq!(names, ["indices.npy", "indptr.npy", "format.npy", "shape.npy", "data.npy"]);
    let mut array = |name: &str, descr: &str| {
        let mut bytes = Vec::new();
        zip.by_name(name).expect("a member").read_to_end(&mut bytes).expect("its bytes");
        let header = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        let text = String::from_utf8_lossy(&bytes[10..header]).into_owned();
        assert!(
            bytes.starts_with(b"\x93NUMPY\x01\x00") && text.contains(&format!("'descr': '{descr}'")),
            "{name}: {text}"
        );
        bytes.split_off(header)
    };
    assert_eq!(array("format.npy", "|S3"), b"csr");
    let mut integers = |name: &str, descr: &str| -> Vec<i64> {
        let bytes = array(name, descr);
        match descr {
            "<i8" => bytes.as_chunks().0.iter().map(|&b| i64::from_le_bytes(b)).collect(),
            _ => bytes.as_chunks().0.iter().map(|&b| i32::from_le_bytes(b).into()).collect(),
        }
    };
    let shape = integers("shape.npy", "<i8");
    let (indptr, indices) = (integers("indptr.npy", "<i8"), integers("indices.npy", "<i4"));
    let data = array("data.npy", "<f4").as_chunks().0.iter().map(|&b| f32::from_le_bytes(b).into()).collect();
    Csr { shape, indptr, indices, data }
}

/// The rows of a matrix by topic name; columns must ascend within a row.
fn npz_topics(csr: &Csr, topics: &[serde_json::Value]) -> Vec<BTreeMap<String, f32>> {
    assert_eq!(csr.shape, [csr.indptr.len() as i64 - 1, topics.len() as i64]);
    assert_eq!((csr.indptr[0], csr.indptr[csr.indptr.len() - 1]), (0, csr.data.len() as i64));
    let row = |ends: &[i64]| {
        let range = ends[0] as usize..ends[1] as usize;
        assert!(csr.indices[range.clone()].is_sorted_by(|a, b| a < b), "{csr:?}");
        let name = |at: usize| topics[csr.indices[at] as usize].as_str().expect("a name").to_owned();
        range.map(|at| (name(at), csr.data[at] as f32)).collect()
    };
    csr.indptr.windows(2).map(row).collect()
}

fn infer_all(folder: &Folder, arguments: &str) {
    for extension in EXTENSIONS {
        folder.run(&format!("infer {arguments} -o out.{extension} --backend cpu --quiet"));
    }
}

/// Records of a CSV file, by its rules.
fn csv_records(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => field.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            _ => field.push(c),
        }
    }
    assert!(field.is_empty() && record.is_empty(), "the last line ends");
    records
}

/// Documents of a .csv output, without the topics that are 0.
fn csv_docs(folder: &Folder, name: &str) -> Vec<Doc> {
    let mut records = csv_records(&folder.text(name)).into_iter();
    let header = records.next().expect("a header");
    assert_eq!(header[0], "doc");
    let doc = |record: Vec<String>| {
        assert_eq!(record.len(), header.len(), "{record:?}");
        let cells = header[1..].iter().cloned().zip(record[1..].iter().map(|q| q.parse().expect("q")));
        (record[0].clone(), cells.filter(|cell: &(String, f32)| cell.1 != 0.0).collect())
    };
    records.map(doc).collect()
}

/// All outputs of a run; ids in the .tsv have no tabs and line ends.
fn check_agreement(folder: &Folder, topics: &[serde_json::Value]) -> Vec<Doc> {
    let docs = jsonl_docs(folder, "out.jsonl");
    let rows = parquet_rows(folder, "out.parquet");
    let plain = |text: &str| text.replace(['\t', '\n', '\r'], " ");
    let plain_topic = |topic: &Option<(String, f32)>| topic.as_ref().map(|(name, q)| (plain(name), *q));
    let plain_rows: Vec<Row> = rows.iter().map(|row| (plain(&row.0), plain_topic(&row.1))).collect();
    assert_eq!(tsv_rows(folder, "out.tsv"), plain_rows);
    let mut rows = rows.into_iter();
    for (id, topics) in &docs {
        let mut last = f32::INFINITY;
        let mut left = topics.clone();
        for (doc, topic) in rows.by_ref().take(topics.len().max(1)) {
            let Some((topic, q)) = topic else {
                assert_eq!((&doc, topics.len()), (id, 0));
                continue;
            };
            assert_eq!((&doc, left.remove(&topic)), (id, Some(q)), "{topic}");
            assert!(q <= last, "strongest first");
            last = q;
        }
        assert!(left.is_empty(), "{left:?}");
    }
    assert_eq!(rows.next(), None);
    assert_eq!(csv_docs(folder, "out.csv"), docs);
    let lines = |name: &str| folder.text(name).lines().map(str::to_owned).collect::<Vec<String>>();
    let one_line = |text: &str| text.replace(char::is_control, " ");
    let names: Vec<String> = topics.iter().map(|name| one_line(name.as_str().expect("a name"))).collect();
    assert_eq!(lines("out.npz.topics.txt"), names);
    assert_eq!(lines("out.npz.ids.txt"), docs.iter().map(|doc| one_line(&doc.0)).collect::<Vec<_>>());
    let matrix = npz_topics(&read_npz(folder, "out.npz"), topics);
    assert_eq!(matrix, docs.iter().map(|doc| doc.1.clone()).collect::<Vec<_>>());
    docs
}

#[test]
fn all_outputs_agree_on_the_golden_cases_at_any_threshold() {
    let mut n_topics = 0;
    for case in (0..N_GOLDEN).map(golden) {
        let folder = Folder::with_golden(&case);
        let topics = list(&case["model"]["topics"]);
        infer_all(&folder, "model.json docs.jsonl");
        let docs = check_agreement(&folder, topics);
        assert_eq!(docs.len(), list(&case["docs"]).len());
        n_topics += docs.iter().map(|doc| doc.1.len()).sum::<usize>();
    }
    assert!(n_topics > 100, "{n_topics}");
    let case = golden(3);
    let (folder, topics) = (Folder::with_golden(&case), list(&case["model"]["topics"]));
    infer_all(&folder, "model.json docs.svm --threshold 0 --bound full");
    assert!(check_agreement(&folder, topics).iter().all(|doc| doc.1.len() == topics.len()));
    infer_all(&folder, "model.json docs.svm --threshold 1");
    let strong = check_agreement(&folder, topics);
    assert_eq!(strong.len(), list(&case["docs"]).len(), "a row per document, empty or not");
    assert!(strong.iter().all(|doc| doc.1.values().all(|&q| q == 1.0)), "{strong:?}");
}

/// The third document has no topic at all.
#[test]
fn log_odds_are_those_of_q_in_all_formats() {
    let folder = Folder::new();
    folder.write("model.tsv", PANTRY);
    folder.write("docs.jsonl", "{\"tokens\":[\"eat\"]}\n{\"tokens\":[\"apple\",\"eat\"]}\n{\"tokens\":[]}\n");
    infer_all(&folder, "model.tsv docs.jsonl --threshold 0.3");
    let q: Vec<Doc> = jsonl_docs(&folder, "out.jsonl");
    assert!(q[2].1.is_empty() && !q[1].1.is_empty(), "{q:?}");
    infer_all(&folder, "model.tsv docs.jsonl --threshold 0.3 --log-odds");
    let lines = folder.json_lines("out.jsonl");
    let (tsv, csv) = (folder.table("out.tsv"), csv_records(&folder.text("out.csv")));
    let parquet = parquet_rows(&folder, "out.parquet");
    assert_eq!(parquet, tsv_rows(&folder, "out.tsv"));
    assert_eq!((tsv[0][2].as_str(), lines[0].get("topics")), ("log_odds", None));
    let schema = open_parquet(&folder, "out.parquet").metadata().file_metadata().schema_descr_ptr();
    assert_eq!(schema.column(2).name(), "log_odds");
    let topics = ["food", "farm", "fruit", "bread"].map(serde_json::Value::from);
    let matrix = npz_topics(&read_npz(&folder, "out.npz"), &topics);
    for (at, (_, q)) in q.iter().enumerate() {
        let values = lines[at]["log_odds"].as_object().expect("log-odds");
        assert_eq!(values.len(), q.len());
        for (topic, value) in values {
            let (value, q) = (number(value), f64::from(q[topic]));
            assert!(
                (value - (q / (1.0 - q)).ln()).abs() < 1e-4 * (1.0 + value.abs()),
                "{topic}: {value}, q {q}"
            );
            assert_eq!(matrix[at][topic], value as f32);
            assert!(parquet.contains(&(at.to_string(), Some((topic.clone(), value as f32)))), "{parquet:?}");
        }
        for (column, name) in csv[0].iter().enumerate().skip(1) {
            let value = values.get(name).map(|value| number(value) as f32);
            assert_eq!(csv[at + 1][column].parse().ok(), value, "what is left out is empty");
        }
    }
}

#[test]
fn the_same_bytes_again_and_on_any_number_of_threads() {
    let folder = Folder::new();
    folder.run("synth --preset tiny --docs 3000 -o tiny");
    for extension in EXTENSIONS {
        let run = |name: &str, threads: u32| {
            let model = "infer tiny/network.safetensors tiny/corpus.svm";
            folder.run(&format!("{model} -o {name}.{extension} --threads {threads} --backend cpu"));
            folder.bytes(&format!("{name}.{extension}"))
        };
        let first = run("a", 1);
        assert!(first == run("a", 1), "{extension}: a second run");
        assert!(first == run("b", 2), "{extension}: two threads, another name");
    }
}

#[test]
fn parquet_has_types_dictionaries_bounded_row_groups_and_says_what_it_holds() {
    let folder = Folder::new();
    folder.run("synth --preset tiny --docs 70000 -o tiny");
    for extension in ["parquet", "tsv"] {
        folder.run(&format!(
            "infer tiny/network.safetensors tiny/corpus.svm -o out.{extension} --threshold 0 --bound full --backend cpu"
        ));
    }
    let reader = open_parquet(&folder, "out.parquet");
    let metadata = reader.metadata();
    let about = metadata.file_metadata().key_value_metadata().unwrap();
    let about: Vec<(&str, &str)> =
        about.iter().map(|entry| (entry.key.as_str(), entry.value.as_deref().unwrap())).collect();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        about,
        [
            ("noisyor.version", version),
            ("noisyor.bound", "full"),
            ("noisyor.q", "mean field"),
            ("noisyor.docs", "70000")
        ]
    );
    assert!(metadata.num_row_groups() > 1, "{}", metadata.num_row_groups());
    for group in metadata.row_groups() {
        assert!(group.num_rows() <= 1 << 20);
        for column in &group.columns()[..2] {
            assert!(column.encodings().any(|encoding| encoding == Encoding::RLE_DICTIONARY));
            assert!(column.column_descr().logical_type_ref().is_some(), "text, not bytes");
        }
    }
    assert!(parquet_rows(&folder, "out.parquet") == tsv_rows(&folder, "out.tsv"));
}

#[test]
fn an_empty_corpus_gives_valid_empty_files() {
    let case = golden(1);
    let folder = Folder::with_golden(&case);
    folder.write("empty.jsonl", "");
    infer_all(&folder, "model.json empty.jsonl");
    let topics = list(&case["model"]["topics"]);
    assert_eq!(check_agreement(&folder, topics), []);
    let csr = read_npz(&folder, "out.npz");
    assert_eq!((csr.shape, csr.indptr), (vec![0, topics.len() as i64], vec![0]));
}

#[test]
fn ids_with_odd_characters_come_back() {
    let long = "x".repeat(100_000);
    let ids =
        ["tab\there", "line\nend\r", "", "ünïcode ☃ 文", "quote\"'\\", "nul\0", " ", "same", "same", &long];
    let folder = Folder::new();
    folder.write("model.tsv", PANTRY);
    let line = |id: &str| json!({"id": id, "tokens": ["eat", "apple"]}).to_string() + "\n";
    folder.write("docs.jsonl", ids.map(line).concat());
    infer_all(&folder, "model.tsv docs.jsonl");
    let topics = ["food", "farm", "fruit", "bread"].map(serde_json::Value::from);
    let docs = check_agreement(&folder, &topics);
    // An empty id is none: the document's number stands for it.
    let expected = ids.map(|id| if id.is_empty() { "2" } else { id });
    assert_eq!(docs.iter().map(|doc| doc.0.as_str()).collect::<Vec<_>>(), expected);
    assert!(docs.iter().all(|doc| !doc.1.is_empty()), "{docs:?}");
}

#[test]
fn a_missing_folder_or_bad_documents_leave_nothing_behind() {
    let folder = Folder::with_golden(&golden(1));
    folder.write("bad.jsonl", "{\"tokens\":[]}\nnot JSON\n");
    let before = folder.names_in(".");
    for extension in EXTENSIONS {
        let missing = format!("nowhere/out.{extension}");
        folder.fails(&format!("infer model.json docs.svm -o {missing}"), 3, &[&missing]);
        folder.fails(&format!("infer model.json bad.jsonl -o out.{extension}"), 2, &["bad.jsonl:2"]);
        let taken = format!("folder.{extension}");
        std::fs::create_dir(folder.path(&taken)).unwrap();
        folder.fails(&format!("infer model.json docs.svm -o {taken}"), 2, &[&format!("{taken} is a folder")]);
        std::fs::remove_dir(folder.path(&taken)).unwrap();
        if extension == "npz" {
            std::fs::copy(folder.path("docs.svm"), folder.path("out.npz.ids.txt")).unwrap();
            let itself = "infer model.json out.npz.ids.txt --format svmlight -o out.npz";
            folder.fails(itself, 2, &["out.npz.ids.txt", "another file"]);
            std::fs::remove_file(folder.path("out.npz.ids.txt")).unwrap();
        }
        assert_eq!(folder.names_in("."), before, "{extension}");
    }
}

/// A limit on the size of files stands for a full disk: it needs no privileges. The signal that comes with it is off.
#[cfg(unix)]
#[test]
fn a_full_disk_is_told_once_and_leaves_nothing_behind() {
    const BLOCK: usize = 512;
    let folder = Folder::new();
    folder.run("synth --preset tiny --docs 5000 -o tiny");
    let program = assert_cmd::cargo::cargo_bin!("noisyor");
    let infer = "infer tiny/network.safetensors tiny/corpus.svm --backend cpu --quiet -o";
    for extension in EXTENSIONS {
        let out = format!("out.{extension}");
        folder.run(&format!("{infer} {out}"));
        let n_blocks = folder.bytes(&out).len() / BLOCK;
        for name in folder.names_in(".").iter().filter(|name| name.starts_with(&out)) {
            std::fs::remove_file(folder.path(name)).unwrap();
        }
        // At once, in the middle, and when all but the last bytes are written.
        for limit in [0, 1, n_blocks / 2, n_blocks] {
            let script = format!("trap '' XFSZ; ulimit -f {limit}; exec {} {infer} {out}", program.display());
            let output = std::process::Command::new("sh")
                .args(["-c", &script])
                .current_dir(folder.path(""))
                .output()
                .unwrap();
            let message = text(&output.stderr);
            assert_eq!(output.status.code(), Some(3), "{out}, {limit} blocks: {message}");
            assert!(message.starts_with(&format!("noisyor: {out}")), "{message}");
            assert_eq!(message.lines().count(), 1, "{message}");
            assert_eq!(folder.names_in("."), ["tiny"], "{out}, {limit} blocks");
        }
    }
}
