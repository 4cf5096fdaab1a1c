//! What the fuzz targets share: what must hold of every input, whatever its bytes.

use noisyor::baseline::load_baseline;
use noisyor::corpus::read::{Column, Columns, OnFault, Reader, Tokens, open_stream};
use noisyor::corpus::{
    Corpus, Df, Document, Format, IngestOptions, ReadOptions, WordOptions, align, check, ingest_reader, load_vocab,
    native,
};
use noisyor::monitor::Monitor;
use noisyor::network::{check_bytes, load_bytes};
use noisyor::{Error, Result};
use std::collections::BTreeSet;
use std::io::{Cursor, Write};
use std::path::Path;
use tempfile::NamedTempFile;
use twox_hash::XxHash3_64;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// More documents than this are counted, but neither kept nor taken in: a header of a few bytes may declare a million.
const KEPT: usize = 10_000;

/// Reads bytes in a format, strictly into memory and as a check does, and compares the two.
pub fn reader(format: Format, bytes: &[u8]) {
    reader_with(&ReadOptions { format: Some(format), ..ReadOptions::default() }, bytes);
}

/// A table with and without a header, its columns found by their names or given by number.
pub fn table(format: Format, bytes: &[u8]) {
    reader(format, bytes);
    let [one, two, three] = [1, 2, 3].map(|number| Some(Column::Number(number)));
    let text = if format == Format::Dense { None } else { one };
    let columns = Columns { text, id: two, label: three, header: bytes.len() % 2 == 1, separator: None };
    reader_with(&ReadOptions { format: Some(format), columns, ..ReadOptions::default() }, bytes);
}

/// As [`reader`], with options.
pub fn reader_with(options: &ReadOptions, bytes: &[u8]) {
    let (documents, n_documents, faults) = checked(options, bytes);
    let mut n_strict = 0;
    let outcome = open(options, bytes).and_then(|mut reader| {
        each_document(reader.as_mut(), &mut Err, |document| {
            assert!(
                documents.get(n_strict).is_none_or(|other| other == document),
                "a check reads another one"
            );
            n_strict += 1;
        })
    });
    same_fault(outcome, &faults);
    assert!(n_strict == n_documents || !faults.is_empty(), "{n_strict} documents, in a check {n_documents}");
    // Threads hand documents on, which takes far longer than to read them.
    if n_documents <= KEPT && XxHash3_64::oneshot(bytes) % 16 == 0 {
        take_in(options, bytes, &documents, &faults);
    }
}

/// Reads strictly into memory.
fn take_in(options: &ReadOptions, bytes: &[u8], documents: &[Document], faults: &[String]) {
    let Ok(reader) = open(options, bytes) else { return };
    let min_df = (reader.tokens() == Tokens::Words).then_some(Df::Docs(1));
    let words = WordOptions { min_df, ..WordOptions::default() };
    let (options, mut corpus) = (IngestOptions { words, ..IngestOptions::default() }, Corpus::default());
    let ingested = ingest_reader(name(), reader, &options, &mut corpus, &Monitor::default());
    if ingested.is_ok() {
        same_corpus(&corpus, documents);
    }
    same_fault(ingested.map(drop), faults);
}

fn name() -> &'static Path {
    Path::new("fuzz")
}

fn open(options: &ReadOptions, bytes: &[u8]) -> Result<Box<dyn Reader>> {
    open_stream(name(), Cursor::new(bytes.to_vec()), options)
}

/// The first documents of a check, how many there are, and the faults; the last one may be what ended it.
fn checked(options: &ReadOptions, bytes: &[u8]) -> (Vec<Document>, usize, Vec<String>) {
    let (mut documents, mut n_documents, mut faults) = (Vec::new(), 0, Vec::new());
    let mut on_fault = |fault: Error| {
        if faults.len() < KEPT {
            faults.push(fault.to_string());
        }
        Ok(())
    };
    let outcome = open(options, bytes).and_then(|mut reader| {
        let end = each_document(reader.as_mut(), &mut on_fault, |document| {
            n_documents += 1;
            if documents.len() < KEPT {
                documents.push(document.clone());
            }
        });
        // After an error, as after the last document, a reader is at its end.
        assert!(!reader.read(&mut Document::default(), &mut on_fault).unwrap(), "it goes on after its end");
        end
    });
    faults.extend(outcome.err().map(|error| error.to_string()));
    (documents, n_documents, faults)
}

fn each_document(
    reader: &mut dyn Reader,
    on_fault: &mut OnFault<'_>,
    mut on_document: impl FnMut(&Document),
) -> Result<()> {
    let mut document = Document::default();
    while reader.read(&mut document, on_fault)? {
        on_document(&document);
        document.clear();
    }
    Ok(())
}

/// Strict reading ends with the first fault that a check finds.
fn same_fault(strict: Result<()>, faults: &[String]) {
    assert_eq!(strict.err().map(|error| error.to_string()).as_ref(), faults.first());
}

/// Whether documents in memory are those that were read; of text, how many there are.
fn same_corpus(corpus: &Corpus, documents: &[Document]) {
    assert_eq!(corpus.n_docs(), documents.len());
    for (at, Document { tokens, words, text, id, label, .. }) in documents.iter().enumerate() {
        assert_eq!(corpus.label(at).unwrap_or(""), label);
        assert!(corpus.id(at) == id.as_str() || id.is_empty());
        let found = corpus.tokens(at);
        assert!(found.is_sorted_by(|a, b| a < b), "{found:?}");
        assert!(found.last().is_none_or(|&last| (last as usize) < corpus.n_tokens()));
        let names = corpus.token_names();
        if text.is_empty() && names.is_none() {
            assert_eq!(found.iter().collect::<BTreeSet<_>>(), tokens.iter().collect());
        } else if let Some(names) = names.filter(|_| text.is_empty() && tokens.is_empty()) {
            let found: BTreeSet<&str> = found.iter().map(|&token| names.get(token as usize)).collect();
            assert_eq!(found, words.iter().collect());
        }
    }
}

/// A zip archive of arrays; or such arrays one after another, from which one is made whose sizes and sums are right:
/// the format, the shape, the values, then the indices or rows, and the pointers or columns.
pub fn npz(bytes: &[u8]) {
    const START: &[u8] = b"\x93NUMPY";
    if !bytes.starts_with(START) {
        return reader(Format::Npz, bytes);
    }
    let mut begins: Vec<usize> =
        (0..bytes.len()).filter(|&at| bytes[at..].starts_with(START)).take(5).collect();
    begins.push(bytes.len());
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let members: [&[&str]; 5] = [&["format"], &["shape"], &["data"], &["indices", "row"], &["indptr", "col"]];
    for (names, range) in members.iter().zip(begins.windows(2)) {
        for name in *names {
            zip.start_file(format!("{name}.npy"), options).unwrap();
            zip.write_all(&bytes[range[0]..range[1]]).unwrap();
        }
    }
    reader(Format::Npz, &zip.finish().unwrap().into_inner());
}

/// A native corpus, as it is and with its checksums put right.
pub fn native_corpus(bytes: &[u8]) {
    open_native(bytes);
    if let Some(mended) = mended(bytes) {
        open_native(&mended);
    }
}

fn open_native(bytes: &[u8]) {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    if !native::is_native(file.path()) {
        return;
    }
    let check = check(file.path(), &ReadOptions::default(), &Default::default()).unwrap();
    let opened = native::open(file.path());
    assert_eq!(opened.is_ok(), check.n_faults == 0, "{:?}", check.faults);
    let Ok(corpus) = opened else { return };
    let summary = check.summary.unwrap();
    assert_eq!((summary.docs, summary.occurrences), (corpus.n_docs() as u64, corpus.n_occurrences() as u64));
    for at in 0..corpus.n_docs() {
        assert!(corpus.tokens(at).iter().all(|&token| (token as usize) < corpus.n_tokens()));
        let _ = (corpus.id(at), corpus.label(at));
    }
    assert!(corpus.token_names().is_none_or(|names| names.len() == corpus.n_tokens()));
}

/// The header is six numbers, then begin, length and sum of eight sections, then its own sum.
fn mended(bytes: &[u8]) -> Option<Vec<u8>> {
    const PLACES: usize = 48;
    const SUM: usize = 240;
    let mut mended = bytes.to_vec();
    let header = mended.first_chunk_mut::<248>()?;
    for place in (PLACES..SUM).step_by(24) {
        let number =
            |at: usize| header[at..at + 8].iter().rev().fold(0, |n, &byte| n << 8 | usize::from(byte));
        let end = number(place).saturating_add(number(place + 8));
        let section = bytes.get(number(place)..end).unwrap_or_default();
        header[place + 16..place + 24].copy_from_slice(&XxHash3_64::oneshot(section).to_le_bytes());
    }
    let sum = XxHash3_64::oneshot(&header[..SUM]);
    header[SUM..].copy_from_slice(&sum.to_le_bytes());
    Some(mended)
}

/// A model or graph, told apart by the name's ending; as it is, and with its checksum put right.
pub fn model(name: &str, bytes: &[u8]) {
    let Some((stored, content)) = load_model(name, bytes) else { return };
    let stored_at = bytes.windows(stored.len()).position(|window| window == stored.as_bytes());
    if let Some(at) = stored_at.filter(|_| !stored.is_empty()) {
        let mended = [&bytes[..at], content.as_bytes(), &bytes[at + stored.len()..]].concat();
        load_model(name, &mended);
    }
}

/// Loads strictly and checks; where the checksum alone is wrong, it returns the one that is stored and the right one.
fn load_model(name: &str, bytes: &[u8]) -> Option<(String, String)> {
    let name = Path::new(name);
    let check = check_bytes(name, bytes).unwrap();
    let loaded = load_bytes(name, bytes);
    // Which of several tensors at the same place the library names is up to chance.
    let told = |fault: &Error| fault.to_string().split("not a safetensors file").next().map(str::to_owned);
    assert_eq!(
        loaded.as_ref().err().map(told),
        check.faults.first().map(told),
        "strict loading and a check differ"
    );
    assert_eq!((loaded.is_ok(), check.summary.is_some()), (check.n_faults == 0, check.n_faults == 0));
    let message = check.faults.first().filter(|_| check.n_faults == 1)?.to_string();
    let (_, sums) = message.split_once("the checksum does not match (stored ")?;
    let (stored, rest) = sums.split_once(", content ")?;
    Some((stored.to_owned(), rest.split_once(')')?.0.to_owned()))
}

/// Text with phrases, then once more with the vocabulary that it gave; and the bytes as a vocabulary.
pub fn vocabulary(bytes: &[u8]) {
    let mut file = NamedTempFile::with_suffix(".txt").unwrap();
    file.write_all(bytes).unwrap();
    let vocab = load_vocab(file.path());
    let min_df = Df::Docs(bytes.len() as u64 % 3);
    let words = WordOptions { min_df: Some(min_df), phrases: Some(0.5), ..WordOptions::default() };
    if let Some((corpus, true)) = text(bytes, words.clone(), None) {
        let names: Vec<String> = corpus.token_names().unwrap().iter().map(str::to_owned).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "a name stands for two tokens");
        let (again, _) = text(bytes, words.clone(), Some(names)).unwrap();
        assert_eq!(again.n_docs(), corpus.n_docs());
        assert_eq!(again.token_names(), corpus.token_names());
    }
    if let Ok(vocab) = vocab {
        text(bytes, words, Some(vocab)).unwrap();
    }
}

/// The corpus, and whether it has names; none where there is a fault.
fn text(bytes: &[u8], words: WordOptions, vocab: Option<Vec<String>>) -> Option<(Corpus, bool)> {
    let read = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
    let reader = open(&read, bytes).ok()?;
    let (options, mut corpus) = (IngestOptions { read, vocab, words }, Corpus::default());
    ingest_reader(name(), reader, &options, &mut corpus, &Monitor::default()).ok()?;
    let named = corpus.token_names().is_some();
    Some((corpus, named))
}

/// The model of a baseline: whatever is loaded can score a document.
pub fn baseline(bytes: &[u8]) {
    let mut file = NamedTempFile::new().expect("a file");
    file.write_all(bytes).expect("room");
    let Ok(trained) = load_baseline(file.path()) else { return };
    let corpus = Corpus::from_tokens([vec![], vec![0, 2]]);
    let alignment = align(&corpus, &trained.names.tokens);
    let _ = trained.model.scores(&alignment.docs(&corpus), &[0, 1]);
    let _ = trained.model.features(&alignment.docs(&corpus), &[0, 1]);
}
