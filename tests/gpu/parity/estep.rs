//! Whole E-steps with gradients: GPU and twins against the CPU.

use super::*;

fn golden_docs(golden: &Golden) -> Vec<Vec<u32>> {
    golden.docs().iter().map(|doc| tokens(&doc["tokens"])).collect()
}

#[test]
fn golden_networks_agree_under_every_bound() {
    // One backend for all: networks and documents of other sizes come and go.
    let mut gpu = gpu_estep(&DeviceOptions::default());
    let mut twins = untroubled(TwinMachine::new(), &DeviceOptions::default());
    for golden in golden_cases() {
        for bound in [Bound::Tail, Bound::Local, Bound::Full] {
            let name = format!("{} {bound}", golden.name);
            let case = Case::new(&name, golden_network(&golden.value["model"]), golden_docs(&golden));
            let case = case.options(EStepOptions { bound, ..EStepOptions::default() });
            let cpu = case.on_cpu();
            assert_agree(&format!("{name}, twins"), &cpu, &case.on(&mut twins));
            if let Some(gpu) = &mut gpu {
                assert_agree(&format!("{name}, GPU"), &cpu, &case.on(gpu));
            }
        }
    }
}

#[test]
fn a_network_that_outgrows_the_one_before_agrees() {
    // The same documents in arrays that stay what they are; only the network's array must grow.
    let case = |n_tokens: u32| {
        let edges: Vec<_> = (0..n_tokens).map(|token| (token % 3, 3 + token, 0.5)).collect();
        let network = network_of(3, n_tokens as usize, &edges, vec![0.1; 3 + n_tokens as usize]);
        Case::new(&format!("{n_tokens} tokens"), network, (0..100).map(|doc| vec![doc % 10, 10]))
    };
    let Some(mut gpu) = gpu_estep(&DeviceOptions::default()) else { return };
    for case in [11, 2_000, 11].map(case) {
        assert_agree(&case.name, &case.on_cpu(), &case.on(&mut gpu));
    }
}

#[test]
fn the_sample_agrees() {
    assert_parity(&Case::sample(2_000));
}

#[test]
fn a_large_network_agrees() {
    assert_parity(&Case::preset("dblp", 200));
}

#[test]
fn the_papers_schedule_agrees() {
    assert_parity(&Case::sample(300).options(EStepOptions::paper(Bound::Local)));
}

#[test]
fn a_tempered_start_agrees() {
    let start = Start::Tempered(Temper::default());
    assert_parity(&Case::sample(500).options(EStepOptions { start, ..EStepOptions::default() }));
}

#[test]
fn every_start_agrees_on_flat_and_on_deep_networks() {
    for start in [Start::Plain, Start::Greedy, Start::Best] {
        for bound in [Bound::Tail, Bound::Local, Bound::Full] {
            let options = EStepOptions { start, bound, ..EStepOptions::default() };
            let name = |what: &str| format!("{what}, {start:?}, {bound}");
            let case = Case { name: name("sample"), ..Case::sample(300) }.options(options.clone());
            assert_parity(&case);
            let tiny = Case::preset("tiny", 300);
            assert_parity(&Case { name: name("tiny"), ..tiny }.options(options));
        }
    }
}

#[test]
fn unknown_tokens_agree() {
    for (case, start) in [
        (Case::sample(300), Start::Greedy),
        (Case::sample(100), Start::Plain),
        (Case::preset("tiny", 300), Start::Greedy),
    ] {
        let case = case.with_unknown(5).options(EStepOptions { start, ..EStepOptions::default() });
        let known = Case {
            corpus: noisyor::Corpus::from_tokens(
                (0..case.corpus.n_docs()).map(|doc| case.corpus.tokens(doc).to_vec()),
            ),
            ..case.clone()
        };
        let cpu = assert_parity(&case);
        assert!(cpu.stats.elbo_sum > known.on_cpu().stats.elbo_sum + 1.0, "less is to be explained");
    }
}

#[test]
fn a_greedy_start_is_another_than_a_plain_one() {
    // Otherwise the agreement of greedy starts would say nothing.
    let run = |start| Case::sample(300).options(EStepOptions { start, ..EStepOptions::default() }).on_twins();
    let [plain, greedy, best] = [Start::Plain, Start::Greedy, Start::Best].map(run);
    let higher = |a: &Ran, b: &Ran| a.elbo.iter().zip(&b.elbo).filter(|(a, b)| **a > **b + 0.01).count();
    assert!(higher(&greedy, &plain) > 3, "{} documents of 300 gain", higher(&greedy, &plain));
    assert_eq!((higher(&greedy, &best), higher(&plain, &best)), (0, 0), "the best of them is the best");
    assert!(best.stats.n_alternations > greedy.stats.n_alternations + plain.stats.n_alternations);
}

#[test]
fn a_fixed_number_of_alternations_agrees() {
    // Not a multiple of the alternations between two looks at the documents.
    let options = EStepOptions { tolerance: 0.0, max_alternations: 15, ..EStepOptions::default() };
    let cpu = assert_parity(&Case::sample(500).options(options));
    assert_eq!((cpu.stats.n_alternations, cpu.stats.n_unconverged), (500 * 15, 0));
}

#[test]
fn documents_cut_off_at_the_maximum_agree() {
    let case = Case::sample(500).options(EStepOptions { max_alternations: 6, ..EStepOptions::default() });
    let cpu = assert_parity(&case);
    assert!((1..500).contains(&cpu.stats.n_unconverged), "{} were cut off", cpu.stats.n_unconverged);
    assert_eq!(case.on_twins().stats.n_unconverged, cpu.stats.n_unconverged);
}

#[test]
fn several_sweeps_and_iterations_agree() {
    let options = EStepOptions { q_sweeps: 3, r_iterations: 2, ..EStepOptions::default() };
    assert_parity(&Case::sample(300).options(options));
}

#[test]
fn documents_that_count_more_than_once_agree() {
    let case = Case::sample(500).counts(|at| 1 + (at * at) as u32 % 1_000);
    let cpu = assert_parity(&case);
    assert!(cpu.stats.n_docs > 100_000.0);
}

#[test]
fn bounds_alone_are_the_same_bounds() {
    use noisyor::estep::{EStep, Monitor, Params, Work};
    let case = Case::sample(500);
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
    let alone = |estep: &mut dyn EStep| {
        let stats = estep.run(&work, None).unwrap();
        assert!(stats.edge.is_empty() && stats.leak.is_empty(), "sums that nobody asked for");
        stats.elbo_sum
    };
    // Before and after: packed documents that were kept without sums must not be taken for ones with them.
    let mut twins = untroubled(TwinMachine::new(), &case.device);
    assert_eq!([alone(&mut twins), case.on(&mut twins).stats.elbo_sum], [alone(&mut twins); 2]);
    if let Some(mut gpu) = gpu_estep(&case.device) {
        assert_eq!([alone(&mut gpu), case.on(&mut gpu).stats.elbo_sum], [alone(&mut gpu); 2]);
    }
}

#[test]
fn the_smallest_limits_of_webgpu_are_enough() {
    let case = Case::sample(1_000);
    let options = GpuOptions { default_limits: true, ..GpuOptions::default() };
    if let Some(machine) = gpu_machine(options) {
        assert_agree("default limits", &case.on_cpu(), &case.on_machine(machine));
    }
}

/// The comparison is worth something only if it sees what is not the same.
fn assert_seen(what: &str, case: &Case, change: impl Fn(&mut Network)) {
    let cpu = case.on_cpu();
    let mut changed = case.clone();
    change(&mut changed.network);
    Gap::within_gates(&cpu, &case.on_twins()).unwrap();
    let seen = Gap::within_gates(&cpu, &changed.on_twins()).expect_err(what);
    println!("{what}, twins: {seen}");
    if let Some(mut gpu) = gpu_estep(&case.device) {
        let seen = Gap::within_gates(&cpu, &changed.on(&mut gpu)).expect_err(what);
        println!("{what}, GPU: {seen}");
    }
}

#[test]
fn weights_changed_by_a_hundredth_are_seen() {
    assert_seen("every weight", &Case::sample(300), |network| {
        network.weights.edge.iter_mut().for_each(|w| *w *= 1.01);
    });
}

#[test]
fn one_changed_weight_is_seen() {
    let case = Case::sample(300);
    let sums = case.on_cpu().stats.edge;
    let mut by_use: Vec<usize> = (0..sums.len()).collect();
    by_use.sort_by(|&a, &b| sums[a].total_cmp(&sums[b]));
    // The most used edge, and a middling one.
    for edge in [by_use[sums.len() - 1], by_use[sums.len() / 2]] {
        assert_seen(&format!("edge {edge}"), &case, |network| network.weights.edge[edge] *= 1.01);
    }
}
