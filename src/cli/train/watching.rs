//! Training as it is seen: one live line on a terminal, plain lines elsewhere.

use crate::cli::Common;
use crate::cli::figures::{grouped, metrics_line, short_time};
use crate::cli::progress::{Pace, Progress};
use noisyor::estep::Monitor;
use noisyor::run::OnRanks;
use noisyor::train::{Event, Metrics, RefineStage, State, TrainOptions};
use std::sync::{Arc, Mutex, PoisonError};

/// Shows a training until dropped.
pub(super) struct Watching {
    progress: Progress,
    status: Arc<Mutex<Status>>,
    n_batches: usize,
    verbose: bool,
}

/// Where training stands, and its last figures.
#[derive(Default)]
struct Status {
    epoch: f64,
    /// Epochs at most.
    n_epochs: f64,
    step: u64,
    train: Option<f64>,
    valid: Option<f64>,
    /// By how much the last evaluation was better than the one before.
    change: Option<f64>,
    /// Whether it may end before its last epoch.
    may_stop: bool,
    /// The share of the time in which ranks wait for each other.
    waiting: Option<f64>,
}

impl Watching {
    /// Says what will be done and starts to follow it; `event` must be the start.
    pub(super) fn start(
        event: &Event<'_>,
        options: &TrainOptions,
        common: &Common,
        monitor: &Arc<Monitor>,
    ) -> Option<Self> {
        let Event::Started {
            n_train, n_valid, n_test, n_steps, steps_done, n_batches, refine_epochs, ..
        } = *event
        else {
            return None;
        };
        let n_epochs = n_steps.div_ceil(n_batches as u64);
        let test = if n_test > 0 { format!(", {n_test} kept for the test") } else { String::new() };
        let refining = match refine_epochs {
            0 => String::new(),
            epochs => format!(", after {epochs} at most to refine it"),
        };
        let condense_epochs = if n_valid > 0 { options.condense_epochs() } else { 0 };
        let condensing = match condense_epochs {
            0 => String::new(),
            epochs => format!(", then {epochs} epochs at most to condense it"),
        };
        common.say(format_args!(
            "training on {n_train} documents, {n_valid} held out{test}; epochs: {n_epochs}, \
             steps: {n_steps} at most{refining}{condensing}"
        ));
        // What was done before is not done again.
        let epochs_left = n_steps.saturating_sub(steps_done) as f64 / n_batches as f64
            + f64::from(refine_epochs + condense_epochs);
        let n_evaluations = (epochs_left / f64::from(options.eval_every)).ceil();
        let n_docs = epochs_left * n_train as f64 + n_evaluations * n_valid as f64;
        let may_stop = options.patience > 0 && n_valid > 0 || refine_epochs + condense_epochs > 0;
        let n_epochs = n_steps as f64 / n_batches as f64 + f64::from(refine_epochs + condense_epochs);
        let status = Arc::new(Mutex::new(Status { n_epochs, may_stop, ..Status::default() }));
        let shared = Arc::clone(&status);
        let line = move |pace: &Pace, columns: Option<usize>| {
            let status = shared.lock().unwrap_or_else(PoisonError::into_inner);
            columns.map_or_else(|| status.plain(pace), |columns| status.live(pace, columns))
        };
        let progress = Progress::with_line(common, monitor, n_docs as u64, Box::new(line));
        Some(Self { progress, status, n_batches, verbose: common.verbose })
    }

    /// Takes over where training stands.
    pub(super) fn stands_at(&self, state: &State) {
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        (status.epoch, status.step) = (state.epoch(self.n_batches), state.step());
        // Refinement of a run that goes on has epochs behind it.
        status.n_epochs = status.n_epochs.max(status.epoch);
        status.train = state.train_elbo().or(status.train);
    }

    /// Takes over an evaluation, and prints it where there is no live line that tells it, or more is to be told.
    pub(super) fn evaluated(&self, metrics: &Metrics) {
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        let last = status.valid;
        status.change = metrics.valid_elbo.zip(last).map(|(now, last)| now - last);
        (status.train, status.valid) = (metrics.train_elbo.or(status.train), metrics.valid_elbo);
        drop(status);
        if self.verbose || !self.progress.is_live() {
            self.progress.line(&metrics_line(metrics, last));
        }
    }

    /// Takes over what ranks spend on communication.
    pub(super) fn communicates(&self, cost: &OnRanks) {
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        status.waiting = Some(cost.waiting_share);
        drop(status);
        if self.verbose {
            self.progress.line(&format!(
                "{} ranks: each sends {:.3} MB a step, sums are on their way for {:.4} s of it; {:.1} % of the time nothing is computed",
                cost.ranks,
                cost.sent_bytes_per_step / 1e6,
                cost.communication_s_per_step,
                100.0 * cost.waiting_share
            ));
        }
    }

    /// Prints a change of the graph.
    pub(super) fn refined(&self, stage: RefineStage, n_edges: usize) {
        let stage = match stage {
            RefineStage::Densified => "refining, from every edge that the layers allow".into(),
            RefineStage::Reseeded(topics) => format!("topics that begin anew: {topics}"),
            RefineStage::Pruned(edges) => format!("edges of least importance dropped: {edges}"),
            RefineStage::Swapped(edges) => {
                format!("edges exchanged for candidates of large gradient: {edges}")
            }
            RefineStage::Weighing => "looking for topics that documents held out can do without".into(),
            RefineStage::Lifted(topics) => format!("topics put above topics whose words they had: {topics}"),
            RefineStage::Dropped(topics) => {
                format!("topics dropped that documents held out can do without: {topics}")
            }
            RefineStage::Undone => "that did not help, undone".into(),
        };
        self.progress.line(&format!("{stage}: {n_edges} edges"));
    }
}

/// Terminals with fewer columns get shorter words.
const NARROW: usize = 60;

impl Status {
    /// As much as fits into so many columns, what matters most first to stay.
    fn live(&self, pace: &Pace, columns: usize) -> String {
        let narrow = columns < NARROW;
        let left = pace.seconds_left.map(|left| match (self.may_stop, narrow) {
            (false, false) => format!("{} left", short_time(left)),
            (false, true) => short_time(left),
            (true, false) => format!("at most {} left", short_time(left)),
            (true, true) => format!("<{}", short_time(left)),
        });
        let mut parts = [
            (0, Some(format!("epoch {:.1}/{:.0}", self.epoch, self.n_epochs))),
            (6, Some(format!("step {}", self.step))),
            (3, self.train.map(|train| format!("train {train:.4}"))),
            (1, self.valid.map(|valid| format!("held out {valid:.4}"))),
            (4, self.change.map(|change| format!("({change:+.4})"))),
            (5, pace.rate.map(|rate| format!("{} documents/s", grouped(rate)))),
            (2, left),
            (6, self.waiting.map(|share| format!("{:.0} % waiting for ranks", 100.0 * share))),
        ];
        let between = if narrow { " " } else { "  " };
        let text = |parts: &[(u8, Option<String>)]| {
            parts.iter().filter_map(|(_, part)| part.as_deref()).collect::<Vec<_>>().join(between)
        };
        for rank in (1..=6).rev() {
            // The last column stays free: some terminals begin a line there.
            if text(&parts).chars().count() < columns {
                break;
            }
            parts.iter_mut().filter(|part| part.0 == rank).for_each(|part| part.1 = None);
        }
        text(&parts).chars().take(columns.saturating_sub(1)).collect()
    }

    fn plain(&self, pace: &Pace) -> String {
        let mut line =
            format!("training: epoch {:.2} of {:.0}, step {}", self.epoch, self.n_epochs, self.step);
        if let Some(train) = self.train {
            line += &format!(", train {train:.4}");
        }
        if let Some(rate) = pace.rate {
            line += &format!(", {rate:.0} documents/s");
        }
        if let Some(share) = self.waiting {
            line += &format!(", {:.0} % of the time waiting for ranks", 100.0 * share);
        }
        if let Some(left) = pace.seconds_left {
            let most = if self.may_stop { "at most " } else { "" };
            line += &format!(", {most}{} left", short_time(left));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Status {
        let (train, valid, change) = (Some(-14.50123), Some(-14.4), Some(0.01));
        Status { epoch: 3.42, n_epochs: 40.0, step: 34, train, valid, change, may_stop: true, waiting: None }
    }

    #[test]
    fn the_live_line_says_what_matters_in_the_columns_there_are() {
        let pace = Pace { rate: Some(8123.4), seconds_left: Some(134.0) };
        for (columns, expected) in [
            (
                120,
                "epoch 3.4/40  step 34  train -14.5012  held out -14.4000  (+0.0100)  8,123 documents/s  at most 2m14s left",
            ),
            (80, "epoch 3.4/40  train -14.5012  held out -14.4000  (+0.0100)  at most 2m14s left"),
            (40, "epoch 3.4/40 held out -14.4000 <2m14s"),
            (20, "epoch 3.4/40"),
            (6, "epoch"),
            (0, ""),
        ] {
            assert_eq!(status().live(&pace, columns), expected, "{columns}");
        }
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let pace = Pace { rate: None, seconds_left: None };
        let status = Status { n_epochs: 2.0, ..Status::default() };
        assert_eq!(status.live(&pace, 80), "epoch 0.0/2  step 0");
        assert_eq!(status.plain(&pace), "training: epoch 0.00 of 2, step 0");
        let on_ranks = Status { n_epochs: 2.0, waiting: Some(0.031), ..Status::default() };
        assert_eq!(on_ranks.live(&pace, 80), "epoch 0.0/2  step 0  3 % waiting for ranks");
        let pace = Pace { rate: Some(10.0), seconds_left: Some(5.0) };
        assert_eq!(status.live(&pace, 80), "epoch 0.0/2  step 0  10 documents/s  5s left");
    }
}
