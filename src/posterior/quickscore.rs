//! Quickscore (Heckerman 1989): inclusion-exclusion over the subsets of present findings.
//!
//! ```text
//! E[prod (1 - exp(-a_i))] = sum over T of (-1)^|T| exp(-sum_T w0_i) prod_j (1 - rho_j + rho_j exp(-sum_T w_ij))
//! ```
//!
//! The terms cancel: the relative error is about `kappa 1e-16`, with kappa the sum of the terms' absolute values over their sum.

use super::Watch;
use super::two_layer::Problem;
use crate::error::Result;
use crate::numeric::f64::sigmoid;
use rayon::prelude::*;

/// The sum and how far it is to be trusted.
#[derive(Debug, Clone)]
pub struct Quickscore {
    /// `E[prod (1 - exp(-a))]`, as it came out: it may be negative.
    pub value: f64,
    /// Condition number of the sum.
    pub kappa: f64,
    /// p(d_j = 1 | y) of every topic.
    pub marginals: Vec<f64>,
}

/// Relative error a unit of kappa: some rounding errors of each term.
pub const ROUNDING: f64 = 1e-15;

struct Sums {
    value: f64,
    size: f64,
    on: Vec<f64>,
}

/// Sums over all subsets; nothing where time runs out.
///
/// # Errors
///
/// [`Error::Interrupted`](crate::Error::Interrupted).
pub fn quickscore(problem: &Problem, watch: &Watch<'_>) -> Result<Option<Quickscore>> {
    let m = problem.n_findings();
    // Subsets of the first findings are summed on their own, then in order: threads change nothing.
    let depth = m.min(6);
    let parts: Vec<Option<Sums>> = (0..1usize << depth)
        .into_par_iter()
        .map(|fixed| part(problem, depth, fixed, watch))
        .collect::<Result<_>>()?;
    let mut all = Sums { value: 0.0, size: 0.0, on: vec![0.0; problem.n_topics()] };
    for sums in parts {
        let Some(sums) = sums else { return Ok(None) };
        all.value += sums.value;
        all.size += sums.size;
        all.on.iter_mut().zip(&sums.on).for_each(|(all, part)| *all += part);
    }
    Ok(Some(Quickscore {
        value: all.value,
        kappa: all.size / all.value.abs(),
        marginals: all.on.iter().map(|on| on / all.value).collect(),
    }))
}

fn part(problem: &Problem, depth: usize, fixed: usize, watch: &Watch<'_>) -> Result<Option<Sums>> {
    let mut sums = Sums { value: 0.0, size: 0.0, on: vec![0.0; problem.n_topics()] };
    let mut taken = vec![0.0; problem.n_topics()];
    let mut saved = Vec::new();
    let odds: Vec<(f64, f64)> =
        problem.logit.iter().map(|&logit| (sigmoid(-logit), sigmoid(logit))).collect();
    let go_on =
        walk(problem, 0, (0.0, 1.0), (depth, fixed), &odds, (&mut taken, &mut saved), &mut sums, watch)?;
    Ok(go_on.then_some(sums))
}

/// Decides finding after finding; `taken_j` is the sum of `w_ij` over T so far.
#[allow(clippy::too_many_arguments)]
fn walk(
    problem: &Problem,
    finding: usize,
    (log_leak, sign): (f64, f64),
    fixed: (usize, usize),
    odds: &[(f64, f64)],
    (taken, saved): (&mut Vec<f64>, &mut Vec<f64>),
    sums: &mut Sums,
    watch: &Watch<'_>,
) -> Result<bool> {
    if finding == problem.n_findings() {
        let on: Vec<(f64, f64)> =
            taken.iter().zip(odds).map(|(s, &(off, on))| (off, on * (-s).exp())).collect();
        let term = log_leak.exp() * on.iter().map(|(off, on)| off + on).product::<f64>();
        sums.value += sign * term;
        sums.size += term;
        for (sum, (off, on)) in sums.on.iter_mut().zip(&on) {
            *sum += sign * term * on / (off + on);
        }
        return watch.go_on();
    }
    for is_in in [false, true] {
        if finding < fixed.0 && (fixed.1 >> finding & 1 == 1) != is_in {
            continue;
        }
        let begin = saved.len();
        let mut next = (log_leak, sign);
        if is_in {
            next = (log_leak - problem.leak[finding], -sign);
            for &(topic, w) in &problem.causes[finding] {
                saved.push(taken[topic]);
                taken[topic] += w;
            }
        }
        if !walk(problem, finding + 1, next, fixed, odds, (taken, saved), sums, watch)? {
            return Ok(false);
        }
        if is_in {
            for (&(topic, _), before) in problem.causes[finding].iter().zip(saved.drain(begin..)) {
                taken[topic] = before;
            }
        }
    }
    Ok(true)
}
