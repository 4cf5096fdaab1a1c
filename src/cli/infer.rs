//! `noisyor infer`: topic probabilities of every document.

use super::common::{BackendArgs, interruptible, model_file, print};
use super::corpus_args::{CorpusArgs, refuse_overwriting};
use super::estep_args::EStepArgs;
use super::given::GivenArgs;
use super::{Common, progress::Progress};
use anyhow::Result;
use clap::builder::PossibleValuesParser;
use noisyor::Error;
use noisyor::baseline::{baseline_file, load_baseline};
use noisyor::corpus::{Docs, Verifying};
use noisyor::estep::EStep;
use noisyor::infer::{self, Inference, InferredBy, Job, OutputFormat, STDOUT, Shard};
use noisyor::monitor::Monitor;
use noisyor::network::load_model;
use noisyor::posterior::{Engine, ExactEStep, Options};
use serde_json::json;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Topic probabilities of every document; features, of a baseline
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
    /// Model: .safetensors, .json or .tsv, or a run folder, that of a baseline included
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

impl Args {
    /// Whether other processes do the other shares.
    pub(crate) fn is_shard(&self) -> bool {
        self.shard.is_some()
    }
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
    let task = Writing { args: &args, output, stdout, format, common };
    if let Some(file) = baseline_file(&args.model)? {
        return task.with_baseline(&file);
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
    let by = InferredBy::Network {
        network: &with_given.network,
        options: &options,
        given: &with_given.on,
        is_exact: args.exact,
    };
    let docs = alignment.docs(&corpus).with_given(with_given.network.graph.n_tokens(), &with_given.present);
    let name = estep.name();
    if !common.team.is_first() {
        let verifying = Verifying::start(&corpus, &monitor);
        let helped = infer::help(&task.job(by, docs), &common.team, estep.as_mut(), &monitor);
        return Ok(verifying.finish(helped)?);
    }
    let done = task.run((by, docs), &name, &monitor, |batch| {
        let stats = batch.run_on(&common.team, estep.as_mut(), &monitor)?;
        common.say_estep(&stats);
        Ok(())
    })?;
    if common.json {
        let bound = if args.exact { json!("exact") } else { json!(options.bound) };
        let q = if args.exact { "exact" } else { "mean field" };
        print(format_args!(
            "{}\n",
            json!({
                "docs": done.n_docs, "bound": bound, "q": q, "elbo_mean": done.score_mean, "docs_per_s": done.docs_per_s,
                "output": task.output, "backend": name, "resumed_docs": done.n_before,
            })
        ))?;
    }
    Ok(())
}

/// An output that is to be written.
struct Writing<'a> {
    args: &'a Args,
    output: PathBuf,
    stdout: bool,
    format: OutputFormat,
    common: &'a Common,
}

/// What came of it.
struct Done {
    n_docs: usize,
    /// Documents that earlier runs had done.
    n_before: usize,
    score_mean: Option<f64>,
    docs_per_s: f64,
}

impl Writing<'_> {
    fn job<'a>(&self, by: InferredBy<'a>, docs: Docs<'a>) -> Job<'a> {
        let Args { shard, threshold, log_odds, part_docs, .. } = *self.args;
        Job { by, docs, shard, threshold, format: self.format, log_odds, part_docs: part_docs.max(1) }
    }

    /// Features of a baseline.
    fn with_baseline(&self, file: &Path) -> Result<()> {
        let Self { args, common, .. } = *self;
        if common.team.has_others() {
            let message =
                "ranks do not share the features of a baseline; start one process, or one for each --shard";
            return Err(Error::Usage(message.into()).into());
        }
        for (option, is_given) in
            [("--exact", args.exact), ("--given", args.given.is_given()), ("--log-odds", args.log_odds)]
        {
            if is_given {
                let message = format!("{option} is for networks; a baseline has features and no topics");
                return Err(Error::Usage(message).into());
            }
        }
        let baseline = load_baseline(file)?;
        let monitor = interruptible(common)?;
        let tokens = &baseline.names.tokens;
        let (corpus, alignment) = args.reading.read_for(&args.corpus, tokens, common, &monitor)?;
        let (by, docs) = (InferredBy::Baseline(&baseline), alignment.docs(&corpus));
        let done = self.run((by, docs), "cpu", &monitor, |batch| batch.run_baseline(&monitor))?;
        if common.json {
            print(format_args!(
                "{}\n",
                json!({
                    "docs": done.n_docs, "baseline": baseline.model.name(), "score": baseline.model.score(),
                    "score_of": baseline.model.score_of(), "score_mean": done.score_mean, "docs_per_s": done.docs_per_s,
                    "output": self.output, "resumed_docs": done.n_before,
                })
            ))?;
        }
        Ok(())
    }

    /// Writes what `compute` computes.
    fn run(
        &self,
        (by, docs): (InferredBy<'_>, Docs<'_>),
        backend: &str,
        monitor: &Arc<Monitor>,
        mut compute: impl FnMut(&mut Inference<'_>) -> noisyor::Result<()>,
    ) -> Result<Done> {
        let Self { args, ref output, stdout, common, .. } = *self;
        let corpus = docs.corpus();
        corpus.give_back_pages();
        if stdout {
            // What was printed cannot be taken back.
            corpus.verify_while(monitor)?;
        }
        let verifying = Verifying::start(corpus, monitor);
        if !stdout {
            common.say_replaced(output);
        }
        let job = self.job(by, docs);
        let opened = Inference::open(output, job, backend, args.resume, &mut |message| common.warn(message));
        let mut batch = common.team.share_error(opened)?;
        let (n_docs, n_before) = (batch.n_docs(), batch.n_done_before());
        let mut start = Instant::now();
        let mut work = || {
            if n_before > 0 {
                common.say(format_args!("{n_before} of {n_docs} documents are done already"));
                let progress = Progress::start(common, monitor, "writing what is done", n_before as u64);
                batch.replay(monitor)?;
                drop(progress);
            }
            start = Instant::now();
            let _progress = Progress::start(common, monitor, "inferring", (n_docs - n_before) as u64);
            compute(&mut batch)
        };
        let run = verifying.finish(work());
        let docs_per_s = (n_docs - n_before) as f64 / start.elapsed().as_secs_f64().max(1e-9);
        let (score_mean, kept) = (batch.elbo_mean(), batch.kept().map(|(n, folder)| (n, folder.to_owned())));
        let ended = run.and_then(|()| batch.commit());
        if let (Err(_), Some((n_parts, folder))) = (&ended, kept) {
            common.say(format_args!(
                "{n_parts} finished parts are in {}; the same command with --resume goes on behind them",
                folder.display()
            ));
        }
        match ended {
            // A reader that went away has what it wanted.
            Err(Error::Io { source, .. }) if stdout && source.kind() == ErrorKind::BrokenPipe => {
                return Err(source.into());
            }
            ended => ended?,
        }
        let place = if stdout { "standard output".into() } else { output.display().to_string() };
        common.say(format_args!("{n_docs} documents at {docs_per_s:.0}/s -> {place}"));
        Ok(Done { n_docs, n_before, score_mean, docs_per_s })
    }
}
