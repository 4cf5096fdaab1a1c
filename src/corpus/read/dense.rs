//! Dense 0/1 tables: a document a row, a token a column; values above zero mean present, and so do `true` and `yes`. A cell
//! that is empty, or has one of the usual words for a missing value, is unknown.

use super::columns::{find, unique};
use super::lines::{shown, utf8};
use super::records::Records;
use super::{Column, Document, OnFault, ReadOptions, Reader, Tokens, Unlisted};
use crate::error::{Error, Result};
use rustc_hash::FxHashMap;

/// So many columns that have other values than 0 and 1 are named in a note.
const MAX_NAMED: usize = 5;

pub(super) struct Dense {
    records: Records,
    /// The tokens' names, where there is a header.
    names: Option<Vec<String>>,
    id: Option<usize>,
    label: Option<usize>,
    n_cells: usize,
    n_tokens: u32,
    /// With unknown, tokens without a column are unknown, too.
    unlisted: Unlisted,
    any_row_read: bool,
    /// The first value of every column that is neither 0 nor 1, and its line; empty as long as there is none.
    odd: Vec<Option<(String, u64)>>,
}

impl Dense {
    /// Reads the header, or has a look at the first row.
    pub(super) fn new(records: Records, options: &ReadOptions) -> Result<Self> {
        let columns = &options.columns;
        if columns.text.is_some() {
            return Err(Error::Usage(
                "a dense table has no text; give either `text_column` or `format` dense".into(),
            ));
        }
        let mut dense = Self {
            records,
            names: None,
            id: None,
            label: None,
            n_cells: 0,
            n_tokens: 0,
            unlisted: options.unlisted,
            any_row_read: false,
            odd: Vec::new(),
        };
        if dense.records.next(&mut Err)? {
            dense.take_first(columns).map_err(|message| dense.records.fault(message))?;
        }
        Ok(dense)
    }

    fn take_first(&mut self, columns: &super::Columns) -> Result<(), String> {
        let first = self.records.names()?;
        self.n_cells = first.len();
        let all_values = self.records.cells().all(is_value);
        let place = |column: &Option<Column>, name: &str| match column {
            Some(column) => find(column, &first).map(Some),
            // As in tables of text.
            None if all_values => Ok(None),
            None => unique(name, &first),
        };
        (self.id, self.label) = (place(&columns.id, "id")?, place(&columns.label, "label")?);
        let found_by_name =
            (columns.id.is_none() && self.id.is_some()) || (columns.label.is_none() && self.label.is_some());
        let is_token = |at: usize| Some(at) != self.id && Some(at) != self.label;
        let token_cells = || self.records.cells().enumerate().filter(|(at, _)| is_token(*at));
        self.n_tokens = token_cells().count() as u32;
        let all_values = token_cells().all(|(_, cell)| is_value(cell));
        if all_values && !columns.header && !columns.any_by_name() && !found_by_name {
            self.records.repeat();
            return Ok(());
        }
        let mut seen = FxHashMap::default();
        let mut names = Vec::with_capacity(first.len());
        for (at, cell) in token_cells() {
            let column = at + 1;
            let name = utf8(cell).map_err(|message| format!("column {column}: {message}"))?;
            if name.is_empty() {
                return Err(format!(
                    "column {column} has no name; name it, or take it out with `id_column` {column}"
                ));
            }
            if let Some(before) = seen.insert(name, column) {
                let name = shown(cell);
                return Err(format!("columns {before} and {column} are both called '{name}'; rename one"));
            }
            names.push(name.to_owned());
        }
        self.names = Some(names);
        Ok(())
    }

    /// Fills the document from the current row.
    fn fill(&mut self, document: &mut Document) -> Result<(), String> {
        let (mut n_cells, mut token, mut fault, mut n_faults, mut text) = (0, 0, None, 0, None);
        let lists_absent = self.unlisted == Unlisted::Unknown;
        document.others.rest_unknown = lists_absent;
        for (at, cell) in self.records.cells().enumerate() {
            n_cells += 1;
            if Some(at) == self.id || Some(at) == self.label {
                let text = utf8(cell).map_err(|message| format!("column {n_cells}: {message}"))?;
                let roles = [(self.id, &mut document.id), (self.label, &mut document.label)];
                roles
                    .into_iter()
                    .filter(|(column, _)| *column == Some(at))
                    .for_each(|(_, value)| value.push_str(text));
                continue;
            }
            match cell {
                b"0" if !lists_absent => {}
                b"1" => document.tokens.push(token),
                _ => match value(cell) {
                    Some(value) => {
                        if value > 0.0 {
                            document.tokens.push(token);
                        } else if lists_absent {
                            document.others.tokens.push(token);
                        }
                        if value != 0.0 && value != 1.0 {
                            if self.odd.len() <= token as usize {
                                self.odd.resize(token as usize + 1, None);
                            }
                            let here = || (shown(cell.trim_ascii()), self.records.number());
                            self.odd[token as usize].get_or_insert_with(here);
                        }
                    }
                    None if is_missing(cell) => {
                        if !lists_absent {
                            document.others.tokens.push(token);
                        }
                    }
                    None => {
                        fault = fault.or(Some((at, token, cell)));
                        text = text.or_else(|| is_text(cell).then_some((at, token)));
                        n_faults += 1;
                    }
                },
            }
            token += 1;
        }
        if n_cells != self.n_cells {
            let cells = if n_cells == 1 { "cell" } else { "cells" };
            return Err(format!("the row has {n_cells} {cells}, but the first has {}", self.n_cells));
        }
        let Some((at, token, cell)) = fault else { return Ok(()) };
        let mut message = self.no_value(at, token, cell);
        if n_faults > 1 {
            message += &format!(" (and {} more in this row)", n_faults - 1);
        }
        if let Some((at, token)) = text.filter(|_| !self.any_row_read) {
            message += &self.text_hint(at, token);
        }
        Err(message)
    }

    /// A column as messages name it.
    fn column(&self, at: usize, token: u32) -> String {
        let name =
            self.names.as_ref().map(|names| format!(" ('{}')", shown(names[token as usize].as_bytes())));
        format!("column {}{}", at + 1, name.unwrap_or_default())
    }

    fn no_value(&self, at: usize, token: u32, cell: &[u8]) -> String {
        let column = self.column(at, token);
        format!("{column}: '{}' is not a finite number; give 0 or 1, or nothing for unknown", shown(cell))
    }

    /// How to read a column as text: by name where there are names, as a number would make the first line a document; unless
    /// that line is one.
    fn text_hint(&self, at: usize, token: u32) -> String {
        let names = self.names.as_ref().map(|names| names[token as usize].as_str());
        let column = names
            .filter(|name| !name.contains(' '))
            .map_or((at + 1).to_string(), |name| shown(name.as_bytes()));
        format!("; if column {} is text, give `text_column` {column}", at + 1)
    }

    /// The place of a token's column in a row.
    fn place(&self, token: u32) -> usize {
        let others = [self.id, self.label];
        (0..self.n_cells).filter(|at| !others.contains(&Some(*at))).nth(token as usize).unwrap_or(0)
    }
}

impl Reader for Dense {
    fn read(&mut self, document: &mut Document, on_fault: &mut OnFault<'_>) -> Result<bool> {
        while self.records.next(on_fault)? {
            let filled = self.fill(document);
            self.any_row_read = true;
            match filled {
                Ok(()) => return Ok(true),
                Err(message) => on_fault(self.records.fault(message))?,
            }
            document.clear();
        }
        Ok(false)
    }

    fn tokens(&self) -> Tokens<'_> {
        Tokens::Numbers { n_tokens: Some(self.n_tokens), names: self.names.as_deref() }
    }

    fn notes(&self) -> Vec<String> {
        let odd = || (0..).zip(&self.odd).filter_map(|(token, odd)| odd.as_ref().map(|odd| (token, odd)));
        let column = |(token, (value, line)): (u32, &(String, u64))| {
            format!("{}, such as {value} in line {line}", self.column(self.place(token), token))
        };
        let mut columns: Vec<String> = odd().take(MAX_NAMED).map(column).collect();
        let n_more = odd().skip(MAX_NAMED).count();
        if n_more > 0 {
            columns.push(format!("and {n_more} more columns"));
        }
        let note = || {
            format!(
                "values other than 0 and 1: {}; those above 0 count as present, the others as absent",
                columns.join("; ")
            )
        };
        (!columns.is_empty()).then(note).into_iter().collect()
    }
}

/// A cell's value: a finite number, or one of the words for one and zero.
fn value(cell: &[u8]) -> Option<f64> {
    let cell = cell.trim_ascii();
    let is = |word: &str| cell.eq_ignore_ascii_case(word.as_bytes());
    if is("true") || is("yes") {
        Some(1.0)
    } else if is("false") || is("no") {
        Some(0.0)
    } else {
        std::str::from_utf8(cell).ok()?.parse().ok().filter(|value: &f64| value.is_finite())
    }
}

/// Whether a cell has no value: it is empty, or says so in a usual word.
fn is_missing(cell: &[u8]) -> bool {
    const WORDS: [&str; 5] = ["", "na", "nan", "?", "null"];
    let cell = cell.trim_ascii();
    WORDS.iter().any(|word| cell.eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether a cell of the first row can be of a document: a value, or what stands for a missing one.
fn is_value(cell: &[u8]) -> bool {
    is_missing(cell) || number(cell).is_some() || value(cell).is_some()
}

fn number(cell: &[u8]) -> Option<f64> {
    std::str::from_utf8(cell.trim_ascii()).ok()?.parse().ok()
}

/// Whether a cell is more likely text than a value with a slip in it: it has words, or a long one.
fn is_text(cell: &[u8]) -> bool {
    let n_letters = cell.iter().filter(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii()).count();
    n_letters > 5 || (n_letters > 2 && cell.trim_ascii().contains(&b' '))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{faults, mutations, read_all};
    use super::super::{Column, Columns, Format, ReadOptions, Tokens, Unlisted, open_stream};
    use std::io::{Cursor, Write};
    use std::path::Path;

    fn any() -> ReadOptions {
        ReadOptions::default()
    }

    fn tokens(bytes: &[u8], options: &ReadOptions) -> Vec<Vec<u32>> {
        let (documents, faults) = read_all("a.csv", bytes, options).unwrap();
        assert!(faults.is_empty(), "{faults:?}");
        documents.into_iter().map(|document| document.tokens).collect()
    }

    /// How many tokens there are, and their names.
    fn names(bytes: &[u8], options: &ReadOptions) -> (Option<u32>, Option<Vec<String>>) {
        let reader = open_stream(Path::new("a.csv"), Cursor::new(bytes.to_vec()), options).unwrap();
        match reader.tokens() {
            Tokens::Numbers { n_tokens, names } => (n_tokens, names.map(<[String]>::to_vec)),
            Tokens::Words => panic!("a dense table has numbers"),
        }
    }

    #[test]
    fn values_above_zero_are_present() {
        let rows = b"0,1,1\n1,0,no\n0.5,-1,1e-9\n 1 , 0,\"1\"\nfalse,No,FALSE\nTrue, yes,YES\n";
        let expected = [vec![1, 2], vec![0], vec![0, 2], vec![0, 2], vec![], vec![0, 1, 2]];
        assert_eq!(tokens(rows, &any()), expected);
        assert_eq!(names(rows, &any()), (Some(3), None));
    }

    /// Present tokens, listed ones, and whether the rest is unknown.
    fn states(bytes: &[u8], options: &ReadOptions) -> Vec<(Vec<u32>, Vec<u32>, bool)> {
        let (documents, faults) = read_all("a.csv", bytes, options).unwrap();
        assert!(faults.is_empty(), "{faults:?}");
        let state = |document: super::Document| {
            (document.tokens, document.others.tokens, document.others.rest_unknown)
        };
        documents.into_iter().map(state).collect()
    }

    #[test]
    fn a_cell_without_a_value_is_unknown() {
        for missing in ["", " ", "NA", "na", "NaN", "nan", "?", "null", " Null ", "\"\""] {
            let table = format!("id,a,b,c\nx,1,{missing},0\ny,0,1,{missing}\nz,0,0,1\n");
            let expected = [(vec![0], vec![1], false), (vec![1], vec![2], false), (vec![2], vec![], false)];
            assert_eq!(states(table.as_bytes(), &any()), expected, "{missing:?}");
            // Then zeros are listed, and a token without a column is unknown, too.
            let unknown = ReadOptions { unlisted: Unlisted::Unknown, ..any() };
            let expected = [(vec![0], vec![2], true), (vec![1], vec![0], true), (vec![2], vec![0, 1], true)];
            assert_eq!(states(table.as_bytes(), &unknown), expected, "{missing:?}");
        }
        assert_eq!(states(b" ,1\nNA,NA\n", &any()), [(vec![1], vec![0], false), (vec![], vec![0, 1], false)]);
        let told = faults("a.csv", b"a\nn/a\n", &any());
        assert_eq!(
            told,
            ["a.csv:2: column 1 ('a'): 'n/a' is not a finite number; give 0 or 1, or nothing for unknown"]
        );
    }

    #[test]
    fn other_values_are_noted() {
        let notes = |table: &[u8]| {
            let mut reader = open_stream(Path::new("a.csv"), Cursor::new(table.to_vec()), &any()).unwrap();
            while reader.read(&mut Default::default(), &mut Err).unwrap() {}
            reader.notes()
        };
        assert_eq!(notes(b"a,b\n1,0\ntrue,no\n1.0,-0\n"), [""; 0]);
        let told = notes(b"id,age,smokes,bmi\nx,63,1,0\ny,40,0,-1.5\n");
        let columns = "column 2 ('age'), such as 63 in line 2; column 4 ('bmi'), such as -1.5 in line 3";
        let then = "those above 0 count as present, the others as absent";
        assert_eq!(told, [format!("values other than 0 and 1: {columns}; {then}")]);
        assert!(notes(b"2,2,2,2,2,2,2\n")[0].contains("column 5, such as 2 in line 1; and 2 more columns;"));
    }

    #[test]
    fn a_row_of_yes_and_no_is_no_header_unless_a_column_is_called_id() {
        assert_eq!(tokens(b"yes,no\nno,yes\n", &any()), [[0], [1]]);
        assert_eq!(names(b"id,1,0\nx,1,0\n", &any()).1, Some(vec!["1".into(), "0".into()]));
    }

    #[test]
    fn the_header_has_the_names_unless_it_is_all_numbers() {
        let table = b"cat,\"a, b\",3\n1,0,1\n";
        let expected = ["cat", "a, b", "3"].map(String::from).to_vec();
        assert_eq!(names(table, &any()), (Some(3), Some(expected)));
        assert_eq!(tokens(table, &any()), [[0, 2]]);
        let header = ReadOptions { columns: Columns { header: true, ..Default::default() }, ..any() };
        assert_eq!(names(b"1,0\n1,1\n", &header).1, Some(vec!["1".into(), "0".into()]));
        assert_eq!(tokens(b"1,0\n1,1\n", &header), [[0, 1]]);
        assert_eq!(tokens(b"1,0\n1,1\n", &any()), [vec![0], vec![0, 1]]);
    }

    #[test]
    fn separators_line_ends_marks_and_compression() {
        for table in [&b"a;b\n1;0\n0,5;1"[..], b"a\tb\r\n1\t0\r\n1\t1\r\n", b"\xef\xbb\xbfa,b\n1,0\n\n1,1"] {
            let decimal_comma = table.contains(&b';');
            let (documents, faults) = read_all("a.csv", table, &any()).unwrap();
            assert_eq!(documents[0].tokens, [0]);
            assert_eq!(documents.len() + faults.len(), 2);
            assert_eq!(decimal_comma, !faults.is_empty());
            assert_eq!(names(table, &any()).1, Some(vec!["a".into(), "b".into()]));
        }
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(b"a,b\n0,1\n").unwrap();
        assert_eq!(read_all("a.csv.gz", &gz.finish().unwrap(), &any()).unwrap().0[0].tokens, [1]);
    }

    #[test]
    fn id_and_label_are_no_tokens() {
        let by_name = Columns {
            id: Some(Column::Name("id".into())),
            label: Some(Column::Name("y".into())),
            ..Default::default()
        };
        let options = ReadOptions { columns: by_name, ..any() };
        let table = b"id,cat,y,dog\nd1,0,pos,1\n";
        assert_eq!(names(table, &options), (Some(2), Some(vec!["cat".into(), "dog".into()])));
        let (documents, _) = read_all("a.csv", table, &options).unwrap();
        let found = (&*documents[0].tokens, &*documents[0].id, &*documents[0].label);
        assert_eq!(found, (&[1][..], "d1", "pos"));
        let by_number = Columns { id: Some(Column::Number(1)), ..Default::default() };
        let options = ReadOptions { columns: by_number, ..any() };
        let (documents, _) = read_all("a.csv", b"d1,0,1\nd2,1,1\n", &options).unwrap();
        assert_eq!((documents.len(), &*documents[0].id, &*documents[0].tokens), (2, "d1", &[1][..]));
    }

    #[test]
    fn without_rows_there_are_no_documents() {
        assert_eq!(tokens(b"", &any()), Vec::<Vec<u32>>::new());
        assert_eq!(names(b"", &any()), (Some(0), None));
        assert_eq!(tokens(b"a,b\n", &any()), Vec::<Vec<u32>>::new());
        assert_eq!(names(b"a,b", &any()).0, Some(2));
    }

    #[test]
    fn a_fault_names_line_and_column_and_the_next_row_is_read() {
        let table = b"a,b,c\n1,-inf,0\n1,0\n1,0,0,1\n0,inf,x\n0,x\0,0\n0,1,0\n";
        let (documents, faults) = read_all("a.csv", table, &any()).unwrap();
        assert_eq!(documents.len(), 1);
        assert_eq!(documents[0].tokens, [1]);
        assert_eq!(
            faults[0],
            "a.csv:2: column 2 ('b'): '-inf' is not a finite number; give 0 or 1, or nothing for unknown"
        );
        assert_eq!(faults[1], "a.csv:3: the row has 2 cells, but the first has 3");
        assert_eq!(faults[2], "a.csv:4: the row has 4 cells, but the first has 3");
        assert_eq!(
            faults[3],
            "a.csv:5: column 2 ('b'): 'inf' is not a finite number; give 0 or 1, or nothing for unknown (and 1 more in this row)"
        );
        assert!(faults[4].starts_with("a.csv:6: a NUL byte"));
        assert_eq!(faults.len(), 5);
    }

    #[test]
    fn names_are_unique_and_not_empty() {
        let twice = faults("a.csv", b"a,b,a\n", &any());
        assert_eq!(twice, ["a.csv:1: columns 1 and 3 are both called 'a'; rename one"]);
        let nameless = faults("a.csv", b",b,a\n", &any());
        assert_eq!(nameless, ["a.csv:1: column 1 has no name; name it, or take it out with `id_column` 1"]);
        assert!(faults("a.csv", b"a,\xff\n", &any())[0].starts_with("a.csv:1: column 2: byte 1 (0xff)"));
    }

    #[test]
    fn text_in_the_first_row_suggests_a_text_column() {
        let by_number = Columns { id: Some(Column::Number(1)), ..Default::default() };
        let numbered = ReadOptions { columns: by_number, ..any() };
        let told = &faults("a.csv", b"x,0,1\ny,1,a good film\n", &numbered);
        assert!(told[0].ends_with("give 0 or 1, or nothing for unknown"), "{told:?}");
        let told = &faults("a.csv", b"good,film\n1,a film\n", &any());
        assert!(told[0].ends_with("; if column 2 is text, give `text_column` film"), "{told:?}");
        let told = &faults("a.csv", b"d1,the cat sat\nd2,a dog ran\n", &any());
        assert!(
            told[0].ends_with("(and 1 more in this row); if column 2 is text, give `text_column` 2"),
            "{told:?}"
        );
        let table = b"id,body\n1,the cat sat on the mat again\n2,the cat sat on the mat again\n";
        let faults = faults("a.csv", table, &any());
        assert!(faults[0].ends_with("; if column 2 is text, give `text_column` body"), "{faults:?}");
        assert!(faults[1].ends_with("give 0 or 1, or nothing for unknown"), "{faults:?}");
    }

    #[test]
    fn a_csv_file_is_text_if_a_column_is_called_so_and_a_format_given_decides() {
        let table = b"text,a\n1,0\n";
        assert_eq!(read_all("a.csv", table, &any()).unwrap().0[0].text, "1");
        let dense = ReadOptions { format: Some(Format::Dense), ..any() };
        assert_eq!(read_all("a.csv", table, &dense).unwrap().0[0].tokens, [0]);
        let numbered = Columns { text: Some(Column::Number(2)), ..Default::default() };
        let numbered = ReadOptions { columns: numbered, ..any() };
        assert_eq!(read_all("a.csv", b"1,0\n", &numbered).unwrap().0[0].text, "0");
        let csv = ReadOptions { format: Some(Format::Csv), ..any() };
        assert_eq!(read_all("a.csv", b"1\n", &csv).unwrap().0[0].text, "1");
        assert!(read_all("a.csv", table, &ReadOptions { format: Some(Format::Dense), ..numbered }).is_err());
    }

    #[test]
    fn no_mutation_of_a_good_file_panics() {
        let mut n_read = 0;
        for bytes in
            mutations(b"cat,dog,\"a \"\"b\"\"\"\n0,1,1\n1,0,0\n0.5,-1,1\n", b"\"\"\t,,;\n\n\r\0\xff-.e", 2000)
        {
            n_read += usize::from(read_all("a.csv", &bytes, &any()).is_ok());
        }
        assert!(n_read > 500, "{n_read}");
    }
}
