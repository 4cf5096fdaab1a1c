//! Reading: megabytes per CPU-second of every format, by the reader alone and all the way to a native corpus.
//!
//! `cargo bench --bench read`; `NOISYOR_DEBIAN=.../packages.tsv.gz` adds real text, which is not bundled.

mod common;

use common::Timing;
use noisyor::corpus::native::NativeWriter;
use noisyor::corpus::read::{Column, Columns, open};
use noisyor::corpus::{Document, IngestOptions, ReadOptions, ingest, native};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

const N_DOCS: usize = 100_000;
const N_TOKENS: usize = 20_000;

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let docs = documents();
    println!(
        "{N_DOCS} documents, {:.1} tokens each",
        docs.iter().map(Vec::len).sum::<usize>() as f64 / N_DOCS as f64
    );
    println!(
        "{:22} {:>8} {:>12} {:>7} {:>16} {:>7}",
        "format", "MB", "reader MB/s", "spread", "to native MB/s", "spread"
    );
    for (name, bytes) in files(&docs) {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("written");
        measure(&path, &ReadOptions::default(), &folder.path().join("out.corpus"));
    }
    match std::env::var_os("NOISYOR_DEBIAN") {
        None => println!("Debian's descriptions left out: NOISYOR_DEBIAN is not set"),
        Some(packed) => {
            let mut text = Vec::new();
            let mut source = flate2::read::MultiGzDecoder::new(File::open(packed).expect("NOISYOR_DEBIAN"));
            std::io::copy(&mut source, &mut text).expect("gzip");
            let path = folder.path().join("debian.tsv");
            std::fs::write(&path, text).expect("written");
            let columns = Columns { text: Some(Column::Number(3)), ..Columns::default() };
            measure(
                &path,
                &ReadOptions { columns, ..ReadOptions::default() },
                &folder.path().join("out.corpus"),
            );
        }
    }
    open_native(folder.path());
}

fn measure(path: &Path, read: &ReadOptions, output: &Path) {
    let megabytes = std::fs::metadata(path).expect("a file").len() as f64 / 1e6;
    let (reader, _) = Timing::of(5, || {
        let mut reader = open(path, read, &Arc::default()).expect("opened");
        let (mut document, mut n_docs) = (Document::default(), 0);
        while reader.read(&mut document, &mut Err).expect("a document") {
            document.clear();
            n_docs += 1;
        }
        n_docs
    });
    let options = IngestOptions { read: read.clone(), ..IngestOptions::default() };
    let (whole, _) = Timing::of(5, || {
        let mut writer = writer(output);
        let paths = [path.to_owned()];
        ingest(&paths, &options, output.parent().expect("a folder"), &mut writer, &Arc::default())
            .expect("taken in");
        writer.commit().expect("written");
    });
    println!(
        "{:22} {megabytes:8.1} {:12.0} {:6.0}% {:16.0} {:6.0}%",
        path.file_name().and_then(|name| name.to_str()).unwrap_or(""),
        megabytes / reader.cpu(),
        reader.spread(),
        megabytes / whole.cpu(),
        whole.spread()
    );
}

fn writer(path: &Path) -> NativeWriter {
    NativeWriter::create(path).expect("a writer")
}

/// Opening a large native corpus must not depend on its size.
fn open_native(folder: &Path) {
    println!("\nopening a native corpus");
    for n_docs in [100_000_u64, 1_000_000, 4_000_000] {
        let path = folder.join("large.corpus");
        let mut writer = writer(&path);
        let mut tokens = Vec::new();
        for doc in 0..n_docs as u32 {
            tokens.clear();
            tokens.extend((0..30).map(|at| at * 700 + doc % 700));
            noisyor::corpus::Sink::push(&mut writer, &mut tokens, "", "").expect("pushed");
        }
        writer.commit().expect("written");
        let (opening, _) = Timing::of(5, || native::open(&path).expect("opened").n_docs());
        let (verifying, ()) =
            Timing::of(1, || native::open(&path).and_then(|corpus| corpus.verify()).expect("verified"));
        let bytes = std::fs::metadata(&path).expect("a file").len() as f64;
        println!(
            "{n_docs} documents, {:.0} MB: opened in {:.2} ms, verified at {:.1} GB/s",
            bytes / 1e6,
            1e3 * opening.wall(),
            bytes / verifying.wall() / 1e9
        );
    }
}

/// Token numbers by Zipf's law, from 5 to 50 a document.
fn documents() -> Vec<Vec<u32>> {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let token =
        |rng: &mut ChaCha8Rng| ((N_TOKENS as f64).powf(rng.random::<f64>()) as u32).min(N_TOKENS as u32) - 1;
    let document = |_| {
        let n = rng.random_range(5..50);
        let mut tokens: Vec<u32> = (0..n).map(|_| token(&mut rng)).collect();
        tokens.sort_unstable();
        tokens.dedup();
        tokens
    };
    (0..N_DOCS).map(document).collect()
}

/// A word for every token: syllables by its digits.
fn word(token: u32) -> String {
    const SYLLABLES: [&str; 10] = ["ka", "lo", "mi", "ren", "tu", "sha", "bel", "do", "vi", "nor"];
    let digits = format!("{:03}", token + 7);
    digits.bytes().map(|digit| SYLLABLES[usize::from(digit - b'0')]).collect()
}

fn files(docs: &[Vec<u32>]) -> Vec<(&'static str, Vec<u8>)> {
    let n_entries: usize = docs.iter().map(Vec::len).sum();
    let lines = |line: &dyn Fn(usize, &[u32]) -> String| -> String {
        docs.iter().enumerate().map(|(at, tokens)| line(at, tokens)).collect()
    };
    let joined = |tokens: &[u32], before: &str, between: &str, after: &str| -> String {
        let words: Vec<String> =
            tokens.iter().map(|&token| format!("{before}{}{after}", word(token))).collect();
        words.join(between)
    };
    let svm = lines(&|_, tokens| {
        let columns: String = tokens.iter().map(|token| format!(" {}:1", token + 1)).collect();
        format!("0{columns}\n")
    });
    let entries =
        lines(&|at, tokens| tokens.iter().map(|token| format!("{} {} 1\n", at + 1, token + 1)).collect());
    let text = lines(&|_, tokens| format!("The {}.\n", joined(tokens, "", ", of the ", "")));
    let tsv = lines(&|at, tokens| format!("{at}\tlabel\tThe {}.\n", joined(tokens, "", ", of the ", "")));
    let jsonl =
        lines(&|at, tokens| format!("{{\"id\":{at},\"tokens\":[{}]}}\n", joined(tokens, "\"", ",", "\"")));
    let csv = lines(&|at, tokens| format!("{at},\"The \"\"{}\"\".\"\n", joined(tokens, "", ", of the ", "")));
    let dense = docs[..20_000].iter().map(|tokens| {
        let mut row = String::with_capacity(401);
        (0..200).for_each(|token| row += if tokens.contains(&token) { "1," } else { "0," });
        row.pop();
        row + "\n"
    });
    vec![
        ("a.svm", svm.clone().into_bytes()),
        ("a.svm.gz", gzip(svm.as_bytes())),
        ("a.svm.zst", zstd::encode_all(svm.as_bytes(), 3).expect("zstd")),
        ("docword.a.txt", format!("{N_DOCS}\n{N_TOKENS}\n{n_entries}\n{entries}").into_bytes()),
        (
            "a.mtx",
            format!(
                "%%MatrixMarket matrix coordinate integer general\n{N_DOCS} {N_TOKENS} {n_entries}\n{entries}"
            )
            .into_bytes(),
        ),
        ("a.npz", npz(docs)),
        ("dense.csv", dense.collect::<String>().into_bytes()),
        ("tokens.jsonl", jsonl.into_bytes()),
        ("a.txt", text.clone().into_bytes()),
        ("a.txt.gz", gzip(text.as_bytes())),
        ("a.tsv", format!("id\tlabel\ttext\n{tsv}").into_bytes()),
        ("a.csv", format!("id,text\n{csv}").into_bytes()),
        ("a.parquet", parquet(text.lines())),
    ]
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("compressed");
    encoder.finish().expect("compressed")
}

fn npz(docs: &[Vec<u32>]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let mut member = |name: &str, descr: &str, shape: &str, bytes: &[u8]| {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).expect("a member");
        let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        while (header.len() + 11) % 64 != 0 {
            header.push(' ');
        }
        header.push('\n');
        let length = (header.len() as u16).to_le_bytes();
        zip.write_all(&[b"\x93NUMPY\x01\x00", length.as_slice(), header.as_bytes(), bytes].concat())
            .expect("written");
    };
    let indices: Vec<u8> = docs.iter().flatten().flat_map(|token| (*token as i32).to_le_bytes()).collect();
    let n = indices.len() / 4;
    let mut ends = vec![0_i32];
    docs.iter().for_each(|tokens| ends.push(ends[ends.len() - 1] + tokens.len() as i32));
    let indptr: Vec<u8> = ends.iter().flat_map(|end| end.to_le_bytes()).collect();
    let shape: Vec<u8> = [N_DOCS as i64, N_TOKENS as i64].iter().flat_map(|n| n.to_le_bytes()).collect();
    member("indices.npy", "<i4", &format!("({n},)"), &indices);
    member("indptr.npy", "<i4", &format!("({},)", N_DOCS + 1), &indptr);
    member("format.npy", "|S3", "()", b"csr");
    member("shape.npy", "<i8", "(2,)", &shape);
    member("data.npy", "|i1", &format!("({n},)"), &vec![1; n]);
    zip.finish().expect("finished").into_inner()
}

fn parquet<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let schema =
        Arc::new(parse_message_type("message m { required binary text (UTF8); }").expect("a schema"));
    let properties = Arc::new(WriterProperties::builder().set_dictionary_enabled(false).build());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).expect("a writer");
    let values: Vec<ByteArray> = texts.map(ByteArray::from).collect();
    let mut group = writer.next_row_group().expect("a group");
    let mut column = group.next_column().expect("a column").expect("a column");
    column.typed::<ByteArrayType>().write_batch(&values, None, None).expect("written");
    column.close().expect("closed");
    group.close().expect("closed");
    writer.into_inner().expect("finished")
}
