//! Where faults of a file go: strict loading stops at the first, checking lists them all.

use crate::error::{Error, Result};
use std::path::Path;

/// Only so many faults are kept, in case every line of a large file has one; all are counted.
pub(super) const KEPT: usize = 1_000;

/// The faults of one file.
pub(super) struct Faults<'a> {
    path: &'a Path,
    strict: bool,
    /// The first faults.
    pub(super) kept: Vec<Error>,
    /// All faults.
    pub(super) count: u64,
    /// What is no fault but worth a look.
    pub(super) notes: Vec<String>,
}

impl<'a> Faults<'a> {
    /// The first fault is an error.
    pub(super) fn strict(path: &'a Path) -> Self {
        Self { path, strict: true, kept: Vec::new(), count: 0, notes: Vec::new() }
    }

    /// Faults are collected.
    pub(super) fn collecting(path: &'a Path) -> Self {
        Self { strict: false, ..Self::strict(path) }
    }

    /// Takes a fault, and returns it where the first one ends it all.
    pub(super) fn add(&mut self, line: Option<u64>, message: impl Into<String>) -> Result<()> {
        self.count += 1;
        if !self.strict && self.kept.len() >= KEPT {
            return Ok(());
        }
        let fault = Error::input(self.path, line, message);
        if self.strict {
            return Err(fault);
        }
        self.kept.push(fault);
        Ok(())
    }
}

/// Text of a file as messages show it: on one line, without control characters, and not too long.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 200;
    let mut shown = String::new();
    for (at, c) in text.chars().enumerate() {
        if at == LONGEST {
            return shown + "...";
        }
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}
