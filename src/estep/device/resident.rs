//! Packed chunks that stay on the device for later epochs. Like those that are kept on the host (`cache.rs`) they go by what they were
//! made from, never by the weights, and the first to come stay.

use super::cache::{GraphKey, Key};
use super::{Array, DispatchPlan, N_FILLING, N_SETS, grown, grown_staging};
use crate::batch::Chunk;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Places before this one belong to the sets: packed documents that do not stay.
const FIRST: usize = N_SETS;
/// Bytes for the arguments of a set's dispatches.
const ARGS: u64 = 256 << 10;

/// A place, and the bytes of its buffers.
#[derive(Debug, Clone, Copy)]
struct Resident {
    place: usize,
    n_bytes: u64,
}

/// Which chunks are on the device, and where.
#[derive(Debug)]
pub(super) struct Residents {
    places: FxHashMap<(Key, Range<usize>), Resident>,
    /// Places of chunks that went.
    free: Vec<usize>,
    n_bytes: u64,
    max_bytes: u64,
    /// What the arrays of the largest chunk so far take.
    flight_bytes: u64,
}

impl Residents {
    pub(super) fn new(max_bytes: u64) -> Self {
        Self { places: FxHashMap::default(), free: Vec::new(), n_bytes: 0, max_bytes, flight_bytes: 0 }
    }

    /// Where the chunk is, if it is there.
    pub(super) fn get(&self, key: Key, chunk: &Chunk) -> Option<usize> {
        self.places.get(&(key, chunk.items.clone())).map(|resident| resident.place)
    }

    /// A place for the chunk, if there is memory for it beside what `n_sets` flights take; `left` is all memory but the network's.
    pub(super) fn add(
        &mut self,
        key: Key,
        chunk: &Chunk,
        plan: &DispatchPlan,
        n_sets: usize,
        left: Option<u64>,
    ) -> Option<usize> {
        self.flight_bytes = self.flight_bytes.max(flight_bytes(plan, chunk));
        let flights = self.flight_bytes * n_sets as u64;
        let most = self.max_bytes.min(left.map_or(u64::MAX, |left| left.saturating_sub(flights)));
        let n_bytes = packed_bytes(plan, chunk);
        if self.n_bytes + n_bytes > most {
            return None;
        }
        self.n_bytes += n_bytes;
        let place = self.free.pop().unwrap_or(FIRST + self.places.len());
        self.places.insert((key, chunk.items.clone()), Resident { place, n_bytes });
        Some(place)
    }

    /// Where they all are.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        self.places.values().map(|resident| resident.place)
    }

    /// Forgets those of a graph; where they were.
    pub(super) fn forget_graph(&mut self, graph: GraphKey) -> Vec<usize> {
        let gone = self.places.extract_if(|(key, _), _| key.graph == graph).map(|(_, resident)| resident);
        let gone: Vec<Resident> = gone.collect();
        self.n_bytes -= gone.iter().map(|resident| resident.n_bytes).sum::<u64>();
        let places: Vec<usize> = gone.iter().map(|resident| resident.place).collect();
        self.free.extend(&places);
        places
    }

    /// Forgets all.
    pub(super) fn forget(&mut self) {
        self.places.clear();
        self.free.clear();
        self.n_bytes = 0;
    }

    /// Forgets all, and takes half as much memory from now on; whether there was anything to forget.
    pub(super) fn shrink(&mut self) -> bool {
        let held = self.n_bytes;
        if held > 0 {
            self.max_bytes = held / 2;
        }
        self.forget();
        held > 0
    }
}

/// How many chunks of so many bytes may be in flight: as many as fit a quarter of the memory, the rest of which is better used for
/// residents, but two at least.
pub fn fitting_sets(left: u64, flight_bytes: u64) -> usize {
    (left / 4 / flight_bytes).clamp(N_FILLING as u64, N_SETS as u64) as usize
}

/// Bytes of the buffers of a chunk's packed documents.
pub fn packed_bytes(plan: &DispatchPlan, chunk: &Chunk) -> u64 {
    let arrays = plan.array_bytes(chunk).into_iter().filter(|(array, _)| array.is_packed());
    arrays.map(|(_, n_bytes)| grown(0, n_bytes as u64)).sum()
}

/// Bytes of all buffers of a chunk in flight, with room to spare.
pub fn flight_bytes(plan: &DispatchPlan, chunk: &Chunk) -> u64 {
    let arrays = plan.array_bytes(chunk).into_iter();
    let read = |array| matches!(array, Array::DocBounds | Array::EdgeTotals | Array::NodeTotals);
    arrays.fold(ARGS, |sum, (array, n_bytes)| {
        let staging = if read(array) { grown_staging(n_bytes as u64) } else { 0 };
        sum + grown(1, n_bytes as u64) + staging
    })
}
