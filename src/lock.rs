//! One process to a folder: a lock that ends with the process that holds it, however that ends.

use crate::error::{Error, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The file in a folder that is locked. It stays: removing it would let two processes lock two files.
pub const LOCK_FILE: &str = ".lock";

/// A folder that no other process works on as long as this lives.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Locks a folder that is there. Fails at once, naming the process, if another holds it.
    pub fn take(folder: &Path) -> Result<Self> {
        let path = folder.join(LOCK_FILE);
        let failed = |e| Error::io(&path, e);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held(folder, &mut file)),
            Err(TryLockError::Error(e)) => return Err(failed(e)),
        }
        file.set_len(0).map_err(failed)?;
        write!(file, "{}", std::process::id()).map_err(failed)?;
        Ok(Self { _file: file })
    }
}

fn held(folder: &Path, file: &mut File) -> Error {
    let mut holder = String::new();
    // Who it is may not be told on other systems; that it is held is.
    let read = file.rewind().and_then(|()| file.take(20).read_to_string(&mut holder));
    let holder =
        if read.is_ok() && !holder.is_empty() { format!(" (process {holder})") } else { String::new() };
    let folder = PathBuf::from(folder);
    Error::Usage(format!(
        "{}: another noisyor{holder} works on this folder; wait for it, stop it, or give another folder",
        folder.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_refused_until_the_first_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let first = FolderLock::take(folder.path()).unwrap();
        let error = FolderLock::take(folder.path()).unwrap_err().to_string();
        assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
        drop(first);
        FolderLock::take(folder.path()).unwrap();
    }
}
