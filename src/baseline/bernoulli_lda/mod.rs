//! Latent Dirichlet allocation of binary documents: topics are Bernoulli distributions, and absent words are observations, too.
//!
//! ```text
//! theta_d ~ Dir(alpha);   for every word v:  z_dv ~ theta_d,   y_dv ~ Bernoulli(b_{z_dv, v})
//! ```
//!
//! Learned by variational EM over all training documents: gamma of each document (`topics/membership.rs`), then
//!
//! ```text
//! b_kv = (sum_d y_dv phi_dvk + s1) / (sum_d phi_dvk + s1 + s0)
//! ```
//!
//! which never lowers `sum_d L_d + sum_kv (s1 log b_kv + s0 log(1 - b_kv))`: a document starts afresh in every pass, and goes
//! on from its gamma of the pass before where it would lose.  The score is the bound L_d. It is loose, because all words share one theta: [`BernoulliLda::estimate`] samples the likelihood itself. Unknown words are
//! left out of both.

mod learn;
mod options;
mod sample;

pub use options::BernoulliLdaOptions;

use super::model::most_telling;
use super::topics::{Membership, Prior, Until, cells, n_of, names, shares, within};
use super::{Model, Pass, Score, Tensors, Training};
use crate::corpus::{Docs, token_frequency};
use crate::error::{Error, Result};
use crate::rng::{Stream, rng};
use rand::RngExt;
use serde_json::json;

/// The range of b: nothing is impossible, and nothing certain.
const B_RANGE: (f64, f64) = (1e-6, 1.0 - 1e-6);
/// The range of gammas in a file.
const GAMMA_RANGE: (f64, f64) = (1e-6, 1e15);
/// b starts at the word's frequency times a number of this range.
const START: std::ops::Range<f64> = 0.3..1.7;

/// The model.
#[derive(Debug, Clone, PartialEq)]
pub struct BernoulliLda {
    options: BernoulliLdaOptions,
    n_tokens: usize,
    alpha: Vec<f64>,
    /// b_kv, topic by topic.
    b: Vec<f64>,
    /// What the pass before came to, per document, with the smoothing's part.
    objective: Option<f64>,
    /// gamma of every distinct training document; none before the first pass.
    gammas: Vec<f64>,
}

impl BernoulliLda {
    /// Topics at random around the words' frequencies.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for options that make no sense.
    pub fn start(options: &BernoulliLdaOptions, training: &Training<'_>) -> Result<Self> {
        options.check()?;
        let frequency = token_frequency(&training.docs, training.train, training.n_tokens);
        let mut random = rng(training.seed, Stream::Topics);
        let rows = (0..options.topics).flat_map(|_| &frequency);
        let b = rows.map(|f| (f * random.random_range(START)).clamp(B_RANGE.0, B_RANGE.1)).collect();
        let alpha = vec![options.alpha; options.topics];
        Ok(Self {
            options: options.clone(),
            n_tokens: training.n_tokens,
            alpha,
            b,
            objective: None,
            gammas: Vec::new(),
        })
    }

    /// What [`Model::tensors`] gave.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where arrays are missing or out of range: a damaged file.
    pub fn load(mut tensors: Tensors) -> Result<Self> {
        let facts = tensors.facts()?;
        let options: BernoulliLdaOptions = serde_json::from_value(facts["options"].clone())
            .map_err(|e| Error::Usage(format!("options of the model: {e}")))?;
        options.check()?;
        let n_tokens = n_of(&facts, "n_tokens")?;
        let alpha = tensors.take_f64("alpha", options.topics)?;
        let b = tensors.take_f64("b", cells(options.topics, n_tokens)?)?;
        let objective = match tensors.has("state_objective") {
            true => Some(tensors.take_f64("state_objective", 1)?[0]),
            false => None,
        };
        let gammas = match tensors.has("state_gammas") {
            true => tensors.take_f64("state_gammas", n_of(&facts, "n_gammas")?)?,
            false => Vec::new(),
        };
        within("state_gammas", &gammas, GAMMA_RANGE)?;
        within("alpha", &alpha, options::ALPHA_RANGE)?;
        within("b", &b, B_RANGE)?;
        Ok(Self { options, n_tokens, alpha, b, objective, gammas })
    }

    /// gamma of a document: q(theta) = Dir(gamma).
    pub fn gamma(&self, docs: &Docs<'_>, doc_ix: u32) -> Vec<f64> {
        let mut document = Membership::default();
        self.infer(docs, doc_ix, &mut document);
        document.gamma().to_vec()
    }

    fn prior(&self) -> Prior<'_> {
        Prior::Dirichlet(&self.alpha)
    }

    fn topic(&self, topic: usize) -> &[f64] {
        &self.b[topic * self.n_tokens..][..self.n_tokens]
    }

    /// Fills in what a document shows of every word.
    fn observe(&self, docs: &Docs<'_>, doc_ix: u32, document: &mut Membership) {
        document.begin(self.options.topics, self.n_tokens);
        for topic in 0..self.options.topics {
            let (b, p) = (self.topic(topic), document.row(topic));
            p.iter_mut().zip(b).for_each(|(p, b)| *p = 1.0 - b);
            docs.tokens(doc_ix as usize).for_each(|token| p[token as usize] = b[token as usize]);
        }
        if docs.has_unknown() {
            let mut unknown = Vec::new();
            docs.unknown(doc_ix as usize, &mut unknown);
            unknown.into_iter().for_each(|token| document.leave_out(token as usize));
        }
    }

    /// Finds the best gamma of several starts: equal shares, then all words with one of the topics that this finds largest.
    fn infer(&self, docs: &Docs<'_>, doc_ix: u32, document: &mut Membership) {
        self.observe(docs, doc_ix, document);
        document.climb(self.prior(), None, self.options.until());
        let (mut best, mut gamma) = (document.bound(self.prior()), document.gamma().to_vec());
        let mut topics: Vec<usize> = (0..gamma.len()).collect();
        topics.sort_by(|&a, &b| gamma[b].total_cmp(&gamma[a]));
        topics.truncate(self.options.starts as usize);
        for topic in topics {
            let mut start = self.alpha.clone();
            start[topic] += self.n_tokens as f64;
            document.climb(self.prior(), Some(&start), self.options.until());
            if document.bound(self.prior()) > best {
                (best, gamma) = (document.bound(self.prior()), document.gamma().to_vec());
            }
        }
        if self.options.starts > 0 {
            document.climb(self.prior(), Some(&gamma), Until { sweeps: 0, ..self.options.until() });
        }
    }
}

impl Model for BernoulliLda {
    fn name(&self) -> &'static str {
        "bernoulli-lda"
    }

    fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    fn score(&self) -> Score {
        Score::Bound
    }

    fn n_parameters(&self) -> usize {
        self.b.len()
    }

    fn takes_unknown(&self) -> bool {
        true
    }

    fn pass(&mut self, training: &Training<'_>, _number: u32) -> Result<Pass> {
        self.em_step(training)
    }

    fn scores(&self, docs: &Docs<'_>, doc_ixs: &[u32]) -> Vec<f64> {
        let mut document = Membership::default();
        let score = |&doc_ix: &u32| {
            self.infer(docs, doc_ix, &mut document);
            document.bound(self.prior())
        };
        doc_ixs.iter().map(score).collect()
    }

    fn estimates(
        &self,
        docs: &Docs<'_>,
        doc_ixs: &[u32],
        draws: usize,
        seed: u64,
    ) -> Option<Vec<(f64, f64)>> {
        Some(self.estimate(docs, doc_ixs, draws, seed))
    }

    fn feature_names(&self) -> Vec<String> {
        names(self.options.topics)
    }

    /// By `p log(p / q)`, q being the mean over topics.
    fn top_tokens(&self, feature: usize, n: usize) -> Vec<(u32, f64)> {
        let mut mean = vec![0.0; self.n_tokens];
        let share = 1.0 / self.options.topics as f64;
        for topic in self.b.chunks_exact(self.n_tokens.max(1)) {
            mean.iter_mut().zip(topic).for_each(|(mean, p)| *mean += share * p);
        }
        most_telling(&self.b[feature * self.n_tokens..][..self.n_tokens], &mean, n)
    }

    fn features(&self, docs: &Docs<'_>, doc_ixs: &[u32]) -> Vec<f32> {
        let mut document = Membership::default();
        let mut features = Vec::with_capacity(doc_ixs.len() * self.options.topics);
        for &doc_ix in doc_ixs {
            self.infer(docs, doc_ix, &mut document);
            features.extend(shares(document.gamma()).map(|theta| theta as f32));
        }
        features
    }

    /// `sum_k E[theta_k] b_kv`, where theta is inferred from the given words alone.
    fn predictive(&self, given: &[u32]) -> Option<Vec<f64>> {
        let mut document = Membership::default();
        document.begin(self.options.topics, given.len());
        for topic in 0..self.options.topics {
            let b = self.topic(topic);
            document.row(topic).iter_mut().zip(given).for_each(|(p, &token)| *p = b[token as usize]);
        }
        document.climb(self.prior(), None, self.options.until());
        let mut weights = vec![0.0; self.n_tokens];
        for (topic, theta) in shares(document.gamma()).enumerate() {
            weights.iter_mut().zip(self.topic(topic)).for_each(|(weight, b)| *weight += theta * b);
        }
        Some(weights)
    }

    fn tensors(&self) -> Tensors {
        let topics = self.options.topics;
        let tensors = Tensors::new(
            &json!({ "options": self.options, "n_tokens": self.n_tokens, "n_gammas": self.gammas.len() }),
        )
        .with_f64("alpha", &[topics], self.alpha.clone())
        .with_f64("b", &[topics, self.n_tokens], self.b.clone());
        match self.objective {
            Some(objective) => tensors.with_f64("state_objective", &[1], vec![objective]).with_f64(
                "state_gammas",
                &[self.gammas.len() / topics, topics],
                self.gammas.clone(),
            ),
            None => tensors,
        }
    }
}
