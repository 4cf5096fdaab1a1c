//! Sampled documents: unknown values, threads, and standard errors that are what they say.

use super::random::random_weights;
use super::{graph_of, learn, schedule_of};
use noisyor::corpus::{Corpus, Others, align};
use noisyor::moments::{Counts, Learned, Schedule, ScheduleOptions, Source, Table, Weighting};
use noisyor::synth::Sampler;
use noisyor::{Graph, Monitor, Names, Network, Weights};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Figure 1 of the paper: A has a, b, c; B has b, c, d, e.
pub(super) fn figure_1() -> Graph {
    graph_of(2, 5, &[(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (1, 3), (1, 4)])
}

fn named(graph: &Graph, weights: &Weights) -> Network {
    let number = |n: usize| (0..n).map(|at| at.to_string()).collect();
    let names = Names { topics: number(graph.n_topics()), tokens: number(graph.n_tokens()) };
    Network { graph: graph.clone(), weights: weights.clone(), names, training: String::new() }
}

fn sampled(network: &Network, seed: u64, n_docs: u64) -> Corpus {
    let sampler = Sampler::new(network);
    Corpus::from_tokens((0..n_docs).map(|doc| sampler.sample(seed, doc).tokens))
}

fn counts(graph: &Graph, corpus: &Corpus, schedule: &Schedule) -> Counts {
    let names: Vec<String> = (0..graph.n_tokens()).map(|token| token.to_string()).collect();
    let alignment = align(corpus, &names);
    Counts::of(&alignment.docs(corpus), 0..corpus.n_docs(), names.len(), schedule, &Monitor::default())
        .unwrap()
}

fn learned(graph: &Graph, corpus: &Corpus) -> Learned {
    let schedule = schedule_of(graph, &ScheduleOptions::default());
    learn(graph, &schedule, &counts(graph, corpus, &schedule), Weighting::Pooled)
}

/// Errors over their standard errors, failures of all edges.
fn scores(learned: &Learned, truth: &Weights) -> Vec<f64> {
    let score = |(found, want): (&Option<noisyor::moments::Estimate>, &f64)| {
        let found = found.as_ref().unwrap();
        (found.raw - (-want).exp()) / found.se
    };
    learned.failure.iter().zip(&truth.edge).map(score).collect()
}

/// With 32 groups a score has Student's t with 31 degrees of freedom, rms 1.03; 40 networks of 7 edges give it to about 0.06.
#[test]
fn standard_errors_are_the_errors() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let graph = figure_1();
    for n_docs in [20_000, 80_000] {
        let mut squares = Vec::new();
        for seed in 0..40 {
            let truth = random_weights(&graph, &mut rng);
            let corpus = sampled(&named(&graph, &truth), seed, n_docs);
            squares.extend(scores(&learned(&graph, &corpus), &truth).iter().map(|score| score * score));
        }
        let rms = (squares.iter().sum::<f64>() / squares.len() as f64).sqrt();
        assert!((0.8..1.3).contains(&rms), "{n_docs} documents: {rms}");
    }
}

/// Four times the documents, half the error; means over 40 networks, to a fourth of themselves.
#[test]
fn errors_fall_with_the_root_of_the_documents() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let graph = figure_1();
    let mut sums = [0.0; 2];
    for seed in 0..40 {
        let truth = random_weights(&graph, &mut rng);
        let network = named(&graph, &truth);
        for (sum, n_docs) in sums.iter_mut().zip([20_000, 80_000]) {
            let learned = learned(&graph, &sampled(&network, seed, n_docs));
            let error = |(found, want): (&Option<noisyor::moments::Estimate>, &f64)| {
                (found.as_ref().unwrap().value - (-want).exp()).abs()
            };
            *sum += learned.failure.iter().zip(&truth.edge).map(error).sum::<f64>();
        }
    }
    let ratio = sums[0] / sums[1];
    assert!((1.5..2.7).contains(&ratio), "{ratio}");
}

/// Values that are unknown at random change nothing but the error; the counts are those of the documents in which a set is known.
#[test]
fn unknown_values_are_left_out_set_by_set() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let graph = figure_1();
    let truth = random_weights(&graph, &mut rng);
    let full = sampled(&named(&graph, &truth), 9, 40_000);
    let mut corpus = Corpus::default();
    let mut states: Vec<[Option<bool>; 5]> = Vec::new();
    for doc in 0..full.n_docs() {
        let state: [Option<bool>; 5] = std::array::from_fn(|token| {
            rng.random_bool(0.8).then(|| full.tokens(doc).contains(&(token as u32)))
        });
        let of = |want: Option<bool>| (0..5u32).filter(|&t| state[t as usize] == want).collect::<Vec<_>>();
        // Both ways to say it.
        let mut others = match doc % 2 {
            0 => Others { tokens: of(None), rest_unknown: false },
            _ => Others { tokens: of(Some(false)), rest_unknown: true },
        };
        corpus.push_state(&mut of(Some(true)), &mut others, "", "").unwrap();
        states.push(state);
    }
    let schedule = schedule_of(&graph, &ScheduleOptions::default());
    let counts = counts(&graph, &corpus, &schedule);
    let mut table = Table::default();
    counts.table(&[1, 3, 4], &mut table);
    for mask in 1..8usize {
        let tokens: Vec<usize> =
            [1, 3, 4].into_iter().enumerate().filter(|(at, _)| mask >> at & 1 == 1).map(|(_, t)| t).collect();
        let n = |keep: &dyn Fn(Option<bool>) -> bool| {
            states.iter().filter(|state| tokens.iter().all(|&t| keep(state[t]))).count() as f64
        };
        assert_eq!(table.known[mask], n(&|value| value.is_some()));
        assert_eq!(table.moments[mask], n(&|value| value == Some(false)) / table.known[mask]);
    }
    let learned = learn(&graph, &schedule, &counts, Weighting::Pooled);
    for score in scores(&learned, &truth) {
        assert!(score.abs() < 4.5, "{score}");
    }
}

#[test]
fn the_same_whatever_the_number_of_threads() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let graph = figure_1();
    let truth = random_weights(&graph, &mut rng);
    let corpus = sampled(&named(&graph, &truth), 1, 5_000);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| learned(&graph, &corpus))
    };
    assert_eq!(run(1), run(3));
}
