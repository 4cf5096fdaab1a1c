//! Records of tables in text: cells between separators, in CSV with quotes.

use super::OnFault;
use super::lines::{Lines, MAX_LINE};
use crate::error::{Error, Result};
use csv_core::{ReadRecordResult, ReaderBuilder, Terminator};

/// A first row of more cells is no row of a table, and their names would take far more memory than the row.
const MAX_COLUMNS: usize = 1 << 22;
/// What stands between cells that had quotes, and may hold separators: no line has NUL bytes.
const BETWEEN_UNQUOTED: u8 = 0;

pub(super) struct Records {
    lines: Lines,
    separator: u8,
    /// None: a quote is a character like any other.
    quotes: Option<Box<Quotes>>,
    /// The current record has quotes, so that its cells are there.
    unquoted: bool,
    /// The line on which the current record begins.
    begin: u64,
    again: bool,
    ended: bool,
}

impl Records {
    /// Every line is a record; a quote is a character like any other.
    pub(super) fn plain(lines: Lines, separator: u8) -> Self {
        Self { lines, separator, quotes: None, unquoted: false, begin: 0, again: false, ended: false }
    }

    /// Quoted as in RFC 4180; empty lines are passed over.
    pub(super) fn quoted(lines: Lines, separator: u8) -> Self {
        Self { quotes: Some(Box::new(Quotes::new(separator))), ..Self::plain(lines, separator) }
    }

    /// Goes on to the next record; false at the end.
    pub(super) fn next(&mut self, on_fault: &mut OnFault<'_>) -> Result<bool> {
        if std::mem::take(&mut self.again) {
            return Ok(true);
        }
        while !self.ended
            && let Some(line) = self.lines.next(on_fault)?
        {
            self.unquoted = false;
            if let Some(quotes) = &mut self.quotes {
                if line.is_empty() {
                    continue;
                }
                if memchr::memchr(b'"', line).is_some() {
                    quotes.begin();
                    self.unquoted = true;
                }
            }
            self.begin = self.lines.number();
            return if self.unquoted { self.read_quoted(on_fault) } else { Ok(true) };
        }
        Ok(false)
    }

    /// Takes in lines, from the current one, until the record has all its quotes closed.
    fn read_quoted(&mut self, on_fault: &mut OnFault<'_>) -> Result<bool> {
        let Some(quotes) = &mut self.quotes else { return Ok(true) };
        while !quotes.take_line(self.lines.current()) {
            if quotes.n_bytes > MAX_LINE {
                self.ended = true;
                let size = MAX_LINE >> 20;
                let message =
                    format!("the record that begins here is longer than {size} MB; is a quote not closed?");
                return Err(self.lines.fault_at(self.begin, message));
            }
            if self.lines.next(on_fault)?.is_none() {
                let message = "the file ends within a quoted cell of the record that begins here; is a quote not closed?";
                return Err(self.lines.fault_at(self.begin, message.into()));
            }
        }
        Ok(true)
    }

    /// Lets `next` give the current record once more.
    pub(super) fn repeat(&mut self) {
        self.again = true;
    }

    /// The cells of the current record.
    pub(super) fn cells(&self) -> impl Iterator<Item = &[u8]> {
        let (bytes, separator) = match &self.quotes {
            Some(quotes) if self.unquoted => (quotes.joined.as_slice(), BETWEEN_UNQUOTED),
            _ => (self.lines.current(), self.separator),
        };
        bytes.split(move |&byte| byte == separator)
    }

    /// The cells of the current record as text, to be shown.
    pub(super) fn names(&self) -> Result<Vec<String>, String> {
        if self.cells().nth(MAX_COLUMNS).is_some() {
            return Err(format!("the row has more than {MAX_COLUMNS} cells; is this a table?"));
        }
        Ok(self.cells().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect())
    }

    /// What the separator is called.
    pub(super) fn separator(&self) -> &'static str {
        match self.separator {
            b'\t' => "tab",
            b';' => "semicolon",
            _ => "comma",
        }
    }

    /// What to do with a separator within a field.
    pub(super) fn remedy(&self) -> &'static str {
        if self.quotes.is_some() {
            "quote those with a separator within"
        } else {
            "replace the tabs within them"
        }
    }

    /// The line on which the current record begins.
    pub(super) fn number(&self) -> u64 {
        self.begin
    }

    /// A fault in the current record.
    pub(super) fn fault(&self, message: String) -> Error {
        self.lines.fault_at(self.begin, message)
    }
}

/// Takes quotes away, line after line.
struct Quotes {
    parser: csv_core::Reader,
    separator: u8,
    /// The cells so far without what was between them, and where each ends.
    text: Vec<u8>,
    n_text: usize,
    ends: Vec<usize>,
    n_ends: usize,
    /// The whole record's cells.
    joined: Vec<u8>,
    /// Bytes of the record so far.
    n_bytes: usize,
}

impl Quotes {
    fn new(separator: u8) -> Self {
        // Lines come without their ends, and a lone carriage return ends none.
        let parser = ReaderBuilder::new().delimiter(separator).terminator(Terminator::Any(b'\n')).build();
        let (text, ends, joined) = (Vec::new(), Vec::new(), Vec::new());
        Self { parser, separator, text, n_text: 0, ends, n_ends: 0, joined, n_bytes: 0 }
    }

    fn begin(&mut self) {
        self.parser.reset();
        (self.n_text, self.n_ends, self.n_bytes) = (0, 0, 0);
    }

    /// Takes in a line of the record; true if the record ends with it.
    fn take_line(&mut self, line: &[u8]) -> bool {
        self.n_bytes += line.len() + 1;
        // Cells are never longer than what they come from.
        self.text.resize(self.n_text + line.len() + 1, 0);
        self.ends.resize(self.n_ends + memchr::memchr_iter(self.separator, line).count() + 1, 0);
        let complete = [line, b"\n"].into_iter().any(|mut input| {
            while !input.is_empty() {
                let (text, ends) = (&mut self.text[self.n_text..], &mut self.ends[self.n_ends..]);
                let (result, n_read, n_text, n_ends) = self.parser.read_record(input, text, ends);
                input = &input[n_read..];
                self.n_text += n_text;
                self.n_ends += n_ends;
                if result != ReadRecordResult::InputEmpty {
                    return true;
                }
            }
            false
        });
        if complete {
            self.join();
        }
        complete
    }

    fn join(&mut self) {
        self.joined.clear();
        let mut begin = 0;
        for (at, &end) in self.ends[..self.n_ends].iter().enumerate() {
            if at > 0 {
                self.joined.push(BETWEEN_UNQUOTED);
            }
            self.joined.extend_from_slice(&self.text[begin..end]);
            begin = end;
        }
    }
}
