//! Packed chunks kept for later epochs. They depend on the graph and the documents, never on the weights.

use super::Route;
use crate::batch::{Chunk, ChunkLimits};
use crate::corpus::Item;
use crate::estep::{Bound, Work};
use crate::network::Graph;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// What a list of chunks was made from: of a graph, and of it all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) graph: [u64; 2],
    all: [u64; 2],
}

/// Chunks by what they were made from. The first to come stay: whoever cycles through more than fits would gain nothing from
/// keeping the last ones. Those of another graph than the last one's go.
#[derive(Debug, Default)]
pub(super) struct Cache {
    graph: Option<[u64; 2]>,
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

    /// Forgets chunks of other graphs; whether the graph is another than the last one.
    pub(super) fn turn_to(&mut self, graph: [u64; 2]) -> bool {
        let is_other = self.graph.replace(graph).is_some_and(|last| last != graph);
        if is_other {
            *self = Self { graph: Some(graph), ..Self::new(self.max_bytes) };
        }
        is_other
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.max_bytes);
    }
}

/// Hashes of the graph, and of it with the documents' tokens, what is unknown of them, counts, and how they are packed. Of two hash
/// functions that have nothing in common: what one of them mixes up the other does not.
pub(super) fn key(work: &Work<'_>, packed: &(ChunkLimits, Route)) -> Key {
    let graph = [hash_graph::<FxHasher>(work.graph), hash_graph::<DefaultHasher>(work.graph)];
    let [fx, default] = graph;
    Key { graph, all: [hash::<FxHasher>(work, packed, fx), hash::<DefaultHasher>(work, packed, default)] }
}

fn hash_graph<H: Hasher + Default>(graph: &Graph) -> u64 {
    let mut hasher = H::default();
    (graph.n_topics(), graph.edge_offsets(), graph.edge_parents()).hash(&mut hasher);
    hasher.finish()
}

fn hash<H: Hasher + Default>(work: &Work<'_>, packed: &(ChunkLimits, Route), graph: u64) -> u64 {
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
    (graph, work.gradients, work.options.bound == Bound::Full, work.items.len(), packed, items)
        .hash(&mut hasher);
    hasher.finish()
}
