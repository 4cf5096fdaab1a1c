//! `noisyor model`: conversions.

use super::{Common, common::print};
use anyhow::Result;
use clap::Subcommand;
use noisyor::network::{fingerprint, load_model, save};
use serde_json::json;
use std::path::PathBuf;

const CONVERT_EXAMPLE: &str = "Example:
  noisyor model convert run/model.safetensors model.json";

/// Work with model files
#[derive(clap::Args)]
#[command(after_help = CONVERT_EXAMPLE)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Convert between .json, .safetensors (weights as f32) and .tsv (an edge list)
    #[command(after_help = CONVERT_EXAMPLE)]
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
    if common.json {
        return print(format_args!(
            "{}\n",
            json!({
                "topics": graph.n_topics(), "tokens": graph.n_tokens(), "edges": graph.n_edges(),
                "fingerprint": fingerprint(&load_model(&to)?), "output": to,
            })
        ));
    }
    common.say(format_args!(
        "{} topics, {} tokens, {} edges -> {}",
        graph.n_topics(),
        graph.n_tokens(),
        graph.n_edges(),
        to.display()
    ));
    Ok(())
}
