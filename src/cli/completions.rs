//! `noisyor completions`: completions for a shell.

use super::Cli;
use super::common::print;
use anyhow::Result;
use clap::CommandFactory;
use clap_complete::{Shell, generate};

/// Completions of commands and options for a shell, on standard output
#[derive(clap::Args)]
#[command(after_help = "Examples:
  noisyor completions bash > ~/.local/share/bash-completion/completions/noisyor
  noisyor completions zsh > ~/.zfunc/_noisyor
  noisyor completions fish > ~/.config/fish/completions/noisyor.fish")]
pub(crate) struct Args {
    /// Shell
    shell: Shell,
}

pub(crate) fn run(args: Args) -> Result<()> {
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "noisyor", &mut script);
    print(String::from_utf8_lossy(&script))
}
