//! Packed chunks that stay on the device: the same bytes with and without, and nothing of them is uploaded again.

use super::*;
use noisyor::estep::Params;
use noisyor::estep::device::{
    Array, Dispatch, DispatchPlan, Fault, Machine, Place, Read, Route, Spent, packed_bytes,
};
use std::collections::BTreeMap;

/// A machine that counts the bytes written into each array, and may say that it has little memory.
pub(super) struct Counted<M> {
    inner: M,
    written: BTreeMap<Array, usize>,
    max_bytes: Option<u64>,
}

impl<M> Counted<M> {
    pub(super) fn new(inner: M, max_bytes: Option<u64>) -> Self {
        Self { inner, written: BTreeMap::new(), max_bytes }
    }
}

impl<M: Machine> Machine for Counted<M> {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn max_array_bytes(&self) -> u64 {
        self.inner.max_array_bytes()
    }

    fn max_bytes(&self) -> Option<u64> {
        self.max_bytes
    }

    fn reserve(&mut self, place: Place, array: Array, n_bytes: usize) -> Result<(), Fault> {
        self.inner.reserve(place, array, n_bytes)
    }

    fn write(&mut self, place: Place, array: Array, at: usize, bytes: &[u8]) -> Result<(), Fault> {
        *self.written.entry(array).or_default() += bytes.len();
        self.inner.write(place, array, at, bytes)
    }

    fn submit(&mut self, place: Place, dispatches: &[Dispatch], reads: &[Read]) -> Result<(), Fault> {
        self.inner.submit(place, dispatches, reads)
    }

    fn start(&mut self, sets: &[usize]) -> Result<(), Fault> {
        self.inner.start(sets)
    }

    fn wait(&mut self, set: usize) -> Result<Vec<Vec<u32>>, Fault> {
        self.inner.wait(set)
    }

    fn release(&mut self, packed: usize) {
        self.inner.release(packed);
    }

    fn reopen(&mut self) -> noisyor::Result<()> {
        self.inner.reopen()
    }

    fn clear(&mut self) {
        self.inner.clear();
    }

    fn take_spent(&mut self) -> Spent {
        self.inner.take_spent()
    }
}

/// Eight chunks.
fn eight_chunks() -> Case {
    let limits = ChunkLimits { block_docs: 256, block_size: 1 << 20, chunk_size: 1 };
    // On a route of which sizes are known.
    let case = Case::sample(2_000).limits(limits).by(Route::Flat);
    assert_eq!(case.chunks().len(), 8);
    case
}

/// Bytes of the packed arrays of each chunk on a device.
fn bytes_of_chunks(case: &Case) -> Vec<u64> {
    let (graph, weights) = (&case.network.graph, &case.network.weights);
    let params = Params::derive(graph, weights, case.options.bound).unwrap();
    let plan = DispatchPlan::new(graph, params.n_levels, &case.options, true, true);
    case.chunks().iter().map(|chunk| packed_bytes(&plan, chunk)).collect()
}

/// A backend that keeps packed chunks in so many bytes, on the host and on the device.
fn keeping<M: Machine>(case: &Case, machine: M, cache_bytes: usize, resident_bytes: u64) -> DeviceEStep<M> {
    untroubled(machine, &DeviceOptions { cache_bytes, resident_bytes, ..case.device.clone() })
}

/// Runs three times with no memory for residents, with some, and with enough; with packed chunks kept on the host and without.
fn assert_residents_do_not_matter<M: Machine>(machine: impl Fn() -> Option<M>) {
    let case = eight_chunks();
    let bytes = bytes_of_chunks(&case);
    let (half, all) = (bytes[..4].iter().sum::<u64>(), bytes.iter().sum::<u64>());
    let smallest = *bytes.iter().min().unwrap();
    let mut first = None;
    for (resident_bytes, n_resident) in [(0, 0), (smallest - 1, 0), (half, 4), (all, 8)] {
        for cache_bytes in [0, 1 << 30] {
            let Some(machine) = machine() else { return };
            let mut estep = keeping(&case, machine, cache_bytes, resident_bytes);
            for run in 0..3 {
                let ran = case.on(&mut estep);
                assert!(
                    *first.get_or_insert_with(|| ran.clone()) == ran,
                    "{resident_bytes} bytes, run {run}"
                );
                let (_, host) = estep.take_spent();
                let expected = if run == 0 { 0 } else { n_resident };
                assert_eq!(host.n_resident, expected, "{resident_bytes} bytes, run {run}");
            }
            // As if it were new.
            estep.forget_packed();
            assert!(first.as_ref() == Some(&case.on(&mut estep)));
            assert_eq!(estep.take_spent().1.n_resident, 0);
        }
    }
}

#[test]
fn residents_do_not_matter_on_twins() {
    assert_residents_do_not_matter(|| Some(TwinMachine::new()));
}

#[test]
fn residents_do_not_matter_on_the_gpu() {
    assert_residents_do_not_matter(|| gpu_machine(GpuOptions::default()));
}

/// The first run uploads packed documents, the second only what depends on weights and starts.
fn assert_only_state_is_uploaded_again<M: Machine>(case: &Case, machine: M) {
    let mut estep = keeping(case, Counted::new(machine, None), 1 << 30, 1 << 30);
    let (chunks, graph) = (case.chunks(), &case.network.graph);
    let of = |bytes: &dyn Fn(&Chunk) -> usize| chunks.iter().map(bytes).sum::<usize>();
    let ran = case.on(&mut estep);
    let mut first = std::mem::take(&mut estep.machine().written);
    assert!(case.on(&mut estep) == ran, "other results");
    let second = std::mem::take(&mut estep.machine().written);
    // Lists that were made shorter on the way are written in both runs.
    let lists = of(&|chunk| 8 * chunk.rows.list.len());
    *first.get_mut(&Array::Rows).unwrap() -= lists;
    assert!(first[&Array::Rows] > 0, "{first:?}");
    for array in Array::PACKED.into_iter().filter(|&array| array != Array::Rows) {
        assert!(first.remove(&array).unwrap() > 0, "{array:?}");
    }
    assert_eq!(first, second);
    assert_eq!(second[&Array::Network], 4 * graph.n_edges() + 16 * graph.n_nodes());
    assert_eq!(second[&Array::DocState], of(&|chunk| 4 * chunk.n_docs()));
    let marks = if case.kept_on.is_some() { of(&|chunk| 4 * chunk.n_nodes()) } else { 0 };
    assert_eq!(second.get(&Array::NodeState).copied().unwrap_or(0), marks);
    assert_eq!(second.len(), 3 + usize::from(marks > 0), "{second:?}");
}

#[test]
fn only_state_is_uploaded_again() {
    let case = eight_chunks();
    assert_only_state_is_uploaded_again(&case, TwinMachine::new());
    assert_only_state_is_uploaded_again(&case.clone().beginning_at_random(1), TwinMachine::new());
    if let Some(gpu) = gpu_machine(GpuOptions::default()) {
        assert_only_state_is_uploaded_again(&case, gpu);
    }
}

#[test]
fn bytes_that_are_counted_are_those_that_were_written() {
    let case = eight_chunks();
    let counted = Counted::new(TwinMachine::new(), None);
    let mut estep = keeping(&case, counted, 1 << 30, 1 << 30);
    for _ in 0..2 {
        case.on(&mut estep);
        let written: usize = std::mem::take(&mut estep.machine().written).into_values().sum();
        assert_eq!(estep.take_spent().0.upload_bytes, written as u64);
    }
}

#[test]
fn residents_hold_for_other_weights_and_starts() {
    let case = eight_chunks();
    let mut other = case.clone();
    other.network.weights.edge.iter_mut().for_each(|w| *w *= 0.5);
    other.network.weights.round_to_f32();
    let plain = case.clone().options(EStepOptions { start: Start::Plain, ..EStepOptions::default() });
    let mut estep = keeping(&case, TwinMachine::new(), 1 << 30, 1 << 30);
    case.on(&mut estep);
    estep.take_spent();
    for other in [other, plain, case.clone().beginning_at_random(2)] {
        assert!(other.on(&mut estep) == other.on_twins(), "other results");
        assert_eq!(estep.take_spent().1.n_resident, 8);
    }
}

#[test]
fn chunks_of_the_last_two_graphs_stay() {
    let first = eight_chunks();
    // The same but for its last edges.
    let without_edges = |n: usize| {
        let Network { graph, weights, .. } = &first.network;
        let edges = graph.edges().zip(&weights.edge).map(|((parent, child), &w)| (parent, child, w));
        let edges: Vec<_> = edges.take(graph.n_edges() - n).collect();
        let network = network_of(graph.n_topics(), graph.n_tokens(), &edges, weights.leak.clone());
        Case { network, ..first.clone() }
    };
    let (second, third) = (without_edges(1), without_edges(2));
    let all_bytes = bytes_of_chunks(&first).iter().sum::<u64>();
    // Memory for two graphs.
    let mut estep = keeping(&first, TwinMachine::new(), 1 << 30, 2 * all_bytes);
    let order = [
        (&first, 0),
        (&second, 0),
        (&first, 8),
        (&second, 8),
        (&third, 0),
        (&second, 8),
        (&first, 0),
        (&third, 0),
    ];
    for (at, (case, n_resident)) in order.into_iter().enumerate() {
        assert!(case.on(&mut estep) == case.on_twins(), "run {at}: other results");
        let (_, host) = estep.take_spent();
        assert_eq!((host.n_resident, host.n_cached), (n_resident, n_resident), "run {at}");
    }
}

#[test]
fn pieces_do_not_stay_but_their_documents_do() {
    let case = eight_chunks().options(EStepOptions { clamp: 2, ..EStepOptions::default() });
    let mut estep = keeping(&case, TwinMachine::new(), 1 << 30, 1 << 30);
    let (ran, n_first) = (case.on(&mut estep), estep.take_spent().1.n_resident);
    assert!(case.on(&mut estep) == ran);
    assert_eq!((n_first, estep.take_spent().1.n_resident), (0, 8));
}

/// Device memory that is given is never exceeded, and what is left beside the chunks in flight is used.
#[test]
fn residents_take_what_chunks_in_flight_leave() {
    let case = eight_chunks();
    let Some(plenty) = gpu_machine(GpuOptions::default()) else { return };
    let want = case.on_machine(plenty);
    let mut n_resident = Vec::new();
    for max_bytes in [7 << 19, 6 << 20, 8 << 20, 16 << 20] {
        let machine =
            gpu_machine(GpuOptions { max_bytes: Some(max_bytes), ..GpuOptions::default() }).unwrap();
        let mut estep = keeping(&case, machine, 1 << 30, max_bytes);
        for _ in 0..2 {
            assert!(case.on(&mut estep) == want, "{max_bytes} bytes: other results");
            let n_bytes = estep.machine().n_bytes();
            assert!(n_bytes <= max_bytes, "{n_bytes} of {max_bytes}");
        }
        n_resident.push(estep.take_spent().1.n_resident);
    }
    println!("{n_resident:?} chunks stayed, twice");
    assert!(n_resident.is_sorted() && n_resident[0] == 0 && n_resident[3] == 8, "{n_resident:?}");
    assert!(n_resident.iter().any(|n| (1..8).contains(n)), "{n_resident:?}");
}
