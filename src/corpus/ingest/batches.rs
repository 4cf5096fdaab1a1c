//! Documents in batches: a thread of its own reads the next ones while the last ones are worked on.

use super::strict;
use crate::corpus::Document;
use crate::corpus::read::Reader;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::time::Duration;

/// A batch is full at so many documents, or at so many bytes and tokens.
const BATCH_DOCS: usize = 4096;
const BATCH_SIZE: usize = 1 << 21;
/// Batches that wait at most.
const AHEAD: usize = 2;
/// Between two looks at whether to stop.
const WAIT: Duration = Duration::from_millis(100);

#[derive(Default)]
struct DocumentBatch {
    documents: Vec<Document>,
    n_docs: usize,
    /// What the reader has to note at its end.
    notes: Vec<String>,
}

/// Calls `on_batch` with all documents, in order; what a batch holds depends on the documents alone. Returns the reader's notes.
///
/// Nobody waits for the reader: where it hangs on a silent pipe, errors and stop requests still end this.
pub(super) fn for_batches(
    reader: Box<dyn Reader>,
    monitor: &Monitor,
    mut on_batch: impl FnMut(&mut [Document]) -> Result<()>,
) -> Result<Vec<String>> {
    let (full, filled) = sync_channel::<Result<DocumentBatch>>(AHEAD);
    let (give_back, spare) = channel();
    let thread = std::thread::spawn(move || fill(reader, &full, &spare));
    let mut notes = Vec::new();
    let mut take_all = || loop {
        monitor.go_on()?;
        match filled.recv_timeout(WAIT) {
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Ok(batch) => {
                let mut batch = batch?;
                on_batch(&mut batch.documents[..batch.n_docs])?;
                notes.append(&mut batch.notes);
                // The reader may be done: then nobody wants it.
                let _ = give_back.send(batch);
            }
        }
    };
    let result = take_all();
    drop(filled);
    // It may have temporary files to remove; a second is enough, unless it hangs.
    (0..100).take_while(|_| !thread.is_finished()).for_each(|_| std::thread::sleep(WAIT / 10));
    result.map(|()| notes)
}

/// Ends with the reader, or when nobody takes batches any more.
fn fill(
    mut reader: Box<dyn Reader>,
    full: &SyncSender<Result<DocumentBatch>>,
    spare: &Receiver<DocumentBatch>,
) {
    loop {
        let mut batch = spare.try_recv().unwrap_or_default();
        let read = fill_batch(reader.as_mut(), &mut batch);
        let ended = !matches!(read, Ok(true));
        if ended {
            batch.notes = reader.notes();
        }
        if full.send(read.map(|_| batch)).is_err() || ended {
            return;
        }
    }
}

/// Whether there may be more.
fn fill_batch(reader: &mut dyn Reader, batch: &mut DocumentBatch) -> Result<bool, Error> {
    let mut size = 0;
    batch.n_docs = 0;
    while batch.n_docs < BATCH_DOCS && size < BATCH_SIZE {
        if batch.documents.len() == batch.n_docs {
            batch.documents.push(Document::default());
        }
        let document = &mut batch.documents[batch.n_docs];
        document.clear();
        if !reader.read(document, &mut strict)? {
            return Ok(false);
        }
        let Document { tokens, words, others, other_words, text, .. } = &*document;
        size += text.len() + words.n_bytes() + other_words.n_bytes();
        size += 4 * (tokens.len() + others.tokens.len());
        batch.n_docs += 1;
    }
    Ok(true)
}
