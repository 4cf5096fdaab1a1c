//! `noisyor baseline`: other models of the same documents. Arguments become a [`BaselineConfig`]; the library does the rest.

mod models;
mod query;
mod report;

use super::Common;
use super::common::interruptible;
use super::corpus_args::{CorpusArgs, WordArgs};
use super::train::{CheckpointArgs, Screen};
use anyhow::Result;
use models::ModelArgs;
use noisyor::Error;
use noisyor::baseline::{BaselineChanges, BaselineConfig, BaselineRun};
use noisyor::train::{Ended, TrainOptions};
pub(super) use report::score_in_words;
use std::path::PathBuf;

/// Train another model on the same documents, to compare with
///
/// Corpora, splits, checkpoints, early stopping and run folders are those of `noisyor train`: with the same --seed, --valid and --test the
/// same documents are held out. `eval`, `infer`, `compare`, `report` and `watch` take the run. Every score says what it is: exact, a bound,
/// or an estimate.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
#[command(after_help = "Examples:
  noisyor baseline mixture documents.jsonl --components 400 --test 0.3 -o mixture
  noisyor eval mixture documents.jsonl
  noisyor compare run mixture
  noisyor baseline --resume mixture --epochs 100")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<BaselineCommand>,
    #[command(flatten)]
    resume: ResumeArgs,
}

#[derive(clap::Subcommand)]
enum BaselineCommand {
    #[command(flatten)]
    Train(Box<ModelArgs>),
    Query(query::QueryArgs),
    Sample(query::SampleArgs),
}

#[derive(clap::Args)]
struct ResumeArgs {
    /// Continue a run that was stopped, with the options it began with: the end is the same as if it had never stopped
    #[arg(long, value_name = "RUN")]
    resume: Option<PathBuf>,
    /// Where the corpus is now, if it was moved
    #[arg(long, value_name = "CORPUS", requires = "resume")]
    corpus: Option<PathBuf>,
    /// Passes over the training documents at most, if there are to be more than before
    #[arg(long, value_name = "N", requires = "resume")]
    epochs: Option<u32>,
    /// Passes without a gain before stopping, if they are to be others than before
    #[arg(long, value_name = "N", requires = "resume")]
    patience: Option<u32>,
}

/// What every model has: documents, split, length.
#[derive(clap::Args)]
pub(super) struct SharedArgs {
    /// Corpus [default: the bundled sample]
    corpus: Option<PathBuf>,
    /// Run folder to make [default: the next free runs/NNN]
    #[arg(short, long, value_name = "RUN")]
    output: Option<PathBuf>,
    /// Seed of the split and of everything else random
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Passes over the training documents at most [default: by the model]
    #[arg(long, value_name = "N")]
    epochs: Option<u32>,
    /// Share of the documents held out to stop by, and to choose settings and the best model by
    #[arg(long, default_value_t = TrainOptions::default().valid, value_name = "SHARE")]
    valid: f64,
    /// Share of the documents that only the score at the end is computed on
    #[arg(long, default_value_t = TrainOptions::default().test, value_name = "SHARE")]
    test: f64,
    /// Stop after so many passes in which the score held out gained less than 0.02 % in all; 0: never stop early
    #[arg(long, default_value_t = TrainOptions::default().patience, value_name = "N")]
    patience: u32,
    #[command(flatten)]
    checkpoints: CheckpointArgs,
    #[command(flatten)]
    reading: CorpusArgs,
    #[command(flatten)]
    words: WordArgs,
}

pub(crate) fn run(args: Args, common: &Common) -> Result<()> {
    let model = match args.command {
        Some(BaselineCommand::Query(args)) => return query::query(&args, common),
        Some(BaselineCommand::Sample(args)) => return query::sample(&args, common),
        Some(BaselineCommand::Train(model)) => Some(model),
        None => None,
    };
    let monitor = interruptible(common)?;
    let mut screen = Screen::new(common, &monitor);
    let mut run = match (model, args.resume) {
        (Some(model), _) => {
            let (config, output) = config(&model)?;
            BaselineRun::prepare(config, output.as_deref(), None, monitor.clone(), &mut screen)?
        }
        (None, ResumeArgs { resume: Some(path), corpus, epochs, patience }) => {
            let changes = BaselineChanges { corpus, epochs, patience, checkpoints: None };
            BaselineRun::resume(&path, changes, None, monitor.clone(), &mut screen)?
        }
        (None, _) => {
            let message =
                "name a model, as in 'noisyor baseline mixture', or a run to continue with --resume";
            return Err(Error::Usage(message.into()).into());
        }
    };
    let path = run.path().to_owned();
    let to_continue =
        || common.say(format_args!("to continue: noisyor baseline --resume {}", path.display()));
    let outcome = run.train(&mut screen).inspect_err(|error| {
        if matches!(error, Error::Interrupted | Error::Io { .. }) && path.join("config.json").is_file() {
            to_continue();
        }
    })?;
    report::report(&outcome, run.config(), &path, common)?;
    if outcome.ended == Ended::Interrupted {
        to_continue();
        return Err(Error::Interrupted.into());
    }
    Ok(())
}

/// The run that is asked for, and its folder.
fn config(model: &ModelArgs) -> noisyor::Result<(BaselineConfig, Option<PathBuf>)> {
    let shared = model.shared();
    if shared.corpus.is_none() && (shared.reading.is_given() || shared.words.is_given()) {
        let message = "options such as --format say how to read a corpus, and none is given";
        return Err(Error::Usage(message.into()));
    }
    shared.reading.refuse_by_number()?;
    let corpus = shared.reading.source(shared.corpus.as_deref(), &shared.words);
    let mut config = BaselineConfig::new(corpus, model.options()?);
    config.seed = shared.seed;
    config.valid = shared.valid;
    config.test = shared.test;
    config.epochs = shared.epochs.unwrap_or(config.epochs);
    config.patience = shared.patience;
    config.checkpoints = shared.checkpoints.rule();
    let arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    config.run.arguments = arguments.collect();
    config.check()?;
    Ok((config, shared.output.clone()))
}
