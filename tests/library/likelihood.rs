//! Likelihoods by sampling, against enumeration.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use noisyor::estep::{Monitor, cpu::CpuEStep};
use noisyor::exact;
use noisyor::likelihood::proposal::{Mixture, Piece};
use noisyor::likelihood::{Estimates, Method, Options, estimate};
use noisyor::network::Network;
use noisyor::rng::{Stream, rng};
use noisyor::synth::{Preset, Sampler};
use std::sync::atomic::Ordering;

/// Estimates have at least this error, whatever their standard error: sums of f64 in another order.
const FLOOR: f64 = 1e-6;

fn run(network: &Network, docs: &[Vec<u32>], options: &Options) -> Estimates {
    let (corpus, alignment) = corpus_of(network, docs.iter().cloned());
    estimate(network, alignment.docs(&corpus), options, &mut CpuEStep::new(), &Monitor::default()).unwrap()
}

fn enumerate(network: &Network, docs: &[Vec<u32>]) -> Vec<f64> {
    exact::log_likelihood(&network.graph, &network.weights, docs, &Monitor::default()).unwrap()
}

/// Networks of several shapes with documents: the golden ones, random DAGs with leaks from 1e-5 to 0.5, two layers with tiny
/// leaks, and the layered preset with documents of its own.
fn cases() -> Vec<(String, Network, Vec<Vec<u32>>)> {
    let mut cases: Vec<_> = golden_cases()
        .into_iter()
        .map(|case| {
            let docs = case.docs().iter().map(|doc| tokens(&doc["tokens"])).collect();
            (case.name.clone(), case.network, docs)
        })
        .collect();
    cases.extend(
        random_cases(30, 12, 20).map(|(seed, network, docs)| (format!("random {seed}"), network, docs)),
    );
    for seed in 0..5 {
        let edges: Vec<(u32, u32, f64)> = (0..8)
            .flat_map(|topic| (0..12).map(move |token| (topic, 8 + token)))
            .filter(|(topic, token)| (topic * 7 + token * 5 + seed) % 3 == 0)
            .map(|(topic, token)| (topic, token, 0.3 + f64::from((topic + token) % 4)))
            .collect();
        let leak = [vec![0.05; 8], vec![1e-7; 12]].concat();
        let network = network_of(8, 12, &edges, leak);
        let docs = random_docs(&network, u64::from(seed), 3);
        cases.push((format!("tiny leaks {seed}"), network, docs));
    }
    let network = noisyor::synth::random_network(&Preset::of("tiny").unwrap(), 0).unwrap();
    let sampler = Sampler::new(&network);
    let docs = (0..60).map(|doc| sampler.sample(0, doc).tokens).collect();
    cases.push(("preset".to_owned(), network, docs));
    cases
}

/// How estimates differ from enumeration: (documents, further than three standard errors, mean error, its standard error).
fn compare(options: &Options) -> (usize, usize, f64, f64) {
    let (mut n, mut outside, mut error, mut variance) = (0, 0, 0.0, 0.0);
    for (name, network, docs) in cases() {
        let estimates = run(&network, &docs, options);
        for (doc_ix, exact) in enumerate(&network, &docs).into_iter().enumerate() {
            let e = estimates.doc(doc_ix);
            assert!(
                e.configurations <= exact + 1e-9 * exact.abs().max(1.0),
                "{name} document {doc_ix}: configurations sum to {}, all of them to {exact}",
                e.configurations
            );
            assert!(e.ess >= 1.0 && e.ess <= options.samples as f64 && e.se >= 0.0);
            n += 1;
            outside += usize::from((e.log_p - exact).abs() > 3.0 * e.se + FLOOR);
            // The logarithm of a mean lies low by half its variance.
            error += e.log_p + e.se * e.se / 2.0 - exact;
            variance += e.se * e.se;
        }
    }
    let n_docs = n as f64;
    println!(
        "{n} documents, {outside} outside, mean error {:.5}, se {:.5}",
        error / n_docs,
        variance.sqrt() / n_docs
    );
    (n, outside, error / n_docs, variance.sqrt() / n_docs)
}

#[test]
fn estimates_are_those_of_enumeration_within_three_standard_errors() {
    let (n, outside, error, se) = compare(&Options::default());
    assert!(n >= 200, "{n} documents");
    assert!(outside * 50 <= n, "{outside} of {n} estimates are further than three standard errors away");
    assert!(error.abs() <= 3.0 * se, "mean error {error}, standard error {se}");
}

/// Why sampling is annealed: mean field's configurations are not all there are, and effective sample sizes do not tell.
#[test]
fn importance_sampling_from_mean_field_misses_configurations() {
    let (n, outside, error, _) = compare(&Options { method: Method::Importance, ..Options::default() });
    assert!(outside * 20 > n, "only {outside} of {n} are outside: the reason for annealing is gone");
    assert!(error < 0.0, "what is missed is missed: {error}");
}

/// With one topic mean field is exact, and there is nothing to miss.
#[test]
fn one_topic() {
    let network = network_of(1, 2, &[(0, 1, 1.5), (0, 2, 0.5)], vec![0.3, 0.1, 0.02]);
    let docs = [vec![], vec![0], vec![1], vec![0, 1]];
    let exact = enumerate(&network, &docs);
    for method in [Method::Annealed, Method::Importance] {
        let estimates = run(&network, &docs, &Options { method, ..Options::default() });
        for (doc_ix, exact) in exact.iter().enumerate() {
            let e = estimates.doc(doc_ix);
            assert!(
                (e.log_p - exact).abs() < 4.0 * e.se + FLOOR,
                "{method:?}, document {doc_ix}: {e:?}, {exact}"
            );
            assert_close("both configurations are met", e.configurations, *exact, F64);
        }
    }
}

/// Weights of any size: steps between leaks of 1e-12 and edges of 30 must not lose the leaks.
#[test]
fn tiny_leaks_beside_heavy_edges() {
    let leak = vec![0.2, 0.1, 1e-12, 1e-12, 1e-12];
    let edges = [(0, 2, 30.0), (1, 2, 1e-9), (0, 3, 30.0), (1, 3, 30.0), (2, 4, 20.0), (1, 4, 1e-6)];
    let network = network_of(3, 2, &edges, leak);
    let docs = [vec![], vec![0], vec![1], vec![0, 1]];
    let estimates = run(&network, &docs, &Options { samples: 400, ..Options::default() });
    for (doc_ix, exact) in enumerate(&network, &docs).into_iter().enumerate() {
        let e = estimates.doc(doc_ix);
        assert!((e.log_p - exact).abs() < 4.0 * e.se + FLOOR, "document {doc_ix}: {e:?}, exact {exact}");
        assert_close("all that matters is met", e.configurations, exact, 1e-6);
    }
}

/// Documents that are the same have the same estimate, and the mean's standard error knows it.
#[test]
fn identical_documents_share_an_estimate() {
    let network = random_network(7, 8, 10);
    let docs = random_docs(&network, 7, 2);
    let many = [docs.clone(), docs.clone()].concat();
    let (once, twice) =
        (run(&network, &docs, &Options::default()), run(&network, &many, &Options::default()));
    for doc_ix in 0..docs.len() {
        assert_eq!(twice.doc(doc_ix), once.doc(doc_ix));
        assert_eq!(twice.doc(docs.len() + doc_ix), once.doc(doc_ix));
    }
    let (once, twice) = (once.means().unwrap(), twice.means().unwrap());
    assert_close("the mean", twice.log_p, once.log_p, F64);
    assert_close("its standard error is no smaller", twice.se, once.se, F64);
    assert!(run(&network, &[], &Options::default()).means().is_none());
}

#[test]
fn a_stop_request_ends_it() {
    let network = random_network(7, 8, 10);
    let (corpus, alignment) = corpus_of(&network, random_docs(&network, 7, 2));
    let monitor = Monitor::default();
    monitor.stop.store(true, Ordering::Relaxed);
    let result =
        estimate(&network, alignment.docs(&corpus), &Options::default(), &mut CpuEStep::new(), &monitor);
    assert!(matches!(result, Err(noisyor::Error::Interrupted)));
}

/// Pieces that overlap, are clamped, and have weights that do not sum to one: densities do, and samples follow them.
#[test]
fn a_mixture_samples_from_its_density() {
    let pieces = [
        Piece { log_weight: 3f64.ln(), q: vec![1.0, 0.0, 0.3] },
        Piece { log_weight: 1f64.ln(), q: vec![0.0, 0.5, 1.0] },
        Piece { log_weight: 4f64.ln(), q: vec![0.2, 0.6, 0.9] },
    ];
    let mixture = Mixture::new(pieces);
    let topics = |state: usize| (0..3).filter(|topic| state >> topic & 1 == 1).collect::<Vec<usize>>();
    let density: Vec<f64> = (0..8).map(|state| mixture.log_density(&topics(state)).exp()).collect();
    assert_close("the density sums to one", density.iter().sum(), 1.0, F64);
    // On, off, on: 3/8 * 0.3 of the first, and of the third 4/8 * 0.2 * 0.4 * 0.9.
    assert_close("the density of 101", density[0b101], 0.1125 + 0.036, F64);
    for (topic, want) in
        [3.0 / 8.0 + 0.1, 0.5 / 8.0 + 0.3, 0.9 / 8.0 + 1.0 / 8.0 + 0.45].into_iter().enumerate()
    {
        assert_close("a marginal", mixture.marginals()[topic], want, F64);
    }
    let (rng, mut on, mut counts) = (&mut rng(0, Stream::Likelihood(0)), Vec::new(), [0.0; 8]);
    const N: f64 = 20_000.0;
    for _ in 0..N as usize {
        mixture.sample(rng, &mut on);
        counts[on.iter().map(|topic| 1 << topic).sum::<usize>()] += 1.0;
    }
    for state in 0..8 {
        let (share, p) = (counts[state] / N, density[state]);
        assert!((share - p).abs() <= 4.0 * (p / N).sqrt(), "state {state}: {share}, density {p}");
    }
}
