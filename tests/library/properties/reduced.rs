//! Documents without the topics that cannot come on: the E-step of the whole document ends at the same place.

use super::*;
use noisyor::estep::cpu::CpuEStep;
use noisyor::estep::{EStep, Monitor, Work};

/// Topics of many tokens, of which a document has few: most of them cannot come on. Half have parents.
pub(super) fn wide_network(seed: u64) -> (Network, Vec<Vec<u32>>) {
    const TOPICS: u32 = 30;
    const UPPER: u32 = 6;
    const TOKENS: u32 = 90;
    let rng = &mut rng(seed);
    let mut edges = Vec::new();
    for topic in UPPER..TOPICS {
        for parent in (0..UPPER).filter(|parent| (topic + parent) % 5 == 0 && topic % 2 == 0) {
            edges.push((parent, topic, rng.random_range(0.1..2.0)));
        }
    }
    for topic in 0..TOPICS {
        let tokens = (0..TOKENS).filter(|token| (token * 7 + topic * 13) % 9 < 3);
        edges.extend(tokens.map(|token| (topic, TOPICS + token, rng.random_range(0.2..2.5))));
    }
    let leaks = [(TOPICS, 0.001..0.05), (TOKENS, 0.01..0.2)];
    let leak = leaks.into_iter().flat_map(|(n, range)| (0..n).map(move |_| range.clone()));
    let leak = leak.map(|range| rng.random_range(range)).collect();
    let network = network_of(TOPICS as usize, TOKENS as usize, &edges, leak);
    let docs = (0..20).map(|_| (0..TOKENS).filter(|_| rng.random_bool(0.12)).collect()).collect();
    (network, docs)
}

#[test]
fn topics_that_cannot_come_on_make_no_difference() {
    let (mut n_off, mut n_topics) = (0, 0);
    for seed in 0..20 {
        let (network, docs) = wide_network(seed);
        let (corpus, alignment) = corpus_of(&network, docs.clone());
        let graph = &network.graph;
        for bound in [Bound::Tail, Bound::Local] {
            let options = &EStepOptions { bound, tolerance: 1e-5, ..EStepOptions::default() };
            let params = Params::derive(graph, &network.weights, bound).unwrap();
            let (docs, monitor) = (alignment.docs(&corpus), &Monitor::default());
            for doc_ix in 0..docs.n_docs() as u32 {
                // A probe runs the whole document; without results of single documents the sums take the short way.
                let mut probe = Probe::empty(graph, bound, &params);
                probe.load(&docs, doc_ix);
                let whole = probe.solve(options);
                let items = &[Item { doc_ix, count: 1 }];
                let work = Work {
                    graph,
                    params: &params,
                    docs,
                    items,
                    options,
                    gradients: true,
                    kept_on: None,
                    monitor,
                };
                let reduced = CpuEStep::new().run(&work, None).unwrap();
                let name = format!("seed {seed} doc {doc_ix} {bound}");
                assert_close(&name, reduced.elbo_sum, whole.elbo_sum, 2e-4);
                let sums = probe.stats();
                for (at, (a, b)) in reduced.edge.iter().zip(&sums.edge).enumerate() {
                    assert_close(&format!("{name}: N {at}"), *a, *b, 1e-2);
                }
                for (at, (a, b)) in reduced.topic_q.iter().zip(&sums.topic_q).enumerate() {
                    assert_close(&format!("{name}: Q {at}"), *a, *b, 1e-2);
                    // The sum of a topic that was left out is nothing at all.
                    n_off += usize::from(*a == 0.0 && *b > 0.0);
                    n_topics += usize::from(*b > 0.0);
                }
                assert_eq!(reduced.topic_docs, sums.topic_docs, "{name}");
            }
        }
    }
    println!("{n_off} of {n_topics} topics left out");
    assert!(4 * n_off > n_topics, "{n_off} of {n_topics}");
}
