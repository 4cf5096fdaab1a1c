//! Plain text: a document a line. An empty line is an empty document.

use super::lines::{Lines, utf8};
use super::{Document, OnFault, Reader};
use crate::error::Result;

pub(super) struct Text {
    lines: Lines,
}

impl Text {
    pub(super) fn new(lines: Lines) -> Self {
        Self { lines }
    }
}

impl Reader for Text {
    fn read(&mut self, document: &mut Document, on_fault: &mut OnFault<'_>) -> Result<bool> {
        while let Some(line) = self.lines.next(on_fault)? {
            match utf8(line) {
                Ok(text) => {
                    document.text.push_str(text);
                    return Ok(true);
                }
                Err(message) => on_fault(self.lines.fault(message))?,
            }
        }
        Ok(false)
    }
}
