//! MF(k): Taylor expansion at the means (Ng & Jordan 2000). No bound.
//!
//! `F(a) = prod_i (1 - exp(-a_i))` is expanded at `mu_i = w0_i + sum_j w_ij rho_j` with the exact moments of the inputs. With
//! `l_i = f'(mu_i)`, `v_j = rho_j (1 - rho_j)`, and of every topic `x_i = l_i w_ij`, `p_k = sum x_i^k`, `h2 = sum l_i w_ij^2`,
//! `h3 = sum l_i w_ij^3`, `b3 = sum l_i^2 w_ij^3`:
//!
//! ```text
//! MF(0) = MF(1) = F(mu),   MF(2) = F (1 + s2),   MF(3) = F (1 + s2 + s3)
//! s2 = 1/2 sum_j v_j (p1^2 - p2 - h2)
//! s3 = 1/6 sum_j v_j (1 - 2 rho_j) (h3 - 3 (h2 p1 - b3) + p1^3 - 3 p1 p2 + 2 p3)
//! ```

use super::two_layer::Problem;
use crate::numeric::f64::{log1mexp, log1mexp_slope};
use rayon::prelude::*;

/// What the expansion gives.
#[derive(Debug, Clone)]
pub struct MeanField {
    /// `log F(mu)`, without c.
    pub log_first: f64,
    /// `1 + s2 + s3`: may be zero or less.
    pub factor: f64,
    /// `rho_j + d log MF / d logit rho_j`, within [0, 1]; those of MF(0) where the factor is not positive.
    pub marginals: Vec<f64>,
}

/// MF(order), order up to 3.
pub fn mean_field(problem: &Problem, order: u8) -> MeanField {
    let rho = problem.rho();
    let means: Vec<f64> = (0..problem.n_findings())
        .map(|i| problem.leak[i] + problem.causes[i].iter().map(|&(j, w)| w * rho[j]).sum::<f64>())
        .collect();
    let l: Vec<f64> = means.iter().map(|&mu| log1mexp_slope(mu)).collect();
    let (second, third) = (f64::from(order >= 2), f64::from(order >= 3));
    let mut sum = 0.0;
    // d sum / d l_i, and d sum / d logit rho_j at fixed means.
    let mut by_slope = vec![0.0; l.len()];
    let mut by_logit = vec![0.0; rho.len()];
    for (topic, effects) in problem.effects.iter().enumerate() {
        let (r, v) = (rho[topic], rho[topic] * (1.0 - rho[topic]));
        let total = |of: fn(f64, f64) -> f64| effects.iter().map(|&(i, w)| of(l[i], w)).sum::<f64>();
        let (p1, p2, p3) =
            (total(|l, w| l * w), total(|l, w| (l * w).powi(2)), total(|l, w| (l * w).powi(3)));
        let (h2, h3, b3) =
            (total(|l, w| l * w * w), total(|l, w| l * w.powi(3)), total(|l, w| l * l * w.powi(3)));
        let t2 = second * 0.5 * (p1 * p1 - p2 - h2);
        let t3 = third / 6.0 * (h3 - 3.0 * (h2 * p1 - b3) + p1.powi(3) - 3.0 * p1 * p2 + 2.0 * p3);
        let (k2, k3, k4) = (v, v * (1.0 - 2.0 * r), v * (1.0 - 6.0 * v));
        sum += k2 * t2 + k3 * t3;
        by_logit[topic] = k3 * t2 + k4 * t3;
        for &(i, w) in effects {
            let x = l[i] * w;
            let d2 = second * 0.5 * (2.0 * p1 * w - 2.0 * x * w - w * w);
            let d3 = third / 6.0
                * (w.powi(3) - 3.0 * (w * w * p1 + h2 * w - 2.0 * x * w * w) + 3.0 * p1 * p1 * w
                    - 3.0 * (w * p2 + 2.0 * p1 * x * w)
                    + 6.0 * x * x * w);
            by_slope[i] += k2 * d2 + k3 * d3;
        }
    }
    let factor = 1.0 + sum;
    let marginal = |topic: usize| {
        let v = rho[topic] * (1.0 - rho[topic]);
        let along = |of: &dyn Fn(usize) -> f64| -> f64 {
            problem.effects[topic].iter().map(|&(i, w)| of(i) * w * v).sum()
        };
        let mut slope = along(&|i| l[i]);
        if factor > 0.0 {
            // d l / d mu = -l (1 + l)
            slope += (by_logit[topic] - along(&|i| by_slope[i] * l[i] * (1.0 + l[i]))) / factor;
        }
        let p = rho[topic] + slope;
        if p.is_nan() { rho[topic] } else { p.clamp(0.0, 1.0) }
    };
    MeanField {
        log_first: means.iter().map(|&mu| log1mexp(mu)).sum(),
        factor,
        marginals: (0..rho.len()).map(marginal).collect(),
    }
}

/// A signed sum and how far it is to be trusted.
#[derive(Debug, Clone, Copy)]
pub struct HybridMeanField {
    /// `E[prod (1 - exp(-a_i))]`, without c: it may be zero or less.
    pub value: f64,
    /// Condition number of the sum: the terms' absolute values over their sum.
    pub kappa: f64,
}

/// `E[prod (1 - exp(-a_i))]` with MF(order) of the other findings inside every term of inclusion-exclusion over the exact ones: signed,
/// with both their errors.
pub fn hybrid_mean_field(problem: &Problem, exact: &[bool], order: u8) -> HybridMeanField {
    let chosen: Vec<usize> = (0..exact.len()).filter(|&finding| exact[finding]).collect();
    let others: Vec<bool> = exact.iter().map(|exact| !exact).collect();
    let term = |subset: usize| {
        let mut tilt = vec![0.0; problem.n_topics()];
        let (mut log_leak, mut sign) = (0.0, 1.0);
        for (_, &finding) in chosen.iter().enumerate().filter(|(at, _)| subset >> at & 1 == 1) {
            log_leak -= problem.leak[finding];
            sign = -sign;
            problem.causes[finding].iter().for_each(|&(topic, w)| tilt[topic] -= w);
        }
        let tilted = problem.tilted(&others, &tilt, log_leak);
        let found = mean_field(&tilted, order);
        sign * (tilted.constant - problem.constant + found.log_first).exp() * found.factor
    };
    // Summed in order: threads change nothing.
    let terms: Vec<f64> = (0..1usize << chosen.len()).into_par_iter().map(term).collect();
    let value: f64 = terms.iter().sum();
    HybridMeanField { value, kappa: terms.iter().map(|term| term.abs()).sum::<f64>() / value.abs() }
}
