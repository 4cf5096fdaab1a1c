//! Bounds by search over the states of topics (after Henrion 1991).
//!
//! A leaf of the search has fixed some topics, which gives every finding an input `a_i`; the others are free. With
//! `x_j = odds of rho_j times prod_i (1 + (1 - exp(-w_ij)) f'(a_i))` the sum over the states of the free topics is between
//!
//! ```text
//! prod_i (1 - exp(-a_i) prod_j (1 - rho_j + rho_j exp(-w_ij)))   and   prod_i (1 - exp(-a_i)) prod_j (1 - rho_j)(1 + x_j):
//! ```
//!
//! findings occur together, and a further cause gains less the more causes there are. The leaf with the largest difference is split by the
//! topic with the largest x, until the sums over all leaves are close enough. That is soon where few states have all of the probability:
//! cases of many findings, most of them known.

use super::dag::log_mix;
use super::two_layer::Problem;
use super::{Interval, Marginal, Watch};
use crate::error::Result;
use crate::numeric::f64::{LogSum, log1mexp, log1mexp_slope, sigmoid, softplus};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What the search finds.
#[derive(Debug, Clone)]
pub struct Searched {
    /// Certain bounds of `log p(y)`.
    pub log_p: Interval,
    /// Of every topic of the problem.
    pub marginals: Vec<Marginal>,
    /// Whether the bounds are as close as was asked for.
    pub meets: bool,
}

/// Sums are formed again when there are this many times as many leaves.
const GROWTH: f64 = 1.1;

#[derive(Debug, Clone, Default)]
struct Leaf {
    /// Topics that are fixed.
    fixed: Vec<(u32, bool)>,
    lower: f64,
    upper: f64,
    /// log of upper minus lower.
    gap: f64,
    /// The free topic with the largest x.
    next: Option<u32>,
}

impl PartialEq for Leaf {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Leaf {}
impl PartialOrd for Leaf {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Leaf {
    fn cmp(&self, other: &Self) -> Ordering {
        self.gap.total_cmp(&other.gap).then_with(|| other.fixed.cmp(&self.fixed))
    }
}

/// Working memory of a leaf.
struct Search<'a> {
    problem: &'a Problem,
    /// `log(1 - rho_j)`.
    log_off: Vec<f64>,
    is_fixed: Vec<bool>,
    input: Vec<f64>,
    slope: Vec<f64>,
    /// `sum over free j of -log(1 - rho_j + rho_j exp(-w_ij))`.
    mean_input: Vec<f64>,
    /// log of x of free topics.
    log_x: Vec<f64>,
}

impl<'a> Search<'a> {
    fn new(problem: &'a Problem) -> Self {
        let (m, n) = (problem.n_findings(), problem.n_topics());
        Self {
            problem,
            log_off: problem.logit.iter().map(|&logit| -softplus(logit)).collect(),
            is_fixed: vec![false; n],
            input: vec![0.0; m],
            slope: vec![0.0; m],
            mean_input: vec![0.0; m],
            log_x: vec![0.0; n],
        }
    }

    fn leaf(&mut self, fixed: Vec<(u32, bool)>) -> Leaf {
        let problem = self.problem;
        self.is_fixed.fill(false);
        self.input.copy_from_slice(&problem.leak);
        let mut log_weight = problem.constant;
        for &(topic, is_on) in &fixed {
            let topic = topic as usize;
            self.is_fixed[topic] = true;
            log_weight += self.log_off[topic];
            if is_on {
                log_weight += problem.logit[topic];
                problem.effects[topic].iter().for_each(|&(i, w)| self.input[i] += w);
            }
        }
        for (i, &a) in self.input.iter().enumerate() {
            self.slope[i] = log1mexp_slope(a);
        }
        self.mean_input.copy_from_slice(&self.input);
        let (mut next, mut upper) = (None, log_weight);
        for (topic, effects) in problem.effects.iter().enumerate().filter(|&(topic, _)| !self.is_fixed[topic])
        {
            let logit = problem.logit[topic];
            let mut log_x = logit;
            for &(i, w) in effects {
                log_x += (-(-w).exp_m1() * self.slope[i]).ln_1p();
                self.mean_input[i] -= log_mix(logit, -w);
            }
            self.log_x[topic] = log_x;
            upper += self.log_off[topic] + softplus(log_x);
            if !effects.is_empty() && next.is_none_or(|next: u32| log_x > self.log_x[next as usize]) {
                next = Some(topic as u32);
            }
        }
        upper += self.input.iter().map(|&a| log1mexp(a)).sum::<f64>();
        let lower = log_weight + self.mean_input.iter().map(|&a| log1mexp(a)).sum::<f64>();
        let upper = match next {
            None => lower,
            // Out of range, or crossed by rounding.
            Some(_) => {
                if upper.is_nan() {
                    f64::INFINITY
                } else {
                    upper.max(lower)
                }
            }
        };
        Leaf { fixed, lower, upper, gap: upper + log1mexp(upper - lower), next }
    }
}

/// Bounds whose logs are at most `gap` apart, or those reached with `max_leaves` or when time is over.
///
/// # Errors
///
/// [`Error::Interrupted`](crate::Error::Interrupted).
pub fn search(problem: &Problem, gap: f64, max_leaves: usize, watch: &Watch<'_>) -> Result<Searched> {
    let mut search = Search::new(problem);
    let mut leaves = BinaryHeap::from([search.leaf(Vec::new())]);
    let mut check = 1.0;
    while let Some(widest) = leaves.peek() {
        let is_end = widest.next.is_none() || leaves.len() >= max_leaves || !watch.go_on()?;
        if is_end || leaves.len() as f64 >= check {
            let log_p = sums(problem, &leaves);
            if is_end || log_p.upper - log_p.lower <= gap {
                break;
            }
            check = leaves.len() as f64 * GROWTH;
        }
        let Some(Leaf { fixed, next: Some(topic), .. }) = leaves.pop() else { break };
        for is_on in [false, true] {
            let mut fixed = fixed.clone();
            fixed.push((topic, is_on));
            leaves.push(search.leaf(fixed));
        }
    }
    let log_p = sums(problem, &leaves);
    let marginals = marginals(&mut search, leaves.into_vec(), log_p);
    Ok(Searched { log_p, marginals, meets: log_p.upper - log_p.lower <= gap })
}

fn sums(problem: &Problem, leaves: &BinaryHeap<Leaf>) -> Interval {
    let (mut lower, mut upper) = (LogSum::default(), LogSum::default());
    for leaf in leaves {
        lower.add(leaf.lower);
        upper.add(leaf.upper);
    }
    let (lower, upper) = (lower.log(), upper.log());
    Interval { lower: lower - problem.rounding(lower), upper: upper + problem.rounding(upper) }
}

/// The upper measure is above p(d, y) everywhere: with `g = exp(U - L)` and q its marginals, `1 - g (1 - q) <= p <= g q`.
fn marginals(search: &mut Search<'_>, mut leaves: Vec<Leaf>, log_p: Interval) -> Vec<Marginal> {
    leaves.sort_by(|a, b| b.upper.total_cmp(&a.upper));
    let mut q = vec![0.0; search.problem.n_topics()];
    for Leaf { fixed, upper, .. } in leaves {
        let share = (upper - log_p.upper).exp();
        search.leaf(fixed.clone());
        for (topic, q) in q.iter_mut().enumerate().filter(|&(topic, _)| !search.is_fixed[topic]) {
            *q += share * sigmoid(search.log_x[topic]);
        }
        fixed.iter().filter(|&&(_, is_on)| is_on).for_each(|&(topic, _)| q[topic as usize] += share);
    }
    let g = (log_p.upper - log_p.lower).exp();
    q.iter().map(|&q| Marginal::new(q, 1.0 - g * (1.0 - q), g * q)).collect()
}
