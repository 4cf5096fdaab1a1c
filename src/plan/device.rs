//! Memory of a device: the arrays of real chunks of the first documents, as they would be made one after another.

use super::shape::Shape;
use super::survey::Survey;
use crate::batch::{Chunk, ChunkLimits, Chunks};
use crate::corpus::{Docs, Item};
use crate::estep::device::{
    Array, BURST, DeviceOptions, DispatchPlan, N_SETS, grown, grown_args, grown_staging,
};
use crate::estep::{Bound, EStepOptions};
use crate::network::Graph;
use serde::Serialize;
use std::collections::BTreeMap;

/// Pieces of a document with the structured bound that are packed at once, both halves of those that are split included: a guess. It
/// counts only where a weight step has too few documents for full chunks.
const PIECES: usize = 4;
/// Chunks of a weight step that are packed.
const CHUNKS: usize = 3;
/// Bytes between the arguments of two dispatches, at most.
const STRIDE: u64 = 256;

/// Memory of a device in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct DeviceNeed {
    /// The network.
    pub network: u64,
    /// Arrays of the chunks that are there at one time.
    pub chunks: u64,
    /// How many those are.
    pub sets: u64,
    /// All of it.
    pub total: u64,
    /// A packed chunk on the host.
    pub chunk_bytes: u64,
    /// All packed chunks of the run on the host.
    pub packed_bytes: u64,
}

/// What a device needs to train.
pub(super) fn device_need(
    graph: &Graph,
    docs: &Docs<'_>,
    survey: &Survey,
    shape: &Shape,
    options: &EStepOptions,
) -> DeviceNeed {
    let limits = DeviceOptions::default().limits;
    let mut sizes: [BTreeMap<_, u64>; N_SETS] = Default::default();
    let mut need = DeviceNeed::default();
    let parts = [(&survey.train, survey.n_batches, true), (&survey.valid, 1, false)];
    let mut per_size = 0.0;
    let n_levels = graph.levels().into_iter().max().unwrap_or(0);
    for (part, n_batches, gradients) in parts {
        let of_batch = part.n_items.div_ceil(n_batches.max(1));
        let items = &part.first_slice[..part.first_slice.len().min(of_batch)];
        let n_copies = if options.clamp > 0 { PIECES } else { 1 };
        let items: Vec<Item> = items.iter().flat_map(|&item| std::iter::repeat_n(item, n_copies)).collect();
        let splits = options.clamp > 0;
        let plan = DispatchPlan::new(graph, n_levels, options, gradients, false);
        let plan = DispatchPlan { pieces: splits, keep_interest: splits, ..plan };
        let chunks = first_chunks(graph, docs, &items, options, gradients, limits);
        let size: usize = chunks.iter().map(Chunk::size).sum();
        let n_bytes: usize = chunks.iter().map(Chunk::n_bytes).sum();
        need.sets = need.sets.max(chunks.len().min(N_SETS) as u64);
        need.chunk_bytes = chunks.iter().map(|chunk| chunk.n_bytes() as u64).fold(need.chunk_bytes, u64::max);
        per_size = if size > 0 { n_bytes as f64 / size as f64 } else { per_size };
        need.packed_bytes += (per_size * shape.size(part.n_items)) as u64;
        // Chunks take turns between the sets.
        chunks.iter().enumerate().for_each(|(at, chunk)| grow(&mut sizes[at % N_SETS], &plan, chunk));
    }
    need.network = grown(4 * graph.n_edges() as u64 + 16 * graph.n_nodes() as u64);
    need.chunks = sizes.iter().flat_map(BTreeMap::values).sum();
    need.total = need.network + need.chunks;
    need
}

fn first_chunks(
    graph: &Graph,
    docs: &Docs<'_>,
    items: &[Item],
    options: &EStepOptions,
    gradients: bool,
    limits: ChunkLimits,
) -> Vec<Chunk> {
    let full = options.bound == Bound::Full;
    Chunks::new(graph, *docs, items, 0, full, gradients, limits).take(CHUNKS).collect()
}

/// Lets the arrays of a set grow to what a chunk needs: `None` stands for arguments and for what is read back.
fn grow(sizes: &mut BTreeMap<(Option<Array>, u8), u64>, plan: &DispatchPlan, chunk: &Chunk) {
    for (array, n_bytes) in plan.array_bytes(chunk) {
        let size = sizes.entry((Some(array), 0)).or_default();
        if *size < (n_bytes as u64).max(16) {
            *size = grown(n_bytes as u64);
        }
    }
    let args = sizes.entry((None, 0)).or_default();
    let n_dispatches = plan.tries().iter().map(|plan| most_dispatches(plan, chunk)).max().unwrap_or(0);
    *args = (*args).max(grown_args(STRIDE * n_dispatches as u64));
    let sums = chunk.n_touched_edges() + 2 * chunk.touched_ids.len();
    let interest = if plan.keep_interest { chunk.n_nodes() } else { 0 };
    let read = 4 * (chunk.n_docs() + sums.max(interest)) as u64;
    let staging = sizes.entry((None, 1)).or_default();
    if *staging < read {
        *staging = grown_staging(read);
    }
}

/// Dispatches of the longest submission, where one start is tried.
fn most_dispatches(plan: &DispatchPlan, chunk: &Chunk) -> usize {
    let bursts = plan.options.max_alternations.min(BURST) as usize;
    let alternations = bursts * plan.alternation(chunk, &chunk.rows, 0).len();
    let rounds = if plan.searches() { BURST as usize * plan.round(chunk, &chunk.rows, 0).len() } else { 0 };
    (plan.start(chunk).len() + alternations.max(rounds)).max(plan.finish(chunk).len())
}
