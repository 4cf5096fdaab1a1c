//! What may be typed beside `--resume`.

use super::Args;
use clap::Args as _;
use noisyor::run::{Changes, read_config};
use noisyor::{Error, Result};

/// Options that a run may be resumed with other values of: where it computes, and how long.
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

/// What is to be different; `is_given` tells which options were typed.
pub(super) fn changes(args: &Args, is_given: &dyn Fn(&str) -> bool) -> Result<Changes> {
    refuse_others(is_given)?;
    let given = |options: &[&str]| options.iter().any(|option| is_given(option));
    let mut changes = Changes {
        corpus: args.corpus.clone(),
        memory_mb: args.memory_mb,
        tensorboard: args.tensorboard,
        epochs: args.training.epochs,
        max_steps: args.training.steps,
        ..Changes::default()
    };
    if given(&["backend", "device", "device_mb", "cache_mb"])
        && let Some(run) = &args.resume
    {
        let mut backend = read_config(run)?.backend;
        args.backend.change(&mut backend, is_given);
        if is_given("cache_mb") {
            backend.cache_mb = args.cache_mb;
        }
        changes.backend = Some(backend);
    }
    if given(&["checkpoint_minutes", "checkpoint_steps"]) {
        changes.checkpoints = Some(args.checkpoints.rule());
    }
    if is_given("patience") {
        changes.patience = Some(args.training.patience);
    }
    Ok(changes)
}

/// The first option that a run cannot change is an error.
fn refuse_others(is_given: &dyn Fn(&str) -> bool) -> Result<()> {
    let command = Args::augment_args(clap::Command::new("train"));
    let other = command
        .get_arguments()
        .find(|arg| !MAY_CHANGE.contains(&arg.get_id().as_str()) && is_given(arg.get_id().as_str()));
    match other {
        Some(arg) => Err(Error::Usage(format!(
            "--{} cannot change in a run that is resumed: its options are those it began with",
            arg.get_long().unwrap_or(arg.get_id().as_str())
        ))),
        None => Ok(()),
    }
}
