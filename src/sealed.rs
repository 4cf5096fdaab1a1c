//! Files of ours with a seal: what it is, its version, and a checksum over all of it, compared before anything is believed.

use crate::error::{Error, Result};
use crate::files::{self, AtomicFile};
use bytemuck::{Pod, Zeroable};
use std::fs::File;
use std::hash::Hasher;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_64;

/// A kind of sealed file.
#[derive(Debug, Clone, Copy)]
pub struct Seal {
    /// First bytes of the file.
    pub magic: [u8; 8],
    /// Goes up whenever the content changes its meaning.
    pub version: u64,
    /// What it is, for messages: "a checkpoint".
    pub what: &'static str,
}

/// The head of the file, little-endian.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Head {
    magic: [u8; 8],
    version: u64,
    /// Bytes of content.
    len: u64,
    /// XXH3 of the content.
    checksum: u64,
}

impl Seal {
    /// Writes `content` aside, synced, and puts it in place.
    pub fn write(&self, path: &Path, content: &[u8]) -> Result<()> {
        let mut file = self.create(path)?;
        file.write_all(content).map_err(|e| Error::io(path, e))?;
        file.commit().map(|_| ())
    }

    /// Opens a file of this kind aside, to be written piece by piece; [`SealedFile::commit`] puts it in place.
    pub fn create(&self, path: &Path) -> Result<SealedFile> {
        let mut file = AtomicFile::create(path)?;
        file.write_all(&[0; size_of::<Head>()]).map_err(|e| Error::io(path, e))?;
        Ok(SealedFile { seal: *self, path: path.to_owned(), file, len: 0, hash: XxHash3_64::default() })
    }

    /// The content of a file of this kind, of at most `limit` bytes; anything else, damaged files too, is refused.
    pub fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>> {
        let refuse = |message: String| Err(Error::input(path, None, message));
        // The head first: a file of another kind must not fill the memory.
        let mut head = [0; size_of::<Head>()];
        let mut file = File::open(path).map_err(|e| Error::io(path, e))?;
        if file.read_exact(&mut head).is_err() {
            return refuse(format!("cut short: too few bytes for {}", self.what));
        }
        let head: Head = bytemuck::pod_read_unaligned(&head);
        if head.magic != self.magic {
            return refuse(format!("this is not {}, or its first bytes are damaged", self.what));
        }
        if head.version != self.version {
            let (found, known) = (head.version, self.version);
            return refuse(format!(
                "version {found} is not known; this program reads version {known} of {}",
                self.what
            ));
        }
        let there =
            file.metadata().map_err(|e| Error::io(path, e))?.len().saturating_sub(size_of::<Head>() as u64);
        if head.len != there {
            let (found, said) = (there, head.len);
            return refuse(format!(
                "cut short or damaged: {found} bytes of content, and its head says {said}"
            ));
        }
        let mut bytes = files::read(path, limit)?;
        let content = bytes.get(size_of::<Head>()..).unwrap_or(&[]);
        if head.checksum != XxHash3_64::oneshot(content) {
            return refuse(format!("damaged: the checksum of {} is wrong", self.what));
        }
        bytes.drain(..size_of::<Head>());
        Ok(bytes)
    }
}

/// A sealed file being written. Dropped without `commit`, it leaves nothing behind.
pub struct SealedFile {
    seal: Seal,
    path: PathBuf,
    file: AtomicFile,
    len: u64,
    hash: XxHash3_64,
}

impl SealedFile {
    /// Seals the content, syncs, and puts the file in place; returns its length.
    pub fn commit(mut self) -> Result<u64> {
        let Seal { magic, version, .. } = self.seal;
        let head = Head { magic, version, len: self.len, checksum: self.hash.finish() };
        let sealed =
            self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.write_all(bytemuck::bytes_of(&head)));
        sealed.map_err(|e| Error::io(&self.path, e))?;
        self.file.commit()?;
        Ok(self.len + size_of::<Head>() as u64)
    }
}

impl Write for SealedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n_written = self.file.write(bytes)?;
        self.hash.write(&bytes[..n_written]);
        self.len += n_written as u64;
        Ok(n_written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEAL: Seal = Seal { magic: *b"noisyorT", version: 3, what: "a test" };

    #[test]
    fn every_bit_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sealed");
        let mut file = SEAL.create(&path).unwrap();
        file.write_all(b"some ").and_then(|()| file.write_all(b"content")).unwrap();
        assert_eq!(file.commit().unwrap(), 32 + 12);
        assert_eq!(SEAL.read(&path, 1000).unwrap(), b"some content");
        let good = std::fs::read(&path).unwrap();
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, bad).unwrap();
            let error = SEAL.read(&path, 1000).unwrap_err().to_string();
            assert!(error.starts_with(&path.display().to_string()), "{error}");
        }
        for len in 0..good.len() {
            std::fs::write(&path, &good[..len]).unwrap();
            assert!(SEAL.read(&path, 1000).is_err());
        }
        std::fs::write(&path, [&good[..], b"!"].concat()).unwrap();
        assert!(SEAL.read(&path, 1000).is_err());
    }
}
