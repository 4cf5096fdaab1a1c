//! Options of training.

use crate::cli::mcmc_args::SamplingArgs;
use clap::ValueEnum;
use noisyor::estep::EStepOptions;
use noisyor::network::Init;
use noisyor::run::{CheckpointRule, NetworkSource};
use noisyor::train::{BatchSize, Freeze, RateSchedule, RefineOptions, RenewOptions, StepRule, TrainOptions};
use noisyor::{Error, Result};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(next_help_heading = "Training from a model")]
pub(super) struct UpdateArgs {
    /// Start from this model with new documents: its topics stay as they are numbered and named, tokens that it lacks are attached
    /// to them as --parents and --min-support say
    #[arg(long, value_name = "MODEL", requires = "corpus", conflicts_with_all = ["graph", "refine"])]
    pub(super) from: Option<PathBuf>,
    /// The model counts as so many documents beside the new ones; 0: it is a start and nothing more, and what the new documents
    /// lack is forgotten [default: those it was trained on, or as many as are new where its file does not say]
    #[arg(long, value_name = "N", requires = "from")]
    pub(super) from_docs: Option<u64>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Checkpoints")]
pub(in crate::cli) struct CheckpointArgs {
    /// Minutes between checkpoints; there is always one at the start, at the end, and when training is stopped
    #[arg(long, value_name = "N", default_value_t = 10.0, value_parser = parse_minutes)]
    checkpoint_minutes: f64,
    /// Weight steps between checkpoints, instead of minutes
    #[arg(long, value_name = "N", conflicts_with = "checkpoint_minutes", value_parser = clap::value_parser!(u64).range(1..))]
    checkpoint_steps: Option<u64>,
}

fn parse_minutes(text: &str) -> Result<f64, String> {
    let minutes: f64 = text.parse().map_err(|_| "a number of minutes".to_owned())?;
    if minutes > 0.0 && minutes < 1e6 { Ok(minutes) } else { Err("a number of minutes above 0".into()) }
}

impl CheckpointArgs {
    pub(in crate::cli) fn rule(&self) -> CheckpointRule {
        self.checkpoint_steps.map_or(CheckpointRule::Minutes(self.checkpoint_minutes), CheckpointRule::Steps)
    }
}

#[derive(clap::Args)]
#[command(next_help_heading = "Training")]
pub(in crate::cli) struct TrainingArgs {
    /// Passes over the training documents at most; a run that is resumed may have more [default: 40, or what --effort has time for]
    #[arg(long, value_name = "N")]
    pub(super) epochs: Option<u32>,
    /// Weight steps at most; 0: evaluate and write the initial weights
    #[arg(long, value_name = "N")]
    pub(super) steps: Option<u64>,
    /// Documents per weight step, or 'full' [default: a tenth of the training documents, at most 50,000; for EM at least a 32nd]
    #[arg(long, value_name = "N|full", value_parser = parse_batch)]
    batch: Option<BatchSize>,
    /// Weight step: closed-form EM, the paper's gradient step, Adam, or EM by samples of the topics (mcmc)
    #[arg(long, value_enum, default_value_t = StepArg::Em)]
    step: StepArg,
    /// EM: penalty on the edge weights, in documents [default: 1]
    #[arg(long, value_name = "L")]
    lambda: Option<f64>,
    /// EM: how counts become weights: by the penalty alone, or with a discount, shrinkage towards base rates and leaks kept up as well, all as
    /// the documents held out ask for [default: held-out where the network is chosen and --lambda is not given, else penalty]
    #[arg(long, value_enum, value_name = "HOW", conflicts_with = "lambda")]
    smoothing: Option<SmoothingArg>,
    /// Drop dead edges during training; afterwards put topics that have the words of several above these, and drop topics that the
    /// documents held out can do without [default: true where the network is chosen and neither --anchors nor --exclude is given, else false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    condense: Option<bool>,
    /// Correct what each batch says of a token by how often the corpus has it (control variates): less noise where batches are small.
    /// Nothing to correct with --batch full
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    control_variates: Option<bool>,
    /// Rate of the paper's step or Adam [default: 0.001 paper, 0.02 adam]
    #[arg(long, value_name = "RHO")]
    rate: Option<f64>,
    /// How the rate falls [default: constant for paper, cosine for adam]
    #[arg(long, value_enum)]
    rate_schedule: Option<ScheduleArg>,
    /// Paper's step: factor on the rate of edges (leaks have 1) [default: 1000]
    #[arg(long)]
    c: Option<f64>,
    /// Smallest edge weight; leaks have min(this, 0.1 / documents)
    #[arg(long, default_value_t = TrainOptions::default().floor, value_name = "EPSILON")]
    floor: f64,
    /// Largest weight
    #[arg(long, default_value_t = TrainOptions::default().cap)]
    cap: f64,
    /// Initial weights: those of the graph, at random from the tokens' frequencies, the same constants everywhere, from a mixture
    /// fitted to the documents, where every topic of the lowest layer is linked to every token, or from moments of the documents, where
    /// no topic has a parent (see `noisyor moments`; with --parents all for tables of up to 512 tokens) [default: graph where it is learned,
    /// mixture with --parents all, else data]
    #[arg(long, value_enum)]
    init: Option<InitArg>,
    /// Weights that stay as they start, where training starts from weights (those of --graph, of a learned graph or of --from): all edge
    /// weights, all leaks, or those of a file, one a line: parent<TAB>child for an edge, a name alone for its leak, # for comments. May
    /// be given several times
    #[arg(long, value_name = "edges|leaks|FILE", value_parser = parse_freeze)]
    freeze: Vec<FreezeArg>,
    /// Refine the graph first: from more edges than --max-edges down to those of most importance, dead topics begun anew. What
    /// helps is decided by the validation part; --epochs and --steps count after it
    #[arg(long)]
    pub(super) refine: bool,
    /// Let topics that are worth little begin anew first, where documents suggest a better one, in rounds at most so many; for random
    /// initial weights. What helps is decided by the validation part; --epochs and --steps count after it
    #[arg(long, value_name = "ROUNDS", num_args = 0..=1, require_equals = true,
          default_missing_value = "30")]
    pub(super) renew: Option<u32>,
    /// Share of the documents held out to stop by and to choose the best model by
    #[arg(long, default_value_t = TrainOptions::default().valid, value_name = "SHARE")]
    valid: f64,
    /// Share of the documents that only the bound at the end is computed on
    #[arg(long, default_value_t = TrainOptions::default().test, value_name = "SHARE")]
    test: f64,
    /// Stop after so many evaluations in which the bound held out gained less than 0.02 % in all. Those in which it climbs out of a dip,
    /// by 0.02 % / N or more, do not count; 0: never stop early
    #[arg(long, default_value_t = TrainOptions::default().patience, value_name = "N")]
    pub(super) patience: u32,
    /// Epochs between evaluations
    #[arg(long, default_value_t = TrainOptions::default().eval_every, value_name = "N")]
    eval_every: u32,
    /// Begin a document's search where its E-step ended in the last epoch, instead of with all topics off: full-batch EM then loses
    /// nothing of the training bound. Takes a few bytes a document
    #[arg(long)]
    keep_starts: bool,
    /// Run the E-step of identical documents one by one instead of once
    #[arg(long)]
    no_share: bool,
    #[command(flatten)]
    sampling: SamplingArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StepArg {
    Em,
    Paper,
    Adam,
    Mcmc,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SmoothingArg {
    Penalty,
    HeldOut,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScheduleArg {
    Constant,
    Power,
    Cosine,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InitArg {
    Graph,
    Data,
    Constant,
    Mixture,
    Moments,
}

/// What `--freeze` names.
#[derive(Clone)]
enum FreezeArg {
    Edges,
    Leaks,
    List(PathBuf),
}

fn parse_freeze(text: &str) -> Result<FreezeArg, String> {
    match text {
        "" => Err("'edges', 'leaks', or a file".to_owned()),
        "edges" => Ok(FreezeArg::Edges),
        "leaks" => Ok(FreezeArg::Leaks),
        path => Ok(FreezeArg::List(path.into())),
    }
}

fn parse_batch(text: &str) -> Result<BatchSize, String> {
    match text {
        "full" => Ok(BatchSize::Full),
        _ => text.parse().map(BatchSize::Docs).map_err(|_| "a number of documents, or 'full'".to_owned()),
    }
}

impl TrainingArgs {
    /// Whether initial weights other than the network's own are asked for.
    pub(super) fn has_init(&self) -> bool {
        !matches!(self.init, None | Some(InitArg::Graph))
    }

    /// Files that list weights to keep, whose names are known once there is a graph.
    pub(super) fn freeze_lists(&self) -> Vec<PathBuf> {
        let list = |arg: &FreezeArg| match arg {
            FreezeArg::List(path) => Some(path.clone()),
            FreezeArg::Edges | FreezeArg::Leaks => None,
        };
        self.freeze.iter().filter_map(list).collect()
    }

    /// Weights to keep, as far as is known without the graph.
    fn freeze(&self) -> Freeze {
        let names = |all: fn(&FreezeArg) -> bool| self.freeze.iter().any(all);
        Freeze {
            edges: names(|arg| matches!(arg, FreezeArg::Edges)),
            leaks: names(|arg| matches!(arg, FreezeArg::Leaks)),
            ..Freeze::default()
        }
    }

    /// The options as given, and for the rest those that are usual for such a network; `max_edges` is the budget of refinement.
    pub(in crate::cli) fn options(
        &self,
        estep: EStepOptions,
        max_edges: Option<usize>,
        network: &NetworkSource,
        seed: u64,
    ) -> Result<TrainOptions> {
        let schedule = |default: RateSchedule| match self.rate_schedule {
            None => default,
            Some(ScheduleArg::Constant) => RateSchedule::Constant,
            Some(ScheduleArg::Power) => RateSchedule::Power,
            Some(ScheduleArg::Cosine) => RateSchedule::Cosine,
        };
        let renewed = [
            (self.refine, "--refine"),
            (self.renew.is_some(), "--renew"),
            (self.condense == Some(true), "--condense"),
            (self.has_init(), "--init"),
        ];
        if let Some((_, option)) = renewed.iter().find(|(given, _)| *given && !self.freeze.is_empty()) {
            return Err(Error::Usage(format!(
                "--freeze keeps the weights that come with a graph, and {option} makes others; leave out one of the two"
            )));
        }
        if self.lambda.is_some() && self.step != StepArg::Em {
            return Err(Error::Usage("--lambda belongs to --step em".into()));
        }
        if self.c.is_some() && self.step != StepArg::Paper {
            return Err(Error::Usage("--c belongs to --step paper".into()));
        }
        if self.step != StepArg::Mcmc {
            self.sampling.refuse()?;
        }
        let step = match self.step {
            StepArg::Em | StepArg::Mcmc if self.rate.is_some() || self.rate_schedule.is_some() => {
                let step = if self.step == StepArg::Em { "em" } else { "mcmc" };
                return Err(Error::Usage(format!(
                    "--step {step} has no rate; use --step paper or adam with --rate"
                )));
            }
            StepArg::Mcmc => StepRule::Mcmc(self.sampling.options()),
            StepArg::Em => StepRule::Em { lambda: self.lambda.unwrap_or(1.0) },
            StepArg::Paper => StepRule::Paper {
                rate: self.rate.unwrap_or(0.001),
                c: self.c.unwrap_or(1000.0),
                schedule: schedule(RateSchedule::Constant),
            },
            StepArg::Adam => {
                StepRule::Adam { rate: self.rate.unwrap_or(0.02), schedule: schedule(RateSchedule::Cosine) }
            }
        };
        let usual = network.default_options();
        let is_em = self.step == StepArg::Em;
        Ok(TrainOptions {
            estep,
            step,
            floor: self.floor,
            cap: self.cap,
            leak_floor: None,
            batch: self.batch.unwrap_or(BatchSize::Auto),
            epochs: self.epochs.unwrap_or(usual.epochs),
            max_steps: self.steps,
            valid: self.valid,
            test: self.test,
            eval_every: self.eval_every,
            patience: self.patience,
            init: match self.init {
                Some(InitArg::Graph) => Init::Graph,
                // Weights can be kept where there are some.
                None if !self.freeze.is_empty() => Init::Graph,
                None => usual.init,
                Some(InitArg::Data) => Init::Data,
                Some(InitArg::Constant) => Init::Constant,
                Some(InitArg::Mixture) => Init::Mixture,
                Some(InitArg::Moments) => Init::Moments,
            },
            freeze: self.freeze(),
            refine: self.refine.then(|| RefineOptions { max_edges, ..RefineOptions::default() }),
            renew: self.renew.map(|rounds| RenewOptions { rounds, ..RenewOptions::default() }),
            prior: None,
            smooth: match self.smoothing {
                Some(smoothing) => smoothing == SmoothingArg::HeldOut,
                None => usual.smooth && is_em && self.lambda.is_none(),
            },
            condense: self.condense.unwrap_or(usual.condense && is_em && self.freeze.is_empty()),
            control_variates: self.control_variates.unwrap_or(usual.control_variates),
            share_identical: !self.no_share,
            keep_starts: self.keep_starts,
            seed,
        })
    }
}
