//! Writing a native corpus in one pass and little memory: tokens go to the file at once, everything else to files aside, which
//! are added at the end.

use super::layout::{ALIGN, Header, MAGIC, Place, Section, VERSION};
use super::open::open_own;
use crate::corpus::{Corpus, Sink};
use crate::error::{Error, Result};
use crate::files::{self, AtomicFile};
use std::fs::File;
use std::hash::Hasher;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_64;

/// Writes a native corpus, document by document; [`NativeWriter::commit`] puts it in place.
pub struct NativeWriter<F = AtomicFile> {
    path: PathBuf,
    file: F,
    tokens: Sum,
    /// The other sections, in order.
    aside: [Aside; 7],
    n_docs: u64,
    n_tokens: u32,
    named: bool,
}

impl NativeWriter {
    /// Opens the output aside.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where it cannot be written.
    pub fn create(path: &Path) -> Result<Self> {
        Self::begin(path, AtomicFile::create(path)?)
    }

    /// Puts the file in place.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where it cannot be written.
    pub fn commit(mut self) -> Result<()> {
        self.finish().map_err(|e| Error::io(&self.path, e))?;
        self.file.commit()
    }
}

impl NativeWriter<BufWriter<File>> {
    /// Writes to a file without a name in a folder.
    pub(in crate::corpus) fn temporary(folder: &Path) -> Result<Self> {
        let path = folder.join("corpus");
        let file = files::unnamed(&path).map_err(|e| Error::io(folder, e))?;
        Self::begin(&path, BufWriter::with_capacity(1 << 18, file))
    }

    /// The corpus, mapped; `name` is what errors call it.
    pub(in crate::corpus) fn map(mut self, name: &Path) -> Result<Corpus> {
        self.finish().and_then(|()| self.file.flush()).map_err(|e| Error::io(&self.path, e))?;
        open_own(name, self.file.get_ref())
    }
}

impl<F: Write + Seek> NativeWriter<F> {
    fn begin(path: &Path, mut file: F) -> Result<Self> {
        let begin = (Header::LEN as u64).next_multiple_of(ALIGN);
        file.write_all(&vec![0; begin as usize]).map_err(|e| Error::io(path, e))?;
        let aside = [(); 7].map(|()| Aside::create(path));
        let mut opened = Vec::with_capacity(7);
        for section in aside {
            opened.push(section.map_err(|e| Error::io(path, e))?);
        }
        let aside = opened.try_into().map_err(|_| Error::Usage("seven sections".into()))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            tokens: Sum::default(),
            aside,
            n_docs: 0,
            n_tokens: 0,
            named: false,
        })
    }

    fn put(&mut self, tokens: &[u32], id: &str, label: &str) -> io::Result<()> {
        self.tokens.add(bytemuck::cast_slice(tokens));
        self.file.write_all(bytemuck::cast_slice(tokens))?;
        let [doc_ends, id_ends, ids, label_ends, labels, ..] = &mut self.aside;
        doc_ends.put(&(self.tokens.len / 4).to_le_bytes())?;
        for (ends, texts, text) in [(id_ends, ids, id), (label_ends, labels, label)] {
            // Absent until the first document that has one.
            if ends.sum.len == 0 && !text.is_empty() {
                (0..self.n_docs).try_for_each(|_| ends.put(&0u64.to_le_bytes()))?;
            }
            if ends.sum.len > 0 || !text.is_empty() {
                texts.put(text.as_bytes())?;
                ends.put(&texts.sum.len.to_le_bytes())?;
            }
        }
        self.n_docs += 1;
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        let mut places = [Place::default(); Section::ALL.len()];
        let mut position = (Header::LEN as u64).next_multiple_of(ALIGN);
        let Self { file, aside, tokens, .. } = self;
        places[0] = Place { begin: position, len: tokens.len, checksum: tokens.hash.finish() };
        position += tokens.len;
        for (place, section) in places[1..].iter_mut().zip(aside) {
            let padding = position.next_multiple_of(ALIGN) - position;
            file.write_all(&[0; ALIGN as usize][..padding as usize])?;
            position += padding;
            *place = Place { begin: position, len: section.sum.len, checksum: section.sum.hash.finish() };
            position += section.copy_to(file)?;
        }
        let mut header = Header {
            magic: MAGIC,
            version: VERSION,
            n_tokens: self.n_tokens,
            n_docs: self.n_docs,
            n_occurrences: self.tokens.len / 4,
            named: u64::from(self.named),
            file_len: position,
            places,
            checksum: 0,
        };
        header.checksum = header.own_checksum();
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(bytemuck::bytes_of(&header))
    }
}

impl<F: Write + Seek> Sink for NativeWriter<F> {
    fn push(&mut self, tokens: &mut Vec<u32>, id: &str, label: &str) -> Result<()> {
        tokens.sort_unstable();
        tokens.dedup();
        self.n_tokens = self.n_tokens.max(tokens.last().map_or(0, |last| last.saturating_add(1)));
        self.put(tokens, id, label).map_err(|e| Error::io(&self.path, e))
    }

    fn set_names(&mut self, names: &mut dyn Iterator<Item = &str>) -> Result<()> {
        let [.., ends, texts] = &mut self.aside;
        for name in names {
            let put = texts.put(name.as_bytes()).and_then(|()| ends.put(&texts.sum.len.to_le_bytes()));
            put.map_err(|e| Error::io(&self.path, e))?;
        }
        (self.named, self.n_tokens) = (true, (ends.sum.len / 8) as u32);
        Ok(())
    }

    fn set_n_tokens(&mut self, n_tokens: u32) {
        self.n_tokens = self.n_tokens.max(n_tokens);
    }
}

/// Length and checksum of what went by.
#[derive(Default)]
struct Sum {
    len: u64,
    hash: XxHash3_64,
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        self.len += bytes.len() as u64;
        self.hash.write(bytes);
    }
}

/// A section that grows in a file without a name.
struct Aside {
    file: BufWriter<File>,
    sum: Sum,
}

impl Aside {
    fn create(path: &Path) -> io::Result<Self> {
        let file = BufWriter::with_capacity(1 << 16, files::unnamed(path)?);
        Ok(Self { file, sum: Sum::default() })
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.add(bytes);
        self.file.write_all(bytes)
    }

    fn copy_to(&mut self, target: &mut impl Write) -> io::Result<u64> {
        self.file.flush()?;
        let file = self.file.get_mut();
        file.rewind()?;
        io::copy(&mut file.take(self.sum.len), target)
    }
}
