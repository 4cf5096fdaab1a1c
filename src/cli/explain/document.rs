//! The document to explain: a text, a list of tokens, or one of a corpus.

use super::Args;
use crate::cli::Common;
use crate::cli::train::Screen;
use noisyor::corpus::{Docs, TextTokens, tokens_of_text};
use noisyor::monitor::Monitor;
use noisyor::network::Network;
use noisyor::run::{RunDocs, RunRecord};
use noisyor::{Error, Result};
use std::path::Path;
use std::sync::Arc;

/// A document in the model's token numbers.
pub(super) struct Document {
    /// What it is called.
    pub(super) heading: String,
    /// Its number in the corpus; 0 where there is none.
    doc_ix: u32,
    pub(super) tokens: Vec<u32>,
    /// Words that the model does not know, and those of them that say nothing by themselves.
    pub(super) unknown: Vec<String>,
    pub(super) stop_words: Vec<String>,
    /// Tokens of which it is unknown whether they are present, ascending.
    unmeasured: Vec<u32>,
}

/// A heading quotes so many characters of a text.
const QUOTED: usize = 60;

impl Document {
    pub(super) fn read(
        args: &Args,
        network: &Network,
        common: &Common,
        monitor: &Arc<Monitor>,
    ) -> Result<Self> {
        if let Some(text) = &args.text {
            let TextTokens { tokens, unknown, stop_words } = tokens_of_text(text, &network.names.tokens)?;
            return Ok(Self {
                heading: quote(text),
                doc_ix: 0,
                tokens,
                unknown,
                stop_words,
                unmeasured: vec![],
            });
        }
        if let Some(names) = &args.tokens {
            return Ok(Self::of_names(names, network));
        }
        if let Some(corpus) = &args.corpus {
            let (corpus, alignment) =
                args.reading.read_for(corpus, &network.names.tokens, common, monitor)?;
            return Self::of_corpus(args, &alignment.docs(&corpus), args.corpus.as_deref());
        }
        if !args.model.is_dir() {
            let message =
                "--doc and --id need --corpus, unless MODEL is a run folder, which knows its corpus";
            return Err(Error::Usage(message.into()));
        }
        let run = RunRecord::read(&args.model)?;
        let docs = RunDocs::read(&run, None, monitor, &mut Screen::new(common, monitor))?;
        let mut document = Self::of_corpus(args, &docs.docs(), Some(&docs.path))?;
        let is_in = |part: &[u32]| part.binary_search(&document.doc_ix).is_ok();
        if is_in(&docs.parts.valid) || is_in(&docs.parts.test) {
            document.heading += " (held out)";
        }
        Ok(document)
    }

    fn of_names(names: &[String], network: &Network) -> Self {
        let tokens = &network.names.tokens;
        let mut document = Self {
            heading: quote(&names.join(",")),
            doc_ix: 0,
            tokens: Vec::new(),
            unknown: Vec::new(),
            stop_words: Vec::new(),
            unmeasured: Vec::new(),
        };
        let number = |name: &str| tokens.iter().position(|token| token == name);
        for name in names {
            let trimmed = name.trim().to_owned();
            // White space may be part of a token's name.
            match number(name).or_else(|| number(&trimmed)) {
                Some(token) => document.tokens.push(token as u32),
                None if trimmed.is_empty() || document.unknown.contains(&trimmed) => {}
                None => document.unknown.push(trimmed),
            }
        }
        document
    }

    fn of_corpus(args: &Args, docs: &Docs<'_>, path: Option<&Path>) -> Result<Self> {
        let (corpus, n_docs) = (docs.corpus(), docs.n_docs());
        let fault = |message: String| Err(Error::input(path.unwrap_or(Path::new("corpus")), None, message));
        let doc_ix = match (args.doc, &args.id) {
            (Some(doc_ix), _) if doc_ix < n_docs => doc_ix,
            (Some(doc_ix), _) => {
                return fault(format!("no document {doc_ix}: there are {n_docs}, counted from 0"));
            }
            (None, id) => {
                let id = id.as_deref().unwrap_or_default();
                match (0..n_docs).find(|&doc_ix| corpus.id(doc_ix) == id) {
                    Some(doc_ix) => doc_ix,
                    None => return fault(format!("no document has the id '{id}'")),
                }
            }
        };
        // What is explained must be what was written.
        corpus.verify()?;
        let tokens = docs.tokens(doc_ix).collect();
        let mut unmeasured = Vec::new();
        docs.unknown(doc_ix, &mut unmeasured);
        let heading = format!("document {}", corpus.id(doc_ix));
        let (unknown, stop_words) = (Vec::new(), Vec::new());
        Ok(Self { heading, doc_ix: doc_ix as u32, tokens, unknown, stop_words, unmeasured })
    }

    /// Leaves the tokens that are unknown out of the network: they say nothing of the topics. `n_given` tokens stand for given topics.
    pub(super) fn leave_out_unmeasured(&mut self, network: &mut Network, n_given: usize) -> Result<()> {
        if self.unmeasured.is_empty() {
            return Ok(());
        }
        let (n_unmeasured, n_tokens) = (self.unmeasured.len(), network.graph.n_tokens() - n_given);
        network.leave_out_tokens(&self.unmeasured)?;
        for token in &mut self.tokens {
            *token -= self.unmeasured.partition_point(|other| other < token) as u32;
        }
        self.heading += &format!(", {n_unmeasured} of {n_tokens} tokens unknown");
        Ok(())
    }
}

fn quote(text: &str) -> String {
    let mut quoted: String = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    if let Some((end, _)) = quoted.char_indices().nth(QUOTED) {
        quoted.truncate(end);
        quoted.push('…');
    }
    format!("\"{quoted}\"")
}
