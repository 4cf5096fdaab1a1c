//! A lower bound by parabolas, for weak weights.
//!
//! `f''' > 0`, so `(f(a) - f(mu) - f'(mu)(a - mu)) / (a - mu)^2` grows with a and is least at `a = w0`. With `x = mu - w0` and
//! `K = (f(w0) - f(mu) + f'(mu) x) / x^2`, for all `a >= w0`: `f(a) >= f(mu) + f'(mu)(a - mu) + K (a - mu)^2`, hence
//!
//! ```text
//! log p(y) >= c + sum_i [f(mu_i) + K_i V_i] - KL(q || rho),   mu_i = w0_i + sum_j w_ij q_j,   V_i = sum_j w_ij^2 q_j (1 - q_j)
//! ```
//!
//! for any factorised q. It is tight for many weak causes, where the bound of [`lower`](super::lower) is not.

use super::minimise::minimise;
use super::two_layer::Problem;
use crate::numeric::f64::{log1mexp, log1mexp_slope, sigmoid, softplus};

/// Topics are turned round one by one where there are at most so many.
const MAX_FLIPS: usize = 40;
/// Log-odds of a topic that was turned round.
const FLIPPED: f64 = 3.0;

/// The bound at log-odds g of q, and its gradient in g.
fn bound(problem: &Problem, g: &[f64], gradient: &mut [f64]) -> f64 {
    let q: Vec<f64> = g.iter().map(|&g| sigmoid(g)).collect();
    let mut value = problem.constant;
    // Slopes in q.
    let mut slopes = vec![0.0; g.len()];
    for (&leak, causes) in problem.leak.iter().zip(&problem.causes) {
        let x: f64 = causes.iter().map(|&(topic, w)| w * q[topic]).sum();
        let v: f64 = causes.iter().map(|&(topic, w)| w * w * q[topic] * (1.0 - q[topic])).sum();
        let (f, slope) = (log1mexp(leak + x), log1mexp_slope(leak + x));
        let (k, k_slope) = if x < 1e-4 * leak.min(1.0) {
            let slope = log1mexp_slope(leak);
            (-0.5 * slope * (1.0 + slope), 0.0)
        } else {
            let k = (log1mexp(leak) - f + slope * x) / (x * x);
            (k, (-slope * (1.0 + slope) - 2.0 * k) / x)
        };
        value += f + k * v;
        for &(topic, w) in causes {
            slopes[topic] += w * (slope + k_slope * v) + (1.0 - 2.0 * q[topic]) * k * w * w;
        }
    }
    for topic in 0..g.len() {
        let logit = problem.logit[topic];
        // KL = q (g - logit) + log(1 - q) - log(1 - rho)
        value -= q[topic] * (g[topic] - logit) - softplus(g[topic]) + softplus(logit);
        gradient[topic] = q[topic] * (1.0 - q[topic]) * (slopes[topic] - (g[topic] - logit));
    }
    value
}

/// The bound at q.
pub fn quadratic_at(problem: &Problem, q: &[f64]) -> f64 {
    let g: Vec<f64> = q.iter().map(|q| q.clamp(1e-300, 1.0 - 1e-16)).map(|q| q.ln() - (-q).ln_1p()).collect();
    bound(problem, &g, &mut vec![0.0; g.len()])
}

/// The largest bound found from rho and from each of given marginals, and its q. There are local optima.
pub fn quadratic(problem: &Problem, starts: &[&[f64]]) -> (f64, Vec<f64>) {
    let log_odds = |q: &f64| {
        let q = q.clamp(1e-9, 1.0 - 1e-9);
        q.ln() - (-q).ln_1p()
    };
    let mut best = (f64::NEG_INFINITY, problem.logit.clone());
    let given: Vec<Vec<f64>> = starts.iter().map(|q| q.iter().map(log_odds).collect()).collect();
    let soft = given.iter().map(|g| g.iter().map(|g| 0.3 * g).collect());
    let all = [problem.logit.clone(), vec![0.0; problem.n_topics()]];
    for mut g in all.into_iter().chain(soft).chain(given.iter().cloned()) {
        let value = maximise(problem, &mut g, 300);
        if value > best.0 {
            best = (value, g);
        }
    }
    // From the best, one topic after the other the other way round.
    for topic in 0..if problem.n_topics() <= MAX_FLIPS { problem.n_topics() } else { 0 } {
        let mut g = best.1.clone();
        g[topic] = if g[topic] > 0.0 { -FLIPPED } else { FLIPPED };
        let value = maximise(problem, &mut g, 100);
        if value > best.0 {
            best = (value, g);
        }
    }
    (best.0, best.1.iter().map(|&g| sigmoid(g)).collect())
}

fn maximise(problem: &Problem, g: &mut [f64], max_steps: usize) -> f64 {
    -minimise(g, max_steps, |g, gradient| {
        let value = bound(problem, g, gradient);
        gradient.iter_mut().for_each(|slope| *slope = -*slope);
        -value
    })
}
