//! Files that ask for more than they are: sizes, nesting, numbers, and what is no file.

use noisyor::network::{check, check_bytes, load, load_bytes};
use serde_json::{Value, json};
use std::path::Path;

fn refused(name: &str, bytes: &[u8]) -> String {
    let error = load_bytes(name.as_ref(), bytes).expect_err("a fault").to_string();
    let check = check_bytes(name.as_ref(), bytes).unwrap();
    assert!(check.n_faults > 0, "{error}");
    for message in check.faults.iter().map(ToString::to_string).chain([error.clone()]) {
        assert!(!message.contains(char::is_control) && message.len() < 1_000, "{message}");
    }
    error
}

fn safetensors(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

#[test]
fn nesting_without_end() {
    let (open, close) = ("[".repeat(1_000_000), "]".repeat(1_000_000));
    for inner in [open.clone(), format!("{open}{close}")] {
        refused("model.json", inner.as_bytes());
        for field in ["edges", "leak", "topics", "training", "other"] {
            let text =
                json!({"format": "noisyor-model", "version": 1, "topics": [], "tokens": [], "edges": []});
            let text = text.to_string().replace('}', &format!(",\"{field}\":{inner}}}"));
            refused("model.json", text.as_bytes());
        }
        let once = json!({"format": "noisyor-model", "version": 1, "topics": [], "tokens": []}).to_string();
        refused("model.json", once.replace('}', &format!(",\"edges\":[{inner}]}}")).as_bytes());
        refused("model.safetensors", &safetensors(&inner, &[]));
        refused("model.safetensors", &safetensors(&format!("{{\"__metadata__\":{inner}}}"), &[]));
        let names = json!({"__metadata__": {
            "format": "noisyor-model", "version": "1", "names": inner, "training": "", "sha256": "",
        }});
        refused("model.safetensors", &safetensors(&names.to_string(), &[]));
    }
}

#[test]
fn headers_that_promise_too_much() {
    for length in [3, 100_000_000, 100_000_001, u64::MAX - 7, u64::MAX] {
        let message = refused("model.safetensors", &[&length.to_le_bytes()[..], b"{}"].concat());
        assert!(message.contains("not a safetensors file"), "{message}");
    }
    // Tensors of 2^61 - 1 bytes one after another: their end plus the header's length is beyond 2^64.
    let mut header = serde_json::Map::new();
    let size = (1u64 << 61) - 1;
    for at in 0..8 {
        let info = json!({"dtype": "U8", "shape": [size], "data_offsets": [at * size, (at + 1) * size]});
        header.insert(format!("t{at}"), info);
    }
    let info = |size: u64, begin: u64| json!({"dtype": "U8", "shape": [size], "data_offsets": [begin, begin + size]});
    for last in [0, 1, 7] {
        header.insert("leak".into(), info(last, 8 * size));
        let message =
            refused("model.safetensors", &safetensors(&Value::from(header.clone()).to_string(), &[0; 4]));
        assert!(message.contains("ends at byte"), "{message}");
    }
    let shapes = json!({"leak": {"dtype": "F32", "shape": [u64::MAX, 2], "data_offsets": [0, 4]}});
    refused("model.safetensors", &safetensors(&shapes.to_string(), &[0; 4]));
}

#[test]
fn numbers_beyond_their_range() {
    let model = json!({
        "format": "noisyor-model", "version": 1, "topics": ["t"], "tokens": ["w"],
        "leak": [1.0, 1.0], "edges": [[0, 1, 1.0]],
    })
    .to_string();
    assert!(load_bytes("model.json".as_ref(), model.as_bytes()).is_ok());
    let digits = "9".repeat(100_000);
    for number in ["4294967296", "-1", "1e999", "18446744073709551616", "0.5", "NaN", digits.as_str()] {
        for text in [
            model.replace("[0,1,1.0]", &format!("[{number},1,1.0]")),
            model.replace("[0,1,1.0]", &format!("[0,{number},1.0]")),
            model.replace("\"version\":1", &format!("\"version\":{number}")),
        ] {
            assert_ne!(text, model);
            refused("model.json", text.as_bytes());
        }
    }
    for number in ["1e999", "-1", "NaN", digits.as_str()] {
        refused("model.json", model.replace("[1.0,1.0]", &format!("[{number},1.0]")).as_bytes());
        refused("model.tsv", format!("\tt\t{number}\n\tw\t1\nt\tw\t1\n").as_bytes());
    }
}

#[test]
fn names_with_control_characters_stay_off_the_screen() {
    let evil = "\u{1b}[2J\u{7}\r";
    let model = json!({
        "format": "noisyor-model", "version": 1, "topics": [evil, "b"], "tokens": [evil], "edges": [[0, 1], [1, 0], [0, 0]],
    });
    refused("model.json", model.to_string().as_bytes());
    refused("model.tsv", format!("{evil}\n{evil}\t{evil}\t{evil}\n").as_bytes());
    refused("model.json", json!({"format": evil, "version": 1}).to_string().as_bytes());
    refused("model.json", json!({ evil: 1 }).to_string().as_bytes());
    refused("model.tsv", "x".repeat(10_000_000).as_bytes());
    let header = json!({"__metadata__": {"format": evil, "version": evil, "names": evil}});
    refused("model.safetensors", &safetensors(&header.to_string(), &[]));
}

#[test]
fn what_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let fails = |path: &Path, status: u8, part: &str| {
        for error in [load(path).unwrap_err(), check(path).unwrap_err()] {
            assert_eq!(error.exit_status(), status, "{error}");
            assert!(error.to_string().contains(part), "{error}");
        }
    };
    std::fs::create_dir(path("folder.json")).unwrap();
    fails(&path("folder.json"), 2, "folder.json: this is a folder");
    fails(&path("nowhere.json"), 3, "nowhere.json");
    // Only the length is large: nothing is written.
    std::fs::File::create(path("large.safetensors")).unwrap().set_len(17 << 30).unwrap();
    fails(&path("large.safetensors"), 2, "18253611008 bytes, and at most 17179869184");
    let mut program = assert_cmd::cargo::cargo_bin_cmd!("noisyor");
    let output = program.arg("topics").arg(path("folder.json")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/dev/zero", path("zero.tsv")).unwrap();
        fails(&path("zero.tsv"), 2, "this is a device");
        let fifo = path("pipe.tsv");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let writer = std::thread::spawn(move || std::fs::write(fifo, "t\tw\n"));
        assert_eq!(load(&path("pipe.tsv")).unwrap().graph.n_edges(), 1);
        writer.join().unwrap().unwrap();
    }
}
