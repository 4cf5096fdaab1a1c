//! What is trained: a corpus, and a graph given or learned.

use super::Args;
use crate::cli::Common;
use crate::cli::graph::token_names;
use crate::cli::progress::Progress;
use noisyor::corpus::{Alignment, Corpus, Docs, align, sample_corpus, split};
use noisyor::monitor::Monitor;
use noisyor::network::{Graph, Loaded, Names, Weights, load};
use noisyor::structure::{GraphOptions, graph_work, learn_graph};
use noisyor::train::CheckedOptions;
use noisyor::{Error, Result};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

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
}

/// What training starts from.
pub(super) struct Start {
    pub(super) graph: Graph,
    pub(super) names: Names,
    pub(super) weights: Option<Weights>,
    /// How the graph was learned, if it was.
    pub(super) learning: Option<GraphOptions>,
}

impl Args {
    /// Reads the corpus, and the graph if one is given.
    pub(super) fn inputs(&self, common: &Common, monitor: &Arc<Monitor>) -> Result<Inputs> {
        if self.corpus.is_none() && self.reading.is_given() {
            let message = "options such as --format say how to read a corpus, and none is given";
            return Err(Error::Usage(message.into()));
        }
        if let Some(option) =
            self.graph.as_ref().and_then(|_| self.learning.first_given(self.training.refine))
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
        let given = self.graph.as_deref().map(load).transpose()?;
        let own = |corpus: Corpus| {
            let alignment =
                align(&corpus, given.as_ref().map_or(&token_names(&corpus), |graph| &graph.names.tokens));
            (corpus, alignment)
        };
        let (corpus, alignment) = match (&self.corpus, &given) {
            (Some(path), Some(graph)) => self.reading.read_for(path, &graph.names.tokens, common, monitor)?,
            (Some(path), None) => own(self.reading.read_alone(path, common, monitor)?),
            (None, _) => own(sample_corpus()?),
        };
        if corpus.n_docs() == 0 {
            return Err(Error::Usage("the corpus has no documents to train on".into()));
        }
        let tokens = given.as_ref().map_or_else(|| token_names(&corpus), |graph| graph.names.tokens.clone());
        let source = match given {
            Some(graph) => Source::Given(graph),
            // What is wrong with the options is better known before a run folder is made.
            None => Source::Learned(self.learning.options(&tokens, self.seed)?),
        };
        Ok(Inputs { corpus, alignment, tokens, source })
    }

    /// What the run's config says of its inputs.
    pub(super) fn about(&self, inputs: &Inputs, start: &Start, backend: &str) -> serde_json::Value {
        let named = |path: &Option<PathBuf>, otherwise: &str| {
            path.as_ref().map_or(otherwise.to_owned(), |path| path.display().to_string())
        };
        json!({
            "corpus": named(&self.corpus, "sample"), "graph": named(&self.graph, "learned"),
            "learning": start.learning, "docs": inputs.corpus.n_docs(), "topics": start.graph.n_topics(),
            "tokens": start.graph.n_tokens(), "edges": start.graph.n_edges(), "backend": backend,
        })
    }
}

impl Inputs {
    /// The documents in the network's token numbers.
    pub(super) fn docs(&self) -> Docs<'_> {
        self.alignment.docs(&self.corpus)
    }

    /// The graph given, or else one learned from the documents that will be trained on, and no others.
    pub(super) fn start(
        &self,
        args: &Args,
        options: &CheckedOptions,
        common: &Common,
        monitor: &Arc<Monitor>,
    ) -> Result<Start> {
        let mut learning = match self.source {
            Source::Given(ref graph) => {
                let Loaded { graph, names, weights, .. } = graph.clone();
                return Ok(Start { graph, names, weights, learning: None });
            }
            Source::Learned(ref learning) => learning.clone(),
        };
        if args.training.refine {
            learning.max_edges = learning.max_edges.map(|most| most.saturating_mul(DENSE));
        }
        let docs = split(self.corpus.n_docs(), options.valid, options.test, options.seed).train;
        let work = graph_work(docs.len(), self.tokens.len(), &learning);
        let progress = Progress::start(common, monitor, "learning a graph", work);
        let learned = learn_graph(self.docs(), &docs, &self.tokens, &learning, monitor)?;
        drop(progress);
        let weights = Some(learned.weights);
        Ok(Start { graph: learned.graph, names: learned.names, weights, learning: Some(learning) })
    }
}
