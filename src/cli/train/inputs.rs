//! What is trained: a corpus, and a graph given or learned.

use super::memory::Limit;
use super::{Args, update};
use crate::cli::Common;
use crate::cli::choice;
use crate::cli::graph::token_names;
use crate::cli::progress::Progress;
use noisyor::capacity::{Chooser, Effort};
use noisyor::corpus::{Alignment, Corpus, Docs, align, sample_corpus, split};
use noisyor::estep::EStep;
use noisyor::monitor::Monitor;
use noisyor::network::{Graph, Loaded, Names, Network, Weights, fingerprint, load};
use noisyor::structure::{GraphOptions, complete_graph, graph_work, learn_graph};
use noisyor::train::{BatchSize, CheckedOptions, RunFolder};
use noisyor::update::UpdateOptions;
use noisyor::{Error, Result};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// What the config calls the bundled sample.
pub(super) const SAMPLE: &str = "sample";

/// What the config calls the parents of a complete graph.
const ALL: &str = "all";

/// Refinement starts from a learned graph of so many times the edges that are to remain.
const DENSE: usize = 2;

/// A corpus, its tokens in the order of the network's, and where the graph comes from.
pub(super) struct Inputs {
    pub(super) corpus: Corpus,
    alignment: Alignment,
    tokens: Vec<String>,
    source: Source,
}

/// Where the graph comes from.
enum Source {
    /// A file.
    Given(Loaded),
    /// The training documents.
    Learned(GraphOptions),
    /// The training documents, and what is of use by the validation part.
    Chosen(GraphOptions, Effort),
    /// All edges between layers of so many topics.
    Complete(Graph, Names, Value),
    /// The run that goes on.
    Resumed(Start),
    /// A model, and how tokens that it lacks are attached.
    Model(Network, UpdateOptions),
}

/// What training starts from.
#[derive(Clone)]
pub(super) struct Start {
    pub(super) graph: Graph,
    pub(super) names: Names,
    pub(super) weights: Option<Weights>,
    /// How the graph was learned, or which layers are complete; null if it was given.
    pub(super) learning: Value,
    /// Documents that the trained model will speak for: those to train on, and those that a model counts as.
    pub(super) n_docs: u64,
}

impl Args {
    /// Whether the network's size is chosen.
    pub(super) fn is_chosen(&self) -> bool {
        let is_given = self.graph.is_some() || self.update.from.is_some() || self.training.refine;
        !is_given && self.learning.effort().is_some()
    }

    /// Reads the corpus, and the graph if one is given; a run that goes on has its own.
    pub(super) fn inputs(
        &self,
        resumed: Option<Start>,
        common: &Common,
        monitor: &Arc<Monitor>,
    ) -> Result<Inputs> {
        if self.corpus.is_none() && self.reading.is_given() {
            let message = "options such as --format say how to read a corpus, and none is given";
            return Err(Error::Usage(message.into()));
        }
        if let Some(option) =
            self.graph.as_ref().and_then(|_| self.learning.first_given(self.training.refine, false))
        {
            let message = format!(
                "{option} is about learning a graph, and one is given with --graph; leave out one of the two"
            );
            return Err(Error::Usage(message));
        }
        if let Some(option) = self.learning.first_constraint().filter(|_| self.training.refine) {
            let message = format!(
                "{option} cannot be kept to by --refine, which chooses edges freely; leave out one of the two"
            );
            return Err(Error::Usage(message));
        }
        let (given, model) = match &resumed {
            Some(_) => (None, None),
            None => (self.graph.as_deref().map(load).transpose()?, self.update.model(&self.learning)?),
        };
        given.iter().flat_map(|graph| &graph.notes).for_each(|note| common.warn(note));
        let resumed_tokens = resumed.as_ref().map(|start| &start.names.tokens);
        let known = given.as_ref().map(|graph| &graph.names.tokens).or(resumed_tokens);
        let (corpus, alignment) = self.read_corpus(known.map(Vec::as_slice), common, monitor)?;
        if corpus.n_docs() == 0 {
            return Err(Error::Usage("the corpus has no documents to train on".into()));
        }
        if let Some(model) = model {
            self.reading.check_match(&corpus, &model.names.tokens)?;
            let (tokens, alignment) = update::joined(&model, &corpus, common)?;
            let attaching = self.learning.attaching(self.estep.options()?);
            attaching.check()?;
            return Ok(Inputs { corpus, alignment, tokens, source: Source::Model(model, attaching) });
        }
        let tokens = known.map_or_else(|| token_names(&corpus), Vec::clone);
        let source = match (resumed, given) {
            (Some(start), _) => Source::Resumed(start),
            (None, Some(graph)) => Source::Given(graph),
            // What is wrong with the options is better known before a run folder is made.
            (None, None) => match self.learning.complete_layers(self.training.refine)? {
                Some(layers) => {
                    let (graph, names) = complete_graph(layers, &tokens)?;
                    Source::Complete(graph, names, json!({ "topics": layers, "parents": ALL }))
                }
                None => {
                    let options = self.learning.options(&tokens, self.seed)?;
                    match self.learning.effort().filter(|_| !self.training.refine) {
                        Some(effort) => Source::Chosen(options, effort),
                        None => Source::Learned(options),
                    }
                }
            },
        };
        Ok(Inputs { corpus, alignment, tokens, source })
    }

    /// Reads the corpus, for a network with these tokens if they are known already.
    pub(super) fn read_corpus(
        &self,
        known: Option<&[String]>,
        common: &Common,
        monitor: &Arc<Monitor>,
    ) -> Result<(Corpus, Alignment)> {
        let own = |corpus: Corpus| {
            let alignment = align(&corpus, known.unwrap_or(&token_names(&corpus)));
            (corpus, alignment)
        };
        Ok(match (&self.corpus, known.filter(|_| self.graph.is_some())) {
            (Some(path), Some(tokens)) => self.reading.read_for(path, tokens, common, monitor)?,
            (Some(path), None) => own(self.reading.read_alone(path, common, monitor)?),
            (None, _) => own(sample_corpus()?),
        })
    }

    /// Adds to a run's config what its inputs are.
    pub(super) fn describe(&self, inputs: &Inputs, backend: &str, about: &mut Value) {
        let named = |path: &Option<PathBuf>, otherwise: &str| {
            let absolute = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
            path.as_ref().map_or(otherwise.to_owned(), |path| absolute(path).display().to_string())
        };
        about["corpus"] = named(&self.corpus, SAMPLE).into();
        let otherwise = match (&self.update.from, self.learning.is_complete()) {
            (Some(_), _) => "model",
            (None, true) => "complete",
            (None, false) => "learned",
        };
        about["graph"] = named(&self.graph, otherwise).into();
        about["from"] = json!(self.update.from.as_ref().map(|_| named(&self.update.from, "")));
        about["docs"] = inputs.corpus.n_docs().into();
        about["corpus_fingerprint"] = format!("{:016x}", inputs.corpus.fingerprint()).into();
        about["backend"] = backend.into();
    }
}

impl Start {
    /// Whether it has every edge between its layers, so that its topics have no names yet.
    pub(super) fn is_complete(&self) -> bool {
        self.learning["parents"] == ALL
    }

    /// Names of topics that the user gave.
    pub(super) fn given_names(&self) -> impl Iterator<Item = &str> {
        let anchors = self.learning["anchors"].as_array().map_or(&[][..], Vec::as_slice);
        anchors.iter().filter_map(|anchor| anchor["name"].as_str())
    }

    /// Epochs that there is time for, where that was found out.
    pub(super) fn epochs(&self) -> Option<u32> {
        self.learning["epochs"].as_u64().map(|epochs| epochs as u32)
    }

    /// The batches to train a network with that was chosen.
    pub(super) fn batch(&self) -> Option<BatchSize> {
        serde_json::from_value(self.learning["batch"].clone()).ok()
    }

    /// Keeps the graph in the run's folder, so that the run can go on without the file it came from, and describes it.
    pub(super) fn keep(&self, folder: &RunFolder, about: &mut Value) -> Result<()> {
        let (graph, names) = (self.graph.clone(), self.names.clone());
        // A graph without weights is kept with some that nobody reads.
        let none = || Weights { leak: vec![1.0; graph.n_nodes()], edge: vec![1.0; graph.n_edges()] };
        let mut weights = self.weights.clone().unwrap_or_else(none);
        weights.leak.iter_mut().chain(&mut weights.edge).for_each(|w| *w = w.max(1e-30));
        weights.round_to_f32();
        let network = Network { graph, weights, names, training: String::new() };
        about["learning"] = self.learning.clone();
        about["speaks_for_docs"] = self.n_docs.into();
        about["topics"] = self.graph.n_topics().into();
        about["tokens"] = self.graph.n_tokens().into();
        about["edges"] = self.graph.n_edges().into();
        about["graph_weights"] = self.weights.is_some().into();
        let now = fingerprint(&network);
        // A run that was stopped before its first checkpoint reads its graph again; one that is learned may be another by the memory
        // there is.
        if self.learning.is_null() && about["graph_fingerprint"].as_str().is_some_and(|before| before != now)
        {
            let message = "the run was begun with another graph or model than its file holds now; put it back, or start a new run";
            return Err(Error::Usage(message.into()));
        }
        about["graph_fingerprint"] = now.into();
        folder.save_graph(&network)
    }
}

impl Inputs {
    /// The documents in the network's token numbers.
    pub(super) fn docs(&self) -> Docs<'_> {
        self.alignment.docs(&self.corpus)
    }

    /// The model that training goes on from, if it does.
    pub(super) fn model(&self) -> Option<&Network> {
        match &self.source {
            Source::Model(model, _) => Some(model),
            Source::Given(_)
            | Source::Learned(_)
            | Source::Chosen(..)
            | Source::Complete(..)
            | Source::Resumed(_) => None,
        }
    }

    /// Documents to train on.
    pub(super) fn n_train(&self, options: &CheckedOptions) -> usize {
        split(self.corpus.n_docs(), options.valid, options.test, options.seed).train.len()
    }

    /// The graph given, or else one learned from, or a model with new tokens attached by, the documents that will be trained on,
    /// and no others.
    pub(super) fn start(
        &self,
        args: &Args,
        options: &CheckedOptions,
        estep: &mut dyn EStep,
        memory: Limit,
        common: &Common,
        monitor: &Arc<Monitor>,
    ) -> Result<Start> {
        let docs = split(self.corpus.n_docs(), options.valid, options.test, options.seed).train;
        let n_docs = options.prior.map_or(0, |prior| prior.docs as u64).saturating_add(docs.len() as u64);
        let mut learning = match self.source {
            Source::Given(ref graph) => {
                let Loaded { graph, names, weights, .. } = graph.clone();
                return Ok(Start { graph, names, weights, learning: Value::Null, n_docs });
            }
            Source::Model(ref model, ref attaching) => {
                let Network { graph, names, weights, .. } = update::extended(
                    model,
                    &self.corpus,
                    &self.tokens,
                    &docs,
                    attaching,
                    estep,
                    monitor,
                    common,
                )?;
                return Ok(Start { graph, names, weights: Some(weights), learning: Value::Null, n_docs });
            }
            Source::Complete(ref graph, ref names, ref learning) => {
                let (graph, names, learning) = (graph.clone(), names.clone(), learning.clone());
                return Ok(Start { graph, names, weights: None, learning, n_docs });
            }
            Source::Resumed(ref start) => return Ok(start.clone()),
            Source::Chosen(ref given, effort) => {
                let docs = memory.graph_docs(self, docs, options.seed, common);
                let chooser = Chooser {
                    docs: self.docs(),
                    tokens: &self.tokens,
                    graph_docs: &docs,
                    given,
                    options,
                    effort,
                    monitor,
                };
                let (network, learning) = choice::choose(&chooser, estep, common, monitor)?;
                let Network { graph, names, weights, .. } = network;
                return Ok(Start { graph, names, weights: Some(weights), learning, n_docs });
            }
            Source::Learned(ref learning) => learning.clone(),
        };
        if args.training.refine {
            learning.max_edges = learning.max_edges.map(|most| most.saturating_mul(DENSE));
        }
        let docs = memory.graph_docs(self, docs, options.seed, common);
        let work = graph_work(docs.len(), self.tokens.len(), &learning);
        let progress = Progress::start(common, monitor, "learning a graph", work);
        let learned = learn_graph(self.docs(), &docs, &self.tokens, &learning, monitor)?;
        drop(progress);
        let weights = Some(learned.weights);
        Ok(Start { graph: learned.graph, names: learned.names, weights, learning: json!(learning), n_docs })
    }
}
