//! A sparse matrix, documents by topics, that `scipy.sparse.load_npz` opens: a zip of the arrays of its CSR form. Beside it are
//! two text files: the names of its columns and the ids of its rows, one a line.

use super::{DocTopics, Output, Subject, Target, TopicQ};
use crate::error::{Error, Result};
use crate::files;
use crate::npy;
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use zip::write::{SimpleFileOptions, ZipWriter};
use zip::{CompressionMethod, DateTime};

/// The arrays grow in files without a name, as the zip takes them one after the other.
pub(super) struct Npz<'a> {
    file: Target,
    /// Names of the topics, and ids of the documents.
    beside: [Target; 2],
    subject: Subject<'a>,
    row_ends: Array,
    topics: Array,
    q: Array,
    row: Vec<TopicQ>,
}

impl<'a> Npz<'a> {
    pub(super) fn create(aside: &Path, file: Target, subject: Subject<'a>) -> Result<Self> {
        let path = file.path().to_owned();
        let array = |descr| Array::create(&path, descr).map_err(|e| Error::io(&path, e));
        let [names, ids] = beside(&path);
        let mut beside = [Target::create(aside, &names)?, Target::create(aside, &ids)?];
        subject.names.topics.iter().try_for_each(|name| beside[0].put(&line(name)))?;
        let mut npz = Self {
            file,
            beside,
            subject,
            row_ends: array("<i8")?,
            topics: array("<i4")?,
            q: array("<f4")?,
            row: Vec::new(),
        };
        npz.end_row().map_err(|e| Error::io(&path, e))?;
        Ok(npz)
    }

    fn write_row(&mut self, topics: &[TopicQ]) -> io::Result<()> {
        self.row.clear();
        self.row.extend(topics);
        self.row.sort_unstable_by_key(|entry| entry.topic);
        for &TopicQ { topic, q } in &self.row {
            self.topics.push(&topic.to_le_bytes())?;
            self.q.push(&self.subject.value(q).to_le_bytes())?;
        }
        self.end_row()
    }

    fn end_row(&mut self) -> io::Result<()> {
        self.row_ends.push(&self.q.length.to_le_bytes())
    }
}

impl Output for Npz<'_> {
    fn write(&mut self, doc: &DocTopics<'_>) -> Result<()> {
        self.beside[1].put(&line(&self.subject.corpus.id(doc.doc_ix)))?;
        self.write_row(doc.topics).map_err(|e| Error::io(self.file.path(), e))
    }

    fn commit(self: Box<Self>) -> Result<()> {
        let Self { mut file, beside, subject, row_ends, topics, q, .. } = *self;
        let shape = [row_ends.length - 1, subject.names.topics.len() as u64];
        let mut disk = Disk { file: &mut file, fault: None };
        let zipped = write_zip(&mut disk, shape, [topics, row_ends, q]);
        let zipped = disk.fault.map_or(zipped, Err);
        zipped.map_err(|e| Error::io(file.path(), e))?;
        // Nothing is put in place before all is on the disk.
        let mut all = beside.into_iter().chain([file]).collect::<Vec<Target>>();
        for target in &mut all {
            target.flush().map_err(|e| Error::io(target.path(), e))?;
        }
        all.into_iter().try_for_each(Target::commit)
    }
}

/// The files beside an output: names of the topics, ids of the documents.
pub(super) fn beside(output: &Path) -> [PathBuf; 2] {
    [".topics.txt", ".ids.txt"].map(|ending| {
        let mut name = output.to_owned().into_os_string();
        name.push(ending);
        name.into()
    })
}

/// A text as one line, whatever a reader takes for the end of one.
fn line(text: &str) -> String {
    let ends_line = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    text.replace(ends_line, " ") + "\n"
}

/// The arrays by the names, and in the order, that SciPy gives them.
fn write_zip(target: impl Write, shape: [u64; 2], [indices, indptr, data]: [Array; 3]) -> io::Result<()> {
    let mut zip = ZipWriter::new_stream(target);
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::DEFAULT)
        .large_file(true);
    let start = |zip: &mut ZipWriter<_>, name: &str, descr: &str, shape: &[u64]| {
        zip.start_file(format!("{name}.npy"), options)?;
        zip.write_all(&npy::header(descr, shape))
    };
    for (name, array) in [("indices", indices), ("indptr", indptr)] {
        start(&mut zip, name, array.descr, &[array.length])?;
        array.copy_to(&mut zip)?;
    }
    start(&mut zip, "format", "|S3", &[])?;
    zip.write_all(b"csr")?;
    start(&mut zip, "shape", "<i8", &[2])?;
    zip.write_all(shape.map(u64::to_le_bytes).as_flattened())?;
    start(&mut zip, "data", data.descr, &[data.length])?;
    data.copy_to(&mut zip)?;
    zip.finish()?;
    Ok(())
}

/// An array that grows.
struct Array {
    descr: &'static str,
    length: u64,
    file: BufWriter<File>,
}

impl Array {
    fn create(beside: &Path, descr: &'static str) -> io::Result<Self> {
        Ok(Self { descr, length: 0, file: BufWriter::with_capacity(1 << 16, files::unnamed(beside)?) })
    }

    fn push(&mut self, element: &[u8]) -> io::Result<()> {
        self.length += 1;
        self.file.write_all(element)
    }

    fn copy_to(self, target: &mut impl Write) -> io::Result<()> {
        let mut file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        io::copy(&mut file, target)?;
        Ok(())
    }
}

/// A file that keeps its first fault to itself and swallows what follows: a `ZipWriter` that meets one completes the
/// archive nonetheless when it is dropped, and prints that it cannot.
struct Disk<W> {
    file: W,
    fault: Option<io::Error>,
}

impl<W: Write> Write for Disk<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.fault.is_none() {
            self.fault = self.file.write_all(bytes).err();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.fault.is_none() {
            self.fault = self.file.flush().err();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with room for so many bytes.
    struct Room(usize);

    impl Write for Room {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if bytes.len() > self.0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0 -= bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The fault of zipping three arrays onto a disk; the zip itself must not notice it.
    fn fault_with_room_for(n_bytes: usize) -> Option<io::ErrorKind> {
        let folder = tempfile::tempdir().expect("a folder");
        let array = |descr, element: &[u8]| {
            let mut array = Array::create(&folder.path().join("out.npz"), descr).expect("an array");
            (0..100).for_each(|_| array.push(element).expect("an element"));
            array
        };
        let arrays = [array("<i4", &[0; 4]), array("<i8", &[0; 8]), array("<f4", &[0; 4])];
        let mut target = Disk { file: Room(n_bytes), fault: None };
        write_zip(&mut target, [99, 5], arrays).expect("no fault told");
        target.fault.map(|fault| fault.kind())
    }

    #[test]
    fn a_full_disk_is_a_fault_wherever_it_happens() {
        let needed = (0..).step_by(16).find(|&n_bytes| fault_with_room_for(n_bytes).is_none()).unwrap();
        assert!(needed > 500, "{needed}");
        assert_eq!(fault_with_room_for(needed - 16), Some(io::ErrorKind::StorageFull));
    }
}
