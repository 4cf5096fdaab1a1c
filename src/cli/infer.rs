//! `noisyor infer`: topic probabilities of every document.

use super::common::{BackendArgs, interruptible, print};
use super::corpus_args::{CorpusArgs, Verifying, refuse_overwriting};
use super::estep_args::EStepArgs;
use super::{Common, progress::Progress};
use anyhow::Result;
use noisyor::estep::{DocResults, Params};
use noisyor::infer::{self, OutputFormat, Subject, TopicWriter};
use noisyor::network::load_model;
use serde_json::json;
use std::path::PathBuf;
use std::time::Instant;

/// Topic probabilities of every document
#[derive(clap::Args)]
#[command(after_help = "Example:
  noisyor infer run/model.safetensors documents.jsonl -o topics.tsv --threshold 0.1")]
pub(crate) struct Args {
    /// Model: .safetensors, .json or .tsv
    model: PathBuf,
    /// Corpus
    corpus: PathBuf,
    /// Output: .jsonl (one document a line), .tsv or .parquet (doc, topic, q), or .npz (SciPy's sparse matrix: a row
    /// per document, a column per topic of the model)
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Leave out topics with a probability below this
    #[arg(long, value_name = "Q", default_value_t = 0.01)]
    threshold: f32,
    #[command(flatten)]
    reading: CorpusArgs,
    #[command(flatten)]
    estep: EStepArgs,
    #[command(flatten)]
    backend: BackendArgs,
}

pub(crate) fn run(args: Args, common: &Common) -> Result<()> {
    let options = args.estep.options()?;
    OutputFormat::of(&args.output)?;
    if !(0.0..=1.0).contains(&args.threshold) {
        return Err(noisyor::Error::Usage(format!("--threshold {} is not in [0, 1]", args.threshold)).into());
    }
    refuse_overwriting(&args.output, [&args.model, &args.corpus])?;
    let mut estep = args.backend.open(common, 0)?;
    let network = load_model(&args.model)?;
    let monitor = interruptible(common)?;
    let (corpus, alignment) = args.reading.read_for(&args.corpus, &network.names.tokens, common, &monitor)?;
    let docs = alignment.docs(&corpus);
    let verifying = Verifying::start(&corpus, &monitor);
    let params = Params::derive(&network.graph, &network.weights, options.bound)?;
    let subject = Subject { names: &network.names, corpus: &corpus, bound: options.bound };
    let mut writer = TopicWriter::create(&args.output, subject, args.threshold, &params)?;

    let start = Instant::now();
    let progress = Progress::start(common, &monitor, "inferring", docs.n_docs() as u64);
    let mut write = |results: &DocResults<'_>| writer.write(results);
    let all: Vec<u32> = (0..docs.n_docs() as u32).collect();
    let run = infer::run(&network, docs, &all, &options, estep.as_mut(), &monitor, Some(&mut write));
    let (stats, _) = verifying.finish(run)?;
    drop(progress);
    writer.commit()?;
    common.say_estep(&stats);

    let docs_per_s = stats.n_docs / start.elapsed().as_secs_f64().max(1e-9);
    common.say(format_args!("{} documents at {docs_per_s:.0}/s -> {}", docs.n_docs(), args.output.display()));
    if common.json {
        let elbo_mean = (stats.n_docs > 0.0).then(|| stats.elbo_mean());
        print(format_args!(
            "{}\n",
            json!({
                "docs": docs.n_docs(), "bound": options.bound, "elbo_mean": elbo_mean, "docs_per_s": docs_per_s,
                "output": args.output, "backend": estep.name(),
            })
        ))?;
    }
    Ok(())
}
