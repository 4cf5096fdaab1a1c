//! `noisyor eval`: the mean bound of a corpus under a model.

use super::common::{BackendArgs, interruptible, print};
use super::corpus_args::{CorpusArgs, Verifying};
use super::estep_args::EStepArgs;
use super::{Common, progress::Progress};
use anyhow::Result;
use noisyor::corpus::Docs;
use noisyor::estep::{DocResults, Params};
use noisyor::files::AtomicFile;
use noisyor::network::load_model;
use noisyor::{Error, exact, infer};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Mean bound per document of a corpus under a model
#[derive(clap::Args)]
#[command(after_help = "Example:
  noisyor eval run/model.safetensors documents.jsonl --bound full --per-doc bounds.tsv")]
pub(crate) struct Args {
    /// Model: .safetensors, .json or .tsv
    model: PathBuf,
    /// Corpus
    corpus: PathBuf,
    /// Also the exact log-likelihood, by enumeration: for networks of up to 22 topics
    #[arg(long)]
    exact: bool,
    /// Write each document's figures to a table: doc, elbo, and exact if asked for
    #[arg(long, value_name = "FILE.tsv")]
    per_doc: Option<PathBuf>,
    #[command(flatten)]
    reading: CorpusArgs,
    #[command(flatten)]
    estep: EStepArgs,
    #[command(flatten)]
    backend: BackendArgs,
}

pub(crate) fn run(args: Args, common: &Common) -> Result<()> {
    let options = args.estep.options()?;
    let mut estep = args.backend.open(common)?;
    let network = load_model(&args.model)?;
    if args.exact {
        exact::check_size(&network.graph)?;
    }
    let per_doc = args.per_doc.as_deref().map(AtomicFile::create).transpose()?;
    let monitor = interruptible(common)?;
    let (corpus, alignment) = args.reading.read_for(&args.corpus, &network.names.tokens, common, &monitor)?;
    let docs = alignment.docs(&corpus);
    let verifying = Verifying::start(&corpus, &monitor);

    let params = Params::derive(&network.graph, &network.weights, options.bound)?;
    let progress = Progress::start(common, &monitor, "evaluating", docs.n_docs() as u64);
    let mut elbo = Vec::new();
    let mut collect = |results: &DocResults<'_>| {
        elbo.extend_from_slice(results.elbo);
        Ok(())
    };
    let sink = per_doc.is_some().then_some(&mut collect as _);
    let all = 0..docs.n_docs();
    let run = infer::run_range(&network, docs, all, &options, &params, estep.as_mut(), &monitor, sink);
    let stats = verifying.finish(run)?;
    drop(progress);
    common.say_estep(&stats);
    let exact = if args.exact {
        let progress = Progress::start(common, &monitor, "enumerating", docs.n_docs() as u64);
        let tokens: Vec<Vec<u32>> = (0..docs.n_docs()).map(|doc_ix| docs.tokens(doc_ix).collect()).collect();
        let exact = exact::log_likelihood(&network.graph, &network.weights, &tokens, &monitor)?;
        drop(progress);
        Some(exact)
    } else {
        None
    };
    if let (Some(file), Some(path)) = (per_doc, &args.per_doc) {
        write_per_doc(file, path, &docs, &elbo, exact.as_deref())?;
    }

    let n_docs = docs.n_docs();
    let mean = |sum: f64| (n_docs > 0).then(|| sum / n_docs as f64);
    let elbo_mean = mean(stats.elbo_sum);
    let exact_mean = exact.as_ref().and_then(|exact| mean(exact.iter().sum()));
    if common.json {
        let result = json!({
            "docs": n_docs, "bound": options.bound, "elbo_mean": elbo_mean, "elbo_sum": stats.elbo_sum,
            "exact_mean": exact_mean, "backend": estep.name(),
        });
        return print(format_args!("{result}\n"));
    }
    let Some(elbo_mean) = elbo_mean else { return print("no documents\n") };
    let bound = options.bound;
    let mut text = format!("{n_docs} documents, mean bound ({bound}) {elbo_mean:.6} nats a document\n");
    if let Some(exact_mean) = exact_mean {
        text +=
            &format!("exact log-likelihood {exact_mean:.6}, {:.6} above the bound\n", exact_mean - elbo_mean);
    }
    print(text)
}

fn write_per_doc(
    mut file: AtomicFile,
    path: &Path,
    docs: &Docs<'_>,
    elbo: &[f64],
    exact: Option<&[f64]>,
) -> Result<(), Error> {
    let mut write = || {
        writeln!(file, "doc\telbo{}", if exact.is_some() { "\texact" } else { "" })?;
        for (doc_ix, elbo) in elbo.iter().enumerate() {
            write!(file, "{}\t{elbo}", infer::tsv_field(&docs.corpus().id(doc_ix)))?;
            match exact {
                Some(exact) => writeln!(file, "\t{}", exact[doc_ix])?,
                None => writeln!(file)?,
            }
        }
        Ok(())
    };
    write().map_err(|e| Error::io(path, e))?;
    file.commit()
}
