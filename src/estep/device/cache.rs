//! Packed chunks kept for later epochs. They depend on the graph and the documents, never on the weights.

use crate::batch::{Chunk, ChunkLimits};
use crate::estep::{Bound, Work};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What a list of chunks was made from.
pub(super) type Key = [u64; 2];

/// Chunks by what they were made from. The first to come stay: whoever cycles through more than fits would gain nothing from
/// keeping the last ones.
#[derive(Debug, Default)]
pub(super) struct Cache {
    chunks: FxHashMap<Key, Vec<Arc<Chunk>>>,
    n_bytes: usize,
    max_bytes: usize,
}

impl Cache {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, ..Self::default() }
    }

    /// The first chunks of what `key` stands for, as many as are kept.
    pub(super) fn get(&self, key: &Key) -> Vec<Arc<Chunk>> {
        self.chunks.get(key).cloned().unwrap_or_default()
    }

    /// Keeps a chunk, if it is the next one of its list and there is room.
    pub(super) fn add(&mut self, key: Key, chunk: &Arc<Chunk>) {
        let n_bytes = chunk.n_bytes();
        let list = self.chunks.entry(key).or_default();
        let next = list.last().map_or(0, |last| last.items.end);
        if next == chunk.items.start && self.n_bytes + n_bytes <= self.max_bytes {
            self.n_bytes += n_bytes;
            list.push(Arc::clone(chunk));
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.max_bytes);
    }
}

/// A hash of the graph, of the documents' tokens and counts and of how they are packed.
pub(super) fn key(work: &Work<'_>, limits: &ChunkLimits) -> Key {
    let hash = |salt: u64, part: &dyn Fn(&mut FxHasher)| {
        let mut hasher = FxHasher::default();
        salt.hash(&mut hasher);
        part(&mut hasher);
        hasher.finish()
    };
    let of_items = |salt: u64| {
        let parts = work.items.par_chunks(1024).map(|items| {
            hash(salt, &|hasher| {
                for item in items {
                    item.count.hash(hasher);
                    work.docs.tokens(item.doc_ix as usize).for_each(|token| token.hash(hasher));
                    u64::MAX.hash(hasher);
                }
            })
        });
        parts.collect::<Vec<u64>>()
    };
    [0x6e6f_6973, 0x796f_7221].map(|salt| {
        hash(salt, &|hasher| {
            work.graph.edge_offsets().hash(hasher);
            work.graph.edge_parents().hash(hasher);
            (work.gradients, work.options.bound == Bound::Full, work.items.len(), limits).hash(hasher);
            of_items(salt).hash(hasher);
        })
    })
}
