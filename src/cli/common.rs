//! What every command has: threads, verbosity, JSON, interruption, backend.

use anyhow::Result;
use clap::{Args, ValueEnum};
use noisyor::estep::{EStep, Monitor, Stats, cpu::CpuEStep};
use noisyor::{Error, Result as LibResult};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;

#[derive(Args)]
pub(crate) struct Common {
    /// Threads to compute with [default: all cores]
    #[arg(long, global = true, value_name = "N")]
    threads: Option<usize>,
    /// Print the result as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print nothing but results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print more about what is going on
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
}

impl Common {
    pub(crate) fn start_threads(&self) -> LibResult<()> {
        if let Some(threads) = self.threads.filter(|threads| !(1..=1024).contains(threads)) {
            return Err(Error::Usage(format!("--threads must be from 1 to 1024; it is {threads}")));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads.unwrap_or(0));
        pool.build_global().map_err(|e| Error::Usage(format!("cannot start threads: {e}")))
    }

    /// Tells the user something, unless --quiet.
    pub(crate) fn say(&self, message: impl std::fmt::Display) {
        if !self.quiet {
            tell(message);
        }
    }

    /// With --verbose, how the E-step went.
    pub(crate) fn say_estep(&self, stats: &Stats) {
        if self.verbose {
            let per_item = |sum: u64| sum as f64 / stats.n_items.max(1) as f64;
            self.say(format_args!(
                "{:.2} alternations and {:.1} positive edges a document; {} of {} reached the maximum of alternations",
                per_item(stats.n_alternations),
                per_item(stats.n_edges),
                stats.n_unconverged,
                stats.n_items
            ));
        }
    }

    /// Warns, unless --quiet.
    pub(crate) fn warn(&self, message: impl std::fmt::Display) {
        self.say(format_args!("warning: {message}"));
    }
}

/// A line on standard error; if that is closed, so be it.
pub(crate) fn tell(message: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{message}");
}

/// Prints a result on standard output. A reader that went away is an `io::Error` of its own, which ends the program
/// quietly; anything else is a failed write.
pub(crate) fn print(text: impl std::fmt::Display) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    match write!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Err(error.into()),
        result => Ok(result.map_err(|error| Error::io("standard output".as_ref(), error))?),
    }
}

/// A monitor that Ctrl-C and termination signals stop; a second one ends the program at once.
pub(crate) fn interruptible(common: &Common) -> LibResult<Arc<Monitor>> {
    let quiet = common.quiet;
    let monitor = Arc::new(Monitor::default());
    let shared = Arc::clone(&monitor);
    ctrlc::set_handler(move || {
        if shared.stop.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        if !quiet {
            tell("\nstopping; once more to stop at once");
        }
    })
    .map_err(|e| Error::Usage(format!("cannot listen for Ctrl-C: {e}")))?;
    Ok(monitor)
}

#[derive(Args)]
pub(crate) struct BackendArgs {
    /// What computes the E-step: the best there is, the CPU or a GPU
    #[arg(long, value_enum, default_value_t = Backend::Auto)]
    backend: Backend,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Backend {
    Auto,
    Cpu,
    Gpu,
}

impl BackendArgs {
    pub(crate) fn open(&self) -> LibResult<Box<dyn EStep>> {
        match self.backend {
            Backend::Auto | Backend::Cpu => Ok(Box::new(CpuEStep::new())),
            Backend::Gpu => {
                Err(Error::Device("this version has no GPU backend; use --backend cpu (or auto)".into()))
            }
        }
    }
}
