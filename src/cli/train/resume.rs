//! A run that goes on: its arguments, its options, and where it stood.

use super::inputs::{SAMPLE, Start};
use super::{Args, Common};
use crate::cli::parse_train;
use clap::Args as _;
use noisyor::corpus::Corpus;
use noisyor::network::{Init, Network, fingerprint};
use noisyor::train::{CheckedOptions, RateSchedule, RunFolder, State, StepRule, TrainOptions};
use noisyor::{Error, Result};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Options that a run may go on with other values of: where it computes, and how long.
const MAY_CHANGE: [&str; 13] = [
    "resume",
    "corpus",
    "backend",
    "device",
    "device_mb",
    "cache_mb",
    "memory_mb",
    "checkpoint_minutes",
    "checkpoint_steps",
    "epochs",
    "steps",
    "patience",
    "tensorboard",
];

/// A run, new or going on.
pub(super) struct Job {
    /// The arguments it began with; where it goes on, with those given now.
    pub(super) args: Args,
    pub(super) options: CheckedOptions,
    /// Its folder, if it has one already.
    pub(super) folder: Option<RunFolder>,
    /// Where it stood; none if it has not begun to train.
    pub(super) standing: Option<(Start, Box<State>)>,
    /// What it writes down of itself.
    pub(super) about: Value,
    /// Whether that differs from what its last checkpoint says.
    pub(super) changed: bool,
}

impl Job {
    /// A new run.
    pub(super) fn new(mut args: Args) -> Result<Self> {
        if args.is_chosen() {
            // What is known about topics is kept to.
            let may_drop = args.learning.first_constraint().is_none();
            args.training = args.training.for_chosen(may_drop);
        }
        let default_init = match &args.graph {
            Some(_) => Init::Data,
            None if args.learning.is_complete() => Init::Mixture,
            None => Init::Graph,
        };
        let options = args.training.options(
            args.estep.options()?,
            args.learning.max_edges(),
            default_init,
            Some(&args.update),
            args.seed,
        )?;
        let arguments: Vec<String> =
            std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
        let directory = std::env::current_dir().unwrap_or_default();
        let about = json!({ "arguments": arguments, "directory": directory.to_string_lossy() });
        Ok(Self { args, options, folder: None, standing: None, about, changed: false })
    }

    /// A run that goes on; `is_given` tells which options were typed this time.
    pub(super) fn resume(
        run: &Path,
        now: Args,
        is_given: &dyn Fn(&str) -> bool,
        common: &Common,
    ) -> Result<Self> {
        refuse_others(is_given)?;
        let (folder, found) = RunFolder::open(run)?;
        found
            .damaged
            .iter()
            .for_each(|damage| common.warn(format_args!("{damage}; the one before it is used")));
        let unreadable = |what: &str| unreadable(run, what);
        let mut args = recorded(run, &found.config)?;
        let mut about = found.config["run"].clone();
        // How it ended is no longer so; a config that is no object is found out below.
        if let Some(about) = about.as_object_mut() {
            about.retain(|key, _| key != "ended" && key != "test_elbo");
        }
        let changed = longer_or_elsewhere(is_given);
        if now.corpus.is_some() {
            args.corpus = now.corpus;
        }
        args.backend.take_given(now.backend, is_given);
        args.tensorboard |= now.tensorboard;
        if is_given("cache_mb") {
            args.cache_mb = now.cache_mb;
        }
        if is_given("memory_mb") {
            args.memory_mb = now.memory_mb;
        }
        if is_given("checkpoint_minutes") || is_given("checkpoint_steps") {
            args.checkpoints = now.checkpoints;
        }
        let mut options = serde_json::from_value::<TrainOptions>(found.config["options"].clone())
            .map_err(|_| unreadable("options"))?;
        let longer = [is_given("epochs"), is_given("steps"), is_given("patience")];
        options.epochs = now.training.epochs.unwrap_or(options.epochs);
        options.max_steps = if longer[1] { now.training.steps } else { options.max_steps };
        options.patience = if longer[2] { now.training.patience } else { options.patience };
        let falls = matches!(options.step, StepRule::Paper { schedule, .. } | StepRule::Adam { schedule, .. }
            if schedule == RateSchedule::Cosine);
        if falls && (longer[0] || longer[1]) {
            let message = "the rate of this run falls over all its epochs, so their number cannot change; start a new run, or \
                           train on from its model with --from";
            return Err(Error::Usage(message.into()));
        }
        let standing = match found.checkpoint {
            Some((path, checkpoint)) => {
                let network = folder.load_graph()?;
                let graph_path = run.join("graph.safetensors");
                if about["graph_fingerprint"].as_str() != Some(&fingerprint(&network)) {
                    let message =
                        "this is not the graph that the run started from; put it back, or start a new run";
                    return Err(Error::input(&graph_path, None, message));
                }
                checkpoint.check(&path, &network.graph)?;
                common.say(format_args!(
                    "going on with {} at step {}, after {:.0} s of training",
                    run.display(),
                    checkpoint.state.step(),
                    checkpoint.state.seconds()
                ));
                Some((start_of(network, &about), Box::new(checkpoint.state)))
            }
            None => {
                common.say(format_args!(
                    "{} had not begun to train; it starts from the beginning",
                    run.display()
                ));
                None
            }
        };
        Ok(Self { args, options: options.check()?, folder: Some(folder), standing, about, changed })
    }

    /// Refuses another corpus than the run was trained on.
    pub(super) fn check_corpus(&self, corpus: &Corpus) -> Result<()> {
        let remedy = "name its new place after --resume RUN, or train on from the run's model with --from";
        refuse_other_corpus(&self.about, corpus, self.args.corpus.as_deref(), remedy)
    }
}

fn unreadable(run: &Path, what: &str) -> Error {
    Error::input(&run.join("config.json"), None, format!("no {what} of the run in it; start a new run"))
}

/// The arguments that a run began with, by its config; paths are as seen from where it began.
pub(super) fn recorded(run: &Path, config: &Value) -> Result<Args> {
    let unreadable = |what: &str| unreadable(run, what);
    let about = &config["run"];
    let arguments = serde_json::from_value::<Vec<String>>(about["arguments"].clone())
        .map_err(|_| unreadable("arguments"))?;
    let mut args = parse_train(&arguments).ok_or_else(|| unreadable("arguments"))?;
    let place = PathBuf::from(about["directory"].as_str().ok_or_else(|| unreadable("directory"))?);
    args.reading.vocab = args.reading.vocab.map(|path| place.join(path));
    args.corpus = match about["corpus"].as_str() {
        Some(SAMPLE) => None,
        corpus => Some(place.join(corpus.ok_or_else(|| unreadable("corpus"))?)),
    };
    args.graph = args.graph.map(|path| place.join(path));
    args.learning = args.learning.in_folder(&place);
    args.update.from = args.update.from.map(|path| place.join(path));
    args.training = args.training.in_folder(&place);
    Ok(args)
}

/// Refuses another corpus than a run was trained on.
pub(super) fn refuse_other_corpus(
    about: &Value,
    corpus: &Corpus,
    path: Option<&Path>,
    remedy: &str,
) -> Result<()> {
    let now = format!("{:016x}", corpus.fingerprint());
    let Some(before) = about["corpus_fingerprint"].as_str().filter(|before| *before != now) else {
        return Ok(());
    };
    let message = format!(
        "these are not the documents that the run was trained on (fingerprint {now}, it was {before}); put the corpus back, \
         {remedy}"
    );
    Err(Error::input(path.unwrap_or(SAMPLE.as_ref()), None, message))
}

/// Whether it goes on with another length or place of its corpus.
fn longer_or_elsewhere(is_given: &dyn Fn(&str) -> bool) -> bool {
    ["corpus", "epochs", "steps", "patience"].iter().any(|option| is_given(option))
}

/// What the run's graph file says it started from.
fn start_of(network: Network, about: &Value) -> Start {
    let Network { graph, weights, names, .. } = network;
    let weights = Some(weights).filter(|_| about["graph_weights"] == true);
    let n_docs = about["speaks_for_docs"].as_u64().unwrap_or(0);
    Start { graph, names, weights, learning: about["learning"].clone(), n_docs }
}

/// The first option that a run cannot change is an error.
fn refuse_others(is_given: &dyn Fn(&str) -> bool) -> Result<()> {
    let command = Args::augment_args(clap::Command::new("train"));
    let other = command
        .get_arguments()
        .find(|arg| !MAY_CHANGE.contains(&arg.get_id().as_str()) && is_given(arg.get_id().as_str()));
    match other {
        Some(arg) => Err(Error::Usage(format!(
            "--{} cannot change in a run that goes on: its options are those it began with",
            arg.get_long().unwrap_or(arg.get_id().as_str())
        ))),
        None => Ok(()),
    }
}
