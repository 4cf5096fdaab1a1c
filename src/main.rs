//! The `noisyor` program: exit statuses and error printing; everything else is in `cli` and the library.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            cli::tell(format_args!("noisyor: {error}"));
            ExitCode::from(error.downcast_ref::<noisyor::Error>().map_or(1, noisyor::Error::exit_status))
        }
    }
}

/// The reader of our output went away: nothing is wrong.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}
