//! Where an output goes: a file, written aside, or standard output.

use crate::error::{Error, Result};
use crate::files::AtomicFile;
use std::io::{self, BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};

/// The output that is standard output.
pub const STDOUT: &str = "-";

pub(crate) struct Target {
    /// For errors.
    path: PathBuf,
    place: Place,
}

enum Place {
    File(AtomicFile),
    Stdout(BufWriter<Stdout>),
}

impl Target {
    /// A file is written aside, in a folder on the same disk.
    pub(crate) fn create(aside: &Path, path: &Path) -> Result<Self> {
        if path == Path::new(STDOUT) {
            let stdout = BufWriter::with_capacity(1 << 16, io::stdout());
            return Ok(Self { path: "standard output".into(), place: Place::Stdout(stdout) });
        }
        Ok(Self { path: path.to_owned(), place: Place::File(AtomicFile::create_in(aside, path)?) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes text; an error names the file.
    pub(crate) fn put(&mut self, text: &str) -> Result<()> {
        self.write_all(text.as_bytes()).map_err(|e| Error::io(&self.path, e))
    }

    /// Completes the file and puts it in place.
    pub(crate) fn commit(self) -> Result<()> {
        match self.place {
            Place::File(file) => file.commit(),
            Place::Stdout(mut stdout) => stdout.flush().map_err(|e| Error::io(&self.path, e)),
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.place {
            Place::File(file) => file.write(bytes),
            Place::Stdout(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.place {
            Place::File(file) => file.flush(),
            Place::Stdout(stdout) => stdout.flush(),
        }
    }
}
