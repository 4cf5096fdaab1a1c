//! Choosing how large a network is to be: candidates are trained for a short while, and the validation part decides.
//!
//! Learned graphs of a ladder of sizes are tried, with edges by what they gain, two layers of topics where there are enough of them;
//! for tables, complete graphs that start from a mixture, too. The network that is chosen is trained from its start again, so that a
//! run with its options is the same run without the trials.

mod effort;

pub use effort::Effort;

use crate::corpus::Docs;
use crate::error::{Error, Result};
use crate::estep::{EStep, Monitor};
use crate::network::{Init, Network};
use crate::ranks::Team;
use crate::structure::{GraphOptions, Learner, complete_graph};
use crate::train::{
    BatchSize, Begin, CheckedOptions, Ended, Freeze, StepRule, TrainOptions, start_weights, train,
};
use effort::{epochs, sizes};
use serde::{Deserialize, Serialize};

/// Epochs of a trial. (After one, small networks are ahead that fall behind in the second.)
const EPOCHS: u32 = 2;
/// Sizes in a row that may be worse than the best before no larger ones are tried.
const WORSE: usize = 2;
/// The share of its bound that a larger network must gain over the best of the smaller ones: less is chance, and smaller ones read better.
const LEAST_GAIN: f64 = 1e-3;
/// Documents held out to judge by, where training holds out none. (Graphs are learned from them, too, then.)
const VALID: f64 = 0.1;
/// The penalty in trials of trainings that have none.
const LAMBDA: f64 = 1.0;
/// A batch has so many documents for every topic, at least; where topics have every token, so many: then batches leave a good start from a
/// mixture behind them.
const DOCS_OF_TOPIC: usize = 4;
const DOCS_OF_COMPLETE: usize = 16;
/// The layer above the lowest has one topic for so many, if that is at least so many.
const SHRINK: usize = 10;
const LEAST_ABOVE: usize = 3;
/// An edge to a token must gain so many nats.
const MIN_GAIN: f64 = 1.0;

/// A network that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Topics of each layer, the lowest first.
    pub topics: Vec<usize>,
    /// Whether it has every edge.
    pub complete: bool,
    /// Its edges.
    pub edges: usize,
    /// The bound of the documents held out after two epochs, in nats a document; none where there are no documents to hold out.
    pub bound: Option<f64>,
}

impl std::fmt::Display for Trial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let layers: Vec<String> = self.topics.iter().map(usize::to_string).collect();
        let kind = if self.complete { "every edge: " } else { "" };
        write!(f, "tried {} topics, {kind}{} edges", layers.join(" + "), self.edges)?;
        self.bound.map_or(Ok(()), |bound| write!(f, ": {bound:.4} nats a document after a short training"))
    }
}

/// How the network that was chosen is made.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// By [`learn_graph`](crate::structure::learn_graph).
    Learned(Box<GraphOptions>),
    /// By [`complete_graph`] of so many topics, and [`Init::Mixture`].
    Complete(usize),
}

/// A network that was chosen, and why.
#[derive(Debug)]
pub struct Chosen {
    /// The graph with the weights to start from.
    pub network: Network,
    /// How it was made.
    pub shape: Shape,
    /// What was tried, in order.
    pub trials: Vec<Trial>,
    /// Whether it is the largest that there was time for.
    pub limited: bool,
    /// Epochs that there is time for.
    pub epochs: u32,
    /// The batches to train with.
    pub batch: BatchSize,
}

/// The best network so far.
struct Best {
    bound: f64,
    network: Network,
    shape: Shape,
}

/// What was tried, and the best of it.
struct Tried<'a> {
    trials: Vec<Trial>,
    best: Option<Best>,
    on_trial: &'a mut dyn FnMut(&Trial),
    estep: &'a mut dyn EStep,
}

/// What a choice works with.
pub struct Chooser<'a> {
    /// Documents.
    pub docs: Docs<'a>,
    /// Names of the tokens.
    pub tokens: &'a [String],
    /// The documents to train on.
    pub train_docs: &'a [u32],
    /// The documents that a graph is learned from: those to train on, or some of them.
    pub graph_docs: &'a [u32],
    /// What is known about topics.
    pub given: &'a GraphOptions,
    /// How the network will be trained.
    pub options: &'a CheckedOptions,
    /// The work to spend.
    pub effort: Effort,
    /// The ranks that work together, each with a chooser of its own; they try the candidates together where the E-step does.
    pub team: &'a Team,
    /// Progress out, stop requests in.
    pub monitor: &'a Monitor,
}

impl Chooser<'_> {
    /// Tries candidates, tells each trial, and returns the best.
    ///
    /// # Errors
    ///
    /// What learning and training the candidates fails with: see [`learn_graph`](crate::structure::learn_graph) and [`train`].
    pub fn choose(&self, estep: &mut dyn EStep, on_trial: &mut dyn FnMut(&Trial)) -> Result<Chosen> {
        let learner =
            Learner::new(self.docs, self.graph_docs, self.tokens, self.given, self.team, self.monitor)?;
        let train_docs = self.train_docs;
        let mut sizes = sizes(train_docs.len(), self.tokens.len(), learner.words(), self.effort);
        // Topics that are given need a place.
        let n_given = self.given.anchors.len();
        sizes.learned.retain(|&size| size >= n_given);
        if sizes.learned.is_empty() {
            sizes.learned.push(n_given);
        }
        let doc_edges = self.effort.doc_edges(train_docs.len());
        let mut tried = Tried { trials: Vec::new(), best: None, on_trial, estep };
        self.try_all(&sizes.learned, train_docs.len(), &mut tried, &|lowest| {
            let above = lowest / SHRINK;
            let options = GraphOptions {
                topics: if above >= LEAST_ABOVE { vec![lowest, above] } else { vec![lowest] },
                min_gain: Some(MIN_GAIN),
                doc_edges: Some(doc_edges),
                ..self.given.clone()
            };
            Ok((learner.learn(&options, self.monitor)?, Shape::Learned(Box::new(options))))
        })?;
        // What is known about topics is not known of topics that have every token.
        if n_given == 0 && self.given.exclude.is_empty() {
            self.try_all(&sizes.complete, train_docs.len(), &mut tried, &|size| {
                Ok((self.complete(train_docs, size)?, Shape::Complete(size)))
            })?;
        }
        let Some(Best { network, shape, .. }) = tried.best else {
            return Err(Error::Usage("there is no network to choose from".into()));
        };
        let limited = matches!(&shape, Shape::Learned(options) if Some(options.topics[0]) == sizes.limit);
        let epochs = epochs(doc_edges, learner.doc_edges(&network.graph));
        let batch = self.batch(&network, &shape, train_docs.len());
        Ok(Chosen { network, shape, trials: tried.trials, limited, epochs, batch })
    }

    /// Tries sizes from the smallest up, until [`WORSE`] in a row are worse than the best of them.
    fn try_all(
        &self,
        sizes: &[usize],
        n_docs: usize,
        tried: &mut Tried<'_>,
        make: &dyn Fn(usize) -> Result<(Network, Shape)>,
    ) -> Result<()> {
        let (mut highest, mut n_worse) = (f64::NEG_INFINITY, 0);
        for &size in sizes {
            let (network, shape) = make(size)?;
            let bound = self.trial(&network, &shape, n_docs, tried.estep)?;
            let (topics, complete) = match &shape {
                Shape::Learned(options) => (options.topics.clone(), false),
                Shape::Complete(size) => (vec![*size], true),
            };
            let trial = Trial { topics, complete, edges: network.graph.n_edges(), bound };
            (tried.on_trial)(&trial);
            tried.trials.push(trial);
            let bound = bound.unwrap_or(f64::NEG_INFINITY);
            let gains = |best: &Best| bound > best.bound + LEAST_GAIN * best.bound.abs();
            if tried.best.as_ref().is_none_or(gains) {
                tried.best = Some(Best { bound, network, shape });
            }
            n_worse = if bound > highest { 0 } else { n_worse + 1 };
            highest = highest.max(bound);
            if n_worse == WORSE {
                break;
            }
        }
        Ok(())
    }

    /// A complete graph with weights from a mixture, as training would start.
    fn complete(&self, train_docs: &[u32], size: usize) -> Result<Network> {
        let (graph, names) = complete_graph(&[size], self.tokens)?;
        let (init, freeze) = (Init::Mixture, Freeze::default());
        let options = TrainOptions { init, freeze, ..(**self.options).clone() }.check()?;
        let leak_floor = options.smallest_leak(train_docs.len());
        let weights =
            start_weights(&graph, None, &self.docs, train_docs, &options, leak_floor, self.monitor)?;
        Ok(Network { graph, names, weights, training: String::new() })
    }

    /// The batches to train a network with: where batches are not given, topics that few documents have need large ones, because a topic
    /// forgets what a few batches lack.
    fn batch(&self, network: &Network, shape: &Shape, n_docs: usize) -> BatchSize {
        let docs_of_topic = match shape {
            Shape::Learned(_) => DOCS_OF_TOPIC,
            Shape::Complete(_) => DOCS_OF_COMPLETE,
        };
        let least = docs_of_topic * network.graph.n_topics();
        let is_small = self.options.n_batches(n_docs) > (n_docs / least.max(1)).max(1);
        match self.options.batch {
            BatchSize::Auto if is_small && least >= n_docs => BatchSize::Full,
            BatchSize::Auto if is_small => BatchSize::Docs(least),
            given => given,
        }
    }

    /// A short training: the bound of the documents held out at its end.
    fn trial(
        &self,
        network: &Network,
        shape: &Shape,
        n_docs: usize,
        estep: &mut dyn EStep,
    ) -> Result<Option<f64>> {
        let mut options: TrainOptions = (**self.options).clone();
        options.batch = self.batch(network, shape, n_docs);
        options.epochs = EPOCHS;
        // Smoothing follows the first evaluation.
        options.eval_every = 1;
        options.max_steps = None;
        options.patience = 0;
        options.init = Init::Graph;
        options.renew = None;
        options.condense = false;
        options.estep.clamp = 0;
        if options.valid == 0.0 {
            options.valid = VALID.min((1.0 - options.test) / 2.0);
        }
        if !matches!(options.step, StepRule::Em { .. }) {
            options.step = StepRule::Em { lambda: LAMBDA };
        }
        let (options, begin) = (options.check()?, Begin::New(&network.graph, Some(&network.weights)));
        let outcome = train(begin, self.docs, &options, estep, self.monitor, &mut |_| Ok(()))?;
        match outcome.ended {
            Ended::Interrupted => Err(Error::Interrupted),
            Ended::Finished | Ended::EarlyStop => Ok(outcome.metrics.and_then(|metrics| metrics.valid_elbo)),
        }
    }
}

/// How many documents a choice will have counted in its monitor at the end, at most.
pub fn choice_work(n_docs: usize, n_tokens: usize, words: f64, effort: Effort) -> u64 {
    let sizes = sizes(n_docs, n_tokens, words, effort);
    let learning = |&size: &usize| crate::structure::settling_work(n_docs, if size >= 30 { 2 } else { 1 });
    let of_mixture = |_: &usize| crate::mixture::mixture_work(n_docs, &Default::default());
    let n_trials = (sizes.learned.len() + sizes.complete.len()) as u64;
    n_docs as u64 * (1 + u64::from(EPOCHS) * n_trials)
        + sizes.learned.iter().map(learning).sum::<u64>()
        + sizes.complete.iter().map(of_mixture).sum::<u64>()
}
