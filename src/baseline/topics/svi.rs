//! Stochastic variational inference (Hoffman et al. 2013) of topics: batches of a shuffled order, a step after each.

use super::control::Control;
use super::lambda::{Known, LAMBDA_RANGE, Lambda};
use super::local::{Found, Local};
use super::rows::Rows;
use super::step::Step;
use super::sums::Sums;
use super::{cells, n_of, names, within};
use crate::baseline::model::most_telling;
use crate::baseline::{Model, Pass, Score, Tensors, Training};
use crate::corpus::Docs;
use crate::error::{Error, Result};
use crate::rng::{Stream, rng};
use rand::seq::SliceRandom;
use serde_json::json;

/// lam is at least this share of its prior: a correction may take more than there is.
const LEAST: f64 = 0.1;

/// A topic model of words: `L` is what a document is.
#[derive(Debug, Clone, PartialEq)]
pub struct Svi<L: Local> {
    pub(super) options: L::Options,
    pub(super) local: L,
    pub(super) lambda: Lambda,
    pub(super) control: Option<Control>,
    /// Steps taken.
    steps: u64,
    /// Mean score of the last pass.
    score: Option<f64>,
}

impl<L: Local> Svi<L> {
    /// Topics at random around the words' frequencies.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for options that make no sense.
    pub fn start(options: &L::Options, training: &Training<'_>) -> Result<Self> {
        let local = L::start(options)?;
        let svi = L::svi(options);
        cells(svi.topics, training.n_tokens)?;
        let known = Known::of(&training.docs, training.train, training.n_tokens);
        let lambda = Lambda::start(svi.topics, svi.eta, &known, training.seed);
        let control = svi.control_variates.then(|| Control::new(svi.topics, training.n_tokens));
        Ok(Self { options: options.clone(), local, lambda, control, steps: 0, score: None })
    }

    /// What [`Model::tensors`] gave.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where arrays are missing or out of range: a damaged file.
    pub fn load(mut tensors: Tensors) -> Result<Self> {
        let facts = tensors.facts()?;
        let options: L::Options = serde_json::from_value(facts["options"].clone())
            .map_err(|e| Error::Usage(format!("options of the model: {e}")))?;
        let mut local = L::start(&options)?;
        let (n_topics, n_tokens) = (L::svi(&options).topics, n_of(&facts, "n_tokens")?);
        let n_cells = cells(n_topics, n_tokens)?;
        let take = |tensors: &mut Tensors, name: &str, len: usize, range: (f64, f64)| {
            let values = tensors.take_f64(name, len)?;
            within(name, &values, range).map(|()| values)
        };
        let lambda = Lambda::new(take(&mut tensors, "lambda", n_cells, LAMBDA_RANGE)?, n_topics);
        let mut control = L::svi(&options).control_variates.then(|| Control::new(n_topics, n_tokens));
        let (mut steps, mut score) = (0, None);
        if tensors.has("state_steps") {
            steps = take(&mut tensors, "state_steps", 1, (0.0, 1e15))?[0] as u64;
            if let Some(control) = &mut control {
                control.mean = take(&mut tensors, "state_mean", n_cells, (0.0, 1.0 + 1e-9))?;
                control.weight = take(&mut tensors, "state_weight", n_tokens, (0.0, 1e15))?;
                control.cov = take(&mut tensors, "state_cov", n_topics, (0.0, 1e15))?;
                control.var = take(&mut tensors, "state_var", n_topics, (0.0, 1e15))?;
            }
        }
        if tensors.has("state_score") {
            score = Some(tensors.take_f64("state_score", 1)?[0]);
        }
        local.load(&mut tensors)?;
        Ok(Self { options, local, lambda, control, steps, score })
    }

    /// Options of the model.
    pub fn options(&self) -> &L::Options {
        &self.options
    }

    /// `E[beta_k]` of one topic: the probability of every word.
    pub fn topic(&self, topic: usize) -> Vec<f64> {
        let mut theta = vec![0.0; self.lambda.n_topics()];
        theta[topic] = 1.0;
        self.lambda.mix(&theta)
    }

    /// What a batch comes to at the parameters as they are.
    pub(super) fn expect(&self, training: &Training<'_>, doc_ixs: &[u32]) -> Result<Sums> {
        let rows = Rows::of_docs(&self.lambda, L::LOGS, &training.docs, doc_ixs, true);
        Sums::of(&self.local, &self.options, self.control.as_ref(), rows, training, doc_ixs)
    }

    /// Steps through some of the training documents, in batches; the mean of their scores. A pass is this for all of them, shuffled.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`].
    pub fn learn(&mut self, training: &Training<'_>, doc_ixs: &[u32]) -> Result<f64> {
        let known = Known::of(&training.docs, training.train, self.n_tokens());
        let mut score = 0.0;
        for batch in doc_ixs.chunks(L::svi(&self.options).batch) {
            let sums = self.expect(training, batch)?;
            score += sums.score;
            self.advance(&sums, &known);
        }
        Ok(score / doc_ixs.len().max(1) as f64)
    }

    fn advance(&mut self, sums: &Sums, known: &Known) {
        let svi = L::svi(&self.options);
        let step = Step { rate: svi.rate(self.steps), sums, known, control: self.control.as_ref() };
        self.local.advance(&step);
        self.lambda.advance(step.rate, LEAST * svi.eta, |word, row| step.target(word, svi.eta, row));
        let rate = step.rate;
        if let Some(control) = &mut self.control {
            control.learn(sums, known, rate);
        }
        self.steps += 1;
    }

    /// Finds the topics of documents, one after another, and tells what was found of each.
    fn each(&self, docs: &Docs<'_>, doc_ixs: &[u32], mut tell: impl FnMut(&Found)) {
        let rows = Rows::of_docs(&self.lambda, L::LOGS, docs, doc_ixs, false);
        let (mut scratch, mut found, mut words) = (L::Scratch::default(), Found::default(), Vec::new());
        for &doc_ix in doc_ixs {
            words.clear();
            words.extend(docs.tokens(doc_ix as usize));
            self.local.infer(&self.options, &words, &rows, &mut scratch, &mut found);
            tell(&found);
        }
    }
}

impl<L: Local> Model for Svi<L> {
    fn name(&self) -> &'static str {
        L::NAME
    }

    fn n_tokens(&self) -> usize {
        self.lambda.n_tokens()
    }

    fn score(&self) -> Score {
        L::SCORE
    }

    fn score_of(&self) -> Option<&'static str> {
        Some(L::SCORE_OF)
    }

    fn n_parameters(&self) -> usize {
        self.lambda.values().len() + self.local.n_parameters()
    }

    fn pass(&mut self, training: &Training<'_>, number: u32) -> Result<Pass> {
        let mut order = training.train.to_vec();
        order.shuffle(&mut rng(training.seed, Stream::Shuffle(u64::from(number))));
        let before = self.steps;
        let score = self.learn(training, &order)?;
        let close = |before: f64| (score - before).abs() <= L::svi(&self.options).tolerance * score.abs();
        let converged = self.score.is_some_and(close);
        self.score = Some(score);
        Ok(Pass { train_score: Some(score), steps: self.steps - before, converged })
    }

    fn scores(&self, docs: &Docs<'_>, doc_ixs: &[u32]) -> Vec<f64> {
        let mut scores = Vec::with_capacity(doc_ixs.len());
        self.each(docs, doc_ixs, |found| scores.push(found.score));
        scores
    }

    fn feature_names(&self) -> Vec<String> {
        names(self.lambda.n_topics())
    }

    /// By `p log(p / q)`, q being the mean over topics.
    fn top_tokens(&self, feature: usize, n: usize) -> Vec<(u32, f64)> {
        let n_topics = self.lambda.n_topics();
        let mean = self.lambda.mix(&vec![1.0 / n_topics as f64; n_topics]);
        most_telling(&self.topic(feature), &mean, n)
    }

    fn features(&self, docs: &Docs<'_>, doc_ixs: &[u32]) -> Vec<f32> {
        let mut features = Vec::with_capacity(doc_ixs.len() * self.lambda.n_topics());
        self.each(docs, doc_ixs, |found| features.extend(found.theta.iter().map(|&theta| theta as f32)));
        features
    }

    /// `sum_k E[theta_k] E[beta_kv]`.
    fn predictive(&self, given: &[u32]) -> Option<Vec<f64>> {
        let rows = Rows::of(&self.lambda, L::LOGS, given.iter().copied(), false);
        let (mut scratch, mut found) = (L::Scratch::default(), Found::default());
        self.local.infer(&self.options, given, &rows, &mut scratch, &mut found);
        Some(self.lambda.mix(&found.theta))
    }

    fn tensors(&self) -> Tensors {
        let (n_topics, n_tokens) = (self.lambda.n_topics(), self.n_tokens());
        let mut tensors = Tensors::new(&json!({ "options": self.options, "n_tokens": n_tokens }))
            .with_f64("lambda", &[n_tokens, n_topics], self.lambda.values().to_vec())
            .with_f64("state_steps", &[1], vec![self.steps as f64]);
        if let Some(score) = self.score {
            tensors = tensors.with_f64("state_score", &[1], vec![score]);
        }
        if let Some(control) = &self.control {
            tensors = tensors
                .with_f64("state_mean", &[n_tokens, n_topics], control.mean.clone())
                .with_f64("state_weight", &[n_tokens], control.weight.clone())
                .with_f64("state_cov", &[n_topics], control.cov.clone())
                .with_f64("state_var", &[n_topics], control.var.clone());
        }
        self.local.save(tensors)
    }
}
