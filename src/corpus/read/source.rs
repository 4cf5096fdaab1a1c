//! Where bytes come from: a file or standard input, decompressed on the way, watched for bombs and for files that
//! change while they are read.

use crate::error::{Error, Result};
use crate::monitor::Monitor;
use flate2::bufread::MultiGzDecoder;
use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::{NamedTempFile, TempPath};

/// What stands for standard input on the command line.
pub const STDIN: &str = "-";
/// Compressed data that grows more than this is a bomb: real corpora stay far below.
pub const MAX_EXPANSION: u64 = 500;
/// Below this size nothing is called a bomb. Every byte may be a document, of which tens are kept.
const HARMLESS: u64 = 1 << 24;
const BUFFER: usize = 1 << 17;

/// A stream of decompressed bytes with the name it has in errors.
pub(super) struct Source {
    name: PathBuf,
    reader: Box<dyn BufRead + Send>,
    plain: bool,
    /// The file on disk, where the stream is just its bytes, and who watches it being read.
    plain_file: Option<(PathBuf, Metadata, Arc<Monitor>)>,
}

impl Source {
    pub(super) fn open(path: &Path, monitor: &Arc<Monitor>) -> Result<Self> {
        let monitor = Arc::clone(monitor);
        if path == Path::new(STDIN) {
            return Self::new(Path::new("standard input"), Box::new(Counted { inner: io::stdin(), monitor }));
        }
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        let opened = file.metadata().map_err(|e| Error::io(path, e))?;
        if opened.is_dir() {
            return Err(Error::Usage(format!("{} is a folder; give a file", path.display())));
        }
        let on_disk = opened.is_file().then(|| (path.to_owned(), opened.clone(), Arc::clone(&monitor)));
        let mut source = Self::new(path, Box::new(Counted { inner: Unchanged { file, opened }, monitor }))?;
        source.plain_file = on_disk.filter(|_| source.plain);
        Ok(source)
    }

    /// Decompresses where the name or the first bytes say so.
    pub(super) fn new(name: &Path, stream: Box<dyn Read + Send>) -> Result<Self> {
        let n_compressed = Arc::new(AtomicU64::new(0));
        let buffered = BufReader::with_capacity(BUFFER, stream);
        let mut raw = Compressed { inner: buffered, n_bytes: Arc::clone(&n_compressed) };
        let start = raw.fill_buf().map_err(|e| read_error(name, None, e))?;
        let decoder: Box<dyn Read + Send> = if ends_in(name, "gz") || start.starts_with(&[0x1f, 0x8b]) {
            Box::new(MultiGzDecoder::new(raw))
        } else if ends_in(name, "zst") || start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Box::new(zstd::Decoder::with_buffer(raw).map_err(|e| read_error(name, None, e))?)
        } else {
            return Ok(Self { name: name.to_owned(), reader: Box::new(raw), plain: true, plain_file: None });
        };
        let reader = BufReader::with_capacity(BUFFER, Guarded { inner: decoder, n_bytes: 0, n_compressed });
        Ok(Self { name: name.to_owned(), reader: Box::new(reader), plain: false, plain_file: None })
    }

    /// What errors call it.
    pub(super) fn name(&self) -> &Path {
        &self.name
    }

    pub(super) fn reader(&mut self) -> &mut (dyn BufRead + Send) {
        &mut self.reader
    }

    /// The bytes as a file that can be opened more than once: for formats that are not read from front to back.
    pub(super) fn into_file(mut self) -> Result<OnDisk> {
        if let Some((path, opened, monitor)) = self.plain_file {
            // The look at the first bytes was counted.
            let n_reported = opened.len().min(BUFFER as u64);
            return Ok(OnDisk { path, opened: Some((opened, monitor)), n_reported, _copy: None });
        }
        let mut copy = NamedTempFile::new().map_err(|e| Error::io(&std::env::temp_dir(), e))?;
        io::copy(&mut self.reader, &mut copy).map_err(|e| read_error(&self.name, None, e))?;
        let copy = copy.into_temp_path();
        Ok(OnDisk { path: copy.to_path_buf(), opened: None, n_reported: 0, _copy: Some(copy) })
    }
}

/// A file, or a copy of a stream that goes away with this.
pub(super) struct OnDisk {
    path: PathBuf,
    opened: Option<(Metadata, Arc<Monitor>)>,
    /// Bytes that the monitor knows of.
    n_reported: u64,
    _copy: Option<TempPath>,
}

impl OnDisk {
    pub(super) fn open(&self) -> io::Result<File> {
        File::open(&self.path)
    }

    /// Tells the monitor that `n_done` of `n_all` are read: a file that is read here and there has no place to tell it by.
    pub(super) fn report(&mut self, n_done: u64, n_all: u64) {
        if let Some((opened, monitor)) = &self.opened {
            let n_bytes = (opened.len() as f64 * n_done as f64 / n_all.max(1) as f64) as u64;
            monitor.bytes_read.fetch_add(n_bytes.saturating_sub(self.n_reported), Ordering::Relaxed);
            self.n_reported = self.n_reported.max(n_bytes);
        }
    }

    /// An error if the file is not what it was when it was opened.
    pub(super) fn check_unchanged(&self) -> io::Result<()> {
        self.opened.as_ref().map_or(Ok(()), |(opened, _)| unchanged(&self.open()?, opened))
    }
}

fn ends_in(name: &Path, end: &str) -> bool {
    name.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(end))
}

/// The error for a failed read: damaged compressed data is bad input, not a failing disk.
pub(super) fn read_error(name: &Path, line: Option<u64>, error: io::Error) -> Error {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    if error.get_ref().is_some_and(|inner| inner.is::<Bomb>()) {
        let message = format!("{error}; if you trust the file, decompress it and give the plain one");
        return Error::input(name, line, message);
    }
    if error.get_ref().is_some_and(|inner| inner.is::<Stopped>()) {
        return Error::Interrupted;
    }
    if matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof) {
        let message = format!("the compressed data is damaged or cut short ({error}); fetch the file again");
        return Error::input(name, line, message);
    }
    Error::io(name, error)
}

/// Counts bytes of input files for whoever watches.
struct Counted<R> {
    inner: R,
    monitor: Arc<Monitor>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Some formats are read to their end before the first document comes.
        self.monitor.go_on().map_err(|_| io::Error::other(Stopped))?;
        let n = self.inner.read(buffer)?;
        self.monitor.bytes_read.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// A file that must be the same at its end as when it was opened.
struct Unchanged {
    file: File,
    opened: Metadata,
}

impl Read for Unchanged {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buffer)?;
        if n == 0 && self.opened.is_file() && !buffer.is_empty() {
            unchanged(&self.file, &self.opened)?;
        }
        Ok(n)
    }
}

fn unchanged(file: &File, opened: &Metadata) -> io::Result<()> {
    let now = file.metadata()?;
    if now.len() == opened.len() && now.modified().ok() == opened.modified().ok() {
        return Ok(());
    }
    let (before, after) = (opened.len(), now.len());
    Err(io::Error::other(Changed { before, after }))
}

/// Not the file's fault, and so never taken for damage.
#[derive(Debug, thiserror::Error)]
#[error(
    "the file changed while it was read ({before} bytes before, {after} now); wait until it is written, or read a copy"
)]
struct Changed {
    before: u64,
    after: u64,
}

/// Counts what is taken out of the buffer: what waits in it has not grown yet.
struct Compressed<R> {
    inner: BufReader<R>,
    n_bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Compressed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.n_bytes.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

impl<R: Read> BufRead for Compressed<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        self.n_bytes.fetch_add(n as u64, Ordering::Relaxed);
        self.inner.consume(n);
    }
}

/// Decompressed bytes, as long as they are not out of all proportion to the compressed ones.
struct Guarded {
    inner: Box<dyn Read + Send>,
    n_bytes: u64,
    n_compressed: Arc<AtomicU64>,
}

impl Read for Guarded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer).map_err(damage)?;
        self.n_bytes += n as u64;
        // Not even an empty text is compressed to nothing; zstd would take it for one.
        if n == 0 && self.n_compressed.load(Ordering::Relaxed) == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let n_compressed = self.n_compressed.load(Ordering::Relaxed);
        Bomb::of(self.n_bytes, n_compressed).map_or(Ok(n), |bomb| Err(io::Error::other(bomb)))
    }
}

/// Decoders tell damage by errors of any kind; those of the operating system, and of a file that changed, are passed on.
fn damage(error: io::Error) -> io::Error {
    let passed_on = error.raw_os_error().is_some()
        || error.kind() == io::ErrorKind::Interrupted
        || error.get_ref().is_some_and(|inner| inner.is::<Changed>() || inner.is::<Stopped>());
    if passed_on { error } else { io::Error::new(io::ErrorKind::InvalidData, error.to_string()) }
}

#[derive(Debug, thiserror::Error)]
#[error(
    "{n_compressed} compressed bytes have grown to {n_bytes}, more than {MAX_EXPANSION} to one, which no real corpus does"
)]
pub(super) struct Bomb {
    n_bytes: u64,
    n_compressed: u64,
}

impl Bomb {
    /// Whether so many bytes are out of all proportion to what they were made from.
    pub(super) fn of(n_bytes: u64, n_compressed: u64) -> Option<Self> {
        let too_many = n_bytes > HARMLESS && n_bytes / MAX_EXPANSION > n_compressed;
        too_many.then_some(Self { n_bytes, n_compressed })
    }
}

/// The user asked to stop.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
struct Stopped;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_to_stop_is_seen_at_the_first_byte() {
        let monitor = Arc::new(Monitor::default());
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert!(Source::open(&manifest, &monitor).is_ok());
        monitor.stop.store(true, Ordering::Relaxed);
        assert!(matches!(Source::open(&manifest, &monitor), Err(Error::Interrupted)));
    }
}
