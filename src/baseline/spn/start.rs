//! Where passes begin: priors, and weights from the structure's counts or at random.

use super::fit::State;
use super::learn::Learned;
use super::options::{Fit, PriorMean, SpnOptions, Start};
use super::params::{em_step, means};
use super::structure::{Kind, Structure};
use crate::rng::{Stream, rng};
use rand::RngExt;

/// Rows that are added to each count of the structure.
const STRUCTURE_SMOOTHING: f64 = 0.1;

/// The state before the first pass. `frequency` is the share of training rows with each token.
pub(super) fn start(learned: &Learned, options: &SpnOptions, frequency: &[f64], seed: u64) -> State {
    let structure = &learned.structure;
    let uniform = means(structure, &vec![1.0; structure.n_params()]);
    let own = em_step(structure, &uniform, &learned.counts, STRUCTURE_SMOOTHING);
    let random = || {
        let mut rng = rng(seed, Stream::SpnStart);
        let draws: Vec<f64> =
            (0..structure.n_params()).map(|_| 1e-3 - (1.0 - rng.random::<f64>()).ln()).collect();
        means(structure, &draws)
    };
    let weights = || if options.start() == Start::Random { random() } else { own.clone() };
    let mut alpha = Vec::new();
    if options.fit.is_bayesian() {
        let mean = match options.prior_mean {
            PriorMean::Structure => own.clone(),
            PriorMean::Frequency => of_frequency(structure, &uniform, frequency),
        };
        alpha = mean.iter().map(|w| (options.prior * w).max(options.prior_floor)).collect();
    }
    let params = match (options.fit, options.start()) {
        (Fit::Em | Fit::Mle, _) => weights(),
        // Before any document, the posterior is the prior.
        (Fit::Stream, Start::Structure) => alpha.clone(),
        (_, Start::Structure) => alpha.iter().zip(&learned.counts).map(|(a, n)| a + n).collect(),
        (_, Start::Random) => {
            let floor = options.surrogate.floor();
            random().iter().map(|w| (options.prior * w).max(floor)).collect()
        }
    };
    State { params, alpha, step: 0.0, last: None, n_steps: 0 }
}

/// Leaves as frequent as their tokens, sums as given.
fn of_frequency(structure: &Structure, sums: &[f64], frequency: &[f64]) -> Vec<f64> {
    let mut mean = sums.to_vec();
    for node in 0..structure.n_nodes() {
        if let Kind::Leaf(token) = structure.kind(node) {
            let p = frequency[token as usize];
            mean[structure.params(node)].copy_from_slice(&[1.0 - p, p]);
        }
    }
    mean
}
