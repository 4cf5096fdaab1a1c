//! A zip archive of NumPy arrays, several of which are read side by side.

use super::matrix::numberable;
use super::source::{Bomb, MAX_EXPANSION, OnDisk, Source, read_error};
use crate::error::{Error, Result};
use crate::npy::{Elements, Header, Kind, NpyError};
use flate2::bufread::DeflateDecoder;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;
use zip::{CompressionMethod, ZipArchive};

pub(super) const EXPECTED: &str = "expected what scipy.sparse.save_npz(path, matrix.tocsr()) writes";

pub(super) type Array = Elements<Checked>;

/// The archive, while its arrays are opened.
pub(super) struct Archive {
    pub(super) name: PathBuf,
    pub(super) file: OnDisk,
    zip: ZipArchive<BufReader<File>>,
    /// Bytes of the arrays opened so far, decompressed.
    n_bytes: u64,
}

impl Archive {
    pub(super) fn open(source: Source) -> Result<Self> {
        let name = source.name().to_owned();
        let file = source.into_file()?;
        let reader = file.open().map_err(|e| Error::io(&name, e))?;
        let zip = ZipArchive::new(BufReader::new(reader)).map_err(|e| {
            Error::input(&name, None, format!("cannot be opened as a zip archive ({e}); {EXPECTED}"))
        })?;
        Ok(Self { name, file, zip, n_bytes: 0 })
    }

    pub(super) fn fault(&self, message: impl Into<String>) -> Error {
        Error::input(&self.name, None, message)
    }

    /// A member from its beginning, with its size.
    fn member(&mut self, member: &'static str) -> Result<Checked> {
        let Some(index) = self.zip.index_for_name(member) else {
            return Err(self.fault(format!("has no {member}; {EXPECTED}")));
        };
        let entry = self.zip.by_index_raw(index).map_err(|e| {
            let message = format!("{member} cannot be opened ({e}); fetch the file again");
            Error::input(&self.name, None, message)
        })?;
        let (start, method) = (entry.data_start(), entry.compression());
        let (n_compressed, n_bytes, sum) = (entry.compressed_size(), entry.size(), entry.crc32());
        let readable = !entry.encrypted();
        drop(entry);
        let Some(start) = start.filter(|_| readable) else {
            return Err(self.fault(format!("{member} is encrypted; {EXPECTED}")));
        };
        let mut file = self.file.open().map_err(|e| Error::io(&self.name, e))?;
        file.seek(SeekFrom::Start(start)).map_err(|e| Error::io(&self.name, e))?;
        let stored = BufReader::new(file.take(n_compressed));
        let inner: Box<dyn Read + Send> = match method {
            CompressionMethod::Stored => Box::new(stored),
            CompressionMethod::Deflated => Box::new(DeflateDecoder::new(stored)),
            other => {
                return Err(self.fault(format!(
                    "{member} is compressed by {other}, not stored or deflated; {EXPECTED}"
                )));
            }
        };
        self.n_bytes = self.n_bytes.saturating_add(n_bytes);
        Ok(Checked { member, inner, n_left: n_bytes, n_bytes, sum, found: flate2::Crc::new() })
    }

    /// A member and its header, which must agree with the member's size.
    fn header(&mut self, member: &'static str) -> Result<(Header, Checked)> {
        let mut reader = self.member(member)?;
        let header = Header::read(&mut reader).map_err(|e| self.npy_error(member, e))?;
        if header.n_bytes_in_all() != Some(reader.n_bytes) {
            return Err(self.fault(format!(
                "{member} has {} bytes, which do not agree with its shape {:?}; write the file again",
                reader.n_bytes, header.shape
            )));
        }
        Ok((header, reader))
    }

    fn npy_error(&self, member: &str, error: NpyError) -> Error {
        match error {
            NpyError::Io(e) => read_error(&self.name, None, e),
            NpyError::Format(message) => self.fault(format!("{member} {message}; {EXPECTED}")),
        }
    }

    pub(super) fn text(&mut self, member: &'static str) -> Result<String> {
        let (header, mut reader) = self.header(member)?;
        header.read_text(&mut reader).map_err(|e| self.npy_error(member, e))
    }

    /// An array of numbers in one dimension, and its length.
    pub(super) fn array(&mut self, member: &'static str) -> Result<(Array, u64)> {
        let (header, reader) = self.header(member)?;
        let &[length] = header.shape.as_slice() else {
            let n = header.shape.len();
            return Err(self.fault(format!("{member} has {n} dimensions instead of one; {EXPECTED}")));
        };
        Ok((Elements::new(&header, reader).map_err(|e| self.npy_error(member, e))?, length))
    }

    /// An array of whole numbers, which must have that length.
    pub(super) fn whole_array(&mut self, member: &'static str, expected: u64) -> Result<Array> {
        let (array, length) = self.array(member)?;
        if array.kind() == Kind::Float {
            return Err(self.fault(format!("{member} has floats instead of whole numbers; {EXPECTED}")));
        }
        if length != expected {
            return Err(self.fault(format!(
                "{member} has {length} elements instead of {expected}; write the file again"
            )));
        }
        Ok(array)
    }

    pub(super) fn shape(&mut self) -> Result<(u32, u32)> {
        let mut shape = self.whole_array("shape.npy", 2)?;
        let mut length = |what| match shape.next_i64().map_err(|e| read_error(&self.name, None, e))? {
            Some(n) if n >= 0 => numberable(n as u64, what).map_err(|message| self.fault(message)),
            n => Err(self.fault(format!("has {} {what}; {EXPECTED}", n.unwrap_or_default()))),
        };
        Ok((length("rows")?, length("columns")?))
    }

    /// Values are often all the same and so compress beyond measure: only the whole tells a bomb.
    pub(super) fn check_expansion(&self) -> Result<()> {
        let n_stored =
            self.file.open().and_then(|file| file.metadata()).map_err(|e| Error::io(&self.name, e))?.len();
        if Bomb::of(self.n_bytes, n_stored).is_none() {
            return Ok(());
        }
        Err(self.fault(format!(
            "{n_stored} bytes declare that they grow to {}, more than {MAX_EXPANSION} to one, which no real corpus \
             does; if you trust the file, write it with compressed=False",
            self.n_bytes
        )))
    }
}

/// A member's bytes, as many as it declares, with the sum that it declares.
pub(super) struct Checked {
    member: &'static str,
    inner: Box<dyn Read + Send>,
    n_left: u64,
    n_bytes: u64,
    sum: u32,
    found: flate2::Crc,
}

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.n_left.min(buffer.len() as u64) as usize;
        let n = self.inner.read(&mut buffer[..n])?;
        self.found.update(&buffer[..n]);
        self.n_left -= n as u64;
        if n > 0 && self.n_left == 0 && self.found.sum() != self.sum {
            let message = format!("{}: the checksum is another", self.member);
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(n)
    }
}
