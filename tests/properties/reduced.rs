//! Documents without the topics that cannot come on: the E-step of the whole document ends at the same place.

use super::*;

/// Topics of many tokens, of which a document has few: most of them cannot come on. Half have parents.
fn wide_network(seed: u64) -> (Network, Vec<Vec<u32>>) {
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
    let (mut n_left_out, mut n_topics) = (0, 0);
    for seed in 0..20 {
        let (network, docs) = wide_network(seed);
        let (corpus, alignment) = corpus_of(&network, docs.clone());
        for bound in [Bound::Tail, Bound::Local] {
            let options = EStepOptions { bound, tolerance: 1e-5, ..EStepOptions::default() };
            let ran = run_docs(&network, &docs, &options);
            let params = Params::derive(&network.graph, &network.weights, bound).unwrap();
            let mut total = Stats::new(&network.graph, true);
            for doc in 0..docs.len() {
                // A probe runs the whole document.
                let mut probe = Probe::empty(&network.graph, bound, &params);
                probe.load(&alignment.docs(&corpus), doc as u32);
                let whole = probe.solve(&options).elbo_sum;
                let name = format!("seed {seed} doc {doc} {bound}");
                assert_close(&name, ran.elbo[doc], whole, 2e-4);
                for (topic, q) in probe.topics().into_iter().zip(probe.q()) {
                    let reduced = ran.q[doc][topic as usize];
                    assert_close(&name, f64::from(reduced), f64::from(*q), 2e-3);
                    n_left_out += usize::from(reduced < 6.2e-6);
                    n_topics += 1;
                }
                add_stats(&mut total, &Stats { elbo_sum: probe.elbo(), ..probe.stats() });
            }
            for (at, (a, b)) in ran.stats.edge.iter().zip(&total.edge).enumerate() {
                assert_close(&format!("seed {seed} {bound}: N {at}"), *a, *b, 2e-2);
            }
            assert_eq!(ran.stats.topic_docs, total.topic_docs);
        }
    }
    println!("{n_left_out} of {n_topics} topics left out");
    assert!(4 * n_left_out > n_topics, "{n_left_out} of {n_topics}");
}
