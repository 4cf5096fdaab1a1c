//! Bounds.

use super::*;

#[test]
fn fast_bounds_stay_below_the_likelihood_at_every_schedule() {
    for (seed, network, docs) in random_cases(250, 10, 12) {
        let exact = likelihood(&network, &docs);
        let tempered = EStepOptions { start: Start::Tempered(Temper::default()), ..EStepOptions::default() };
        for (name, options) in [
            ("default", EStepOptions::default()),
            ("paper", EStepOptions::paper(Bound::Tail)),
            ("tempered", tempered),
            ("plain", EStepOptions { start: Start::Plain, ..EStepOptions::default() }),
            ("best", EStepOptions { start: Start::Best, ..EStepOptions::default() }),
            ("cut short", EStepOptions { max_alternations: 2, ..EStepOptions::default() }),
        ] {
            let run = |bound| run_docs(&network, &docs, &EStepOptions { bound, ..options.clone() }).elbo;
            let (local, tail, full) = (run(Bound::Local), run(Bound::Tail), run(Bound::Full));
            for (doc, &exact) in exact.iter().enumerate() {
                let rounding = F32_BOUND * (1.0 + exact.abs());
                let most = local[doc].max(tail[doc]).max(full[doc]);
                assert!(most <= exact + rounding, "seed {seed} doc {doc} {name}: {most} above {exact}");
                assert!(local[doc] <= tail[doc] + rounding, "seed {seed} doc {doc} {name}: local above tail");
            }
        }
    }
}

#[test]
fn f64_bounds_stay_below_the_likelihood() {
    for (seed, network, docs) in random_cases(250, 10, 12) {
        for (tokens, exact) in docs.iter().zip(likelihood(&network, &docs)) {
            let oracle = oracle(&network, tokens);
            let all = vec![true; network.graph.n_topics()];
            for inside in [oracle.local_topics(), all] {
                let mut point = oracle.start(&inside);
                for _ in 0..4 {
                    let bound = oracle.elbo(&point) + oracle.tail(&inside);
                    assert!(bound <= exact + F64, "seed {seed} {tokens:?}: {bound} above {exact}");
                    assert!(oracle.tail(&inside) >= 0.0);
                    alternate_f64(&oracle, &inside, &mut point, 3);
                }
            }
        }
    }
}

#[test]
fn the_full_model_started_from_the_local_solution_ends_no_lower_than_tail() {
    for (seed, network, docs) in random_cases(200, 10, 12) {
        for tokens in &docs {
            let oracle = oracle(&network, tokens);
            let inside = oracle.local_topics();
            let mut point = oracle.start(&inside);
            alternate_f64(&oracle, &inside, &mut point, 10);
            let tail = oracle.elbo(&point) + oracle.tail(&inside);
            let params = derive(&network);
            for topic in (0..inside.len()).filter(|&topic| !inside[topic]) {
                point.q[topic] = params.tail_q[topic];
            }
            let all = vec![true; inside.len()];
            for sweeps in 0..4 {
                let full = oracle.elbo(&point);
                assert!(full >= tail - F64_UPDATE, "seed {seed} after {sweeps}: full {full}, tail {tail}");
                alternate_f64(&oracle, &all, &mut point, 1);
            }
        }
    }
}

/// A random network to which a token is added that every topic without a child causes.
fn all_ancestors(seed: u64) -> (Network, Vec<u32>) {
    let network = random_network(seed, 10, 12);
    let (graph, n_tokens) = (&network.graph, network.graph.n_tokens());
    let token = graph.n_nodes() as u32;
    let known = graph.edges().zip(&network.weights.edge).map(|((parent, child), &w)| (parent, child, w));
    let childless = (0..graph.n_topics()).filter(|&topic| graph.children(topic).is_empty());
    let edges: Vec<_> = known.chain(childless.map(|topic| (topic as u32, token, 0.7))).collect();
    let leak = network.weights.leak.iter().copied().chain([0.05]).collect();
    (network_of(graph.n_topics(), n_tokens + 1, &edges, leak), (0..=n_tokens as u32).collect())
}

#[test]
fn local_tail_and_full_agree_where_every_topic_is_an_ancestor() {
    for seed in 0..300 {
        let (network, tokens) = all_ancestors(seed);
        assert!(oracle(&network, &tokens).local_topics().iter().all(|&inside| inside));
        // A fixed number of alternations: rounding must not decide when to stop.
        let options = EStepOptions { tolerance: 0.0, max_alternations: 30, ..EStepOptions::default() };
        let run = |bound| {
            run_docs(&network, std::slice::from_ref(&tokens), &EStepOptions { bound, ..options.clone() }).elbo
        };
        let local = run(Bound::Local)[0];
        assert_close(&format!("seed {seed}: full"), run(Bound::Full)[0], local, F32_BOUND);
        assert_close(&format!("seed {seed}: tail"), run(Bound::Tail)[0], local, F32_BOUND);
    }
}
