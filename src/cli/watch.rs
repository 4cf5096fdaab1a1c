//! `noisyor watch`: a run seen from another terminal.

mod picture;
mod run;

use super::common::{print, tame};
use super::figures::metrics_line;
use super::{Common, common::stoppable};
use anyhow::Result;
use console::Term;
use noisyor::Error;
use noisyor::monitor::Monitor;
use noisyor::run::{EventFile, Growth};
use run::Watched;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// Follow a run: its bounds against epochs, its last figures, how long it will take
///
/// Redraws in place on a terminal, else prints a line for every evaluation. Ends when the run does. Ctrl-C ends the watching, not the
/// run; the status is 0 then, too, as nothing is left half done.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  noisyor watch run
  noisyor watch run --once
  noisyor watch run --json | jq .valid_elbo
  noisyor watch run --once --tensorboard run/tensorboard")]
pub(crate) struct Args {
    /// Run folder
    run: PathBuf,
    /// Print one picture and end; with --json, one object that says how the run stands
    #[arg(long)]
    once: bool,
    /// Columns of the picture [default: those of the terminal, else 80]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(20..=1000))]
    width: Option<u16>,
    /// Rows of the picture [default: those of the terminal, at most 30; else 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(8..=500))]
    height: Option<u16>,
    /// Write the evaluations so far as an event file of TensorBoard into a folder, as train --tensorboard does from the start
    #[arg(long, value_name = "DIR", requires = "once")]
    tensorboard: Option<PathBuf>,
}

/// Between two looks at the folder.
const LOOK_EVERY: Duration = Duration::from_millis(500);

pub(crate) fn run(args: Args, common: &Common) -> Result<()> {
    let monitor = stoppable(true)?;
    let mut run = Watched::new(&args.run);
    run.look()?;
    if let Some(folder) = &args.tensorboard {
        let own = args.run.join("tensorboard");
        let is_own = *folder == own
            || own.canonicalize().is_ok_and(|own| folder.canonicalize().is_ok_and(|it| it == own));
        if run.goes_on() && is_own {
            let message = "the run goes on and writes there itself; give another folder";
            return Err(Error::Usage(format!("--tensorboard {}: {message}", folder.display())).into());
        }
        let written = run.followed.changed().unwrap_or(SystemTime::UNIX_EPOCH);
        EventFile::start(folder, run.metrics(), written)?;
    }
    match (args.once, common.json, std::io::stdout().is_terminal()) {
        (true, true, _) => print(format_args!("{}\n", run.state())),
        (true, false, _) => print(picture(&run, &args) + "\n"),
        (false, false, true) => redraw(&mut run, &args, &monitor),
        (false, json, _) => print_lines(&mut run, json, &monitor),
    }
}

/// The picture in the place there is.
fn picture(run: &Watched, args: &Args) -> String {
    let terminal =
        Term::stdout().size_checked().map(|(rows, columns)| (rows.saturating_sub(1).min(30), columns));
    let (rows, columns) = terminal.unwrap_or((20, 80));
    let (rows, columns) = (args.height.unwrap_or(rows), args.width.unwrap_or(columns));
    picture::draw(run, usize::from(columns), usize::from(rows))
}

/// Waits until the next look. Whether there is to be one.
fn wait(run: &Watched, monitor: &Monitor) -> bool {
    let piece = LOOK_EVERY / 10;
    for _ in 0..10 {
        if !run.goes_on() || monitor.go_on().is_err() {
            return false;
        }
        std::thread::sleep(piece);
    }
    true
}

/// The terminal's other screen; dropped, the first one is as it was.
struct Screen;

impl Screen {
    const ENTER: &str = "\x1b[?1049h\x1b[?25l";
    const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

    fn enter() -> Result<Self> {
        print(Self::ENTER)?;
        Ok(Self)
    }

    /// From the top, each line up to its end, then nothing: no flicker, whatever the size was before.
    fn show(&self, picture: &str) -> Result<()> {
        let lines: String = picture.lines().map(|line| format!("{line}\x1b[K\r\n")).collect();
        print(format_args!("\x1b[H{}\x1b[J", lines.trim_end_matches("\r\n")))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = print(Self::LEAVE);
    }
}

/// Draws again and again; the last picture stays.
fn redraw(run: &mut Watched, args: &Args, monitor: &Monitor) -> Result<()> {
    let screen = Screen::enter()?;
    loop {
        screen.show(&picture(run, args))?;
        if !wait(run, monitor) {
            break;
        }
        run.look()?;
    }
    drop(screen);
    print(picture(run, args) + "\n")
}

/// A line for every evaluation, those before included, and how it ended.
fn print_lines(run: &mut Watched, json: bool, monitor: &Monitor) -> Result<()> {
    let mut n_shown = 0;
    loop {
        for at in n_shown..run.metrics().len() {
            let metrics = &run.metrics()[at];
            let last = at.checked_sub(1).and_then(|before| run.metrics()[before].valid_elbo);
            match json {
                true => print(format_args!("{}\n", serde_json::to_string(metrics)?))?,
                false => print(metrics_line(metrics, last) + "\n")?,
            }
        }
        n_shown = run.metrics().len();
        if !wait(run, monitor) {
            break;
        }
        if run.look()? == Growth::Anew {
            if !json {
                print("the run went on from an earlier checkpoint\n")?;
            }
            n_shown = 0;
        }
    }
    if json { Ok(()) } else { print(format_args!("{}\n", tame(&run.standing_line()))) }
}
