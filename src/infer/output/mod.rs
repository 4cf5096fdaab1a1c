//! Topic probabilities as files: each format has a file; which topics are written is decided in `records`.

mod csv;
mod jsonl;
mod npz;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
mod target;
mod tsv;

pub use target::STDOUT;
pub(crate) use target::Target;
pub use tsv::tsv_field;

use super::records::TopicQ;
use crate::baseline::Score;
use crate::corpus::Corpus;
use crate::error::{Error, Result};
use crate::estep::Bound;
use crate::network::Names;
use std::path::{Path, PathBuf};

/// Formats of topic probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputFormat {
    /// `{"doc": id, "elbo": x, "topics": {name: q, ...}}`.
    Jsonl,
    /// `doc`, `topic`, `q`, with a header.
    Tsv,
    /// `doc`, then a column per topic, with a header.
    Csv,
    /// `doc`, `topic`, `q`, in columns.
    #[cfg(feature = "parquet")]
    Parquet,
    /// SciPy's sparse matrix, a row per document and a column per topic; names and ids are in files beside it.
    Npz,
}

impl OutputFormat {
    /// Every format by its name, which is also how file names end.
    pub const NAMES: &[(&str, Self)] = &[
        ("jsonl", Self::Jsonl),
        ("tsv", Self::Tsv),
        ("csv", Self::Csv),
        #[cfg(feature = "parquet")]
        ("parquet", Self::Parquet),
        ("npz", Self::Npz),
    ];

    /// The format of an output: the one that is given, else by its name; JSON lines on standard output.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where the name asks for none.
    pub fn of(path: &Path, given: Option<Self>) -> Result<Self> {
        let stdout = path == Path::new(STDOUT);
        if stdout && given == Some(Self::Npz) {
            let message =
                "an npz output has two files beside it; give a file name instead of standard output";
            return Err(Error::Usage(message.into()));
        }
        format_of(path, given.or(stdout.then_some(Self::Jsonl)), Self::NAMES, "topic probabilities")
    }

    /// Files that are written beside an output.
    pub fn beside(self, output: &Path) -> Vec<PathBuf> {
        if self == Self::Npz { npz::beside(output).into() } else { Vec::new() }
    }
}

/// The format that is given, else the one that the end of a file's name asks for; `what` is written.
pub(crate) fn format_of<F: Copy>(
    path: &Path,
    given: Option<F>,
    names: &[(&str, F)],
    what: &str,
) -> Result<F> {
    if let Some(format) = given {
        return Ok(format);
    }
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    #[cfg(not(feature = "parquet"))]
    if extension.eq_ignore_ascii_case("parquet") {
        return Err(Error::input(path, None, crate::error::NO_PARQUET));
    }
    let known = names.iter().find(|(name, _)| extension.eq_ignore_ascii_case(name));
    known.map(|&(_, format)| format).ok_or_else(|| {
        let names: Vec<String> = names.iter().map(|(name, _)| format!(".{name}")).collect();
        let (last, others) = names.split_last().map_or(("", &[][..]), |(last, others)| (last, others));
        Error::Usage(format!(
            "{}: {what} are written as {} or {last}; this name ends in '{extension}'",
            path.display(),
            others.join(", ")
        ))
    })
}

/// What is written about.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "parquet"), allow(dead_code))] // Parquet files say more than others
pub(super) struct Subject<'a> {
    pub(super) names: &'a Names,
    pub(super) corpus: &'a Corpus,
    /// Documents that will be written.
    pub(super) n_docs: usize,
    pub(super) kind: Kind,
    /// Whether log-odds are written instead of q.
    pub(super) log_odds: bool,
}

/// What documents are described by.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "parquet"), allow(dead_code))]
pub(super) enum Kind {
    /// Topics of a network, with probabilities q; of which bound they and the elbo are, none where they are exact.
    Topics { bound: Option<Bound> },
    /// Features of a baseline, beside a score.
    Features { score: Score },
}

impl Subject<'_> {
    /// What topics or features are called.
    fn topic_column(&self) -> &'static str {
        match self.kind {
            Kind::Topics { .. } => "topic",
            Kind::Features { .. } => "feature",
        }
    }

    /// What the values are called.
    fn column(&self) -> &'static str {
        match self.kind {
            _ if self.log_odds => "log_odds",
            Kind::Topics { .. } => "q",
            Kind::Features { .. } => "value",
        }
    }

    /// What is written for a q.
    fn value(&self, q: f32) -> f32 {
        if self.log_odds { log_odds(q) } else { q }
    }
}

/// The log-odds of a q. Below 1 q has steps of 2^-24, so 16.6 is the largest; below 0.5 it keeps its digits.
pub(super) fn log_odds(q: f32) -> f32 {
    let q = f64::from(q.clamp(f32::MIN_POSITIVE, 1.0f32.next_down()));
    (q / (1.0 - q)).ln() as f32
}

/// What one document gives to write.
struct DocTopics<'a> {
    /// Its number in the corpus.
    doc_ix: usize,
    elbo: f64,
    /// Strongest first.
    topics: &'a [TopicQ],
}

/// A file being written aside in one format. Dropped without `commit`, it leaves nothing behind.
trait Output: Send {
    /// Writes the next document.
    fn write(&mut self, doc: &DocTopics<'_>) -> Result<()>;

    /// Completes the file and puts it in place.
    fn commit(self: Box<Self>) -> Result<()>;
}

/// Writes topics document by document, in order.
pub(super) struct TopicWriter<'a>(Box<dyn Output + 'a>);

impl<'a> TopicWriter<'a> {
    /// Opens the output aside, in a folder on the same disk; [`TopicWriter::commit`] puts it in place. Standard output is
    /// written at once.
    pub(super) fn create(
        aside: &Path,
        path: &Path,
        format: OutputFormat,
        subject: Subject<'a>,
    ) -> Result<Self> {
        let file = Target::create(aside, path)?;
        Ok(Self(match format {
            OutputFormat::Jsonl => Box::new(jsonl::Jsonl::create(file, subject)),
            OutputFormat::Tsv => Box::new(tsv::Tsv::create(file, subject)?),
            OutputFormat::Csv => Box::new(csv::Csv::create(file, subject)?),
            #[cfg(feature = "parquet")]
            OutputFormat::Parquet => Box::new(parquet::Parquet::create(file, subject)?),
            OutputFormat::Npz => Box::new(npz::Npz::create(aside, file, subject)?),
        }))
    }

    /// Writes the next document: its number in the corpus, its bound, its topics, strongest first.
    pub(super) fn write(&mut self, doc_ix: usize, elbo: f64, topics: &[TopicQ]) -> Result<()> {
        self.0.write(&DocTopics { doc_ix, elbo, topics })
    }

    /// Puts the file in place.
    pub(super) fn commit(self) -> Result<()> {
        self.0.commit()
    }
}

#[cfg(test)]
mod tests {
    use super::log_odds;

    #[test]
    fn log_odds_are_finite_and_keep_their_digits() {
        assert_eq!(log_odds(0.5), 0.0);
        assert!((log_odds(0.9) - 9f32.ln()).abs() < 1e-6);
        assert!((log_odds(1e-20) - 1e-20f32.ln()).abs() < 1e-5);
        assert!((16.6..16.7).contains(&log_odds(1.0)) && log_odds(0.0) < -87.0);
    }
}
