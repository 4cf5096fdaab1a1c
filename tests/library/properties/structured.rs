//! The structured bound: a mixture of pieces with clamped topics.

use super::*;

fn clamped(clamp: u32, bound: Bound) -> EStepOptions {
    EStepOptions { clamp, bound, ..EStepOptions::default() }
}

#[test]
fn it_lies_between_mean_field_and_the_likelihood_and_closes_most_of_the_gap() {
    let (mut gap, mut gap_clamped) = (0.0, 0.0);
    for (seed, network, docs) in random_cases(150, 8, 12) {
        let exact = likelihood(&network, &docs);
        for bound in [Bound::Local, Bound::Tail, Bound::Full] {
            let bounds = [0, 1, 3, 8].map(|n| run_docs(&network, &docs, &clamped(n, bound)).elbo);
            for (doc, &exact) in exact.iter().enumerate() {
                let rounding = F32_BOUND * (1.0 + exact.abs());
                for pair in bounds.windows(2) {
                    let (less, more) = (pair[0][doc], pair[1][doc]);
                    assert!(more <= exact + rounding, "seed {seed} doc {doc} {bound}: {more} above {exact}");
                    assert!(more >= less - rounding, "seed {seed} doc {doc} {bound}: {less} fell to {more}");
                }
                if bound == Bound::Full {
                    gap += exact - bounds[0][doc];
                    gap_clamped += exact - bounds[3][doc];
                }
            }
        }
    }
    println!("gap to the likelihood: {gap:.2} nats in all, {gap_clamped:.2} with up to 8 topics clamped");
    assert!(gap_clamped < 0.3 * gap, "{gap_clamped} of {gap}");
}

#[test]
fn its_q_are_nearer_the_posterior() {
    let (mut error, mut error_clamped) = (0.0, 0.0);
    for (_, network, docs) in random_cases(60, 6, 10) {
        let plain = run_docs(&network, &docs, &clamped(0, Bound::Full)).q;
        let mixture = run_docs(&network, &docs, &clamped(6, Bound::Full)).q;
        for (doc, tokens) in docs.iter().enumerate() {
            for (topic, p) in posterior(&network, tokens).into_iter().enumerate() {
                assert!((0.0..=1.0 + 1e-5).contains(&mixture[doc][topic]));
                error += (f64::from(plain[doc][topic]) - p).abs();
                error_clamped += (f64::from(mixture[doc][topic]) - p).abs();
            }
        }
    }
    println!("sum of |q - p|: mean field {error:.2}, structured {error_clamped:.2}");
    assert!(error_clamped < 0.5 * error, "{error_clamped} of {error}");
}

/// At the end of an E-step the bound does not depend on q, r and the pieces' weights to first order, so its slope in the weights is what the
/// gradient sums say.
#[test]
fn the_mixtures_sums_are_the_slope_of_its_bound() {
    const STEP: f64 = 2e-3;
    let options = EStepOptions { max_alternations: 2_000, tolerance: 1e-6, ..clamped(3, Bound::Local) };
    let (mut n_split, mut n_compared) = (0, 0);
    for (seed, network, docs) in random_cases(40, 5, 8) {
        let ran = run_docs(&network, &docs, &options);
        let whole = run_docs(&network, &docs, &EStepOptions { clamp: 0, ..options.clone() });
        n_split += ran.elbo.iter().zip(&whole.elbo).filter(|(split, whole)| **split > **whole + 1e-3).count();
        for (edge, &parent) in network.graph.edge_parents().iter().enumerate() {
            let gradient =
                network.weights.edge[edge] * (ran.stats.edge[edge] - ran.stats.topic_q[parent as usize]);
            let at = |sign: f64| {
                let mut moved = network.clone();
                moved.weights.edge[edge] *= (sign * STEP).exp();
                run_docs(&moved, &docs, &options).stats.elbo_sum
            };
            let (up, down) = (at(1.0), at(-1.0));
            // A step that changes which splits are made, or into which optimum a piece falls, is no slope.
            let bend = (up + down - 2.0 * ran.stats.elbo_sum).abs() / STEP;
            if bend < STRUCTURED_SLOPE {
                let slope = (up - down) / (2.0 * STEP);
                assert!(
                    (slope - gradient).abs() < STRUCTURED_SLOPE * (1.0 + slope.abs()),
                    "seed {seed} edge {edge}: {slope}, sums {gradient}"
                );
                n_compared += 1;
            } else {
                println!("seed {seed} edge {edge}: the bound bends by {bend:.3}");
            }
        }
    }
    println!("{n_split} documents were split, {n_compared} slopes compared");
    assert!(n_split > 20 && n_compared > 300, "{n_split} documents split, {n_compared} slopes");
}
