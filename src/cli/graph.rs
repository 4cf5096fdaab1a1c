//! `noisyor graph`: a layered topic graph from what occurs together.

use super::common::{interruptible, print};
use super::corpus_args::{CorpusArgs, check_shares, refuse_overwriting};
use super::graph_args::GraphArgs;
use super::train::Screen;
use super::{Common, progress::Progress};
use anyhow::Result;
use noisyor::capacity::Chooser;
use noisyor::corpus::{Verifying, align};
use noisyor::estep::cpu::CpuEStep;
use noisyor::network::{Network, Weights, check_extension, save, save_graph};
use noisyor::report::{LayerSummary, layer_summaries};
use noisyor::run::{choose, token_names};
use noisyor::structure::{complete_graph, graph_work, learn_graph, unknown_note};
use noisyor::train::TrainOptions;
use serde_json::json;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Instant;

/// Learn a layered topic graph from what occurs together
///
/// Tokens that occur together become topics, topics that occur together topics of the next layer. The file has weights to start
/// training from, out of conditional frequencies. Where no size is given, sizes are tried by short trainings, and documents held out
/// decide (--effort). With --parents all nothing is learned: it has every edge, and no weights.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  noisyor graph reviews.corpus -o graph.safetensors
  noisyor graph reviews.corpus -o graph.json --topics 300,100,30 --parents 4 --max-edges 20000
  noisyor graph reviews.corpus -o graph.tsv --anchors topics.txt --exclude cat,dog
  noisyor graph reviews.corpus -o graph.json --topics 60 --parents all
  noisyor graph reviews.corpus -o graph.json --valid 0.1 --test 0.3 --seed 7
  noisyor train reviews.corpus --graph graph.json --init graph --valid 0.1 --test 0.3 --seed 7")]
pub(crate) struct Args {
    /// Corpus of any format
    corpus: PathBuf,
    /// Graph to write: .safetensors, .json or .tsv (an edge list)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Write the graph alone, without weights (.json or .tsv)
    #[arg(long)]
    flat: bool,
    /// Share of the documents that `train` with the same shares and seed validates on: they are not looked at
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    valid: f64,
    /// Share of the documents that `train` with the same shares and seed tests on: they are not looked at
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    test: f64,
    /// Seed of the split
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    learning: GraphArgs,
    #[command(flatten)]
    reading: CorpusArgs,
}

/// Topics of each layer that are shown.
const EXAMPLES: usize = 6;

pub(crate) fn run(args: Args, common: &Common) -> Result<()> {
    let (valid, test) = (args.valid, args.test);
    check_shares(valid, test)?;
    check_extension(&args.output)?;
    args.reading.refuse_by_number()?;
    refuse_overwriting(&args.output, std::iter::once(&args.corpus).chain(&args.learning.files()))?;
    let monitor = interruptible(common)?;
    let corpus = args.reading.read_alone(&args.corpus, common, &monitor)?;
    let begun = Instant::now();
    let tokens = token_names(&corpus);
    if let Some(layers) = args.learning.complete_layers(false)? {
        let verifying = Verifying::start(&corpus, &monitor);
        let (graph, names) = verifying.finish(complete_graph(layers, &tokens))?;
        let weights = Weights { leak: vec![1.0; graph.n_nodes()], edge: vec![1.0; graph.n_edges()] };
        let network = Network { graph, weights, names, training: String::new() };
        // The weights say nothing.
        save_graph(&network, &args.output)?;
        return report(&args, &network, 0, corpus.n_docs(), begun.elapsed().as_secs_f64(), common);
    }
    let options = args.learning.request()?.resolve(&tokens, args.seed)?;
    let training =
        TrainOptions { valid, test, seed: args.seed, smooth: true, ..TrainOptions::default() }.check()?;
    let doc_ixs = training.split(corpus.n_docs()).train;
    let verifying = Verifying::start(&corpus, &monitor);
    let alignment = align(&corpus, &tokens);
    let docs = alignment.docs(&corpus);
    unknown_note(&docs).iter().for_each(|note| common.say(note));
    let learned = match args.learning.effort() {
        Some(effort) => {
            let (train_docs, given, options) = (doc_ixs.as_slice(), &options, &training);
            let (tokens, graph_docs) = (tokens.as_slice(), train_docs);
            let chooser = Chooser {
                docs,
                tokens,
                train_docs,
                graph_docs,
                given,
                options,
                effort,
                team: &common.team,
                monitor: &monitor,
            };
            let chosen = choose(&chooser, &mut CpuEStep::new(), &mut Screen::new(common, &monitor));
            chosen.map(|(network, _)| network)
        }
        None => {
            let work = graph_work(doc_ixs.len(), tokens.len(), &options);
            let _progress = Progress::start(common, &monitor, "learning", work);
            learn_graph(docs, &doc_ixs, &tokens, &options, &monitor)
        }
    };
    let network = verifying.finish(learned)?;
    let save = if args.flat { save_graph } else { save };
    common.say_replaced(&args.output);
    save(&network, &args.output)?;
    report(&args, &network, EXAMPLES, doc_ixs.len(), begun.elapsed().as_secs_f64(), common)
}

/// Prints what there is in each layer.
fn report(
    args: &Args,
    network: &Network,
    n_examples: usize,
    n_docs: usize,
    seconds: f64,
    common: &Common,
) -> Result<()> {
    let graph = &network.graph;
    let layers = layer_summaries(network, n_examples);
    if common.json {
        let result = json!({
            "graph": args.output, "docs": n_docs, "tokens": graph.n_tokens(), "topics": graph.n_topics(),
            "edges": graph.n_edges(), "layers": layers, "seconds": seconds,
        });
        return print(format_args!("{result}\n"));
    }
    let mut text = String::from("layer    nodes    edges  parents (mean, most)\n");
    for LayerSummary { layer, nodes, edges, mean_parents, most_parents, .. } in &layers {
        let name = if *layer == 0 { "tokens".to_owned() } else { layer.to_string() };
        let _ = writeln!(text, "{name:<6}{nodes:>8} {edges:>8}  {mean_parents:.2}, {most_parents}");
    }
    for LayerSummary { layer, examples, .. } in layers.iter().rev().filter(|layer| !layer.examples.is_empty())
    {
        let _ = writeln!(text, "layer {layer}, for example:");
        for (topic, words) in examples {
            let _ = writeln!(text, "  {topic}: {}", words.join(", "));
        }
    }
    let (topics, tokens, edges) = (graph.n_topics(), graph.n_tokens(), graph.n_edges());
    let output = args.output.display();
    print(
        text + &format!(
            "{topics} topics above {tokens} tokens, {edges} edges, in {seconds:.1} s -> {output}\n"
        ),
    )
}
