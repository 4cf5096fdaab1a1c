//! The one thing that long work shares with the outside: how far it is, and requests to stop.

use crate::error::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Counts what is done, and can be told to stop.
#[derive(Debug, Default)]
pub struct Monitor {
    /// Set from outside to stop early, with [`Error::Interrupted`].
    pub stop: AtomicBool,
    /// Documents done so far, over all runs.
    pub docs_done: AtomicU64,
    /// Bytes of input files read so far, as they lie on disk.
    pub bytes_read: AtomicU64,
}

impl Monitor {
    /// An error if the user asked to stop.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`] then.
    pub fn go_on(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }
}
