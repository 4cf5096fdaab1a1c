//! Gradients against finite differences.

use super::*;

/// d value / d log w by central differences.
fn log_slope(
    weights: &Weights,
    pick: impl Fn(&mut Weights) -> &mut f64,
    value: impl Fn(&Weights) -> f64,
) -> f64 {
    const STEP: f64 = 1e-4;
    let at = |sign: f64| {
        let mut weights = weights.clone();
        *pick(&mut weights) *= (sign * STEP).exp();
        value(&weights)
    };
    (at(1.0) - at(-1.0)) / (2.0 * STEP)
}

#[test]
fn sums_are_the_slope_of_the_bound() {
    for (seed, network, docs) in random_cases(200, 12, 15) {
        let Held { network, points } = held(seed, network, docs);
        let (graph, weights) = (&network.graph, &network.weights);
        for (tokens, point) in &points {
            let sums = oracle(&network, tokens).sums(point);
            let bound = |weights: &Weights| Oracle { graph, weights, tokens }.elbo(point);
            for (edge, &parent) in graph.edge_parents().iter().enumerate() {
                let gradient = sums.edge[edge] - sums.topic_q[parent as usize];
                let slope = log_slope(weights, |w| &mut w.edge[edge], bound);
                assert_close(
                    &format!("seed {seed} edge {edge}"),
                    weights.edge[edge] * gradient,
                    slope,
                    DIFFERENCE,
                );
            }
            for node in 0..graph.n_nodes() {
                let gradient = sums.leak[node] - 1.0;
                let slope = log_slope(weights, |w| &mut w.leak[node], bound);
                assert_close(
                    &format!("seed {seed} leak {node}"),
                    weights.leak[node] * gradient,
                    slope,
                    DIFFERENCE,
                );
            }
        }
    }
}

#[test]
fn the_tails_sums_are_the_slope_of_the_tail() {
    for (seed, network, docs) in random_cases(200, 12, 15) {
        let held = held(seed, network, docs);
        let (graph, weights, n_outside) = (&held.network.graph, &held.network.weights, held.n_outside());
        let tail = |weights: &Weights| -> f64 {
            let per_doc = |(tokens, _): &(Vec<u32>, Point)| {
                let oracle = Oracle { graph, weights, tokens };
                oracle.tail(&oracle.local_topics())
            };
            held.points.iter().map(per_doc).sum()
        };
        let mut stats = Stats::new(graph, true);
        stats.n_docs = held.points.len() as f64;
        stats.topic_docs = n_outside.iter().map(|n| stats.n_docs - n).collect();
        let stats = stats.with_tail(&derive(&held.network));
        assert!(
            stats.edge.iter().all(|&sum| sum == 0.0)
                && stats.leak[graph.n_topics()..].iter().all(|&sum| sum == 0.0)
        );
        for (edge, &parent) in graph.edge_parents().iter().enumerate() {
            let slope = log_slope(weights, |w| &mut w.edge[edge], tail);
            let got = -weights.edge[edge] * stats.topic_q[parent as usize];
            assert_close(&format!("seed {seed} edge {edge}"), got, slope, DIFFERENCE);
        }
        for topic in 0..graph.n_topics() {
            let slope = log_slope(weights, |w| &mut w.leak[topic], tail);
            let got = weights.leak[topic] * stats.leak[topic];
            assert_close(&format!("seed {seed} leak {topic}"), got, slope, DIFFERENCE);
        }
    }
}
