//! Errors of the likelihood against the number of topics N: complete networks, weights uniform in [0, 2/N], priors in [0, 1], no leaks.

use noisyor::Monitor;
use noisyor::posterior::Watch;
use noisyor::posterior::kearns_saul::kearns_saul;
use noisyor::posterior::mean_field::mean_field;
use noisyor::posterior::two_layer::Problem;
use noisyor::posterior::upper::upper;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

const SIZES: [usize; 7] = [10, 20, 50, 100, 200, 500, 1000];
const METHODS: [&str; 7] = ["MF(0)", "MF(1)", "MF(2)", "MF(3)", "JJ", "KS upper", "KS lower"];

/// Mean absolute errors over so many networks of each size.
pub fn print(n_networks: usize) {
    println!("findings\ttopics\t{}", METHODS.join("\t"));
    for n_findings in [1, 5] {
        for n_topics in SIZES {
            let key = |network: usize| (n_findings * 10_000 + n_topics) as u64 * 1_000_000 + network as u64;
            let errors: Vec<[f64; METHODS.len()]> = (0..n_networks)
                .into_par_iter()
                .map(|network| errors(&complete(n_topics, n_findings, key(network))))
                .collect();
            let mean = |at: usize| errors.iter().map(|of| of[at]).sum::<f64>() / n_networks as f64;
            let means: Vec<String> = (0..METHODS.len()).map(|at| format!("{:.4e}", mean(at))).collect();
            println!("{n_findings}\t{n_topics}\t{}", means.join("\t"));
        }
    }
}

/// All findings are present.
fn complete(n_topics: usize, n_findings: usize, seed: u64) -> Problem {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let logit = (0..n_topics).map(|_| {
        let prior: f64 = rng.random();
        prior.ln() - (-prior).ln_1p()
    });
    let logit = logit.collect();
    let effects = (0..n_topics)
        .map(|_| (0..n_findings).map(|i| (i, 2.0 / n_topics as f64 * rng.random::<f64>())).collect());
    let effects = effects.collect();
    Problem::new(0.0, logit, vec![0.0; n_findings], effects)
}

/// Of each method.
fn errors(problem: &Problem) -> [f64; METHODS.len()] {
    let monitor = Monitor::default();
    let limits = (22, &Watch::new(&monitor, None));
    let exact = problem.exact(limits.0, limits.1).expect("no interruption").expect("an answer").log_p.exp();
    let error = |value: f64| (value - exact).abs();
    let by_mean_field = |order: u8| {
        let found = mean_field(problem, order);
        error(found.log_first.exp() * found.factor)
    };
    let none_exact = vec![false; problem.n_findings()];
    let jj = upper(problem, &none_exact, None, limits).expect("no interruption").expect("an answer");
    let (ks_lower, ks_upper) = kearns_saul(problem, 1.0);
    [
        by_mean_field(0),
        by_mean_field(1),
        by_mean_field(2),
        by_mean_field(3),
        error(jj.bound.log_p.exp()),
        error(ks_upper.exp()),
        error(ks_lower.exp()),
    ]
}
