//! Work away from the interpreter: it runs on a thread of its own with the GIL released, while the calling thread passes on what it
//! reports and looks for Ctrl-C.

use crate::errors::{OrRaise, exception};
use crate::threads;
use noisyor::run::{Level, Observer, Stage};
use noisyor::train::{Event, TrainOptions};
use noisyor::{Error, Monitor};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

/// Signals are looked for, and progress is told, as often as this.
const TICK: Duration = Duration::from_millis(50);

/// What is told to the listener, a callable: `listener(kind, text)`, where most texts are JSON.
enum Message {
    /// Something happened.
    Tell(&'static str, String),
    /// The same; the work waits for the answer, whether to stop.
    Ask(&'static str, String, SyncSender<bool>),
}

/// Sends what a run reports to the calling thread.
pub struct Reporter(Sender<Message>);

/// What came of the work.
pub struct Done<T> {
    /// The result.
    pub value: T,
    /// Whether Ctrl-C was pressed meanwhile.
    pub interrupted: bool,
}

/// Runs work in a pool of so many threads. Ctrl-C stops the monitor; what the work makes of that is its result. Exceptions of the listener
/// do, too, and are raised when the work has ended.
///
/// # Errors
/// What the work fails with; exceptions of the listener and of signal handlers.
pub fn run<T: Send>(
    py: Python<'_>,
    n_threads: usize,
    monitor: &Arc<Monitor>,
    listener: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&mut Reporter) -> noisyor::Result<T> + Send,
) -> PyResult<Done<T>> {
    let pool = threads::pool(n_threads).or_raise(py)?;
    let (sender, messages) = channel();
    let mut reporter = Reporter(sender);
    thread::scope(|scope| {
        let worker = scope.spawn(move || pool.install(move || work(&mut reporter)));
        let mut watch = Watch { monitor, listener, n_told: 0, interrupted: false, raised: None };
        watch.until_end(py, messages);
        let result = py.detach(|| worker.join());
        if let Some(raised) = watch.raised {
            return Err(raised);
        }
        match result {
            Ok(Ok(value)) => Ok(Done { value, interrupted: watch.interrupted }),
            Ok(Err(error)) => Err(exception(py, &error)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// The calling thread while the work lasts.
struct Watch<'a, 'py> {
    monitor: &'a Monitor,
    listener: Option<&'a Bound<'py, PyAny>>,
    n_told: u64,
    interrupted: bool,
    raised: Option<PyErr>,
}

impl Watch<'_, '_> {
    fn until_end(&mut self, py: Python<'_>, mut messages: Receiver<Message>) {
        loop {
            let received;
            (received, messages) = py.detach(move || (messages.recv_timeout(TICK), messages));
            match received {
                Ok(Message::Tell(kind, text)) => drop(self.tell(kind, &text)),
                Ok(Message::Ask(kind, text, answer)) => {
                    let stops = self.tell(kind, &text);
                    // Whoever asked may have failed meanwhile.
                    let _ = answer.send(stops);
                }
                Err(RecvTimeoutError::Timeout) => {
                    let n_docs = self.monitor.docs_done.load(Ordering::Relaxed);
                    let n_bytes = self.monitor.bytes_read.load(Ordering::Relaxed);
                    if n_docs + n_bytes != self.n_told {
                        self.n_told = n_docs + n_bytes;
                        self.tell("progress", &json!({"docs": n_docs, "bytes": n_bytes}).to_string());
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if let Err(error) = py.check_signals() {
                self.stop(py, error);
            }
        }
    }

    /// Tells the listener; returns whether it says stop.
    fn tell(&mut self, kind: &str, text: &str) -> bool {
        let Some(listener) = self.listener.filter(|_| self.raised.is_none()) else { return false };
        match listener.call1((kind, text)).and_then(|answer| answer.is_truthy()) {
            Ok(stops) => stops,
            Err(error) => {
                self.stop(listener.py(), error);
                true
            }
        }
    }

    fn stop(&mut self, py: Python<'_>, error: PyErr) {
        self.monitor.stop.store(true, Ordering::SeqCst);
        if error.is_instance_of::<PyKeyboardInterrupt>(py) {
            self.interrupted = true;
        } else if self.raised.is_none() {
            self.raised = Some(error);
        }
    }
}

impl Reporter {
    fn tell(&self, kind: &'static str, text: String) {
        // The receiver lives as long as the work.
        let _ = self.0.send(Message::Tell(kind, text));
    }

    /// Asks whether to go on; an error says no.
    pub fn ask(&self, kind: &'static str, text: String) -> bool {
        let (answer, answered) = sync_channel(1);
        let _ = self.0.send(Message::Ask(kind, text, answer));
        answered.recv().unwrap_or(true)
    }
}

/// A run's reports; an evaluation may stop it.
pub struct RunObserver<'a> {
    /// Where they go.
    pub reporter: &'a mut Reporter,
    /// The run's.
    pub monitor: &'a Monitor,
}

impl Observer for RunObserver<'_> {
    fn begins(&mut self, stage: Stage, work: Option<u64>) {
        let name = match stage {
            Stage::Reading => "reading",
            Stage::LearningGraph => "learning a graph",
            Stage::ChoosingNetwork => "choosing a network",
            Stage::AttachingTokens => "attaching tokens",
            Stage::FittingMixture => "fitting a mixture",
            Stage::CountingMoments => "counting moments",
            Stage::StartingBaseline | Stage::FittingBaseline => "fitting",
            Stage::Evaluating => "evaluating",
        };
        self.reporter.tell("begins", json!({"stage": name, "work": work}).to_string());
    }

    fn ended(&mut self) {
        self.reporter.tell("ended", String::new());
    }

    fn says(&mut self, level: Level, message: &str) {
        let kind = match level {
            Level::Detail => "detail",
            Level::Info => "info",
            Level::Warning => "warning",
        };
        self.reporter.tell(kind, message.to_owned());
    }

    fn trains(&mut self, event: &Event<'_>, _: &TrainOptions) {
        match *event {
            Event::Started { n_train, n_valid, n_steps, steps_done, n_batches, .. } => {
                let started = json!({
                    "n_train": n_train, "n_valid": n_valid, "n_steps": n_steps, "steps_done": steps_done, "n_batches": n_batches,
                });
                self.reporter.tell("started", started.to_string());
            }
            Event::Evaluated { metrics, best, .. } => {
                let mut told = serde_json::to_value(metrics).unwrap_or_default();
                told["best"] = best.into();
                if self.reporter.ask("evaluated", told.to_string()) {
                    self.monitor.stop.store(true, Ordering::SeqCst);
                }
            }
            Event::Safe { .. } | Event::Refined { .. } => {}
        }
    }

    fn warner(&self) -> Option<noisyor::run::Warner> {
        let sender = self.reporter.0.clone();
        Some(Box::new(move |message| drop(sender.send(Message::Tell("warning", message.to_owned())))))
    }
}

/// Ctrl-C in work that has no result half way.
///
/// # Errors
/// `KeyboardInterrupt`.
pub fn whole<T>(py: Python<'_>, done: Done<T>) -> PyResult<T> {
    match done.interrupted {
        true => Err(exception(py, &Error::Interrupted)),
        false => Ok(done.value),
    }
}
