//! Writing a native corpus in one pass and little memory: tokens go to the file at once, everything else to files aside, which
//! are added at the end.

use super::layout::{ALIGN, Header, MAGIC, Place, Trailer, VERSION, VERSION_UNKNOWN};
use super::open::open_own;
use crate::corpus::{Corpus, Others, Sink};
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
    /// The other sections of version 1, in order.
    aside: [Aside; 7],
    /// What documents list beside their present tokens, and the ends of the lists, from the first document with unknown tokens on.
    others: Option<[Aside; 2]>,
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
            others: None,
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

    fn put_others(&mut self, others: &Others) -> io::Result<()> {
        if self.others.is_none() && others.is_none() {
            return Ok(());
        }
        let [list, ends] = match &mut self.others {
            Some(sections) => sections,
            none => {
                let mut ends = Aside::create(&self.path)?;
                (0..self.n_docs).try_for_each(|_| ends.put(&0u64.to_le_bytes()))?;
                none.insert([Aside::create(&self.path)?, ends])
            }
        };
        list.put(bytemuck::cast_slice(&others.tokens))?;
        ends.put(&others.end(list.sum.len / 4).to_le_bytes())
    }

    fn finish(&mut self) -> io::Result<()> {
        let mut places = [Place::default(); 8];
        let mut position = (Header::LEN as u64).next_multiple_of(ALIGN);
        let Self { file, aside, tokens, others, .. } = self;
        places[0] = Place { begin: position, len: tokens.len, checksum: tokens.hash.finish() };
        position += tokens.len;
        for (place, section) in places[1..].iter_mut().zip(aside) {
            *place = section.append(file, &mut position)?;
        }
        let version = if others.is_some() { VERSION_UNKNOWN } else { VERSION };
        if let Some([list, ends]) = others {
            let places = [list.append(file, &mut position)?, ends.append(file, &mut position)?];
            pad(file, &mut position)?;
            file.write_all(bytemuck::bytes_of(&Trailer::new(places)))?;
            position += Trailer::LEN as u64;
        }
        let mut header = Header {
            magic: MAGIC,
            version,
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
    fn push_state(
        &mut self,
        present: &mut Vec<u32>,
        others: &mut Others,
        id: &str,
        label: &str,
    ) -> Result<()> {
        others.check_with(present)?;
        let last = present.last().max(others.tokens.last());
        self.n_tokens = self.n_tokens.max(last.map_or(0, |last| last.saturating_add(1)));
        let put = self.put_others(others).and_then(|()| self.put(present, id, label));
        put.map_err(|e| Error::io(&self.path, e))
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

    /// Adds the section to the file, whose end is at `position`.
    fn append(&mut self, target: &mut impl Write, position: &mut u64) -> io::Result<Place> {
        pad(target, position)?;
        let place = Place { begin: *position, len: self.sum.len, checksum: self.sum.hash.finish() };
        self.file.flush()?;
        let file = self.file.get_mut();
        file.rewind()?;
        *position += io::copy(&mut file.take(self.sum.len), target)?;
        Ok(place)
    }
}

/// Zeros up to where the next section may begin.
fn pad(file: &mut impl Write, position: &mut u64) -> io::Result<()> {
    let padding = position.next_multiple_of(ALIGN) - *position;
    *position += padding;
    file.write_all(&[0; ALIGN as usize][..padding as usize])
}
