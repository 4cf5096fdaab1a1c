//! Every fault of a corpus file in one pass, and what it holds.

use super::ingest::{Coverage, Nowhere};
use super::read::{ReadOptions, Tokens, open};
use super::text::{split_words, to_lower_case};
use super::unknown_count::UnknownCount;
use super::{Corpus, Document, IngestOptions, Ingested, Others, native};
use crate::error::{Error, Result};
use crate::faults::{Check, Faults, shown};
use crate::monitor::Monitor;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::BuildHasher;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Labels are counted up to so many different ones.
const MAX_LABELS: usize = 10_000;

/// What a corpus holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Documents, empty ones included.
    pub docs: u64,
    /// Documents without a token.
    pub empty_docs: u64,
    /// Different tokens that occur; of text, different words.
    pub tokens: usize,
    /// Tokens that the file names or numbers, whether they occur or not; none where it does not say.
    pub vocabulary: Option<usize>,
    /// Tokens over all documents, each counted once a document.
    pub occurrences: u64,
    /// Occurrences as a share of documents times tokens.
    pub density: f64,
    /// Tokens of a document: shortest, quartiles, nine tenths, longest.
    pub lengths: Lengths,
    /// Documents that have an id.
    pub ids: u64,
    /// Documents whose id another one before has.
    pub repeated_ids: u64,
    /// Documents that have a label.
    pub labelled: u64,
    /// Different labels, up to 10,000.
    pub labels: usize,
    /// The commonest labels, with their documents.
    pub top_labels: Vec<(String, u64)>,
    /// Tokens that stand in a document more than once, and count once.
    pub repeated_tokens: u64,
    /// Documents in which tokens are unknown, neither present nor absent.
    pub unknown_docs: u64,
    /// Unknown values over all documents and tokens.
    pub unknown_values: u64,
    /// Unknown values as a share of documents times tokens.
    pub unknown_share: f64,
    /// Tokens that no document tells anything of.
    pub unknown_tokens: usize,
    /// One of them, by name or number.
    pub unknown_token: Option<String>,
}

/// Quantiles of the documents' lengths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Lengths {
    /// The shortest.
    pub min: usize,
    /// A quarter is at most so long.
    pub p25: usize,
    /// Half are at most so long.
    pub median: usize,
    /// Three quarters are at most so long.
    pub p75: usize,
    /// Nine tenths are at most so long.
    pub p90: usize,
    /// The longest.
    pub max: usize,
}

/// Reads a corpus from end to end and lists its faults. An error only where there is nothing to look at.
///
/// # Errors
///
/// [`Error::Io`] where the file cannot be read, [`Error::Usage`] where its format is
/// unknown, [`Error::Interrupted`] where the monitor says stop.
pub fn check(path: &Path, options: &ReadOptions, monitor: &Arc<Monitor>) -> Result<Check<Summary>> {
    let options = IngestOptions { read: options.clone(), ..IngestOptions::default() };
    check_for(path, &options, monitor).map(|(check, _)| check)
}

/// The same, and what the given vocabulary lacks, if there is one.
///
/// # Errors
///
/// Files that cannot be read at all; faults in them are part of the check.
pub fn check_for(
    path: &Path,
    options: &IngestOptions,
    monitor: &Arc<Monitor>,
) -> Result<(Check<Summary>, Ingested)> {
    let mut faults = Faults::collecting(path);
    let mut count = Count::default();
    let mut lacking = Ingested::default();
    let mut own_notes = Vec::new();
    let whole = if options.read.format.is_none() && options.vocab.is_none() && native::is_native(path) {
        native::open_unverified(path).and_then(|corpus| check_native(&corpus, &mut count, monitor))
    } else {
        let found = (&mut lacking, &mut own_notes);
        check_stream(path, options, &mut count, &mut faults, found, monitor)
    };
    match whole {
        Err(fault @ Error::Input { .. }) => faults.take(fault)?,
        whole => whole?,
    }
    let Faults { kept, count: n_faults, .. } = faults;
    // Of a file that could not be opened there is nothing to tell.
    let summary = count.opened.then(|| count.finish());
    let mut notes = summary.as_ref().map_or_else(Vec::new, notes);
    notes.append(&mut own_notes);
    Ok((Check { faults: kept, n_faults, notes, summary }, lacking))
}

fn check_stream(
    path: &Path,
    options: &IngestOptions,
    count: &mut Count,
    faults: &mut Faults<'_>,
    (lacking, notes): (&mut Ingested, &mut Vec<String>),
    monitor: &Arc<Monitor>,
) -> Result<()> {
    let mut reader = open(path, &options.read, monitor)?;
    count.opened = true;
    if let Tokens::Numbers { n_tokens, names } = reader.tokens() {
        count.summary.vocabulary = names.map(<[String]>::len).or(n_tokens.map(|n| n as usize));
    }
    let mut nowhere = Nowhere;
    let mut coverage = Coverage::new(path, reader.tokens(), options, &mut nowhere)?;
    let mut document = Document::default();
    loop {
        document.clear();
        if !reader.read(&mut document, &mut |fault| faults.take(fault))? {
            *lacking = coverage.map(Coverage::finish).unwrap_or_default();
            *notes = reader.notes();
            count.name_columns(reader.tokens());
            return Ok(());
        }
        if let Some(coverage) = &mut coverage {
            coverage.add(&document)?;
        }
        to_lower_case(&mut document.text);
        let Document { tokens, words, others, other_words, text, id, label } = &mut document;
        words.iter().for_each(|word| tokens.push(count.number(word)));
        other_words.iter().for_each(|word| others.tokens.push(count.number(word)));
        split_words(text, |word, _| tokens.push(count.number(word)));
        count.add(tokens, others, id, label);
        monitor.docs_done.fetch_add(1, Ordering::Relaxed);
        monitor.go_on()?;
    }
}

fn check_native(corpus: &Corpus, count: &mut Count, monitor: &Monitor) -> Result<()> {
    corpus.verify()?;
    count.opened = true;
    count.summary.vocabulary = Some(corpus.n_tokens());
    let (mut tokens, mut others) = (Vec::new(), Others::default());
    for doc_ix in 0..corpus.n_docs() {
        let state = corpus.state(doc_ix);
        tokens.clear();
        tokens.extend_from_slice(state.present);
        others.copy(state.other);
        count.add(&mut tokens, &mut others, corpus.own_id(doc_ix), corpus.label(doc_ix).unwrap_or(""));
        monitor.docs_done.fetch_add(1, Ordering::Relaxed);
        monitor.go_on()?;
    }
    count.column_names = corpus.token_names().map(|names| names.iter().map(str::to_owned).collect());
    Ok(())
}

#[derive(Default)]
struct Count {
    opened: bool,
    summary: Summary,
    number_of: FxHashMap<Box<str>, u32>,
    seen: FxHashSet<u32>,
    lengths: BTreeMap<usize, u64>,
    labels: FxHashMap<String, u64>,
    /// Hashes of the ids so far.
    ids: FxHashSet<u64>,
    unknown: UnknownCount,
    /// The tokens' names, where the file has columns with names.
    column_names: Option<Vec<String>>,
}

impl Count {
    fn number(&mut self, word: &str) -> u32 {
        if let Some(&number) = self.number_of.get(word) {
            return number;
        }
        let number = self.number_of.len() as u32;
        self.number_of.insert(word.into(), number);
        number
    }

    fn name_columns(&mut self, tokens: Tokens<'_>) {
        if let Tokens::Numbers { names, .. } = tokens {
            self.column_names = names.map(<[String]>::to_vec);
        }
    }

    /// A token as the file calls it.
    fn name(&self, token: u32) -> String {
        let word = || self.number_of.iter().find(|(_, number)| **number == token).map(|(word, _)| &**word);
        let names = self.column_names.as_ref();
        match names.map_or_else(word, |names| names.get(token as usize).map(String::as_str)) {
            Some(name) => format!("'{}'", shown(name)),
            None => format!("number {token}"),
        }
    }

    fn add(&mut self, tokens: &mut Vec<u32>, others: &mut Others, id: &str, label: &str) {
        let summary = &mut self.summary;
        let n_all = tokens.len();
        others.sort_with(tokens);
        summary.repeated_tokens += (n_all - tokens.len()) as u64;
        summary.docs += 1;
        summary.empty_docs += u64::from(tokens.is_empty());
        summary.occurrences += tokens.len() as u64;
        *self.lengths.entry(tokens.len()).or_default() += 1;
        self.seen.extend(tokens.iter());
        self.unknown.add(tokens, others);
        if !id.is_empty() {
            summary.ids += 1;
            summary.repeated_ids += u64::from(!self.ids.insert(FxBuildHasher.hash_one(id)));
        }
        if !label.is_empty() {
            summary.labelled += 1;
            if let Some(count) = self.labels.get_mut(label) {
                *count += 1;
            } else if self.labels.len() < MAX_LABELS {
                self.labels.insert(label.to_owned(), 1);
            }
        }
    }

    fn finish(self) -> Summary {
        let n_tokens = self.summary.vocabulary.unwrap_or_else(|| self.unknown.n_tokens(&self.seen));
        let never_known = self.unknown.never_known(n_tokens);
        let unknown_token = never_known.1.map(|token| self.name(token));
        let Self { mut summary, seen, lengths, labels, unknown, .. } = self;
        summary.tokens = seen.len();
        let size = summary.docs as f64 * n_tokens as f64;
        let share = |n: u64| if size > 0.0 { n as f64 / size } else { 0.0 };
        summary.density = share(summary.occurrences);
        (summary.unknown_docs, summary.unknown_values) = (unknown.n_docs, unknown.n_values(n_tokens));
        summary.unknown_share = share(summary.unknown_values);
        (summary.unknown_tokens, summary.unknown_token) = (never_known.0, unknown_token);
        let quantile = |share: f64| {
            let rank = (share * summary.docs as f64).ceil().max(1.0) as u64;
            let mut n_docs = 0;
            let reached = lengths.iter().find(|(_, count)| {
                n_docs += **count;
                n_docs >= rank
            });
            reached.map_or(0, |(&length, _)| length)
        };
        summary.lengths = Lengths {
            min: quantile(0.0),
            p25: quantile(0.25),
            median: quantile(0.5),
            p75: quantile(0.75),
            p90: quantile(0.9),
            max: quantile(1.0),
        };
        summary.labels = labels.len();
        let mut top: Vec<(String, u64)> = labels.into_iter().collect();
        top.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        top.truncate(10);
        summary.top_labels = top;
        summary
    }
}

/// What a corpus may have but hardly should.
fn notes(summary: &Summary) -> Vec<String> {
    let Summary { docs, empty_docs, repeated_ids, repeated_tokens, unknown_tokens, .. } = summary;
    let mut notes = Vec::new();
    let mut note = |wanted: bool, text: String| wanted.then(|| notes.push(text));
    note(*docs == 0, "there are no documents".into());
    note(*empty_docs > 0, format!("{empty_docs} documents have no token"));
    note(*repeated_ids > 0, format!("{repeated_ids} documents have the id of another"));
    note(
        *repeated_tokens > 0,
        format!("{repeated_tokens} tokens stand in their document already; they count once"),
    );
    let example = summary.unknown_token.as_deref().unwrap_or_default();
    note(
        *unknown_tokens > 0,
        format!("{unknown_tokens} tokens are unknown in every document, for example {example}"),
    );
    notes
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lengths { min, p25, median, p75, p90, max } = self.lengths;
        writeln!(f, "documents   {} ({} empty)", self.docs, self.empty_docs)?;
        match self.vocabulary {
            Some(vocabulary) => writeln!(f, "tokens      {vocabulary}, of which {} occur", self.tokens)?,
            None => writeln!(f, "tokens      {}", self.tokens)?,
        }
        writeln!(f, "occurrences {} (density {:.4} %)", self.occurrences, 100.0 * self.density)?;
        if self.unknown_docs > 0 {
            let share = 100.0 * self.unknown_share;
            let (values, docs) = (self.unknown_values, self.unknown_docs);
            writeln!(f, "unknown     {values} values ({share:.4} %), in {docs} documents")?;
        }
        writeln!(f, "lengths     {min} to {max}; quarters {p25}, {median}, {p75}; nine tenths {p90}")?;
        writeln!(f, "ids         {}", if self.ids > 0 { self.ids.to_string() } else { "none".into() })?;
        if self.labelled == 0 {
            return writeln!(f, "labels      none");
        }
        let top: Vec<String> =
            self.top_labels.iter().map(|(label, n)| format!("{} {n}", shown(label))).collect();
        let more = if self.labels > top.len() { ", ..." } else { "" };
        writeln!(f, "labels      {} on {} documents: {}{more}", self.labels, self.labelled, top.join(", "))
    }
}
