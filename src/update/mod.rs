//! Going on from a trained model: its topics, tokens and edges stay where they are, and tokens that it lacks are attached to its
//! topics by what occurs together.

mod together;

use crate::batch::SLICE_DOCS;
use crate::corpus::{Corpus, align};
use crate::error::{Error, Result};
use crate::estep::{DocResults, EStep, EStepOptions, Monitor};
use crate::faults::shown;
use crate::infer;
use crate::network::{Graph, Names, Network, Weights};
use crate::structure::{Candidate, edge_weight, leak_weight};
use rustc_hash::FxHashSet;
use together::Together;

/// How new tokens are attached.
#[derive(Debug, Clone, PartialEq)]
pub struct UpdateOptions {
    /// Parents of a new token at most.
    pub parents: usize,
    /// A topic and a token seen together in fewer documents do not count.
    pub min_support: u32,
    /// The E-step that tells which topics a document has.
    pub estep: EStepOptions,
}

impl UpdateOptions {
    /// Checks the numbers.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] that names the option.
    pub fn check(&self) -> Result<()> {
        if self.parents == 0 || self.min_support == 0 {
            let message = "parents of a token and documents that count must be 1 or more";
            return Err(Error::Usage(format!(
                "{message}; they are {} and {}",
                self.parents, self.min_support
            )));
        }
        self.estep.check()
    }
}

/// A model with new tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct Extended {
    /// The network: the model's nodes in their order, then the new tokens.
    pub network: Network,
    /// New tokens.
    pub n_new: usize,
    /// Those of them that have a topic.
    pub n_attached: usize,
    /// Edges from topics to them.
    pub n_new_edges: usize,
}

/// The tokens of a model, then those of a corpus that it lacks, in the corpus's order; numbers where the corpus has no names.
///
/// A name that a topic has cannot be a token's too: such a token is left out. Fails if the two have no token in common.
///
/// # Errors
///
/// [`Error::Usage`] where it fails.
pub fn joined_tokens(names: &Names, corpus: &Corpus) -> Result<Vec<String>> {
    let known = align(corpus, &names.tokens);
    if known.n_unknown == corpus.n_occurrences() as u64 {
        let example =
            known.unknown_example.map_or_else(String::new, |token| format!(" (for example {token})"));
        return Err(Error::Usage(format!(
            "the documents hold no token that the model knows{example}; give documents of the same kind as those it was trained \
             on, or train anew"
        )));
    }
    let mut taken: FxHashSet<&str> = names.topics.iter().chain(&names.tokens).map(String::as_str).collect();
    let mut tokens = names.tokens.clone();
    match corpus.token_names() {
        Some(own) => tokens.extend(own.iter().filter(|&name| taken.insert(name)).map(str::to_owned)),
        None => {
            for number in tokens.len()..corpus.n_tokens() {
                let name = number.to_string();
                if taken.contains(name.as_str()) {
                    let name = shown(&name);
                    return Err(Error::Usage(format!(
                        "token {name} is beyond the model's {}, and a node of it is called '{name}'; name the corpus's tokens with \
                         `vocab`",
                        names.tokens.len()
                    )));
                }
                tokens.push(name);
            }
        }
    }
    Ok(tokens)
}

/// Adds the tokens behind the model's own in `tokens` (as [`joined_tokens`] has them) to a model: each a child of the topics in
/// whose documents it is most telling, among `doc_ixs`.
///
/// Only topics that have tokens get new ones. The same documents give the same network, whatever the number of threads.
///
/// # Errors
///
/// [`Error::Usage`] for options that make no sense; else as [`infer::run`].
pub fn extend(
    model: &Network,
    corpus: &Corpus,
    tokens: &[String],
    doc_ixs: &[u32],
    options: &UpdateOptions,
    estep: &mut dyn EStep,
    monitor: &Monitor,
) -> Result<Extended> {
    options.check()?;
    let n_old = model.names.tokens.len();
    let n_docs = doc_ixs.len().max(1) as f64;
    let (old, joined) = (align(corpus, &model.names.tokens), align(corpus, tokens));
    let mut together =
        Together::new(&model.graph, joined.docs(corpus), tokens.len() - n_old, options.parents);
    if tokens.len() > n_old {
        let docs = old.docs(corpus);
        for slice in doc_ixs.chunks(SLICE_DOCS) {
            let mut sink = |results: &DocResults<'_>| {
                for at in 0..results.n_docs() {
                    together.add(slice[results.first_item + at], results.doc(at));
                }
                Ok(())
            };
            infer::run(model, docs, slice, &options.estep, estep, monitor, Some(&mut sink))?;
        }
    }
    let (candidates, df) = together.finish(options.min_support);
    let leaks =
        candidates.iter().zip(df).map(|(topics, df)| leak_weight(f64::from(df), n_docs, !topics.is_empty()));
    let network = grown(model, tokens, &candidates, leaks)?;
    Ok(Extended {
        n_new: candidates.len(),
        n_attached: candidates.iter().filter(|topics| !topics.is_empty()).count(),
        n_new_edges: network.graph.n_edges() - model.graph.n_edges(),
        network,
    })
}

/// The model with new tokens below these topics.
fn grown(
    model: &Network,
    tokens: &[String],
    candidates: &[Vec<Candidate>],
    leaks: impl Iterator<Item = f64>,
) -> Result<Network> {
    let names = Names { topics: model.names.topics.clone(), tokens: tokens.to_vec() };
    let mut edges: Vec<(u32, u32)> = model.graph.edges().collect();
    let mut edge_weights = model.weights.edge.clone();
    for (node, topics) in (model.graph.n_nodes() as u32..).zip(candidates) {
        for candidate in topics {
            edges.push((candidate.topic, node));
            edge_weights.push(edge_weight(candidate.p));
        }
    }
    let name = |node| names.of(node).to_owned();
    let (graph, order) = Graph::build(model.graph.n_topics(), tokens.len(), &edges, &name)
        .map_err(|fault| Error::Usage(format!("the model with new tokens: {}", fault.message)))?;
    let mut weights = Weights {
        leak: model.weights.leak.iter().copied().chain(leaks).collect(),
        edge: order.iter().map(|&at| edge_weights[at as usize]).collect(),
    };
    weights.round_to_f32();
    Ok(Network { graph, weights, names, training: String::new() })
}
