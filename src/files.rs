//! Reading whole files with a limit; writing so that a reader sees the old content or the new, never half of it.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tempfile::NamedTempFile;

/// A whole file of at most `limit` bytes; pipes will do.
///
/// What is no file, or a file given by mistake, must not fill the memory before anyone looks at it.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let failed = |e| Error::io(path, e);
    let too_large = |size: String| {
        Error::input(
            path,
            None,
            format!("{size} bytes, and at most {limit} are read; is this the right file?"),
        )
    };
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        return Err(Error::input(path, None, "this is a folder; give a file"));
    }
    // Devices have no end.
    #[cfg(unix)]
    if std::os::unix::fs::FileTypeExt::is_char_device(&metadata.file_type()) {
        return Err(Error::input(path, None, "this is a device; give a file or a pipe"));
    }
    if metadata.len() > limit {
        return Err(too_large(metadata.len().to_string()));
    }
    let mut bytes = Vec::new();
    let size = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
    if bytes.try_reserve_exact(size.saturating_add(1)).is_err() {
        return Err(Error::input(path, None, format!("there is no memory for its {size} bytes")));
    }
    // A pipe does not tell its length, and a file may grow.
    File::open(path)
        .map_err(failed)?
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > limit {
        return Err(too_large(format!("more than {limit}")));
    }
    Ok(bytes)
}

/// How the names of files begin that are being written aside; those of a program that was killed stay.
pub const ASIDE_PREFIX: &str = ".noisyor-";

/// A file written aside and put in place by [`AtomicFile::commit`]; dropped without it, nothing is left.
pub struct AtomicFile {
    path: PathBuf,
    file: BufWriter<NamedTempFile>,
}

impl AtomicFile {
    /// Opens a temporary file beside `path`; behind a link, beside what it leads to.
    pub fn create(path: &Path) -> Result<Self> {
        let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self::create_in(folder_of(path), path)
    }

    /// Opens a temporary file in a folder on the same disk as `path`.
    pub fn create_in(folder: &Path, path: &Path) -> Result<Self> {
        let refuse =
            |what: &str| Err(Error::Usage(format!("{} is {what}; give a file name", path.display())));
        match std::fs::metadata(path) {
            Ok(there) if there.is_dir() => return refuse("a folder"),
            // A rename would put a file in the place of a device or pipe.
            Ok(there) if !there.is_file() => return refuse("no regular file"),
            _ if path == Path::new("-") => return refuse("no file to write aside and rename"),
            _ => {}
        }
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.prefix(ASIDE_PREFIX).tempfile_in(folder).map_err(|e| Error::io(path, e))?;
        remember(file.path());
        Ok(Self { path: path.to_owned(), file: BufWriter::with_capacity(1 << 18, file) })
    }

    /// Flushes, syncs and renames into place.
    pub fn commit(self) -> Result<()> {
        let Self { path, file } = self;
        let file = file.into_inner().map_err(|e| Error::io(&path, e.into_error()))?;
        file.as_file().sync_all().map_err(|e| Error::io(&path, e))?;
        let aside = file.path().to_owned();
        file.persist(&path).map_err(|e| Error::io(&path, e.error))?;
        forget(&aside);
        // The name is safe on disk only with the folder; where folders cannot be synced there is nothing to be done.
        let _ = File::open(folder_of(&path)).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

/// Files that are being written, for a program that must end at once.
static ASIDE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn remember(path: &Path) {
    ASIDE.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
}

fn forget(path: &Path) {
    ASIDE.lock().unwrap_or_else(PoisonError::into_inner).retain(|aside| aside != path);
}

/// Removes all files that are being written: the last thing before a program ends without clearing up.
pub fn remove_unfinished() {
    for path in ASIDE.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        // Those given up in good order are gone already.
        let _ = std::fs::remove_file(path);
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, position: SeekFrom) -> std::io::Result<u64> {
        self.file.seek(position)
    }
}

/// Removes what a program that was killed left half written in a folder; nobody else may be writing there.
pub fn remove_left_over(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(ASIDE_PREFIX) {
            // It is in nobody's way.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// The folder that a path's file is in.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Entries of a folder that are looked through for a similar name.
const LOOKED_AT: usize = 10_000;
/// Names of this likeness or more are similar: a letter or two differ.
const SIMILAR: f64 = 0.85;

/// What may have been meant by a path that does not exist.
pub(crate) fn hint_of_missing(path: &Path) -> Option<String> {
    let folder = folder_of(path);
    if !folder.is_dir() {
        return Some(format!("there is no folder {}", folder.display()));
    }
    let wanted = path.file_name()?.to_str()?.to_lowercase();
    let names = std::fs::read_dir(folder).ok()?.take(LOOKED_AT).flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let likeness = |name: &str| strsim::normalized_damerau_levenshtein(&name.to_lowercase(), &wanted);
    let similar = names.map(|name| (likeness(&name), name)).filter(|(likeness, _)| *likeness >= SIMILAR);
    // Of equal ones, whatever the order of the folder, the first by name.
    let (_, best) = similar.max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(&a.1)))?;
    let best = if path.parent() == Some(Path::new("")) { best.into() } else { folder.join(best) };
    Some(format!("is {} meant?", best.display()))
}

/// A temporary file on the disk of `path`, without a name: it is gone with the program, however that ends.
pub fn unnamed(path: &Path) -> std::io::Result<std::fs::File> {
    tempfile::tempfile_in(folder_of(path))
}

/// Replaces a file's content atomically.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    write_whole(AtomicFile::create(path)?, path, bytes)
}

/// The same, written aside in a folder on the same disk.
pub fn replace_by(folder: &Path, path: &Path, bytes: &[u8]) -> Result<()> {
    write_whole(AtomicFile::create_in(folder, path)?, path, bytes)
}

fn write_whole(mut file: AtomicFile, path: &Path, bytes: &[u8]) -> Result<()> {
    file.write_all(bytes).map_err(|e| Error::io(path, e))?;
    file.commit()
}
