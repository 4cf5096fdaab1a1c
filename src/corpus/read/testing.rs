//! What the tests of readers share.

use super::{Document, ReadOptions, Reader, open_stream};
use crate::error::{Error, Result};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::io::Write;
use std::path::Path;

pub(super) type Documents = Vec<Vec<u32>>;

fn opened(name: &str, bytes: impl AsRef<[u8]>) -> Result<Box<dyn Reader>> {
    let bytes = std::io::Cursor::new(bytes.as_ref().to_vec());
    open_stream(Path::new(name), bytes, &ReadOptions::default())
}

/// The next documents, their tokens in order and each once; after an error the reader must be at its end.
fn gather(
    reader: &mut dyn Reader,
    on_fault: &mut super::OnFault<'_>,
    documents: &mut Documents,
) -> Result<()> {
    let mut document = Document::default();
    loop {
        match reader.read(&mut document, on_fault) {
            Ok(true) => {
                document.tokens.sort_unstable();
                document.tokens.dedup();
                documents.push(document.tokens.clone());
                document.clear();
            }
            end => {
                assert!(!reader.read(&mut document, on_fault).unwrap(), "it goes on after its end");
                return end.map(drop);
            }
        }
    }
}

/// Reads strictly.
pub(super) fn documents(name: &str, bytes: impl AsRef<[u8]>) -> Result<Documents> {
    let mut documents = Vec::new();
    gather(opened(name, bytes)?.as_mut(), &mut Err, &mut documents)?;
    Ok(documents)
}

/// Reads on behind faults, and gives them in order; the last one may be an error that ends reading.
pub(super) fn check(name: &str, bytes: impl AsRef<[u8]>) -> (Documents, Vec<String>) {
    let (mut documents, mut faults) = (Vec::new(), Vec::new());
    let mut on_fault = |fault: Error| {
        faults.push(fault.to_string());
        Ok(())
    };
    let outcome =
        opened(name, bytes).and_then(|mut reader| gather(reader.as_mut(), &mut on_fault, &mut documents));
    faults.extend(outcome.err().map(|error| error.to_string()));
    (documents, faults)
}

/// The one fault of a file: strict reading ends with it, and a check finds it alone.
pub(super) fn fault(name: &str, bytes: impl AsRef<[u8]>) -> String {
    let (_, faults) = check(name, &bytes);
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!(documents(name, bytes).unwrap_err().to_string(), faults[0]);
    faults[0].clone()
}

/// Each of the entries `(entry, what is said of it)`, and those that every format of entries refuses, put in the place of `2 3 1` in
/// a good file (name, text, line of that entry) of four documents and five tokens: it is named with its line, and a check reads
/// all others. `names`: what the format calls the three numbers of an entry.
pub(super) fn assert_entry_faults(
    (name, good, line): (&str, &str, usize),
    [row, column, value]: [&str; 3],
    others: &[(String, String)],
) {
    let common = [
        ("0 1 1", format!("{row} 0: they count from 1")),
        ("1 0 1", format!("{column} 0: they count from 1")),
        ("-1 1 1", format!("{row} '-1' is not a whole number above zero")),
        ("5 1 1", format!("{row} 5 is above 4, which the header declares")),
        ("1 6 1", format!("{column} 6 is above 5, which the header declares")),
        ("1 x 1", format!("{column} 'x' is not a whole number above zero")),
        ("1 1", format!("'1 1' is not '{row} {column} {value}'")),
        ("1 1 1 1", format!("'1 1 1 1' is not '{row} {column} {value}'")),
    ];
    let others = others.iter().map(|(entry, said)| (&**entry, said));
    for (entry, said) in common.iter().map(|(entry, said)| (*entry, said)).chain(others) {
        let text = good.replacen("2 3 1", entry, 1);
        let found = fault(name, &text);
        assert!(found.starts_with(&format!("{name}:{line}: {said}")), "{found}");
        assert_eq!(check(name, &text).0, [vec![0, 4], vec![1], vec![], vec![0]], "{entry}");
    }
}

pub(super) fn gzip(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes.as_ref()).unwrap();
    encoder.finish().unwrap()
}

/// Whatever is done to some bytes, reading the file that `wrap` makes of them ends, and without panic.
pub(super) fn survives_mutations(name: &str, bytes: &[u8], wrap: impl Fn(Vec<u8>) -> Vec<u8>) {
    let mut rng = ChaCha8Rng::seed_from_u64(bytes.len() as u64);
    for _ in 0..2000 {
        let mut mutated = bytes.to_vec();
        for _ in 0..rng.random_range(1..6) {
            let at = rng.random_range(0..mutated.len());
            match rng.random_range(0..5) {
                0 => mutated[at] = rng.random_range(0..=255),
                1 => mutated[at] ^= 1 << rng.random_range(0..8),
                2 => mutated.insert(at, b"0123456789-.% \n\0\xff"[rng.random_range(0..17)]),
                3 if mutated.len() > 1 => drop(mutated.remove(at)),
                _ => mutated.truncate(at.max(1)),
            }
        }
        let mutated = wrap(mutated);
        let _ = documents(name, &mutated);
        let _ = check(name, &mutated);
    }
}

/// All documents and faults of these bytes.
pub(super) fn read_all(
    name: &str,
    bytes: &[u8],
    options: &ReadOptions,
) -> Result<(Vec<Document>, Vec<String>)> {
    let mut reader = open_stream(Path::new(name), std::io::Cursor::new(bytes.to_vec()), options)?;
    let (mut documents, mut faults) = (Vec::new(), Vec::new());
    let mut document = Document::default();
    loop {
        let read = reader.read(&mut document, &mut |fault| {
            faults.push(fault.to_string());
            Ok(())
        });
        match read {
            Ok(true) => documents.push(std::mem::take(&mut document)),
            Ok(false) => return Ok((documents, faults)),
            Err(error) => {
                document.clear();
                assert!(!reader.read(&mut document, &mut Err).unwrap(), "an error is the end");
                return Err(error);
            }
        }
    }
}

/// Label, id and text of all documents, of which none is at fault.
pub(super) fn texts(name: &str, bytes: &[u8], options: &ReadOptions) -> Vec<[String; 3]> {
    let (documents, faults) = read_all(name, bytes, options).unwrap();
    assert!(faults.is_empty(), "{faults:?}");
    documents.into_iter().map(|document| [document.label, document.id, document.text]).collect()
}

/// The faults of these bytes, or the error that ends it all.
pub(super) fn faults(name: &str, bytes: &[u8], options: &ReadOptions) -> Vec<String> {
    read_all(name, bytes, options).map_or_else(|error| vec![error.to_string()], |(_, faults)| faults)
}

/// Some bytes changed, cut out or put in, `n` times over.
pub(super) fn mutations(good: &[u8], special: &[u8], n: u64) -> impl Iterator<Item = Vec<u8>> {
    (0..n).map(move |seed| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut bytes = good.to_vec();
        for _ in 0..rng.random_range(1..=4) {
            let at = rng.random_range(0..=bytes.len());
            let end = bytes.len().min(at + rng.random_range(0..=8));
            match rng.random_range(0..4) {
                0 => bytes[at..end].iter_mut().for_each(|byte| *byte = rng.random()),
                1 => drop(bytes.drain(at..end)),
                2 => bytes.insert(at, special[rng.random_range(0..special.len())]),
                _ => bytes.splice(at..at, good[..good.len().min(20)].to_vec()).for_each(drop),
            }
        }
        bytes
    })
}
