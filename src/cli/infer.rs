//! `noisyor infer`: topic probabilities of every document.

use super::common::{BackendArgs, interruptible, model_file, print};
use super::corpus_args::{CorpusArgs, refuse_overwriting};
use super::estep_args::EStepArgs;
use super::given::GivenArgs;
use super::{Common, progress::Progress};
use anyhow::Result;
use clap::builder::PossibleValuesParser;
use noisyor::Error;
use noisyor::corpus::Verifying;
use noisyor::estep::EStep;
use noisyor::infer::{Inference, Job, OutputFormat, STDOUT, Shard};
use noisyor::network::load_model;
use noisyor::posterior::{Engine, ExactEStep, Options};
use serde_json::json;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Topic probabilities of every document
///
/// q is an approximate probability that the topic is on: that of the best of a simple family of distributions (mean field), in which topics
/// are independent. It is often too sure; --exact has the probabilities themselves, for small networks, and `noisyor posterior` bounds them for
/// others.
///
/// While it runs, finished parts are kept in the folder OUT.parts, which goes away when OUT is in place.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  noisyor infer run documents.jsonl -o topics.tsv --threshold 0.1
  noisyor infer run documents.jsonl -o - | jq .topics
  noisyor infer run documents.corpus -o topics.parquet --shard 3/16 --resume")]
pub(crate) struct Args {
    /// Model: .safetensors, .json or .tsv, or a run folder
    model: PathBuf,
    /// Corpus
    corpus: PathBuf,
    /// Output: .jsonl (one document a line), .tsv or .parquet (doc, topic, q), .csv (a row per document, a column per topic), .npz
    /// (the same as SciPy's sparse matrix; names of columns and ids of rows are in OUT.topics.txt and OUT.ids.txt), or - for standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Format of the output [default: by its name; jsonl on standard output]
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(OutputFormat::NAMES.iter().map(|(name, _)| *name)))]
    output_format: Option<String>,
    /// Exact probabilities instead of mean field, and log p of the document instead of its bound: for networks of up to 22 topics, or of two
    /// layers with few tokens a document. On the CPU
    #[arg(long)]
    exact: bool,
    #[command(flatten)]
    given: GivenArgs,
    /// Write log-odds, log(q / (1 - q)), instead of q: right to about 0.01 up to 10, where q is nearly 1, and 16.6 at most
    #[arg(long)]
    log_odds: bool,
    /// Leave out topics with a probability below this; a document without topics keeps its row
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
    let given = args.output_format.as_ref();
    let given = given.and_then(|given| OutputFormat::NAMES.iter().find(|(name, _)| name == given));
    let format = OutputFormat::of(&args.output, given.map(|&(_, format)| format))?;
    let stdout = args.output == Path::new(STDOUT);
    for (option, is_given) in [("--resume", args.resume), ("--json", common.json)] {
        if stdout && is_given {
            let message = format!(
                "{option} makes no sense where topics go to standard output; leave it out, or name a file"
            );
            return Err(Error::Usage(message).into());
        }
    }
    if !(0.0..=1.0).contains(&args.threshold) {
        return Err(Error::Usage(format!("--threshold {} is not in [0, 1]", args.threshold)).into());
    }
    let shard_path = args.shard.filter(|_| !stdout).map(|shard| shard.path(&args.output));
    let output = shard_path.unwrap_or_else(|| args.output.clone());
    let model = model_file(&args.model)?;
    for written in format.beside(&output).iter().chain(Some(&output).filter(|_| !stdout)) {
        refuse_overwriting(written, [&model, &args.corpus])?;
    }
    let network = load_model(&model)?;
    let given = args.given.states(&network)?;
    let mut estep: Box<dyn EStep> = if args.exact {
        Box::new(ExactEStep::new(Engine::new(&network)?, &given, Options::default().max_exact))
    } else {
        args.backend.open(common)?
    };
    // Exact inference knows of given topics by itself.
    let with_given = network.with_given(if args.exact { &[] } else { &given })?;
    let monitor = interruptible(common)?;
    let (corpus, alignment) = args.reading.read_for(&args.corpus, &network.names.tokens, common, &monitor)?;
    corpus.give_back_pages();
    if stdout {
        // What was printed cannot be taken back.
        corpus.verify_while(&monitor)?;
    }
    let verifying = Verifying::start(&corpus, &monitor);
    let job = Job {
        network: &with_given.network,
        docs: alignment.docs(&corpus).with_given(with_given.network.graph.n_tokens(), &with_given.present),
        shard: args.shard,
        given: &with_given.on,
        options: &options,
        threshold: args.threshold,
        format,
        log_odds: args.log_odds,
        is_exact: args.exact,
        part_docs: args.part_docs.max(1),
    };
    if !stdout {
        common.say_replaced(&output);
    }
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
    let stats = match ended {
        // A reader that went away has what it wanted.
        Err(Error::Io { source, .. }) if stdout && source.kind() == ErrorKind::BrokenPipe => {
            return Err(source.into());
        }
        ended => ended?,
    };
    common.say_estep(&stats);
    let place = if stdout { "standard output".into() } else { output.display().to_string() };
    common.say(format_args!("{n_docs} documents at {docs_per_s:.0}/s -> {place}"));
    if common.json {
        print(format_args!(
            "{}\n",
            json!({
                "docs": n_docs, "bound": if args.exact { json!("exact") } else { json!(options.bound) },
                "q": if args.exact { "exact" } else { "mean field" }, "elbo_mean": elbo_mean, "docs_per_s": docs_per_s,
                "output": output, "backend": estep.name(), "resumed_docs": n_before,
            })
        ))?;
    }
    Ok(())
}
