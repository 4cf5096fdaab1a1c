//! A folder of text files, a document each: their paths are the ids, the folders at its top the labels.

use super::lines::{MAX_LINE, utf8};
use super::source::{Source, read_error};
use super::{Document, Format, OnFault, ReadOptions, Reader};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use rustc_hash::FxHashSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) struct Folder {
    /// Texts by their ids, sorted; the last one is the next to be read.
    files: Vec<(String, PathBuf)>,
    n_others: usize,
    monitor: Arc<Monitor>,
}

impl Folder {
    /// Finds the files; what is in them is read one by one.
    pub(super) fn open(folder: &Path, options: &ReadOptions, monitor: &Arc<Monitor>) -> Result<Self> {
        if options.format.is_some() {
            let message = "this is a folder; give a file, or leave out `format` for a folder of .txt files, a document each";
            return Err(Error::input(folder, None, message));
        }
        Format::Text.check(options)?;
        if folder.join("config.json").is_file() && folder.join("metrics.jsonl").is_file() {
            let message = "this is the folder of a run, which is no corpus; give the documents, and the run as the model";
            return Err(Error::input(folder, None, message));
        }
        let found = find(folder, monitor)?;
        if found.texts.is_empty() {
            return Err(Error::input(folder, None, no_texts(&found)));
        }
        let mut files = found.texts;
        files.sort_unstable_by(|a, b| b.0.cmp(&a.0));
        Ok(Self { files, n_others: found.others.len(), monitor: Arc::clone(monitor) })
    }

    /// The text of a file, or what is wrong with it.
    fn text(&self, path: &Path) -> Result<String> {
        let mut source = Source::open(path, &self.monitor)?;
        let mut bytes = Vec::new();
        let read = source.reader().take(MAX_LINE as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|e| read_error(path, None, e))?;
        let fault = |line, message: String| Err(Error::input(path, line, message));
        if bytes.len() > MAX_LINE {
            let size = MAX_LINE >> 20;
            return fault(
                None,
                format!("the file is larger than {size} MB; is it one document, and plain text?"),
            );
        }
        if memchr::memchr(0, &bytes).is_some() {
            let message = "has NUL bytes, so it is no UTF-8 text; if it is UTF-16, convert it with iconv -f UTF-16 -t UTF-8";
            return fault(None, message.into());
        }
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        for (line, bytes) in (1..).zip(text.split(|&byte| byte == b'\n')) {
            if let Err(message) = utf8(bytes) {
                return fault(Some(line), message);
            }
        }
        Ok(String::from_utf8_lossy(text).into_owned())
    }
}

/// What a folder has.
#[derive(Default)]
struct Found {
    /// Texts with their paths within the folder.
    texts: Vec<(String, PathBuf)>,
    /// Other files.
    others: Vec<PathBuf>,
}

/// Looks through a folder and those in it, each once even if links lead in circles; hidden files are passed over.
fn find(folder: &Path, monitor: &Monitor) -> Result<Found> {
    let mut found = Found::default();
    let mut seen = FxHashSet::default();
    let mut folders = vec![(String::new(), folder.to_owned())];
    while let Some((within, folder)) = folders.pop() {
        monitor.go_on()?;
        let failed = |e| Error::io(&folder, e);
        if !seen.insert(folder.canonicalize().map_err(failed)?) {
            continue;
        }
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            entries.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
        }
        // The last one comes next: where links lead to a folder twice, the first in the order of names counts.
        entries.sort_unstable_by(|a, b| b.0.cmp(&a.0));
        for (name, path) in entries.into_iter().filter(|(name, _)| !name.starts_with('.')) {
            let id = format!("{within}{name}");
            // A link that leads nowhere is none of the texts.
            let there = std::fs::metadata(&path).ok();
            if there.as_ref().is_some_and(std::fs::Metadata::is_dir) {
                folders.push((id + "/", path));
            } else if there.is_some_and(|file| file.is_file())
                && Format::of(&path).is_ok_and(|f| f == Format::Text)
            {
                found.texts.push((id, path));
            } else {
                found.others.push(path);
            }
        }
    }
    Ok(found)
}

fn no_texts(found: &Found) -> String {
    // Whoever gives a folder may mean a file in it.
    let corpus = found.others.iter().filter(|path| Format::of(path).is_ok()).min();
    match (corpus, found.others.len()) {
        (Some(corpus), _) => {
            format!("this folder has no .txt files; give a file, such as {}", corpus.display())
        }
        (None, 0) => "this folder is empty; give a folder of .txt files, a document each, or a file".into(),
        (None, n) => format!(
            "this folder has no .txt files among its {n}; give a folder of .txt files, a document each, or a file"
        ),
    }
}

impl Reader for Folder {
    fn read(&mut self, document: &mut Document, on_fault: &mut OnFault<'_>) -> Result<bool> {
        while let Some((id, path)) = self.files.pop() {
            match self.text(&path) {
                Ok(text) => {
                    document.text = text;
                    document.label.push_str(id.split_once('/').map_or("", |(label, _)| label));
                    document.id = id;
                    return Ok(true);
                }
                Err(fault @ Error::Input { .. }) => on_fault(fault)?,
                Err(error) => {
                    // An error is the end.
                    self.files.clear();
                    return Err(error);
                }
            }
        }
        Ok(false)
    }

    fn notes(&self) -> Vec<String> {
        let note =
            |n: usize| format!("only .txt files are documents: other files in the folder are not read ({n})");
        (self.n_others > 0).then(|| note(self.n_others)).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::open;
    use super::*;
    use std::fs;

    /// Ids, labels and texts of a folder, the faults, and the notes.
    #[allow(clippy::type_complexity)]
    fn read(folder: &Path) -> Result<(Vec<[String; 3]>, Vec<String>, Vec<String>)> {
        let mut reader = open(folder, &ReadOptions::default(), &Arc::default())?;
        let (mut documents, mut faults) = (Vec::new(), Vec::new());
        let mut document = Document::default();
        let mut note = |fault: Error| {
            faults.push(fault.to_string());
            Ok(())
        };
        while reader.read(&mut document, &mut note)? {
            let Document { id, label, text, .. } = std::mem::take(&mut document);
            documents.push([id, label, text]);
        }
        Ok((documents, faults, reader.notes()))
    }

    fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        folder
    }

    #[test]
    fn files_are_documents_and_folders_labels() {
        let files: [(&str, &[u8]); 7] = [
            ("b/2.txt", b"two"),
            ("b/deep/x.txt", b"\xef\xbb\xbfmark\r\nline"),
            ("a/10.TXT", b""),
            ("top.txt", b"top"),
            ("a/readme.md", b"no"),
            (".hidden/x.txt", b"no"),
            ("b/._2.txt", b"no"),
        ];
        let folder = folder(&files);
        let (documents, faults, notes) = read(folder.path()).unwrap();
        let expected = [
            ["a/10.TXT", "a", ""],
            ["b/2.txt", "b", "two"],
            ["b/deep/x.txt", "b", "mark\r\nline"],
            ["top.txt", "", "top"],
        ];
        assert_eq!(documents, expected.map(|row| row.map(String::from)));
        assert_eq!(faults, [""; 0]);
        assert_eq!(notes, ["only .txt files are documents: other files in the folder are not read (1)"]);
    }

    #[test]
    fn a_file_that_is_no_text_is_named_and_the_others_are_read() {
        let files: [(&str, &[u8]); 3] = [("a.txt", b"one\nna\xefve"), ("b.txt", b"\0"), ("c.txt", b"three")];
        let folder = folder(&files);
        let (documents, faults, _) = read(folder.path()).unwrap();
        assert_eq!(documents.len(), 1);
        let place = |name: &str| folder.path().join(name).display().to_string();
        assert!(faults[0].starts_with(&format!("{}:2: byte 3 (0xef)", place("a.txt"))), "{faults:?}");
        assert!(faults[1].starts_with(&format!("{}: has NUL bytes", place("b.txt"))), "{faults:?}");
    }

    #[test]
    fn folders_without_texts_say_what_to_give() {
        for (files, told) in [
            (&[][..], "this folder is empty"),
            (&[("x.md", &b""[..])], "no .txt files among its 1"),
            (&[("data/docs.jsonl", &b""[..]), ("x.md", b"")], "docs.jsonl"),
            (&[("config.json", &b""[..]), ("metrics.jsonl", b""), ("a.txt", b"")], "the folder of a run"),
        ] {
            let folder = folder(files);
            let error = read(folder.path()).unwrap_err();
            assert_eq!(error.exit_status(), 2);
            assert!(error.to_string().contains(told), "{error}");
        }
        let text = ReadOptions { format: Some(Format::Text), ..Default::default() };
        assert!(open(folder(&[]).path(), &text, &Arc::default()).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_in_circles_end() {
        use std::os::unix::fs::symlink;
        let folder = folder(&[("a/x.txt", b"x"), ("b/y.txt", b"y")]);
        symlink(folder.path(), folder.path().join("a/up")).unwrap();
        symlink("../b", folder.path().join("a/b")).unwrap();
        symlink("nowhere", folder.path().join("b/none.txt")).unwrap();
        symlink("y.txt", folder.path().join("b/z.txt")).unwrap();
        let (documents, _, notes) = read(folder.path()).unwrap();
        let ids: Vec<&str> = documents.iter().map(|[id, ..]| id.as_str()).collect();
        assert_eq!(ids, ["a/b/y.txt", "a/b/z.txt", "a/x.txt"]);
        assert_eq!(notes.len(), 1);
    }
}
