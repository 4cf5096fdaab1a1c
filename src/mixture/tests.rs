//! Mixtures against plain f64 arithmetic, known clusters, odd documents, threads.

#![allow(clippy::unwrap_used)]

use super::fit::{DEAD, Data};
use super::{Mixture, MixtureOptions, complete_layer, mixture_work};
use crate::corpus::{Corpus, align};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::network::{Graph, Weights};
use crate::numeric::f64::log_sum_exp;
use crate::rng::{Stream, rng};
use rand::RngExt;
use std::sync::atomic::Ordering;

/// Fits a mixture to all documents of a corpus.
fn fit(corpus: &Corpus, n_tokens: usize, options: &MixtureOptions, monitor: &Monitor) -> Result<Mixture> {
    let names: Vec<String> = (0..n_tokens).map(|token| token.to_string()).collect();
    let all: Vec<u32> = (0..corpus.n_docs() as u32).collect();
    Mixture::fit(align(corpus, &names).docs(corpus), &all, n_tokens, options, monitor)
}

fn of(components: usize) -> MixtureOptions {
    MixtureOptions { components, smoothing: Some(1.0), ..MixtureOptions::default() }
}

/// Documents of two kinds, seven of ten with tokens 0 to 4, the others with 5 to 9, each token with probability 0.8, the others'
/// with 0.05.
fn two_kinds(n_docs: usize) -> Corpus {
    let mut random = rng(1, Stream::SynthNetwork);
    Corpus::from_tokens((0..n_docs).map(|doc| {
        let first = doc % 10 < 7;
        let p = |token: u32| if (token < 5) == first { 0.8 } else { 0.05 };
        (0..10).filter(|&token| random.random_range(0.0..1.0) < p(token)).collect()
    }))
}

/// Documents with no structure at all: many local optima, every iteration has something to gain.
fn noise(n_docs: usize, n_tokens: u32) -> Corpus {
    let mut random = rng(2, Stream::SynthNetwork);
    let docs = (0..n_docs).map(|_| (0..n_tokens).filter(|_| random.random_range(0.0..1.0) < 0.2).collect());
    Corpus::from_tokens(docs)
}

/// log p(d) of every document, over all tokens.
fn log_likelihoods(mixture: &Mixture, corpus: &Corpus) -> Vec<f64> {
    let joint = |doc: usize, component: usize| {
        let terms = mixture.component(component).iter().enumerate().map(|(token, p)| {
            if corpus.tokens(doc).contains(&(token as u32)) { p.ln() } else { (-p).ln_1p() }
        });
        mixture.shares[component].ln() + terms.sum::<f64>()
    };
    let log_p = |doc| {
        let joints: Vec<f64> = (0..mixture.n_components()).map(|component| joint(doc, component)).collect();
        log_sum_exp(joints)
    };
    (0..corpus.n_docs()).map(log_p).collect()
}

fn assert_sound(mixture: &Mixture) {
    assert!((mixture.shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{:?}", mixture.shares);
    assert!(mixture.shares.iter().all(|&share| share > 0.5 * DEAD), "{:?}", mixture.shares);
    assert!(mixture.p.iter().all(|&p| p > 0.0 && p < 1.0));
    assert!(mixture.log_likelihood.is_finite() && mixture.course.iter().all(|value| value.is_finite()));
}

#[test]
fn no_iteration_lowers_what_em_climbs() {
    let corpus = noise(700, 30);
    let options = MixtureOptions { tolerance: 0.0, ..of(12) };
    let mixture = fit(&corpus, 30, &options, &Monitor::default()).unwrap();
    assert!(mixture.course.len() > 10, "{:?}", mixture.course);
    for pair in mixture.course.windows(2) {
        // Shares below 1e-4 are dropped: an iteration may lose as much, but not more.
        assert!(pair[1] > pair[0] - 1e-4, "{:?}", mixture.course);
    }
    assert!(mixture.course.last().unwrap() > &(mixture.course[0] + 0.1));
}

#[test]
fn the_likelihood_is_that_of_plain_arithmetic() {
    // Few tokens, so that many documents are identical and count several times.
    for (corpus, n_tokens) in [(noise(300, 40), 40), (two_kinds(3000), 10)] {
        let mixture = fit(&corpus, n_tokens, &of(9), &Monitor::default()).unwrap();
        let plain = log_likelihoods(&mixture, &corpus).iter().sum::<f64>() / corpus.n_docs() as f64;
        assert!((mixture.log_likelihood - plain).abs() < 1e-5, "{} is not {plain}", mixture.log_likelihood);
    }
}

#[test]
fn two_kinds_of_documents_are_recovered() {
    let mixture = fit(&two_kinds(4000), 10, &of(2), &Monitor::default()).unwrap();
    let first = usize::from(mixture.shares[1] > mixture.shares[0]);
    assert!((mixture.shares[first] - 0.7).abs() < 0.02, "{:?}", mixture.shares);
    for (component, own) in [(first, 0..5), (1 - first, 5..10)] {
        for (token, &p) in mixture.component(component).iter().enumerate() {
            let truth = if own.contains(&token) { 0.8 } else { 0.05 };
            assert!((p - truth).abs() < 0.04, "token {token} of component {component}: {p}, not {truth}");
        }
    }
}

#[test]
fn the_number_of_threads_does_not_matter_and_the_seed_does() {
    let corpus = noise(5000, 25);
    let run = |n_threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        let options = MixtureOptions { iterations: 5, seed, ..of(20) };
        pool.install(|| fit(&corpus, 25, &options, &Monitor::default()).unwrap())
    };
    let one = run(1, 0);
    assert!(one == run(2, 0) && one == run(5, 0));
    assert!(one != run(1, 1));
}

#[test]
fn empty_documents_and_tokens_that_never_occur_do_no_harm() {
    let docs = (0..600u32).map(|doc| if doc % 2 == 0 { vec![] } else { vec![doc % 3, 3] });
    let corpus = Corpus::from_tokens(docs);
    let mixture = fit(&corpus, 7, &of(4), &Monitor::default()).unwrap();
    assert_sound(&mixture);
    for component in 0..4 {
        assert!(mixture.component(component)[4..].iter().all(|&p| p < 1e-9));
    }
    assert!(
        mixture.log_likelihood > 1.05 * 0.5 * (0.5f64.ln() * 2.0 - 3f64.ln()),
        "{}",
        mixture.log_likelihood
    );
    // Nothing but empty documents.
    assert_sound(&fit(&Corpus::from_tokens(vec![vec![]; 5]), 3, &of(2), &Monitor::default()).unwrap());
}

#[test]
fn there_may_be_more_components_than_documents() {
    let corpus = Corpus::from_tokens([vec![0, 1], vec![1, 2], vec![3]]);
    let mixture = fit(&corpus, 4, &of(50), &Monitor::default()).unwrap();
    assert_sound(&mixture);
    // Equal components would make topics that stay equal.
    let differ = |one: usize, other: usize| mixture.component(one) != mixture.component(other);
    assert!((0..50).all(|one| (0..one).all(|other| differ(one, other))));
}

#[test]
fn dead_components_begin_anew_at_a_document() {
    let corpus = two_kinds(100);
    let names: Vec<String> = (0..10).map(|token| token.to_string()).collect();
    let (alignment, all): (_, Vec<u32>) = (align(&corpus, &names), (0..100).collect());
    let monitor = Monitor::default();
    let data = Data::new(alignment.docs(&corpus), &all, 10, &monitor);
    let mut mixture = fit(&corpus, 10, &of(3), &monitor).unwrap();
    assert!(!data.renew(&mut mixture, &mut rng(0, Stream::Mixture)));
    let before = mixture.clone();
    mixture.shares = vec![0.6, 0.4, 0.0];
    assert!(data.renew(&mut mixture, &mut rng(0, Stream::Mixture)));
    assert_sound(&mixture);
    assert_eq!(mixture.component(0), before.component(0));
    assert_ne!(mixture.component(2), before.component(2));
    let likely: Vec<u32> = (0..10).filter(|&token| mixture.component(2)[token as usize] > 0.6).collect();
    assert!((0..100).any(|doc| corpus.tokens(doc) == likely), "{likely:?} is no document");
}

#[test]
fn it_counts_documents_and_stops_when_told_to() {
    let (corpus, monitor) = (two_kinds(3000), Monitor::default());
    let options = MixtureOptions { iterations: 3, tolerance: 0.0, ..of(3) };
    let mixture = fit(&corpus, 10, &options, &monitor).unwrap();
    assert_eq!(mixture.course.len(), 4);
    assert_eq!(monitor.docs_done.load(Ordering::Relaxed), mixture_work(3000, &options));
    monitor.stop.store(true, Ordering::Relaxed);
    assert!(matches!(fit(&corpus, 10, &options, &monitor), Err(Error::Interrupted)));
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let corpus = two_kinds(10);
    for (corpus, options) in [
        (&corpus, of(0)),
        (&corpus, MixtureOptions { smoothing: Some(0.0), ..of(2) }),
        (&corpus, MixtureOptions { smoothing: Some(f64::NAN), ..of(2) }),
        (&Corpus::default(), of(2)),
    ] {
        assert!(matches!(fit(corpus, 10, &options, &Monitor::default()), Err(Error::Usage(_))));
    }
}

/// Two topics linked to three tokens, a third above both.
fn graph(edges: &[(u32, u32)]) -> Graph {
    Graph::build(3, 3, edges, &|node| node.to_string()).unwrap().0
}

const COMPLETE: [(u32, u32); 8] = [(0, 1), (0, 2), (1, 3), (2, 3), (1, 4), (2, 4), (1, 5), (2, 5)];

#[test]
fn with_one_topic_on_tokens_are_as_likely_as_in_its_component() {
    let graph = graph(&COMPLETE);
    let mut mixture = Mixture {
        shares: vec![0.4, 0.6],
        p: vec![0.9, 0.2, 1e-12, 0.1, 0.6, 1e-12],
        frequency: vec![0.7, 0.3, 0.0],
        log_likelihood: 0.0,
        course: Vec::new(),
    };
    let mut weights = Weights { leak: vec![0.5; 6], edge: vec![0.5; 8] };
    let topics = complete_layer(&graph).unwrap();
    assert_eq!(topics, [1, 2]);
    mixture.write_weights(&graph, topics, 1e-5..=2.0, 1e-7..=20.0, &mut weights);
    let on = |topic: usize, token: usize| {
        let at = graph.parents(3 + token).iter().position(|&parent| parent as usize == topic).unwrap();
        1.0 - (-weights.leak[3 + token] - weights.edge[graph.edges_into(3 + token)][at]).exp()
    };
    for (topic, token, p) in [(1, 1, 0.2), (2, 0, 0.1), (2, 1, 0.6)] {
        assert!((on(topic, token) - p).abs() < 1e-6, "{topic} {token}: {}, not {p}", on(topic, token));
    }
    // The cap is kept to, and what never occurs is at the floor.
    assert_eq!(weights.edge[graph.edges_into(3)][0], 2.0);
    assert!(weights.edge[graph.edges_into(5)].iter().all(|&w| w == f64::from(1e-3f32)));
    assert_eq!(weights.leak[5], f64::from(1e-7f32));
    for (topic, share) in [(1, 0.4), (2, 0.6)] {
        assert!((1.0 - (-weights.leak[topic]).exp() - share).abs() < 1e-6);
    }
    // Leaks have 0.9 of what tokens are in the median document, and no more than half of their frequency.
    assert!((1.0 - (-weights.leak[3]).exp() - 0.09).abs() < 1e-6);
    assert!((1.0 - (-weights.leak[4]).exp() - 0.15).abs() < 1e-6);
    // The rest is not touched.
    assert_eq!((weights.leak[0], &weights.edge[..2]), (0.5, &[0.5, 0.5][..]));
    // An edge that would be below zero is small instead.
    mixture.shares = vec![0.6, 0.4];
    mixture.write_weights(&graph, topics, 1e-5..=2.0, 1e-7..=20.0, &mut weights);
    assert!((1.0 - (-weights.leak[3]).exp() - 0.35).abs() < 1e-6);
    assert_eq!(weights.edge[graph.edges_into(3)][1], f64::from(1e-3f32));
}

#[test]
fn only_complete_layers_have_such_weights() {
    let without = |edge: usize| {
        let mut edges = COMPLETE.to_vec();
        edges.remove(edge);
        edges
    };
    let across = COMPLETE.iter().copied().chain((3..6).map(|token| (0, token))).collect();
    for edges in [without(3), without(7), across] {
        let error = complete_layer(&graph(&edges)).unwrap_err().to_string();
        assert!(
            error.contains("every token") && error.contains("`parents` all") && error.contains("`init` data")
        );
    }
}

#[test]
fn smoothing_is_chosen_by_documents_held_out() {
    let chosen = |corpus: &Corpus, n_tokens: usize| {
        let with = |smoothing| {
            fit(corpus, n_tokens, &MixtureOptions { smoothing, ..of(30) }, &Monitor::default()).unwrap()
        };
        let mixture = with(None);
        [1.0, 4.0, 16.0, 64.0].into_iter().find(|&smoothing| with(Some(smoothing)) == mixture)
    };
    // There is nothing to find in noise; two kinds of document without noise need no smoothing.
    assert_eq!(chosen(&noise(300, 30), 30), Some(64.0));
    let plain =
        Corpus::from_tokens((0..900).map(|doc| if doc % 3 == 0 { vec![0, 1, 2] } else { vec![3, 4] }));
    assert_eq!(chosen(&plain, 5), Some(1.0));
    // Too few documents to hold any out.
    assert_eq!(chosen(&Corpus::from_tokens([vec![0], vec![1]]), 2), Some(1.0));
}
