//! The large-deviation bounds of Kearns & Saul (1998).
//!
//! The input of a finding exceeds its mean by `e_i` with probability at most `delta_i = exp(-e_i^2 / s_i)`,
//! `s_i = sum_j w_ij^2 phi(rho_j)`, `phi = (1 - 2 rho) / log((1 - rho) / rho)`. With `D = sum_i delta_i` and `F(a) = prod_i (1 - exp(-a_i))`,
//!
//! ```text
//! F(mu - e) (1 - D)  <=  E F  <=  F(mu + e) + D (1 - F(mu + e)).
//! ```

use super::minimise::minimise;
use super::two_layer::Problem;
use crate::numeric::f64::{log_sum_exp, log1mexp, log1mexp_slope};

/// Bounds of `log p(y)`; the lower one is minus infinity where it says nothing. `tails` is 1, or 2 for the two-sided tails that the paper
/// has.
pub fn kearns_saul(problem: &Problem, tails: f64) -> (f64, f64) {
    let phi = |logit: f64| if logit.abs() < 1e-5 { 0.5 } else { (logit / 2.0).tanh() / logit };
    let rho = problem.rho();
    let sum = |i: usize, of: &dyn Fn(usize, f64) -> f64| -> f64 {
        problem.causes[i].iter().map(|&(j, w)| of(j, w)).sum()
    };
    let m = problem.n_findings();
    let mean: Vec<f64> = (0..m).map(|i| problem.leak[i] + sum(i, &|j, w| w * rho[j])).collect();
    let spread: Vec<f64> = (0..m).map(|i| sum(i, &|j, w| w * w * phi(problem.logit[j])).sqrt()).collect();
    let tail = |t: f64, spread: f64| if spread > 0.0 { tails * (-t * t).exp() } else { 0.0 };
    // Variables are log t_i, e_i = t_i sqrt(s_i).
    let upper = |u: &[f64], gradient: &mut [f64]| {
        let t: Vec<f64> = u.iter().map(|u| u.exp()).collect();
        let log_product: f64 = (0..m).map(|i| log1mexp(mean[i] + t[i] * spread[i])).sum();
        let d: f64 = (0..m).map(|i| tail(t[i], spread[i])).sum();
        // Relative to the bound, whose terms may underflow.
        let log_value = log_sum_exp([log_product, d.ln() + log1mexp(-log_product)]);
        let (product, rest) = ((log_product - log_value).exp(), log1mexp(-log_product));
        for i in 0..m {
            let tail = if spread[i] > 0.0 { tails * (rest - t[i] * t[i] - log_value).exp() } else { 0.0 };
            let slope = product * (1.0 - d) * log1mexp_slope(mean[i] + t[i] * spread[i]) * spread[i];
            gradient[i] = t[i] * (slope - 2.0 * t[i] * tail);
        }
        log_value
    };
    let lower = |u: &[f64], gradient: &mut [f64]| {
        let t: Vec<f64> = u.iter().map(|u| u.exp()).collect();
        let d: f64 = (0..m).map(|i| tail(t[i], spread[i])).sum();
        if d >= 1.0 || (0..m).any(|i| t[i] * spread[i] >= mean[i]) {
            return f64::INFINITY;
        }
        for i in 0..m {
            let slope = log1mexp_slope(mean[i] - t[i] * spread[i]) * spread[i]
                - 2.0 * t[i] * tail(t[i], spread[i]) / (1.0 - d);
            gradient[i] = t[i] * slope;
        }
        -((-d).ln_1p() + (0..m).map(|i| log1mexp(mean[i] - t[i] * spread[i])).sum::<f64>())
    };
    let starts = [0.8f64, 1.2, 1.6, 2.0, 2.5, 3.0, 4.0, 6.0];
    let from = |f: &dyn Fn(&[f64], &mut [f64]) -> f64| {
        let run = |t: &f64| minimise(&mut vec![t.ln(); m], 400, f);
        starts.iter().map(run).fold(f64::INFINITY, f64::min)
    };
    // Bounds of a probability: at most one.
    (problem.constant - from(&lower), problem.constant + from(&upper).min(0.0))
}
