//! The same bytes, whatever the chunks, the cache and the threads.

use super::*;
use noisyor::estep::device::Machine;

/// Blocks of 256 documents: eight of them.
fn blocks() -> Case {
    let limits = ChunkLimits { block_parts: 2, block_size: 1 << 20, chunk_size: usize::MAX };
    Case::sample(2_000).limits(limits)
}

fn with(case: &Case, chunk_size: usize, cache_bytes: usize) -> DeviceOptions {
    DeviceOptions { limits: ChunkLimits { chunk_size, ..case.device.limits }, cache_bytes }
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
        let ran = case.on(&mut DeviceEStep::new(machine, with(&case, size, 0)));
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
        let mut estep = DeviceEStep::new(machine, with(&case, 1, cache_bytes));
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
    // The same numbers of nodes and edges in both.
    let to = |child: u32| {
        network_of(2, 4, &[(0, 2, 0.5), (0, 3, 0.4), (1, child, 0.3), (1, 5, 0.6)], vec![0.1; 6])
    };
    let network = || to(4);
    let docs = || vec![vec![0, 1], vec![2], vec![0, 3], vec![1, 2, 3]];
    let other = || vec![vec![0, 1], vec![3], vec![0, 3], vec![1, 2, 3]];
    let full = EStepOptions { bound: Bound::Full, ..EStepOptions::default() };
    let mut fewer = Case::new("fewer documents", network(), docs());
    fewer.items.pop();
    let mut again = Case::new("a document twice", network(), docs());
    again.items[3] = Item { doc_ix: 0, count: 1 };
    // All of them after all others, on one backend that keeps chunks: each as on a fresh one.
    let cases = [
        Case::new("as it is", network(), docs()),
        Case::new("other edges", to(2), docs()),
        Case::new("another document", network(), other()),
        Case::new(
            "documents joined otherwise",
            network(),
            vec![vec![0], vec![1, 2], vec![0, 3], vec![1, 2, 3]],
        ),
        Case::new("counts", network(), docs()).counts(|at| 1 + at as u32),
        Case::new("the full bound", network(), docs()).options(full),
        fewer,
        again,
        Case::new("one edge fewer", network_of(2, 4, &[(0, 2, 0.5), (1, 4, 0.3)], vec![0.1; 6]), docs()),
    ];
    let mut kept = DeviceEStep::new(TwinMachine::new(), DeviceOptions::default());
    for _ in 0..2 {
        for case in &cases {
            assert!(case.on(&mut kept) == case.on_twins(), "{}", case.name);
        }
    }
    let (_, host) = kept.take_spent();
    assert_eq!((host.n_chunks, host.n_cached), (2 * cases.len() as u64, cases.len() as u64));
}
