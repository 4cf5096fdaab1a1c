//! Packed chunks kept for later epochs. They depend on the graph and the documents, never on the weights.

use super::Route;
use crate::batch::{Chunk, ChunkLimits};
use crate::corpus::Item;
use crate::estep::{Bound, Work};
use crate::network::Graph;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Graphs whose chunks are kept: documents with unknown tokens and those without take turns on two (`estep/unknown.rs`). Graphs before
/// these were refined away, and their memory is wanted.
const KEPT_GRAPHS: usize = 2;

/// Two hashes of a graph.
pub(super) type GraphKey = [u64; 2];

/// What a list of chunks was made from: of a graph, and of it all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) graph: GraphKey,
    all: [u64; 2],
}

/// Chunks by what they were made from. The first to come stay: whoever cycles through more than fits would gain nothing from
/// keeping the last ones.
#[derive(Debug, Default)]
pub(super) struct Cache {
    /// The last ones, the very last first.
    graphs: VecDeque<GraphKey>,
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

    /// Says which graph comes next; returns the graph whose chunks had to go for it, if there is one.
    pub(super) fn turn_to(&mut self, graph: GraphKey) -> Option<GraphKey> {
        self.graphs.retain(|known| *known != graph);
        self.graphs.push_front(graph);
        let gone = self.graphs.get(KEPT_GRAPHS).copied()?;
        self.graphs.truncate(KEPT_GRAPHS);
        self.chunks.retain(|key, _| key.graph != gone);
        self.n_bytes = self.chunks.values().flatten().map(|chunk| chunk.n_bytes()).sum();
        Some(gone)
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
