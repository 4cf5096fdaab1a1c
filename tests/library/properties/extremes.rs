//! Extreme weights.

use super::*;

/// One token of every in-degree from 1 to 40, topics over topics, weights over their whole range.
pub(super) fn extreme_network(seed: u64) -> Network {
    const TOPICS: u32 = 40;
    let rng = &mut rng(seed);
    let log_uniform = |rng: &mut ChaCha8Rng, lo: f64, hi: f64| lo * (hi / lo).powf(rng.random());
    // Some networks have all weights or leaks near one end.
    let (lo, hi) = [(1e-5, 20.0), (1e-5, 1e-4), (5.0, 20.0), (1e-5, 20.0)][seed as usize % 4];
    let (leak_lo, leak_hi) = [(1e-7, 20.0), (1e-7, 1e-6), (5.0, 20.0)][seed as usize % 3];
    let mut edges = Vec::new();
    for child in 1..2 * TOPICS {
        let degree = if child < TOPICS { child.min(4) } else { child - TOPICS + 1 };
        for parent in rand::seq::index::sample(rng, child.min(TOPICS) as usize, degree as usize) {
            edges.push((parent as u32, child, log_uniform(rng, lo, hi)));
        }
    }
    let leak = (0..2 * TOPICS).map(|_| log_uniform(rng, leak_lo, leak_hi)).collect();
    let mut network = network_of(TOPICS as usize, TOPICS as usize, &edges, leak);
    network.weights.round_to_f32();
    network
}

#[test]
fn extreme_weights_give_numbers() {
    for seed in 0..100 {
        let network = extreme_network(seed);
        let docs = random_docs(&network, seed, 4);
        for bound in [Bound::Tail, Bound::Full] {
            for options in [EStepOptions { bound, ..EStepOptions::default() }, EStepOptions::paper(bound)] {
                let ran = run_docs(&network, &docs, &options);
                let Stats { edge, leak, topic_q, .. } = &ran.stats;
                let numbers = edge.iter().chain(leak).chain(topic_q).chain(&ran.elbo);
                assert!(numbers.into_iter().all(|number| number.is_finite()), "seed {seed} {bound}");
                assert!(ran.q.iter().flatten().all(|q| (0.0..=1.0).contains(q)), "seed {seed} {bound}");
            }
        }
    }
}

#[test]
fn extreme_weights_give_the_oracles_bound_and_sums() {
    for seed in 0..100 {
        let network = extreme_network(seed);
        let docs = random_docs(&network, seed, 4);
        let (corpus, alignment) = corpus_of(&network, docs.clone());
        for bound in [Bound::Tail, Bound::Full] {
            let params = Params::derive(&network.graph, &network.weights, bound).unwrap();
            for (doc, tokens) in docs.iter().enumerate() {
                let name = format!("seed {seed} doc {doc} {bound}");
                let mut probe =
                    Probe::new(&network.graph, &alignment.docs(&corpus), doc as u32, bound, &params);
                alternate(&mut probe, 30);
                let shares = probe.r();
                assert!(shares.iter().all(|(_, r)| (0.0..=1.0 + F32_SUMS as f32).contains(r)), "{name}");
                assert_oracle(&name, &probe, &network, tokens, bound);
            }
        }
    }
}
