//! The upper bound of Jaakkola & Jordan (1999), with findings treated exactly where wanted.
//!
//! `f(a) = log(1 - exp(-a))` is concave, so every tangent lies above it. For any lambda > 0,
//!
//! ```text
//! log p(y) <= U(lambda) = c + sum_i (lambda_i w0_i - g(lambda_i)) + sum_j log(1 - rho_j + rho_j exp(sum_i lambda_i w_ij)),
//! g(lambda) = log(1 + lambda) + lambda log(1 + 1 / lambda).
//! ```
//!
//! U is convex. At its least, lambda_i is the slope of f at the mean input under q, `logit q_j = logit rho_j + sum_i lambda_i w_ij`.
//! The bounding measure is above p(d, y) at every d.

use super::Watch;
use super::dag::log_mix;
use super::hybrid::bounded;
use super::two_layer::{Exact, Problem};
use crate::error::Result;
use crate::numeric::f64::{log1mexp, log1mexp_slope};

/// Larger systems are solved coordinate by coordinate.
const MAX_NEWTON: usize = 600;
const STEPS: usize = 60;
const TOLERANCE: f64 = 1e-11;

/// A point of the upper bound.
#[derive(Debug, Clone)]
pub struct Upper {
    /// Of every finding; of exact ones it is not used.
    pub lambda: Vec<f64>,
    /// The bound, and the marginals of its measure.
    pub bound: Exact,
}

fn conjugate(lambda: f64) -> f64 {
    lambda.ln_1p() + if lambda > 0.0 { lambda * (1.0 / lambda).ln_1p() } else { 0.0 }
}

/// U at lambda.
///
/// # Errors
///
/// [`Error::Interrupted`](crate::Error::Interrupted).
pub fn upper_at(
    problem: &Problem,
    exact: &[bool],
    lambda: &[f64],
    limits: (usize, &Watch<'_>),
) -> Result<Option<Exact>> {
    let mut tilt = vec![0.0; problem.n_topics()];
    let mut constant = 0.0;
    for finding in (0..problem.n_findings()).filter(|&finding| !exact[finding]) {
        let lambda = lambda[finding];
        constant += lambda * problem.leak[finding] - conjugate(lambda);
        problem.causes[finding].iter().for_each(|&(topic, w)| tilt[topic] += lambda * w);
    }
    bounded(problem, exact, &tilt, constant, limits)
}

/// Where lambda starts, and what it is below at the least: if `lambda_i w_ij` exceeds `40 - logit rho_j`, q_j is one, and then the mean
/// input is at least `w0_i + w_ij`.
fn start(problem: &Problem) -> (Vec<f64>, Vec<f64>) {
    let rho = problem.rho();
    let of = |finding: usize| {
        let (leak, causes) = (problem.leak[finding], &problem.causes[finding]);
        let most = causes.iter().fold(log1mexp_slope(leak), |most, &(topic, w)| {
            most.min(log1mexp_slope(leak + w).max((40.0 - problem.logit[topic]).max(0.0) / w))
        });
        let most = most.clamp(f64::MIN_POSITIVE, 1e300);
        let mean = leak + causes.iter().map(|&(topic, w)| w * rho[topic]).sum::<f64>();
        (log1mexp_slope(mean).clamp(f64::MIN_POSITIVE, most), most)
    };
    (0..problem.n_findings()).map(of).unzip()
}

/// The least U, by Newton's method, from `from` where that is given. None where exact findings take too much.
///
/// # Errors
///
/// [`Error::Interrupted`](crate::Error::Interrupted).
pub fn upper(
    problem: &Problem,
    exact: &[bool],
    from: Option<&[f64]>,
    limits: (usize, &Watch<'_>),
) -> Result<Option<Upper>> {
    let (mut lambda, most) = start(problem);
    if let Some(from) = from {
        lambda.copy_from_slice(from);
    }
    let Some(mut bound) = upper_at(problem, exact, &lambda, limits)? else { return Ok(None) };
    let free: Vec<usize> = (0..problem.n_findings()).filter(|&finding| !exact[finding]).collect();
    for _ in 0..STEPS {
        let slope: Vec<f64> = free.iter().map(|&finding| slope(problem, &bound, &lambda, finding)).collect();
        let off = free.iter().zip(&slope).map(|(&finding, slope)| (lambda[finding] * slope).abs());
        if off.fold(0.0, f64::max) < TOLERANCE || !limits.1.go_on()? {
            break;
        }
        let direction = (free.len() <= MAX_NEWTON)
            .then(|| newton(problem, &bound.marginals, &lambda, &free, &slope))
            .flatten()
            .unwrap_or_else(|| by_coordinate(problem, &bound.marginals, &lambda, &free, &slope));
        let Some((next, at)) =
            search(problem, exact, (&lambda, &bound), (&free, &slope, &direction), &most, limits)?
        else {
            break;
        };
        (lambda, bound) = (next, at);
    }
    Ok(Some(Upper { lambda, bound }))
}

/// `dU/dlambda_i = w0_i + sum_j w_ij q_j - log(1 + 1/lambda_i)`.
fn slope(problem: &Problem, bound: &Exact, lambda: &[f64], finding: usize) -> f64 {
    let causes = problem.causes[finding].iter();
    problem.leak[finding] + causes.map(|&(topic, w)| w * bound.marginals[topic]).sum::<f64>()
        - (1.0 / lambda[finding]).ln_1p()
}

/// Backtracking along a direction; a step takes no lambda further than nine tenths of the way to zero.
fn search(
    problem: &Problem,
    exact: &[bool],
    (lambda, bound): (&[f64], &Exact),
    (free, slope, direction): (&[usize], &[f64], &[f64]),
    most: &[f64],
    limits: (usize, &Watch<'_>),
) -> Result<Option<(Vec<f64>, Exact)>> {
    let descent: f64 = slope.iter().zip(direction).map(|(g, d)| g * d).sum();
    let mut step = 1.0f64;
    for (&finding, &d) in free.iter().zip(direction) {
        if d < -0.9 * lambda[finding] {
            step = step.min(-0.9 * lambda[finding] / d);
        }
    }
    for _ in 0..40 {
        let mut next = lambda.to_vec();
        for (&finding, &d) in free.iter().zip(direction) {
            next[finding] =
                (lambda[finding] + step * d).clamp(f64::MIN_POSITIVE, most[finding].max(lambda[finding]));
        }
        let Some(at) = upper_at(problem, exact, &next, limits)? else { return Ok(None) };
        if at.log_p <= bound.log_p + 1e-4 * step * descent && next != lambda {
            return Ok(Some((next, at)));
        }
        step *= 0.5;
    }
    Ok(None)
}

fn curvature(lambda: f64) -> f64 {
    1.0 / lambda / (1.0 + lambda)
}

/// `-H^-1 slope` with `H = diag(1 / (lambda (1 + lambda))) + sum_j q_j (1 - q_j) w_.j w_.j'`, in units of lambda: `lambda_i H_ik lambda_k`.
fn newton(problem: &Problem, q: &[f64], lambda: &[f64], free: &[usize], slope: &[f64]) -> Option<Vec<f64>> {
    let n = free.len();
    let mut place = vec![usize::MAX; lambda.len()];
    free.iter().enumerate().for_each(|(at, &finding)| place[finding] = at);
    let mut h = vec![0.0; n * n];
    for (at, &finding) in free.iter().enumerate() {
        h[at * n + at] = lambda[finding] * lambda[finding] * curvature(lambda[finding]);
    }
    for (effects, q) in problem.effects.iter().zip(q) {
        let v = q * (1.0 - q);
        let of = |&(finding, w): &(usize, f64)| (place[finding], w * lambda[finding]);
        let free: Vec<(usize, f64)> = effects.iter().map(of).filter(|&(at, _)| at != usize::MAX).collect();
        for &(a, x) in &free {
            free.iter().for_each(|&(b, y)| h[a * n + b] += v * x * y);
        }
    }
    let scaled = free.iter().zip(slope).map(|(&finding, g)| -lambda[finding] * g).collect();
    let step = solve(&mut h, scaled)?;
    Some(free.iter().zip(step).map(|(&finding, d)| d * lambda[finding]).collect())
}

/// Each lambda on its own, with the curvature of its row: a bound of the whole by Gershgorin.
fn by_coordinate(problem: &Problem, q: &[f64], lambda: &[f64], free: &[usize], slope: &[f64]) -> Vec<f64> {
    let sums: Vec<f64> = problem
        .effects
        .iter()
        .zip(q)
        .map(|(effects, q)| {
            q * (1.0 - q) * effects.iter().map(|&(finding, w)| w * lambda[finding]).sum::<f64>()
        })
        .collect();
    let of = |(&finding, &g): (&usize, &f64)| {
        let row: f64 =
            problem.causes[finding].iter().map(|&(topic, w)| w * lambda[finding] * sums[topic]).sum();
        let h = lambda[finding] * lambda[finding] * curvature(lambda[finding]) + row;
        -lambda[finding] * lambda[finding] * g / h
    };
    free.iter().zip(slope).map(of).collect()
}

/// Solves a positive definite system by Cholesky; none where it is not.
fn solve(h: &mut [f64], mut x: Vec<f64>) -> Option<Vec<f64>> {
    let n = x.len();
    for i in 0..n {
        for j in 0..=i {
            let (row_i, row_j) = (&h[i * n..i * n + j], &h[j * n..j * n + j]);
            let sum = h[i * n + j] - row_i.iter().zip(row_j).map(|(a, b)| a * b).sum::<f64>();
            if i == j {
                if !(sum > 0.0 && sum.is_finite()) {
                    return None;
                }
                h[i * n + i] = sum.sqrt();
            } else {
                h[i * n + j] = sum / h[j * n + j];
            }
        }
    }
    for i in 0..n {
        let sum: f64 = (0..i).map(|j| h[i * n + j] * x[j]).sum();
        x[i] = (x[i] - sum) / h[i * n + i];
    }
    for i in (0..n).rev() {
        let sum: f64 = (i + 1..n).map(|j| h[j * n + i] * x[j]).sum();
        x[i] = (x[i] - sum) / h[i * n + i];
    }
    x.iter().all(|x| x.is_finite()).then_some(x)
}

/// By how much U falls when one finding is treated exactly, the other lambda held. The order of Jaakkola & Jordan is by this, largest
/// first. One exact finding is closed form: `log E[1 - exp(-a)] = f(w0 - sum_j log(1 - rho'_j + rho'_j exp(-w_j)))`.
pub fn gains(problem: &Problem, lambda: &[f64]) -> Vec<f64> {
    let mut tilt = vec![0.0; problem.n_topics()];
    for (finding, causes) in problem.causes.iter().enumerate() {
        causes.iter().for_each(|&(topic, w)| tilt[topic] += lambda[finding] * w);
    }
    let of = |finding: usize| {
        let (leak, lambda) = (problem.leak[finding], lambda[finding]);
        let (mut mixed, mut off) = (0.0, 0.0);
        for &(topic, w) in &problem.causes[finding] {
            // With this finding's own tilt taken out.
            let logit = problem.logit[topic] + (tilt[topic] - lambda * w);
            mixed += log_mix(logit, lambda * w);
            off += log_mix(logit, -w);
        }
        lambda * leak - conjugate(lambda) + mixed - log1mexp(leak - off)
    };
    (0..problem.n_findings()).map(of).collect()
}
