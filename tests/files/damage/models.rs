//! Models with flipped bits, with bytes overwritten, and cut short.
//!
//! A damaged file either does not load or holds what it held before, bit for bit: some spellings of JSON mean the same.

use noisyor::network::{Checksum, Loaded, Network, check_bytes, load_bytes, save};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Two layers, a name of two bytes a letter, one with characters that JSON escapes.
const EDGES: &str =
    "\tfood\t0.5\n\tfarm\t0.25\n\tfruit\t0.0625\n\té\t0.01\n\tsay \"\\\u{1}\"\t0.02\n\tpear\t0.03
food\tfruit\t1\nfarm\tfruit\t0.5\nfood\té\t1.5\nfruit\tsay \"\\\u{1}\"\t2\nfruit\tpear\t0.1\nfarm\tpear\t3\n";

/// The model as a file of this name, weights as the file holds them, with a training summary.
pub(crate) fn model(name: &str) -> (Vec<u8>, Loaded) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let edges = Path::new("model.tsv");
    let network = load_bytes(edges, EDGES.as_bytes()).unwrap().into_model(edges).unwrap();
    let training = r#"{"steps":3,"bound":-1.25}"#.to_owned();
    save(&Network { training, ..network }, &path).unwrap();
    let bytes = std::fs::read(path).unwrap();
    let loaded = load_bytes(name.as_ref(), &bytes).unwrap();
    (bytes, loaded)
}

#[derive(Debug, Default, PartialEq)]
struct Count {
    refused: usize,
    equal: usize,
}

/// Loads damaged files; one that loads must be equal to the original, with its checksum still there to vouch for it.
fn survey(name: &str, original: &Loaded, damaged: impl Iterator<Item = (String, Vec<u8>)>) -> Count {
    let mut count = Count::default();
    for (what, bytes) in damaged {
        let result = catch_unwind(AssertUnwindSafe(|| {
            (load_bytes(name.as_ref(), &bytes), check_bytes(name.as_ref(), &bytes).unwrap())
        }));
        let (loaded, check) = result.unwrap_or_else(|_| panic!("{name}, {what}: a panic"));
        match loaded {
            Err(e) => {
                assert!(check.n_faults > 0, "{name}, {what}: loading says {e}, checking says nothing");
                assert_eq!(e.exit_status(), 2, "{name}, {what}: {e}");
                assert!(check.summary.is_none());
                count.refused += 1;
            }
            Ok(loaded) => {
                assert_eq!(&loaded, original, "{name}, {what}: other content, not noticed");
                let summary = check.summary.unwrap_or_else(|| panic!("{name}, {what}: {:?}", check.faults));
                assert_eq!(summary.checksum, Checksum::Right, "{name}, {what}: the checksum is lost");
                count.equal += 1;
            }
        }
    }
    println!("{name}: {count:?}");
    count
}

fn flips(bytes: &[u8]) -> impl Iterator<Item = (String, Vec<u8>)> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    (0..1_000).map(move |_| {
        let (at, bit) = (rng.random_range(0..bytes.len()), rng.random_range(0..8));
        let mut flipped = bytes.to_vec();
        flipped[at] ^= 1 << bit;
        (format!("bit {bit} of byte {at}"), flipped)
    })
}

fn overwritten(bytes: &[u8]) -> impl Iterator<Item = (String, Vec<u8>)> {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    (0..200).map(move |_| {
        let at = rng.random_range(0..=bytes.len() - 16);
        let mut changed = bytes.to_vec();
        rng.fill_bytes(&mut changed[at..at + 16]);
        (format!("16 bytes from {at}"), changed)
    })
}

fn cut(bytes: &[u8]) -> impl Iterator<Item = (String, Vec<u8>)> {
    (0..bytes.len()).map(|length| (format!("cut to {length}"), bytes[..length].to_vec()))
}

#[test]
fn safetensors() {
    let (bytes, original) = model("model.safetensors");
    // Every bit counts: not even another white space is one bit away from the padding's spaces.
    let every_bit = (0..8 * bytes.len()).map(|bit| {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        (format!("bit {bit}"), flipped)
    });
    let count = survey("model.safetensors", &original, every_bit);
    assert_eq!(count, Count { refused: 8 * bytes.len(), equal: 0 });
    assert_eq!(survey("model.safetensors", &original, flips(&bytes)).equal, 0);
    assert_eq!(survey("model.safetensors", &original, overwritten(&bytes)).equal, 0);
    assert_eq!(survey("model.safetensors", &original, cut(&bytes)).equal, 0);
}

#[test]
fn json() {
    let (bytes, original) = model("model.json");
    let every_bit = (0..8 * bytes.len()).map(|bit| {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        (format!("bit {bit}"), flipped)
    });
    survey("model.json", &original, every_bit);
    survey("model.json", &original, flips(&bytes));
    assert_eq!(survey("model.json", &original, overwritten(&bytes)).equal, 0);
    // The end of the last line means nothing.
    assert_eq!(survey("model.json", &original, cut(&bytes)), Count { refused: bytes.len() - 1, equal: 1 });
}

/// Edge lists have no checksum, so that they can be edited; damage may go unnoticed but never ends in a panic.
#[test]
fn edge_lists() {
    for (what, bytes) in
        flips(EDGES.as_bytes()).chain(overwritten(EDGES.as_bytes())).chain(cut(EDGES.as_bytes()))
    {
        let result = catch_unwind(|| {
            let loads = load_bytes("model.tsv".as_ref(), &bytes).is_ok();
            assert_eq!(check_bytes("model.tsv".as_ref(), &bytes).unwrap().n_faults == 0, loads);
        });
        assert!(result.is_ok(), "{what}");
    }
}

#[test]
fn the_program_refuses_them() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["model.safetensors", "model.json"] {
        let (bytes, _) = model(name);
        for (what, damaged) in flips(&bytes).take(5).chain(cut(&bytes).skip(bytes.len() / 2).take(2)) {
            std::fs::write(folder.path().join(name), damaged).unwrap();
            let mut program = assert_cmd::cargo::cargo_bin_cmd!("noisyor");
            let output = program.arg("topics").arg(folder.path().join(name)).output().unwrap();
            let message = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{name}, {what}: {message}");
            assert!(message.contains(name) && !message.contains("panic"), "{name}, {what}: {message}");
        }
    }
}
