//! A corpus as it comes in: in memory while it is small, else in a file without a name, which is mapped when all is in.

use super::Sink;
use super::spill::no_room;
use crate::corpus::{Corpus, Others, native::NativeWriter};
use crate::error::{Error, Result};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

pub(super) struct Growing {
    /// Bytes in memory at most.
    limit: usize,
    /// Where the file is, if there is one.
    folder: PathBuf,
    held: Held,
}

enum Held {
    Memory(Box<Corpus>),
    File(Box<NativeWriter<BufWriter<File>>>),
}

impl Growing {
    /// Corpora up to so many bytes stay in memory, others go to a file in `folder`.
    pub(super) fn new(limit: usize, folder: PathBuf) -> Self {
        Self { limit, folder, held: Held::Memory(Box::default()) }
    }

    /// The whole corpus; `name` is what errors call it.
    pub(super) fn finish(self, name: &Path) -> Result<Corpus> {
        match self.held {
            Held::Memory(corpus) => Ok(*corpus),
            Held::File(writer) => writer.map(name).map_err(|e| in_folder(&self.folder, e)),
        }
    }

    /// Moves what is in memory to a file.
    fn move_to_file(&mut self) -> Result<()> {
        let Held::Memory(corpus) = &self.held else { return Ok(()) };
        let mut writer = NativeWriter::temporary(&self.folder)?;
        corpus.copy_to(&mut writer)?;
        self.held = Held::File(Box::new(writer));
        Ok(())
    }
}

fn n_bytes(corpus: &Corpus) -> usize {
    let Corpus { tokens, doc_ends, others, other_ends, ids, labels, .. } = corpus;
    let n_ends = doc_ends.len() + other_ends.len() + ids.len() + labels.len();
    4 * (tokens.len() + others.len()) + 8 * n_ends + ids.bytes.len() + labels.bytes.len()
}

/// A failed read or write, by the folder of the file that has no name.
fn in_folder(folder: &Path, error: Error) -> Error {
    match error {
        Error::Io { source, .. } => no_room(folder, source),
        other => other,
    }
}

impl Sink for Growing {
    fn push_state(
        &mut self,
        present: &mut Vec<u32>,
        others: &mut Others,
        id: &str,
        label: &str,
    ) -> Result<()> {
        let pushed = match &mut self.held {
            Held::File(writer) => writer.push_state(present, others, id, label),
            Held::Memory(corpus) => match corpus.push_state(present, others, id, label) {
                Ok(()) if n_bytes(corpus) > self.limit => self.move_to_file(),
                pushed => pushed,
            },
        };
        pushed.map_err(|e| in_folder(&self.folder, e))
    }

    fn set_names(&mut self, names: &mut dyn Iterator<Item = &str>) -> Result<()> {
        match &mut self.held {
            Held::File(writer) => writer.set_names(names).map_err(|e| in_folder(&self.folder, e)),
            Held::Memory(corpus) => {
                corpus.set_token_names(names);
                Ok(())
            }
        }
    }

    fn set_n_tokens(&mut self, n_tokens: u32) {
        match &mut self.held {
            Held::File(writer) => writer.set_n_tokens(n_tokens),
            Held::Memory(corpus) => Sink::set_n_tokens(corpus.as_mut(), n_tokens),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Documents with ids and labels from the fifth on, with and without names for the tokens.
    fn grown(limit: usize, named: bool, unknown: bool) -> Corpus {
        let mut growing = Growing::new(limit, std::env::temp_dir());
        match named {
            true => growing.set_names(&mut ["a", "b", "c", "d", "e", "f", "g"].into_iter()).unwrap(),
            false => growing.set_n_tokens(9),
        }
        for doc_ix in 0..40u32 {
            let mut tokens = vec![doc_ix % 7, doc_ix % 3, doc_ix % 7];
            let text = if doc_ix < 5 { String::new() } else { format!("document {doc_ix}") };
            let mut others = Others::default();
            if unknown && doc_ix % 4 > 1 {
                others = Others { tokens: vec![6 - doc_ix % 2], rest_unknown: doc_ix % 8 > 4 };
                tokens.retain(|&token| token < 5);
            }
            growing.push_state(&mut tokens, &mut others, &text, &text).unwrap();
        }
        growing.finish("it".as_ref()).unwrap()
    }

    #[test]
    fn a_corpus_is_the_same_in_memory_and_in_a_file() {
        for (named, unknown) in [(false, false), (true, false), (false, true), (true, true)] {
            let whole = grown(usize::MAX, named, unknown);
            assert_eq!(whole.has_unknown(), unknown);
            assert!(whole.mapped.is_none());
            for limit in [0, 60, 700] {
                let other = grown(limit, named, unknown);
                assert!(other.mapped.is_some() && other.is_verified());
                assert!(other == whole && other.fingerprint() == whole.fingerprint(), "{limit}");
                crate::corpus::native::verify(&other, other.mapped.as_ref().unwrap(), &|| true).unwrap();
            }
        }
    }

    #[test]
    fn the_error_names_the_folder_and_what_to_do() {
        let folder = std::env::temp_dir().join("there is no such folder");
        let error = Growing::new(0, folder.clone()).push(&mut vec![1], "", "").unwrap_err();
        assert!(error.to_string().contains(&folder.display().to_string()), "{error}");
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let error = in_folder(&std::env::temp_dir(), Error::io("x".as_ref(), full));
        assert!(error.to_string().contains("TMPDIR") && error.exit_status() == 3, "{error}");
    }
}
