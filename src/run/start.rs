//! What training starts from: a graph that is given, learned, chosen, or that of a model.

use super::config::RunFacts;
use super::folder::RunFolder;
use super::inputs::{Inputs, Source};
use super::learning::{Choice, Learning};
use super::memory::MemoryLimit;
use super::observer::{Level, Observer, Stage, staged};
use crate::capacity::{Chooser, choice_work};
use crate::error::{Error, Result};
use crate::estep::EStep;
use crate::monitor::Monitor;
use crate::network::{Graph, Init, Loaded, Names, Network, Weights, fingerprint};
use crate::ranks::Team;
use crate::structure::{graph_work, learn_graph_on, unknown_note};
use crate::train::{CheckedOptions, TrainOptions};
use crate::update::{Extended, extend};
use std::path::PathBuf;

/// Refinement starts from a learned graph of so many times the edges that are to remain.
const DENSE: usize = 2;

/// What training starts from.
#[derive(Clone)]
pub(super) struct Start {
    pub(super) graph: Graph,
    pub(super) names: Names,
    pub(super) weights: Option<Weights>,
    /// How the graph was learned; none if it was given.
    pub(super) learning: Option<Learning>,
    /// Documents that the trained model will stand for: those to train on, and those that a model counts as.
    pub(super) n_docs: u64,
}

/// What computes, what may cancel it, and who gets reports.
pub(super) struct Working<'a> {
    pub(super) estep: &'a mut dyn EStep,
    pub(super) team: &'a Team,
    pub(super) monitor: &'a Monitor,
    pub(super) observer: &'a mut dyn Observer,
}

impl Start {
    /// The graph given, or else one learned from, or a model with new tokens attached by, the documents that will be trained on,
    /// and no others.
    pub(super) fn make(
        inputs: &Inputs,
        options: &CheckedOptions,
        memory: MemoryLimit,
        working: &mut Working<'_>,
    ) -> Result<Self> {
        let train_docs = &inputs.parts.train;
        let prior_docs = options.prior.map_or(0, |prior| prior.docs as u64);
        let n_docs = prior_docs.saturating_add(train_docs.len() as u64);
        let start = |network: Network, learning: Option<Learning>| {
            let Network { graph, names, weights, .. } = network;
            Self { graph, names, weights: Some(weights), learning, n_docs }
        };
        if let (Source::Chosen(..) | Source::Learned(_), Some(note)) =
            (&inputs.source, unknown_note(&inputs.docs()))
        {
            working.observer.says(Level::Info, &note);
        }
        match &inputs.source {
            Source::Resumed(start) => Ok(start.clone()),
            Source::Given(Loaded { graph, names, weights, .. }) => {
                if weights.is_some() && options.init != Init::Graph {
                    let message = "the graph has weights: they are compared with, but training does not start from them; \
                                   `init` graph would";
                    working.observer.says(Level::Info, message);
                }
                let (graph, names, weights) = (graph.clone(), names.clone(), weights.clone());
                Ok(Self { graph, names, weights, learning: None, n_docs })
            }
            Source::Complete(graph, names, topics) => {
                let (graph, names, learning) =
                    (graph.clone(), names.clone(), Some(Learning::complete(topics)));
                Ok(Self { graph, names, weights: None, learning, n_docs })
            }
            Source::Model(model, attaching) => {
                let Working { estep, monitor, observer, .. } = working;
                let extended = staged(*observer, Stage::AttachingTokens, train_docs.len() as u64, || {
                    extend(model, &inputs.corpus, &inputs.tokens, train_docs, attaching, *estep, monitor)
                })?;
                observer.says(Level::Info, &describe(&extended));
                Ok(start(extended.network, None))
            }
            Source::Chosen(given, effort) => {
                let graph_docs = memory.graph_docs(inputs, options.seed, working.observer);
                let chooser = Chooser {
                    docs: inputs.docs(),
                    tokens: &inputs.tokens,
                    train_docs,
                    graph_docs: &graph_docs,
                    given,
                    options,
                    effort: *effort,
                    team: working.team,
                    monitor: working.monitor,
                };
                let (network, learning) = choose(&chooser, working.estep, working.observer)?;
                Ok(start(network, Some(learning)))
            }
            Source::Learned(options_of_graph) => {
                let mut learning = options_of_graph.clone();
                if options.refine.is_some() {
                    learning.max_edges = learning.max_edges.map(|most| most.saturating_mul(DENSE));
                }
                let docs = memory.graph_docs(inputs, options.seed, working.observer);
                let work = graph_work(docs.len(), inputs.tokens.len(), &learning);
                let network = staged(working.observer, Stage::LearningGraph, work, || {
                    learn_graph_on(
                        working.team,
                        inputs.docs(),
                        &docs,
                        &inputs.tokens,
                        &learning,
                        working.monitor,
                    )
                })?;
                Ok(start(network, Some(Learning::learned(learning))))
            }
        }
    }

    /// What the graph file of a run that is resumed says it started from.
    pub(super) fn of_run(network: Network, facts: &RunFacts) -> Self {
        let Network { graph, weights, names, .. } = network;
        let weights = Some(weights).filter(|_| facts.graph_weights);
        Self { graph, names, weights, learning: facts.learning.clone(), n_docs: facts.speaks_for_docs }
    }

    /// Keeps the graph in the run's folder, so that the run can be resumed without the file it came from, and describes it.
    pub(super) fn keep(&self, folder: Option<&RunFolder>, facts: &mut RunFacts) -> Result<()> {
        let (graph, names) = (self.graph.clone(), self.names.clone());
        // A graph without weights is kept with some that nobody reads.
        let none = || Weights { leak: vec![1.0; graph.n_nodes()], edge: vec![1.0; graph.n_edges()] };
        let mut weights = self.weights.clone().unwrap_or_else(none);
        weights.leak.iter_mut().chain(&mut weights.edge).for_each(|w| *w = w.max(1e-30));
        weights.round_to_f32();
        let network = Network { graph, weights, names, training: String::new() };
        let now = fingerprint(&network);
        // A run that was stopped before its first checkpoint reads its graph again; one that is learned may be another by the memory
        // there is.
        if self.learning.is_none() && !facts.graph_fingerprint.is_empty() && facts.graph_fingerprint != now {
            let message = "the run was begun with another graph or model than its file holds now; put it back, or start a new run";
            return Err(Error::Usage(message.into()));
        }
        facts.learning = self.learning.clone();
        facts.speaks_for_docs = self.n_docs;
        facts.topics = self.graph.n_topics() as u64;
        facts.tokens = self.graph.n_tokens() as u64;
        facts.edges = self.graph.n_edges() as u64;
        facts.graph_weights = self.weights.is_some();
        facts.graph_fingerprint = now;
        folder.map_or(Ok(()), |folder| folder.save_graph(&network))
    }

    /// The options with the weights to keep that files list by name.
    pub(super) fn frozen_options(
        &self,
        options: &CheckedOptions,
        lists: &[PathBuf],
    ) -> Result<CheckedOptions> {
        let mut options = TrainOptions::clone(options);
        for path in lists {
            options.freeze.add_list(path, &self.graph, &self.names)?;
        }
        options.check()
    }

    /// The options for a network that was chosen: with the epochs that there is time for, unless they are given, and the batches that
    /// its topics need.
    pub(super) fn chosen_options(
        &self,
        options: &CheckedOptions,
        epochs_given: bool,
    ) -> Result<CheckedOptions> {
        let Some(choice) = self.learning.as_ref().and_then(|learning| learning.choice.as_ref()) else {
            return Ok(options.clone());
        };
        let epochs = if epochs_given { options.epochs } else { choice.epochs };
        options.with_epochs(epochs)?.with_batch(choice.batch)
    }
}

/// Chooses how large a network is; what is tried and chosen is reported.
///
/// # Errors
/// Documents or options that no network can be learned from, failing devices, cancellation.
pub fn choose(
    chooser: &Chooser<'_>,
    estep: &mut dyn EStep,
    observer: &mut dyn Observer,
) -> Result<(Network, Learning)> {
    let (docs, n_docs) = (chooser.docs, chooser.docs.n_docs());
    let words = docs.corpus().n_occurrences() as f64 / n_docs.max(1) as f64;
    let work = choice_work(n_docs, chooser.tokens.len(), words, chooser.effort);
    observer.begins(Stage::ChoosingNetwork, Some(work));
    let chosen = chooser.choose(estep, &mut |trial| observer.says(Level::Info, &trial.to_string()));
    observer.ended();
    let chosen = chosen?;
    let choice =
        Choice { effort: chooser.effort, epochs: chosen.epochs, batch: chosen.batch, trials: chosen.trials };
    let learning = Learning::chosen(chosen.shape, choice);
    observer.chose(&learning, chooser.options, chosen.limited);
    Ok((chosen.network, learning))
}

fn describe(extended: &Extended) -> String {
    match *extended {
        Extended { n_new: 0, .. } => "no new tokens".into(),
        Extended { n_new, n_attached, n_new_edges, .. } => format!(
            "{n_new} new tokens, {n_attached} of them attached to topics ({n_new_edges} edges), {} without a topic",
            n_new - n_attached
        ),
    }
}
