//! How a corpus is read, which several commands share: format, columns, vocabulary; and the check of a mapped one beside the work.

use super::{Common, progress::Progress};
use clap::Args;
use clap::builder::PossibleValuesParser;
use noisyor::corpus::read::{Column, Columns, STDIN};
use noisyor::corpus::{
    Alignment, Corpus, Format, IngestOptions, Ingested, ReadOptions, align_checked, load_vocab, read,
    read_for,
};
use noisyor::monitor::Monitor;
use noisyor::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

#[derive(Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct CorpusArgs {
    /// Format of the corpus [default: by its name, plain, .gz or .zst; a native corpus is known by its content]
    #[arg(long, value_parser = PossibleValuesParser::new(Format::NAMES.map(|(name, _)| name)))]
    format: Option<String>,
    /// Tables: column with the text, by name or number from 1; in Parquet also a list of tokens; in JSON lines the key of either
    #[arg(long, value_name = "COLUMN")]
    text_column: Option<Column>,
    /// Tables: column with the documents' ids
    #[arg(long, value_name = "COLUMN")]
    id_column: Option<Column>,
    /// Tables: column with the documents' labels
    #[arg(long, value_name = "COLUMN")]
    label_column: Option<Column>,
    /// Tables: the first line has the columns' names, although columns are given by number
    #[arg(long)]
    header: bool,
    /// CSV and dense tables: what stands between two cells, a character or 'tab' [default: as the first line has it]
    #[arg(long, value_name = "CHAR", value_parser = parse_separator)]
    separator: Option<u8>,
    /// SVMlight: columns count from 0, not from 1
    #[arg(long)]
    zero_based: bool,
    /// Vocabulary: names of the columns where tokens are numbered, else the only tokens that are kept; a text file with a name a
    /// line, a native corpus or a model
    #[arg(long, value_name = "FILE")]
    pub(super) vocab: Option<PathBuf>,
    /// Column i of a corpus without names is token i of the model or graph, whatever its name [default: refused where tokens have names]
    #[arg(long, conflicts_with = "vocab")]
    by_number: bool,
}

fn parse_separator(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        _ if text == "tab" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"\"\r\n".contains(byte) => Ok(*byte),
        _ => Err("one character that is no letter, digit or quote, or 'tab'".into()),
    }
}

impl CorpusArgs {
    /// Whether any option is given: without a corpus that makes no sense.
    pub(crate) fn is_given(&self) -> bool {
        self.read_options().is_given() || self.vocab.is_some() || self.by_number
    }

    pub(crate) fn read_options(&self) -> ReadOptions {
        let named =
            |name: &String| Format::NAMES.iter().find(|(known, _)| known == name).map(|&(_, format)| format);
        ReadOptions {
            format: self.format.as_ref().and_then(named),
            columns: Columns {
                text: self.text_column.clone(),
                id: self.id_column.clone(),
                label: self.label_column.clone(),
                header: self.header,
                separator: self.separator,
            },
            zero_based: self.zero_based,
            n_names: None,
        }
    }

    pub(crate) fn options(&self) -> Result<IngestOptions> {
        let vocab = self.vocab.as_deref().map(load_vocab).transpose()?;
        let n_names = vocab.as_ref().map(|names| u32::try_from(names.len()).unwrap_or(u32::MAX));
        let read = ReadOptions { n_names, ..self.read_options() };
        Ok(IngestOptions { read, vocab, ..IngestOptions::default() })
    }

    /// Where there is no model, there is nothing to match by number.
    pub(crate) fn refuse_by_number(&self) -> Result<()> {
        if self.by_number {
            let message = "--by-number matches columns with the tokens of a model, and there is none here";
            return Err(Error::Usage(message.into()));
        }
        Ok(())
    }

    /// Reads a corpus that brings its own vocabulary.
    pub(crate) fn read_alone(&self, path: &Path, common: &Common, monitor: &Arc<Monitor>) -> Result<Corpus> {
        let progress = Progress::of_bytes(common, monitor, "reading", size_of(&[path.to_owned()]));
        let (corpus, ingested) = read(path, &self.options()?, None, monitor)?;
        drop(progress);
        warn_of_missing(&ingested, common);
        Ok(corpus)
    }

    /// Reads a corpus for a model with these tokens, and warns of others.
    pub(crate) fn read_for(
        &self,
        path: &Path,
        tokens: &[String],
        common: &Common,
        monitor: &Arc<Monitor>,
    ) -> Result<(Corpus, Alignment)> {
        let options = self.options()?;
        let progress = Progress::of_bytes(common, monitor, "reading", size_of(&[path.to_owned()]));
        let (corpus, alignment, ingested) = read_for(path, &options, tokens, self.by_number, monitor)?;
        drop(progress);
        warn_of_notes(&ingested, common);
        warn_of_unknown(&corpus, &alignment, &ingested, common);
        if let Some(example) = alignment.absent_example.as_ref().filter(|_| ingested.named_columns) {
            common.warn(format_args!(
                "there is no column for {} of the model's {} tokens (for example '{example}'); no document has them",
                alignment.n_absent,
                tokens.len()
            ));
        }
        let is_unnamed = corpus.token_names().is_none() && corpus.n_occurrences() > 0;
        if is_unnamed && corpus.n_tokens() != tokens.len() {
            common.warn(format_args!(
                "the corpus has {} columns, the model {} tokens; they are matched by number",
                corpus.n_tokens(),
                tokens.len()
            ));
        }
        Ok((corpus, alignment))
    }

    /// Refuses a corpus that a model with these tokens cannot be matched with.
    pub(crate) fn check_match(&self, corpus: &Corpus, tokens: &[String]) -> Result<()> {
        align_checked(corpus, tokens, self.by_number).map(|_| ())
    }
}

/// Shares to validate and to test on must leave documents to train on.
pub(crate) fn check_shares(valid: f64, test: f64) -> Result<()> {
    if (0.0..1.0).contains(&valid) && (0.0..1.0).contains(&test) && valid + test < 1.0 {
        return Ok(());
    }
    let message = format!("--valid {valid} and --test {test} must be shares from 0, and below 1 together");
    Err(Error::Usage(message))
}

/// What is read must not be replaced by what is written, however the paths are spelt.
pub(crate) fn refuse_overwriting<'a>(
    written: &Path,
    read: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<()> {
    // What is not there yet cannot be lost.
    let Ok(there) = written.canonicalize() else { return Ok(()) };
    if read.into_iter().any(|path| path.canonicalize().is_ok_and(|path| path == there)) {
        let message = "this is read, and would be replaced by what is written; write to another file";
        return Err(Error::Usage(format!("{}: {message}", written.display())));
    }
    Ok(())
}

/// Bytes of all files together; none if any has no size of its own.
pub(crate) fn size_of(paths: &[PathBuf]) -> Option<u64> {
    let size = |path: &PathBuf| {
        let file = std::fs::metadata(path).ok().filter(|file| file.is_file() && path != Path::new(STDIN));
        file.map(|file| file.len())
    };
    paths.iter().map(size).sum()
}

/// Warns of tokens that the model does not know.
pub(crate) fn warn_of_unknown(corpus: &Corpus, alignment: &Alignment, ingested: &Ingested, common: &Common) {
    let n_unknown = alignment.n_unknown + ingested.n_unknown;
    let quoted = ingested.unknown_example.as_ref().map(|word| format!("'{word}'"));
    if let Some(example) = alignment.unknown_example.clone().or(quoted).filter(|_| n_unknown > 0) {
        let n_all =
            if ingested.n_unknown > 0 { ingested.n_known + n_unknown } else { corpus.n_occurrences() as u64 };
        common.warn(format_args!(
            "the model does not know {n_unknown} of {n_all} token occurrences (for example {example}); they are left out"
        ));
    }
}

/// Warns of what may not be meant, and of words that a given vocabulary lacks.
pub(crate) fn warn_of_missing(ingested: &Ingested, common: &Common) {
    warn_of_notes(ingested, common);
    if let Some(missing) = missing(ingested) {
        common.warn(missing);
    }
}

/// The words that a given vocabulary lacks.
pub(crate) fn missing(ingested: &Ingested) -> Option<String> {
    let example = ingested.unknown_example.as_ref().filter(|_| ingested.n_unknown > 0)?;
    Some(format!(
        "the vocabulary lacks {} of {} occurrences of words (for example '{example}'); they are left out",
        ingested.n_unknown,
        ingested.n_unknown + ingested.n_known
    ))
}

fn warn_of_notes(ingested: &Ingested, common: &Common) {
    ingested.notes.iter().for_each(|note| common.warn(note));
}

/// Compares a mapped corpus with its checksums while the work goes on; nothing may be reported before it is done.
pub(crate) struct Verifying(Option<JoinHandle<Result<()>>>);

impl Verifying {
    pub(crate) fn start(corpus: &Corpus, monitor: &Arc<Monitor>) -> Self {
        if corpus.is_verified() {
            return Self(None);
        }
        let (corpus, monitor) = (corpus.clone(), Arc::clone(monitor));
        Self(Some(std::thread::spawn(move || {
            let verified = corpus.verify_while(&monitor);
            if verified.is_err() {
                monitor.stop.store(true, Ordering::SeqCst);
            }
            verified
        })))
    }

    /// The result of the work, unless the corpus it was done on is damaged.
    pub(crate) fn finish<T>(self, result: Result<T>) -> Result<T> {
        match self.0.map(JoinHandle::join) {
            None | Some(Ok(Ok(()))) => result,
            Some(Ok(Err(damage))) => Err(damage),
            Some(Err(_)) => Err(Error::Usage(
                "the corpus could not be verified; see what noisyor check says of it".into(),
            )),
        }
    }
}
