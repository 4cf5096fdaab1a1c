//! Packing items into chunks, in parallel. What makes a part and a block depends on the documents and the graph alone, so that
//! sums are the same whatever the number of threads or the size of the chunks.

use super::chunk::Part;
use super::{BLOCK_DOCS, Chunk, DEVICE_PART_SIZE, Packer};
use crate::corpus::{Docs, Item};
use crate::network::Graph;
use rayon::prelude::*;
use std::collections::VecDeque;
use std::sync::Mutex;

/// Documents of a part at most.
const PART_DOCS: usize = BLOCK_DOCS;
/// Documents that a thread packs in one round at most.
const ROUND_DOCS: usize = 512;

/// When a block or a chunk is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChunkLimits {
    /// Documents at which a block is full.
    pub block_docs: usize,
    /// Documents, nodes and edges at which a block is full.
    pub block_size: usize,
    /// Documents, nodes and edges at which a chunk is full; it has one block at least.
    pub chunk_size: usize,
}

/// The chunks of some items, one after another.
pub struct Chunks<'a> {
    graph: &'a Graph,
    docs: Docs<'a>,
    items: &'a [Item],
    full: bool,
    gradients: bool,
    limits: ChunkLimits,
    bin_words: u32,
    /// First item that is not packed, and first that is not in a chunk.
    next_to_pack: usize,
    next_item: usize,
    parts: VecDeque<Part>,
    part_docs: usize,
    /// Documents to pack next: few at first, then as many as a chunk will hold, so that large ones do not fill the memory.
    round_docs: usize,
    packers: Vec<Packer>,
    /// Parts whose memory is used again.
    spare: Mutex<Vec<Part>>,
}

impl<'a> Chunks<'a> {
    /// Chunks of `items`, beginning with number `first_item`, where a block must begin.
    pub fn new(
        graph: &'a Graph,
        docs: Docs<'a>,
        items: &'a [Item],
        first_item: usize,
        full: bool,
        gradients: bool,
        limits: ChunkLimits,
    ) -> Self {
        let (next_to_pack, next_item) = (first_item, first_item);
        let n_topics = graph.n_topics();
        let fitting = DEVICE_PART_SIZE / (n_topics + graph.edge_offsets()[n_topics] as usize).max(1);
        let part_docs = if full { 1 << fitting.clamp(1, PART_DOCS).ilog2() } else { PART_DOCS };
        let (parts, packers, spare) = (VecDeque::new(), Vec::new(), Mutex::default());
        Self {
            graph,
            docs,
            items,
            full,
            gradients,
            limits,
            bin_words: 0,
            next_to_pack,
            next_item,
            parts,
            part_docs,
            round_docs: part_docs,
            packers,
            spare,
        }
    }

    /// The same, with documents in bins of so many words of q and m; 0 for no bins.
    pub fn with_bins(self, bin_words: u32) -> Self {
        Self { bin_words, ..self }
    }

    /// Packs some more items.
    fn pack_more(&mut self) {
        let n_threads = rayon::current_num_threads();
        while self.packers.len() < n_threads {
            self.packers.push(Packer::new(self.graph, self.full));
        }
        // Groups of as many items as a part may have, by number, whatever the first item was; each thread packs a run of them.
        let (mut groups, begin) = (Vec::new(), self.next_to_pack);
        while self.next_to_pack < self.items.len().min(begin + self.round_docs) {
            let end = (self.next_to_pack / self.part_docs + 1) * self.part_docs;
            let end = end.min(self.items.len());
            groups.push(&self.items[self.next_to_pack..end]);
            self.next_to_pack = end;
        }
        let per_thread = groups.len().div_ceil(n_threads).max(1);
        let (graph, docs, spare, bin_words) = (self.graph, self.docs, &self.spare, self.bin_words);
        let pack = |groups: &[&[Item]], packer: &mut Packer| {
            groups
                .iter()
                .flat_map(|group| pack_parts(graph, &docs, group, packer, bin_words, spare))
                .collect()
        };
        let packed: Vec<Vec<Part>> = groups
            .par_chunks(per_thread)
            .zip(&mut self.packers)
            .map(|(groups, packer)| pack(groups, packer))
            .collect();
        docs.corpus().release();
        let size: usize = packed.iter().flatten().map(|part| part.batch.size()).sum();
        let fitting = (self.next_to_pack - begin) * self.limits.chunk_size.min(1 << 32) / size.max(1);
        self.round_docs = fitting.clamp(self.part_docs, ROUND_DOCS * n_threads);
        self.parts.extend(packed.into_iter().flatten());
    }

    /// How many of the parts make up the next block; none if more parts are needed to tell. A block ends where it is full, and at every
    /// multiple of the documents that it may have: items can be divided there, and blocks stay the same.
    fn block_parts(&self, from: usize) -> Option<usize> {
        let before: usize = self.parts.range(..from).map(|part| part.batch.n_docs()).sum();
        let (mut size, mut end, begin) = (0, self.next_item + before, self.next_item + before);
        for (n, part) in self.parts.iter().skip(from).enumerate() {
            size += part.batch.size();
            end += part.batch.n_docs();
            let block_docs = self.limits.block_docs.max(1);
            if size >= self.limits.block_size || end / block_docs > begin / block_docs {
                return Some(n + 1);
            }
        }
        (self.next_to_pack == self.items.len() && from < self.parts.len()).then(|| self.parts.len() - from)
    }
}

impl Iterator for Chunks<'_> {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        let (mut ends, mut size, mut used) = (Vec::new(), 0, 0);
        while size < self.limits.chunk_size {
            match self.block_parts(used) {
                Some(n) => {
                    size += self.parts.range(used..used + n).map(|part| part.batch.size()).sum::<usize>();
                    used += n;
                    ends.push(used);
                }
                None if self.next_to_pack < self.items.len() => self.pack_more(),
                None => break,
            }
        }
        if used == 0 {
            return None;
        }
        let parts: Vec<Part> = self.parts.drain(..used).collect();
        let begins = std::iter::once(0).chain(ends.iter().copied());
        let blocks: Vec<&[Part]> = begins.zip(&ends).map(|(begin, &end)| &parts[begin..end]).collect();
        let chunk = Chunk::join(self.graph, self.next_item, &blocks, self.gradients);
        self.next_item += chunk.n_docs();
        self.spare.get_mut().unwrap_or_else(|e| e.into_inner()).extend(parts);
        Some(chunk)
    }
}

/// Packs a group of items in one part or, if it is large, in several.
fn pack_parts(
    graph: &Graph,
    docs: &Docs<'_>,
    items: &[Item],
    packer: &mut Packer,
    bin_words: u32,
    spare: &Mutex<Vec<Part>>,
) -> Vec<Part> {
    let (mut parts, mut done) = (Vec::new(), 0);
    while done < items.len() {
        let mut part = spare.lock().unwrap_or_else(|e| e.into_inner()).pop().unwrap_or_default();
        done += packer.pack(graph, docs, &items[done..], DEVICE_PART_SIZE, &mut part.batch);
        part.lists.fill(&part.batch, graph.n_colours(), bin_words);
        parts.push(part);
    }
    parts
}
