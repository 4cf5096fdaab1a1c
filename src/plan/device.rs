//! Memory of a device: the arrays of real chunks of the first documents, as they would be made one after another.

use super::Device;
use super::shape::Shape;
use super::survey::Survey;
use crate::batch::{Chunk, ChunkLimits, Chunks};
use crate::corpus::{Docs, Item};
use crate::estep::device::{
    Array, BURST, DeviceOptions, DispatchPlan, N_SETS, fitting_sets, flight_bytes, grown, grown_args,
    grown_staging, packed_bytes,
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
    /// Packed documents that stay there from epoch to epoch.
    pub resident: u64,
    /// All packed documents, whether there is room for them or not.
    pub all_packed: u64,
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
    device: Device,
) -> DeviceNeed {
    let limits = DeviceOptions::default().limits;
    let mut need = DeviceNeed::default();
    let (mut of_flight, mut per_size) = (0, (0.0, 0.0));
    let parts = [(&survey.train, survey.n_batches, true), (&survey.valid, 1, false)];
    let n_levels = graph.levels().into_iter().max().unwrap_or(0);
    let parts = parts.map(|(part, n_batches, gradients)| {
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
        need.chunk_bytes = chunks.iter().map(|chunk| chunk.n_bytes() as u64).fold(need.chunk_bytes, u64::max);
        let on_device: u64 = chunks.iter().map(|chunk| packed_bytes(&plan, chunk)).sum();
        if size > 0 {
            per_size = (n_bytes as f64 / size as f64, on_device as f64 / size as f64);
        }
        need.packed_bytes += (per_size.0 * shape.size(part.n_items)) as u64;
        need.all_packed += (per_size.1 * shape.size(part.n_items)) as u64;
        of_flight = chunks.iter().map(|chunk| flight_bytes(&plan, chunk)).fold(of_flight, u64::max);
        let in_all = if chunks.len() < CHUNKS { 0 } else { shape.n_chunks(items.len(), 1, &limits) };
        (plan, in_all.max(chunks.len()), chunks)
    });
    need.network = grown(0, 4 * graph.n_edges() as u64 + 16 * graph.n_nodes() as u64);
    let left = device.max_bytes.map(|most| most.saturating_sub(need.network));
    let n_sets = left.map_or(N_SETS, |left| fitting_sets(left, of_flight.max(1)));
    let room = left.map_or(u64::MAX, |left| left.saturating_sub(n_sets as u64 * of_flight));
    need.resident = need.all_packed.min(room).min(device.resident_bytes);
    let mut sets = vec![BTreeMap::new(); n_sets];
    for (plan, in_all, chunks) in &parts {
        need.sets = need.sets.max((*in_all).min(n_sets) as u64);
        // Chunks take turns between the sets.
        let made = chunks.iter().cycle().take((*in_all).min(n_sets.max(chunks.len())));
        made.enumerate().for_each(|(at, chunk)| grow(&mut sets[at % n_sets], plan, chunk));
    }
    if need.resident == need.all_packed && options.clamp == 0 {
        // No set ever loads packed documents of its own.
        let is_state = |array: Option<Array>| array.is_none_or(|array| !array.is_packed());
        sets.iter_mut().for_each(|set| set.retain(|(array, _), _| is_state(*array)));
    }
    need.chunks = sets.iter().flat_map(BTreeMap::values).sum();
    need.total = need.network + need.chunks + need.resident;
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
            *size = grown(*size, n_bytes as u64);
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
    let alternations =
        plan.alternations(chunk, &chunk.rows, 0..plan.options.max_alternations.min(BURST)).len();
    let rounds = if plan.searches() { plan.rounds(chunk, &chunk.rows, 0..BURST).len() } else { 0 };
    (plan.start(chunk).len() + alternations.max(rounds)).max(plan.finish(chunk).len())
}
