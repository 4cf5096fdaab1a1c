//! `noisyor topics`: the hierarchy as text, a search in it, and the topic graph for other programs.

use super::Common;
use super::common::{columns, model_file, print};
use super::corpus_args::refuse_overwriting;
use anyhow::Result;
use noisyor::columns::{UNLIMITED, fit, fit_list, plain, width};
use noisyor::files::AtomicFile;
use noisyor::network::{MAX_DEPTH, Network, load_model};
use noisyor::report::{FoundTopic, TopicTree, search_topics, topic_tree, write_dot, write_graphml};
use noisyor::{Error, Result as LibResult};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Lines that a terminal gets of a model with more topics, unless --depth asks for more.
const MAX_LINES: usize = 200;
/// Topics found that a terminal gets.
const MAX_FOUND: usize = 50;

/// The hierarchy of topics with their strongest tokens
#[derive(clap::Args)]
#[command(after_help = "Examples:
  noisyor topics run --top 5 --depth 2
  noisyor topics run --search \"rain wind\"
  noisyor topics run/model.safetensors --graphml topics.graphml")]
pub(crate) struct Args {
    /// Model: .safetensors, .json or .tsv, or a run folder
    model: PathBuf,
    /// Tokens per topic
    #[arg(long, default_value_t = 8, value_name = "N")]
    top: usize,
    /// Levels of topics, at most 64 [default: all; on a terminal as many as make up to 200 lines]
    #[arg(long, value_name = "N")]
    depth: Option<usize>,
    /// Only topics that have all these words, or words that begin so, in their names or 20 strongest tokens; matches stand
    /// between stars
    #[arg(long, value_name = "WORDS", conflicts_with = "depth")]
    search: Option<String>,
    /// Columns to print in [default: the terminal's; without one, as many as it takes]
    #[arg(long, value_name = "N")]
    width: Option<usize>,
    /// Write the topic graph for Graphviz, with the strongest tokens of each topic
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,
    /// Write the topic graph as GraphML, with the strongest tokens of each topic
    #[arg(long, value_name = "FILE")]
    graphml: Option<PathBuf>,
}

pub(crate) fn run(args: Args, common: &Common) -> Result<()> {
    let model = model_file(&args.model)?;
    let outputs: [(&Option<PathBuf>, Export); 2] = [(&args.dot, write_dot), (&args.graphml, write_graphml)];
    for path in outputs.iter().filter_map(|(path, _)| path.as_deref()) {
        refuse_overwriting(path, [&model])?;
    }
    if args.dot.is_some() && args.dot == args.graphml {
        return Err(Error::Usage("--dot and --graphml cannot be one file".into()).into());
    }
    let network = load_model(&model)?;
    for (path, export) in outputs {
        if let Some(path) = path {
            common.say_replaced(path);
            write(path, &network, args.top, export)?;
            common.say(format_args!("-> {}", path.display()));
        }
    }
    match &args.search {
        Some(words) => search(&args, &network, words, common),
        None => print_tree(&args, &network, common),
    }
}

type Export = fn(&Network, usize, &mut dyn Write) -> std::io::Result<()>;

fn write(path: &Path, network: &Network, top: usize, export: Export) -> LibResult<()> {
    let mut file = AtomicFile::create(path)?;
    export(network, top, &mut file).map_err(|e| Error::io(path, e))?;
    file.commit()
}

fn print_tree(args: &Args, network: &Network, common: &Common) -> Result<()> {
    let mut trees = topic_tree(network, args.top, args.depth.unwrap_or(MAX_DEPTH));
    if common.json {
        return print(format_args!("{}\n", serde_json::to_string(&trees)?));
    }
    if trees.is_empty() {
        return print("no topics\n");
    }
    let mut left_out = 0;
    if args.depth.is_none() && std::io::stdout().is_terminal() {
        left_out = TopicTree::shorten(&mut trees, MAX_LINES);
    }
    print(TopicTree::text_within(&trees, columns(args.width)))?;
    if left_out > 0 {
        common.say(format_args!(
            "{left_out} more topics; --depth N shows N levels of all, --search WORDS finds some, and a pipe gets everything"
        ));
    }
    Ok(())
}

fn search(args: &Args, network: &Network, words: &str, common: &Common) -> Result<()> {
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    if words.is_empty() {
        return Err(Error::Usage("--search has no word to search for".into()).into());
    }
    let found = search_topics(network, &words, args.top);
    if common.json {
        return print(format_args!("{}\n", serde_json::to_string(&found)?));
    }
    if found.is_empty() {
        return print(format_args!("no topic has {}\n", plain(&words.join(" "))));
    }
    let most = if std::io::stdout().is_terminal() { MAX_FOUND } else { UNLIMITED };
    let columns = columns(args.width);
    let lines: String = found.iter().take(most).map(|topic| found_line(topic, columns)).collect();
    print(lines)?;
    if found.len() > most {
        common.say(format_args!(
            "{} more topics; more words find fewer, and a pipe gets all",
            found.len() - most
        ));
    }
    Ok(())
}

/// The path from the root, the topic, its tokens; matches marked.
fn found_line(found: &FoundTopic, columns: usize) -> String {
    let mark = |name: &str, is_match: bool| if is_match { format!("*{}*", plain(name)) } else { plain(name) };
    let above: String = found.path.iter().map(|name| plain(name) + " > ").collect();
    // The topic itself and some tokens must be seen: the path has what room they leave.
    let own = fit(&mark(&found.topic, found.by_name), (columns / 2).max(8));
    let room = columns.saturating_sub(width(&own)) / 2;
    let above = if width(&above) <= room {
        above
    } else {
        format!("{} > ", fit(&above, room.saturating_sub(3).max(1)))
    };
    let mut tokens = found.tokens.clone();
    tokens.sort_by_key(|(token, _)| !found.matched.contains(token));
    let tokens: Vec<String> =
        tokens.iter().map(|(token, _)| mark(token, found.matched.contains(token))).collect();
    let line = above + &own;
    let left = columns.saturating_sub(width(&line) + 2);
    if tokens.is_empty() || left < 4 { line + "\n" } else { format!("{line}: {}\n", fit_list(&tokens, left)) }
}
