//! Scores of a corpus under a baseline.

use super::Args;
use crate::cli::Common;
use crate::cli::baseline::score_in_words;
use crate::cli::common::{interruptible, print};
use crate::cli::corpus_args::refuse_overwriting;
use crate::cli::progress::Progress;
use anyhow::Result;
use noisyor::baseline::{Trained, load_baseline, scores};
use noisyor::corpus::{Baseline, Docs, Verifying, known_share, token_frequency};
use noisyor::files::AtomicFile;
use noisyor::{Error, infer};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

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
    if let (Some(file), Some(path)) = (per_doc, &args.per_doc) {
        write(file, path, &docs, &scores)?;
    }
    let (n_docs, sum) = (scores.len(), scores.iter().sum::<f64>());
    let mean = (n_docs > 0).then(|| sum / n_docs as f64);
    // Independent words are a model of the same thing only where every token is scored.
    let frequency = token_frequency(&docs, &doc_ixs, names.tokens.len());
    let told = known_share(&docs, &doc_ixs, names.tokens.len());
    let independent = Baseline::among_told(&frequency, &told, &frequency, n_docs);
    let independent = mean.filter(|_| model.score_of().is_none()).map(|mean| (independent, mean));
    if common.json {
        let result = json!({
            "docs": n_docs, "baseline": model.name(), "score": model.score(), "score_of": model.score_of(), "score_mean": mean,
            "score_sum": sum, "parameters": model.n_parameters(),
            "baseline_mean": independent.map(|(independent, _)| independent.mean),
            "gain_bits_a_word": independent.and_then(|(independent, mean)| independent.gain(mean).1),
        });
        return print(format_args!("{result}\n"));
    }
    let Some(mean) = mean else { return print("no documents\n") };
    let what = score_in_words(model.score(), model.score_of());
    let mut text = format!("{n_docs} documents, mean {what} {mean:.6} nats a document ({})\n", model.name());
    if let Some((independent, mean)) = independent {
        text += &format!("{}\n", independent.describe(mean));
    }
    print(text)
}

/// Options that are for networks; returns the corpus.
fn refuse_others(args: &Args) -> Result<Option<&PathBuf>, Error> {
    let options = [
        ("--exact", args.exact),
        ("--likelihood", args.likelihood.is_some()),
        ("--upper", args.upper),
        ("--calibration", args.calibration.is_some()),
        ("--given", args.given.is_given()),
    ];
    match options.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(Error::Usage(format!("{option} is for networks; this is a baseline"))),
        None => Ok(args.corpus.as_ref()),
    }
}

/// A table: doc, score.
fn write(mut file: AtomicFile, path: &Path, docs: &Docs<'_>, scores: &[f64]) -> Result<(), Error> {
    let mut write = || {
        writeln!(file, "doc\tscore")?;
        let mut lines = scores.iter().enumerate();
        lines.try_for_each(|(doc_ix, score)| {
            writeln!(file, "{}\t{score}", infer::tsv_field(&docs.corpus().id(doc_ix)))
        })
    };
    write().map_err(|e| Error::io(path, e))?;
    file.commit()
}
