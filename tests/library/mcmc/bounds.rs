//! Lower bounds by the states around a chain, against enumeration.

use super::*;
use noisyor::Error;
use noisyor::estep::cpu::Probe;
use noisyor::estep::{Bound, Monitor, Params};
use noisyor::mcmc::{BoundOptions, Bounds, bounds};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::atomic::Ordering;

fn run(network: &Network, docs: &[Vec<u32>], options: BoundOptions) -> Bounds {
    let (corpus, alignment) = corpus_of(network, docs.iter().cloned());
    bounds(network, alignment.docs(&corpus), &options, &Monitor::default()).unwrap()
}

/// log of the sum over all states with the topics outside H_d off.
fn exact_local(network: &Network, tokens: &[u32]) -> f64 {
    let outside: Vec<bool> = oracle(network, tokens).local_topics().iter().map(|inside| !inside).collect();
    let states = (0u32..1 << outside.len())
        .filter(|states| (0..outside.len()).all(|topic| states >> topic & 1 == 0 || !outside[topic]));
    noisyor::numeric::f64::log_sum_exp(
        states.map(|states| log_joint(network, tokens, states)).collect::<Vec<_>>(),
    )
}

#[test]
fn they_lie_below_the_likelihood_and_reach_it_on_small_networks() {
    let (mut n, mut short) = (0, 0.0f64);
    for (seed, network, docs) in random_cases(40, 8, 12) {
        let exact = likelihood(&network, &docs);
        for model in [Model::Full, Model::Local] {
            let few = run(&network, &docs, BoundOptions { flips: 150, model, seed: 0 });
            let many = run(&network, &docs, BoundOptions { flips: 200_000, model, seed: 0 });
            for (doc_ix, tokens) in docs.iter().enumerate() {
                let name = format!("seed {seed}, document {doc_ix}, {model:?}");
                let whole = if model == Model::Full { exact[doc_ix] } else { exact_local(&network, tokens) };
                assert!(whole <= exact[doc_ix] + 1e-9, "{name}");
                for bounds in [&few, &many] {
                    let doc = bounds.doc(doc_ix);
                    assert!(doc.bound <= whole + 1e-9 * (1.0 + whole.abs()), "{name}: {doc:?}, {whole}");
                    assert!(doc.elbo <= whole + F32_BOUND * (1.0 + whole.abs()), "{name}: {doc:?}, {whole}");
                    assert!(doc.curve.windows(2).all(|pair| pair[0] <= pair[1]), "{name}: {doc:?}");
                    assert_eq!(doc.curve.last(), Some(&doc.bound));
                }
                assert!(few.doc(doc_ix).bound <= many.doc(doc_ix).bound + 1e-9, "{name}: the same chain");
                // With tiny leaks explanations are far apart, and chains stay with one of them.
                if network.weights.leak.iter().all(|&leak| leak > 1e-3) {
                    short = short.max(whole - many.doc(doc_ix).bound);
                    n += 1;
                }
            }
        }
    }
    println!("{n} bounds, the furthest {short:e} below the likelihood");
    assert!(n > 100, "{n} bounds");
    // 200,000 samples are 25,000 sweeps or more: states that have more probability than this together are met twice and more.
    assert!(short < 1e-4, "{short} nats are missing");
}

/// The chain may stay where it is: what is next to it is counted as well.
#[test]
fn one_sample_gives_two_states() {
    let network = network_of(1, 2, &[(0, 1, 1.5), (0, 2, 0.5)], vec![0.3, 0.1, 0.02]);
    let docs = [vec![], vec![0], vec![0, 1]];
    let bounds = run(&network, &docs, BoundOptions { flips: 1, ..BoundOptions::default() });
    assert_eq!(bounds.notes, [1]);
    for (doc_ix, exact) in likelihood(&network, &docs).into_iter().enumerate() {
        assert_close("both states", bounds.doc(doc_ix).bound, exact, F64);
    }
}

#[test]
fn notes_are_powers_of_ten_and_the_end() {
    let notes = |flips| BoundOptions { flips, ..BoundOptions::default() }.notes();
    assert_eq!(notes(7), [7]);
    assert_eq!(notes(100), [100]);
    assert_eq!(notes(2_500), [100, 1_000, 2_500]);
    assert_eq!(notes(1_000_000), [100, 1_000, 10_000, 100_000, 1_000_000]);
    assert_eq!(notes(u64::MAX).last(), Some(&u64::MAX));
}

#[test]
fn the_bound_at_marginals_is_eq_9_at_its_best_r() {
    let rng = &mut ChaCha8Rng::seed_from_u64(3);
    for (seed, network, docs) in random_cases(40, 10, 15) {
        let params = Params::derive(&network.graph, &network.weights, Bound::Full).unwrap();
        let (corpus, alignment) = corpus_of(&network, docs.iter().cloned());
        let mut probe = Probe::empty(&network.graph, Bound::Full, &params);
        for (doc_ix, tokens) in (0..).zip(&docs) {
            let oracle = oracle(&network, tokens);
            let mut point = random_point(&network, &vec![true; network.graph.n_topics()], rng);
            // Samples may have a topic always on, or never.
            point.q.iter_mut().for_each(|q| *q = if rng.random_bool(0.3) { q.round() } else { *q });
            let q: Vec<f32> = point.q.iter().map(|&q| q as f32).collect();
            (0..network.graph.n_nodes()).for_each(|node| oracle.optimise_r(&mut point, node));
            probe.load(&alignment.docs(&corpus), doc_ix);
            let (got, want) = (probe.bound_at(&q, 1000), oracle.elbo(&point));
            let rounding = F32_TERMS * bound_size(&oracle, &point) + BEST_R_BOUND * (1.0 + want.abs());
            assert!((got - want).abs() <= rounding, "seed {seed}, document {doc_ix}: {got}, want {want}");
        }
    }
}

#[test]
fn marginals_of_a_long_chain_are_the_posterior() {
    // With independent topics Eq. 9 at the posterior is the likelihood.
    let network = network_of(2, 2, &[(0, 2, 1.5), (1, 3, 0.7)], vec![0.3, 0.2, 0.1, 0.02]);
    let docs = [vec![], vec![0], vec![1], vec![0, 1]];
    let bounds = run(&network, &docs, BoundOptions { flips: 400_000, ..BoundOptions::default() });
    for (doc_ix, exact) in likelihood(&network, &docs).into_iter().enumerate() {
        // 180,000 samples of a topic: q is off by 0.001, which costs its square over 2 q (1 - q).
        let short = exact - bounds.doc(doc_ix).elbo;
        assert!((-1e-5..2e-4).contains(&short), "document {doc_ix}: {short} below the likelihood");
    }
}

#[test]
fn the_seed_decides_threads_do_not_and_a_stop_request_ends_it() {
    let (_, network, docs) = random_cases(20, 10, 12).last().unwrap();
    let options = BoundOptions { flips: 30, ..BoundOptions::default() };
    let on = |n_threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        pool.install(|| run(&network, &docs, options))
    };
    let one = on(1);
    assert_eq!(on(4), one);
    assert_ne!(run(&network, &docs, BoundOptions { seed: 1, ..options }), one);
    let (corpus, alignment) = corpus_of(&network, docs.iter().cloned());
    let monitor = Monitor::default();
    monitor.stop.store(true, Ordering::Relaxed);
    let stopped = bounds(&network, alignment.docs(&corpus), &options, &monitor);
    assert!(matches!(stopped, Err(Error::Interrupted)));
    let none = BoundOptions { flips: 0, ..options };
    let refused = bounds(&network, alignment.docs(&corpus), &none, &Monitor::default());
    assert!(refused.unwrap_err().to_string().contains("`likelihood` mcmc has 0"));
}

#[test]
fn identical_documents_share_and_an_empty_corpus_has_no_mean() {
    let network = random_network(5, 4, 6);
    let docs = vec![vec![0], vec![], vec![0]];
    let bounds = run(&network, &docs, BoundOptions { flips: 50, ..BoundOptions::default() });
    assert_eq!(bounds.doc(0), bounds.doc(2));
    let mean = (2.0 * bounds.doc(0).bound + bounds.doc(1).bound) / 3.0;
    assert_close("mean", bounds.mean(|doc| doc.bound).unwrap(), mean, F64);
    assert_eq!(bounds.curve(), [(50, bounds.mean(|doc| doc.bound).unwrap())]);
    let none = run(&network, &[], BoundOptions::default());
    assert_eq!((none.mean(|doc| doc.elbo), none.curve()), (None, vec![]));
}
