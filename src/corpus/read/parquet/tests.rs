use super::super::testing::{faults, mutations, read_all};
use super::super::{Column, Columns, ReadOptions, Unlisted, open, open_stream};
use super::pages::Pages;
use super::schema::check_sizes;
use crate::corpus::Document;
use crate::monitor::Monitor;
use parquet::basic::{Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

/// The values of a column in a row group, with definition and repetition levels.
#[derive(Clone)]
enum Cells {
    Bytes(Vec<&'static [u8]>, Vec<i16>, Vec<i16>),
    Longs(Vec<i64>, Vec<i16>),
    Ints(Vec<i32>, Vec<i16>),
    Doubles(Vec<f64>),
    Truths(Vec<bool>),
}
use Cells::{Bytes, Doubles, Ints, Longs, Truths};

fn file(schema: &str, properties: WriterProperties, groups: &[Vec<Cells>]) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap();
    for group in groups {
        let mut row_group = writer.next_row_group().unwrap();
        for cells in group.clone() {
            let mut column = row_group.next_column().unwrap().unwrap();
            match cells {
                Bytes(values, definition, repetition) => {
                    let values: Vec<_> =
                        values.into_iter().map(|value| ByteArray::from(value.to_vec())).collect();
                    let levels = |levels: &'_ Vec<i16>| (!levels.is_empty()).then(|| levels.clone());
                    let (definition, repetition) = (levels(&definition), levels(&repetition));
                    column.typed::<ByteArrayType>().write_batch(
                        &values,
                        definition.as_deref(),
                        repetition.as_deref(),
                    )
                }
                Longs(values, definition) => {
                    let definition = (!definition.is_empty()).then_some(&definition[..]);
                    column.typed::<Int64Type>().write_batch(&values, definition, None)
                }
                Ints(values, definition) => {
                    column.typed::<Int32Type>().write_batch(&values, Some(&definition), None)
                }
                Doubles(values) => column.typed::<DoubleType>().write_batch(&values, None, None),
                Truths(values) => column.typed::<BoolType>().write_batch(&values, None, None),
            }
            .unwrap();
            column.close().unwrap();
        }
        row_group.close().unwrap();
    }
    writer.close().unwrap();
    bytes
}

fn plain() -> WriterProperties {
    WriterProperties::default()
}

fn any() -> ReadOptions {
    ReadOptions::default()
}

/// Options with the columns of the text, the id and the label; empty: none.
fn columns(text: &str, id: &str, label: &str) -> ReadOptions {
    let [text, id, label] = [text, id, label].map(|column| column.parse::<Column>().ok());
    ReadOptions { columns: Columns { text, id, label, ..Columns::default() }, ..any() }
}

/// Tokens joined with '+', text, id and label of every document, of which none is at fault.
fn read(bytes: &[u8], options: &ReadOptions) -> Vec<String> {
    let (documents, faults) = read_all("a.parquet", bytes, options).unwrap();
    assert!(faults.is_empty(), "{faults:?}");
    let row = |document: &Document| {
        let words: Vec<_> = document.words.iter().collect();
        format!("{}|{}|{}|{}", words.join("+"), document.text, document.id, document.label)
    };
    documents.iter().map(row).collect()
}

const LISTS: &str = "message m {
    optional group tokens (LIST) { repeated group list { optional binary element (UTF8); } }
    optional binary id (UTF8);
    optional int64 label;
}";

/// Four rows: two tokens; none; null; one, a null, the same.
fn lists() -> Vec<Cells> {
    vec![
        Bytes(vec![b"a", b"bc", b"d", b"d"], vec![3, 3, 1, 0, 3, 2, 3], vec![0, 1, 0, 0, 0, 1, 1]),
        Bytes(vec![b"x", b"z"], vec![1, 0, 0, 1], vec![]),
        Longs(vec![-1, 7], vec![0, 1, 1, 0]),
    ]
}

const LISTS_READ: [&str; 4] = ["a+bc||x|", "|||-1", "|||7", "d+d||z|"];

#[test]
fn lists_of_tokens_with_nulls_ids_and_labels() {
    assert_eq!(read(&file(LISTS, plain(), &[lists()]), &any()), LISTS_READ);
    let twice = [LISTS_READ, LISTS_READ].concat();
    assert_eq!(read(&file(LISTS, plain(), &[lists(), lists()]), &any()), twice);
    assert_eq!(read(&file(LISTS, plain(), &[]), &any()), Vec::<String>::new());
}

#[test]
fn lists_of_two_levels_and_repeated_fields() {
    for schema in [
        "message m { required group words (LIST) { repeated binary array (UTF8); } }",
        "message m { repeated binary words (UTF8); }",
    ] {
        let cells = Bytes(vec![b"a", b"b", b"c"], vec![1, 1, 0, 1], vec![0, 1, 0, 0]);
        assert_eq!(read(&file(schema, plain(), &[vec![cells]]), &any()), ["a+b|||", "|||", "c|||"]);
    }
}

#[test]
fn text_with_ids_and_labels_of_any_type() {
    let schema = "message m {
        optional binary text (UTF8); required binary body; required double weight; required boolean label;
        optional int32 id (UINT_32);
    }";
    let bytes = file(
        schema,
        plain(),
        &[vec![
            Bytes(vec![b"one two"], vec![1, 0], vec![]),
            Bytes(vec![b"un", b"deux"], vec![], vec![]),
            Doubles(vec![0.5, 2.0]),
            Truths(vec![true, false]),
            Ints(vec![-1], vec![1, 0]),
        ]],
    );
    assert_eq!(read(&bytes, &any()), ["|one two|4294967295|true", "|||false"]);
    assert_eq!(read(&bytes, &columns("body", "3", "")), ["|un|0.5|true", "|deux|2|false"]);
    assert_eq!(read(&bytes, &columns("2", "label", "5"))[0], "|un|true|4294967295");
}

#[test]
fn rows_across_batches_pages_and_row_groups_under_every_codec() {
    const N: usize = 10_000;
    const WORDS: [&[u8]; 3] = [b"cat", b"dog", b"a longer word"];
    let schema = "message m {
        required group tokens (LIST) { repeated group list { required binary element (UTF8); } }
        optional int64 id;
    }";
    // Row n has n % 4 tokens, of which token k is word (n + k) % 3.
    let (mut values, mut definition, mut repetition) = (Vec::new(), Vec::new(), Vec::new());
    let mut expected = Vec::new();
    for row in 0..N {
        let words: Vec<_> = (0..row % 4).map(|k| WORDS[(row + k) % 3]).collect();
        definition.extend(if words.is_empty() { vec![0] } else { vec![1; words.len()] });
        repetition.extend((0..words.len().max(1)).map(|k| i16::from(k > 0)));
        expected.push(format!("{}||{row}|", String::from_utf8(words.join(&b'+')).unwrap()));
        values.extend(words);
    }
    let group = vec![Bytes(values, definition, repetition), Longs((0..N as i64).collect(), vec![1; N])];
    let expected = [&expected[..], &expected].concat();
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let gzip = Compression::GZIP(GzipLevel::default());
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY, zstd, gzip, Compression::LZ4_RAW] {
        for dictionary in [false, true] {
            for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
                let properties = WriterProperties::builder()
                    .set_compression(compression)
                    .set_dictionary_enabled(dictionary)
                    .set_encoding(Encoding::PLAIN)
                    .set_writer_version(version)
                    .set_data_page_row_count_limit(1000)
                    .set_write_batch_size(100)
                    .build();
                let bytes = file(schema, properties, &[group.clone(), group.clone()]);
                assert!(read(&bytes, &any()) == expected, "{compression:?} {dictionary} {version:?}");
            }
        }
    }
    let delta =
        WriterProperties::builder().set_dictionary_enabled(false).set_encoding(Encoding::DELTA_BYTE_ARRAY);
    let text = "message m { required binary text (UTF8); }";
    let delta = file(text, delta.build(), &[vec![Bytes(vec![b"a"], vec![], vec![])]]);
    let refused =
        "Parquet with this cannot be read: encoding DELTA_BYTE_ARRAY; write it plain or with a dictionary";
    assert_eq!(faults("a.parquet", &delta, &any()), [format!("a.parquet: {refused}")]);
}

#[test]
fn columns_that_cannot_hold_documents_are_named() {
    let schema = "message m {
        required group tokens (LIST) { repeated group list { required int64 element; } }
        required group pair { required int32 a; required int32 b; }
        required double weight;
    }";
    let bytes = file(schema, plain(), &[]);
    let fault = |options: &ReadOptions| faults("a.parquet", &bytes, options).concat();
    assert_eq!(fault(&any()), "a.parquet: column 'tokens' holds lists of type INT64; tokens must be strings");
    assert_eq!(
        fault(&columns("weight", "", "")),
        "a.parquet: column 'weight' is of type DOUBLE; text must be strings"
    );
    assert!(fault(&columns("2", "", "")).starts_with("a.parquet: column 'pair' has several parts"));
    assert_eq!(
        fault(&columns("body", "", "")),
        "a.parquet: there is no column 'body'; the columns are 'tokens', 'pair', 'weight'"
    );
    let unclear = file("message m { required int32 a; required int32 b; }", plain(), &[]);
    let unclear = faults("a.parquet", &unclear, &any()).concat();
    assert!(unclear.ends_with("give `text_column`, one of 'a', 'b'"), "{unclear}");
    let label = "message m { required binary text; repeated binary label; }";
    let label = file(label, plain(), &[]);
    assert_eq!(read(&label, &any()), Vec::<String>::new());
    let asked_for = faults("a.parquet", &label, &columns("text", "", "label")).concat();
    assert_eq!(asked_for, "a.parquet: column 'label' must be strings, numbers or truth values");
}

#[test]
fn a_row_that_is_not_utf8_is_passed_over() {
    let schema = "message m { required binary text; required int64 id; }";
    let text = Bytes(vec![b"one", b"t\xffo", b"three"], vec![], vec![]);
    let bytes = file(schema, plain(), &[vec![text, Longs(vec![1, 2, 3], vec![])]]);
    let (documents, faults) = read_all("a.parquet", &bytes, &any()).unwrap();
    let rows: Vec<_> = documents.iter().map(|document| (&*document.id, &*document.text)).collect();
    assert_eq!(rows, [("1", "one"), ("3", "three")]);
    assert!(faults[0].starts_with("a.parquet: row 2: a text or token is not UTF-8"), "{faults:?}");
}

#[test]
fn a_file_cut_short_or_of_another_kind_is_damaged() {
    let bytes = file(LISTS, plain(), &[lists(), lists()]);
    let long = vec![Bytes(vec![&[b'x'; 10_000]], vec![], vec![])];
    let long = file("message m { required binary text; }", plain(), &[long]);
    let beginless = [&long[..4], &long[8000..]].concat();
    let damages =
        [&b""[..], b"PAR1", b"id\ttext\na\tb\n", &bytes[..bytes.len() - 1], &bytes[1..], &beginless];
    for damaged in damages {
        let faults = faults("a.parquet", damaged, &any());
        assert!(faults[0].starts_with("a.parquet: the Parquet file is damaged ("), "{faults:?}");
    }
    let faults = faults("a.parquet", &beginless, &any());
    assert!(faults[0].contains("are not in the file of"), "{faults:?}");
}

/// A file with nothing but a schema: groups of one child, one in the other, and a column of text.
fn nested(n_groups: usize) -> Vec<u8> {
    let size =
        [(n_groups + 2) as u8 | 0x80, ((n_groups + 2) >> 7) as u8 | 0x80, ((n_groups + 2) >> 14) as u8];
    let groups = b"\x35\x00\x18\x01g\x15\x02\x00".repeat(n_groups);
    let text = b"\x15\x0c\x25\x00\x18\x04text\x00";
    let footer =
        [b"\x15\x02\x19\xfc", &size[..], b"\x48\x01m\x15\x02\x00", &groups, text, b"\x16\x00\x19\x0c\x00"];
    let footer = footer.concat();
    [b"PAR1", &footer[..], &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat()
}

#[test]
fn a_schema_that_would_overflow_the_stack_is_refused() {
    assert_eq!(read(&nested(1498), &any()), Vec::<String>::new());
    assert!(read_all("a.parquet", &nested(1499), &any()).is_err());
    let deep = faults("a.parquet", &nested(200_000), &any());
    assert!(deep[0].starts_with("a.parquet: the schema has 200002 elements, more than 1500"), "{deep:?}");
}

#[test]
fn more_rows_than_a_corpus_can_have_are_a_fault() {
    let bytes = file("message m { required binary text; }", plain(), &[]);
    let path = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(path.path(), &bytes).unwrap();
    let reader = super::SerializedFileReader::try_from(path.path()).unwrap();
    let metadata = super::FileReader::metadata(&reader);
    let column =
        ColumnChunkMetaData::builder(metadata.file_metadata().schema_descr().column(0)).build().unwrap();
    let with_rows = |n_rows: i64| {
        let schema = metadata.file_metadata().schema_descr_ptr();
        let group = RowGroupMetaData::builder(schema).set_num_rows(n_rows);
        let group = group.set_column_metadata(vec![column.clone()]).build().unwrap();
        check_sizes(&metadata.clone().into_builder().add_row_group(group).build(), bytes.len() as u64)
    };
    assert_eq!(with_rows(u32::MAX.into()), Ok(()));
    assert!(with_rows(i64::from(u32::MAX) + 1).unwrap_err().contains("4294967296 rows are more than"));
    assert!(with_rows(-1).unwrap_err().contains("row group 1 claims -1 rows"));
}

/// How many documents there are before the error, after which the reader must be at its end.
fn until_error(bytes: &[u8]) -> (usize, String) {
    let stream = std::io::Cursor::new(bytes.to_vec());
    let mut reader = open_stream("a.parquet".as_ref(), stream, &any()).unwrap();
    let (mut n, mut document) = (0, Document::default());
    loop {
        document.clear();
        match reader.read(&mut document, &mut Err) {
            Ok(more) => assert!(more, "no error after {n} documents"),
            Err(error) => {
                assert!(!reader.read(&mut document, &mut Err).unwrap());
                return (n, error.to_string());
            }
        }
        n += 1;
    }
}

#[test]
fn few_bytes_that_stand_for_many_are_refused() {
    const LONG: &[u8] = &[b'x'; 1000];
    let text = "message m { optional binary text; }";
    let list = "message m { repeated binary tokens; }";
    let continued = |n: usize| [&[0], vec![1; n - 1].as_slice()].concat();
    for (schema, cells, n_documents) in [
        (text, Bytes(vec![LONG; 400_000], vec![1; 400_000], vec![]), 15_650),
        (text, Bytes(vec![], vec![0; 1_000_000], vec![]), 262_144),
        (list, Bytes(vec![LONG; 400_000], vec![1; 400_000], continued(400_000)), 0),
    ] {
        let bytes = file(schema, plain(), &[vec![cells]]);
        let (n, error) = until_error(&bytes);
        assert_eq!(n, n_documents);
        assert!(error.contains("which no real corpus does"), "{error}");
    }
}

#[test]
fn a_file_that_changes_is_an_error() {
    let path = tempfile::Builder::new().suffix(".parquet").tempfile().unwrap();
    let bytes = file(LISTS, plain(), &[lists()]);
    std::fs::write(path.path(), &bytes).unwrap();
    let mut reader = open(path.path(), &any(), &Arc::new(Monitor::default())).unwrap();
    assert!(reader.read(&mut Document::default(), &mut Err).unwrap());
    std::fs::write(path.path(), [&bytes[..], b"more"].concat()).unwrap();
    let error = (0..4).find_map(|_| reader.read(&mut Document::default(), &mut Err).err()).unwrap();
    assert!(error.to_string().contains("the file changed while it was read"), "{error}");
    assert!(!reader.read(&mut Document::default(), &mut Err).unwrap());
}

/// A chunk of one page.
struct One(Option<Page>);

impl Iterator for One {
    type Item = parquet::errors::Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(Ok)
    }
}

impl PageReader for One {
    fn get_next_page(&mut self) -> parquet::errors::Result<Option<Page>> {
        Ok(self.0.take())
    }

    fn peek_next_page(&mut self) -> parquet::errors::Result<Option<PageMetadata>> {
        Ok(None)
    }

    fn skip_next_page(&mut self) -> parquet::errors::Result<()> {
        Ok(())
    }
}

#[test]
fn pages_that_claim_more_values_than_they_can_hold_are_refused() {
    let dictionary = |num_values| Page::DictionaryPage {
        buf: vec![0; 40].into(),
        num_values,
        encoding: Encoding::PLAIN,
        is_sorted: false,
    };
    let data = |num_values| Page::DataPage {
        buf: vec![0; 40].into(),
        num_values,
        encoding: Encoding::PLAIN,
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    };
    let is_taken = |page, in_lists: bool| {
        let n_values = in_lists.then(Arc::default);
        Pages::new(Box::new(One(Some(page))), n_values).get_next_page().is_ok()
    };
    assert!(is_taken(dictionary(10), false) && !is_taken(dictionary(11), false));
    assert!(is_taken(data(1 << 24), true) && !is_taken(data((1 << 24) + 1), true));
    assert!(is_taken(data(1 << 30), false));
}

#[test]
fn no_mutation_of_a_good_file_panics() {
    let mut n_read = 0;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    for bytes in mutations(&file(LISTS, properties, &[lists()]), b"\0\x01\x7f\x80\xff", 2000) {
        n_read += usize::from(read_all("a.parquet", &bytes, &any()).is_ok());
    }
    assert!(n_read > 20, "{n_read}");
}

/// A fuzzer found it: a page's header with a list of two thousand million elements, none of which is there.
#[test]
fn a_list_without_end_ends_with_the_file() {
    let bytes = include_bytes!("../../../../tests/fixtures/endless-list.parquet");
    let faults = faults("a.parquet", bytes, &any());
    assert!(faults.len() == 1 && faults[0].contains("unexpected end of file"), "{faults:?}");
}

/// Lists of two columns, by these names: a row with something in both, one with nothing in the second, one with nulls.
fn two_lists(first: &str, second: &str, shared: &'static [u8]) -> Vec<u8> {
    let list = |name: &str| {
        format!(
            "optional group {name} (LIST) {{ repeated group list {{ optional binary element (UTF8); }} }}"
        )
    };
    let schema = format!("message m {{ {} {} }}", list(first), list(second));
    let cells = vec![
        Bytes(vec![b"a", b"b", b"c"], vec![3, 3, 3, 0], vec![0, 1, 0, 0]),
        Bytes(vec![shared, b"e"], vec![3, 3, 1, 0], vec![0, 1, 0, 0]),
    ];
    file(&schema, plain(), &[cells])
}

#[test]
fn lists_of_absent_or_unknown_tokens() {
    let unlisted = ReadOptions { unlisted: Unlisted::Unknown, ..any() };
    let states = |bytes: &[u8], options: &ReadOptions| {
        let (documents, faults) = read_all("a.parquet", bytes, options).unwrap();
        assert!(faults.is_empty(), "{faults:?}");
        let row = |document: &Document| {
            let [words, others] = [&document.words, &document.other_words]
                .map(|words| words.iter().collect::<Vec<_>>().join("+"));
            format!("{words}|{others}|{}", document.others.rest_unknown)
        };
        documents.iter().map(row).collect::<Vec<_>>()
    };
    let [present, tokens] =
        [("present", "absent"), ("tokens", "unknown")].map(|(a, b)| two_lists(a, b, b"d"));
    for options in [any(), unlisted.clone()] {
        assert_eq!(states(&present, &options), ["a+b|d+e|true", "c||true", "||true"]);
    }
    assert_eq!(states(&tokens, &any()), ["a+b|d+e|false", "c||false", "||false"]);
    assert!(faults("a.parquet", &tokens, &unlisted)[0].contains("has a column 'unknown'"));
    // The column of the tokens is chosen: others mean nothing.
    assert_eq!(states(&tokens, &columns("tokens", "", "")), ["a+b||false", "c||false", "||false"]);
    let lists = file(LISTS, plain(), &[lists()]);
    assert_eq!(states(&lists, &unlisted), ["a+bc||true", "||true", "||true", "d+d||true"]);
    let twice = faults("a.parquet", &two_lists("present", "absent", b"b"), &any());
    assert_eq!(twice, ["a.parquet: row 1: 'b' is present and absent at once; leave it out of one list"]);
    for bytes in mutations(&present, b"\0\xff", 300) {
        let _ = read_all("a.parquet", &bytes, &any());
    }
}
