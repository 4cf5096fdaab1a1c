//! `noisyor man`: manual pages.

use super::common::print;
use super::{Cli, Common};
use anyhow::Result;
use clap::CommandFactory;
use clap_mangen::{Man, generate_to};
use noisyor::Error;
use std::path::PathBuf;

/// Manual pages: the main one on standard output, or all into a folder
#[derive(clap::Args)]
#[command(after_help = "Examples:
  noisyor man | man -l -
  noisyor man -o ~/.local/share/man/man1")]
pub(crate) struct Args {
    /// Folder for a page a command: noisyor.1, noisyor-train.1, ...
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: Args, common: &Common) -> Result<()> {
    let program = Cli::command().disable_help_subcommand(true);
    let Some(folder) = args.output else {
        let mut page = Vec::new();
        Man::new(program).render(&mut page)?;
        return print(String::from_utf8_lossy(&page));
    };
    let written = std::fs::create_dir_all(&folder).and_then(|()| generate_to(program, &folder));
    written.map_err(|e| Error::io(&folder, e))?;
    common.say(format_args!("-> {}", folder.display()));
    Ok(())
}
