//! Progress of anything longer than a moment: a bar on a terminal, plain lines elsewhere.

use super::{Common, tell};
use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use noisyor::estep::Monitor;
use std::collections::VecDeque;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two plain lines.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Rates are those of the last while.
const RATE_OVER: Duration = Duration::from_secs(30);

/// How fast it goes, where that is known yet.
pub(crate) struct Pace {
    /// Documents or bytes per second.
    pub(crate) rate: Option<f64>,
    pub(crate) seconds_left: Option<f64>,
}

/// A line in words of one's own, for so many columns of a terminal or, without them, on its own.
pub(crate) type Line = dyn Fn(&Pace, Option<usize>) -> String + Send;

/// Follows a monitor's count of documents or bytes until dropped.
pub(crate) struct Progress {
    bar: ProgressBar,
    quiet: bool,
    done: Arc<AtomicBool>,
    follower: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts following documents; `what` is a verb, `n_docs` the whole amount of work.
    pub(crate) fn start(common: &Common, monitor: &Arc<Monitor>, what: &'static str, n_docs: u64) -> Self {
        Self::follow(common, monitor, what, Some(n_docs), &DOCUMENTS, None)
    }

    /// Starts following documents where nobody knows how many there will be.
    pub(crate) fn open(common: &Common, monitor: &Arc<Monitor>, what: &'static str) -> Self {
        Self::follow(common, monitor, what, None, &DOCUMENTS, None)
    }

    /// Starts following documents with a line of its own instead of a bar.
    pub(crate) fn with_line(common: &Common, monitor: &Arc<Monitor>, n_docs: u64, line: Box<Line>) -> Self {
        Self::follow(common, monitor, "", Some(n_docs), &DOCUMENTS, Some(line))
    }

    /// Starts following bytes that are read; the whole amount may be unknown.
    pub(crate) fn of_bytes(
        common: &Common,
        monitor: &Arc<Monitor>,
        what: &'static str,
        n_bytes: Option<u64>,
    ) -> Self {
        Self::follow(common, monitor, what, n_bytes, &BYTES, None)
    }

    fn follow(
        common: &Common,
        monitor: &Arc<Monitor>,
        what: &'static str,
        whole: Option<u64>,
        unit: &'static Unit,
        line: Option<Box<Line>>,
    ) -> Self {
        let on_terminal = std::io::stderr().is_terminal();
        let hidden = common.quiet || !on_terminal;
        let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(whole, target).with_message(what);
        let template = match (&line, whole) {
            (Some(_), _) => "{msg}",
            (None, Some(_)) => unit.template,
            (None, None) => unit.open_template,
        };
        let rate = |state: &ProgressState, text: &mut dyn std::fmt::Write| {
            let _ = write!(text, "{:.0}/s", state.per_sec());
        };
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.with_key("rate", rate));
        let done = Arc::new(AtomicBool::new(false));
        let plain = !common.quiet && !on_terminal;
        let follower = std::thread::spawn({
            let (bar, done, monitor) = (bar.clone(), Arc::clone(&done), Arc::clone(monitor));
            move || match line {
                Some(line) => follow_with(&line, &bar, &done, &monitor, plain, whole.unwrap_or(0), unit),
                None => follow(&bar, &done, &monitor, plain.then_some(what), whole, unit),
            }
        });
        Self { bar, quiet: common.quiet, done, follower: Some(follower) }
    }

    /// Whether it is drawn again and again.
    pub(crate) fn is_live(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// What stands before the bar from now on.
    pub(crate) fn message(&self, text: String) {
        self.bar.set_message(text);
    }

    /// Prints a line above the bar.
    pub(crate) fn line(&self, text: &str) {
        if !self.quiet {
            self.bar.suspend(|| tell(text));
        }
    }
}

/// What is counted, and how it is shown.
struct Unit {
    count: fn(&Monitor) -> u64,
    /// With a whole amount, and without one.
    template: &'static str,
    open_template: &'static str,
    /// Plain lines count in so many.
    scale: f64,
    name: &'static str,
    /// What goes on when all is counted.
    after: &'static str,
}

const DOCUMENTS: Unit = Unit {
    count: |monitor| monitor.docs_done.load(Ordering::Relaxed),
    template: "{msg} {wide_bar} {human_pos}/{human_len} documents, {rate}, {eta} left",
    open_template: "{msg} {spinner} {human_pos} documents, {rate}",
    scale: 1.0,
    name: "documents",
    after: "finishing",
};

const BYTES: Unit = Unit {
    count: |monitor| monitor.bytes_read.load(Ordering::Relaxed),
    template: "{msg} {wide_bar} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left",
    open_template: "{msg} {spinner} {bytes}, {bytes_per_sec}",
    scale: 1e6,
    name: "MB",
    after: "all read, writing",
};

fn follow(
    bar: &ProgressBar,
    done: &AtomicBool,
    monitor: &Monitor,
    plain: Option<&str>,
    whole: Option<u64>,
    unit: &Unit,
) {
    let first = (unit.count)(monitor);
    let (start, mut last_line) = (Instant::now(), Instant::now());
    while !done.load(Ordering::Relaxed) {
        std::thread::park_timeout(Duration::from_millis(100));
        let n_done = ((unit.count)(monitor) - first).min(whole.unwrap_or(u64::MAX));
        bar.set_position(n_done);
        if whole == Some(n_done) {
            bar.set_message(unit.after);
        }
        let Some(what) = plain.filter(|_| last_line.elapsed() >= LINE_EVERY && n_done > 0) else { continue };
        let rate = n_done as f64 / start.elapsed().as_secs_f64();
        let (shown, shown_rate, name) = (n_done as f64 / unit.scale, rate / unit.scale, unit.name);
        match whole {
            Some(whole) if n_done >= whole => tell(format_args!("{what}: {}", unit.after)),
            Some(whole) => {
                let (left, all) = ((whole - n_done) as f64 / rate, whole as f64 / unit.scale);
                tell(format_args!(
                    "{what}: {shown:.0} of {all:.0} {name}, {shown_rate:.0}/s, {left:.0} s left"
                ));
            }
            None => tell(format_args!("{what}: {shown:.0} {name}, {shown_rate:.0}/s")),
        }
        last_line = Instant::now();
    }
}

/// The same with a line of one's own.
fn follow_with(
    line: &Line,
    bar: &ProgressBar,
    done: &AtomicBool,
    monitor: &Monitor,
    plain: bool,
    whole: u64,
    unit: &Unit,
) {
    let (first, terminal) = ((unit.count)(monitor), Term::stderr());
    let mut last_line = Instant::now();
    let mut seen = VecDeque::from([(last_line, 0)]);
    while !done.load(Ordering::Relaxed) {
        std::thread::park_timeout(Duration::from_millis(100));
        let (now, n_done) = (Instant::now(), (unit.count)(monitor) - first);
        seen.push_back((now, n_done));
        // Nothing is known for the first second.
        let known = seen.front().filter(|(then, _)| now - *then >= Duration::from_secs(1));
        let rate = known.map(|(then, before)| (n_done - before) as f64 / (now - *then).as_secs_f64());
        while seen.front().is_some_and(|(then, _)| now - *then > RATE_OVER) {
            seen.pop_front();
        }
        let seconds_left =
            rate.filter(|&rate| rate > 0.0).map(|rate| whole.saturating_sub(n_done) as f64 / rate);
        let pace = Pace { rate, seconds_left };
        if !bar.is_hidden() {
            let columns = terminal.size_checked().map_or(80, |(_, columns)| usize::from(columns));
            bar.set_message(line(&pace, Some(columns)));
        } else if plain && last_line.elapsed() >= LINE_EVERY {
            tell(line(&pace, None));
            last_line = Instant::now();
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
