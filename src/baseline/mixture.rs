//! The mixture of Bernoulli distributions as a baseline: a pass is an iteration of EM ([`crate::mixture`]), the score is exact.
//!
//! ```text
//! log p(d) = log sum_k exp(c_k + sum over tokens t of d of l_kt),   l_kt = log(P_kt / (1 - P_kt))
//! ```
//!
//! Unknown tokens are summed out: they leave `log(1 - P_kt)` out of c_k.

use super::model::{Model, Pass, Score, Training};
use super::tensors::Tensors;
use crate::corpus::Docs;
use crate::error::{Error, Result};
use crate::mixture::{self, Data, Mixture, Scores};
use crate::numeric::f64::log_sum_exp;
use crate::rng::{Stream, rng};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::OnceLock;

/// Iterations after which dead components may begin anew, at most.
const RENEWALS: u32 = 5;

/// Options of a mixture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MixtureOptions {
    /// Components.
    pub components: usize,
    /// Documents that every component has besides its own: they hold each token as often as all documents do. None: as many as make
    /// the documents held out likeliest.
    pub smoothing: Option<f64>,
}

impl Default for MixtureOptions {
    fn default() -> Self {
        Self { components: 100, smoothing: None }
    }
}

impl MixtureOptions {
    /// Refuses what makes no sense.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] then.
    pub fn check(&self) -> Result<()> {
        if self.components == 0 {
            return Err(Error::Usage("`components` must be 1 at least; it is 0".into()));
        }
        match self.smoothing.filter(|smoothing| !(*smoothing > 0.0 && smoothing.is_finite())) {
            Some(smoothing) => Err(Error::Usage(format!("`smoothing` must be above 0; it is {smoothing}"))),
            None => Ok(()),
        }
    }

    fn fitting(&self, seed: u64) -> mixture::MixtureOptions {
        let Self { components, smoothing } = *self;
        mixture::MixtureOptions { components, smoothing, seed, ..mixture::MixtureOptions::default() }
    }
}

/// A mixture that learns.
pub struct MixtureModel {
    mixture: Mixture,
    smoothing: f64,
    n_renewals: u32,
    /// What EM climbed to in the last pass; none where components began anew since.
    climbed: Option<f64>,
    tables: OnceLock<Tables>,
}

/// What documents are scored with.
struct Tables {
    /// l_kt, token by token, then what takes an absent token back.
    log_odds: Vec<f64>,
    unknown: Vec<f64>,
    /// c_k.
    constants: Vec<f64>,
}

impl MixtureModel {
    /// A mixture whose components begin at documents, and whose smoothing is chosen.
    ///
    /// # Errors
    ///
    /// Options that make no sense, no documents, cancellation.
    pub fn start(options: &MixtureOptions, training: &Training<'_>) -> Result<Self> {
        options.check()?;
        let Training { docs, train, valid, n_tokens, seed, monitor } = *training;
        let data = |doc_ixs| Data::with_unknown(docs, doc_ixs, n_tokens, monitor);
        let (train, fitting) = (data(train), options.fitting(seed));
        let smoothing = match options.smoothing {
            Some(smoothing) => smoothing,
            None => train.choose_smoothing(&data(valid), &fitting)?,
        };
        let mixture = train.seeded(options.components, &mut rng(seed, Stream::Mixture));
        Ok(Self::of(mixture, smoothing))
    }

    fn of(mixture: Mixture, smoothing: f64) -> Self {
        Self { mixture, smoothing, n_renewals: 0, climbed: None, tables: OnceLock::new() }
    }

    /// From what [`Model::tensors`] gave.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where that is damaged.
    pub fn load(mut tensors: Tensors) -> Result<Self> {
        let facts = tensors.facts()?;
        let size = |key: &str| facts[key].as_u64().and_then(|n| usize::try_from(n).ok()).filter(|&n| n > 0);
        let sizes = size("components").zip(size("tokens"));
        let (n_components, n_tokens) =
            sizes.ok_or_else(|| Error::Usage("the mixture's size is missing".into()))?;
        let n_all = n_components.checked_mul(n_tokens);
        let n_all = n_all.ok_or_else(|| Error::Usage("the mixture's size is absurd".into()))?;
        let shares = tensors.take_f64("shares", n_components)?;
        let p = tensors.take_f64("p", n_all)?;
        let frequency = tensors.take_f64("frequency", n_tokens)?;
        let sum: f64 = shares.iter().sum();
        let is_sound = p.iter().all(|p| *p > 0.0 && *p < 1.0)
            && shares.iter().all(|share| *share >= 0.0)
            && (sum - 1.0).abs() < 1e-6
            && frequency.iter().all(|share| (0.0..=1.0).contains(share));
        let smoothing = facts["smoothing"].as_f64().filter(|smoothing| *smoothing > 0.0);
        let Some(smoothing) = smoothing.filter(|_| is_sound) else {
            return Err(Error::Usage("the mixture's numbers are no probabilities".into()));
        };
        let mixture = Mixture { shares, p, frequency, log_likelihood: 0.0, course: Vec::new() };
        let n_renewals = facts["renewals"].as_u64().unwrap_or(0).min(RENEWALS.into()) as u32;
        Ok(Self { n_renewals, climbed: facts["climbed"].as_f64(), ..Self::of(mixture, smoothing) })
    }

    /// The mixture as it is now.
    pub fn mixture(&self) -> &Mixture {
        &self.mixture
    }

    /// The smoothing, as given or chosen.
    pub fn smoothing(&self) -> f64 {
        self.smoothing
    }

    fn tables(&self) -> &Tables {
        self.tables.get_or_init(|| {
            let Mixture { shares, p, .. } = &self.mixture;
            let n_tokens = self.mixture.n_tokens();
            let of_token = |table: fn(f64) -> f64| -> Vec<f64> {
                let row = |token: usize| p.iter().skip(token).step_by(n_tokens).map(move |&p| table(p));
                (0..n_tokens).flat_map(row).collect()
            };
            let constant =
                |(share, p): (&f64, &[f64])| share.ln() + p.iter().map(|p| (-p).ln_1p()).sum::<f64>();
            Tables {
                log_odds: of_token(|p| p.ln() - (-p).ln_1p()),
                unknown: of_token(|p| -(-p).ln_1p()),
                constants: shares.iter().zip(p.chunks_exact(n_tokens)).map(constant).collect(),
            }
        })
    }

    /// log p(d, k) of every component.
    fn log_joint(&self, docs: &Docs<'_>, doc_ix: usize, unknown: &mut Vec<u32>, joint: &mut Vec<f64>) {
        let Tables { log_odds, unknown: of_unknown, constants } = self.tables();
        let width = constants.len();
        joint.clear();
        joint.extend_from_slice(constants);
        let mut add = |table: &[f64], token: u32| {
            let row = &table[token as usize * width..][..width];
            joint.iter_mut().zip(row).for_each(|(sum, l)| *sum += l);
        };
        docs.tokens(doc_ix).for_each(|token| add(log_odds, token));
        if docs.has_unknown() {
            docs.unknown(doc_ix, unknown);
            unknown.iter().for_each(|&token| add(of_unknown, token));
        }
    }
}

impl Model for MixtureModel {
    fn name(&self) -> &'static str {
        "mixture"
    }

    fn n_tokens(&self) -> usize {
        self.mixture.n_tokens()
    }

    fn score(&self) -> Score {
        Score::Exact
    }

    fn n_parameters(&self) -> usize {
        self.mixture.n_components() * (self.n_tokens() + 1) - 1
    }

    fn takes_unknown(&self) -> bool {
        true
    }

    fn pass(&mut self, training: &Training<'_>, number: u32) -> Result<Pass> {
        let Training { docs, train, n_tokens, seed, monitor, .. } = *training;
        let data = Data::with_unknown(docs, train, n_tokens, monitor);
        let mut counts = data.counts(self.mixture.n_components());
        let climbed = data.expect(&mut self.mixture, self.smoothing, &mut Scores::default(), &mut counts)?;
        let gain = self.climbed.map(|before| climbed - before);
        data.step(&counts, self.smoothing, &mut self.mixture);
        let mut random = rng(seed, Stream::MixtureRenewal(number.into()));
        let renewed = self.n_renewals < RENEWALS && data.renew(&mut self.mixture, &mut random);
        self.n_renewals += u32::from(renewed);
        // A component that begins anew may cost something at first.
        self.climbed = (!renewed).then_some(climbed);
        self.tables = OnceLock::new();
        let tolerance = mixture::MixtureOptions::default().tolerance;
        let converged = gain.is_some_and(|gain| gain < tolerance) && !renewed;
        Ok(Pass { train_score: Some(self.mixture.log_likelihood), steps: 1, converged })
    }

    fn scores(&self, docs: &Docs<'_>, doc_ixs: &[u32]) -> Vec<f64> {
        let (mut unknown, mut joint) = (Vec::new(), Vec::new());
        let score = |&doc_ix: &u32| {
            self.log_joint(docs, doc_ix as usize, &mut unknown, &mut joint);
            log_sum_exp(joint.iter().copied())
        };
        doc_ixs.iter().map(score).collect()
    }

    fn feature_names(&self) -> Vec<String> {
        (0..self.mixture.n_components()).map(|component| format!("component {component}")).collect()
    }

    fn features(&self, docs: &Docs<'_>, doc_ixs: &[u32]) -> Vec<f32> {
        let (mut unknown, mut joint) = (Vec::new(), Vec::new());
        let mut features = Vec::with_capacity(doc_ixs.len() * self.mixture.n_components());
        for &doc_ix in doc_ixs {
            self.log_joint(docs, doc_ix as usize, &mut unknown, &mut joint);
            let sum = log_sum_exp(joint.iter().copied());
            features.extend(joint.iter().map(|joint| (joint - sum).exp() as f32));
        }
        features
    }

    fn tensors(&self) -> Tensors {
        let Mixture { shares, p, frequency, .. } = &self.mixture;
        let (n_components, n_tokens) = (shares.len(), frequency.len());
        let facts = json!({
            "components": n_components, "tokens": n_tokens, "smoothing": self.smoothing,
            "renewals": self.n_renewals, "climbed": self.climbed,
        });
        Tensors::new(&facts)
            .with_f64("shares", &[n_components], shares.clone())
            .with_f64("p", &[n_components, n_tokens], p.clone())
            .with_f64("frequency", &[n_tokens], frequency.clone())
    }
}
