//! Where passes begin: priors, and weights from the structure's counts or at random.

use super::fit::State;
use super::learn::Learned;
use super::options::{Fit, PriorMean, SpnOptions, Start};
use super::params::{em_step, means};
use crate::rng::{Stream, rng};
use rand::RngExt;

/// Rows that are added to each count of the structure.
const STRUCTURE_SMOOTHING: f64 = 0.1;

/// The state before the first pass.
pub(super) fn start(learned: &Learned, options: &SpnOptions, seed: u64) -> State {
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
    // Dirichlet parameters with these means.
    let scaled = |means: &[f64], floor: f64| means.iter().map(|w| (options.prior * w).max(floor)).collect();
    let mut alpha: Vec<f64> = Vec::new();
    if options.fit.is_bayesian() {
        let mean = match options.prior_mean {
            PriorMean::Structure => &own,
            PriorMean::Parent => &learned.expected,
        };
        alpha = scaled(mean, options.prior_floor);
    }
    let params = match (options.fit, options.start()) {
        (Fit::Em | Fit::Mle, _) => weights(),
        // Before any document, the posterior is the prior.
        (Fit::Stream, Start::Structure) => alpha.clone(),
        (_, Start::Structure) => alpha.iter().zip(&learned.counts).map(|(a, n)| a + n).collect(),
        (_, Start::Random) => scaled(&random(), options.surrogate.floor()),
    };
    State { params, alpha, step: 0.0, last: None, n_steps: 0 }
}
