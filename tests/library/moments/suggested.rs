//! Topics that documents suggest without a graph.

#![allow(clippy::unwrap_used)]

use crate::common::network_of;
use noisyor::corpus::{Corpus, align};
use noisyor::moments::suggest;
use noisyor::synth::Sampler;
use noisyor::{Error, Monitor, Network};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Six topics of eight tokens out of 36, so that many tokens have two topics.
fn truth(seed: u64) -> Network {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let mut edges = Vec::new();
    for topic in 0..6u32 {
        for at in 0..8 {
            edges.push((topic, 6 + (6 * topic + at) % 36, rng.random_range(0.7..1.6)));
        }
    }
    let leak = (0..42).map(|node| if node < 6 { rng.random_range(0.1..0.3) } else { 0.01 }).collect();
    network_of(6, 36, &edges, leak)
}

fn sampled(network: &Network, n_docs: u64) -> Corpus {
    let sampler = Sampler::new(network);
    Corpus::from_tokens((0..n_docs).map(|doc| sampler.sample(3, doc).tokens))
}

#[test]
fn suggested_topics_are_the_true_ones() {
    let network = truth(1);
    let corpus = sampled(&network, 20_000);
    let names: Vec<String> = (0..36).map(|token| token.to_string()).collect();
    let alignment = align(&corpus, &names);
    let (docs, all) = (alignment.docs(&corpus), (0..20_000).collect::<Vec<u32>>());
    let monitor = Monitor::default();
    let run = || suggest(&docs, &all, 36, 9, &monitor).unwrap();
    let topics = run();
    assert!((6..=7).contains(&topics.len()), "{} topics", topics.len());
    let mut found = Vec::new();
    for topic in 0..6usize {
        let failure = |token: usize| {
            let node = (6 + token) as u32;
            let children = network.graph.children(topic).iter().zip(network.graph.child_edges(topic));
            let edge = children.into_iter().find(|(child, _)| **child == node);
            edge.map_or(1.0, |(_, &edge)| (-network.weights.edge[edge as usize]).exp())
        };
        let errors = topics.iter().map(|suggested| {
            (0..36).map(|token| (suggested.failures[token] - failure(token)).abs()).sum::<f64>() / 36.0
        });
        let (best, error) = errors.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        assert!(error < 0.04, "topic {topic}: {error}");
        let prior = 1.0 - (-network.weights.leak[topic]).exp();
        assert!((topics[best].prior - prior).abs() < 0.05, "topic {topic}: {} {prior}", topics[best].prior);
        found.push(best);
    }
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), 6, "each is found once");
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(alone.install(run), topics, "on any number of threads");
}

#[test]
fn documents_that_suggest_nothing() {
    let rng = &mut ChaCha8Rng::seed_from_u64(5);
    let names: Vec<String> = (0..20).map(|token| token.to_string()).collect();
    let monitor = Monitor::default();
    let of = |docs: Vec<Vec<u32>>| {
        let corpus = Corpus::from_tokens(docs);
        let alignment = align(&corpus, &names);
        let all: Vec<u32> = (0..corpus.n_docs() as u32).collect();
        suggest(&alignment.docs(&corpus), &all, 20, 4, &monitor)
    };
    let independent =
        (0..2_000).map(|_| (0..20).filter(|_| rng.random::<f64>() < 0.2).collect::<Vec<u32>>()).collect();
    assert!(of(independent).unwrap().is_empty(), "words that are independent");
    assert!(of(vec![(0..20).collect(); 50]).unwrap().is_empty(), "tokens that are always there");
    assert!(of(vec![Vec::new(); 50]).unwrap().is_empty());
    // Copies of one token: every pair is as dependent as can be.
    let copies = (0..400).map(|doc| if doc % 4 == 0 { (0..20).collect() } else { Vec::new() }).collect();
    for topic in of(copies).unwrap() {
        assert!(
            topic.prior.is_finite() && topic.failures.iter().all(|f| (0.0..=1.0).contains(f)),
            "{topic:?}"
        );
    }
    assert!(matches!(of(Vec::new()), Err(Error::Usage(_))));
}
