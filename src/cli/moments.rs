//! `noisyor moments`: the parameters of a two-layer network without inference, and what can be learned that way.

mod text;

use super::common::{interruptible, print};
use super::corpus_args::{CorpusArgs, refuse_overwriting};
use super::{Common, progress::Progress};
use anyhow::Result;
use clap::ValueEnum;
use noisyor::moments::{Certificate, Counts, Learned, Order, Schedule, ScheduleOptions, Weighting, estimate};
use noisyor::network::{Loaded, Network, check_extension, load, save};
use noisyor::{Error, Monitor};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Parameters of a two-layer network by the method of moments, with standard errors: no inference, no starts, no local optima
///
/// The graph is given, its parameters follow from how often one, two and three tokens are absent together (Halpern and Sontag 2013): one
/// pass over the corpus. Values that are unknown are left out, set by set. Which parameters can be learned, and how indirectly, depends on
/// the graph alone: --schedule tells it without a corpus. Parameters that cannot be learned keep the weights of the graph file, or get a
/// guess where it has none.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  noisyor moments --schedule illnesses.tsv
  noisyor moments patients.noisyor --graph illnesses.tsv -o model.safetensors --estimates estimates.tsv
  noisyor train patients.noisyor --graph illnesses.tsv --init moments -o run")]
pub(crate) struct Args {
    /// Corpus: the documents, in which tokens may be unknown
    corpus: Option<PathBuf>,
    /// Graph of two layers: .tsv, .json or .safetensors; weights are not used, but for parameters that cannot be learned
    #[arg(long, value_name = "G")]
    graph: Option<PathBuf>,
    /// Model to write: .safetensors, .json or .tsv
    #[arg(short, long, value_name = "MODEL")]
    output: Option<PathBuf>,
    /// Also write every parameter with its standard error, depth, and whether it was clipped, as a table (.tsv)
    #[arg(long, value_name = "TSV", requires = "corpus")]
    estimates: Option<PathBuf>,
    /// Tell what can be learned of a graph, at which depth, what is left and why; needs no corpus
    #[arg(long, value_name = "G", conflicts_with_all = ["corpus", "graph", "output"])]
    schedule: Option<PathBuf>,
    /// Sets of tokens that one parameter is learned from, at most; more take more memory and time
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=4096))]
    max_sets: u32,
    /// How sets become parameters: all sets of a topic fitted together (pooled), every set alone and averages by inverse variance, or only
    /// the first set, in the order of the tokens, as in the paper
    #[arg(long, value_enum, default_value_t = WeightingArg::Pooled)]
    weighting: WeightingArg,
    /// Learn from triplets alone: schedules are deeper, and may reach less
    #[arg(long)]
    no_pairs: bool,
    /// Stop where triplets and pairs are at an end: do not look for tokens with one unknown parent
    #[arg(long)]
    no_anchors: bool,
    #[command(flatten)]
    reading: CorpusArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WeightingArg {
    Pooled,
    Average,
    First,
}

impl Args {
    fn options(&self) -> ScheduleOptions {
        let (pairs, anchors) = (!self.no_pairs, !self.no_anchors);
        match self.weighting {
            WeightingArg::First => ScheduleOptions { max_sets: 1, order: Order::Number, pairs, anchors },
            _ => ScheduleOptions { max_sets: self.max_sets as usize, order: Order::Rare, pairs, anchors },
        }
    }

    fn weighting(&self) -> Weighting {
        match self.weighting {
            WeightingArg::Pooled => Weighting::Pooled,
            WeightingArg::Average => Weighting::Average,
            WeightingArg::First => Weighting::First,
        }
    }
}

pub(crate) fn run(args: Args, common: &Common) -> Result<()> {
    match (&args.schedule, &args.corpus, &args.graph, &args.output) {
        (Some(graph), ..) => certify(graph, &args, common),
        (None, Some(corpus), Some(graph), Some(output)) => learn([corpus, graph, output], &args, common),
        _ => Err(Error::Usage("give a corpus, its graph by --graph and a model to write by -o; or a graph by --schedule, to know what can be learned of it".into()).into()),
    }
}

fn scheduled(
    graph: &Path,
    args: &Args,
    common: &Common,
    monitor: &Arc<Monitor>,
) -> Result<(Loaded, Schedule, Certificate, f64)> {
    let start = Instant::now();
    let loaded = load(graph)?;
    let _progress = Progress::open(common, monitor, "looking for sets of tokens");
    let in_file = |error: Error| match error {
        Error::Usage(message) => Error::input(graph, None, message),
        other => other,
    };
    let schedule = Schedule::of(&loaded.graph, &args.options(), monitor).map_err(in_file)?;
    let certificate = Certificate::of(&loaded.graph, &schedule)?;
    Ok((loaded, schedule, certificate, start.elapsed().as_secs_f64()))
}

fn certify(graph: &Path, args: &Args, common: &Common) -> Result<()> {
    let monitor = interruptible(common)?;
    if args.reading.is_given() {
        let message =
            "--schedule reads no corpus, so options of reading make no sense with it; leave them out";
        return Err(Error::Usage(message.into()).into());
    }
    let (loaded, _, certificate, seconds) = scheduled(graph, args, common, &monitor)?;
    if common.json {
        let (learned, all) = certificate.n_learned();
        let names = |topic: u32| loaded.names.of(topic);
        let left: Vec<Value> = certificate.left.iter().map(|left| text::left_json(left, &names)).collect();
        let result = json!({
            "complete": certificate.complete, "parameters": all, "learned": learned,
            "topics": certificate.topics, "tokens": certificate.tokens, "edges": certificate.edges,
            "depths": certificate.rounds, "leaks": certificate.leaks, "left": left, "seconds": seconds,
        });
        return print(format_args!("{result}\n"));
    }
    print(super::common::tame(&text::certificate(&certificate, &loaded.names)))
}

fn learn([corpus, graph, output]: [&PathBuf; 3], args: &Args, common: &Common) -> Result<()> {
    check_extension(output)?;
    for written in [Some(output), args.estimates.as_ref()].into_iter().flatten() {
        refuse_overwriting(written, [corpus, graph])?;
    }
    if args.estimates.as_ref().is_some_and(|estimates| estimates == output) {
        return Err(Error::Usage("--estimates and -o name the same file; name two".into()).into());
    }
    let monitor = interruptible(common)?;
    let (loaded, schedule, certificate, _) = scheduled(graph, args, common, &monitor)?;
    let (n_learned, n_all) = certificate.n_learned();
    if n_learned < n_all {
        common.warn(format_args!(
            "{} of {n_all} parameters cannot be learned and {}; `schedule` tells which",
            n_all - n_learned,
            if loaded.weights.is_some() { "keep the weights of the graph" } else { "are guessed" }
        ));
    }
    let (documents, alignment) = args.reading.read_for(corpus, &loaded.names.tokens, common, &monitor)?;
    documents.give_back_pages();
    documents.verify_while(&monitor)?;
    let docs = alignment.docs(&documents);
    let n_docs = docs.n_docs();
    let start = Instant::now();
    let progress = Progress::start(common, &monitor, "counting", n_docs as u64);
    let n_tokens = loaded.graph.n_tokens();
    let counts = Counts::of(&docs, 0..n_docs, n_tokens, &schedule, &monitor)?;
    drop(progress);
    let counting = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let progress = Progress::open(common, &monitor, "solving");
    let learned = estimate(&loaded.graph, &schedule, &counts, args.weighting(), &monitor)?;
    drop(progress);
    let solving = start.elapsed().as_secs_f64();
    let weights = learned.weights(&loaded.graph, &counts, loaded.weights.as_ref());
    let Loaded { graph, names, .. } = loaded;
    let training = format!("moments of {n_docs} documents");
    let network = Network { graph, weights, names, training };
    common.say_replaced(output);
    save(&network, output)?;
    if let Some(estimates) = &args.estimates {
        common.say_replaced(estimates);
        learned.write(estimates, &network.graph, &network.names, &schedule)?;
    }
    let sets = counts.n_sets();
    if common.json {
        let (edges, priors, leaks) = learned.groups(&schedule);
        let result = json!({
            "docs": n_docs, "parameters": n_all, "learned": n_learned, "complete": certificate.complete,
            "edges_by_depth": edges, "priors": priors, "leaks": leaks,
            "sets": {"tokens": sets[0], "pairs": sets[1], "triplets": sets[2]},
            "counting_seconds": counting, "solving_seconds": solving, "output": output,
        });
        return print(format_args!("{result}\n"));
    }
    tell(&learned, &schedule, common)?;
    common.say(format_args!(
        "{n_docs} documents, {} pairs and {} triplets counted in {counting:.1} s, solved in {solving:.1} s -> {}",
        sets[1],
        sets[2],
        output.display()
    ));
    Ok(())
}

fn tell(learned: &Learned, schedule: &Schedule, common: &Common) -> Result<()> {
    if common.quiet {
        return Ok(());
    }
    let (edges, priors, leaks) = learned.groups(schedule);
    print(text::groups(&edges, &priors, &leaks))
}
