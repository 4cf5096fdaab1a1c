use super::support::{Case, KEEP_ALL, Table, fine, flipped, gzip, unreadable, zst};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

const TABLE: Table = Table::new("a.parquet", KEEP_ALL);

/// A file with one column of bytes, a value a row.
fn file(column: &str, values: &[&[u8]]) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(&format!("message m {{ {column} }}")).unwrap());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let values: Vec<_> = values.iter().map(|value| ByteArray::from(value.to_vec())).collect();
    let (levels, repeated) = (vec![1; values.len()], vec![0; values.len()]);
    column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), Some(&repeated)).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

fn texts(values: &[&[u8]]) -> Vec<u8> {
    file("optional binary text (UTF8);", values)
}

fn tokens(values: &[&[u8]]) -> Vec<u8> {
    file("repeated binary tokens (UTF8);", values)
}

fn numbers() -> Vec<u8> {
    let schema = Arc::new(parse_message_type("message m { required double stars; }").unwrap());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<DoubleType>().write_batch(&[1.0], None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

fn good() -> Vec<u8> {
    texts(&[b"the cat", b"", b"dog"])
}

#[test]
fn odd_but_legal() {
    TABLE.run(
        7,
        vec![
            fine("text", good(), 3, 3),
            fine("tokens", tokens(&[b"cat", b" "]), 2, 2),
            fine("no rows", texts(&[]), 0, 0),
            fine("gzip around", gzip(good()), 3, 3).named("a.parquet.gz"),
            fine("zstd around", zst(good()), 3, 3).named("a.pq.zst"),
            fine("the only column under another name", file("optional binary body (UTF8);", &[b"cat"]), 1, 1),
            fine("a long text", texts(&["cat dog ".repeat(100_000).as_bytes()]), 1, 2),
            fine("another name", good(), 3, 3).named("a.dat").with("--format parquet"),
        ],
    );
}

#[test]
fn faults() {
    let good = good();
    let end = good.len();
    let damaged: &[&str] = &["damaged", "again"];
    let mut huge_footer = good.clone();
    huge_footer[end - 8..end - 4].copy_from_slice(&u32::MAX.to_le_bytes());
    TABLE.run(
        12,
        vec![
            unreadable("an empty file", b"", &["Parquet"]),
            unreadable("text", b"the cat\n", &["Parquet"]),
            unreadable("cut short", &good[..end - 5], damaged),
            unreadable("cut in half", &good[..end / 2], damaged),
            unreadable("only the end", &good[end - 8..], damaged),
            unreadable("another magic number", flipped(good.clone(), end - 1), damaged),
            unreadable("a footer beyond the file", huge_footer, damaged),
            unreadable("a page that is damaged", flipped(good.clone(), 6), damaged),
            unreadable("gzip cut short", &gzip(&good)[..60], &["damaged or cut short"]).named("a.parquet.gz"),
            unreadable("invalid UTF-8", texts(&[b"cat", b"\xff"]), &["row 2", "UTF-8"]),
            unreadable(
                "an empty token",
                tokens(&[b"cat", b""]),
                &["row 2: token 1 is empty", "leave it out"],
            ),
            unreadable("no such column", &good, &["'body'", "'text'"]).with("--text-column body"),
            unreadable("numbers for text", numbers(), &["stars"]),
            several(),
        ],
    );
}

/// All faults are listed, and have rows where other formats have lines.
fn several() -> Case {
    let bytes = texts(&[b"\xff", b"cat", b"\xfe"]);
    unreadable("two rows", bytes, &["row 1"]).and(&["row 3", "UTF-8"])
}
