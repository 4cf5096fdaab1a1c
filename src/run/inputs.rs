//! What a run works on: a corpus, its split, and what its network will be made from.

use super::config::RunConfig;
use super::observer::{Level, Observer, Stage, staged};
use super::source::NetworkSource;
use super::start::Start;
use crate::capacity::Effort;
use crate::corpus::{
    Alignment, Corpus, CorpusSource, Docs, Ingested, Parts, align, matching_warnings, reading_warnings,
};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::network::{Graph, Loaded, Names, Network, load, load_model};
use crate::ranks::Team;
use crate::structure::{GraphOptions, complete_graph};
use crate::train::{CheckedOptions, PriorOptions, TrainOptions};
use crate::update::{UpdateOptions, joined_tokens};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// No model was trained on more documents, whatever its summary says.
const MAX_DOCS: f64 = 1e15;

/// What a program has already: in memory instead of in files, and other ranks to work with.
#[derive(Debug, Default)]
pub struct Given {
    /// The corpus, where its place is [`Place::Memory`](crate::corpus::Place::Memory), or where it was read from its file already.
    pub corpus: Option<Corpus>,
    /// The graph, where the network's source is [`NetworkSource::Memory`].
    pub graph: Option<Loaded>,
    /// The ranks that work together, each with a run of its own of the same config.
    pub team: Team,
}

/// A corpus, its tokens in the order of the network's, and what the network is made from.
pub(super) struct Inputs {
    pub(super) corpus: Corpus,
    pub(super) alignment: Alignment,
    pub(super) tokens: Vec<String>,
    pub(super) parts: Parts,
    pub(super) source: Source,
}

/// What a network is made from.
pub(super) enum Source {
    Given(Loaded),
    Learned(GraphOptions),
    Chosen(GraphOptions, Effort),
    Complete(Graph, Names, Vec<usize>),
    /// The run that is resumed.
    Resumed(Start),
    Model(Box<Network>, UpdateOptions),
}

/// Names of the tokens; numbers as text where the corpus has none.
pub fn token_names(corpus: &Corpus) -> Vec<String> {
    match corpus.token_names() {
        Some(names) => names.iter().map(str::to_owned).collect(),
        None => (0..corpus.n_tokens()).map(|token| token.to_string()).collect(),
    }
}

/// Reads a corpus, or takes one that is in memory, for a network with these tokens if they are known already.
pub(crate) fn read_corpus(
    source: &CorpusSource,
    given: Option<Corpus>,
    team: &Team,
    known: Option<&[String]>,
    monitor: &Arc<Monitor>,
    observer: &mut dyn Observer,
) -> Result<(Corpus, Ingested)> {
    if let Some(corpus) = given {
        return Ok((corpus, Ingested::default()));
    }
    staged(observer, Stage::Reading, source.n_bytes(), || source.read_on(team, known, monitor))
}

impl Inputs {
    /// Reads the corpus, and the graph or model if one is given; a run that is resumed has its own.
    pub(super) fn read(
        config: &RunConfig,
        given: Given,
        resumed: Option<Start>,
        monitor: &Arc<Monitor>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let (graph, model) = match (&config.network, &resumed) {
            (NetworkSource::File(path), None) => (Some(load(path)?), None),
            (NetworkSource::Memory, None) => {
                let message = "the run's graph was in memory, and it had not begun to train; start a new run";
                (Some(given.graph.ok_or_else(|| Error::Usage(message.into()))?), None)
            }
            (NetworkSource::Model { path, .. }, None) => (None, Some(load_model(path)?)),
            _ => (None, None),
        };
        for note in graph.iter().flat_map(|graph| &graph.notes) {
            observer.says(Level::Warning, note);
        }
        let resumed_tokens = resumed.as_ref().map(|start| &start.names.tokens);
        let known = graph.as_ref().map(|graph| &graph.names.tokens).or(resumed_tokens).map(Vec::as_slice);
        // Text is read with the words of a graph that was given; a graph that was learned is for the words of the text.
        let is_given = matches!(config.network, NetworkSource::File(_) | NetworkSource::Memory);
        let (corpus, ingested) = read_corpus(
            &config.corpus,
            given.corpus,
            &given.team,
            known.filter(|_| is_given),
            monitor,
            observer,
        )?;
        if corpus.n_docs() == 0 {
            return Err(Error::Usage("the corpus has no documents to train on".into()));
        }
        if corpus.n_docs() == 1 {
            let message =
                "the corpus has one document, a line, record or file being one: none is left to hold out";
            observer.says(Level::Warning, message);
        }
        let parts = config.options.split(corpus.n_docs());
        if let (Some(model), NetworkSource::Model { parents, min_support, .. }) = (model, &config.network) {
            config.corpus.match_with(&model.names.tokens, &corpus, &ingested)?;
            reading_warnings(&ingested).iter().for_each(|message| observer.says(Level::Warning, message));
            let tokens = joined_tokens(&model.names, &corpus)?;
            let alignment = align(&corpus, &tokens);
            if let Some(example) = &alignment.unknown_example {
                let message = format!(
                    "{} of {} token occurrences are left out: topics of the model have these names (for example {example})",
                    alignment.n_unknown,
                    corpus.n_occurrences()
                );
                observer.says(Level::Warning, &message);
            }
            let estep = config.options.estep.clone();
            let attaching = UpdateOptions { parents: *parents, min_support: *min_support, estep };
            attaching.check()?;
            let source = Source::Model(Box::new(model), attaching);
            return Ok(Self { corpus, alignment, tokens, parts, source });
        }
        let tokens = known.map_or_else(|| token_names(&corpus), <[String]>::to_vec);
        let (alignment, warnings) = if is_given {
            let alignment = config.corpus.match_with(&tokens, &corpus, &ingested)?;
            let warnings = matching_warnings(&corpus, &alignment, &ingested, &tokens);
            (alignment, warnings)
        } else {
            (align(&corpus, &tokens), reading_warnings(&ingested))
        };
        warnings.iter().for_each(|message| observer.says(Level::Warning, message));
        let source = match (resumed, graph, &config.network) {
            (Some(start), ..) => Source::Resumed(start),
            (None, Some(graph), _) => Source::Given(graph),
            (None, None, NetworkSource::Complete { topics }) => {
                let (graph, names) = complete_graph(topics, &tokens)?;
                Source::Complete(graph, names, topics.clone())
            }
            (None, None, NetworkSource::Chosen { effort, known, .. }) => {
                Source::Chosen(known.resolve(&tokens, config.options.seed)?, *effort)
            }
            (None, None, NetworkSource::Learned(request)) => {
                Source::Learned(request.resolve(&tokens, config.options.seed)?)
            }
            (None, None, NetworkSource::File(_) | NetworkSource::Memory | NetworkSource::Model { .. }) => {
                return Err(Error::Usage("the run has no network to train".into()));
            }
        };
        Ok(Self { corpus, alignment, tokens, parts, source })
    }

    /// The documents in the network's token numbers.
    pub(super) fn docs(&self) -> Docs<'_> {
        self.alignment.docs(&self.corpus)
    }

    /// The options with what a model that is trained from counts as.
    pub(super) fn with_prior(&self, config: &RunConfig, options: CheckedOptions) -> Result<CheckedOptions> {
        let (Some(_), Source::Model(model, _)) = (options.prior, &self.source) else { return Ok(options) };
        let trained_docs = trained_docs(model).unwrap_or(self.corpus.n_docs() as f64);
        let docs = match config.network {
            NetworkSource::Model { docs: Some(docs), .. } => docs as f64,
            _ => trained_docs,
        };
        let prior = PriorOptions { docs, trained_docs, tokens: model.names.tokens.len() };
        TrainOptions { prior: Some(prior), ..TrainOptions::clone(&options) }.check()
    }
}

/// The documents that a model was trained on, if its summary says so.
fn trained_docs(model: &Network) -> Option<f64> {
    let summary: Value = serde_json::from_str(&model.training).ok()?;
    summary["docs"].as_f64().filter(|docs| (1.0..=MAX_DOCS).contains(docs))
}

/// Refuses another corpus than a run was trained on.
pub(crate) fn refuse_other_corpus(before: &str, corpus: &Corpus, name: &Path, remedy: &str) -> Result<()> {
    let now = format!("{:016x}", corpus.fingerprint());
    if before.is_empty() || before == now {
        return Ok(());
    }
    let message = format!(
        "these are not the documents that the run was trained on (fingerprint {now}, it was {before}); put the corpus back, \
         {remedy}"
    );
    Err(Error::input(name, None, message))
}
