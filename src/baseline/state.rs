//! Where the training of a baseline stands: the state after a pass, and how one leads to the next.

use super::scoring::mean_score;
use super::{Model, Pass, Score, Tensors, Training};
use crate::error::{Error, Result};
use crate::train::Patience;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// One evaluation: a line of `metrics.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Parameter steps taken.
    pub step: u64,
    /// Passes over the training documents.
    pub epoch: f64,
    /// Wall time since the start.
    pub seconds: f64,
    /// What the scores are.
    pub score: Score,
    /// Mean score of the training documents, each as the model was when it met it.
    pub train_score: Option<f64>,
    /// Mean score of the validation documents.
    pub valid_score: Option<f64>,
    /// Training documents per second since the last evaluation.
    pub docs_per_s: f64,
}

/// Where training stands after a pass.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) passes: u32,
    pub(super) step: u64,
    pub(super) seconds: f64,
    pub(super) converged: bool,
    pub(super) model: Tensors,
    pub(super) best: Option<(Evaluation, Tensors)>,
    pub(super) patience: Patience,
}

impl State {
    pub(super) fn of(model: &dyn Model) -> Self {
        Self {
            passes: 0,
            step: 0,
            seconds: 0.0,
            converged: false,
            model: model.tensors(),
            best: None,
            patience: Patience::default(),
        }
    }

    /// The next state; on an error this one stays.
    pub(super) fn advance(
        &mut self,
        model: &mut dyn Model,
        training: &Training<'_>,
        patience: u32,
    ) -> Result<Evaluation> {
        let begun = Instant::now();
        let Pass { train_score, steps, converged } = model.pass(training, self.passes)?;
        let seconds = begun.elapsed().as_secs_f64();
        let valid_score = mean_score(model, &training.docs, training.valid, training.monitor)?;
        let evaluation = Evaluation {
            step: self.step + steps,
            epoch: f64::from(self.passes + 1),
            seconds: self.seconds + begun.elapsed().as_secs_f64(),
            score: model.score(),
            train_score,
            valid_score,
            docs_per_s: training.train.len() as f64 / seconds.max(1e-9),
        };
        if let Some(bad) = [train_score, valid_score].into_iter().flatten().find(|score| !score.is_finite()) {
            return Err(Error::Numeric(format!("the score after pass {} is {bad}", self.passes + 1)));
        }
        self.passes += 1;
        (self.step, self.seconds, self.converged) = (evaluation.step, evaluation.seconds, converged);
        self.model = model.tensors();
        let is_best = match (&self.best, evaluation.valid_score) {
            (Some((best, _)), Some(now)) => best.valid_score.is_none_or(|best| now > best),
            // Without documents held out the last is taken for the best.
            _ => true,
        };
        if is_best {
            self.best = Some((evaluation.clone(), self.model.clone().finished()));
        }
        self.patience.count(valid_score, patience);
        Ok(evaluation)
    }
}

impl Evaluation {
    /// In words.
    pub fn line(&self) -> String {
        let mut line = format!("epoch {:.0}", self.epoch);
        for (what, score) in [("train", self.train_score), ("held out", self.valid_score)] {
            line += &score.map_or(String::new(), |score| format!("  {what} {score:.4}"));
        }
        format!("{line} [{}]  {:.0} documents/s", self.score, self.docs_per_s)
    }
}
