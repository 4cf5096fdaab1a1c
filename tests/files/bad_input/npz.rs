use super::support::{Table, fine, flipped, gzip, unreadable, zst};
use std::io::{Cursor, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const TABLE: Table = Table { beside: &[("three.txt", "a\nb\nc\n")], ..Table::new("a.npz", "") };

/// A member: its name and its bytes.
type Member = (&'static str, Vec<u8>);

fn npy(descr: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
    let dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    [b"\x93NUMPY\x01\0".as_slice(), &(dict.len() as u16).to_le_bytes(), dict.as_bytes(), elements].concat()
}

fn whole(numbers: &[i64]) -> Vec<u8> {
    let elements: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    npy("<i8", &format!("({},)", numbers.len()), &elements)
}

fn floats(numbers: &[f64]) -> Vec<u8> {
    let elements: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    npy("<f8", &format!("({},)", numbers.len()), &elements)
}

/// Two documents of two tokens each, one of which is absent.
fn csr() -> Vec<Member> {
    vec![
        ("indices.npy", whole(&[0, 2, 4, 1])),
        ("indptr.npy", whole(&[0, 2, 4])),
        ("format.npy", npy("|S3", "()", b"csr")),
        ("shape.npy", whole(&[2, 5])),
        ("data.npy", floats(&[1.0, 0.5, 0.0, 2.0])),
    ]
}

fn archive(members: &[Member], method: CompressionMethod) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        zip.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn stored(members: &[Member]) -> Vec<u8> {
    archive(members, CompressionMethod::Stored)
}

/// The good one with another member.
fn with(name: &'static str, bytes: Vec<u8>) -> Vec<u8> {
    let others = csr().into_iter().filter(|(other, _)| *other != name);
    stored(&others.chain([(name, bytes)]).collect::<Vec<_>>())
}

#[test]
fn odd_but_legal() {
    let good = stored(&csr());
    TABLE.run(
        7,
        vec![
            fine("as it should be", &good, 2, 3),
            fine("deflated", archive(&csr(), CompressionMethod::Deflated), 2, 3),
            fine("gzip around", gzip(&good), 2, 3).named("a.npz.gz"),
            fine("zstd around", zst(&good), 2, 3).named("a.npz.zst"),
            fine("duplicates count once", with("indices.npy", whole(&[0, 0, 4, 1])), 2, 2),
            fine("another member", stored(&[csr(), vec![("more.npy", whole(&[1]))]].concat()), 2, 3),
            fine("another name", &good, 2, 3).named("a.dat").with("--format npz"),
        ],
    );
}

#[test]
fn faults() {
    let good = stored(&csr());
    let last = good.windows(8).position(|bytes| bytes == 1i64.to_le_bytes()).unwrap();
    TABLE.run(
        25,
        vec![
            unreadable("an empty file", b"", &["zip archive", "save_npz"]),
            unreadable("text", b"0 1:1\n", &["zip archive", "save_npz"]),
            unreadable("cut short", &good[..good.len() - 30], &["zip archive"]),
            unreadable("cut in half", &good[..good.len() / 2], &["zip archive"]),
            unreadable("a byte changed", flipped(good.clone(), last), &["indices.npy", "checksum", "fetch"]),
            unreadable("gzip cut short", &gzip(&good)[..60], &["damaged or cut short"]).named("a.npz.gz"),
            unreadable(
                "a dense array",
                stored(&[("arr_0.npy", floats(&[1.0]))]),
                &["no format.npy", "save_npz"],
            ),
            unreadable(
                "another sparse format",
                with("format.npy", npy("|S3", "()", b"bsr")),
                &["'bsr'", "tocsr"],
            ),
            unreadable(
                "control characters",
                with("format.npy", npy("|S5", "()", b"\x1b[31m")),
                &["'\\u{1b}[31m'"],
            ),
            unreadable(
                "column -1",
                with("indices.npy", whole(&[0, -1, 4, 1])),
                &["entry 1", "column -1", "5", "again"],
            ),
            unreadable(
                "a column beyond the shape",
                with("indices.npy", whole(&[0, 5, 4, 1])),
                &["column 5", "5"],
            ),
            unreadable(
                "a column beyond u32",
                with("indices.npy", whole(&[0, 1 << 40, 4, 1])),
                &["column 1099511627776"],
            ),
            unreadable("too few columns", with("indices.npy", whole(&[0, 1])), &["2 elements instead of 4"]),
            unreadable(
                "nan",
                with("data.npy", floats(&[f64::NAN, 1.0, 1.0, 1.0])),
                &["row 0, column 0", "NaN", "replace"],
            ),
            unreadable(
                "inf",
                with("data.npy", floats(&[1.0, f64::INFINITY, 1.0, 1.0])),
                &["row 0, column 2", "inf"],
            ),
            unreadable("indptr falls", with("indptr.npy", whole(&[0, 4, 2])), &["indptr", "2 after 4"]),
            unreadable(
                "indptr ends early",
                with("indptr.npy", whole(&[0, 2, 3])),
                &["indptr ends with 3", "4 entries"],
            ),
            unreadable("indptr is negative", with("indptr.npy", whole(&[0, -1, 4])), &["indptr has -1"]),
            unreadable(
                "10^12 rows",
                with("shape.npy", whole(&[1_000_000_000_000, 5])),
                &["1000000000000 rows", "4294967295"],
            ),
            unreadable(
                "10^12 columns",
                with("shape.npy", whole(&[2, 1_000_000_000_000])),
                &["1000000000000 columns"],
            ),
            unreadable("a negative shape", with("shape.npy", whole(&[2, -5])), &["-5 columns"]),
            unreadable(
                "10^12 entries",
                with("data.npy", npy("<f8", "(1000000000000,)", &[0; 8])),
                &["data.npy", "do not agree"],
            ),
            unreadable("objects", with("data.npy", npy("|O", "(4,)", &[])), &["'|O'"]),
            unreadable("two dimensions", with("data.npy", npy("<f8", "(2, 2)", &[0; 32])), &["2 dimensions"]),
            unreadable(
                "no array",
                with("data.npy", b"nonsense".to_vec()),
                &["data.npy is not a NumPy array"],
            ),
            unreadable("more columns than names", &good, &["5 columns", "3 names"]).with("--vocab three.txt"),
        ],
    );
}
