//! The file as the Parquet library reads it.

use bytes::Bytes;
use parquet::errors::Result;
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{self, Read};

/// A file whose end is an error: the library passes over lists of a page's header element by element, and where reads at the
/// end succeed with nothing it goes on for as many as the header claims.
pub(super) struct Bounded(pub(super) File);

impl Length for Bounded {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for Bounded {
    type T = EndIsFault<<File as ChunkReader>::T>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        self.0.get_read(start).map(EndIsFault)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.0.get_bytes(start, length)
    }
}

pub(super) struct EndIsFault<R>(R);

impl<R: Read> Read for EndIsFault<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 if !buffer.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            n => Ok(n),
        }
    }
}
