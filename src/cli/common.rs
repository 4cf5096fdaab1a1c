//! What every command has: threads, verbosity, JSON, interruption, backend.

use super::flags::with_flags;
use super::ranks;
use super::train::Screen;
use anyhow::Result;
use clap::{Args, ValueEnum};
use noisyor::columns::UNLIMITED;
use noisyor::estep::{EStep, Monitor, Stats};
use noisyor::plan::Device;
use noisyor::ranks::Team;
use noisyor::run::{Backend, BackendOptions, estep_summary};
use noisyor::{Error, Result as LibResult};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A signal that follows at once is the same one: launchers and terminals may both send it.
const AGAIN: Duration = Duration::from_millis(300);

/// In fewer columns there is nothing to be read.
const MIN_COLUMNS: usize = 20;

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
    /// Print more about what happens
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// The ranks that share the work.
    #[arg(skip)]
    pub(crate) team: Team,
}

impl Common {
    /// Starts so many threads, or else those that are given.
    pub(crate) fn start_threads(&self, otherwise: Option<usize>) -> LibResult<()> {
        if let Some(threads) = self.threads.filter(|threads| !(1..=1024).contains(threads)) {
            return Err(Error::Usage(format!("--threads must be from 1 to 1024; it is {threads}")));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads.or(otherwise).unwrap_or(0));
        pool.build_global().map_err(|e| Error::Usage(format!("cannot start threads: {e}")))
    }

    /// Tells the user something, unless --quiet.
    pub(crate) fn say(&self, message: impl std::fmt::Display) {
        if !self.quiet {
            tell(message);
        }
    }

    /// Tells of a file that is about to be replaced.
    pub(crate) fn say_replaced(&self, output: &Path) {
        if output.is_file() {
            self.say(format_args!("{} exists and will be replaced", output.display()));
        }
    }

    /// With --verbose, how the E-step went.
    pub(crate) fn say_estep(&self, stats: &Stats) {
        if self.verbose {
            self.say(estep_summary(stats));
        }
    }

    /// Warns, unless --quiet.
    pub(crate) fn warn(&self, message: impl std::fmt::Display) {
        self.say(format_args!("warning: {message}"));
    }
}

/// A line on standard error, with flags for options; if that is closed, so be it.
pub(crate) fn tell(message: impl std::fmt::Display) {
    if ranks::is_silent() {
        return;
    }
    let _ = writeln!(std::io::stderr(), "{}", tame(&with_flags(&message.to_string())));
}

/// Text without what would move the cursor or colour the screen: names of files and words can hold anything.
pub(crate) fn tame(text: &str) -> String {
    let mut tame = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && !matches!(c, '\n' | '\t') {
            tame.extend(c.escape_default());
        } else {
            tame.push(c);
        }
    }
    tame
}

/// Prints a result on standard output. A reader that went away is an `io::Error` of its own, which ends the program
/// quietly; anything else is a failed write.
pub(crate) fn print(text: impl std::fmt::Display) -> Result<()> {
    if ranks::is_silent() {
        return Ok(());
    }
    let mut stdout = std::io::stdout().lock();
    match write!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Err(error.into()),
        result => Ok(result.map_err(|error| Error::io("standard output".as_ref(), error))?),
    }
}

/// The model file that a path means: the file, or the model of a run folder.
pub(crate) fn model_file(path: &Path) -> LibResult<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let model = path.join("model.safetensors");
    if !model.is_file() {
        let message = "this folder has no model.safetensors; give a model, or the folder of a run that has trained for a while";
        return Err(Error::input(path, None, message));
    }
    Ok(model)
}

/// Columns to print in: as given, else the terminal's; without a terminal as many as it takes.
pub(crate) fn columns(given: Option<usize>) -> usize {
    let of_terminal =
        || terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
    given.or_else(of_terminal).unwrap_or(UNLIMITED).max(MIN_COLUMNS)
}

/// A monitor that Ctrl-C and termination signals stop; a second one ends the program at once.
pub(crate) fn interruptible(common: &Common) -> LibResult<Arc<Monitor>> {
    stoppable(common.quiet)
}

/// The same; `quiet` says nothing when it is stopped.
pub(crate) fn stoppable(quiet: bool) -> LibResult<Arc<Monitor>> {
    let monitor = Arc::new(Monitor::default());
    ranks::stops(&monitor);
    let shared = Arc::clone(&monitor);
    let mut since = None;
    ctrlc::set_handler(move || {
        shared.stop.store(true, Ordering::SeqCst);
        match since {
            None => {
                since = Some(Instant::now());
                if !quiet {
                    tell("\nstopping; once more to stop at once");
                }
            }
            Some(first) if first.elapsed() >= AGAIN => {
                noisyor::files::remove_unfinished();
                std::process::exit(130);
            }
            Some(_) => {}
        }
    })
    .map_err(|e| Error::Usage(format!("cannot listen for Ctrl-C: {e}")))?;
    Ok(monitor)
}

#[derive(Args)]
pub(crate) struct BackendArgs {
    /// What computes the E-step: a GPU if there is one and else the CPU, the CPU, or a GPU (software Vulkan counts)
    #[arg(long, value_enum, default_value_t = BackendArg::Auto)]
    backend: BackendArg,
    /// Which GPU: its number or a part of its name, as `noisyor devices` lists them
    #[arg(long, value_name = "SUBSTRING|INDEX")]
    device: Option<String>,
    /// GPU: device memory to use at most, in MB; what chunks in flight leave of it is for packed documents that stay there [default:
    /// all of it, and 2048 for packed documents]
    #[arg(long, value_name = "N")]
    device_mb: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BackendArg {
    Auto,
    Cpu,
    Gpu,
}

impl BackendArgs {
    /// What is asked for; packed documents may be kept in so much memory.
    pub(crate) fn options(&self, cache_mb: usize) -> BackendOptions {
        let backend = match self.backend {
            BackendArg::Auto => Backend::Auto,
            BackendArg::Cpu => Backend::Cpu,
            BackendArg::Gpu => Backend::Gpu,
        };
        BackendOptions { backend, device: self.device.clone(), turn: 0, device_mb: self.device_mb, cache_mb }
    }

    /// Changes what was typed.
    pub(crate) fn change(&self, options: &mut BackendOptions, is_given: &dyn Fn(&str) -> bool) {
        let BackendOptions { backend, device, device_mb, .. } = self.options(0);
        if is_given("backend") {
            options.backend = backend;
        }
        if is_given("device") {
            options.device = device;
        }
        if is_given("device_mb") {
            options.device_mb = device_mb;
        }
    }

    /// Opens the backend.
    pub(crate) fn open(&self, common: &Common) -> LibResult<Box<dyn EStep>> {
        Ok(self.open_to_train(common, 0)?.0)
    }

    /// The same for those who run the same documents again: a GPU may keep them packed in so much memory. If it is one, what a
    /// plan has to know of it comes along.
    pub(crate) fn open_to_train(
        &self,
        common: &Common,
        cache_mb: usize,
    ) -> LibResult<(Box<dyn EStep>, Option<Device>)> {
        let options = BackendOptions { turn: common.team.on_host(), ..self.options(cache_mb) };
        options.open(&mut Screen::new(common, &Arc::default()))
    }
}
