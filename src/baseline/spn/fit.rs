//! Passes over the training documents: what weights, or the parameters of their Dirichlet distributions, become.
//!
//! ```text
//! em          w_kj = (n_kj + s) / (n_k. + s K_k)
//! mle         w <- max(w + step (mean n_kj - n_kj(1)) / w_kj, 0.01)                  the likelihood never falls: the step is halved until it rises
//! cvb         beta <- alpha + n(beta)                                                F never rises: log V is convex in log w
//! cvb-paper   beta <- max(beta - step dF/dbeta, floor)                               the step is halved until F falls enough
//! online      beta <- (1 - rho_t) beta + rho_t (alpha + D/B n(batch; beta)),         rho_t = (t + 2)^-0.6
//! stream      beta <- beta + n(batch; beta)
//! ```

use super::options::{Fit, SpnOptions};
use super::params::{Surrogate, ascent_step, divergence, em_step, means, normalised};
use super::program::Program;
use super::structure::Structure;
use super::sums::Evaluator;
use crate::baseline::{Pass, Training};
use crate::corpus::Item;
use crate::error::Result;
use crate::rng::{Stream, rng};
use rand::seq::SliceRandom;
use std::sync::Arc;

/// A pass that gains less than this, relative to the objective, is the last.
const TOLERANCE: f64 = 1e-6;
/// What a line search asks of a step: this share of what the slope promises.
const ARMIJO: f64 = 1e-4;
/// Halvings of a step before it is given up.
const HALVINGS: u32 = 40;
/// The least weight of projected gradient ascent.
const WEIGHT_FLOOR: f64 = 0.01;
/// Its first step.
const FIRST_STEP: f64 = 0.1;
/// How fast the rates of online steps fall.
const RATE: f64 = -0.6;

/// What passes change.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    /// Weights, or beta.
    pub(super) params: Vec<f64>,
    /// Prior of beta; none where there is no prior.
    pub(super) alpha: Vec<f64>,
    /// Length of the next step of a line search; zero before the first.
    pub(super) step: f64,
    /// Objective of the last pass.
    pub(super) last: Option<f64>,
    /// Steps taken.
    pub(super) n_steps: u64,
}

/// The step of SVI with counts of a batch of B of D documents.
pub fn online_step(beta: &mut [f64], alpha: &[f64], n: &[f64], scale: f64, step: u64) {
    let rho = (step as f64 + 2.0).powf(RATE);
    for ((b, a), n) in beta.iter_mut().zip(alpha).zip(n) {
        *b = (1.0 - rho) * *b + rho * (a + scale * n);
    }
}

/// F of beta on some documents, and counts if they are wanted.
pub(super) struct Bound {
    pub(super) f: f64,
    pub(super) counts: Vec<f64>,
}

impl State {
    /// The weights that predict.
    pub(super) fn weights(&self, structure: &Structure, fit: Fit) -> Vec<f64> {
        match fit {
            Fit::Em => self.params.clone(),
            Fit::Mle => normalised(structure, &self.params),
            Fit::Cvb | Fit::CvbPaper | Fit::Online | Fit::Stream => means(structure, &self.params),
        }
    }

    /// One pass; `predicting` has the weights of [`State::weights`].
    pub(super) fn pass(
        &mut self,
        predicting: &Evaluator,
        program: &Arc<Program>,
        options: &SpnOptions,
        training: &Training<'_>,
        number: u32,
    ) -> Result<Pass> {
        if training.train.is_empty() {
            return Ok(Pass { train_score: None, steps: 0, converged: true });
        }
        let run = Run { program, training, n_docs: training.train.len() as f64 };
        let steps = self.n_steps;
        let (score, converged) = match options.fit {
            Fit::Em => run.em(self, predicting, options)?,
            Fit::Mle => run.mle(self)?,
            Fit::Cvb => run.cvb(self, predicting)?,
            Fit::CvbPaper => run.cvb_paper(self, predicting, options.surrogate)?,
            Fit::Online | Fit::Stream => run.batches(self, options, number)?,
        };
        Ok(Pass { train_score: Some(score / run.n_docs), steps: self.n_steps - steps, converged })
    }

    /// Whether an objective that is minimised has hardly changed.
    fn settled(&mut self, objective: f64) -> bool {
        let last = self.last.replace(objective);
        last.is_some_and(|last| last - objective <= TOLERANCE * objective.abs())
    }
}

/// A pass under way.
struct Run<'a> {
    program: &'a Arc<Program>,
    training: &'a Training<'a>,
    n_docs: f64,
}

/// Sum of the scores of the training documents, and whether another pass would change nothing.
type Done = Result<(f64, bool)>;

impl Run<'_> {
    fn items(&self) -> Vec<Item> {
        Item::shared(&self.training.docs, self.training.train)
    }

    fn em(&self, state: &mut State, predicting: &Evaluator, options: &SpnOptions) -> Done {
        let sums = predicting.sums(&self.training.docs, &self.items(), true, self.training.monitor)?;
        state.params = em_step(self.program.structure(), &state.params, &sums.counts, options.smoothing);
        state.n_steps += 1;
        Ok((sums.log_v, state.settled(-sums.log_v)))
    }

    fn mle(&self, state: &mut State) -> Done {
        let (docs, items, monitor) = (&self.training.docs, self.items(), self.training.monitor);
        let evaluator = Evaluator::new(self.program, state.params.clone());
        let (sums, one) = (evaluator.sums(docs, &items, true, monitor)?, evaluator.all_unknown());
        let score = sums.log_v - self.n_docs * one.log_v;
        let mut step = if state.step > 0.0 { state.step } else { FIRST_STEP };
        for _ in 0..HALVINGS {
            let to = ascent_step(&state.params, &sums.counts, self.n_docs, &one.counts, step, WEIGHT_FLOOR);
            let evaluator = Evaluator::new(self.program, to);
            let log_v = evaluator.sums(docs, &items, false, monitor)?.log_v;
            let gain = (log_v - self.n_docs * evaluator.all_unknown().log_v - score) / self.n_docs;
            if gain >= ARMIJO / step * distance2(evaluator.weights(), &state.params) {
                state.params = evaluator.weights().to_vec();
                (state.step, state.n_steps) = (2.0 * step, state.n_steps + 1);
                return Ok((score, state.settled(-score)));
            }
            step *= 0.5;
        }
        Ok((score, true))
    }

    fn cvb(&self, state: &mut State, predicting: &Evaluator) -> Done {
        let items = self.items();
        let score = predicting.sums(&self.training.docs, &items, false, self.training.monitor)?.log_v;
        let bound = self.bound(state, &state.params, Surrogate::Exact, &items, true)?;
        state.params = state.alpha.iter().zip(&bound.counts).map(|(a, n)| a + n).collect();
        state.n_steps += 1;
        Ok((score, state.settled(bound.f)))
    }

    fn cvb_paper(&self, state: &mut State, predicting: &Evaluator, surrogate: Surrogate) -> Done {
        let items = self.items();
        let score = predicting.sums(&self.training.docs, &items, false, self.training.monitor)?.log_v;
        let from = self.bound(state, &state.params, surrogate, &items, true)?;
        let structure = self.program.structure();
        let slope = surrogate.gradient(structure, &state.params, &state.alpha, &from.counts);
        let mut step = if state.step > 0.0 { state.step } else { 1.0 / self.n_docs };
        for _ in 0..HALVINGS {
            let moved = |(b, g): (&f64, &f64)| (b - step * g).max(surrogate.floor());
            let to: Vec<f64> = state.params.iter().zip(&slope).map(moved).collect();
            let f = self.bound(state, &to, surrogate, &items, false)?.f;
            if f <= from.f - ARMIJO / step * distance2(&to, &state.params) {
                state.params = to;
                (state.step, state.n_steps) = (2.0 * step, state.n_steps + 1);
                return Ok((score, state.settled(from.f)));
            }
            step *= 0.5;
        }
        Ok((score, true))
    }

    /// Mini-batches in random order.
    fn batches(&self, state: &mut State, options: &SpnOptions, number: u32) -> Done {
        let mut order = self.training.train.to_vec();
        order.shuffle(&mut rng(self.training.seed, Stream::SpnShuffle(number.into())));
        let mut score = 0.0;
        for batch in order.chunks(options.batch) {
            let items = Item::each(batch);
            let predicting = Evaluator::new(self.program, means(self.program.structure(), &state.params));
            score += predicting.sums(&self.training.docs, &items, false, self.training.monitor)?.log_v;
            let weights = Surrogate::Exact.weights(self.program.structure(), &state.params);
            let evaluator = Evaluator::new(self.program, weights);
            let n = evaluator.sums(&self.training.docs, &items, true, self.training.monitor)?.counts;
            state.n_steps += 1;
            if options.fit == Fit::Stream {
                state.params.iter_mut().zip(n).for_each(|(b, n)| *b += n);
            } else {
                let scale = self.n_docs / batch.len() as f64;
                online_step(&mut state.params, &state.alpha, &n, scale, state.n_steps);
            }
        }
        Ok((score, options.fit == Fit::Stream))
    }

    fn bound(
        &self,
        state: &State,
        beta: &[f64],
        surrogate: Surrogate,
        items: &[Item],
        counts: bool,
    ) -> Result<Bound> {
        let structure = self.program.structure();
        let evaluator = Evaluator::new(self.program, surrogate.weights(structure, beta));
        let sums = evaluator.sums(&self.training.docs, items, counts, self.training.monitor)?;
        Ok(Bound { f: divergence(structure, beta, &state.alpha) - sums.log_v, counts: sums.counts })
    }
}

fn distance2(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}
