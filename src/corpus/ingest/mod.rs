//! From files to documents in token numbers: reading, splitting text, building or applying a vocabulary.
//!
//! Numbered tokens without names go straight to the sink. Named ones are first kept aside as numbers in the order in which they
//! came ([`spill`]); when all documents are read, the vocabulary is chosen and they are written with its numbers. With a given
//! vocabulary nothing is kept aside. Memory holds the words and a few batches, never the documents.

mod batches;
mod coverage;
mod growing;
mod one_text;
mod options;
mod spill;
mod token_map;
mod tokenise;

pub(super) use coverage::{Coverage, Nowhere};
pub use one_text::{TextTokens, tokens_of_text};
pub use options::{IngestOptions, Ingested, Sink};

use super::read::{Format, Reader, Tokens, open};
use super::text::phrases::Neighbours;
use super::vocabulary::{BREAK, Interner, WordOptions, choose};
use super::{Corpus, Document, Others, native};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use batches::for_batches;
use growing::Growing;
use spill::Spill;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use token_map::{TokenMap, document_frequency};
use tokenise::{Tokenised, tokenise};

/// A corpus that is read stays in memory up to so many bytes.
const IN_MEMORY: usize = 1 << 26;
/// So many words that a vocabulary lacks are kept to be looked at.
const UNKNOWN_WORDS: usize = 100;

/// Reads a whole corpus, into memory if it is small, else into a temporary file that is mapped; a native one is mapped as it is,
/// unless a vocabulary is given for it. Where documents come as words or text and no vocabulary is given, `known` is it: a
/// model's tokens, say.
///
/// ```
/// use noisyor::{Monitor, corpus::{IngestOptions, read}};
/// use std::sync::Arc;
///
/// let file = std::env::temp_dir().join(format!("noisyor-read-{}.svm", std::process::id()));
/// std::fs::write(&file, "0 1:1 3:1\n1 2:1\n")?;
/// let (corpus, _) = read(&file, &IngestOptions::default(), None, &Arc::new(Monitor::default()))?;
/// assert_eq!((corpus.n_docs(), corpus.tokens(0), corpus.label(1)), (2, &[0, 2][..], Some("1")));
/// # std::fs::remove_file(&file)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`Error::Input`] with file and line for the first fault, [`Error::Io`] where it cannot
/// be read, [`Error::Usage`] for options that do not go with the format or leave no words,
/// [`Error::Interrupted`] where the monitor says stop.
pub fn read(
    path: &Path,
    options: &IngestOptions,
    known: Option<&[String]>,
    monitor: &Arc<Monitor>,
) -> Result<(Corpus, Ingested)> {
    let native_wanted = matches!(options.read.format, None | Some(Format::Native));
    if options.vocab.is_none() && native_wanted && native::is_native(path) {
        Format::Native.check(&options.read)?;
        return Ok((native::open(path)?, Ingested::default()));
    }
    let reader = open(path, &options.read, monitor)?;
    let mut options = options.clone();
    if options.vocab.is_none() && reader.tokens() == Tokens::Words {
        options.vocab = known.map(<[String]>::to_vec);
    }
    let mut corpus = Growing::new(IN_MEMORY, std::env::temp_dir());
    let ingested = ingest_reader(path, reader, &options, &mut corpus, monitor)?;
    Ok((corpus.finish(path)?, ingested))
}

/// Takes files in, one after another. What does not fit in memory meanwhile goes to nameless files in `folder`.
///
/// # Errors
///
/// As [`read`], and what the sink fails with.
pub fn ingest(
    paths: &[PathBuf],
    options: &IngestOptions,
    folder: &Path,
    sink: &mut dyn Sink,
    monitor: &Arc<Monitor>,
) -> Result<Ingested> {
    let mut ingest = Ingest::new(options, folder, sink)?;
    for path in paths {
        ingest.take(path, open(path, &options.read, monitor)?, monitor)?;
    }
    ingest.finish(monitor)
}

/// Takes in what one reader gives.
///
/// # Errors
///
/// What the reader and the sink fail with; else as [`read`].
pub fn ingest_reader(
    name: &Path,
    reader: Box<dyn Reader>,
    options: &IngestOptions,
    sink: &mut dyn Sink,
    monitor: &Monitor,
) -> Result<Ingested> {
    let mut ingest = Ingest::new(options, &std::env::temp_dir(), sink)?;
    ingest.take(name, reader, monitor)?;
    ingest.finish(monitor)
}

struct Ingest<'a> {
    options: &'a IngestOptions,
    words: WordOptions,
    sink: &'a mut dyn Sink,
    interner: Interner,
    /// Whether the vocabulary is given: then `plan` holds from the start.
    plan: Option<TokenMap>,
    spill: Spill,
    /// Named and unnamed tokens do not mix.
    named: Option<(bool, PathBuf)>,
    any_text: bool,
    /// Documents in scripts without spaces between words, where these cannot be told.
    n_unspaced: u64,
    result: Ingested,
    buffers: Buffers,
}

#[derive(Default)]
struct Buffers {
    sequence: Vec<u32>,
    others: Others,
    joined: Vec<u32>,
    tokens: Vec<u32>,
    number_of_local: Vec<u32>,
}

impl<'a> Ingest<'a> {
    fn new(options: &'a IngestOptions, folder: &Path, sink: &'a mut dyn Sink) -> Result<Self> {
        let mut words = options.words.clone();
        let mut interner = Interner::default();
        let plan = match &options.vocab {
            None => None,
            Some(vocab) => {
                // Parts of phrases must come through, too.
                words.stop_words.remove(vocab.iter().flat_map(|name| name.split(' ')));
                sink.set_names(&mut vocab.iter().map(String::as_str))?;
                Some(TokenMap::given(vocab, &mut interner)?)
            }
        };
        let (spill, result, buffers) = (Spill::new(folder), Ingested::default(), Buffers::default());
        Ok(Self {
            options,
            words,
            sink,
            interner,
            plan,
            spill,
            named: None,
            any_text: false,
            n_unspaced: 0,
            result,
            buffers,
        })
    }

    fn take(&mut self, path: &Path, reader: Box<dyn Reader>, monitor: &Monitor) -> Result<()> {
        let numbers = self.meaning(path, reader.tokens())?;
        let named = !matches!(numbers, Some(Numbers::Unnamed));
        match &self.named {
            Some((before, other)) if *before != named => {
                return Err(Error::Usage(format!(
                    "{} and {}: one has names for its tokens, the other numbers; give `vocab`, a file with a name a line, \
                     for the numbers",
                    other.display(),
                    path.display()
                )));
            }
            _ => self.named = Some((named, path.to_owned())),
        }
        let notes = for_batches(reader, monitor, |documents| {
            self.take_documents(path, documents, numbers.as_ref())?;
            monitor.docs_done.fetch_add(documents.len() as u64, Ordering::Relaxed);
            monitor.go_on()
        })?;
        self.result.notes.extend(notes);
        Ok(())
    }

    /// What the numbers of a file mean, if its tokens are numbers.
    fn meaning(&mut self, path: &Path, tokens: Tokens<'_>) -> Result<Option<Numbers>> {
        match tokens {
            Tokens::Words => Ok(None),
            Tokens::Numbers { n_tokens, names } => self.numbers(path, n_tokens, names).map(Some),
        }
    }

    fn take_documents(
        &mut self,
        path: &Path,
        documents: &mut [Document],
        numbers: Option<&Numbers>,
    ) -> Result<()> {
        let phrases =
            self.words.phrases.is_some() || self.plan.as_ref().is_some_and(|plan| !plan.phrases.is_empty());
        match numbers {
            Some(numbers) => self.take_numbers(path, documents, numbers, phrases),
            None => {
                let parts = tokenise(documents, &self.words.stop_words, phrases);
                self.take_words(parts, documents)
            }
        }
    }

    fn numbers(&mut self, path: &Path, n_tokens: Option<u32>, names: Option<&[String]>) -> Result<Numbers> {
        if let Some(names) = names {
            self.result.named_columns = true;
            let numbers = names.iter().map(|name| self.number(name)).collect::<Result<_>>()?;
            return Ok(Numbers::Named(numbers));
        }
        match &self.options.vocab {
            None if self.options.words.choose() => Err(Error::Usage(format!(
                "{}: tokens are chosen by frequency only where they have names; give `vocab`, a file with a name a line",
                path.display()
            ))),
            None => {
                self.sink.set_n_tokens(n_tokens.unwrap_or(0));
                Ok(Numbers::Unnamed)
            }
            Some(vocab) if n_tokens.is_some_and(|n| n as usize > vocab.len()) => Err(Error::Usage(format!(
                "{} has {} columns, but the vocabulary only {} names",
                path.display(),
                n_tokens.unwrap_or(0),
                vocab.len()
            ))),
            Some(vocab) => Ok(Numbers::InOrder(vocab.len() as u32)),
        }
    }

    /// A word's number; [`BREAK`] if the given vocabulary lacks it.
    fn number(&mut self, word: &str) -> Result<u32> {
        if self.plan.is_none() {
            return self.interner.intern(word);
        }
        let number = self.interner.get(word);
        if number.is_none() && self.result.unknown_words.len() < UNKNOWN_WORDS {
            self.result.unknown_example.get_or_insert_with(|| word.to_owned());
            self.result.unknown_words.push(word.to_owned());
        }
        Ok(number.unwrap_or(BREAK))
    }

    fn take_numbers(
        &mut self,
        path: &Path,
        documents: &mut [Document],
        numbers: &Numbers,
        phrases: bool,
    ) -> Result<()> {
        for document in documents {
            let Document { tokens, others, id, label, .. } = document;
            match numbers {
                Numbers::Unnamed => {
                    count_doc(&mut self.result)?;
                    self.result.n_empty += u64::from(tokens.is_empty());
                    self.result.n_known += tokens.len() as u64;
                    self.result.n_docs_unknown += u64::from(!others.is_none());
                    self.sink.push_state(tokens, others, id, label)?;
                    continue;
                }
                Numbers::InOrder(n_tokens) => {
                    if let Some(token) = tokens.iter().chain(&others.tokens).find(|token| *token >= n_tokens)
                    {
                        return Err(Error::Usage(format!(
                            "{}: a document has column {}, but the vocabulary only {n_tokens} names",
                            path.display(),
                            u64::from(*token) + 1
                        )));
                    }
                }
                Numbers::Named(number_of) => {
                    for token in tokens.iter_mut() {
                        *token = number_of.get(*token as usize).copied().unwrap_or(BREAK);
                        self.result.n_unknown += u64::from(*token == BREAK);
                    }
                    for token in &mut others.tokens {
                        *token = number_of.get(*token as usize).copied().unwrap_or(BREAK);
                        self.result.n_unknown += u64::from(*token == BREAK);
                    }
                }
            }
            self.buffers.sequence.clear();
            if phrases {
                // Numbers are in no order of words: none follows another.
                self.buffers.sequence.extend(tokens.iter().flat_map(|&token| [token, BREAK]));
            } else {
                self.buffers.sequence.append(tokens);
            }
            std::mem::swap(&mut self.buffers.others, others);
            self.put(id, label)?;
        }
        Ok(())
    }

    fn take_words(&mut self, parts: Vec<Tokenised>, documents: &[Document]) -> Result<()> {
        let mut documents = documents.iter();
        for part in parts {
            self.result.n_stop += part.n_stop;
            self.n_unspaced += part.n_unspaced;
            self.any_text |= part.any_text;
            self.buffers.number_of_local.clear();
            for word in part.words.iter() {
                let number = self.number(word)?;
                self.buffers.number_of_local.push(number);
            }
            for ((sequence, listed), document) in part.sequences().zip(part.others()).zip(&mut documents) {
                let Buffers { sequence: numbers, others, number_of_local, .. } = &mut self.buffers;
                numbers.clear();
                others.clear();
                others.rest_unknown = document.others.rest_unknown;
                let number = |&local: &u32| number_of_local.get(local as usize).copied();
                others.tokens.extend(listed.iter().filter_map(number));
                self.result.n_unknown += others.tokens.iter().filter(|&&token| token == BREAK).count() as u64;
                for &local in sequence {
                    let number = number_of_local.get(local as usize).copied();
                    self.result.n_unknown += u64::from(number == Some(BREAK));
                    numbers.push(number.unwrap_or(BREAK));
                }
                self.put(&document.id, &document.label)?;
            }
        }
        Ok(())
    }

    /// Passes on the document whose words are in the buffer `sequence`.
    fn put(&mut self, id: &str, label: &str) -> Result<()> {
        match &self.plan {
            None => self.spill.push(&self.buffers.sequence, &self.buffers.others, id, label),
            Some(plan) => {
                put(plan, self.sink, &mut self.result, &mut self.buffers, id, label)?;
                let Self { result, interner, buffers, .. } = self;
                for word in plan.lost(&buffers.joined) {
                    result.n_unknown += 1;
                    let name = || interner.names()[word as usize].to_owned();
                    result.unknown_example.get_or_insert_with(name);
                }
                Ok(())
            }
        }
    }

    fn finish(mut self, monitor: &Monitor) -> Result<Ingested> {
        if self.n_unspaced > 0 {
            self.result.notes.push(format!(
                "{} documents are in a script without spaces between words, and this build takes every character for a word; \
                 use a build with the feature cjk, or give lists of tokens",
                self.n_unspaced
            ));
        }
        if let Some(vocab) = &self.options.vocab {
            self.result.n_tokens = vocab.len() as u64;
            return Ok(self.result);
        }
        if !self.named.as_ref().is_some_and(|(named, _)| *named) {
            return Ok(self.result);
        }
        let mut plan = self.find_phrases(monitor)?;
        let names = self.plan_vocabulary(&mut plan, monitor)?;
        self.result.n_tokens = names.len() as u64;
        self.sink.set_names(&mut names.iter().map(String::as_str))?;
        let Self { spill, sink, result, buffers, .. } = &mut self;
        spill.replay(|sequence, others, id, label| {
            buffers.sequence.clear();
            buffers.sequence.extend(sequence);
            buffers.others.clone_from(others);
            put(&plan, *sink, result, buffers, id, label)?;
            monitor.go_on()
        })?;
        Ok(self.result)
    }

    /// Chooses the tokens among words and phrases; returns their names.
    fn plan_vocabulary(&mut self, plan: &mut TokenMap, monitor: &Monitor) -> Result<Vec<String>> {
        let words = self.interner.names();
        let mut phrases = vec![(0, 0); plan.phrases.len()];
        plan.phrases.iter().for_each(|(&pair, &number)| phrases[number as usize - words.len()] = pair);
        let name = |number: u32| match words.get(number as usize) {
            Some(&word) => word.to_owned(),
            None => {
                let (first, second) = phrases[number as usize - words.len()];
                format!("{} {}", words[first as usize], words[second as usize])
            }
        };
        let n_all = words.len() + phrases.len();
        let mut kept: Vec<u32> = (0..n_all as u32).collect();
        plan.token_of = (0..n_all as u32).collect();
        while self.any_text || self.words.choose() {
            let df = document_frequency(&mut self.spill, plan, n_all, monitor)?;
            let default_min_df = if self.any_text { 2 } else { 1 };
            kept = choose(&self.words, default_min_df, &df, self.spill.n_docs(), name);
            plan.token_of.fill(BREAK);
            kept.iter().zip(0..).for_each(|(&number, token)| plan.token_of[number as usize] = token);
            // A phrase that is no token must not swallow its words: without it there are more of them, so count again.
            let TokenMap { phrases, token_of } = &mut *plan;
            let n_phrases = phrases.len();
            phrases.retain(|_, number| token_of[*number as usize] != BREAK);
            if phrases.len() == n_phrases {
                break;
            }
        }
        if kept.is_empty() && n_all > 0 {
            let cause = match self.spill.n_docs() {
                1 => {
                    ": there is one document, and words must be in two or more; put every document on a line or into a file of its \
                     own, or set `min_df` to 1"
                }
                _ => "; lower `min_df` or raise `max_df`",
            };
            return Err(Error::Usage(format!(
                "none of {n_all} different words is left in the vocabulary{cause}"
            )));
        }
        self.result.n_words = words.len() as u64;
        self.result.n_phrases = kept.iter().filter(|&&number| number as usize >= words.len()).count() as u64;
        Ok(kept.into_iter().map(name).collect())
    }

    /// Phrases get the numbers after the last word's.
    fn find_phrases(&mut self, monitor: &Monitor) -> Result<TokenMap> {
        let Some(min_score) = self.words.phrases.filter(|_| self.any_text) else {
            return Ok(TokenMap::default());
        };
        let mut neighbours = Neighbours::default();
        self.spill.replay(|sequence, _, _, _| {
            neighbours.count(sequence);
            monitor.go_on()
        })?;
        let numbered = neighbours.phrases(min_score).into_iter().zip(self.interner.len() as u32..);
        Ok(TokenMap { phrases: numbered.collect(), token_of: Vec::new() })
    }
}

/// What the token numbers of a file are.
enum Numbers {
    /// Tokens without names.
    Unnamed,
    /// Tokens of the given vocabulary, of so many.
    InOrder(u32),
    /// Words, by their names in the file.
    Named(Vec<u32>),
}

fn put(
    plan: &TokenMap,
    sink: &mut dyn Sink,
    result: &mut Ingested,
    buffers: &mut Buffers,
    id: &str,
    label: &str,
) -> Result<()> {
    plan.apply(&buffers.sequence, &mut buffers.joined, &mut buffers.tokens);
    count_doc(result)?;
    result.n_empty += u64::from(buffers.tokens.is_empty());
    result.n_known += buffers.tokens.len() as u64;
    let Buffers { others, tokens, .. } = buffers;
    others.tokens.retain_mut(|word| plan.token(*word).map(|token| *word = token).is_some());
    result.n_docs_unknown += u64::from(!others.is_none());
    sink.push_state(tokens, others, id, label)
}

/// Documents have numbers of 32 bits.
fn count_doc(result: &mut Ingested) -> Result<()> {
    result.n_docs += 1;
    if result.n_docs > u64::from(u32::MAX) {
        return Err(Error::Usage(format!("a corpus has at most {} documents; split the input", u32::MAX)));
    }
    Ok(())
}

/// Passes a fault on as an error.
pub(super) fn strict(error: Error) -> Result<()> {
    Err(error)
}
