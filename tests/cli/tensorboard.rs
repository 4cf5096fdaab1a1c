//! `train --tensorboard`: event files, decoded here by the formats' own rules and with a checksum of our own.

use crate::support::{Folder, PANTRY, RUN_FILES, number, pantry_docs};
use std::collections::BTreeMap;

fn pantry() -> Folder {
    let folder = Folder::new();
    folder.write("graph.tsv", PANTRY);
    folder.write("docs.jsonl", pantry_docs());
    folder
}

/// CRC-32C bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
        }
    }
    !crc
}

fn masked(bytes: &[u8]) -> u32 {
    let crc = crc32c(bytes);
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// The records of a file; panics where a length or a checksum is wrong.
fn records(mut file: &[u8]) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    while !file.is_empty() {
        let u32_at = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("so many bytes"));
        assert_eq!(u32_at(8), masked(&file[..8]), "checksum of a length");
        let length = u64::from_le_bytes(file[..8].try_into().expect("so many bytes")) as usize;
        assert_eq!(u32_at(12 + length), masked(&file[12..12 + length]), "checksum of a record");
        records.push(file[12..12 + length].to_vec());
        file = &file[16 + length..];
    }
    records
}

/// Fields of a protocol buffer: number, and the bytes or the number as bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return value;
            }
        }
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match key & 7 {
            0 => varint(&mut bytes).to_le_bytes().to_vec(),
            wire => {
                let length = match wire {
                    1 => 8,
                    5 => 4,
                    2 => varint(&mut bytes) as usize,
                    other => panic!("wire type {other}"),
                };
                let value = bytes[..length].to_vec();
                bytes = &bytes[length..];
                value
            }
        };
        fields.push((key >> 3, value));
    }
    fields
}

/// Step, wall time and scalars of every event behind the first, which must be the version.
fn events(folder: &Folder, run: &str) -> Vec<(u64, f64, BTreeMap<String, f32>)> {
    let below = format!("{run}/tensorboard");
    let names = folder.names_in(&below);
    assert_eq!(names.len(), 1, "{names:?}");
    assert!(names[0].starts_with("events.out.tfevents."), "{names:?}");
    let records = records(&folder.bytes(&format!("{below}/{}", names[0])));
    let field = |event: &[u8], number: u64| {
        fields(event).into_iter().find(|field| field.0 == number).map(|field| field.1)
    };
    assert_eq!(field(&records[0], 3).expect("a version"), b"brain.Event:2");
    let scalar = |(_, value): &(u64, Vec<u8>)| {
        let tag = String::from_utf8(field(value, 1).expect("a tag")).expect("UTF-8");
        (tag, f32::from_le_bytes(field(value, 2).expect("a field").try_into().expect("so many bytes")))
    };
    let event = |event: &Vec<u8>| {
        let eight = |number: u64| -> [u8; 8] {
            field(event, number).expect("a field").try_into().expect("so many bytes")
        };
        let scalars = fields(&field(event, 5).expect("a field")).iter().map(scalar).collect();
        (u64::from_le_bytes(eight(2)), f64::from_le_bytes(eight(1)), scalars)
    };
    records[1..].iter().map(event).collect()
}

/// Events say what the metrics say.
fn assert_mirrors(folder: &Folder, run: &str) {
    let (events, metrics) = (events(folder, run), folder.json_lines(&format!("{run}/metrics.jsonl")));
    assert_eq!(events.len(), metrics.len());
    for ((step, _, scalars), line) in events.iter().zip(&metrics) {
        assert_eq!(*step, line["step"].as_u64().expect("a step"));
        for (tag, key) in [
            ("bound/train", "train_elbo"),
            ("bound/held_out", "valid_elbo"),
            ("speed/documents_per_s", "docs_per_s"),
            ("speed/edges_per_s", "edges_per_s"),
            ("graph/edges", "n_edges"),
            ("progress/epoch", "epoch"),
        ] {
            assert_eq!(
                scalars.get(tag).copied(),
                line[key].as_f64().map(|value| value as f32),
                "{tag} at {step}"
            );
        }
    }
    let gap = |at: usize| events[at + 1].1 - events[at].1;
    let seconds = |at: usize| number(&metrics[at + 1]["seconds"]) - number(&metrics[at]["seconds"]);
    // Wall times are large numbers: their differences are exact to a fraction of a microsecond.
    (0..events.len() - 1).for_each(|at| assert!((gap(at) - seconds(at)).abs() < 1e-5));
}

#[test]
fn the_checksum_is_the_one_of_the_standard() {
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
}

#[test]
fn events_mirror_the_metrics() {
    let folder = pantry();
    folder.run("train docs.jsonl --graph graph.tsv --epochs 5 --patience 0 --tensorboard -o run");
    let mut files: Vec<&str> = RUN_FILES.to_vec();
    files.push("tensorboard");
    assert_eq!(folder.names_in("run"), files);
    assert_mirrors(&folder, "run");
    // Where nothing is held out there is no such tag.
    folder.run("train docs.jsonl --graph graph.tsv --epochs 2 --valid 0 --tensorboard -o none");
    assert!(events(&folder, "none").iter().all(|event| !event.2.contains_key("bound/held_out")));
    assert_mirrors(&folder, "none");
}

#[test]
fn a_run_that_goes_on_has_one_file_with_all_of_it() {
    let folder = pantry();
    folder.run("train docs.jsonl --graph graph.tsv --epochs 3 --patience 0 --tensorboard -o run");
    let before = folder.names_in("run/tensorboard");
    folder.run("train --resume run --epochs 6");
    assert_eq!(events(&folder, "run").len(), 6);
    assert_ne!(folder.names_in("run/tensorboard"), before, "a TensorBoard that looks must see another file");
    assert_mirrors(&folder, "run");
    // It can also begin later.
    folder.run("train docs.jsonl --graph graph.tsv --epochs 2 --patience 0 -o later");
    folder.run("train --resume later --epochs 4 --tensorboard");
    folder.run("train --resume later --epochs 5");
    assert_eq!(events(&folder, "later").len(), 5);
    assert_mirrors(&folder, "later");
    // Or after all of it, in any folder; what others have there stays.
    folder.run("train docs.jsonl --graph graph.tsv --epochs 2 --patience 0 -o after");
    folder.run("watch after --once --tensorboard after/tensorboard");
    folder.run("watch after --once --tensorboard after/tensorboard");
    assert_mirrors(&folder, "after");
    folder.write("other.txt", "");
    folder.run("watch after --once --tensorboard .");
    assert!(folder.path("other.txt").exists());
}

#[test]
fn a_run_that_cannot_work_leaves_nothing() {
    let folder = pantry();
    let before = folder.names_in(".");
    folder.write("empty.jsonl", "");
    folder.fails("train empty.jsonl --graph graph.tsv --tensorboard -o run", 2, &["no documents"]);
    std::fs::remove_file(folder.path("empty.jsonl")).unwrap();
    assert_eq!(folder.names_in("."), before);
}
