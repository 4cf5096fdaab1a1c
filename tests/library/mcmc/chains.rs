//! Chains sample the posterior, stay in their model, and are the same on any number of threads.

use super::*;
use noisyor::Error;
use noisyor::estep::{Monitor, OnLists, Stats};
use noisyor::mcmc::Sampling;
use noisyor::mcmc::sums::DocSums;
use noisyor::numeric::f64::log_sum_exp;
use std::sync::atomic::Ordering;

/// Copies of a document: each has a chain of its own.
const COPIES: usize = 3_000;
/// One counted sweep after these: the samples of the copies are independent.
const BURN_IN: u32 = 80;
/// Standard errors that a mean may be off.
const ERRORS: f64 = 5.0;

fn sample(
    network: &Network,
    docs: Vec<Vec<u32>>,
    options: McmcOptions,
    chains: Option<&OnLists>,
    monitor: &Monitor,
) -> noisyor::Result<(Stats, OnLists)> {
    let items = Item::each(&(0..docs.len() as u32).collect::<Vec<_>>());
    let (corpus, alignment) = corpus_of(network, docs);
    let (graph, weights, docs) = (&network.graph, &network.weights, alignment.docs(&corpus));
    Sampling { graph, weights, docs, items: &items, options, seed: (0, 0), chains, monitor }.run()
}

/// Networks in which chains forget where they began: leaks of 0.05 and more.
fn cases() -> Vec<(u64, Network, Vec<Vec<u32>>)> {
    let mut cases: Vec<_> = random_cases(200, 6, 8)
        .filter(|(_, network, _)| network.weights.leak.iter().all(|&leak| leak > 0.05))
        .collect();
    assert!(cases.len() >= 8, "{} networks", cases.len());
    cases.truncate(8);
    cases
}

/// Means and variances, over the states of a document by their exact probabilities, of N, L and Q; only states with all topics
/// outside off.
struct Exact {
    means: Vec<f64>,
    variances: Vec<f64>,
}

fn flat(stats: &Stats) -> Vec<f64> {
    [&stats.edge[..], &stats.leak, &stats.topic_q].concat()
}

fn exact(network: &Network, tokens: &[u32], model: Model) -> Exact {
    let mut case = Case::new(network, tokens, model);
    let outside: Vec<bool> = case.places().iter().map(|&place| place == usize::MAX).collect();
    let inside = |state: &Vec<bool>| state.iter().zip(&outside).all(|(on, outside)| !(on & outside));
    let states: Vec<Vec<bool>> = states(network.graph.n_topics()).filter(inside).collect();
    let terms: Vec<(f64, Vec<f64>)> = states
        .iter()
        .map(|state| {
            case.go_to(state);
            let mut sums = DocSums::default();
            sums.clear(&case.joint);
            sums.add(&case.joint, &case.x.on, 1.0);
            (case.x.log_joint, flat(&sums.stats(&case.joint, &network.graph)))
        })
        .collect();
    let all = log_sum_exp(terms.iter().map(|term| term.0));
    let mean = |of: &dyn Fn(f64) -> f64, at: usize| -> f64 {
        terms.iter().map(|(log_joint, sums)| (log_joint - all).exp() * of(sums[at])).sum()
    };
    let n = terms[0].1.len();
    let means: Vec<f64> = (0..n).map(|at| mean(&|x| x, at)).collect();
    let variances = (0..n).map(|at| mean(&|x| (x - means[at]).powi(2), at)).collect();
    Exact { means, variances }
}

#[test]
fn means_are_those_of_the_posterior_within_five_standard_errors() {
    let mut n_compared = 0;
    for (seed, network, docs) in cases() {
        for (model, tokens) in
            docs.iter().flat_map(|tokens| [Model::Full, Model::Local].map(|model| (model, tokens)))
        {
            let options = McmcOptions { model, sweeps: 1, burn_in: BURN_IN, ..McmcOptions::default() };
            let copies = vec![tokens.clone(); COPIES];
            let (stats, _) = sample(&network, copies, options, None, &Monitor::default()).unwrap();
            assert_eq!((stats.n_docs, stats.n_items), (COPIES as f64, COPIES as u64));
            let exact = exact(&network, tokens, model);
            for (at, sum) in flat(&stats).into_iter().enumerate() {
                let (mean, error) = (sum / COPIES as f64, (exact.variances[at] / COPIES as f64).sqrt());
                // What is on in one state of a hundred thousand is hardly ever met.
                let off = (mean - exact.means[at]).abs();
                assert!(
                    off <= ERRORS * error + 1e-9,
                    "seed {seed}, {model:?}, {tokens:?}, sum {at}: {mean}, exactly {}, standard error {error}",
                    exact.means[at]
                );
                n_compared += usize::from(error > 1e-4);
            }
        }
    }
    assert!(n_compared > 500, "{n_compared} sums that vary");
}

#[test]
fn the_posterior_by_sums_is_that_of_enumeration() {
    for (_, network, docs) in cases() {
        for tokens in &docs {
            let exact = exact(&network, tokens, Model::Full);
            let of_topics = &exact.means[exact.means.len() - network.graph.n_topics()..];
            for (got, want) in of_topics.iter().zip(posterior(&network, tokens)) {
                assert_close("p(on)", *got, want, F64);
            }
        }
    }
}

#[test]
fn local_chains_never_switch_on_a_topic_outside() {
    let mut n_outside = 0;
    for (seed, network, docs) in random_cases(60, 10, 12) {
        for tokens in docs {
            let inside = oracle(&network, &tokens).local_topics();
            let options = McmcOptions { model: Model::Local, ..McmcOptions::default() };
            let (stats, ends) = sample(&network, vec![tokens], options, None, &Monitor::default()).unwrap();
            assert_eq!(ends.n_docs(), 1);
            for topic in (0..inside.len()).filter(|&topic| !inside[topic]) {
                assert_eq!(
                    (stats.topic_q[topic], stats.leak[topic]),
                    (0.0, 0.0),
                    "seed {seed}, topic {topic}"
                );
                n_outside += 1;
            }
        }
    }
    assert!(n_outside > 100, "{n_outside} topics outside");
}

#[test]
fn threads_change_nothing_and_chains_go_on() {
    let of_many = |(_, network, _): &(u64, Network, Vec<Vec<u32>>)| network.graph.n_topics() > 7;
    let (_, network, _) = random_cases(20, 10, 12).find(of_many).unwrap();
    let docs: Vec<Vec<u32>> = (0..150).flat_map(|seed| random_docs(&network, seed, 1)).collect();
    let run = |n_threads: usize, chains: Option<&OnLists>| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        let options = McmcOptions { sweeps: 2, burn_in: 0, ..McmcOptions::default() };
        pool.install(|| sample(&network, docs.clone(), options, chains, &Monitor::default()).unwrap())
    };
    let (stats, ends) = run(1, None);
    assert_eq!(run(4, None), (stats.clone(), ends.clone()));
    let on = run(4, Some(&ends));
    assert_eq!(run(1, Some(&ends)), on);
    assert_ne!(on.0, stats, "chains that go on have other samples, though the random numbers are the same");
}

#[test]
fn lists_of_another_graph_do_no_harm() {
    let (_, network, docs) = random_cases(7, 5, 6).last().unwrap();
    let mut lists = OnLists::default();
    docs.iter().for_each(|_| lists.push(&[1.0; 300]));
    let (stats, ends) =
        sample(&network, docs.clone(), McmcOptions::default(), Some(&lists), &Monitor::default()).unwrap();
    assert_eq!((stats.n_docs as usize, ends.n_docs()), (docs.len(), docs.len()));
    let short = OnLists::default();
    sample(&network, docs, McmcOptions::default(), Some(&short), &Monitor::default()).unwrap();
}

#[test]
fn a_stop_request_ends_it_and_progress_is_counted() {
    let (_, network, docs) = random_cases(3, 5, 6).last().unwrap();
    let monitor = Monitor::default();
    sample(&network, docs.clone(), McmcOptions::default(), None, &monitor).unwrap();
    assert_eq!(monitor.docs_done.load(Ordering::Relaxed), docs.len() as u64);
    monitor.stop.store(true, Ordering::Relaxed);
    let stopped = sample(&network, docs, McmcOptions::default(), None, &monitor);
    assert!(matches!(stopped, Err(Error::Interrupted)));
}

#[test]
fn what_flips_add_up_is_what_is_summed_anew() {
    for (seed, network, docs) in random_cases(40, 12, 15) {
        let mut case = Case::new(&network, &docs[1], Model::Full);
        let rng = &mut noisyor::rng::rng(seed, noisyor::rng::Stream::Init);
        (0..200).for_each(|_| case.x.sweep(&case.joint, rng));
        let (log_joint, gain) = (case.x.log_joint, case.x.gain.clone());
        case.x.refresh(&case.joint);
        assert_close("log p(x, y)", log_joint, case.x.log_joint, F64);
        assert_close("log p(x, y)", log_joint, case.joint.log_joint(&case.x.on), F64);
        gain.iter().zip(&case.x.gain).for_each(|(kept, anew)| assert_close("log-odds", *kept, *anew, F64));
    }
}
