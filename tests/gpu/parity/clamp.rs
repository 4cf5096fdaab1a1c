//! The structured bound: pieces of documents on twins and GPU, as the CPU has them.

use super::*;

fn clamped(clamp: u32) -> EStepOptions {
    EStepOptions { clamp, ..EStepOptions::default() }
}

/// Twins and GPU agree with the CPU on all documents that end at the same place, and those are nearly all; what the CPU gives.
fn assert_clamp_parity(case: &Case) -> Ran {
    let cpu = case.on_cpu();
    assert_same_splits(&format!("{}, twins", case.name), case, &cpu, &mut |case| case.on_twins());
    if let Some(mut gpu) = gpu_estep(&case.device) {
        assert_same_splits(&format!("{}, GPU", case.name), case, &cpu, &mut |case| case.on(&mut gpu));
    }
    cpu
}

fn assert_same_splits(name: &str, case: &Case, cpu: &Ran, run: &mut dyn FnMut(&Case) -> Ran) {
    let ran = run(case);
    assert_eq!(ran.elbo.len(), cpu.elbo.len(), "{name}");
    let is_same = |doc: usize| {
        let (a, b) = (cpu.elbo[doc], ran.elbo[doc]);
        let dq = cpu.q[doc].iter().zip(&ran.q[doc]).map(|(a, b)| f64::from((a - b).abs()));
        (a - b).abs() <= PARITY_SPLIT_BOUND * (1.0 + a.abs()) && dq.fold(0.0, f64::max) <= PARITY_Q_HIGH
    };
    let same: Vec<bool> = (0..cpu.elbo.len()).map(is_same).collect();
    let n_other = same.iter().filter(|same| !**same).count();
    let most = (PARITY_SPLITS * same.len() as f64).ceil() as usize;
    assert!(n_other <= most, "{name}: {n_other} documents of {} end elsewhere", same.len());
    if n_other == 0 {
        return assert_agree(name, cpu, &ran);
    }
    println!("{name}: without {n_other} documents");
    let mut rest = case.clone();
    rest.items = case.items.iter().zip(&same).filter(|(_, same)| **same).map(|(item, _)| *item).collect();
    assert_agree(name, &rest.on_cpu(), &run(&rest));
}

/// Documents whose bound rises by being split.
fn n_split(case: &Case, split: &Ran) -> usize {
    let whole = case.clone().options(EStepOptions { clamp: 0, ..case.options.clone() }).on_cpu();
    split.elbo.iter().zip(&whole.elbo).filter(|(split, whole)| **split > **whole + 5e-4).count()
}

/// Twelve topics over thirty tokens, every edge there: explanations compete.
fn dense() -> Case {
    let rng = &mut ChaCha8Rng::seed_from_u64(17);
    let edges: Vec<(u32, u32, f64)> = (12..42)
        .flat_map(|token| (0..12).map(move |topic| (topic, token)))
        .map(|(topic, token)| (topic, token, 10f64.powf(rng.random_range(-2.0..0.3))))
        .collect();
    let leak = (0..42).map(|_| rng.random_range(0.005..0.05)).collect();
    let mut network = network_of(12, 30, &edges, leak);
    network.weights.round_to_f32();
    let docs = random_docs(&network, 17, 200);
    Case::new("dense", network, docs)
}

#[test]
fn every_bound_and_start_agrees_on_flat_and_on_deep_networks() {
    for start in [Start::Greedy, Start::Best] {
        for bound in [Bound::Tail, Bound::Local, Bound::Full] {
            let options = EStepOptions { start, bound, ..clamped(4) };
            for case in [Case::sample(200), Case::preset("tiny", 200)] {
                let name = format!("{}, {start:?}, {bound}", case.name);
                let case = Case { name, ..case }.options(options.clone());
                let cpu = assert_clamp_parity(&case);
                assert!(n_split(&case, &cpu) > 10, "{}: {} split", case.name, n_split(&case, &cpu));
            }
        }
    }
}

#[test]
fn a_dense_network_agrees() {
    let case = dense().options(clamped(5));
    let cpu = assert_parity(&case);
    assert!(n_split(&case, &cpu) > 50, "{} split", n_split(&case, &cpu));
}

#[test]
fn random_networks_agree() {
    // One backend for all: pieces of other networks come and go.
    let mut gpu = gpu_estep(&DeviceOptions::default());
    let mut twins = untroubled(TwinMachine::new(), &DeviceOptions::default());
    for seed in 0..12 {
        let mut network = random_network(seed, 12, 15);
        network.weights.round_to_f32();
        let docs = random_docs(&network, seed, 60);
        let case = Case::new(&format!("random {seed}"), network, docs).options(clamped(6));
        let cpu = case.on_cpu();
        assert_same_splits(&format!("{}, twins", case.name), &case, &cpu, &mut |case| case.on(&mut twins));
        if let Some(gpu) = &mut gpu {
            assert_same_splits(&format!("{}, GPU", case.name), &case, &cpu, &mut |case| case.on(gpu));
        }
    }
}

#[test]
fn large_networks_agree() {
    assert_parity(&Case::preset("qmr", 60).options(clamped(3)));
    assert_parity(&Case::preset("dblp", 40).options(clamped(2)));
}

#[test]
fn documents_that_count_more_than_once_agree() {
    let case = Case::sample(200).options(clamped(3)).counts(|at| 1 + (at * at) as u32 % 1_000);
    assert_clamp_parity(&case);
}

#[test]
fn documents_that_stay_whole_agree() {
    // Topics without a token in common: mean field is exact, and no split gains.
    let edges: Vec<_> = (0..12).map(|token| (token / 4, 3 + token, 0.5)).collect();
    let network = network_of(3, 12, &edges, vec![0.1; 15]);
    let docs = random_docs(&network, 5, 100);
    let case = Case::new("apart", network, docs).options(clamped(3));
    let cpu = assert_parity(&case);
    let whole = case.clone().options(clamped(0)).on_cpu();
    assert_eq!(cpu.elbo, whole.elbo);
    assert!(cpu.stats.n_alternations > whole.stats.n_alternations, "nothing was tried");
}

#[test]
fn empty_documents_and_no_documents_agree() {
    for bound in [Bound::Tail, Bound::Full] {
        let options = EStepOptions { bound, ..clamped(3) };
        let case = Case::new("empty", random_network(1, 10, 10), vec![Vec::new(); 100]).options(options);
        assert_parity(&case);
    }
    let mut none = Case::sample(10).options(clamped(3));
    none.items.clear();
    assert_eq!(assert_parity(&none).stats.n_items, 0);
}

/// Pieces of a document in several blocks and chunks, documents in several groups.
#[test]
fn small_blocks_agree_and_chunks_do_not_matter() {
    let limits = |chunk_size| ChunkLimits { block_docs: 20, block_size: 500, chunk_size };
    let case = Case::sample(200).options(clamped(4));
    assert_clamp_parity(&Case { name: "small blocks".to_owned(), ..case.clone() }.limits(limits(1)));
    let runs = [1, 3_000, usize::MAX].map(|size| case.clone().limits(limits(size)).on_twins());
    assert!(runs.iter().all(|ran| *ran == runs[0]), "other chunks, other results");
    let on_gpu = |size| {
        let case = case.clone().limits(limits(size));
        Some(case.on(&mut gpu_estep(&case.device)?))
    };
    if let Some(ran) = on_gpu(1) {
        assert!(Some(ran) == on_gpu(usize::MAX), "other chunks, other results on the GPU");
    }
}

#[test]
fn bounds_alone_are_the_same_bounds() {
    use noisyor::estep::{EStep, Monitor, Params, Work};
    let case = Case::sample(200).options(clamped(3));
    let params = Params::derive(&case.network.graph, &case.network.weights, case.options.bound).unwrap();
    let (docs, items, options) = (case.docs(), &case.items[..], &case.options);
    let monitor = &Monitor::default();
    let work = Work {
        graph: &case.network.graph,
        params: &params,
        docs,
        items,
        options,
        gradients: false,
        kept_on: None,
        monitor,
    };
    let mut twins = untroubled(TwinMachine::new(), &case.device);
    let alone = twins.run(&work, None).unwrap();
    assert_eq!(alone.elbo_sum, case.on(&mut twins).stats.elbo_sum);
    assert_eq!(monitor.docs_done.load(std::sync::atomic::Ordering::Relaxed), 200);
    assert!(alone.edge.is_empty());
}
