//! Training options: as given, and checked.

use super::condense;
use super::counts::MOST_BATCHES;
use super::{Freeze, PriorOptions, RateSchedule, RefineOptions, RenewOptions};
use crate::corpus::{Parts, split};
use crate::error::{Error, Result};
use crate::estep::EStepOptions;
use crate::mcmc::McmcOptions;
use crate::network::{Init, MAX_WEIGHT};
use serde::{Deserialize, Serialize};

/// Smaller floors are refused: below this f32 has no reciprocals.
pub const MIN_FLOOR: f64 = 1e-30;

/// Which preconditioner Eq. 17 has.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "rule")]
pub enum StepRule {
    /// The closed-form M-step; for batches stepwise (averaged counts) or, if they are large, incremental. No rate.
    Em {
        /// Penalty on the sum of the edge weights, in documents.
        lambda: f64,
    },
    /// The paper's: rate for leaks, c times the rate for edges.
    Paper {
        /// rho.
        rate: f64,
        /// c.
        c: f64,
        /// How rho falls.
        schedule: RateSchedule,
    },
    /// Adam.
    Adam {
        /// Rate.
        rate: f64,
        /// How it falls.
        schedule: RateSchedule,
    },
    /// EM whose counts are those of sampled topics; the E-step serves the documents held out alone.
    Mcmc(McmcOptions),
}

/// Documents per weight step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BatchSize {
    /// A tenth of the training documents, at most 50,000; for EM not less than a 32nd of them.
    Auto,
    /// That many.
    Docs(usize),
    /// All.
    Full,
}

/// Documents of a batch by default, at most: those of the paper.
const AUTO_DOCS: usize = 50_000;

/// Every option of training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrainOptions {
    /// The E-step.
    pub estep: EStepOptions,
    /// The weight step.
    pub step: StepRule,
    /// Smallest edge weight.
    pub floor: f64,
    /// Largest weight.
    pub cap: f64,
    /// Smallest leak; by default min(floor, 0.1 / documents).
    pub leak_floor: Option<f64>,
    /// Documents per step.
    pub batch: BatchSize,
    /// Passes over the training documents at most.
    pub epochs: u32,
    /// Weight steps at most; with 0 the initial weights are evaluated and that is all.
    pub max_steps: Option<u64>,
    /// Share of documents held out for validation.
    pub valid: f64,
    /// Share of documents that training leaves alone.
    pub test: f64,
    /// Epochs between evaluations.
    pub eval_every: u32,
    /// Evaluations without a gain before stopping, those not counted in which the bound climbs out of a dip; 0 never stops early.
    pub patience: u32,
    /// Initial weights.
    pub init: Init,
    /// Weights that stay as they start.
    #[serde(default, skip_serializing_if = "Freeze::is_none")]
    pub freeze: Freeze,
    /// Refinement of the graph before the epochs.
    pub refine: Option<RefineOptions>,
    /// Renewal of topics before the epochs.
    #[serde(default)]
    pub renew: Option<RenewOptions>,
    /// What the initial weights count as where they are those of a model that training goes on from.
    #[serde(default)]
    pub prior: Option<PriorOptions>,
    /// Whether counts are smoothed as the documents held out ask for ([`Smoothing`](super::Smoothing)), instead of by the penalty alone.
    #[serde(default)]
    pub smooth: bool,
    /// Whether dead edges are dropped while epochs last, and topics that documents held out can do without after them.
    #[serde(default)]
    pub condense: bool,
    /// Whether the sums of a batch are corrected by how often the corpus holds its tokens ([`control`](super::control)).
    #[serde(default)]
    pub control_variates: bool,
    /// Whether identical documents share one E-step.
    pub share_identical: bool,
    /// Whether a document's search begins where its last E-step ended, instead of with all topics off.
    #[serde(default)]
    pub keep_starts: bool,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for TrainOptions {
    fn default() -> Self {
        Self {
            estep: EStepOptions::default(),
            step: StepRule::Em { lambda: 1.0 },
            floor: 1e-5,
            cap: 20.0,
            leak_floor: None,
            batch: BatchSize::Auto,
            epochs: 40,
            max_steps: None,
            valid: 0.1,
            test: 0.0,
            eval_every: 1,
            patience: 5,
            init: Init::Data,
            freeze: Freeze::default(),
            refine: None,
            renew: None,
            prior: None,
            smooth: false,
            condense: false,
            control_variates: false,
            share_identical: true,
            keep_starts: false,
            seed: 0,
        }
    }
}

impl TrainOptions {
    /// Number of batches of nearly equal size that so many training documents make.
    pub fn n_batches(&self, n_docs: usize) -> usize {
        // EM is better off with few batches, whose counts it can keep, than with many.
        let least = match self.step {
            StepRule::Em { .. } | StepRule::Mcmc(_) => n_docs.div_ceil(MOST_BATCHES as usize),
            StepRule::Paper { .. } | StepRule::Adam { .. } => 1,
        };
        let size = match self.batch {
            BatchSize::Auto => n_docs.div_ceil(10).min(AUTO_DOCS).max(least),
            BatchSize::Docs(size) => size,
            BatchSize::Full => n_docs,
        };
        ((n_docs as f64 / size.max(1) as f64).round() as usize).max(1)
    }
}

impl TrainOptions {
    /// So many documents, split into those to train on, those held out and those for the test.
    pub fn split(&self, n_docs: usize) -> Parts {
        split(n_docs, self.valid, self.test, self.seed)
    }

    /// Epochs that condensing takes at most, where documents are held out.
    pub fn condense_epochs(&self) -> u32 {
        if self.condense { condense::n_epochs(self.epochs) } else { 0 }
    }

    /// The smallest leak there may be, with so many documents to train on.
    pub(crate) fn smallest_leak(&self, n_docs: usize) -> f64 {
        let all_docs = n_docs as f64 + self.prior.map_or(0.0, |prior| prior.docs);
        self.leak_floor.unwrap_or(self.floor.min((0.1 / all_docs).max(MIN_FLOOR)))
    }
}

/// Options that make sense; only these are trained with.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedOptions(TrainOptions);

impl std::ops::Deref for CheckedOptions {
    type Target = TrainOptions;
    fn deref(&self) -> &TrainOptions {
        &self.0
    }
}

impl CheckedOptions {
    /// The options as such.
    pub fn into_inner(self) -> TrainOptions {
        self.0
    }

    /// The same with other epochs at most.
    ///
    /// # Errors
    ///
    /// As [`TrainOptions::check`].
    pub fn with_epochs(&self, epochs: u32) -> Result<Self> {
        TrainOptions { epochs, ..self.0.clone() }.check()
    }

    /// The same with batches of another size.
    ///
    /// # Errors
    ///
    /// As [`TrainOptions::check`].
    pub fn with_batch(&self, batch: BatchSize) -> Result<Self> {
        TrainOptions { batch, ..self.0.clone() }.check()
    }
}

impl TrainOptions {
    /// Checks the options, alone and together.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] that names the options and says what to change.
    pub fn check(self) -> Result<CheckedOptions> {
        let refuse = |message: String| Err(Error::Usage(message));
        self.estep.check()?;
        if !(self.floor >= MIN_FLOOR && self.floor < self.cap && self.cap <= MAX_WEIGHT) {
            return refuse(format!(
                "weights must lie in {MIN_FLOOR:e} <= floor < cap <= {MAX_WEIGHT:e}; floor is {}, cap {}",
                self.floor, self.cap
            ));
        }
        if let Some(floor) = self.leak_floor.filter(|floor| !(MIN_FLOOR..self.cap).contains(floor)) {
            return refuse(format!(
                "the leak floor must lie between {MIN_FLOOR:e} and the cap; it is {floor}"
            ));
        }
        if !(0.0..1.0).contains(&self.valid) {
            return refuse(format!("the validation share must be in [0, 1); it is {}", self.valid));
        }
        if !(0.0..1.0).contains(&self.test) || self.valid + self.test >= 1.0 {
            return refuse(format!(
                "the test share must be in [0, 1) and leave documents to train on; it is {}, and validation takes {}",
                self.test, self.valid
            ));
        }
        let has_em = matches!(self.step, StepRule::Em { .. });
        if self.smooth && (!has_em || self.prior.is_some()) {
            return refuse(
                "smoothing by the documents held out goes with EM on documents alone, not with another step or a model that training goes on from"
                    .into(),
            );
        }
        if self.condense && (!has_em || self.prior.is_some()) {
            return refuse(
                "topics are dropped by EM on documents alone, not with another step or a model that training goes on from".into(),
            );
        }
        if self.batch == BatchSize::Docs(0) {
            return refuse("a batch needs at least one document".into());
        }
        if self.epochs == 0 || self.eval_every == 0 {
            return refuse("epochs and epochs between evaluations must be at least 1".into());
        }
        if self.keep_starts && !self.estep.start.searches() {
            return refuse(
                "only the starts `greedy` and `best` search, and can begin at what was kept; use one of them, or leave out `keep_starts`".into(),
            );
        }
        if self.keep_starts && self.estep.clamp > 0 {
            return refuse(
                "starts are kept of whole documents, not of the pieces that clamped topics make; leave out `keep_starts` or `clamp`".into(),
            );
        }
        self.refine.as_ref().map_or(Ok(()), RefineOptions::check)?;
        if self.refine.is_some() && !matches!(self.step, StepRule::Em { .. }) {
            return refuse(
                "refinement trains in short rounds, which `step` em alone is quick enough for".into(),
            );
        }
        if self.refine.is_some() && self.max_steps == Some(0) {
            return refuse(
                "`steps` 0 writes the initial weights, and `refine` is training; leave out one of the two"
                    .into(),
            );
        }
        self.check_renew()?;
        self.check_freeze()?;
        let above_zero = |value: f64| value > 0.0 && value.is_finite();
        self.prior.map_or(Ok(()), |prior| self.check_prior(&prior))?;
        match self.step {
            StepRule::Em { lambda } if !(lambda >= 0.0 && lambda.is_finite()) => {
                refuse(format!("lambda must be at least 0; it is {lambda}"))
            }
            StepRule::Paper { rate, c, .. } if !(above_zero(rate) && above_zero(c)) => {
                refuse(format!("rate and c must be above 0; they are {rate} and {c}"))
            }
            StepRule::Adam { rate, .. } if !above_zero(rate) => {
                refuse(format!("the rate must be above 0; it is {rate}"))
            }
            StepRule::Mcmc(mcmc) => self.check_mcmc(&mcmc).map(|()| CheckedOptions(self)),
            _ => Ok(CheckedOptions(self)),
        }
    }

    /// Frozen weights are those that come with a graph, and edges and topics that have them stay.
    fn check_freeze(&self) -> Result<()> {
        if self.freeze.is_none() {
            return Ok(());
        }
        let other = if self.freeze.edges && self.freeze.leaks {
            "`freeze` keeps all edges and all leaks, so nothing is left to train; leave out one of the two"
        } else if self.init != Init::Graph {
            "`freeze` keeps weights that come with a graph, and `init` makes others; use the `init` graph"
        } else if self.refine.is_some() {
            "`freeze` keeps weights, and `refine` exchanges edges and topics; leave out one of the two"
        } else if self.renew.is_some() {
            "`freeze` keeps weights, and `renew` begins topics anew; leave out one of the two"
        } else if self.condense {
            "`freeze` keeps weights, and `condense` drops edges and topics; leave out one of the two"
        } else {
            return Ok(());
        };
        Err(Error::Usage(other.into()))
    }

    /// Renewal trains in short rounds, of a graph that stays as it is, and changes what topics are.
    fn check_renew(&self) -> Result<()> {
        let Some(renew) = &self.renew else { return Ok(()) };
        renew.check()?;
        let fault = if !matches!(self.step, StepRule::Em { .. }) {
            "renewal trains in short rounds, which `step` em alone is quick enough for"
        } else if self.max_steps == Some(0) {
            "`steps` 0 writes the initial weights, and `renew` is training; leave out one of the two"
        } else if self.refine.is_some() {
            "`refine` has new topics of its own; leave out `renew`"
        } else if self.prior.is_some() {
            "`renew` exchanges topics, and a model's topics are kept; leave it out"
        } else {
            return Ok(());
        };
        Err(Error::Usage(fault.into()))
    }

    /// Chains are kept anyway, and sample whole documents.
    fn check_mcmc(&self, mcmc: &McmcOptions) -> Result<()> {
        mcmc.check()?;
        let other = if self.keep_starts {
            "`step` mcmc goes on with every document's chain and searches for nothing; leave out `keep_starts`"
        } else if self.estep.clamp > 0 {
            "`step` mcmc samples all topics and clamps none; leave out `clamp`, and evaluate the model with it"
        } else if self.control_variates {
            "`control_variates` correct sums of q, and `step` mcmc has samples; leave out one of the two"
        } else {
            return Ok(());
        };
        Err(Error::Usage(other.into()))
    }

    /// An older model counts with its own weights, in EM, whose counts can be added.
    fn check_prior(&self, prior: &PriorOptions) -> Result<()> {
        let refuse = |message: String| Err(Error::Usage(message));
        let above_zero = |value: f64| value > 0.0 && value.is_finite();
        if !(above_zero(prior.docs) && above_zero(prior.trained_docs)) {
            return refuse(format!(
                "a model counts as a number of documents above 0; it is {}, trained on {}",
                prior.docs, prior.trained_docs
            ));
        }
        if !matches!(self.step, StepRule::Em { .. }) {
            return refuse(
                "only `step` em lets the old model count beside the new documents; use that, or `from_docs` 0".into(),
            );
        }
        if self.init != Init::Graph {
            return refuse(
                "training that goes on from a model starts from its weights; use `init` graph".into(),
            );
        }
        if self.refine.is_some() {
            return refuse(
                "refinement exchanges edges, and a model's edges are kept; leave out `refine`".into(),
            );
        }
        Ok(())
    }
}
