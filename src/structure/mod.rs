//! Learning a layered topic graph from what occurs together.
//!
//! First the near neighbours of every token (`neighbours`). Then for each layer, from the lowest up: a core for every topic
//! (`cores`), the tokens that gather round it (`members`), the documents that each topic settles on (`settle`), and the edges to the layer
//! below (`layering`), or from all layers to tokens by what they gain (`gains`). At the end edges are pruned to the budget, and weights and names are made from what was counted.
//!
//! Upper layers cluster the tokens and documents anew instead of the topics below: topics are present in most documents by some weak
//! member, and clusters of clusters lose the theme that way.

mod budget;
mod complete;
mod cores;
mod gains;
mod layer;
mod layering;
mod members;
mod names;
mod neighbours;
mod occurrences;
mod options;
mod rename;
mod request;
mod settle;
mod weights;

pub use complete::complete_graph;
pub use options::{Anchor, GraphOptions};
pub use rename::{name_topics, name_topics_by_telling, stale_names};
pub use request::{GraphRequest, WordGroup};
pub(crate) use settle::{Candidate, telling};
pub(crate) use weights::{edge as edge_weight, leak as leak_weight};

use crate::corpus::Docs;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::network::{Graph, Names, Network};
use crate::ranks::Team;
use layer::Layer;
use neighbours::Neighbours;
use occurrences::Occurrences;
use settle::Settled;

/// How many documents [`learn_graph`] will have counted in its monitor at the end.
pub fn graph_work(n_docs: usize, n_tokens: usize, options: &GraphOptions) -> u64 {
    // Neighbours are counted once, and every layer settles in rounds.
    n_docs as u64 + settling_work(n_docs, options.layer_sizes(n_tokens).len())
}

/// How many documents settling takes.
pub(crate) fn settling_work(n_docs: usize, n_layers: usize) -> u64 {
    n_docs as u64 * settle::ROUNDS as u64 * n_layers as u64
}

/// Memory that [`learn_graph`] takes for documents of so many tokens in all, about: the `dblp` preset took 3.05 GB for 23 million.
pub fn graph_memory(n_occurrences: u64) -> u64 {
    128 * n_occurrences
}

/// Learns a graph from the documents `doc_ixs`, with names and with weights to start training from.
///
/// Tokens that occur with no other in enough documents have no parents. Unknown tokens count as absent ([`unknown_note`]). The same documents, options and seed give the same
/// network, whatever the number of threads.
///
/// ```
/// use noisyor::structure::{GraphOptions, learn_graph};
/// use noisyor::{Corpus, Monitor, corpus::align};
///
/// let corpus = Corpus::from_tokens((0..60).map(|i| if i % 2 == 0 { vec![0, 1] } else { vec![2, 3] }));
/// let words = ["ball", "team", "song", "band"].map(String::from);
/// let alignment = align(&corpus, &words);
/// let (all, options) = ((0..60).collect::<Vec<_>>(), GraphOptions { topics: vec![2], ..GraphOptions::default() });
/// let network = learn_graph(alignment.docs(&corpus), &all, &words, &options, &Monitor::default())?;
/// assert_eq!(network.graph.n_topics(), 2);
/// # Ok::<(), noisyor::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Usage`] for options that make no sense with these tokens,
/// [`Error::Interrupted`] where the monitor says stop.
pub fn learn_graph(
    docs: Docs<'_>,
    doc_ixs: &[u32],
    tokens: &[String],
    options: &GraphOptions,
    monitor: &Monitor,
) -> Result<Network> {
    learn_graph_on(&Team::default(), docs, doc_ixs, tokens, options, monitor)
}

/// The same on ranks, all of which have the same documents and options.
pub(crate) fn learn_graph_on(
    team: &Team,
    docs: Docs<'_>,
    doc_ixs: &[u32],
    tokens: &[String],
    options: &GraphOptions,
    monitor: &Monitor,
) -> Result<Network> {
    Learner::new(docs, doc_ixs, tokens, options, team, monitor)?.learn(options, monitor)
}

/// What to say where a graph is learned from documents with unknown tokens; nothing where there are none.
pub fn unknown_note(docs: &Docs<'_>) -> Option<String> {
    let n_unknown = docs.corpus().n_docs_unknown();
    (n_unknown > 0).then(|| {
        format!(
            "{n_unknown} of {} documents have unknown values: they count as absent while the graph is learned, and are left out where \
             weights are trained and bounds computed",
            docs.n_docs()
        )
    })
}

/// What all layers are learned from.
pub(crate) struct Learner<'a> {
    tokens: &'a [String],
    token_docs: Occurrences,
    near: Neighbours,
    cohesive: Neighbours,
    worth: Vec<f32>,
    team: Team,
}

/// A clustering of the documents, and the topics that each token is a core of.
struct Clusters {
    settled: Settled,
    own: Vec<Vec<u32>>,
}

impl<'a> Learner<'a> {
    pub(crate) fn new(
        docs: Docs<'_>,
        doc_ixs: &[u32],
        tokens: &'a [String],
        options: &GraphOptions,
        team: &Team,
        monitor: &Monitor,
    ) -> Result<Self> {
        options.check(tokens)?;
        let token_docs = Occurrences::of_docs(&docs, doc_ixs, tokens.len());
        if token_docs.n_occurrences() == 0 {
            let n_docs = doc_ixs.len();
            return Err(Error::Usage(format!(
                "nothing to learn a graph from: no token occurs in the {n_docs} documents; check the corpus and its vocabulary"
            )));
        }
        let near = neighbours::neighbours(&token_docs, options.min_support, team, monitor)?;
        let cohesive = near.cohesive();
        // Frequent tokens count more, but not in proportion.
        let worth = (0..tokens.len()).map(|token| (token_docs.df(token) as f32).ln_1p()).collect();
        Ok(Self { tokens, token_docs, near, cohesive, worth, team: team.clone() })
    }

    /// A layer of so many topics, the first of them given by their words.
    fn layer(&self, n_topics: usize, anchors: &[Vec<u32>], monitor: &Monitor) -> Result<Clusters> {
        let cores = cores::choose(&self.worth, &self.cohesive, n_topics, anchors);
        let own = cores::by_item(&cores, self.tokens.len());
        let shares = members::members(&self.near, &own, n_topics);
        let settled = settle::settle(&self.token_docs, &shares, n_topics, anchors, (&self.team, monitor))?;
        Ok(Clusters { settled, own })
    }

    /// Words of a document, in the mean.
    pub(crate) fn words(&self) -> f64 {
        self.token_docs.n_occurrences() as f64 / self.token_docs.n_docs().max(1) as f64
    }

    /// Edges into the tokens of a document, in the mean.
    pub(crate) fn doc_edges(&self, graph: &Graph) -> f64 {
        let parents = |token: usize| graph.parents(graph.n_topics() + token).len();
        let edges = |token: usize| (self.token_docs.df(token) * parents(token)) as f64;
        (0..self.tokens.len()).map(edges).sum::<f64>() / self.token_docs.n_docs().max(1) as f64
    }

    /// The whole graph.
    pub(crate) fn learn(&self, options: &GraphOptions, monitor: &Monitor) -> Result<Network> {
        options.check(self.tokens)?;
        let (sizes, constraints) = (options.layer_sizes(self.tokens.len()), options.constraints());
        let mut layers: Vec<Clusters> = Vec::new();
        for &n_topics in &sizes {
            let anchors = if layers.is_empty() { &constraints.anchors[..] } else { &[] };
            layers.push(self.layer(n_topics, anchors, monitor)?);
        }
        let (mut links, leaks) = match options.min_gain {
            Some(min_gain) => {
                gains::links(&layers, &self.token_docs, min_gain, options.doc_edges, &constraints)
            }
            None => layering::links(&layers, &self.near, &self.token_docs, options, &constraints),
        };
        if let Some(most) = options.max_edges {
            budget::prune(&mut links, most);
        }
        let telling: Vec<_> =
            layers.iter().map(|layer| layer.settled.telling_tokens(&self.token_docs, names::KEPT)).collect();
        assemble(&sizes, &links, &leaks, &self.token_docs, &telling, self.tokens, options)
    }
}

/// Edges from the topics of a layer, to tokens or to the topics of a layer below; layers are counted from the lowest up.
struct Links {
    from: usize,
    to: Option<usize>,
    layer: Layer,
}

/// Graph, weights and names: topics from the top layer down, then tokens. `leaks` has the frequency of every topic without its parents.
fn assemble(
    sizes: &[usize],
    links: &[Links],
    leaks: &[Vec<f64>],
    token_docs: &Occurrences,
    telling: &[Vec<Vec<u32>>],
    tokens: &[String],
    options: &GraphOptions,
) -> Result<Network> {
    let n_topics: usize = sizes.iter().sum();
    // The first node of each layer, the lowest last.
    let first = |layer: usize| sizes[layer + 1..].iter().sum::<usize>() as u32;
    let (mut edges, mut edge_weights) = (Vec::new(), Vec::new());
    for Links { from, to, layer } in links {
        let items = to.map_or(n_topics as u32, first);
        for (item, edge) in layer.edges() {
            edges.push((first(*from) + edge.topic, items + item));
            let weight = if options.min_gain.is_some() { weights::edge_by_gain } else { weights::edge };
            edge_weights.push(weight(edge.p));
        }
    }
    let topics = names::name(telling, &links[0].layer, tokens, &options.anchors);
    let names = Names { topics, tokens: tokens.to_vec() };
    let (graph, order) = Graph::build(n_topics, tokens.len(), &edges, &|node| names.of(node).to_owned())
        .map_err(|fault| Error::Usage(format!("the graph that was learned: {}", fault.message)))?;
    let edge = order.iter().map(|&at| edge_weights[at as usize]).collect();
    let weights = weights::weights(&graph, leaks, token_docs, edge);
    Ok(Network { graph, weights, names, training: String::new() })
}
