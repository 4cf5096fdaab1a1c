//! `noisyor topics`: the hierarchy as text.

use super::{Common, common::print};
use anyhow::Result;
use noisyor::network::load_model;
use noisyor::report::{MAX_DEPTH, TopicTree, topic_tree};
use std::path::PathBuf;

/// The hierarchy of topics with their strongest tokens
#[derive(clap::Args)]
#[command(after_help = "Example:
  noisyor topics run/model.safetensors --top 5 --depth 2")]
pub(crate) struct Args {
    /// Model: .safetensors, .json or .tsv
    model: PathBuf,
    /// Tokens per topic
    #[arg(long, default_value_t = 8, value_name = "N")]
    top: usize,
    /// Levels of topics, at most 64
    #[arg(long, default_value_t = MAX_DEPTH, value_name = "N", hide_default_value = true)]
    depth: usize,
}

pub(crate) fn run(args: Args, common: &Common) -> Result<()> {
    let trees = topic_tree(&load_model(&args.model)?, args.top, args.depth);
    if common.json {
        print(format_args!("{}\n", serde_json::to_string(&trees)?))
    } else if trees.is_empty() {
        print("no topics\n")
    } else {
        print(TopicTree::text(&trees))
    }
}
