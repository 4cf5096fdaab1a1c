//! Writing files so that a reader sees the old content or the new, never half of it.

use crate::error::{Error, Result};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file written aside and put in place by [`AtomicFile::commit`]; dropped without it, nothing is left.
pub struct AtomicFile {
    path: PathBuf,
    file: BufWriter<NamedTempFile>,
}

impl AtomicFile {
    /// Opens a temporary file beside `path`.
    pub fn create(path: &Path) -> Result<Self> {
        let folder = Self::folder(path);
        if path.is_dir() {
            return Err(Error::Usage(format!("{} is a folder; give a file name", path.display())));
        }
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.prefix(".noisyor-").tempfile_in(folder).map_err(|e| Error::io(path, e))?;
        Ok(Self { path: path.to_owned(), file: BufWriter::with_capacity(1 << 18, file) })
    }

    /// The folder that a path's file is in.
    pub fn folder(path: &Path) -> &Path {
        path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// Flushes, syncs and renames into place.
    pub fn commit(self) -> Result<()> {
        let Self { path, file } = self;
        let file = file.into_inner().map_err(|e| Error::io(&path, e.into_error()))?;
        file.as_file().sync_all().map_err(|e| Error::io(&path, e))?;
        file.persist(&path).map_err(|e| Error::io(&path, e.error))?;
        Ok(())
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

/// Replaces a file's content atomically.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes).map_err(|e| Error::io(path, e))?;
    file.commit()
}
