//! When checkpoints are written.

use super::Common;
use noisyor::Result;
use noisyor::corpus::Corpus;
use noisyor::monitor::Monitor;
use noisyor::train::{RunFolder, State};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
#[command(next_help_heading = "Checkpoints")]
pub(super) struct CheckpointArgs {
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

/// Writes checkpoints when they are due.
pub(super) struct Keeper<'a> {
    args: &'a CheckpointArgs,
    /// When the last one was written, and after how many steps; none if there is none yet.
    last: Option<(Instant, u64)>,
    /// Whether training went on since.
    moved: bool,
    /// Whether the run's config is no longer what the last one says.
    changed: bool,
}

impl<'a> Keeper<'a> {
    /// `steps`: those of the checkpoint that training goes on from, if it does; `changed`: it goes on with another config.
    pub(super) fn new(args: &'a CheckpointArgs, steps: Option<u64>, changed: bool) -> Self {
        Self { args, last: steps.map(|steps| (Instant::now(), steps)), moved: false, changed }
    }

    /// Looks whether a checkpoint is due, and writes it.
    ///
    /// What was computed from a corpus that may yet turn out to be damaged is not kept.
    pub(super) fn look(
        &mut self,
        folder: &mut RunFolder,
        state: &State,
        last: bool,
        (corpus, monitor): (&Corpus, &Monitor),
        common: &Common,
    ) -> Result<()> {
        while last && !corpus.is_verified() && monitor.go_on().is_ok() {
            std::thread::sleep(Duration::from_millis(10));
        }
        if !corpus.is_verified() {
            return Ok(());
        }
        let due = match (self.last, self.args.checkpoint_steps) {
            (None, _) => true,
            _ if self.changed => true,
            // The first state of a run that goes on is the one it was read from.
            _ if !self.moved => false,
            _ if last => true,
            (Some((_, then)), Some(steps)) => state.step() >= then.saturating_add(steps),
            (Some((then, _)), None) => {
                then.elapsed() >= Duration::from_secs_f64(60.0 * self.args.checkpoint_minutes)
            }
        };
        self.moved = true;
        if due {
            self.changed = false;
            let begun = Instant::now();
            let n_bytes = folder.save_checkpoint(state)?;
            if common.verbose {
                let (mb, seconds) = (n_bytes as f64 / 1e6, begun.elapsed().as_secs_f64());
                common.say(format_args!("checkpoint at step {}: {mb:.1} MB in {seconds:.2} s", state.step()));
            }
            self.last = Some((Instant::now(), state.step()));
        }
        Ok(())
    }
}
