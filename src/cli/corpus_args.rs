//! How a corpus is read, which several commands share: format, columns, vocabulary.

use super::{Common, progress::Progress};
use clap::Args;
use clap::builder::PossibleValuesParser;
use noisyor::corpus::read::{Column, Columns, STDIN};
use noisyor::corpus::{
    Alignment, Corpus, CorpusSource, Df, Format, IngestOptions, Place, ReadOptions, Unlisted, WordRequest,
    matching_warnings, reading_warnings,
};
use noisyor::monitor::Monitor;
use noisyor::{Error, Result};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    /// What tokens are that a document does not list, as unanswered questions: with unknown, 5:0 in SVMlight is absent, 5:1
    /// present, and every column without a value unknown
    #[arg(long, value_name = "STATE", value_parser = ["absent", "unknown"], default_value = "absent")]
    unlisted: String,
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
            unlisted: if self.unlisted == "unknown" { Unlisted::Unknown } else { Unlisted::Absent },
            n_names: None,
        }
    }

    /// The corpus that is asked for; without a path the sample.
    pub(crate) fn source(&self, path: Option<&Path>, words: &WordArgs) -> CorpusSource {
        CorpusSource {
            place: path.map_or(Place::Sample, |path| Place::File(path.to_owned())),
            read: self.read_options(),
            vocab: self.vocab.clone(),
            by_number: self.by_number,
            words: words.request(),
        }
    }

    fn file(&self, path: &Path) -> CorpusSource {
        let (read, vocab) = (self.read_options(), self.vocab.clone());
        CorpusSource { read, vocab, by_number: self.by_number, ..CorpusSource::file(path) }
    }

    pub(crate) fn options(&self) -> Result<IngestOptions> {
        self.file(Path::new(STDIN)).ingest_options()
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
        let source = self.file(path);
        let progress = Progress::of_bytes(common, monitor, "reading", source.n_bytes());
        let (corpus, ingested) = source.read(None, monitor)?;
        drop(progress);
        reading_warnings(&ingested).iter().for_each(|message| common.warn(message));
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
        let source = self.file(path);
        let progress = Progress::of_bytes(common, monitor, "reading", source.n_bytes());
        let (corpus, alignment, ingested) = source.read_for(tokens, &common.team, monitor)?;
        drop(progress);
        let warnings = matching_warnings(&corpus, &alignment, &ingested, tokens);
        warnings.iter().for_each(|message| common.warn(message));
        Ok((corpus, alignment))
    }
}

#[derive(Args)]
#[command(next_help_heading = "Vocabulary")]
pub(crate) struct WordArgs {
    /// Tokens are in at least so many documents: a number, or a share with a point [default for text: 2]
    #[arg(long, value_name = "N|SHARE")]
    min_df: Option<Df>,
    /// Tokens are in at most so many documents
    #[arg(long, value_name = "N|SHARE")]
    max_df: Option<Df>,
    /// Tokens at most: those in the most documents stay
    #[arg(long, value_name = "N")]
    max_vocab: Option<NonZeroUsize>,
    /// Words of text to leave out: those of a language (english, german, french, spanish, italian, portuguese, dutch, russian, swedish, or
    /// an ISO code such as de), none, or those in a file
    #[arg(long, value_name = "LANGUAGE|none|FILE", default_value = "english")]
    stop_words: String,
    /// Join neighbouring words that belong together, as in 'operating system': those with this normalised pointwise mutual
    /// information at least, between -1 and 1
    #[arg(long, value_name = "SCORE", num_args = 0..=1, default_missing_value = "0.5", require_equals = true)]
    phrases: Option<f64>,
}

impl WordArgs {
    pub(crate) fn request(&self) -> WordRequest {
        let Self { min_df, max_df, phrases, .. } = *self;
        let max_vocab = self.max_vocab.map(NonZeroUsize::get);
        WordRequest { stop_words: self.stop_words.clone(), min_df, max_df, max_vocab, phrases }
    }

    /// Whether any option is given.
    pub(crate) fn is_given(&self) -> bool {
        self.request().is_given()
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
