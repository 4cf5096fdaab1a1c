//! The mixture of Bernoulli distributions as a baseline: a pass is an iteration of EM ([`crate::mixture`]), the score is exact.
//!
//! ```text
//! log p(d) = log sum_k exp(c_k + sum over tokens t of d of l_kt),   l_kt = log(P_kt / (1 - P_kt))
//! ```
//!
//! Unknown tokens are summed out: they leave `log(1 - P_kt)` out of c_k.

use super::model::{Model, Pass, Score, Training, most_telling};
use super::tensors::Tensors;
use crate::corpus::Docs;
use crate::error::{Error, Result};
use crate::mixture::{Counts, Data, Mixture, Pseudo, Scores};
use crate::numeric::f64::log_sum_exp;
use crate::rng::{Stream, rng};
use rand::RngExt;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::OnceLock;

/// Iterations after which dead components may begin anew, at most.
const RENEWALS: u32 = 5;
/// A pass that gains less, in nats a document, is the last.
const TOLERANCE: f64 = 1e-4;
/// Smoothing of the first iteration, so that components differ little, and of later ones where none is given: at most, and no more than the
/// documents of a component. EM that is smoothed as documents held out ask for lets most components die.
const FIRST_SMOOTHING: f64 = 20.0;
const EM_SMOOTHING: f64 = 5.0;
/// A token that no document of the training part holds is taken to be in this many of them, and one that all hold to be absent from as many.
const UNSEEN_DOCS: f64 = 0.1;
/// Smoothing of scores to choose from.
const LADDER: [f64; 8] = [1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0];

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
}

/// A mixture that learns.
pub struct MixtureModel {
    /// What documents are scored with: the counts, smoothed as documents held out ask for.
    mixture: Mixture,
    smoothing: f64,
    /// Whether that is given, and for iterations, too.
    is_given: bool,
    /// What the next iteration begins with; none in a finished model.
    counts: Option<Counts>,
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
    /// A mixture whose components begin at documents.
    ///
    /// # Errors
    ///
    /// Options that make no sense.
    pub fn start(options: &MixtureOptions, training: &Training<'_>) -> Result<Self> {
        options.check()?;
        let Training { docs, train, n_tokens, seed, monitor, .. } = *training;
        let data = Data::with_unknown(docs, train, n_tokens, monitor);
        let n = options.components;
        let mut counts = data.counts(n);
        let all: Vec<usize> = (0..n).collect();
        data.count_seeds(&mut counts, &all, &mut rng(seed, Stream::Mixture));
        let smoothing = options.smoothing.unwrap_or_else(|| em_smoothing(0, train.len(), n));
        let least = UNSEEN_DOCS / train.len().max(1) as f64;
        let frequency: Vec<f64> = data.frequency().iter().map(|p| p.clamp(least, 1.0 - least)).collect();
        let mixture = smoothed(&counts, smoothing, &frequency);
        let is_given = options.smoothing.is_some();
        Ok(Self { is_given, counts: Some(counts), ..Self::of(mixture, smoothing) })
    }

    fn of(mixture: Mixture, smoothing: f64) -> Self {
        let (n_renewals, climbed, tables) = (0, None, OnceLock::new());
        Self { mixture, smoothing, is_given: false, counts: None, n_renewals, climbed, tables }
    }

    /// From what [`Model::tensors`] gave.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where that is damaged.
    pub fn load(mut tensors: Tensors) -> Result<Self> {
        let facts = tensors.facts()?;
        let size = |key: &str| facts[key].as_u64().and_then(|n| usize::try_from(n).ok());
        let sizes = size("components").filter(|&n| n > 0).zip(size("tokens"));
        let (n_components, n_tokens) =
            sizes.ok_or_else(|| Error::Usage("the mixture's size is missing".into()))?;
        let n_all = n_components.checked_mul(n_tokens).filter(|n| *n <= usize::MAX / 2);
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
        let counts = match tensors.has("state_docs") {
            true => {
                let n_columns = if facts["unknown"] == true { 2 } else { 1 };
                let docs = tensors.take_f64("state_docs", n_components)?;
                let tokens = tensors.take_f64("state_tokens", n_all * n_columns)?;
                if docs.iter().chain(&tokens).any(|n| *n < 0.0) {
                    return Err(Error::Usage("counts of the mixture are below 0".into()));
                }
                Some(Counts { docs, tokens })
            }
            false => None,
        };
        let mixture = Mixture { shares, p, frequency, log_likelihood: 0.0, course: Vec::new() };
        let n_renewals = facts["renewals"].as_u64().unwrap_or(0).min(RENEWALS.into()) as u32;
        let (is_given, climbed) = (facts["given"] == true, facts["climbed"].as_f64());
        Ok(Self { is_given, counts, n_renewals, climbed, ..Self::of(mixture, smoothing) })
    }

    /// The mixture as it is now.
    pub fn mixture(&self) -> &Mixture {
        &self.mixture
    }

    /// The smoothing, as given or chosen.
    pub fn smoothing(&self) -> f64 {
        self.smoothing
    }

    /// The smoothing under which documents held out are likeliest: from the last one up or down the ladder, as long as it helps.
    fn choose_smoothing(&self, counts: &Counts, held_out: &Data<'_>, scores: &mut Scores) -> Result<f64> {
        let mut mean =
            |at: usize| held_out.mean(&smoothed(counts, LADDER[at], &self.mixture.frequency), scores);
        let mut at = LADDER.iter().position(|rung| *rung >= self.smoothing).unwrap_or(LADDER.len() - 1);
        let mut best = mean(at)?;
        for step in [1, -1] {
            let begin = at;
            while let Some(next) = at.checked_add_signed(step).filter(|&next| next < LADDER.len()) {
                let now = mean(next)?;
                if now <= best {
                    break;
                }
                (at, best) = (next, now);
            }
            if at != begin {
                break;
            }
        }
        Ok(LADDER[at])
    }

    fn tables(&self) -> &Tables {
        self.tables.get_or_init(|| {
            let Mixture { shares, p, .. } = &self.mixture;
            let n_tokens = self.mixture.n_tokens();
            let of_token = |table: fn(f64) -> f64| -> Vec<f64> {
                let row =
                    |token: usize| p.iter().skip(token).step_by(n_tokens.max(1)).map(move |&p| table(p));
                (0..n_tokens).flat_map(row).collect()
            };
            let constant = |(component, share): (usize, &f64)| {
                let absent = self.mixture.component(component).iter().map(|p| (-p).ln_1p());
                share.ln() + absent.sum::<f64>()
            };
            Tables {
                log_odds: of_token(|p| p.ln() - (-p).ln_1p()),
                unknown: of_token(|p| -(-p).ln_1p()),
                constants: shares.iter().enumerate().map(constant).collect(),
            }
        })
    }

    /// r_dk = p(d, k) / p(d), document by document.
    pub fn responsibilities(&self, docs: &Docs<'_>, doc_ixs: &[u32]) -> Vec<f64> {
        let (mut unknown, mut joint) = (Vec::new(), Vec::new());
        let mut shares = Vec::with_capacity(doc_ixs.len() * self.mixture.n_components());
        for &doc_ix in doc_ixs {
            self.log_joint(docs, doc_ix as usize, &mut unknown, &mut joint);
            let sum = log_sum_exp(joint.iter().copied());
            shares.extend(joint.iter().map(|joint| (joint - sum).exp()));
        }
        shares
    }

    /// p(k | given).
    fn shares_given(&self, given: &[(u32, bool)]) -> Vec<f64> {
        let joint = |(component, share): (usize, &f64)| {
            let p = self.mixture.component(component);
            let log = |&(token, is_present): &(u32, bool)| {
                let p = p[token as usize];
                if is_present { p.ln() } else { (-p).ln_1p() }
            };
            share.ln() + given.iter().map(log).sum::<f64>()
        };
        let joint: Vec<f64> = self.mixture.shares.iter().enumerate().map(joint).collect();
        let sum = log_sum_exp(joint.iter().copied());
        joint.iter().map(|joint| (joint - sum).exp()).collect()
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
        let Training { docs, train, valid, n_tokens, seed, monitor } = *training;
        let data = |doc_ixs| Data::with_unknown(docs, doc_ixs, n_tokens, monitor);
        let (train, mut scores) = (data(train), Scores::default());
        let Some(mut counts) = self.counts.take() else {
            return Err(Error::Usage("a finished mixture has no counts to go on from".into()));
        };
        let n_components = self.mixture.n_components();
        let usual = em_smoothing(number, training.train.len(), n_components);
        let smoothing = if self.is_given { self.smoothing } else { usual };
        let mut mixture = smoothed(&counts, smoothing, &self.mixture.frequency);
        let climbed = train.expect(&mut mixture, smoothing, &mut scores, &mut counts)?;
        let gain = self.climbed.map(|before| climbed - before);
        let mut random = rng(seed, Stream::MixtureRenewal(number.into()));
        let renewed = self.n_renewals < RENEWALS && train.renew_counts(&mut counts, &mut random);
        self.n_renewals += u32::from(renewed);
        // A component that begins anew may cost something at first, and so may another smoothing.
        self.climbed = (!renewed && (number > 0 || self.is_given)).then_some(climbed);
        if !self.is_given && !valid.is_empty() {
            self.smoothing = self.choose_smoothing(&counts, &data(valid), &mut scores)?;
        } else if !self.is_given {
            self.smoothing = smoothing;
        }
        self.mixture = smoothed(&counts, self.smoothing, &mixture.frequency);
        (self.counts, self.tables) = (Some(counts), OnceLock::new());
        let converged = gain.is_some_and(|gain| gain < TOLERANCE) && !renewed;
        Ok(Pass { train_score: Some(mixture.log_likelihood), steps: 1, converged })
    }

    fn scores(&self, docs: &Docs<'_>, doc_ixs: &[u32]) -> Vec<f64> {
        let (mut unknown, mut joint) = (Vec::new(), Vec::new());
        let score = |&doc_ix: &u32| {
            self.log_joint(docs, doc_ix as usize, &mut unknown, &mut joint);
            log_sum_exp(joint.iter().copied())
        };
        doc_ixs.iter().map(score).collect()
    }

    /// `sum_k p(k | given) P_kt`, and 0 or 1 for what is given.
    fn marginals(&self, given: &[(u32, bool)]) -> Option<Vec<f64>> {
        let mut p = vec![0.0; self.n_tokens()];
        for (component, share) in self.shares_given(given).into_iter().enumerate() {
            p.iter_mut().zip(self.mixture.component(component)).for_each(|(sum, p)| *sum += share * p);
        }
        given.iter().for_each(|&(token, is_present)| p[token as usize] = f64::from(u8::from(is_present)));
        Some(p)
    }

    fn sample(&self, given: &[(u32, bool)], n_docs: usize, seed: u64) -> Result<Option<Vec<Vec<u32>>>> {
        let shares = self.shares_given(given);
        let draw = |doc: u64| {
            let mut random = rng(seed, Stream::MixtureSample(doc));
            let mut left = random.random::<f64>();
            let found = shares.iter().position(|share| {
                left -= share;
                left < 0.0
            });
            // Rounding may leave something behind the last.
            let component = self.mixture.component(found.unwrap_or(shares.len() - 1));
            let states: FxHashMap<u32, bool> = given.iter().copied().collect();
            let mut is_present = |(token, &p): (u32, &f64)| {
                // A number is drawn for every token, so that what is given changes nothing but itself and the component.
                let drawn = random.random::<f64>() < p;
                states.get(&token).copied().unwrap_or(drawn).then_some(token)
            };
            (0u32..).zip(component).filter_map(&mut is_present).collect()
        };
        Ok(Some((0..n_docs as u64).map(draw).collect()))
    }

    fn feature_names(&self) -> Vec<String> {
        (0..self.mixture.n_components()).map(|component| format!("component {component}")).collect()
    }

    fn features(&self, docs: &Docs<'_>, doc_ixs: &[u32]) -> Vec<f32> {
        self.responsibilities(docs, doc_ixs).into_iter().map(|share| share as f32).collect()
    }

    /// By `P_kt log(P_kt / p_t)`.
    fn top_tokens(&self, feature: usize, n: usize) -> Vec<(u32, f64)> {
        most_telling(self.mixture.component(feature), &self.mixture.frequency, n)
    }

    fn tensors(&self) -> Tensors {
        let Mixture { shares, p, frequency, .. } = &self.mixture;
        let (n_components, n_tokens) = (shares.len(), frequency.len());
        let has_unknown = self.counts.as_ref().is_some_and(|counts| counts.tokens.len() > p.len());
        let facts = json!({
            "components": n_components, "tokens": n_tokens, "smoothing": self.smoothing, "given": self.is_given,
            "unknown": has_unknown, "renewals": self.n_renewals, "climbed": self.climbed,
        });
        let tensors = Tensors::new(&facts)
            .with_f64("shares", &[n_components], shares.clone())
            .with_f64("p", &[n_components, n_tokens], p.clone())
            .with_f64("frequency", &[n_tokens], frequency.clone());
        let Some(Counts { docs, tokens }) = &self.counts else { return tensors };
        let n_columns = tokens.len() / n_components;
        tensors.with_f64("state_docs", &[n_components], docs.clone()).with_f64(
            "state_tokens",
            &[n_components, n_columns],
            tokens.clone(),
        )
    }
}

/// The mixture of these counts.
fn smoothed(counts: &Counts, smoothing: f64, frequency: &[f64]) -> Mixture {
    let n_components = counts.docs.len();
    let mut mixture = Mixture {
        shares: vec![0.0; n_components],
        p: vec![0.0; n_components * frequency.len()],
        frequency: frequency.to_vec(),
        log_likelihood: f64::NEG_INFINITY,
        course: Vec::new(),
    };
    counts.maximise(&Pseudo::like_all(smoothing, frequency), &mut mixture);
    mixture
}

/// Smoothing of an iteration where none is given.
fn em_smoothing(number: u32, n_docs: usize, n_components: usize) -> f64 {
    let most = if number == 0 { FIRST_SMOOTHING } else { EM_SMOOTHING };
    (n_docs as f64 / n_components as f64).clamp(1.0, most)
}
