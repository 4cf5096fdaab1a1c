//! Documents in batches: a thread of its own reads the next ones while the last ones are worked on.

use super::strict;
use crate::corpus::Document;
use crate::corpus::read::Reader;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};

/// A batch is full at so many documents, or at so many bytes and tokens.
const BATCH_DOCS: usize = 4096;
const BATCH_SIZE: usize = 1 << 21;
/// Batches that wait at most.
const AHEAD: usize = 2;

#[derive(Default)]
struct Batch {
    documents: Vec<Document>,
    n_docs: usize,
}

/// Calls `on_batch` with all documents, in order; what a batch holds depends on the documents alone.
pub(super) fn for_batches(
    reader: &mut dyn Reader,
    monitor: &Monitor,
    mut on_batch: impl FnMut(&mut [Document]) -> Result<()>,
) -> Result<()> {
    let (full, filled) = sync_channel::<Result<Batch>>(AHEAD);
    let (give_back, spare) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || fill(reader, monitor, &full, &spare));
        for batch in filled {
            let mut batch = batch?;
            on_batch(&mut batch.documents[..batch.n_docs])?;
            // The reader may be done: then nobody wants it.
            let _ = give_back.send(batch);
        }
        Ok(())
    })
}

fn fill(
    reader: &mut dyn Reader,
    monitor: &Monitor,
    full: &SyncSender<Result<Batch>>,
    spare: &Receiver<Batch>,
) {
    loop {
        let mut batch = spare.try_recv().unwrap_or_default();
        let read = fill_batch(reader, &mut batch);
        let ended = !matches!(read, Ok(true)) || monitor.go_on().is_err();
        let message = read.map(|_| batch).map_err(|e| monitor.go_on().err().unwrap_or(e));
        if full.send(message).is_err() || ended {
            return;
        }
    }
}

/// Whether there may be more.
fn fill_batch(reader: &mut dyn Reader, batch: &mut Batch) -> Result<bool, Error> {
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
        size += document.text.len() + document.words.n_bytes() + 4 * document.tokens.len();
        batch.n_docs += 1;
    }
    Ok(true)
}
