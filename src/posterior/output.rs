//! Posteriors as files: a case a line as JSON, or a case and topic a row as a table or as Parquet.

use super::page::Page;
use super::{Answer, Case, Marginal, Posterior, Question, Reason};
use crate::error::{Error, Result};
use crate::files::folder_of;
use crate::infer::{STDOUT, Target, format_of, tsv_field};
use crate::network::Names;
use serde::{Serialize, Serializer};
use std::io::Write;
use std::path::Path;

#[cfg(feature = "parquet")]
use super::parquet::Parquet;

/// Formats of posteriors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PosteriorFormat {
    /// `{"id", "method", "log_p": {"lower", "upper"}, "topics": {name: {"p", "lower", "upper"}}}`.
    Jsonl,
    /// A row per case and topic, with a header.
    Tsv,
    /// The same, in columns.
    #[cfg(feature = "parquet")]
    Parquet,
    /// A page to read, with the findings of every case.
    Html,
}

impl PosteriorFormat {
    /// Every format by its name, which is also how file names end.
    pub const NAMES: &[(&str, Self)] = &[
        ("jsonl", Self::Jsonl),
        ("tsv", Self::Tsv),
        #[cfg(feature = "parquet")]
        ("parquet", Self::Parquet),
        ("html", Self::Html),
    ];

    /// The format of an output: the one that is given, else by its name; JSON lines on standard output.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] where the name asks for none.
    pub fn of(path: &Path, given: Option<Self>) -> Result<Self> {
        let on_stdout = (path == Path::new(STDOUT)).then_some(Self::Jsonl);
        format_of(path, given.or(on_stdout), Self::NAMES, "posteriors")
    }
}

/// One row of a table: a case, a topic, and what is known of both.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) method: String,
    /// Lower bound, upper bound, estimate; not a number where a method has none.
    pub(super) log_p: [f64; 3],
    pub(super) ess: f64,
    /// Whether the case is known as exactly as was asked for.
    pub(super) within: bool,
    /// The topic, p and its bounds; none for a case of which every topic is below the threshold.
    pub(super) topic: Option<(u32, [f64; 3])>,
}

/// Writes posteriors case by case. Dropped without [`PosteriorWriter::commit`], it leaves nothing behind.
pub struct PosteriorWriter<'a> {
    names: &'a Names,
    threshold: f64,
    place: Place,
}

enum Place {
    Jsonl(Target),
    Tsv(Target),
    #[cfg(feature = "parquet")]
    Parquet(Box<Parquet>),
    Html(Page),
}

impl<'a> PosteriorWriter<'a> {
    /// Opens an output, a file or [`STDOUT`]. Topics with p below the threshold are left out.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where it cannot be written.
    pub fn create(path: &Path, format: PosteriorFormat, names: &'a Names, threshold: f64) -> Result<Self> {
        let mut file = Target::create(folder_of(path), path)?;
        let place = match format {
            PosteriorFormat::Jsonl => Place::Jsonl(file),
            PosteriorFormat::Tsv => {
                file.put("id\tmethod\tlog_p_lower\tlog_p_upper\tlog_p_estimate\tess\twithin\ttopic\tp\tlower\tupper\n")?;
                Place::Tsv(file)
            }
            #[cfg(feature = "parquet")]
            PosteriorFormat::Parquet => Place::Parquet(Box::new(Parquet::create(file, names)?)),
            PosteriorFormat::Html => Place::Html(Page::create(file)?),
        };
        Ok(Self { names, threshold, place })
    }

    /// Writes the next case; what to ask and why topics are likely is in JSON lines and on pages.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where it cannot be written.
    pub fn write(&mut self, id: &str, case: &Case, answer: &Answer) -> Result<()> {
        let (names, posterior) = (self.names, &answer.posterior);
        let topics = posterior.likeliest(self.threshold);
        match &mut self.place {
            Place::Jsonl(file) => {
                let Posterior { method, log_p, log_p_estimate, ess, meets, .. } = posterior;
                let line = Line {
                    id,
                    method,
                    log_p: LogP { lower: log_p.lower, upper: log_p.upper, estimate: *log_p_estimate },
                    ess: *ess,
                    within: *meets,
                    ask: answer.questions.as_deref().map(|questions| asked(questions, names)),
                    topics: Topics { topics: &topics, answer, names },
                };
                let written = serde_json::to_writer(&mut *file, &line).map_err(std::io::Error::from);
                written.and_then(|()| file.write_all(b"\n")).map_err(|e| Error::io(file.path(), e))
            }
            Place::Tsv(file) => {
                let lines: String = rows(id, posterior, &topics).map(|row| tsv_line(&row, names)).collect();
                file.put(&lines)
            }
            #[cfg(feature = "parquet")]
            Place::Parquet(file) => rows(id, posterior, &topics).try_for_each(|row| file.write(row)),
            Place::Html(page) => page.write(id, case, answer, (names, &topics)),
        }
    }

    /// Completes the file and puts it in place.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where it cannot be written.
    pub fn commit(self) -> Result<()> {
        match self.place {
            Place::Jsonl(file) | Place::Tsv(file) => file.commit(),
            #[cfg(feature = "parquet")]
            Place::Parquet(file) => file.commit(),
            Place::Html(page) => page.commit(),
        }
    }
}

fn asked<'a>(questions: &[Question], names: &'a Names) -> Vec<Asked<'a>> {
    let n_topics = names.topics.len() as u32;
    let asked = |q: &Question| Asked { finding: names.of(n_topics + q.token), p: q.p, gain_bits: q.gain };
    questions.iter().map(asked).collect()
}

fn rows<'a>(id: &'a str, posterior: &'a Posterior, topics: &'a [u32]) -> impl Iterator<Item = Row> + 'a {
    let row = move |topic: Option<u32>| Row {
        id: id.to_owned(),
        method: posterior.method.clone(),
        log_p: [posterior.log_p.lower, posterior.log_p.upper, posterior.log_p_estimate.unwrap_or(f64::NAN)],
        ess: posterior.ess.unwrap_or(f64::NAN),
        within: posterior.meets,
        topic: topic.map(|topic| {
            let Marginal { p, lower, upper } = posterior.marginals[topic as usize];
            (topic, [p, lower, upper])
        }),
    };
    let none = topics.is_empty().then_some(None);
    topics.iter().copied().map(Some).chain(none).map(row)
}

/// Numbers that are not finite, bounds that a method does not have, are empty.
fn number(x: f64) -> String {
    if x.is_finite() { x.to_string() } else { String::new() }
}

fn tsv_line(row: &Row, names: &Names) -> String {
    let [lower, upper, estimate] = row.log_p.map(number);
    let (id, ess, within) = (tsv_field(&row.id), number(row.ess), row.within);
    let case = format!("{id}\t{}\t{lower}\t{upper}\t{estimate}\t{ess}\t{within}", row.method);
    row.topic.map_or_else(
        || format!("{case}\t\t\t\t\n"),
        |(topic, values)| {
            let [p, lower, upper] = values.map(number);
            format!("{case}\t{}\t{p}\t{lower}\t{upper}\n", tsv_field(names.of(topic)))
        },
    )
}

/// A case as JSON, which has no infinity: a bound that a method does not have is null.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    method: &'a str,
    log_p: LogP,
    #[serde(skip_serializing_if = "Option::is_none")]
    ess: Option<f64>,
    within: bool,
    topics: Topics<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ask: Option<Vec<Asked<'a>>>,
}

#[derive(Serialize)]
struct Asked<'a> {
    finding: &'a str,
    p: f64,
    gain_bits: f64,
}

#[derive(Serialize)]
struct LogP {
    lower: f64,
    upper: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimate: Option<f64>,
}

/// Topics by name, most likely first.
struct Topics<'a> {
    topics: &'a [u32],
    answer: &'a Answer,
    names: &'a Names,
}

#[derive(Serialize)]
struct OfTopic<'a> {
    p: f64,
    lower: f64,
    upper: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Vec<OfReason<'a>>>,
}

#[derive(Serialize)]
struct OfReason<'a> {
    finding: &'a str,
    present: bool,
    log_odds: f64,
}

impl Serialize for Topics<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let n_topics = self.names.topics.len() as u32;
        let of_reason = |&Reason { token, present, log_odds }: &Reason| OfReason {
            finding: self.names.of(n_topics + token),
            present,
            log_odds,
        };
        let of = |&topic: &u32| {
            let Marginal { p, lower, upper } = self.answer.posterior.marginals[topic as usize];
            let mut reasons = self.answer.reasons.iter().flatten();
            let why =
                reasons.find(|(of, _)| *of == topic).map(|(_, why)| why.iter().map(of_reason).collect());
            (self.names.of(topic), OfTopic { p, lower, upper, why })
        };
        serializer.collect_map(self.topics.iter().map(of))
    }
}
