//! Packed chunks kept for later epochs. They depend on the graph and the documents, never on the weights.

use super::Route;
use crate::batch::{Chunk, ChunkLimits};
use crate::corpus::Item;
use crate::estep::{Bound, Work};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{DefaultHasher, Hash, Hasher};
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

/// A hash of the graph, of the documents' tokens, what is unknown of them, and counts and of how they are packed.
pub(super) fn key(work: &Work<'_>, packed: &(ChunkLimits, Route)) -> Key {
    [hash::<FxHasher>(work, packed), hash::<DefaultHasher>(work, packed)]
}

/// Two hash functions that have nothing in common: what one of them mixes up the other does not.
fn hash<H: Hasher + Default>(work: &Work<'_>, packed: &(ChunkLimits, Route)) -> u64 {
    let of_items = |items: &[Item]| {
        let mut hasher = H::default();
        for item in items {
            item.count.hash(&mut hasher);
            work.docs.tokens(item.doc_ix as usize).for_each(|token| token.hash(&mut hasher));
            let (rest_unknown, listed) = work.docs.listed(item.doc_ix as usize);
            rest_unknown.hash(&mut hasher);
            listed.for_each(|token| token.hash(&mut hasher));
            u64::MAX.hash(&mut hasher);
        }
        hasher.finish()
    };
    let items: Vec<u64> = work.items.par_chunks(1024).map(of_items).collect();
    let mut hasher = H::default();
    (work.graph.n_topics(), work.graph.edge_offsets(), work.graph.edge_parents()).hash(&mut hasher);
    (work.gradients, work.options.bound == Bound::Full, work.items.len(), packed, items).hash(&mut hasher);
    hasher.finish()
}
