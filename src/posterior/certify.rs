//! Intervals that hold `log p(y)` and every marginal for certain: findings are made exact one by one until the bounds meet.

use super::Watch;
use super::lower::{self, Lower};
use super::quadratic::quadratic;
use super::two_layer::{Exact, Problem};
use super::upper::{self, Upper};
use super::{Interval, Marginal};
use crate::error::Result;

/// What is certain.
#[derive(Debug, Clone)]
pub struct Certificate {
    /// Of `log p(y)`.
    pub log_p: Interval,
    /// Of every topic of the problem.
    pub marginals: Vec<Marginal>,
    /// Findings treated exactly.
    pub exact: Vec<usize>,
}

/// Both bounds with some findings exact.
pub struct Bounds {
    /// The upper one.
    pub upper: Upper,
    /// The lower one by shares, whose measure is below p(d, y) everywhere.
    pub lower: Lower,
    /// The larger of that and the quadratic one.
    pub best_lower: f64,
    /// q of the larger one.
    pub lower_q: Vec<f64>,
}

impl Bounds {
    /// Optimises both. None where exact findings take too much.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`](crate::Error::Interrupted).
    pub fn new(
        problem: &Problem,
        exact: &[bool],
        before: Option<&Self>,
        limits: (usize, &Watch<'_>),
    ) -> Result<Option<Self>> {
        let from = before.map(|bounds| &bounds.upper.lambda[..]);
        let Some(upper) = upper::upper(problem, exact, from, limits)? else { return Ok(None) };
        let r = match before {
            Some(bounds) => bounds.lower.r.clone(),
            None => lower::fitted(problem, exact, &upper.bound.marginals),
        };
        let Some(mut lower) = lower::lower(problem, exact, r, limits)? else { return Ok(None) };
        if before.is_none() {
            let by_weight = lower::lower(problem, exact, lower::by_weight(problem), limits)?;
            lower =
                by_weight.into_iter().fold(lower, |a, b| if b.bound.log_p > a.bound.log_p { b } else { a });
        }
        let (mut best_lower, mut lower_q) = (lower.bound.log_p, lower.bound.marginals.clone());
        let (by_parabola, q) = match before {
            Some(bounds) => (bounds.best_lower, bounds.lower_q.clone()),
            None => quadratic(problem, &[&upper.bound.marginals, &lower.bound.marginals]),
        };
        if by_parabola > best_lower {
            (best_lower, lower_q) = (by_parabola, q);
        }
        Ok(Some(Self { upper, lower, best_lower, lower_q }))
    }

    /// The certain interval of `log p(y)`, widened for rounding.
    pub fn log_p(&self, problem: &Problem) -> Interval {
        let (lower, upper) = (self.best_lower, self.upper.bound.log_p);
        Interval { lower: lower - problem.rounding(lower), upper: upper + problem.rounding(upper) }
    }

    /// The certain intervals of the marginals, with p as the upper bound's measure has it.
    ///
    /// Its measure is above p(d, y) at every d, and that of the lower bound by shares below: with `g = exp(U - L)`,
    /// `q^L / (q^L + g (1 - q^U)) <= p <= g q^U / (g q^U + 1 - q^L)`; and for any lower bound `1 - g (1 - q^U) <= p <= g q^U`.
    pub fn marginals(&self, problem: &Problem) -> Vec<Marginal> {
        let all = self.log_p(problem);
        let g_all = (all.upper - all.lower).exp();
        let low = self.lower.bound.log_p;
        let g_shares = (all.upper - (low - problem.rounding(low))).exp();
        let of = |(&high, &low): (&f64, &f64)| {
            let (mut lower, mut upper) = ((1.0 - g_all * (1.0 - high)).max(0.0), (g_all * high).min(1.0));
            if g_shares.is_finite() {
                lower = lower.max(low / (low + g_shares * (1.0 - high)));
                upper = upper.min(g_shares * high / (g_shares * high + 1.0 - low));
            }
            Marginal::new(high, lower, upper)
        };
        self.upper.bound.marginals.iter().zip(&self.lower.bound.marginals).map(of).collect()
    }
}

/// An exact answer as a certificate.
pub fn of_exact(problem: &Problem, exact: &Exact) -> (Interval, Vec<Marginal>) {
    let rounding = problem.rounding(exact.log_p);
    let marginal = |&p: &f64| Marginal::new(p, p - rounding, p + rounding);
    let log_p = Interval { lower: exact.log_p - rounding, upper: exact.log_p + rounding };
    (log_p, exact.marginals.iter().map(marginal).collect())
}

/// What ends the search besides the bounds' meeting.
pub struct Until<'a> {
    /// Width of the interval of `log p(y)` that is small enough.
    pub log_p: Option<f64>,
    /// Error of every marginal that is small enough.
    pub marginals: Option<f64>,
    /// Findings to treat exactly at most.
    pub max_exact: usize,
    /// Bits of the tables.
    pub max_bits: usize,
    /// Time and interruption.
    pub watch: &'a Watch<'a>,
}

/// Makes findings exact in the order of Jaakkola & Jordan until the interval is small enough. With all exact it is exact, so it ends.
///
/// # Errors
///
/// [`Error::Interrupted`](crate::Error::Interrupted).
pub fn certify(problem: &Problem, until: &Until<'_>) -> Result<Option<Certificate>> {
    let m = problem.n_findings();
    let limits = (until.max_bits, until.watch);
    let mut mask = vec![false; m];
    let Some(mut bounds) = Bounds::new(problem, &mask, None, limits)? else { return Ok(None) };
    let gains = upper::gains(problem, &bounds.upper.lambda);
    let mut order: Vec<usize> = (0..m).collect();
    order.sort_by(|&a, &b| gains[b].total_cmp(&gains[a]));
    let mut n_exact = 0;
    loop {
        let (log_p, marginals) = (bounds.log_p(problem), bounds.marginals(problem));
        let by_log_p = until.log_p.is_none_or(|width| log_p.upper - log_p.lower <= width);
        let by_marginals = until.marginals.is_none_or(|error| marginals.iter().all(|p| p.error() <= error));
        let here = Certificate { log_p, marginals, exact: order[..n_exact].to_vec() };
        if (by_log_p && by_marginals) || n_exact >= until.max_exact.min(m) || !until.watch.go_on()? {
            return Ok(Some(here));
        }
        mask[order[n_exact]] = true;
        n_exact += 1;
        if n_exact == m {
            let Some(exact) = problem.exact(until.max_bits, until.watch)? else { return Ok(Some(here)) };
            let (log_p, marginals) = of_exact(problem, &exact);
            return Ok(Some(Certificate { log_p, marginals, exact: order }));
        }
        let Some(next) = Bounds::new(problem, &mask, Some(&bounds), limits)? else { return Ok(Some(here)) };
        bounds = next;
    }
}
