//! Weights and their Dirichlet distributions: priors, posterior means, surrogates, the objective of CVB and its gradients.
//!
//! ```text
//! w~_kj = exp(psi(b_kj) - psi(b_k.))  exact,   (b_kj - 1/2) / (b_k. - 1/2)  approximate (Zhao et al. 2016, Eq. 10)
//! F(b) = sum_k KL(Dir(b_k) || Dir(a_k)) - sum_d log V_root(x_d | w~)          -F is a lower bound of log p(documents | a)
//! exact:        dF/db_kj = (b_kj - a_kj - n_kj) psi'(b_kj) - (b_k. - a_k. - n_k.) psi'(b_k.)
//! approximate:  dF/db_kj = (b_kj - a_kj) psi'(b_kj) - (b_k. - a_k.) psi'(b_k.) - n_kj / (b_kj - 1/2) + n_k. / (b_k. - 1/2)
//! ```

use super::structure::{Kind, Structure};
use crate::gamma::{digamma, dirichlet_kl, trigamma};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Weights are at least this: a zero would have no logarithm.
pub(super) const LEAST_WEIGHT: f64 = 1e-300;

/// How weights stand in for their Dirichlet distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Surrogate {
    /// exp(E log w).
    Exact,
    /// (b - 1/2) / (b. - 1/2), for b above 1/2.
    Approximate,
}

impl Surrogate {
    /// The least that a parameter of the Dirichlet distribution may be.
    pub fn floor(self) -> f64 {
        match self {
            Self::Exact => 0.01,
            Self::Approximate => 0.51,
        }
    }

    /// Weights w~ of the parameters `beta`. They add up to less than one, and are meant so.
    pub fn weights(self, structure: &Structure, beta: &[f64]) -> Vec<f64> {
        by_group(structure, |group, out| {
            let beta = &beta[group];
            let sum: f64 = beta.iter().sum();
            match self {
                Self::Exact => {
                    let psi = digamma(sum);
                    out.extend(beta.iter().map(|&b| (digamma(b) - psi).exp().max(LEAST_WEIGHT)));
                }
                Self::Approximate => out.extend(beta.iter().map(|b| (b - 0.5) / (sum - 0.5))),
            }
        })
    }

    /// The gradient of F, with counts n at the surrogate weights.
    pub fn gradient(self, structure: &Structure, beta: &[f64], alpha: &[f64], n: &[f64]) -> Vec<f64> {
        by_group(structure, |group, out| {
            let (beta, alpha, n) = (&beta[group.clone()], &alpha[group.clone()], &n[group]);
            let [b_sum, a_sum, n_sum] = [beta, alpha, n].map(|x| x.iter().sum::<f64>());
            let slope = trigamma(b_sum);
            let terms = beta.iter().zip(alpha).zip(n).map(|((&b, &a), &n)| match self {
                Self::Exact => (b - a - n) * trigamma(b) - (b_sum - a_sum - n_sum) * slope,
                Self::Approximate => {
                    let prior = (b - a) * trigamma(b) - (b_sum - a_sum) * slope;
                    prior - n / (b - 0.5) + n_sum / (b_sum - 0.5)
                }
            });
            out.extend(terms);
        })
    }
}

/// sum_k KL(Dir(b_k) || Dir(a_k)).
pub fn divergence(structure: &Structure, beta: &[f64], alpha: &[f64]) -> f64 {
    let mut sum = 0.0;
    structure.each_group(|group| sum += dirichlet_kl(&beta[group.clone()], &alpha[group]));
    sum
}

/// Means of the Dirichlet distributions; of any weights, what they are with a sum of one at every node.
pub fn means(structure: &Structure, beta: &[f64]) -> Vec<f64> {
    by_group(structure, |group, out| {
        let sum: f64 = beta[group.clone()].iter().sum();
        out.extend(beta[group].iter().map(|b| (b / sum).max(LEAST_WEIGHT)));
    })
}

/// Weights with a sum of one at every node and the same distribution. With `Z_k = sum_j w_kj Z_j` (of a product the product of its
/// children's), `w_kj <- w_kj Z_j / Z_k`.
pub fn normalised(structure: &Structure, weights: &[f64]) -> Vec<f64> {
    let mut log_z: Vec<f64> = Vec::with_capacity(structure.n_nodes());
    let mut out = Vec::with_capacity(weights.len());
    for node in 0..structure.n_nodes() {
        let w = &weights[structure.params(node)];
        let children = structure.children(node);
        log_z.push(match structure.kind(node) {
            Kind::Indicator(..) => 0.0,
            Kind::Product => children.iter().map(|&child| log_z[child as usize]).sum(),
            Kind::Leaf(_) => {
                out.extend(w.iter().map(|x| (x / (w[0] + w[1])).max(LEAST_WEIGHT)));
                (w[0] + w[1]).ln()
            }
            Kind::Sum => {
                let terms = children.iter().zip(w).map(|(&child, w)| w.ln() + log_z[child as usize]);
                let log_sum = crate::numeric::f64::log_sum_exp(terms.clone());
                out.extend(terms.map(|term| (term - log_sum).exp().max(LEAST_WEIGHT)));
                log_sum
            }
        });
    }
    out
}

/// Smoothed EM: `w_kj = (n_kj + s) / (n_k. + s K_k)`; a node that no row reaches keeps its weights.
pub fn em_step(structure: &Structure, weights: &[f64], n: &[f64], smoothing: f64) -> Vec<f64> {
    by_group(structure, |group, out| {
        let (w, n) = (&weights[group.clone()], &n[group]);
        let sum: f64 = n.iter().sum();
        if sum > 0.0 {
            let all = sum + smoothing * n.len() as f64;
            out.extend(n.iter().map(|n| ((n + smoothing) / all).max(LEAST_WEIGHT)));
        } else {
            out.extend_from_slice(w);
        }
    })
}

/// A step of projected gradient ascent of the mean of log V(x) - log V(1):
/// `w <- max(w + step (n_kj / D - n_kj(1)) / w_kj, floor)`, with sums n over D documents.
pub fn ascent_step(
    weights: &[f64],
    n: &[f64],
    n_docs: f64,
    n_unknown: &[f64],
    step: f64,
    floor: f64,
) -> Vec<f64> {
    let terms = weights.iter().zip(n).zip(n_unknown);
    terms.map(|((&w, n), one)| (w + step * (n / n_docs - one) / w).max(floor)).collect()
}

/// Numbers of all weights, node by node.
fn by_group(structure: &Structure, mut f: impl FnMut(Range<usize>, &mut Vec<f64>)) -> Vec<f64> {
    let mut out = Vec::with_capacity(structure.n_params());
    structure.each_group(|group| f(group, &mut out));
    out
}
