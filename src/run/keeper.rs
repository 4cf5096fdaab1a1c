//! When checkpoints are written.

use super::config::CheckpointRule;
use super::observer::{Level, Observer};
use crate::corpus::Corpus;
use crate::error::Result;
use crate::monitor::Monitor;
use std::time::{Duration, Instant};

/// Writes checkpoints when they are due.
pub(crate) struct Keeper {
    rule: CheckpointRule,
    /// When the last one was written, and after how many steps; none if there is none yet.
    last: Option<(Instant, u64)>,
    /// Whether training moved on since.
    moved: bool,
    /// Whether the run's config is no longer what the last one says.
    changed: bool,
}

impl Keeper {
    /// `steps` is where the newest checkpoint stands, if there is one.
    pub(crate) fn new(rule: CheckpointRule, steps: Option<u64>, changed: bool) -> Self {
        Self { rule, last: steps.map(|steps| (Instant::now(), steps)), moved: false, changed }
    }

    /// Looks whether a checkpoint is due after so many steps, and has it written; `last`: training stops here. `save` returns its length.
    ///
    /// What was computed from a corpus that may yet turn out to be damaged is not kept.
    pub(crate) fn look(
        &mut self,
        (step, last): (u64, bool),
        (corpus, monitor): (&Corpus, &Monitor),
        observer: &mut dyn Observer,
        save: impl FnOnce() -> Result<u64>,
    ) -> Result<()> {
        while last && !corpus.is_verified() && monitor.go_on().is_ok() {
            std::thread::sleep(Duration::from_millis(10));
        }
        if !corpus.is_verified() {
            return Ok(());
        }
        let due = match (self.last, self.rule) {
            (None, _) => true,
            _ if self.changed => true,
            // The first state of a run that is resumed is the one it was read from.
            _ if !self.moved => false,
            _ if last => true,
            (Some((_, then)), CheckpointRule::Steps(steps)) => step >= then.saturating_add(steps),
            (Some((then, _)), CheckpointRule::Minutes(minutes)) => {
                then.elapsed().as_secs_f64() >= 60.0 * minutes
            }
        };
        self.moved = true;
        if due {
            self.changed = false;
            let begun = Instant::now();
            let n_bytes = save()?;
            let (mb, seconds) = (n_bytes as f64 / 1e6, begun.elapsed().as_secs_f64());
            let message = format!("checkpoint at step {step}: {mb:.1} MB in {seconds:.2} s");
            observer.says(Level::Detail, &message);
            self.last = Some((Instant::now(), step));
        }
        Ok(())
    }
}
