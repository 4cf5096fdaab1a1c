//! One process to a folder: a lock that ends with the process that holds it, however that ends.

use crate::error::{Error, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file in a folder that is locked. Where the folder itself goes, it goes too.
pub const LOCK_FILE: &str = ".lock";

/// A folder that no other process works on as long as this lives.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

/// [`holder`] holds a lock for a moment to see whether it can: so many tries outlast that.
const TRIES: u32 = 5;
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

impl FolderLock {
    /// Locks a folder that is there. Fails, naming the process, if another holds it.
    pub fn take(folder: &Path) -> Result<Self> {
        let mut tries = 1;
        loop {
            let file = match Self::lock(folder) {
                Err(Error::Usage(_)) if tries < TRIES => {
                    tries += 1;
                    std::thread::sleep(BETWEEN_TRIES);
                    continue;
                }
                locked => locked?,
            };
            // Whoever held it may have removed it meanwhile: then the next process would lock another file.
            if is_at(&file, &folder.join(LOCK_FILE)) {
                return Ok(Self { _file: file });
            }
        }
    }

    fn lock(folder: &Path) -> Result<File> {
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
        Ok(file)
    }
}

/// Whether a process works on a folder, and which, where the system tells. Only looks: nothing is made or kept.
pub fn holder(folder: &Path) -> Option<String> {
    let mut file = File::open(folder.join(LOCK_FILE)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(read_holder(&mut file)),
        // Dropped, the file gives back the lock. Where there are no locks nobody can hold one.
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

/// The process that a held lock file names, or nothing.
fn read_holder(file: &mut File) -> String {
    let mut holder = String::new();
    // Who it is may not be told on other systems; that it is held is.
    let read = file.rewind().and_then(|()| file.take(20).read_to_string(&mut holder));
    if read.is_ok() { holder } else { String::new() }
}

/// Whether a path still leads to an open file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let of = |there: std::fs::Metadata| (there.dev(), there.ino());
    let (open, there) = (file.metadata().map(of), std::fs::metadata(path).map(of));
    matches!((open, there), (Ok(open), Ok(there)) if open == there)
}

/// Where files that are open cannot be removed there is nothing to compare.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

fn held(folder: &Path, file: &mut File) -> Error {
    let holder = match read_holder(file) {
        holder if holder.is_empty() => holder,
        holder => format!(" (process {holder})"),
    };
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
        // A file that was removed is no lock, although it can be locked.
        std::fs::remove_file(folder.path().join(LOCK_FILE)).unwrap();
        drop(first);
        let second = FolderLock::take(folder.path()).unwrap();
        assert!(FolderLock::take(folder.path()).is_err());
        drop(second);
    }

    #[test]
    fn a_look_tells_the_holder_and_is_in_nobodys_way() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(holder(folder.path()), None);
        assert!(!folder.path().join(LOCK_FILE).exists());
        let lock = FolderLock::take(folder.path()).unwrap();
        assert_eq!(holder(folder.path()), Some(std::process::id().to_string()));
        drop(lock);
        assert_eq!(holder(folder.path()), None);
        // A look that comes in between is over soon.
        let file = File::open(folder.path().join(LOCK_FILE)).unwrap();
        file.try_lock_shared().unwrap();
        let taking = std::thread::spawn({
            let path = folder.path().to_owned();
            move || FolderLock::take(&path).is_ok()
        });
        std::thread::sleep(BETWEEN_TRIES);
        drop(file);
        assert!(taking.join().unwrap());
    }
}
