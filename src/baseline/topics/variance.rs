//! How much gradients vary from batch to batch at fixed parameters, with and without control variates.

use super::lambda::Known;
use super::local::Local;
use super::step::Step;
use super::svi::Svi;
use crate::baseline::Training;
use crate::error::{Error, Result};
use crate::rng::{Stream, rng};
use rand::seq::SliceRandom;

/// Variances of a batch's gradient, summed over coordinates.
#[derive(Debug, Clone, PartialEq)]
pub struct Variance {
    /// What the gradient is of.
    pub of: &'static str,
    /// Of the gradient as it is.
    pub plain: f64,
    /// Of the corrected one.
    pub controlled: f64,
}

/// Sums over batches of each coordinate, for two estimators.
#[derive(Debug, Default)]
pub(super) struct Moments {
    pub(super) n: f64,
    pub(super) sums: [Vec<f64>; 2],
    pub(super) squares: [Vec<f64>; 2],
}

impl Moments {
    fn add(&mut self, values: [Vec<f64>; 2]) {
        self.n += 1.0;
        for (at, values) in values.into_iter().enumerate() {
            self.sums[at].resize(values.len(), 0.0);
            self.squares[at].resize(values.len(), 0.0);
            for (coordinate, value) in values.into_iter().enumerate() {
                self.sums[at][coordinate] += value;
                self.squares[at][coordinate] += value * value;
            }
        }
    }

    /// The sample variance of one coordinate.
    pub(super) fn variance(&self, at: usize, coordinate: usize) -> f64 {
        let mean = self.sums[at][coordinate] / self.n;
        ((self.squares[at][coordinate] - self.n * mean * mean) / (self.n - 1.0)).max(0.0)
    }

    fn total(&self, at: usize) -> f64 {
        (0..self.sums[at].len()).map(|coordinate| self.variance(at, coordinate)).sum()
    }
}

impl<L: Local> Svi<L> {
    /// Variances of the gradient of `batch` training documents, drawn without replacement, at the parameters as they are, by so many
    /// draws: of topics, and of what the corpus has beside them. The correction is what training has learned so far.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where the model has no control variates, or fewer than two draws or no documents are asked for;
    /// [`Error::Interrupted`].
    pub fn variance(&self, training: &Training<'_>, batch: usize, draws: usize) -> Result<Vec<Variance>> {
        let (topics, others) = self.gradients(training, batch, draws)?;
        let row =
            |of, moments: &Moments| Variance { of, plain: moments.total(0), controlled: moments.total(1) };
        let mut rows = vec![row("topics", &topics)];
        if !others.sums[0].is_empty() {
            rows.push(row("sticks", &others));
        }
        Ok(rows)
    }

    /// Moments of the targets, plain and corrected: of lam, and of the corpus's other parameters.
    pub(super) fn gradients(
        &self,
        training: &Training<'_>,
        batch: usize,
        draws: usize,
    ) -> Result<(Moments, Moments)> {
        let refuse = |message: String| Err(Error::Usage(message));
        let Some(control) = &self.control else {
            return refuse("the model has no control variates; train it with `control_variates`".into());
        };
        if draws < 2 || batch == 0 || training.train.is_empty() {
            return refuse(format!(
                "a variance needs two draws of a document at least; there are {draws} draws of {batch} of {} documents",
                training.train.len()
            ));
        }
        let known = Known::of(&training.docs, training.train, self.lambda.n_tokens());
        let (mut topics, mut others) = (Moments::default(), Moments::default());
        let mut order = training.train.to_vec();
        for draw in 0..draws {
            let (doc_ixs, _) =
                order.partial_shuffle(&mut rng(training.seed, Stream::Gradient(draw as u64)), batch);
            let sums = self.expect(training, doc_ixs)?;
            let step = |control| Step { rate: 0.0, sums: &sums, known: &known, control };
            topics.add([self.targets(&step(None)), self.targets(&step(Some(control)))]);
            others.add([self.local.targets(&step(None)), self.local.targets(&step(Some(control)))]);
        }
        Ok((topics, others))
    }

    fn targets(&self, step: &Step<'_>) -> Vec<f64> {
        let (n_topics, eta) = (self.lambda.n_topics(), L::svi(&self.options).eta);
        let mut targets = vec![0.0; self.lambda.values().len()];
        for (word, row) in (0u32..).zip(targets.chunks_exact_mut(n_topics)) {
            step.target(word, eta, row);
        }
        targets
    }
}
