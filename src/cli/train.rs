//! `noisyor train`: from documents to a trained network.

use super::common::{BackendArgs, interruptible, print};
use super::inputs::{EStepArgs, FormatArgs, align_with};
use super::{Common, progress::Progress};
use anyhow::Result;
use clap::ValueEnum;
use noisyor::corpus::{Corpus, Docs, sample_corpus, sample_network};
use noisyor::estep::{EStep, Monitor};
use noisyor::network::{Init, Loaded, Network, Weights, load};
use noisyor::report::{MAX_DEPTH, TopicTree, topic_tree};
use noisyor::train::{
    BatchSize, CheckedOptions, Ended, Event, Metrics, Outcome, RateSchedule, RunFolder, StepRule,
    TrainOptions, train,
};
use noisyor::{Error, Result as LibResult, infer};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Train a network
///
/// Without arguments: the bundled sample, its graph with weights started afresh, and the next free folder runs/NNN.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  noisyor train
  noisyor train documents.jsonl --graph topics.tsv -o run --epochs 100 --batch full
  noisyor train documents.svm --graph model.json --step adam --rate 0.05 --valid 0.3 --seed 7")]
pub(crate) struct Args {
    /// Corpus [default: the bundled sample]
    corpus: Option<PathBuf>,
    /// Topic graph: a .json, .safetensors or .tsv (parent, child) file [default for the sample: its own]
    #[arg(long)]
    graph: Option<PathBuf>,
    /// Run folder to make [default: the next free runs/NNN]
    #[arg(short, long, value_name = "RUN")]
    output: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArgs,
    /// Seed of everything random
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    training: TrainingArgs,
    #[command(flatten)]
    estep: EStepArgs,
    #[command(flatten)]
    backend: BackendArgs,
    /// GPU: memory for packed documents that are kept for later epochs
    #[arg(long, value_name = "N", default_value_t = 2048)]
    cache_mb: usize,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Training")]
struct TrainingArgs {
    /// Passes over the training documents at most
    #[arg(long, default_value_t = TrainOptions::default().epochs, value_name = "N")]
    epochs: u32,
    /// Weight steps at most
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Documents per weight step, or 'full' [default: a tenth of the training documents, at most 50,000]
    #[arg(long, value_name = "N|full", value_parser = parse_batch)]
    batch: Option<BatchSize>,
    /// Weight step: closed-form EM, the paper's gradient step, or Adam
    #[arg(long, value_enum, default_value_t = StepArg::Em)]
    step: StepArg,
    /// EM: penalty on the edge weights, in documents [default: 1]
    #[arg(long, value_name = "L")]
    lambda: Option<f64>,
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
    /// Initial weights: from the tokens' frequencies, or the same constants everywhere
    #[arg(long, value_enum, default_value_t = InitArg::Data)]
    init: InitArg,
    /// Share of the documents held out for validation
    #[arg(long, default_value_t = TrainOptions::default().valid, value_name = "SHARE")]
    valid: f64,
    /// Evaluations without improvement before stopping; 0: never stop early
    #[arg(long, default_value_t = TrainOptions::default().patience, value_name = "N")]
    patience: u32,
    /// Epochs between evaluations
    #[arg(long, default_value_t = TrainOptions::default().eval_every, value_name = "N")]
    eval_every: u32,
    /// Run the E-step of identical documents one by one instead of once
    #[arg(long)]
    no_share: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StepArg {
    Em,
    Paper,
    Adam,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScheduleArg {
    Constant,
    Power,
    Cosine,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InitArg {
    Data,
    Constant,
}

fn parse_batch(text: &str) -> Result<BatchSize, String> {
    match text {
        "full" => Ok(BatchSize::Full),
        _ => text.parse().map(BatchSize::Docs).map_err(|_| "a number of documents, or 'full'".to_owned()),
    }
}

impl Args {
    fn options(&self) -> LibResult<CheckedOptions> {
        let args = &self.training;
        let schedule = |default: RateSchedule| match args.rate_schedule {
            None => default,
            Some(ScheduleArg::Constant) => RateSchedule::Constant,
            Some(ScheduleArg::Power) => RateSchedule::Power,
            Some(ScheduleArg::Cosine) => RateSchedule::Cosine,
        };
        if args.lambda.is_some() && args.step != StepArg::Em {
            return Err(Error::Usage("--lambda belongs to --step em".into()));
        }
        if args.c.is_some() && args.step != StepArg::Paper {
            return Err(Error::Usage("--c belongs to --step paper".into()));
        }
        let step = match args.step {
            StepArg::Em if args.rate.is_some() || args.rate_schedule.is_some() => {
                return Err(Error::Usage(
                    "--step em has no rate; use --step paper or adam with --rate".into(),
                ));
            }
            StepArg::Em => StepRule::Em { lambda: args.lambda.unwrap_or(1.0) },
            StepArg::Paper => StepRule::Paper {
                rate: args.rate.unwrap_or(0.001),
                c: args.c.unwrap_or(1000.0),
                schedule: schedule(RateSchedule::Constant),
            },
            StepArg::Adam => {
                StepRule::Adam { rate: args.rate.unwrap_or(0.02), schedule: schedule(RateSchedule::Cosine) }
            }
        };
        TrainOptions {
            estep: self.estep.options()?,
            step,
            floor: args.floor,
            cap: args.cap,
            leak_floor: None,
            batch: args.batch.unwrap_or(BatchSize::Auto),
            epochs: args.epochs,
            max_steps: args.steps,
            valid: args.valid,
            eval_every: args.eval_every,
            patience: args.patience,
            init: match args.init {
                InitArg::Data => Init::Data,
                InitArg::Constant => Init::Constant,
            },
            share_identical: !args.no_share,
            seed: self.seed,
        }
        .check()
    }

    /// The corpus, and a graph with weights if its file has any.
    fn inputs(&self, common: &Common) -> Result<(Corpus, Loaded)> {
        let graph = match &self.graph {
            Some(path) => load(path)?,
            None if self.corpus.is_none() => {
                let Network { graph, weights, names, training } = sample_network()?;
                Loaded { graph, names, weights: Some(weights), training }
            }
            None => {
                let message = "a corpus needs a topic graph: give --graph FILE (.json, .safetensors or .tsv)";
                return Err(Error::Usage(message.into()).into());
            }
        };
        let corpus = match &self.corpus {
            None if self.format.is_given() => {
                return Err(
                    Error::Usage("--format says how to read a corpus, and none is given".into()).into()
                );
            }
            Some(path) => self.format.read(path, common)?,
            None => sample_corpus()?,
        };
        Ok((corpus, graph))
    }
}

pub(crate) fn run(args: Args, common: &Common) -> Result<()> {
    let options = args.options()?;
    let mut estep = args.backend.open(common, args.cache_mb)?;
    let (corpus, loaded) = args.inputs(common)?;
    if corpus.n_docs() == 0 {
        return Err(Error::Usage("the corpus has no documents to train on".into()).into());
    }
    let alignment = align_with(&corpus, &loaded.names.tokens, common);
    let docs = alignment.docs(&corpus);
    let monitor = interruptible(common)?;
    let Loaded { graph, names, weights: reference, .. } = loaded;
    let mut folder = RunFolder::create(args.output.as_deref())?;
    let path_or_sample =
        |path: &Option<PathBuf>| path.as_ref().map_or("sample".into(), |p| p.display().to_string());
    let about = json!({
        "corpus": path_or_sample(&args.corpus), "graph": path_or_sample(&args.graph), "docs": corpus.n_docs(),
        "topics": graph.n_topics(), "tokens": graph.n_tokens(), "edges": graph.n_edges(), "backend": estep.name(),
    });
    common.say(format_args!(
        "{} documents, {} topics, {} tokens, {} edges; {} on {} threads",
        corpus.n_docs(),
        graph.n_topics(),
        graph.n_tokens(),
        graph.n_edges(),
        estep.name(),
        rayon::current_num_threads()
    ));

    let mut network =
        Network { weights: Weights { leak: vec![], edge: vec![] }, graph, names, training: String::new() };
    let outcome = match train_with_progress(
        &mut network,
        docs,
        &options,
        estep.as_mut(),
        &monitor,
        &mut folder,
        about,
        common,
    ) {
        Ok(outcome) => outcome,
        Err(error) => {
            folder.discard_if_empty();
            return Err(error.into());
        }
    };
    network.training = summary(&options, outcome.metrics.as_ref());
    network.weights = outcome.weights.clone();
    folder.save_model(&network)?;
    report(&network, docs, &options, estep.as_mut(), reference, &outcome, folder.path(), common)?;
    match outcome.ended {
        Ended::Interrupted => Err(Error::Interrupted.into()),
        _ => Ok(()),
    }
}

/// Seconds between saves of a model that keeps improving.
const SAVE_EVERY: Duration = Duration::from_secs(30);

#[allow(clippy::too_many_arguments)]
fn train_with_progress(
    network: &mut Network,
    docs: Docs<'_>,
    options: &CheckedOptions,
    estep: &mut dyn EStep,
    monitor: &Arc<Monitor>,
    folder: &mut RunFolder,
    mut about: serde_json::Value,
    common: &Common,
) -> LibResult<Outcome> {
    let graph = network.graph.clone();
    let (mut progress, mut last_valid, mut last_save) = (None, None, Instant::now());
    train(&graph, docs, options, estep, monitor, &mut |event| {
        match event {
            Event::Started { n_train, n_valid, n_distinct, n_steps, n_batches, leak_floor } => {
                about["train_docs"] = json!(n_train);
                about["valid_docs"] = json!(n_valid);
                about["batches_per_epoch"] = json!(n_batches);
                about["leak_floor"] = json!(leak_floor);
                folder.write_config(options, about.take())?;
                let n_batches = *n_batches as u64;
                let n_epochs = n_steps.div_ceil(n_batches);
                let n_evaluations = n_epochs.div_ceil(u64::from(options.eval_every));
                let n_docs = n_steps * *n_train as u64 / n_batches + n_evaluations * *n_valid as u64;
                common.say(format_args!(
                    "training on {n_train} documents ({n_distinct} distinct), {n_valid} held out; epochs: {n_epochs}, \
                     steps: {n_steps} at most"
                ));
                progress = Some(Progress::start(common, monitor, "training", n_docs));
            }
            Event::Evaluated { metrics, best, weights } => {
                folder.write_metrics(metrics)?;
                if let Some(progress) = &progress {
                    progress.line(&metrics_line(metrics, last_valid));
                }
                last_valid = metrics.valid_elbo;
                if *best && last_save.elapsed() > SAVE_EVERY {
                    network.weights = (*weights).clone();
                    network.training = summary(options, Some(metrics));
                    folder.save_model(network)?;
                    last_save = Instant::now();
                }
            }
        }
        Ok(())
    })
}

fn metrics_line(metrics: &Metrics, last_valid: Option<f64>) -> String {
    let mut line = format!("epoch {:.2} step {}", metrics.epoch, metrics.step);
    if let Some(train) = metrics.train_elbo {
        line += &format!("  train {train:.4}");
    }
    if let Some(valid) = metrics.valid_elbo {
        line += &format!("  held out {valid:.4}");
        if let Some(last) = last_valid {
            line += &format!(" ({:+.4})", valid - last);
        }
    }
    format!("{line} [{}]  {:.0} documents/s", metrics.bound, metrics.docs_per_s)
}

/// What the model file says of its training: no times, no thread counts.
fn summary(options: &TrainOptions, metrics: Option<&Metrics>) -> String {
    json!({
        "program": concat!("noisyor ", env!("CARGO_PKG_VERSION")),
        "options": options,
        "step": metrics.map(|m| m.step),
        "epoch": metrics.map(|m| m.epoch),
        "train_elbo": metrics.and_then(|m| m.train_elbo),
        "valid_elbo": metrics.and_then(|m| m.valid_elbo),
    })
    .to_string()
}

/// Prints topics, bounds and the folder.
#[allow(clippy::too_many_arguments)]
fn report(
    network: &Network,
    docs: Docs<'_>,
    options: &CheckedOptions,
    estep: &mut dyn EStep,
    reference: Option<Weights>,
    outcome: &Outcome,
    folder: &Path,
    common: &Common,
) -> Result<()> {
    let valid_elbo = outcome.metrics.as_ref().and_then(|m| m.valid_elbo);
    let bound = options.estep.bound;
    // A stop request must not stop this last, short look.
    let monitor = Monitor::default();
    let n_valid = outcome.valid.len();
    let reference_elbo = match reference {
        Some(weights) if n_valid > 0 => {
            let truth = Network { weights, ..network.clone() };
            let (stats, _) = infer::run(&truth, docs, &outcome.valid, &options.estep, estep, &monitor, None)?;
            common.say_estep(&stats);
            Some(stats.elbo_mean())
        }
        _ => None,
    };
    let ended = match outcome.ended {
        Ended::Finished => "finished",
        Ended::EarlyStop => "early stop",
        Ended::Interrupted => "interrupted",
    };
    if common.json {
        return print(format_args!(
            "{}\n",
            json!({
                "run": folder, "model": folder.join("model.safetensors"), "ended": ended, "bound": bound,
                "metrics": outcome.metrics, "graph_weights_elbo": reference_elbo, "held_out_docs": n_valid,
            })
        ));
    }
    let mut text = TopicTree::text(&topic_tree(network, 8, MAX_DEPTH)) + "\n";
    if let Some(valid) = valid_elbo {
        text += &format!("held-out bound ({bound}) {valid:.4} nats a document, over {} documents\n", n_valid);
    }
    if let Some(reference) = reference_elbo {
        text += &format!("the same under the weights that came with the graph: {reference:.4}\n");
    }
    let metrics = outcome.metrics.as_ref();
    text += &match metrics {
        Some(m) => format!("{ended}; best after {:.2} epochs (step {})\n", m.epoch, m.step),
        None => format!("{ended}\n"),
    };
    print(text + &format!("run folder: {}\n", folder.display()))
}
