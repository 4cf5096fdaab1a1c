//! Where faults of a file go: strict loading stops at the first, checking lists them all.

use crate::error::{Error, Result};
use std::path::Path;

/// Only so many faults are kept, in case every line of a large file has one; all are counted.
pub(crate) const KEPT: usize = 1_000;

/// What a look at a file found.
#[derive(Debug)]
pub struct Check<S> {
    /// The first 1,000 faults, most of them an [`Error::Input`]; without any, the file loads.
    pub faults: Vec<Error>,
    /// How many faults there are in all.
    pub n_faults: u64,
    /// What may not be meant, one line each.
    pub notes: Vec<String>,
    /// What the file holds, where its faults let that be told.
    pub summary: Option<S>,
}

/// The faults of one file.
pub(crate) struct Faults<'a> {
    path: &'a Path,
    strict: bool,
    /// The first faults.
    pub(crate) kept: Vec<Error>,
    /// All faults.
    pub(crate) count: u64,
    /// What is no fault but worth a look.
    pub(crate) notes: Vec<String>,
}

impl<'a> Faults<'a> {
    /// The first fault is an error.
    pub(crate) fn strict(path: &'a Path) -> Self {
        Self { path, strict: true, kept: Vec::new(), count: 0, notes: Vec::new() }
    }

    /// Faults are collected.
    pub(crate) fn collecting(path: &'a Path) -> Self {
        Self { strict: false, ..Self::strict(path) }
    }

    /// Takes a fault that is an error already.
    pub(crate) fn take(&mut self, fault: Error) -> Result<()> {
        self.count += 1;
        if self.strict {
            return Err(fault);
        }
        if self.kept.len() < KEPT {
            self.kept.push(fault);
        }
        Ok(())
    }

    /// Takes a fault, and returns it where the first one ends it all.
    pub(crate) fn add(&mut self, line: Option<u64>, message: impl Into<String>) -> Result<()> {
        self.take(Error::input(self.path, line, message))
    }
}

/// Text of a file as messages show it: on one line, without control characters, and not too long.
pub(crate) fn shown(text: &str) -> String {
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
