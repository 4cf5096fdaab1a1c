//! Lines of a text source as bytes, numbered, without line ends or byte-order mark.

use super::OnFault;
use super::source::{Source, read_error};
use crate::error::{Error, Result};
use crate::faults;
use std::io::{BufRead, Read};

/// A longer line is no document: memory stays bounded whatever the file holds.
pub(super) const MAX_LINE: usize = 1 << 26;

pub(super) struct Lines {
    source: Source,
    line: Vec<u8>,
    number: u64,
    ended: bool,
    /// The current line is to come once more.
    again: bool,
}

impl Lines {
    pub(super) fn new(source: Source) -> Self {
        Self { source, line: Vec::new(), number: 0, ended: false, again: false }
    }

    /// The next line, or none at the end. A line with NUL bytes is a fault and passed over, and so is a file without line feeds.
    pub(super) fn next(&mut self, on_fault: &mut OnFault<'_>) -> Result<Option<&[u8]>> {
        while !std::mem::take(&mut self.again) {
            if self.ended || !self.read_line()? {
                return Ok(None);
            }
            let fault = if memchr::memchr(0, &self.line).is_some() {
                "a NUL byte: this is no UTF-8 text; if it is UTF-16, convert it with iconv -f UTF-16 -t UTF-8"
            } else if self.is_old_macintosh() {
                "lines end in a carriage return alone, so that the whole file is one; convert it with tr '\\r' '\\n'"
            } else {
                break;
            };
            on_fault(self.fault(fault.into()))?;
        }
        Ok(Some(self.current()))
    }

    /// The first line has carriage returns within, and nothing comes behind it. Elsewhere they are no line ends but dirt.
    fn is_old_macintosh(&self) -> bool {
        self.number == 1
            && self.line.last() != Some(&b'\n')
            && memchr::memchr(b'\r', self.line.strip_suffix(b"\r").unwrap_or(&self.line)).is_some()
    }

    /// The line that `next` gave last.
    pub(super) fn current(&self) -> &[u8] {
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if self.number == 1 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line }
    }

    /// Lets `next` give the current line once more.
    pub(super) fn repeat(&mut self) {
        self.again = true;
    }

    /// The current line's number, from one.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    fn read_line(&mut self) -> Result<bool> {
        self.line.clear();
        let mut limited = self.source.reader().take(MAX_LINE as u64 + 1);
        let read = limited.read_until(b'\n', &mut self.line);
        self.number += 1;
        // After an error there is no next line.
        self.ended = true;
        read.map_err(|e| read_error(self.source.name(), Some(self.number), e))?;
        if self.line.len() > MAX_LINE {
            return Err(self.fault(format!(
                "the line is longer than {} MB; is this one document a line, and plain text?",
                MAX_LINE >> 20
            )));
        }
        self.ended = self.line.is_empty();
        if self.ended && self.number > 1 {
            // What is wrong with the end is wrong at the last line.
            self.number -= 1;
        }
        Ok(!self.ended)
    }

    /// A fault in the current line.
    pub(super) fn fault(&self, message: String) -> Error {
        self.fault_at(self.number, message)
    }

    /// A fault in a line before.
    pub(super) fn fault_at(&self, number: u64, message: String) -> Error {
        Error::input(self.source.name(), Some(number), message)
    }
}

/// A line as text, or what is wrong with it.
pub(super) fn utf8(line: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(line).map_err(|e| {
        let (at, byte) = (e.valid_up_to() + 1, line[e.valid_up_to()]);
        format!("byte {at} (0x{byte:02x}) is not UTF-8; if the file is Latin-1, convert it with iconv -f LATIN1 -t UTF-8")
    })
}

/// A field as it stands in a message: not more of it than fits a line, and nothing that would move the cursor.
pub(super) fn shown(field: &[u8]) -> String {
    let text = faults::shown(&String::from_utf8_lossy(&field[..field.len().min(60)]));
    if field.len() > 60 { text + "..." } else { text }
}
