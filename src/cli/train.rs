//! `noisyor train`: from documents to a trained network.

mod args;

use super::common::{BackendArgs, interruptible, print};
use super::corpus_args::{CorpusArgs, Verifying};
use super::estep_args::EStepArgs;
use super::{Common, progress::Progress};
use anyhow::Result;
use args::TrainingArgs;
use noisyor::corpus::{Alignment, Corpus, Docs, align, sample_corpus, sample_network};
use noisyor::estep::{EStep, Monitor};
use noisyor::network::{Loaded, Network, Weights, load};
use noisyor::report::{MAX_DEPTH, TopicTree, topic_tree};
use noisyor::train::{CheckedOptions, Ended, Event, Metrics, Outcome, RunFolder, TrainOptions, train};
use noisyor::{Error, Result as LibResult, infer};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Train a network
///
/// Without arguments: the bundled sample, its graph with weights started afresh, and the next free folder runs/NNN.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  noisyor train
  noisyor train documents.jsonl --graph topics.tsv -o run --epochs 100 --batch full
  noisyor train documents.svm --graph model.json --step adam --rate 0.05 --valid 0.3 --seed 7")]
pub(crate) struct Args {
    /// Corpus [default: the bundled sample]
    corpus: Option<PathBuf>,
    /// Topic graph: a .json, .safetensors or .tsv (parent, child) file [default for the sample: its own]
    #[arg(long)]
    graph: Option<PathBuf>,
    /// Run folder to make [default: the next free runs/NNN]
    #[arg(short, long, value_name = "RUN")]
    output: Option<PathBuf>,
    #[command(flatten)]
    reading: CorpusArgs,
    /// Seed of everything random
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    training: TrainingArgs,
    #[command(flatten)]
    estep: EStepArgs,
    #[command(flatten)]
    backend: BackendArgs,
    /// GPU: memory for packed documents that are kept for later epochs
    #[arg(long, value_name = "N", default_value_t = 2048)]
    cache_mb: usize,
}

impl Args {
    /// The corpus, and a graph with weights if its file has any.
    fn inputs(&self, common: &Common, monitor: &Arc<Monitor>) -> Result<(Corpus, Alignment, Loaded)> {
        let graph = match &self.graph {
            Some(path) => load(path)?,
            None if self.corpus.is_none() => {
                let Network { graph, weights, names, training } = sample_network()?;
                Loaded { graph, names, weights: Some(weights), training }
            }
            None => {
                let message = "a corpus needs a topic graph: give --graph FILE (.json, .safetensors or .tsv)";
                return Err(Error::Usage(message.into()).into());
            }
        };
        let tokens = &graph.names.tokens;
        let (corpus, alignment) = match &self.corpus {
            None if self.reading.is_given() => {
                let message = "options such as --format say how to read a corpus, and none is given";
                return Err(Error::Usage(message.into()).into());
            }
            Some(path) => self.reading.read_for(path, tokens, common, monitor)?,
            None => {
                let corpus = sample_corpus()?;
                let alignment = align(&corpus, tokens);
                (corpus, alignment)
            }
        };
        Ok((corpus, alignment, graph))
    }
}

pub(crate) fn run(args: Args, common: &Common) -> Result<()> {
    let options = args.training.options(args.estep.options()?, args.seed)?;
    let mut estep = args.backend.open(common, args.cache_mb)?;
    let monitor = interruptible(common)?;
    let (corpus, alignment, loaded) = args.inputs(common, &monitor)?;
    if corpus.n_docs() == 0 {
        return Err(Error::Usage("the corpus has no documents to train on".into()).into());
    }
    let docs = alignment.docs(&corpus);
    let verifying = Verifying::start(&corpus, &monitor);
    let Loaded { graph, names, weights: reference, .. } = loaded;
    let mut folder = RunFolder::create(args.output.as_deref())?;
    let path_or_sample =
        |path: &Option<PathBuf>| path.as_ref().map_or("sample".into(), |p| p.display().to_string());
    let about = json!({
        "corpus": path_or_sample(&args.corpus), "graph": path_or_sample(&args.graph), "docs": corpus.n_docs(),
        "topics": graph.n_topics(), "tokens": graph.n_tokens(), "edges": graph.n_edges(), "backend": estep.name(),
    });
    common.say(format_args!(
        "{} documents, {} topics, {} tokens, {} edges; {} on {} threads",
        corpus.n_docs(),
        graph.n_topics(),
        graph.n_tokens(),
        graph.n_edges(),
        estep.name(),
        rayon::current_num_threads()
    ));

    let mut network =
        Network { weights: Weights { leak: vec![], edge: vec![] }, graph, names, training: String::new() };
    let estep = estep.as_mut();
    let trained =
        train_with_progress(&mut network, docs, &options, estep, &monitor, &mut folder, about, common);
    let outcome = match verifying.finish(trained) {
        Ok(outcome) => outcome,
        Err(error) => {
            folder.discard_if_empty();
            return Err(error.into());
        }
    };
    network.training = summary(&options, outcome.metrics.as_ref());
    network.weights = outcome.weights.clone();
    folder.save_model(&network)?;
    report(&network, docs, &options, estep, reference, &outcome, folder.path(), common)?;
    match outcome.ended {
        Ended::Interrupted => Err(Error::Interrupted.into()),
        _ => Ok(()),
    }
}

/// Seconds between saves of a model that keeps improving.
const SAVE_EVERY: Duration = Duration::from_secs(30);

#[allow(clippy::too_many_arguments)]
fn train_with_progress(
    network: &mut Network,
    docs: Docs<'_>,
    options: &CheckedOptions,
    estep: &mut dyn EStep,
    monitor: &Arc<Monitor>,
    folder: &mut RunFolder,
    mut about: serde_json::Value,
    common: &Common,
) -> LibResult<Outcome> {
    let graph = network.graph.clone();
    let (mut progress, mut last_valid, mut last_save) = (None, None, Instant::now());
    train(&graph, docs, options, estep, monitor, &mut |event| {
        match event {
            Event::Started { n_train, n_valid, n_test, n_distinct, n_steps, n_batches, leak_floor } => {
                about["train_docs"] = json!(n_train);
                about["valid_docs"] = json!(n_valid);
                about["test_docs"] = json!(n_test);
                about["batches_per_epoch"] = json!(n_batches);
                about["leak_floor"] = json!(leak_floor);
                folder.write_config(options, about.take())?;
                let n_batches = *n_batches as u64;
                let n_epochs = n_steps.div_ceil(n_batches);
                let n_evaluations = n_epochs.div_ceil(u64::from(options.eval_every));
                let n_docs = n_steps * *n_train as u64 / n_batches + n_evaluations * *n_valid as u64;
                let test = if *n_test > 0 { format!(", {n_test} kept for the test") } else { String::new() };
                common.say(format_args!(
                    "training on {n_train} documents ({n_distinct} distinct), {n_valid} held out{test}; \
                     epochs: {n_epochs}, steps: {n_steps} at most"
                ));
                progress = Some(Progress::start(common, monitor, "training", n_docs));
            }
            Event::Evaluated { metrics, best, weights } => {
                folder.write_metrics(metrics)?;
                if let Some(progress) = &progress {
                    progress.line(&metrics_line(metrics, last_valid));
                }
                last_valid = metrics.valid_elbo;
                if *best && last_save.elapsed() > SAVE_EVERY {
                    network.weights = (*weights).clone();
                    network.training = summary(options, Some(metrics));
                    folder.save_model(network)?;
                    last_save = Instant::now();
                }
            }
        }
        Ok(())
    })
}

fn metrics_line(metrics: &Metrics, last_valid: Option<f64>) -> String {
    let mut line = format!("epoch {:.2} step {}", metrics.epoch, metrics.step);
    if let Some(train) = metrics.train_elbo {
        line += &format!("  train {train:.4}");
    }
    if let Some(valid) = metrics.valid_elbo {
        line += &format!("  held out {valid:.4}");
        if let Some(last) = last_valid {
            line += &format!(" ({:+.4})", valid - last);
        }
    }
    format!("{line} [{}]  {:.0} documents/s", metrics.bound, metrics.docs_per_s)
}

/// What the model file says of its training: no times, no thread counts.
fn summary(options: &TrainOptions, metrics: Option<&Metrics>) -> String {
    json!({
        "program": concat!("noisyor ", env!("CARGO_PKG_VERSION")),
        "options": options,
        "step": metrics.map(|m| m.step),
        "epoch": metrics.map(|m| m.epoch),
        "train_elbo": metrics.and_then(|m| m.train_elbo),
        "valid_elbo": metrics.and_then(|m| m.valid_elbo),
    })
    .to_string()
}

/// Prints topics, bounds and the folder.
#[allow(clippy::too_many_arguments)]
fn report(
    network: &Network,
    docs: Docs<'_>,
    options: &CheckedOptions,
    estep: &mut dyn EStep,
    reference: Option<Weights>,
    outcome: &Outcome,
    folder: &Path,
    common: &Common,
) -> Result<()> {
    let valid_elbo = outcome.metrics.as_ref().and_then(|m| m.valid_elbo);
    let bound = options.estep.bound;
    // A stop request must not stop this last, short look.
    let monitor = Arc::new(Monitor::default());
    let (n_valid, n_test) = (outcome.valid.len(), outcome.test.len());
    let mut elbo = |network: &Network, doc_ixs: &[u32]| -> LibResult<Option<f64>> {
        let progress = Progress::start(common, &monitor, "evaluating", doc_ixs.len() as u64);
        let (stats, _) = infer::run(network, docs, doc_ixs, &options.estep, estep, &monitor, None)?;
        drop(progress);
        common.say_estep(&stats);
        Ok((stats.n_docs > 0.0).then(|| stats.elbo_mean()))
    };
    let reference_elbo = match reference {
        Some(weights) => elbo(&Network { weights, ..network.clone() }, &outcome.valid)?,
        None => None,
    };
    // Of a run that was stopped nobody waits for the test.
    let test_elbo = if outcome.ended == Ended::Interrupted { None } else { elbo(network, &outcome.test)? };
    let ended = match outcome.ended {
        Ended::Finished => "finished",
        Ended::EarlyStop => "early stop",
        Ended::Interrupted => "interrupted",
    };
    if common.json {
        return print(format_args!(
            "{}\n",
            json!({
                "run": folder, "model": folder.join("model.safetensors"), "ended": ended, "bound": bound,
                "metrics": outcome.metrics, "graph_weights_elbo": reference_elbo, "held_out_docs": n_valid,
                "test_docs": n_test, "test_elbo": test_elbo,
            })
        ));
    }
    let mut text = TopicTree::text(&topic_tree(network, 8, MAX_DEPTH)) + "\n";
    if let Some(valid) = valid_elbo {
        text += &format!("held-out bound ({bound}) {valid:.4} nats a document, over {} documents\n", n_valid);
    }
    if let Some(reference) = reference_elbo {
        text += &format!("the same under the weights that came with the graph: {reference:.4}\n");
    }
    if let Some(test) = test_elbo {
        text += &format!(
            "test bound ({bound}) {test:.4} nats a document, over {n_test} documents that training never saw\n"
        );
    }
    let metrics = outcome.metrics.as_ref();
    text += &match metrics {
        Some(m) => format!("{ended}; best after {:.2} epochs (step {})\n", m.epoch, m.step),
        None => format!("{ended}\n"),
    };
    print(text + &format!("run folder: {}\n", folder.display()))
}
