//! `noisyor eval`: the mean bound of a corpus under a model.

use super::common::{BackendArgs, interruptible, model_file, print};
use super::corpus_args::{CorpusArgs, refuse_overwriting};
use super::estep_args::EStepArgs;
use super::{Common, progress::Progress};
use anyhow::Result;
use noisyor::corpus::{Baseline, Docs, Verifying, known_share, token_frequency};
use noisyor::estep::{DocResults, Params};
use noisyor::files::AtomicFile;
use noisyor::infer::{self, Task};
use noisyor::likelihood::{self, Estimates};
use noisyor::network::load_model;
use noisyor::{Error, exact};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Mean bound per document of a corpus under a model
///
/// Beside it stands how likely the documents are if words are independent, each with the frequency that it has in these documents: the best
/// that a model without topics can do.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  noisyor eval run documents.jsonl --bound full --per-doc bounds.tsv
  noisyor eval run documents.jsonl --likelihood=200 --seed 1")]
pub(crate) struct Args {
    /// Model: .safetensors, .json or .tsv, or a run folder
    model: PathBuf,
    /// Corpus
    corpus: PathBuf,
    /// Also the exact log-likelihood, by enumeration: for networks of up to 22 topics
    #[arg(long)]
    exact: bool,
    /// Also an estimate of the log-likelihood, with its standard error, from N samples of each document's topics (100 if not given),
    /// and a lower bound, the sum over all configurations of topics met: for networks of any size, but samples are of all topics
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true)]
    likelihood: Option<Option<usize>>,
    /// Seed of the samples of --likelihood
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write each document's figures to a table: doc, elbo, and if asked for exact, likelihood, likelihood_se, ess, configurations
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
    let sampling = args.likelihood.map(|samples| likelihood::Options {
        samples: samples.unwrap_or(likelihood::SAMPLES),
        seed: args.seed,
        estep: options.clone(),
        ..likelihood::Options::default()
    });
    if let Some(sampling) = &sampling {
        sampling.check()?;
    }
    let model = model_file(&args.model)?;
    if let Some(path) = &args.per_doc {
        refuse_overwriting(path, [&model, &args.corpus])?;
    }
    let mut estep = args.backend.open(common)?;
    let network = load_model(&model)?;
    if args.exact {
        exact::check_size(&network.graph)?;
    }
    args.per_doc.iter().for_each(|path| common.say_replaced(path));
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
    let task = Task { network: &network, params: &params, docs, options: &options, monitor: &monitor };
    let run = task.run_range(all, estep.as_mut(), sink);
    let stats = verifying.finish(run)?;
    drop(progress);
    common.say_estep(&stats);
    let exact = if args.exact {
        let progress = Progress::start(common, &monitor, "enumerating", docs.n_docs() as u64);
        let exact = exact::log_likelihood_of(&network.graph, &network.weights, &docs, &monitor)?;
        drop(progress);
        Some(exact)
    } else {
        None
    };
    let estimates = match &sampling {
        Some(sampling) => {
            let _progress = Progress::start(common, &monitor, "sampling", docs.n_docs() as u64);
            Some(likelihood::estimate(&network, docs, sampling, estep.as_mut(), &monitor)?)
        }
        None => None,
    };
    if let (Some(file), Some(path)) = (per_doc, &args.per_doc) {
        write_per_doc(file, path, &docs, &elbo, exact.as_deref(), estimates.as_ref())?;
    }

    let n_docs = docs.n_docs();
    let mean = |sum: f64| (n_docs > 0).then(|| sum / n_docs as f64);
    let elbo_mean = mean(stats.elbo_sum);
    let exact_mean = exact.as_ref().and_then(|exact| mean(exact.iter().sum()));
    let means = estimates.as_ref().and_then(Estimates::means);
    let doc_ixs: Vec<u32> = (0..n_docs as u32).collect();
    let frequency = token_frequency(&docs, &doc_ixs, network.graph.n_tokens());
    let told = known_share(&docs, &doc_ixs, network.graph.n_tokens());
    let baseline = Baseline::among_told(&frequency, &told, &frequency, n_docs);
    if common.json {
        let mut result = json!({
            "docs": n_docs, "bound": options.bound, "elbo_mean": elbo_mean, "elbo_sum": stats.elbo_sum,
            "baseline_mean": mean(n_docs as f64 * baseline.mean),
            "gain_bits_a_word": elbo_mean.and_then(|elbo| baseline.gain(elbo).1),
            "exact_mean": exact_mean, "backend": estep.name(),
        });
        if options.clamp > 0 {
            result["clamp"] = json!(options.clamp);
        }
        if sampling.is_some() {
            result["likelihood_mean"] = json!(means.map(|means| means.log_p));
            result["likelihood_se"] = json!(means.map(|means| means.se));
            result["ess_mean"] = json!(means.map(|means| means.ess));
            result["configurations_bound_mean"] = json!(means.map(|means| means.configurations));
        }
        return print(format_args!("{result}\n"));
    }
    let Some(elbo_mean) = elbo_mean else { return print("no documents\n") };
    let bound = options.bound_label();
    let mut text = format!("{n_docs} documents, mean bound ({bound}) {elbo_mean:.6} nats a document\n");
    text += &format!("{}\n", baseline.describe(elbo_mean));
    if let Some(exact_mean) = exact_mean {
        text +=
            &format!("exact log-likelihood {exact_mean:.6}, {:.6} above the bound\n", exact_mean - elbo_mean);
    }
    if let (Some(means), Some(sampling)) = (means, &sampling) {
        text += &format!(
            "estimated log-likelihood {:.6}, standard error {:.6}; effective sample size {:.1} of {}\n\
             lower bound by all configurations met {:.6}\n",
            means.log_p, means.se, means.ess, sampling.samples, means.configurations
        );
    }
    print(text)
}

fn write_per_doc(
    mut file: AtomicFile,
    path: &Path,
    docs: &Docs<'_>,
    elbo: &[f64],
    exact: Option<&[f64]>,
    estimates: Option<&Estimates>,
) -> Result<(), Error> {
    let mut write = || {
        write!(file, "doc\telbo{}", if exact.is_some() { "\texact" } else { "" })?;
        let of_likelihood = "\tlikelihood\tlikelihood_se\tess\tconfigurations";
        writeln!(file, "{}", if estimates.is_some() { of_likelihood } else { "" })?;
        for (doc_ix, elbo) in elbo.iter().enumerate() {
            write!(file, "{}\t{elbo}", infer::tsv_field(&docs.corpus().id(doc_ix)))?;
            if let Some(exact) = exact {
                write!(file, "\t{}", exact[doc_ix])?;
            }
            if let Some(estimates) = estimates {
                let e = estimates.doc(doc_ix);
                write!(file, "\t{}\t{}\t{}\t{}", e.log_p, e.se, e.ess, e.configurations)?;
            }
            writeln!(file)?;
        }
        Ok(())
    };
    write().map_err(|e| Error::io(path, e))?;
    file.commit()
}
