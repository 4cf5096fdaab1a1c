//! Exact inference by conditioning on hubs: topics of so many present findings that they open nearly all at once.
//!
//! With the states of k hubs fixed, a hub that is on adds its weights to the leaks and one that is off disappears; what is left falls into
//! small tables. The sum over the `2^k` states has positive terms only.

use super::Watch;
use super::two_layer::{Exact, Problem};
use crate::error::Result;
use crate::numeric::f64::{LogSum, log1mexp, softplus};
use rayon::prelude::*;

/// No further hubs are looked for below this cost.
const CHEAP: f64 = 1e6;
/// Nor after so many that did not lower it.
const PATIENCE: usize = 4;

/// How an exact answer is to be had.
#[derive(Debug, Clone)]
pub struct Route {
    /// Topics whose states are summed over.
    pub hubs: Vec<usize>,
    /// About the number of multiplications.
    pub cost: f64,
    /// The method by name.
    pub name: &'static str,
    max_bits: usize,
}

impl Route {
    /// The cheapest route with at most `2^max_bits` terms: hubs and findings that are open at once together.
    pub fn new(problem: &Problem, max_bits: usize) -> Option<Self> {
        let mut by_size: Vec<usize> =
            (0..problem.n_topics()).filter(|&j| problem.effects[j].len() > 1).collect();
        by_size.sort_by_key(|&topic| std::cmp::Reverse(problem.effects[topic].len()));
        let mut best: Option<Self> = None;
        for n_hubs in 0..=by_size.len().min(max_bits) {
            let hubs = &by_size[..n_hubs];
            if let Some(reduced) = conditioned(problem, hubs, 0).reduce(max_bits - n_hubs) {
                let cost = reduced.cost() * (n_hubs as f64).exp2();
                if best.as_ref().is_none_or(|best| cost < best.cost) {
                    best = Some(Self { hubs: hubs.to_vec(), cost, name: reduced.name(), max_bits });
                }
            }
            let is_done = |best: &Self| best.cost < CHEAP || n_hubs >= best.hubs.len() + PATIENCE;
            if best.as_ref().is_some_and(is_done) {
                break;
            }
        }
        best
    }

    /// The exact answer; none where time runs out or numbers leave the range of f64.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`](crate::Error::Interrupted).
    pub fn exact(&self, problem: &Problem, watch: &Watch<'_>) -> Result<Option<Exact>> {
        let max_bits = self.max_bits - self.hubs.len();
        let of_state = |state: usize| {
            let part = conditioned(problem, &self.hubs, state);
            part.reduce(max_bits).map_or(Ok(None), |reduced| reduced.exact(watch))
        };
        if self.hubs.is_empty() {
            return of_state(0);
        }
        let parts: Vec<Option<Exact>> =
            (0..1usize << self.hubs.len()).into_par_iter().map(of_state).collect::<Result<_>>()?;
        let Some(parts) = parts.into_iter().collect::<Option<Vec<Exact>>>() else { return Ok(None) };
        let mut total = LogSum::default();
        parts.iter().for_each(|part| total.add(part.log_p));
        let mut marginals = vec![0.0; problem.n_topics()];
        for (state, part) in parts.iter().enumerate() {
            let share = (part.log_p - total.log()).exp();
            let mut p = part.marginals.clone();
            for (at, &hub) in self.hubs.iter().enumerate() {
                // Without effects it has its prior there, but its state is known.
                p[hub] = f64::from(state >> at & 1 == 1);
            }
            marginals.iter_mut().zip(&p).for_each(|(sum, p)| *sum += share * p);
        }
        marginals.iter_mut().for_each(|p| *p = p.min(1.0));
        Ok(Some(Exact { log_p: total.log(), marginals }))
    }
}

/// The problem with the hubs in a state.
fn conditioned(problem: &Problem, hubs: &[usize], state: usize) -> Problem {
    let (mut leak, mut effects) = (problem.leak.clone(), problem.effects.clone());
    let mut constant = problem.constant;
    for (at, &hub) in hubs.iter().enumerate() {
        // log(1 - rho), log rho
        let off = -softplus(problem.logit[hub]);
        if state >> at & 1 == 1 {
            effects[hub].iter().for_each(|&(finding, w)| leak[finding] += w);
            constant += log1mexp(-off);
        } else {
            constant += off;
        }
        effects[hub].clear();
    }
    Problem::new(constant, problem.logit.clone(), leak, effects)
}
