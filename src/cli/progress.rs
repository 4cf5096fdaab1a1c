//! Progress of anything longer than a moment: a bar on a terminal, plain lines elsewhere.

use super::{Common, tell};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use noisyor::estep::Monitor;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two plain lines.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Follows a monitor's count of documents until dropped.
pub(crate) struct Progress {
    bar: ProgressBar,
    quiet: bool,
    done: Arc<AtomicBool>,
    follower: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts following; `what` is a verb, `n_docs` the whole amount of work.
    pub(crate) fn start(common: &Common, monitor: &Arc<Monitor>, what: &'static str, n_docs: u64) -> Self {
        let on_terminal = std::io::stderr().is_terminal();
        let hidden = common.quiet || !on_terminal;
        let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(n_docs), target).with_message(what);
        let template = "{msg} {wide_bar} {human_pos}/{human_len} documents, {rate}, {eta} left";
        let rate = |state: &ProgressState, text: &mut dyn std::fmt::Write| {
            let _ = write!(text, "{:.0}/s", state.per_sec());
        };
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.with_key("rate", rate));
        let done = Arc::new(AtomicBool::new(false));
        let plain = !common.quiet && !on_terminal;
        let follower = std::thread::spawn({
            let (bar, done, monitor) = (bar.clone(), Arc::clone(&done), Arc::clone(monitor));
            move || follow(&bar, &done, &monitor, plain, what, n_docs)
        });
        Self { bar, quiet: common.quiet, done, follower: Some(follower) }
    }

    /// Prints a line above the bar.
    pub(crate) fn line(&self, text: &str) {
        if !self.quiet {
            self.bar.suspend(|| tell(text));
        }
    }
}

fn follow(bar: &ProgressBar, done: &AtomicBool, monitor: &Monitor, plain: bool, what: &str, n_docs: u64) {
    let first = monitor.docs_done.load(Ordering::Relaxed);
    let (start, mut last_line) = (Instant::now(), Instant::now());
    while !done.load(Ordering::Relaxed) {
        std::thread::park_timeout(Duration::from_millis(100));
        let n_done = (monitor.docs_done.load(Ordering::Relaxed) - first).min(n_docs);
        bar.set_position(n_done);
        if plain && last_line.elapsed() >= LINE_EVERY && n_done > 0 && n_done < n_docs {
            last_line = Instant::now();
            let rate = n_done as f64 / start.elapsed().as_secs_f64();
            let left = (n_docs - n_done) as f64 / rate;
            tell(format_args!("{what}: {n_done} of {n_docs} documents, {rate:.0}/s, {left:.0} s left"));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(follower) = self.follower.take() {
            follower.thread().unpark();
            let _ = follower.join();
        }
        self.bar.finish_and_clear();
    }
}
