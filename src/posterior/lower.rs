//! The lower bound of Jaakkola & Jordan (1999), with q summed out and findings treated exactly where wanted.
//!
//! ```text
//! log p(y) >= L(r) = c + sum_i f(w0_i) + sum_j log(1 - rho_j + rho_j exp(sum_i A_ij)),
//! A_ij = r_ij (f(w0_i + w_ij / r_ij) - f(w0_i)) >= 0,   sum_j r_ij = 1
//! ```
//!
//! Its measure is below p(d, y) at every d. EM: q at r is closed form, then r by Eq. 10 at q. There are local optima.

use super::Watch;
use super::hybrid::bounded;
use super::two_layer::{Exact, Problem};
use crate::error::Result;
use crate::numeric::f64::{log1mexp, log1mexp_slope};

/// A point of the lower bound.
#[derive(Debug, Clone)]
pub struct Lower {
    /// r of every finding, in the order of its causes.
    pub r: Vec<Vec<f64>>,
    /// The bound, and the marginals of its measure.
    pub bound: Exact,
}

const STEPS: usize = 1000;
/// Passes of r at one q: they are cheap beside an exact part.
const PASSES: usize = 10;
const TOLERANCE: f64 = 1e-9;

/// `r (f(w0 + w/r) - f(w0))`.
fn gain(leak: f64, w: f64, r: f64) -> f64 {
    if r > 0.0 { r * (log1mexp(leak + w / r) - log1mexp(leak)) } else { 0.0 }
}

/// L at r.
///
/// # Errors
///
/// [`Error::Interrupted`](crate::Error::Interrupted).
pub fn lower_at(
    problem: &Problem,
    exact: &[bool],
    r: &[Vec<f64>],
    limits: (usize, &Watch<'_>),
) -> Result<Option<Exact>> {
    let mut tilt = vec![0.0; problem.n_topics()];
    let mut constant = 0.0;
    for finding in (0..problem.n_findings()).filter(|&finding| !exact[finding]) {
        let leak = problem.leak[finding];
        constant += log1mexp(leak);
        for (&(topic, w), &r) in problem.causes[finding].iter().zip(&r[finding]) {
            tilt[topic] += gain(leak, w, r);
        }
    }
    bounded(problem, exact, &tilt, constant, limits)
}

/// r in proportion to the weights.
pub fn by_weight(problem: &Problem) -> Vec<Vec<f64>> {
    let of = |causes: &Vec<(usize, f64)>| {
        let sum: f64 = causes.iter().map(|&(_, w)| w).sum();
        causes.iter().map(|&(_, w)| w / sum).collect()
    };
    problem.causes.iter().map(of).collect()
}

/// One iteration of Eq. 10: `r_ij` in proportion to `q_j [r (f(u) - f(w0)) - w f'(u)]`, `u = w0 + w/r`.
fn update(problem: &Problem, exact: &[bool], q: &[f64], r: &mut [Vec<f64>]) {
    for finding in (0..problem.n_findings()).filter(|&finding| !exact[finding]) {
        let (leak, causes) = (problem.leak[finding], &problem.causes[finding]);
        if causes.len() < 2 {
            continue;
        }
        let share = |(&(topic, w), &r): (&(usize, f64), &f64)| {
            let slope = if r > 0.0 { w * log1mexp_slope(leak + w / r) } else { 0.0 };
            (q[topic] * (gain(leak, w, r) - slope)).max(0.0)
        };
        let shares: Vec<f64> = causes.iter().zip(&r[finding]).map(share).collect();
        let sum: f64 = shares.iter().sum();
        if sum > 0.0 && sum.is_finite() {
            r[finding].iter_mut().zip(shares).for_each(|(r, share)| *r = share / sum);
        }
    }
}

/// r that fits given marginals.
pub fn fitted(problem: &Problem, exact: &[bool], q: &[f64]) -> Vec<Vec<f64>> {
    let mut r = by_weight(problem);
    (0..60).for_each(|_| update(problem, exact, q, &mut r));
    r
}

/// EM from r. None where exact findings take too much.
///
/// # Errors
///
/// [`Error::Interrupted`](crate::Error::Interrupted).
pub fn lower(
    problem: &Problem,
    exact: &[bool],
    mut r: Vec<Vec<f64>>,
    limits: (usize, &Watch<'_>),
) -> Result<Option<Lower>> {
    let Some(mut bound) = lower_at(problem, exact, &r, limits)? else { return Ok(None) };
    for _ in 0..STEPS {
        let mut next = r.clone();
        (0..PASSES).for_each(|_| update(problem, exact, &bound.marginals, &mut next));
        if !limits.1.go_on()? {
            break;
        }
        let Some(at) = lower_at(problem, exact, &next, limits)? else { break };
        let rise = at.log_p - bound.log_p;
        if !rise.is_finite() || rise < 0.0 {
            break;
        }
        (r, bound) = (next, at);
        if rise < TOLERANCE {
            break;
        }
    }
    Ok(Some(Lower { r, bound }))
}
