//! Documents kept aside until the vocabulary is known: in memory while they are few, else in a file without a name.

use crate::corpus::Others;
use crate::error::{Error, Result};
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use tempfile::SpooledTempFile;

/// Up to so many bytes stay in memory.
const IN_MEMORY: usize = 1 << 28;
/// In the number of a document's words: what it lists beside them follows. Documents have fewer words than this.
const LISTED: u32 = 1 << 31;

/// A temporary file in a folder could not be made, written or read; where the user chooses the folder, how.
pub(super) fn no_room(folder: &Path, error: io::Error) -> Error {
    if folder != std::env::temp_dir() {
        return Error::io(folder, error);
    }
    let message = format!(
        "{error}; what does not fit in memory goes to temporary files here: set the variable TMPDIR to a folder with more room"
    );
    Error::io(folder, io::Error::new(error.kind(), message))
}

pub(super) struct Spill {
    folder: PathBuf,
    file: BufWriter<SpooledTempFile>,
    n_docs: u64,
}

impl Spill {
    /// What does not fit in memory goes to a file in `folder`.
    pub(super) fn new(folder: &Path) -> Self {
        let file = tempfile::spooled_tempfile_in(IN_MEMORY, folder);
        Self { folder: folder.to_owned(), file: BufWriter::with_capacity(1 << 16, file), n_docs: 0 }
    }

    pub(super) fn n_docs(&self) -> u64 {
        self.n_docs
    }

    pub(super) fn push(&mut self, sequence: &[u32], others: &Others, id: &str, label: &str) -> Result<()> {
        self.n_docs += 1;
        let listed = if others.is_none() { 0 } else { LISTED };
        let sizes = [sequence.len() as u32 | listed, id.len() as u32, label.len() as u32];
        let of_others = [others.tokens.len() as u32, others.rest_unknown.into()];
        let parts: [&[u8]; 6] = [
            bytemuck::cast_slice(&sizes),
            if listed == 0 { &[] } else { bytemuck::cast_slice(&of_others) },
            bytemuck::cast_slice(sequence),
            bytemuck::cast_slice(&others.tokens),
            id.as_bytes(),
            label.as_bytes(),
        ];
        let written = parts.iter().try_for_each(|part| self.file.write_all(part));
        written.map_err(|e| no_room(&self.folder, e))
    }

    /// Calls `on_doc` with every document, in order.
    pub(super) fn replay(
        &mut self,
        mut on_doc: impl FnMut(&[u32], &Others, &str, &str) -> Result<()>,
    ) -> Result<()> {
        let Self { folder, file, n_docs } = self;
        let rewound = file.flush().and_then(|()| file.get_mut().rewind());
        rewound.map_err(|e| no_room(folder, e))?;
        let mut source = BufReader::with_capacity(1 << 16, file.get_mut());
        let (mut sequence, mut others, mut texts) = (Vec::new(), Others::default(), Vec::new());
        for _ in 0..*n_docs {
            let (mut sizes, mut of_others) = ([0u32; 3], [0u32; 2]);
            let read = source.read_exact(bytemuck::cast_slice_mut(&mut sizes)).and_then(|()| {
                if sizes[0] & LISTED != 0 {
                    source.read_exact(bytemuck::cast_slice_mut(&mut of_others))?;
                }
                let [n_words, id, label] = sizes.map(|size| size as usize);
                sequence.resize(n_words & !(LISTED as usize), 0);
                others.tokens.resize(of_others[0] as usize, 0);
                others.rest_unknown = of_others[1] == 1;
                texts.resize(id + label, 0);
                source.read_exact(bytemuck::cast_slice_mut(&mut sequence))?;
                source.read_exact(bytemuck::cast_slice_mut(&mut others.tokens))?;
                source.read_exact(&mut texts)
            });
            read.map_err(|e| no_room(folder, e))?;
            let (id, label) = texts.split_at(sizes[1] as usize);
            let text = |bytes| std::str::from_utf8(bytes).map_err(|e| Error::io(folder, io::Error::other(e)));
            on_doc(&sequence, &others, text(id)?, text(label)?)?;
        }
        Ok(())
    }
}
