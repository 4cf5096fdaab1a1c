//! The same bytes, whatever the chunks, the cache and the threads.

use super::*;
use noisyor::batch::Chunks;
use noisyor::estep::device::Machine;

/// Blocks of 256 documents: eight of them.
fn blocks() -> Case {
    let limits = ChunkLimits { block_docs: 256, block_size: 1 << 20, chunk_size: usize::MAX };
    Case::sample(2_000).limits(limits)
}

fn with(case: &Case, chunk_size: usize, cache_bytes: usize) -> DeviceOptions {
    let limits = ChunkLimits { chunk_size, ..case.device.limits };
    DeviceOptions { limits, cache_bytes, resident_bytes: 0, ..case.device.clone() }
}

/// Runs the same on fresh backends with chunks of other sizes.
fn assert_chunks_do_not_matter<M: Machine>(machine: impl Fn() -> Option<M>) {
    let case = blocks();
    let sizes = [usize::MAX, 1, 40_000];
    let n_chunks = sizes.map(|size| Case { device: with(&case, size, 0), ..case.clone() }.chunks().len());
    assert!(n_chunks[0] == 1 && n_chunks[1] == 8 && (2..8).contains(&n_chunks[2]), "{n_chunks:?}");
    let mut first = None;
    for size in sizes {
        let Some(machine) = machine() else { return };
        let ran = case.on(&mut untroubled(machine, &with(&case, size, 0)));
        assert!(*first.get_or_insert_with(|| ran.clone()) == ran, "chunks of {size} give other results");
    }
}

#[test]
fn chunk_sizes_do_not_matter_on_twins() {
    assert_chunks_do_not_matter(|| Some(TwinMachine::new()));
}

#[test]
fn chunk_sizes_do_not_matter_on_the_gpu() {
    assert_chunks_do_not_matter(|| gpu_machine(GpuOptions::default()));
}

#[test]
fn the_number_of_packing_threads_does_not_matter() {
    for size in [1, 40_000, usize::MAX] {
        let case = Case { device: with(&blocks(), size, 0), ..blocks() };
        let pack = |n_threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
            format!("{:?}", pool.install(|| case.chunks()))
        };
        assert!(pack(1) == pack(2), "chunks of {size}");
        assert!(pack(1) == pack(5), "chunks of {size}");
    }
}

/// Runs twice with no cache, with room for some chunks, and for all.
fn assert_cache_does_not_matter<M: Machine>(machine: impl Fn() -> Option<M>) {
    let case = blocks();
    let n_bytes: usize = case.chunks().iter().map(Chunk::n_bytes).sum();
    let mut first = None;
    for (cache_bytes, cached) in [(0, 0..1), (n_bytes / 2, 1..8), (2 * n_bytes, 8..9)] {
        let Some(machine) = machine() else { return };
        let mut estep = untroubled(machine, &with(&case, 1, cache_bytes));
        for run in 0..2 {
            let ran = case.on(&mut estep);
            assert!(*first.get_or_insert_with(|| ran.clone()) == ran, "{cache_bytes} bytes, run {run}");
            let (_, host) = estep.take_spent();
            let expected = if run == 0 { 0..1 } else { cached.clone() };
            assert!(expected.contains(&(host.n_cached as usize)), "{} chunks were kept", host.n_cached);
        }
    }
}

#[test]
fn kept_chunks_do_not_matter_on_twins() {
    assert_cache_does_not_matter(|| Some(TwinMachine::new()));
}

#[test]
fn kept_chunks_do_not_matter_on_the_gpu() {
    assert_cache_does_not_matter(|| gpu_machine(GpuOptions::default()));
}

#[test]
fn chunks_are_kept_for_the_same_work_only() {
    let network = |edges: [(u32, u32); 4]| {
        network_of(2, 4, &edges.map(|(parent, child)| (parent, child, 0.5)), vec![0.1; 6])
    };
    let usual = || network([(0, 2), (0, 3), (1, 4), (1, 5)]);
    let docs = || vec![vec![0, 1], vec![2], vec![0, 3], vec![1, 2, 3]];
    let other = |docs: Vec<Vec<u32>>, name: &str| Case::new(name, usual(), docs);
    let full = EStepOptions { bound: Bound::Full, ..EStepOptions::default() };
    let mut fewer = other(docs(), "fewer documents");
    fewer.items.pop();
    let mut again = other(docs(), "a document twice");
    again.items[3] = Item { doc_ix: 0, count: 1 };
    let of_usual_graph = [
        other(docs(), "as it is"),
        other(vec![vec![0, 1], vec![3], vec![0, 3], vec![1, 2, 3]], "another document"),
        other(vec![vec![0, 2], vec![2], vec![0, 3], vec![1, 2, 3]], "another last token"),
        other(vec![vec![0], vec![1, 2], vec![0, 3], vec![1, 2, 3]], "tokens dealt out otherwise"),
        other(docs(), "counts").counts(|at| 1 + at as u32),
        other(docs(), "the full bound").options(full),
        fewer,
        again,
    ];
    // Chunks of two graphs are kept.
    for of_other_graph in [
        Case::new("the same in-degrees", network([(0, 2), (1, 3), (1, 4), (0, 5)]), docs()),
        Case::new("the same parents in order", network([(0, 2), (0, 3), (1, 3), (1, 5)]), docs()),
    ] {
        // All of them after all others, on one backend that keeps chunks: each as on a fresh one.
        let mut kept = untroubled(TwinMachine::new(), &DeviceOptions::default());
        let cases: Vec<_> = of_usual_graph.iter().chain([&of_other_graph]).collect();
        for _ in 0..2 {
            for case in &cases {
                assert!(case.on(&mut kept) == case.on_twins(), "{}", case.name);
            }
        }
        let (_, host) = kept.take_spent();
        assert_eq!((host.n_chunks, host.n_cached), (2 * cases.len() as u64, cases.len() as u64));
    }
}

#[test]
fn packing_goes_on_where_any_block_begins() {
    // Documents so large that blocks end in the middle of a group of 128, and some that are not.
    let network = noisyor::corpus::sample_network().unwrap();
    let n_tokens = network.graph.n_tokens() as u32;
    let docs = (0..600u32).map(|doc| if doc < 400 { (0..n_tokens).collect() } else { vec![doc % n_tokens] });
    let limits = ChunkLimits { block_docs: 128, block_size: 1, chunk_size: 1 };
    let case = Case::new("large documents", network, docs).limits(limits);
    let all = case.chunks();
    assert!(all.iter().any(|chunk| chunk.items.start % 128 != 0), "every block begins with a group");
    for at in 0..all.len() {
        let (graph, first) = (&case.network.graph, all[at].items.start);
        let rest: Vec<Chunk> =
            Chunks::new(graph, case.docs(), &case.items, first, false, true, limits).collect();
        assert!(format!("{rest:?}") == format!("{:?}", &all[at..]), "from item {first} on");
    }
}
