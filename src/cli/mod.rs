//! The command line: arguments as typed, one file per command. Calls the library and prints what it tells.

mod baseline;
mod bench;
mod calibration;
mod check;
mod common;
mod compare;
mod completions;
mod corpus;
mod corpus_args;
#[cfg(feature = "gpu")]
mod devices;
mod docs;
mod documents;
mod estep_args;
mod eval;
mod explain;
mod figures;
mod flags;
mod given;
mod gpu;
mod graph;
mod graph_args;
mod infer;
mod man;
mod mcmc_args;
mod model;
mod moments;
mod plan;
mod posterior;
mod progress;
mod ranks;
mod report;
mod synth;
mod topics;
mod train;
mod watch;

use anyhow::Result;
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
pub(crate) use common::{Common, tell};
use ranks::OnRanks;
pub(crate) use ranks::leave;

/// Trains noisy-OR Bayesian networks: hierarchical topic models of binary data.
///
/// Results go to standard output, everything else to standard error. Exit status: 0 done, 2 bad input or usage,
/// 3 input/output, 4 device, 5 numerical, 6 another rank of an MPI
/// job was lost or failed, 130 interrupted (`train` and `infer` continue with --resume).
#[derive(Parser)]
#[command(version, long_version = env!("NOISYOR_VERSION"), max_term_width = 100)]
#[command(after_help = "Example: train on the bundled sample, then look at the topics:
  noisyor train -o run
  noisyor topics run/model.safetensors")]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    common: Common,
}

#[derive(Subcommand)]
enum Command {
    Train(Box<train::Args>),
    Corpus(corpus::Args),
    Graph(graph::Args),
    Moments(Box<moments::Args>),
    Baseline(Box<baseline::Args>),
    Plan(Box<plan::Args>),
    Watch(watch::Args),
    Compare(compare::Args),
    Infer(infer::Args),
    Eval(eval::Args),
    Posterior(Box<posterior::Args>),
    Topics(topics::Args),
    Docs(docs::Args),
    Explain(Box<explain::Args>),
    Report(report::Args),
    Check(check::Args),
    Synth(synth::Args),
    Model(model::Args),
    Bench(bench::Args),
    #[cfg(feature = "gpu")]
    Devices(devices::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Command {
    /// What it does where a launcher of MPI has started several processes.
    fn on_ranks(&self) -> OnRanks {
        match self {
            Self::Train(_) => OnRanks::Shared,
            Self::Infer(args) if args.is_shard() => OnRanks::Apart,
            Self::Infer(_) => OnRanks::Shared,
            Self::Bench(args) if args.is_shared() => OnRanks::Shared,
            _ => OnRanks::Refused,
        }
    }
}

/// Whether an option was typed, not left at its default.
fn is_given(matches: &ArgMatches, option: &str) -> bool {
    matches.value_source(option) == Some(ValueSource::CommandLine)
}

/// Parses the command line and runs the command.
pub(crate) fn run() -> Result<()> {
    let mut program = Cli::command();
    if std::env::args_os().len() <= 1 {
        return common::print(program.render_help());
    }
    let given = program.try_get_matches_from_mut(std::env::args_os()).unwrap_or_else(|e| ranks::refused(&e));
    flags::start(&program, given.subcommand_name().unwrap_or_default());
    let Cli { command, mut common } = Cli::from_arg_matches(&given).unwrap_or_else(|e| ranks::refused(&e));
    let job = ranks::join(given.subcommand_name().unwrap_or_default(), command.on_ranks())?;
    ranks::finish(run_on(job, command, &mut common, &given))
}

/// Runs the command as one of the job's processes.
fn run_on(job: ranks::Job, command: Command, common: &mut Common, given: &ArgMatches) -> Result<()> {
    common.start_threads(job.threads)?;
    common.quiet |= ranks::is_silent();
    ranks::introduce(&job, common.quiet);
    common.team = job.team;
    let common = &*common;
    match command {
        Command::Train(args) => {
            let given = given.subcommand_matches("train");
            train::run(*args, &|option| given.is_some_and(|given| is_given(given, option)), common)
        }
        Command::Corpus(args) => corpus::run(args, common),
        Command::Graph(args) => graph::run(args, common),
        Command::Moments(args) => moments::run(*args, common),
        Command::Baseline(args) => baseline::run(*args, common),
        Command::Plan(args) => plan::run(*args, common),
        Command::Watch(args) => watch::run(args, common),
        Command::Compare(args) => compare::run(args, common),
        Command::Infer(args) => infer::run(args, common),
        Command::Eval(args) => eval::run(args, common),
        Command::Posterior(args) => posterior::run(*args, common),
        Command::Topics(args) => topics::run(args, common),
        Command::Docs(args) => docs::run(args, common),
        Command::Explain(args) => explain::run(*args, common),
        Command::Report(args) => report::run(args, common),
        Command::Check(args) => check::run(args, common),
        Command::Synth(args) => synth::run(args, common),
        Command::Model(args) => model::run(args, common),
        Command::Bench(args) => bench::run(args, common),
        #[cfg(feature = "gpu")]
        Command::Devices(args) => devices::run(args, common),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args, common),
    }
}
