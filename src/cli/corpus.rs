//! `noisyor corpus`: any input to a native corpus, and splits of one.

mod split;

use super::common::{interruptible, print};
use super::corpus_args::{CorpusArgs, WordArgs, refuse_overwriting, size_of};
use super::{Common, progress::Progress};
use anyhow::Result;
use clap::Subcommand;
use noisyor::Error;
use noisyor::corpus::native::{self, NativeWriter};
use noisyor::corpus::{Corpus, Ingested, Others, Sink, VocabFile, ingest, reading_warnings};
use noisyor::files::folder_of;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Make a native corpus, which opens at once whatever its size, from files of any format
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(
    after_help = "Text is split into Unicode words in lower case. The vocabulary has the words in at least two
documents, those in most documents first; stop words, single letters and digits are left out.
Of a folder, every .txt file is a document; the folders at its top are the labels.
Lists of tokens are taken as they are, if none of the input is text.

Examples:
  noisyor corpus reviews.jsonl.gz --max-vocab 10000 -o reviews.corpus
  noisyor corpus packages.tsv --id-column 1 --label-column 2 --text-column 3 -o packages.corpus
  noisyor corpus new.txt --vocab reviews.corpus -o new.corpus
  noisyor corpus articles --stop-words german -o articles.corpus
  noisyor corpus split reviews.corpus --test 0.3 -o parts"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    convert: ConvertArgs,
}

#[derive(Subcommand)]
enum Command {
    Split(split::Args),
}

#[derive(clap::Args)]
struct ConvertArgs {
    /// Files to read one after another; - is standard input (give --format); a folder has a document in every .txt file
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Native corpus to write
    #[arg(short, long, value_name = "CORPUS", required = true)]
    output: Option<PathBuf>,
    /// Also write the vocabulary to a text file, a name a line
    #[arg(long, value_name = "FILE")]
    save_vocab: Option<PathBuf>,
    #[command(flatten)]
    reading: CorpusArgs,
    #[command(flatten)]
    words: WordArgs,
}

pub(crate) fn run(args: Args, common: &Common) -> Result<()> {
    match (args.command, args.convert.output.clone()) {
        (Some(Command::Split(args)), _) => split::run(args, common),
        (None, Some(output)) => convert(&args.convert, &output, common),
        (None, None) => Err(Error::Usage("give -o, the native corpus to write".into()).into()),
    }
}

fn convert(args: &ConvertArgs, output: &Path, common: &Common) -> Result<()> {
    let start = Instant::now();
    args.reading.refuse_by_number()?;
    let options = args.reading.source(None, &args.words).ingest_options()?;
    for written in [Some(output), args.save_vocab.as_deref()].into_iter().flatten() {
        refuse_overwriting(written, args.inputs.iter().chain(&args.reading.vocab))?;
    }
    if args.save_vocab.as_deref() == Some(output) {
        return Err(Error::Usage("-o and --save-vocab must be different files".into()).into());
    }
    common.say_replaced(output);
    let monitor = interruptible(common)?;
    let mut writer = Output::create(output, args.save_vocab.as_deref())?;
    let progress = Progress::of_bytes(common, &monitor, "reading", size_of(&args.inputs));
    let folder = folder_of(output);
    let ingested = ingest(&args.inputs, &options, folder, &mut writer, &monitor)?;
    writer.commit()?;
    drop(progress);
    let corpus = native::open(output)?;
    if ingested.n_docs == 0 {
        common.warn("there are no documents");
    }
    reading_warnings(&ingested).iter().for_each(|message| common.warn(message));
    let n_bytes = std::fs::metadata(output).map_or(0, |file| file.len());
    let seconds = start.elapsed().as_secs_f64();
    if common.json {
        let result = json!({
            "docs": corpus.n_docs(), "empty_docs": ingested.n_empty, "tokens": corpus.n_tokens(),
            "occurrences": corpus.n_occurrences(), "words": ingested.n_words, "phrases": ingested.n_phrases,
            "stop_words": ingested.n_stop, "unknown": ingested.n_unknown, "bytes": n_bytes, "seconds": seconds,
            "unknown_docs": ingested.n_docs_unknown, "unknown_values": corpus.n_unknown(), "output": output,
        });
        return print(format_args!("{result}\n"));
    }
    print(summary(&ingested, &corpus))?;
    common.say(format_args!("{:.1} MB in {seconds:.2} s -> {}", n_bytes as f64 / 1e6, output.display()));
    Ok(())
}

/// The corpus, and the vocabulary where it is to be saved: both are put in place, or neither.
struct Output {
    corpus: NativeWriter,
    vocab: Option<VocabFile>,
    named: bool,
}

impl Output {
    fn create(corpus: &Path, vocab: Option<&Path>) -> noisyor::Result<Self> {
        let corpus = NativeWriter::create(corpus)?;
        Ok(Self { corpus, vocab: vocab.map(VocabFile::create).transpose()?, named: false })
    }

    fn commit(self) -> noisyor::Result<()> {
        if self.vocab.is_some() && !self.named {
            return Err(Error::Usage("the tokens have no names for --save-vocab to save".into()));
        }
        self.corpus.commit()?;
        self.vocab.map_or(Ok(()), VocabFile::commit)
    }
}

impl Sink for Output {
    fn push_state(
        &mut self,
        present: &mut Vec<u32>,
        others: &mut Others,
        id: &str,
        label: &str,
    ) -> noisyor::Result<()> {
        self.corpus.push_state(present, others, id, label)
    }

    fn set_names(&mut self, names: &mut dyn Iterator<Item = &str>) -> noisyor::Result<()> {
        let names: Vec<&str> = names.collect();
        if let Some(vocab) = &mut self.vocab {
            names.iter().try_for_each(|name| vocab.push(name))?;
        }
        self.named = true;
        self.corpus.set_names(&mut names.into_iter())
    }

    fn set_n_tokens(&mut self, n_tokens: u32) {
        self.corpus.set_n_tokens(n_tokens);
    }
}

fn summary(ingested: &Ingested, corpus: &Corpus) -> String {
    let (n_tokens, n_occurrences) = (corpus.n_tokens(), corpus.n_occurrences());
    let Ingested { n_docs, n_empty, n_words, n_phrases, n_stop, .. } = ingested;
    let per_doc = n_occurrences as f64 / (*n_docs).max(1) as f64;
    let mut text =
        format!("{n_docs} documents ({n_empty} empty), {n_tokens} tokens, {per_doc:.1} a document\n");
    if corpus.has_unknown() {
        let n_unknown = corpus.n_unknown();
        let share = 100.0 * n_unknown as f64 / (corpus.n_docs() * n_tokens).max(1) as f64;
        let n_docs = ingested.n_docs_unknown;
        text += &format!("{n_unknown} values are unknown ({share:.4} %), in {n_docs} documents\n");
    }
    if *n_words > 0 {
        text += &format!("from {n_words} different words");
        if *n_phrases > 0 {
            text += &format!(", {n_phrases} of the tokens are phrases");
        }
        if *n_stop > 0 {
            text += &format!("; {n_stop} occurrences of stop words left out");
        }
        text += "\n";
    }
    text
}
