//! Scores of a corpus under a baseline.

use super::Args;
use super::likelihood::LikelihoodArg;
use crate::cli::Common;
use crate::cli::baseline::score_in_words;
use crate::cli::common::{interruptible, print};
use crate::cli::corpus_args::refuse_overwriting;
use crate::cli::progress::Progress;
use anyhow::Result;
use noisyor::baseline::{Completion, Trained, completion, estimates, load_baseline, scores};
use noisyor::corpus::{Baseline, Docs, Verifying, known_share, token_frequency};
use noisyor::files::AtomicFile;
use noisyor::{Error, infer};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The share of words held out for completion, unless the user says otherwise.
const SHARE: f64 = 0.1;

pub(super) fn run(args: &Args, file: &PathBuf, common: &Common) -> Result<()> {
    let Some(corpus_path) = refuse_others(args)? else {
        return Err(Error::Usage("of which documents? Name a corpus".into()).into());
    };
    if let Some(path) = &args.per_doc {
        refuse_overwriting(path, [file, corpus_path])?;
    }
    let Trained { model, names, .. } = load_baseline(file)?;
    args.per_doc.iter().for_each(|path| common.say_replaced(path));
    let per_doc = args.per_doc.as_deref().map(AtomicFile::create).transpose()?;
    let monitor = interruptible(common)?;
    let (corpus, alignment) = args.reading.read_for(corpus_path, &names.tokens, common, &monitor)?;
    let docs = alignment.docs(&corpus);
    let verifying = Verifying::start(&corpus, &monitor);
    let doc_ixs: Vec<u32> = (0..docs.n_docs() as u32).collect();
    let progress = Progress::start(common, &monitor, "evaluating", doc_ixs.len() as u64);
    let scores = verifying.finish(scores(model.as_ref(), &docs, &doc_ixs, &monitor))?;
    drop(progress);
    let estimated = match args.likelihood.as_slice() {
        [] => None,
        [LikelihoodArg::Annealed(draws)] => {
            let _progress = Progress::start(common, &monitor, "sampling", doc_ixs.len() as u64);
            Some(estimates(model.as_ref(), &docs, &doc_ixs, (*draws, args.seed), &monitor)?)
        }
        _ => {
            let message = "--likelihood of a baseline takes one number of samples; chains are for networks";
            return Err(Error::Usage(message.into()).into());
        }
    };
    let completed = match args.completion {
        Some(share) => {
            let (share, _progress) = (share.unwrap_or(SHARE), Progress::open(common, &monitor, "completing"));
            Some(completion(model.as_ref(), &docs, &doc_ixs, share, args.seed, &monitor)?)
        }
        None => None,
    };
    if let (Some(file), Some(path)) = (per_doc, &args.per_doc) {
        write(file, path, &docs, &scores, estimated.as_deref())?;
    }
    let means = estimated.filter(|estimated| !estimated.is_empty()).map(|estimated| {
        let n = estimated.len() as f64;
        let sum = |of: fn(&(f64, f64)) -> f64| estimated.iter().map(of).sum::<f64>();
        // Estimates of documents are independent.
        (sum(|estimate| estimate.0) / n, sum(|estimate| estimate.1 * estimate.1).sqrt() / n)
    });
    let (n_docs, sum) = (scores.len(), scores.iter().sum::<f64>());
    let mean = (n_docs > 0).then(|| sum / n_docs as f64);
    // Independent words are a model of the same thing only where every token is scored.
    let frequency = token_frequency(&docs, &doc_ixs, names.tokens.len());
    let told = known_share(&docs, &doc_ixs, names.tokens.len());
    let independent = Baseline::among_told(&frequency, &told, &frequency, n_docs);
    let independent = mean.filter(|_| model.score_of().is_none()).map(|mean| (independent, mean));
    if common.json {
        let mut result = json!({
            "docs": n_docs, "baseline": model.name(), "score": model.score(), "score_of": model.score_of(), "score_mean": mean,
            "score_sum": sum, "parameters": model.n_parameters(),
            "baseline_mean": independent.map(|(independent, _)| independent.mean),
            "gain_bits_a_word": independent.and_then(|(independent, mean)| independent.gain(mean).1),
        });
        if !args.likelihood.is_empty() {
            result["likelihood_mean"] = json!(means.map(|means| means.0));
            result["likelihood_se"] = json!(means.map(|means| means.1));
        }
        if let Some(completed) = completed {
            result["completion_mean"] = json!(completed.mean);
            result["completion_se"] = json!(completed.se);
            result["completion_words"] = json!(completed.n_words);
        }
        return print(format_args!("{result}\n"));
    }
    let Some(mean) = mean else { return print("no documents\n") };
    let what = score_in_words(model.score(), model.score_of());
    let mut text = format!("{n_docs} documents, mean {what} {mean:.6} nats a document ({})\n", model.name());
    if let Some((independent, mean)) = independent {
        text += &format!("{}\n", independent.describe(mean));
    }
    if let Some((log_p, se)) = means {
        text += &format!("estimated log-likelihood {log_p:.6}, standard error {se:.6}\n");
    }
    if let Some(Completion { mean, se, n_words, n_docs }) = completed {
        text += &format!(
            "{n_words} words held out of {n_docs} documents, predicted from the others: {mean:.4} nats a word, standard error {se:.4}\n"
        );
    }
    print(text)
}

/// Options that are for networks; returns the corpus.
fn refuse_others(args: &Args) -> Result<Option<&PathBuf>, Error> {
    let options = [
        ("--exact", args.exact),
        ("--upper", args.upper),
        ("--calibration", args.calibration.is_some()),
        ("--given", args.given.is_given()),
    ];
    match options.iter().find(|(_, is_given)| *is_given) {
        Some((option @ "--given", _)) => Err(Error::Usage(format!(
            "{option} names topics, and a baseline has none; 'noisyor baseline query' has probabilities given tokens"
        ))),
        Some((option, _)) => Err(Error::Usage(format!("{option} is for networks; this is a baseline"))),
        None => Ok(args.corpus.as_ref()),
    }
}

/// A table: doc, score, and if asked for likelihood, likelihood_se.
fn write(
    mut file: AtomicFile,
    path: &Path,
    docs: &Docs<'_>,
    scores: &[f64],
    estimates: Option<&[(f64, f64)]>,
) -> Result<(), Error> {
    let mut write = || {
        writeln!(file, "doc\tscore{}", if estimates.is_some() { "\tlikelihood\tlikelihood_se" } else { "" })?;
        let mut lines = scores.iter().enumerate();
        lines.try_for_each(|(doc_ix, score)| {
            write!(file, "{}\t{score}", infer::tsv_field(&docs.corpus().id(doc_ix)))?;
            if let Some((log_p, se)) = estimates.map(|estimates| estimates[doc_ix]) {
                write!(file, "\t{log_p}\t{se}")?;
            }
            writeln!(file)
        })
    };
    write().map_err(|e| Error::io(path, e))?;
    file.commit()
}
