//! `noisyor model`: conversions, and topics renamed, dropped and merged.

use super::Common;
use super::common::{model_file, print};
use super::corpus_args::refuse_overwriting;
use anyhow::Result;
use clap::Subcommand;
use noisyor::Error;
use noisyor::network::topic_marginals;
use noisyor::network::{Network, check_extension, fingerprint, load_model, save};
use noisyor::report::find_topic;
use serde_json::json;
use std::path::{Path, PathBuf};

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
    /// Give a topic another name
    #[command(after_help = "Example:
  noisyor model rename run 17 Weather -o named.safetensors")]
    Rename {
        /// Model: .safetensors, .json or .tsv, or a run folder
        model: PathBuf,
        /// Topic: a name, a part of one, or a number
        old: String,
        /// Its new name
        new: String,
        /// Model to write
        #[arg(short, long, value_name = "OUT")]
        output: PathBuf,
    },
    /// Leave out topics
    ///
    /// The leaks of a topic's words and of topics below it take over what it gave them on average, so that they are on as often as before.
    #[command(after_help = "Example:
  noisyor model drop run \"page header\" 17 -o fewer.safetensors")]
    Drop {
        /// Model: .safetensors, .json or .tsv, or a run folder
        model: PathBuf,
        /// Topics: names, parts of them, or numbers
        #[arg(value_name = "TOPIC", required = true)]
        topics: Vec<String>,
        /// Model to write
        #[arg(short, long, value_name = "OUT")]
        output: PathBuf,
    },
    /// Make one topic of several
    ///
    /// The merged topic is on where any of them is: their leaks are added, and the weights of the edges from each parent. Where it is on, a
    /// word or a topic below is as likely as it was on average where one of them was on, by how often each is on in the model. It takes the
    /// place of the first. Edges between the topics go; a topic that is below one and above another must be merged, too.
    #[command(after_help = "Example:
  noisyor model merge run Rain Snow --name Weather -o merged.safetensors")]
    Merge {
        /// Model: .safetensors, .json or .tsv, or a run folder
        model: PathBuf,
        /// Topics: names, parts of them, or numbers
        #[arg(value_name = "TOPIC", required = true, num_args = 2..)]
        topics: Vec<String>,
        /// Name of the merged topic [default: that of the first]
        #[arg(long)]
        name: Option<String>,
        /// Model to write
        #[arg(short, long, value_name = "OUT")]
        output: PathBuf,
    },
}

pub(crate) fn run(args: Args, common: &Common) -> Result<()> {
    match args.command {
        Command::Convert { from, to } => write(&load_model(&from)?, &to, common),
        Command::Rename { model, old, new, output } => edit(&model, &output, common, |network| {
            let topic = find_topic(network, &old)?;
            network.rename_topic(topic, &new)
        }),
        Command::Drop { model, topics, output } => edit(&model, &output, common, |network| {
            let topics = find_topics(network, &topics)?;
            let on = topic_marginals(&network.graph, &network.weights);
            network.drop_topics(&topics, &on)
        }),
        Command::Merge { model, topics, name, output } => edit(&model, &output, common, |network| {
            let topics = find_topics(network, &topics)?;
            let on = topic_marginals(&network.graph, &network.weights);
            let first = network.names.of(topics[0]).to_owned();
            network.merge_topics(&topics, &on)?;
            let merged = find_topic(network, &first)?;
            name.map_or(Ok(()), |name| network.rename_topic(merged, &name))
        }),
    }
}

/// The topics of some names; none may be named twice.
fn find_topics(network: &Network, names: &[String]) -> noisyor::Result<Vec<u32>> {
    let mut topics = Vec::with_capacity(names.len());
    for name in names {
        let topic = find_topic(network, name)?;
        if topics.contains(&topic) {
            let message = format!("'{name}' is '{}', which is named twice", network.names.of(topic));
            return Err(Error::Usage(message));
        }
        topics.push(topic);
    }
    Ok(topics)
}

fn edit(
    model: &Path,
    output: &Path,
    common: &Common,
    change: impl FnOnce(&mut Network) -> noisyor::Result<()>,
) -> Result<()> {
    check_extension(output)?;
    let model = model_file(model)?;
    refuse_overwriting(output, [&model])?;
    let mut network = load_model(&model)?;
    change(&mut network)?;
    write(&network, output, common)
}

fn write(network: &Network, to: &Path, common: &Common) -> Result<()> {
    common.say_replaced(to);
    save(network, to)?;
    let graph = &network.graph;
    if common.json {
        return print(format_args!(
            "{}\n",
            json!({
                "topics": graph.n_topics(), "tokens": graph.n_tokens(), "edges": graph.n_edges(),
                "fingerprint": fingerprint(&load_model(to)?), "output": to,
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
