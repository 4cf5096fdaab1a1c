//! Options of sum-product networks.

use super::params::Surrogate;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// How weights are fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// Smoothed EM.
    Em,
    /// Projected gradient ascent of the likelihood, the paper's "MLE-SPN".
    Mle,
    /// Collapsed variational Bayes by its fixed point, beta <- alpha + n(beta).
    #[default]
    Cvb,
    /// The same objective by projected gradient descent with a line search, as in the paper.
    CvbPaper,
    /// Stochastic variational inference: steps by mini-batches.
    Online,
    /// One pass in which the posterior of a mini-batch is the prior of the next.
    Stream,
}

impl Fit {
    /// Every fit, by its name.
    pub const NAMES: [(&'static str, Self); 6] = [
        ("em", Self::Em),
        ("mle", Self::Mle),
        ("cvb", Self::Cvb),
        ("cvb-paper", Self::CvbPaper),
        ("online", Self::Online),
        ("stream", Self::Stream),
    ];

    /// Whether weights have a prior and a posterior.
    pub fn is_bayesian(self) -> bool {
        !matches!(self, Self::Em | Self::Mle)
    }
}

/// Where weights begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// At the counts that the structure was learned with.
    Structure,
    /// At random weights.
    Random,
}

/// What the prior of a node's weights has as its mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PriorMean {
    /// The weights that the structure was learned with, as in the paper.
    Structure,
    /// The frequency of a leaf's token among the rows that its cluster was split from; the children of a sum are equally likely.
    #[default]
    Parent,
}

/// How rows are split into clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clustering {
    /// EM of a mixture of `clusters` components; a row goes to its likeliest.
    #[default]
    Soft,
    /// Hard incremental EM: a row opens a cluster of its own where that is worth `penalty` nats a token.
    Hard,
}

/// Options of [`Spn::start`](super::Spn::start).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpnOptions {
    /// How weights are fitted.
    pub fit: Fit,
    /// Where weights begin; none: at random with `mle` and `cvb-paper`, as in the paper, else at the counts of the structure.
    pub start: Option<Start>,
    /// What EM adds to every count.
    pub smoothing: f64,
    /// Rows that the prior of a node is worth.
    pub prior: f64,
    /// Its mean.
    pub prior_mean: PriorMean,
    /// The least parameter of a prior.
    pub prior_floor: f64,
    /// What stands in for Dirichlet distributions with `cvb-paper`.
    pub surrogate: Surrogate,
    /// Documents of a mini-batch, with `online` and `stream`.
    pub batch: usize,
    /// How rows are split.
    pub clustering: Clustering,
    /// Components of soft clustering.
    pub clusters: usize,
    /// Starts of every clustering; the best is taken.
    pub restarts: usize,
    /// What a further cluster costs in hard clustering, in nats a token.
    pub penalty: f64,
    /// Two tokens depend on each other where independence has a smaller p-value.
    pub p_value: f64,
    /// Fewer rows are not split further.
    pub min_rows: usize,
    /// Layers of sums, from the root, whose edges are the features.
    pub feature_layers: usize,
}

impl Default for SpnOptions {
    fn default() -> Self {
        Self {
            fit: Fit::default(),
            start: None,
            smoothing: 0.1,
            prior: 10.0,
            prior_mean: PriorMean::default(),
            prior_floor: 0.01,
            surrogate: Surrogate::Approximate,
            batch: 100,
            clustering: Clustering::default(),
            clusters: 2,
            restarts: 5,
            penalty: 0.4,
            p_value: 0.0015,
            min_rows: 10,
            feature_layers: 2,
        }
    }
}

impl SpnOptions {
    /// Where weights begin.
    pub fn start(&self) -> Start {
        self.start.unwrap_or(match self.fit {
            Fit::Mle | Fit::CvbPaper => Start::Random,
            Fit::Em | Fit::Cvb | Fit::Online | Fit::Stream => Start::Structure,
        })
    }

    /// Refuses what makes no sense.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] with the option, its value and its range.
    pub fn check(self) -> Result<Self> {
        let real = |name: &str, value: f64, range: std::ops::RangeInclusive<f64>| {
            let told = || format!("`{name}` is {value}; give {:?} to {:?}", range.start(), range.end());
            if range.contains(&value) { Ok(()) } else { Err(Error::Usage(told())) }
        };
        let whole = |name: &str, value: usize, range: std::ops::RangeInclusive<usize>| {
            let told = || format!("`{name}` is {value}; give {:?} to {:?}", range.start(), range.end());
            if range.contains(&value) { Ok(()) } else { Err(Error::Usage(told())) }
        };
        real("smoothing", self.smoothing, 0.0..=1e6)?;
        real("prior", self.prior, 1e-6..=1e9)?;
        real("prior_floor", self.prior_floor, 1e-3..=1e6)?;
        real("penalty", self.penalty, 0.0..=1e6)?;
        real("p_value", self.p_value, 1e-300..=1.0)?;
        whole("batch", self.batch, 1..=1 << 30)?;
        whole("clusters", self.clusters, 2..=64)?;
        whole("restarts", self.restarts, 1..=1000)?;
        whole("min_rows", self.min_rows, 2..=1 << 30)?;
        whole("feature_layers", self.feature_layers, 1..=1000)?;
        Ok(self)
    }
}
