//! Tables with a column of text, a document a record: TSV and CSV.

use super::columns::Chosen;
use super::lines::utf8;
use super::records::Records;
use super::{Columns, Document, OnFault, Reader};
use crate::error::Result;

/// What the column of text is called, unless another is chosen.
pub(super) const TEXT: &str = "text";

pub(super) struct Table {
    records: Records,
    chosen: Chosen,
    /// Fields of the first record: more are a separator within a field, which would cut the text short.
    n_fields: usize,
}

impl Table {
    /// Reads the header, or has a look at the first record.
    pub(super) fn new(mut records: Records, columns: &Columns) -> Result<Self> {
        let mut chosen = Chosen { text: 0, id: None, label: None };
        let mut n_fields = 0;
        if records.next(&mut Err)? {
            let first = records.names().map_err(|message| records.fault(message))?;
            n_fields = first.len();
            let has_header = columns.header
                || columns.any_by_name()
                || (columns.text.is_none() && first.iter().any(|cell| cell == TEXT));
            let text_names: &[&str] = if has_header { &[TEXT] } else { &[] };
            chosen = columns.choose(&first, text_names).map_err(|message| records.fault(message))?;
            if !has_header {
                records.repeat();
            }
        }
        Ok(Self { records, chosen, n_fields })
    }

    /// Fills the document from the current record.
    fn fill(&self, document: &mut Document) -> Result<(), String> {
        let Chosen { text, id, label } = self.chosen;
        let n_needed = self.chosen.n_needed();
        let mut n_cells = 0;
        let mut cells = self.records.cells();
        for (at, cell) in cells.by_ref().take(n_needed).enumerate() {
            n_cells += 1;
            let roles =
                [(Some(text), &mut document.text), (id, &mut document.id), (label, &mut document.label)];
            for (_, value) in roles.into_iter().filter(|(column, _)| *column == Some(at)) {
                value.push_str(utf8(cell).map_err(|message| format!("column {}: {message}", at + 1))?);
            }
        }
        n_cells += cells.count();
        if (n_needed..=self.n_fields).contains(&n_cells) {
            return Ok(());
        }
        let (separator, remedy) = (self.records.separator(), self.records.remedy());
        let fields = if n_cells == 1 { "field" } else { "fields" };
        Err(if n_cells < n_needed {
            format!("{n_cells} {fields}, but {n_needed} are needed; a {separator} stands between two")
        } else {
            format!("{n_cells} {fields}, but the first line has {}; {remedy}", self.n_fields)
        })
    }
}

impl Reader for Table {
    fn read(&mut self, document: &mut Document, on_fault: &mut OnFault<'_>) -> Result<bool> {
        while self.records.next(on_fault)? {
            match self.fill(document) {
                Ok(()) => return Ok(true),
                Err(message) => on_fault(self.records.fault(message))?,
            }
            document.clear();
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{faults, mutations, read_all, texts};
    use super::super::{Column, Columns, Format, ReadOptions};
    use std::io::Write;

    /// Options with the columns of the text, the id and the label; empty: none.
    fn columns(text: &str, id: &str, label: &str) -> ReadOptions {
        let [text, id, label] = [text, id, label].map(|column| column.parse::<Column>().ok());
        ReadOptions { columns: Columns { text, id, label, ..Columns::default() }, ..Default::default() }
    }

    fn any() -> ReadOptions {
        ReadOptions::default()
    }

    fn row(label: &str, id: &str, text: &str) -> [String; 3] {
        [label, id, text].map(String::from)
    }

    #[test]
    fn columns_by_the_names_in_the_header() {
        let tsv = b"id\ttext\tlabel\tmore\na\tone two\tx\t1\nb\t\t\t2\n";
        assert_eq!(texts("a.tsv", tsv, &any()), [row("x", "a", "one two"), row("", "b", "")]);
        let csv = b"id,text,label\na,one two,x\n";
        assert_eq!(texts("a.csv", csv, &any()), [row("x", "a", "one two")]);
        let chosen = b"name;body\na;one, two\n";
        assert_eq!(texts("a.csv", chosen, &columns("body", "name", "")), [row("", "a", "one, two")]);
    }

    #[test]
    fn columns_by_number_have_no_header_unless_it_is_asked_for() {
        let tsv = b"a\tone\nb\ttwo\n";
        assert_eq!(texts("a.tab", tsv, &columns("2", "1", "")), [row("", "a", "one"), row("", "b", "two")]);
        let mut options = columns("2", "1", "");
        options.columns.header = true;
        assert_eq!(texts("a.tsv", tsv, &options), [row("", "b", "two")]);
        assert_eq!(texts("a.tsv", b"one\ntwo", &any()), [row("", "", "one"), row("", "", "two")]);
        let csv = ReadOptions { format: Some(Format::Csv), ..any() };
        assert_eq!(texts("-", b"one; two\n", &csv), [row("", "", "one; two")]);
    }

    #[test]
    fn line_ends_marks_and_compression_are_not_text() {
        let crlf = b"\xef\xbb\xbftext\tid\r\none\ta\r\ntwo\tb";
        let expected = [row("", "a", "one"), row("", "b", "two")];
        assert_eq!(texts("a.tsv", crlf, &any()), expected);
        let comma = b"\xef\xbb\xbf\"text\",id\r\n\"one\",a\r\n\r\ntwo,b";
        assert_eq!(texts("a.csv", comma, &any()), expected);
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(crlf).unwrap();
        assert_eq!(texts("a.tsv.gz", &gz.finish().unwrap(), &any()), expected);
    }

    #[test]
    fn without_rows_there_are_no_documents() {
        for name in ["a.tsv", "a.csv"] {
            for options in [any(), columns("text", "", ""), columns("3", "", "")] {
                assert_eq!(read_all(name, b"", &options).unwrap().0, []);
            }
            assert_eq!(read_all(name, b"text\n", &any()).unwrap().0, []);
        }
        assert_eq!(read_all("a.csv", b"\n\n", &columns("text", "", "")).unwrap().0, []);
    }

    #[test]
    fn a_quote_in_tsv_is_a_character() {
        let tsv = b"text\tid\n\"one\ta\nsaid \"two\"\tb\n";
        assert_eq!(texts("a.tsv", tsv, &any()), [row("", "a", "\"one"), row("", "b", "said \"two\"")]);
    }

    #[test]
    fn quoted_cells_hold_commas_quotes_and_lines() {
        let csv = b"id,text\na,\"one, \"\"two\"\"\r\n\r\nthree\"\nb,\"\"\n\"c\",si\"x\n";
        let expected = [row("", "a", "one, \"two\"\n\nthree"), row("", "b", ""), row("", "c", "si\"x")];
        assert_eq!(texts("a.csv", csv, &any()), expected);
    }

    #[test]
    fn a_fault_names_its_line_and_the_next_row_is_read() {
        let tsv = b"id\ttext\nshort\na\tone\n\xff\ttwo\nb\tt\xffo\nc\tth\0ree\nd\tfour\n";
        let (documents, faults) = read_all("a.tsv", tsv, &any()).unwrap();
        let rows: Vec<_> = documents.iter().map(|document| (&*document.id, &*document.text)).collect();
        assert_eq!(rows, [("a", "one"), ("d", "four")]);
        assert_eq!(faults.len(), 4, "{faults:?}");
        assert_eq!(faults[0], "a.tsv:2: 1 field, but 2 are needed; a tab stands between two");
        assert!(faults[1].starts_with("a.tsv:4: column 1: byte 1 (0xff) is not UTF-8"), "{faults:?}");
        assert!(faults[2].starts_with("a.tsv:5: column 2: byte 2 (0xff) is not UTF-8"), "{faults:?}");
        assert!(faults[3].starts_with("a.tsv:6: a NUL byte"), "{faults:?}");
        let csv = b"id,text\na,\"one\n\ntwo\"\nshort\n\"b\",\"a\n\xff\"\nd,four\n";
        let (documents, faults) = read_all("a.csv", csv, &any()).unwrap();
        assert_eq!(documents.len(), 2);
        assert_eq!(faults[0], "a.csv:5: 1 field, but 2 are needed; a comma stands between two");
        assert!(faults[1].starts_with("a.csv:6: column 2: byte 3 (0xff)"), "{faults:?}");
    }

    #[test]
    fn an_unclosed_quote_is_the_end_and_names_where_it_began() {
        let unclosed = faults("a.csv", b"text,id\none,a\n\"two,b\nthree,c\n", &any());
        assert_eq!(unclosed.len(), 1);
        assert!(unclosed[0].starts_with("a.csv:3: the file ends within a quoted cell"), "{unclosed:?}");
        let mut long = b"text,id\n\"two,b\n".to_vec();
        (0..65).for_each(|_| long.extend([b'x'; 1 << 20].iter().chain(b"\n")));
        long.extend(b"\"\nthree,c\n");
        let long = faults("a.csv", &long, &any());
        assert!(long[0].starts_with("a.csv:2: the record that begins here is longer than 64 MB"), "{long:?}");
    }

    #[test]
    fn a_missing_column_lists_those_there_are() {
        let tsv = b"a\tb\n1\t2\n";
        let unclear = faults("a.tsv", tsv, &any());
        assert_eq!(
            unclear,
            ["a.tsv:1: cannot tell which column holds the text; give `text_column`, one of 'a', 'b'"]
        );
        let missing = "a.tsv:1: there is no column 'body'; the columns are 'a', 'b'";
        assert_eq!(faults("a.tsv", tsv, &columns("body", "", "")), [missing]);
        assert_eq!(faults("a.tsv", tsv, &columns("a", "body", "")), [missing]);
        let beyond = faults("a.tsv", tsv, &columns("3", "", ""));
        assert_eq!(beyond, ["a.tsv:1: there is no column 3; the columns are 'a', 'b'"]);
        let twice = faults("a.tsv", b"text\tb\ttext\n", &any());
        assert_eq!(twice, ["a.tsv:1: columns 1 and 3 are both called 'text'; choose by number"]);
        let many = (0..30).map(|at| at.to_string()).collect::<Vec<_>>().join("\t");
        assert!(faults("a.tsv", many.as_bytes(), &any())[0].ends_with("'19', ... (30 in all)"));
    }

    #[test]
    fn no_mutation_of_a_good_file_panics() {
        let tsv = b"id\ttext\tlabel\na\tone two\tx\nb\t\"three\"\ty\nc\t\tz\n";
        let csv = b"id,text,label\na,\"one, \"\"two\"\"\n\n\",x\nb,three,y\nc,,z\n";
        for (name, good) in [("a.tsv", &tsv[..]), ("a.csv", csv)] {
            let mut n_read = 0;
            for bytes in mutations(good, b"\"\"\t\t,,;\n\n\r\0\xff\xef", 2000) {
                n_read += usize::from(read_all(name, &bytes, &any()).is_ok());
            }
            assert!(n_read > 500, "{n_read}");
        }
    }

    #[test]
    fn a_first_row_of_millions_of_cells_is_refused() {
        let cells = vec![b'\t'; 1 << 22];
        let told = "the row has more than 4194304 cells; is this a table?";
        assert_eq!(faults("a.tsv", &cells, &any()), [format!("a.tsv:1: {told}")]);
        let cells = vec![b','; 1 << 22];
        assert_eq!(faults("a.csv", &cells, &any()), [format!("a.csv:1: {told}")]);
    }
}
