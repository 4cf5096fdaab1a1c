//! `noisyor train`: from documents to a trained network. Arguments become a [`RunConfig`]; the library does the rest.

mod args;
mod report;
mod resume;
mod screen;
mod sources;
mod watching;

use super::Common;
use super::common::{BackendArgs, interruptible};
use super::corpus_args::{CorpusArgs, WordArgs};
use super::estep_args::EStepArgs;
use super::graph_args::GraphArgs;
use anyhow::Result;
pub(super) use args::CheckpointArgs;
pub(super) use args::TrainingArgs;
use args::UpdateArgs;
use noisyor::Error;
use noisyor::run::{Given, Run, RunConfig, RunFacts};
pub(super) use screen::Screen;
use std::path::{Path, PathBuf};

/// Train a network
///
/// Where no graph is given one is learned from the training documents, as `noisyor graph` does; where no size is given, the validation
/// part decides how large it is (--effort). Without arguments: the bundled
/// sample, and the next free folder runs/NNN.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  noisyor train
  noisyor train documents.jsonl --effort thorough --test 0.3 -o run
  noisyor train reviews.txt --max-vocab 10000 --stop-words none -o run
  noisyor train documents.jsonl --topics 300,30 --min-gain 1 -o run
  noisyor train documents.jsonl --topics 60 --parents all --lambda 5 -o run
  noisyor train documents.jsonl --topics 33,11 --max-edges 707 --refine --test 0.3 -o run
  noisyor train new.jsonl --from run/model.safetensors -o updated
  noisyor train documents.jsonl --graph topics.tsv -o run --epochs 100 --batch full
  noisyor train documents.jsonl --topics 33,11 --step mcmc --sweeps 50 --burn-in 10 -o run
  noisyor train --resume run
  noisyor train documents.svm --graph model.json --step adam --rate 0.05 --valid 0.3 --seed 7")]
pub(crate) struct Args {
    /// Corpus [default: the bundled sample]
    corpus: Option<PathBuf>,
    /// Topic graph: a .json, .safetensors or .tsv (parent, child) file [default: learned from the training documents]
    #[arg(long)]
    graph: Option<PathBuf>,
    /// Run folder to make [default: the next free runs/NNN]
    #[arg(short, long, value_name = "RUN", conflicts_with = "resume")]
    output: Option<PathBuf>,
    /// Continue a run that was stopped, with the options it began with: the end is the same as if it had never stopped. A
    /// corpus that was moved can be named; --epochs, --steps and --patience may be more than before
    #[arg(long, value_name = "RUN")]
    resume: Option<PathBuf>,
    /// Write the metrics for TensorBoard, too, into RUN/tensorboard: tensorboard --logdir RUN shows them
    #[arg(long)]
    tensorboard: bool,
    #[command(flatten)]
    reading: CorpusArgs,
    #[command(flatten)]
    words: WordArgs,
    /// Seed of everything random
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    learning: GraphArgs,
    #[command(flatten)]
    update: UpdateArgs,
    #[command(flatten)]
    training: TrainingArgs,
    #[command(flatten)]
    checkpoints: CheckpointArgs,
    #[command(flatten)]
    estep: EStepArgs,
    #[command(flatten)]
    backend: BackendArgs,
    /// GPU: memory for packed documents that are kept for later epochs
    #[arg(long, value_name = "N", default_value_t = 2048)]
    cache_mb: usize,
    /// Memory to keep to, about: parts of a mapped corpus are given back once they are read, a GPU keeps fewer packed documents,
    /// a graph is learned from as many documents as there is room for [default: no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    memory_mb: Option<u64>,
}

pub(crate) fn run(args: Args, is_given: &dyn Fn(&str) -> bool, common: &Common) -> Result<()> {
    // Before anything is said or opened: from here on a signal is a request to stop.
    let monitor = interruptible(common)?;
    let mut screen = Screen::new(common, &monitor);
    let given = Given { team: common.team.clone(), ..Given::default() };
    let mut run = match &args.resume {
        Some(path) => {
            let changes = resume::changes(&args, is_given)?;
            Run::resume(path, changes, given, monitor.clone(), &mut screen)?
        }
        None => {
            let config = args.config()?;
            Run::prepare(config, args.output.as_deref(), given, monitor.clone(), &mut screen)?
        }
    };
    let path = run.path().to_owned();
    let trained = run.train(&mut screen).inspect_err(|error| {
        let can_resume =
            matches!(error, Error::Interrupted | Error::Device(_) | Error::Io { .. } | Error::Rank(_));
        if can_resume && is_run(&path) {
            common.say(format_args!("to continue: noisyor train --resume {}", path.display()));
        }
    })?;
    let figures = run.evaluate(&trained, &mut screen)?;
    // What was found is printed even if it cannot be written down.
    let noted = run.finish(&trained, &figures);
    report::report(&figures, &trained, run.config(), &path, common)?;
    noted?;
    if figures.interrupted {
        common.say(format_args!("to continue: noisyor train --resume {}", path.display()));
        return Err(Error::Interrupted.into());
    }
    Ok(())
}

/// Whether something is left to be resumed.
fn is_run(folder: &Path) -> bool {
    folder.join("config.json").is_file()
}

impl Args {
    /// The run that is asked for.
    fn config(&self) -> noisyor::Result<RunConfig> {
        if self.corpus.is_none() && (self.reading.is_given() || self.words.is_given()) {
            let message = "options such as --format say how to read a corpus, and none is given";
            return Err(Error::Usage(message.into()));
        }
        if self.graph.is_none() && self.update.from.is_none() {
            self.reading.refuse_by_number()?;
        }
        let corpus = self.reading.source(self.corpus.as_deref(), &self.words);
        let mut config = RunConfig::new(corpus, self.network()?);
        config.options = self.training.options(
            self.estep.options()?,
            self.learning.max_edges(),
            &config.network,
            self.seed,
        )?;
        config.freeze_lists = self.training.freeze_lists();
        config.backend = self.backend.options(self.cache_mb);
        config.memory_mb = self.memory_mb;
        config.checkpoints = self.checkpoints.rule();
        config.tensorboard = self.tensorboard;
        let arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
        config.run = RunFacts { arguments: arguments.collect(), ..RunFacts::default() };
        config.check()?;
        Ok(config)
    }
}
