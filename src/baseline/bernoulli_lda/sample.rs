//! The likelihood of a document by importance sampling of theta; given theta, every z sums out:
//!
//! ```text
//! p(y) = E_{theta ~ Dir(alpha)} prod_v sum_k theta_k p_kv(y_v)
//! ```
//!
//! Proposals are Dir(0.3 gamma + 0.05), Dir(alpha) and Dir(1) in turn. A weight is that of the equal mixture of the three, so the mean
//! weight is unbiased for p(y), whatever gamma is.

use super::BernoulliLda;
use crate::baseline::topics::Membership;
use crate::corpus::Docs;
use crate::gamma::ln_gamma;
use crate::likelihood::mean_of_weights;
use crate::numeric::f64::log_sum_exp;
use crate::rng::{Stream, rng};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Factors of a likelihood that are multiplied before a logarithm is taken: each is 1e-6 at least.
const AT_ONCE: usize = 32;
/// Every proposal has as many draws: only then weights against their equal mixture are unbiased.
const PROPOSALS: usize = 3;

impl BernoulliLda {
    /// log p of each of these documents by so many draws (rounded up to a multiple of three), and its standard error. p is unbiased; its logarithm is lower
    /// in the mean, by about half the squared error. The call uses one thread; an estimate depends on its document's number alone.
    pub fn estimate(&self, docs: &Docs<'_>, doc_ixs: &[u32], draws: usize, seed: u64) -> Vec<(f64, f64)> {
        let mut document = Membership::default();
        let estimate = |&doc_ix: &u32| {
            self.infer(docs, doc_ix, &mut document);
            let narrow: Vec<f64> = document.gamma().iter().map(|gamma| 0.3 * gamma + 0.05).collect();
            let proposals = [narrow, self.alpha.clone(), vec![1.0; self.alpha.len()]];
            let constants = proposals.each_ref().map(|a| log_constant(a));
            let mut random = rng(seed, Stream::Theta(u64::from(doc_ix)));
            let weight = |draw: usize| {
                let log_theta = log_dirichlet(&proposals[draw % 3], &mut random);
                let density = |at: usize| constants[at] + log_kernel(&proposals[at], &log_theta);
                let mixture = log_sum_exp((0..3).map(density)) - 3f64.ln();
                let theta: Vec<f64> = log_theta.iter().map(|log| log.exp()).collect();
                document.log_likelihood(&theta, AT_ONCE) + density(1) - mixture
            };
            let weights: Vec<f64> =
                (0..draws.next_multiple_of(PROPOSALS).max(PROPOSALS)).map(weight).collect();
            let mean = mean_of_weights(&weights);
            (mean.log, mean.se)
        };
        doc_ixs.iter().map(estimate).collect()
    }
}

/// log of the Dirichlet distribution's constant.
fn log_constant(a: &[f64]) -> f64 {
    ln_gamma(a.iter().sum()) - a.iter().map(|&a| ln_gamma(a)).sum::<f64>()
}

fn log_kernel(a: &[f64], log_theta: &[f64]) -> f64 {
    a.iter().zip(log_theta).map(|(a, log)| (a - 1.0) * log).sum()
}

/// The logarithms of a draw from Dir(a): gamma variates over their sum.
fn log_dirichlet(a: &[f64], random: &mut ChaCha8Rng) -> Vec<f64> {
    let mut logs: Vec<f64> = a.iter().map(|&a| log_gamma_variate(a, random)).collect();
    let sum = log_sum_exp(logs.iter().copied());
    logs.iter_mut().for_each(|log| *log -= sum);
    logs
}

/// The logarithm of a draw from Gamma(a, 1): Marsaglia and Tsang's method for a + 1, times u^(1/a). In logarithms, because a small a
/// gives numbers that f64 has not.
fn log_gamma_variate(a: f64, random: &mut ChaCha8Rng) -> f64 {
    let d = a + 1.0 - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    let log_large = loop {
        let x = normal(random);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && uniform(random).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            break (d * v).ln();
        }
    };
    log_large + uniform(random).ln() / a
}

/// By Box and Muller.
fn normal(random: &mut ChaCha8Rng) -> f64 {
    (-2.0 * uniform(random).ln()).sqrt() * (std::f64::consts::TAU * uniform(random)).cos()
}

/// In (0, 1].
fn uniform(random: &mut ChaCha8Rng) -> f64 {
    1.0 - random.random::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moments of log Gamma(a) are psi(a) and psi'(a); five standard errors.
    #[test]
    fn gamma_variates_have_the_moments_of_theirs() {
        use crate::gamma::{digamma, trigamma};
        let mut random = rng(0, Stream::Theta(0));
        for a in [0.05, 0.7, 1.0, 6.5] {
            let n = 40_000;
            let draws: Vec<f64> = (0..n).map(|_| log_gamma_variate(a, &mut random)).collect();
            let mean = draws.iter().sum::<f64>() / f64::from(n);
            let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n);
            assert!((mean - digamma(a)).abs() < 5.0 * (trigamma(a) / f64::from(n)).sqrt(), "{a}: {mean}");
            // The kurtosis is below 9: the variance's relative error is below sqrt(8 / n).
            assert!(
                (variance / trigamma(a) - 1.0).abs() < 5.0 * (8.0 / f64::from(n)).sqrt(),
                "{a}: {variance}"
            );
        }
    }
}
