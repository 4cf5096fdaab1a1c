//! `noisyor infer`: topic probabilities of every document.

use super::common::{BackendArgs, interruptible, print};
use super::corpus_args::{CorpusArgs, refuse_overwriting};
use super::estep_args::EStepArgs;
use super::{Common, progress::Progress};
use anyhow::Result;
use noisyor::Error;
use noisyor::corpus::Verifying;
use noisyor::infer::{Inference, Job, OutputFormat, Shard};
use noisyor::network::load_model;
use serde_json::json;
use std::path::PathBuf;
use std::time::Instant;

/// Topic probabilities of every document
///
/// While it runs, finished parts are kept in the folder OUT.parts, which goes away when OUT is in place.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  noisyor infer run/model.safetensors documents.jsonl -o topics.tsv --threshold 0.1
  noisyor infer run/model.safetensors documents.corpus -o topics.parquet --shard 3/16 --resume")]
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
    /// Go on behind the finished parts of the same command that ended early; if there are none, begin
    #[arg(long)]
    resume: bool,
    /// Only the I-th of N equal shares of the documents, from 1; OUT gets it in its name, as in topics-00003-of-00016.tsv
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Documents of a part
    #[arg(long, value_name = "N", default_value_t = Job::PART_DOCS, hide = true)]
    part_docs: usize,
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
        return Err(Error::Usage(format!("--threshold {} is not in [0, 1]", args.threshold)).into());
    }
    let output = args.shard.map_or_else(|| args.output.clone(), |shard| shard.path(&args.output));
    refuse_overwriting(&output, [&args.model, &args.corpus])?;
    let mut estep = args.backend.open(common)?;
    let network = load_model(&args.model)?;
    let monitor = interruptible(common)?;
    let (corpus, alignment) = args.reading.read_for(&args.corpus, &network.names.tokens, common, &monitor)?;
    corpus.give_back_pages();
    let verifying = Verifying::start(&corpus, &monitor);
    let job = Job {
        network: &network,
        docs: alignment.docs(&corpus),
        shard: args.shard,
        options: &options,
        threshold: args.threshold,
        part_docs: args.part_docs.max(1),
    };
    let mut batch =
        Inference::open(&output, job, &estep.name(), args.resume, &mut |message| common.warn(message))?;
    let (n_docs, n_before) = (batch.n_docs(), batch.n_done_before());
    let mut start = Instant::now();
    let mut work = || {
        if n_before > 0 {
            common.say(format_args!("{n_before} of {n_docs} documents are done already"));
            let progress = Progress::start(common, &monitor, "writing what is done", n_before as u64);
            batch.replay(&monitor)?;
            drop(progress);
        }
        start = Instant::now();
        let _progress = Progress::start(common, &monitor, "inferring", (n_docs - n_before) as u64);
        batch.run(estep.as_mut(), &monitor)
    };
    let run = verifying.finish(work());
    let docs_per_s = |n_docs: f64| n_docs / start.elapsed().as_secs_f64().max(1e-9);
    let docs_per_s = run.as_ref().map_or(0.0, |stats| docs_per_s(stats.n_docs));
    let (elbo_mean, kept) = (batch.elbo_mean(), batch.kept().map(|(n, folder)| (n, folder.to_owned())));
    let ended = run.and_then(|stats| batch.commit().map(|()| stats));
    if let (Err(_), Some((n_parts, folder))) = (&ended, kept) {
        common.say(format_args!(
            "{n_parts} finished parts are in {}; the same command with --resume goes on behind them",
            folder.display()
        ));
    }
    let stats = ended?;
    common.say_estep(&stats);
    common.say(format_args!("{n_docs} documents at {docs_per_s:.0}/s -> {}", output.display()));
    if common.json {
        print(format_args!(
            "{}\n",
            json!({
                "docs": n_docs, "bound": options.bound, "elbo_mean": elbo_mean, "docs_per_s": docs_per_s,
                "output": output, "backend": estep.name(), "resumed_docs": n_before,
            })
        ))?;
    }
    Ok(())
}
