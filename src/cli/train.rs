//! `noisyor train`: from documents to a trained network.

mod args;
mod checkpoints;
mod inputs;
mod memory;
mod of_run;
mod report;
mod resume;
mod update;
mod watching;

use super::Common;
use super::common::{BackendArgs, interruptible};
use super::corpus_args::{CorpusArgs, Verifying};
use super::estep_args::EStepArgs;
use super::graph_args::GraphArgs;
use super::progress::Progress;
use anyhow::Result;
pub(super) use args::TrainingArgs;
use checkpoints::{CheckpointArgs, Keeper};
use inputs::{Inputs, Start};
use memory::Limit;
use noisyor::estep::{EStep, Monitor};
use noisyor::mixture::{MixtureOptions, mixture_work};
use noisyor::network::{Graph, Init, Network, Weights};
use noisyor::report::{name_topics, name_topics_by_telling, stale_names};
use noisyor::train::{Begin, CheckedOptions, Event, Metrics, Outcome, RunFolder, State, TrainOptions, train};
use noisyor::{Error, Result as LibResult};
pub(super) use of_run::RunDocs;
use resume::Job;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use update::UpdateArgs;
use watching::Watching;

/// Train a network
///
/// Where no graph is given one is learned from the training documents, as `noisyor graph` does; where no size is given, the validation
/// part decides how large it is (--effort). Without arguments: the bundled
/// sample, and the next free folder runs/NNN.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  noisyor train
  noisyor train documents.jsonl --effort thorough --test 0.3 -o run
  noisyor train documents.jsonl --topics 300,30 --min-gain 1 -o run
  noisyor train documents.jsonl --topics 60 --parents all --lambda 5 -o run
  noisyor train documents.jsonl --topics 33,11 --max-edges 707 --refine --test 0.3 -o run
  noisyor train new.jsonl --from run/model.safetensors -o updated
  noisyor train documents.jsonl --graph topics.tsv -o run --epochs 100 --batch full
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
    /// Go on with a run that was stopped, with the options it began with: the end is the same as if it had never stopped. A
    /// corpus that was moved can be named; --epochs, --steps and --patience may be more than before
    #[arg(long, value_name = "RUN")]
    resume: Option<PathBuf>,
    /// Write the metrics for TensorBoard, too, into RUN/tensorboard: tensorboard --logdir RUN shows them
    #[arg(long)]
    tensorboard: bool,
    #[command(flatten)]
    reading: CorpusArgs,
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
    // Before anything is said or opened: from here on a signal is a wish to stop.
    let monitor = interruptible(common)?;
    let mut job = match args.resume.clone() {
        Some(run) => Job::resume(&run, args, is_given, common)?,
        None => Job::new(args)?,
    };
    let is_new = job.folder.is_none();
    let memory = Limit::of_mb(job.args.memory_mb);
    let (mut estep, device) = job.args.backend.open_to_train(common, memory.cache_mb(job.args.cache_mb))?;
    let estep = estep.as_mut();
    let (start, state) = job.standing.take().unzip();
    let inputs = job.args.inputs(start, common, &monitor)?;
    job.check_corpus(&inputs.corpus)?;
    job.options = job.args.update.options(job.options, inputs.model(), inputs.corpus.n_docs())?;
    memory.apply_to(&inputs.corpus);
    let verifying = Verifying::start(&inputs.corpus, &monitor);
    let mut folder = match job.folder.take() {
        Some(folder) => folder,
        None => RunFolder::create(job.args.output.as_deref())?,
    };
    if !is_new && !folder.cut_metrics()? {
        common.warn(format_args!("{}/metrics.jsonl: lines are missing at its end", folder.path().display()));
    }
    if let Some(before) = job.about["backend"].as_str().filter(|before| *before != estep.name()) {
        common.warn(format_args!(
            "the run was computed on {before} and goes on on {}: the end will be the same to rounding, not to the byte",
            estep.name()
        ));
    }
    let trained = (|| {
        job.args.describe(&inputs, &estep.name(), &mut job.about);
        // Whatever happens from now on, the run can begin again with what it was given.
        folder.write_config(&job.options, &job.about)?;
        let start = inputs.start(&job.args, &job.options, estep, memory, common, &monitor)?;
        memory.fit(&inputs, &start, &job.options, device)?;
        if state.is_none() {
            job.options = job.args.training.for_start(job.options.clone(), &start, common)?;
            start.keep(&folder, &mut job.about)?;
            // A network that was chosen has the epochs that there is time for, and the batches that its topics need.
            if let (None, Some(epochs)) = (job.args.training.epochs, start.epochs()) {
                job.options = job.options.with_epochs(epochs)?;
            }
            if let Some(batch) = start.batch() {
                job.options = job.options.with_batch(batch)?;
            }
        }
        let outcome =
            train_with_progress(&mut job, &inputs, &start, state, estep, &monitor, &mut folder, common)?;
        Ok((start, outcome))
    })();
    let (start, outcome) = match verifying.finish(trained) {
        Ok(trained) => trained,
        // A run that was stopped before it trained can begin again; one that cannot work leaves nothing.
        Err(Error::Interrupted) => {
            common.say(format_args!("to begin again: noisyor train --resume {}", folder.path().display()));
            return Err(Error::Interrupted.into());
        }
        Err(error) => {
            // A graph that was learned is worth more than the driver or the disk that failed.
            let has_graph = job.about["learning"].is_object();
            if has_graph && matches!(error, Error::Device(_) | Error::Io { .. }) {
                common.say(format_args!("to go on: noisyor train --resume {}", folder.path().display()));
            } else if is_new {
                folder.discard_if_empty();
            }
            return Err(error.into());
        }
    };
    let options = &job.options;
    let metrics = outcome.metrics.as_ref();
    let network = finished(&start, options, &outcome.graph, &outcome.weights, &outcome.reseeded, metrics);
    folder.save_model(&network)?;
    let budget = options.refine.as_ref().and_then(|refine| refine.max_edges);
    if let Some(most) = budget.filter(|&most| network.graph.n_edges() > most) {
        let n_edges = network.graph.n_edges();
        common.warn(format_args!(
            "stopped while refining: the model has {n_edges} edges, more than --max-edges {most}"
        ));
    }
    let figures =
        report::evaluate(&job.args, &inputs, start, &network, options, estep, &outcome, &monitor, common)?;
    job.about["ended"] = report::ending(outcome.ended).into();
    job.about["test_elbo"] = json!(figures.test_elbo);
    // What was found is printed even if it cannot be written down.
    let noted = folder.write_config(options, &job.about);
    report::report(&figures, &network, options, &outcome, folder.path(), common)?;
    noted?;
    if figures.interrupted {
        common.say(format_args!("to go on: noisyor train --resume {}", folder.path().display()));
        return Err(Error::Interrupted.into());
    }
    Ok(())
}

/// The model of these weights. Topics whose words refinement or renewal chose are named after those; so are all of a complete graph,
/// which knows no words before it is trained, and those of a learned graph that are left without the words of their names.
fn finished(
    start: &Start,
    options: &CheckedOptions,
    graph: &Graph,
    weights: &Weights,
    reseeded: &[u32],
    metrics: Option<&Metrics>,
) -> Network {
    let mut network = Network {
        graph: graph.clone(),
        weights: weights.clone(),
        names: start.names.clone(),
        training: summary(start, options, metrics),
    };
    let all: Vec<u32> = (0..graph.n_topics() as u32).collect();
    if options.refine.is_some() {
        name_topics(&mut network, if !start.learning.is_null() { &all } else { reseeded });
        network.drop_empty_topics();
    } else if start.is_complete() {
        name_topics_by_telling(&mut network, &all);
    } else if !start.learning.is_null() {
        // Names that a user gave stay whatever the words.
        let is_given = |topic: u32| start.given_names().any(|name| name == network.names.of(topic));
        let stale: Vec<u32> = stale_names(&network).into_iter().filter(|&topic| !is_given(topic)).collect();
        name_topics_by_telling(&mut network, &stale);
    } else if options.renew.is_some() {
        name_topics(&mut network, reseeded);
    }
    if options.condense {
        network.drop_empty_topics();
    }
    network
}

/// Seconds between saves of a model that keeps improving.
const SAVE_EVERY: Duration = Duration::from_secs(30);

#[allow(clippy::too_many_arguments)]
fn train_with_progress(
    job: &mut Job,
    inputs: &Inputs,
    start: &Start,
    state: Option<Box<State>>,
    estep: &mut dyn EStep,
    monitor: &Arc<Monitor>,
    folder: &mut RunFolder,
    common: &Common,
) -> LibResult<Outcome> {
    let Job { args, options, about, changed, .. } = job;
    let graph = &start.graph;
    common.say(format_args!(
        "{} documents, {} topics, {} tokens, {} edges; {} on {} threads",
        inputs.corpus.n_docs(),
        graph.n_topics(),
        graph.n_tokens(),
        graph.n_edges(),
        estep.name(),
        rayon::current_num_threads()
    ));
    let (mut watching, mut last_save) = (None::<Watching>, Instant::now());
    let mut keeper = Keeper::new(&args.checkpoints, state.as_ref().map(|state| state.step()), *changed);
    let begin = match state {
        Some(state) => Begin::At(graph, state),
        None => Begin::New(graph, start.weights.as_ref()),
    };
    let mut fitting = None;
    if matches!(begin, Begin::New(..)) && options.init == Init::Mixture {
        let work = mixture_work(inputs.n_train(options), &MixtureOptions::default());
        fitting = Some(Progress::start(common, monitor, "fitting a mixture", work));
    }
    train(begin, inputs.docs(), options, estep, monitor, &mut |event| {
        match *event {
            Event::Started { n_train, n_valid, n_test, n_batches, leak_floor, .. } => {
                fitting.take();
                about["train_docs"] = json!(n_train);
                about["valid_docs"] = json!(n_valid);
                about["test_docs"] = json!(n_test);
                about["batches_per_epoch"] = json!(n_batches);
                about["leak_floor"] = json!(leak_floor);
                folder.write_config(options, about)?;
                folder.write_events(args.tensorboard)?;
                watching = Watching::start(event, options, common, monitor);
            }
            Event::Safe { state, last } => {
                keeper.look(folder, state, last, (&inputs.corpus, monitor), common)?;
                if let Some(watching) = &watching {
                    watching.stands_at(state);
                }
            }
            Event::Refined { stage, n_edges } => {
                if let Some(watching) = &watching {
                    watching.refined(stage, n_edges);
                }
            }
            Event::Evaluated { metrics, best, graph, weights } => {
                folder.write_metrics(metrics)?;
                if let Some(watching) = &watching {
                    watching.evaluated(metrics);
                }
                if best && last_save.elapsed() > SAVE_EVERY {
                    folder.save_model(&finished(start, options, graph, weights, &[], Some(metrics)))?;
                    last_save = Instant::now();
                }
            }
        }
        Ok(())
    })
}

/// What the model file says of its training: no times, no thread counts.
fn summary(start: &Start, options: &TrainOptions, metrics: Option<&Metrics>) -> String {
    json!({
        "program": concat!("noisyor ", env!("CARGO_PKG_VERSION")),
        "options": options,
        "docs": start.n_docs,
        "step": metrics.map(|m| m.step),
        "epoch": metrics.map(|m| m.epoch),
        "train_elbo": metrics.and_then(|m| m.train_elbo),
        "valid_elbo": metrics.and_then(|m| m.valid_elbo),
    })
    .to_string()
}
