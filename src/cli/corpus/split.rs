//! `noisyor corpus split`: the parts of a seeded split as corpora of their own.

use crate::cli::Common;
use crate::cli::common::{interruptible, print};
use crate::cli::corpus_args::{CorpusArgs, check_shares, size_of};
use crate::cli::progress::Progress;
use anyhow::Result;
use noisyor::Error;
use noisyor::corpus::native::NativeWriter;
use noisyor::corpus::reading_warnings;
use noisyor::corpus::{Corpus, Others, Parts, Sink, read, split};
use noisyor::monitor::Monitor;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Split a corpus at random into train.corpus, valid.corpus and test.corpus
///
/// `train` with the same shares and seed trains on the same documents.
#[derive(clap::Args)]
#[command(after_help = "Example:
  noisyor corpus split reviews.corpus --valid 0.1 --test 0.3 --seed 1 -o parts")]
pub(crate) struct Args {
    /// Corpus of any format
    corpus: PathBuf,
    /// Folder to write to
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Share of the documents to validate on
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    valid: f64,
    /// Share of the documents to test on
    #[arg(long, value_name = "SHARE", default_value_t = 0.3)]
    test: f64,
    /// Seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    reading: CorpusArgs,
}

pub(super) fn run(args: Args, common: &Common) -> Result<()> {
    let (valid, test) = (args.valid, args.test);
    check_shares(valid, test)?;
    let monitor = interruptible(common)?;
    let n_bytes = size_of(std::slice::from_ref(&args.corpus));
    let progress = Progress::of_bytes(common, &monitor, "reading", n_bytes);
    let (corpus, ingested) = read(&args.corpus, &args.reading.options()?, None, &monitor)?;
    corpus.verify()?;
    drop(progress);
    if ingested.n_words > ingested.n_tokens {
        common.warn(format_args!(
            "the vocabulary has {} of {} words: those in two documents at least, without English stop words; \
             'noisyor corpus' has options for that",
            ingested.n_tokens, ingested.n_words
        ));
    }
    reading_warnings(&ingested).iter().for_each(|message| common.warn(message));
    let Parts { train, valid, test } = split(corpus.n_docs(), valid, test, args.seed);
    std::fs::create_dir_all(&args.output).map_err(|e| Error::io(&args.output, e))?;
    let progress = Progress::start(common, &monitor, "writing", corpus.n_docs() as u64);
    let mut written = Vec::new();
    for (name, part) in [("train", &train), ("valid", &valid), ("test", &test)] {
        let path = args.output.join(format!("{name}.corpus"));
        if part.is_empty() && name != "train" {
            // It is the user's, so it stays, but it overlaps the new parts.
            if path.exists() {
                common.warn(format_args!("{} is of an earlier split, not of this one", path.display()));
            }
        } else {
            written.push((path.clone(), part.len(), write_part(&corpus, part, &path, &monitor)?));
        }
    }
    drop(progress);
    // All documents of all parts are written before the first part is put in place.
    for (path, n_docs, writer) in &mut written {
        common.say(format_args!("{n_docs} documents -> {}", path.display()));
        writer.take().map_or(Ok(()), NativeWriter::commit)?;
    }
    if common.json {
        let files: Vec<&PathBuf> = written.iter().map(|(path, ..)| path).collect();
        let result = json!({"train": train.len(), "valid": valid.len(), "test": test.len(), "files": files});
        print(format_args!("{result}\n"))?;
    }
    Ok(())
}

fn write_part(corpus: &Corpus, part: &[u32], path: &Path, monitor: &Monitor) -> Result<Option<NativeWriter>> {
    let mut writer = NativeWriter::create(path)?;
    let (mut present, mut others) = (Vec::new(), Others::default());
    for &doc_ix in part {
        monitor.go_on()?;
        let doc_ix = doc_ix as usize;
        let state = corpus.state(doc_ix);
        present.clear();
        present.extend_from_slice(state.present);
        others.copy(state.other);
        // A document without an id keeps its number in the whole corpus.
        let (id, label) = (corpus.id(doc_ix), corpus.label(doc_ix).unwrap_or(""));
        writer.push_state(&mut present, &mut others, &id, label)?;
        monitor.docs_done.fetch_add(1, Ordering::Relaxed);
    }
    match corpus.token_names() {
        Some(names) => writer.set_names(&mut names.iter())?,
        None => writer.set_n_tokens(corpus.n_tokens() as u32),
    }
    Ok(Some(writer))
}
