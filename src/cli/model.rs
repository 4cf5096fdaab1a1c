//! `noisyor model`: conversions.

use super::Common;
use anyhow::Result;
use clap::Subcommand;
use noisyor::network::{load_model, save};
use std::path::PathBuf;

/// Work with model files
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Convert between .json, .safetensors (weights as f32) and .tsv (an edge list)
    #[command(after_help = "Example:
  noisyor model convert run/model.safetensors model.json")]
    Convert {
        /// Model to read
        from: PathBuf,
        /// Model to write
        to: PathBuf,
    },
}

pub(crate) fn run(args: Args, common: &Common) -> Result<()> {
    let Command::Convert { from, to } = args.command;
    let network = load_model(&from)?;
    save(&network, &to)?;
    let graph = &network.graph;
    common.say(format_args!(
        "{} topics, {} tokens, {} edges -> {}",
        graph.n_topics(),
        graph.n_tokens(),
        graph.n_edges(),
        to.display()
    ));
    Ok(())
}
