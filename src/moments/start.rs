//! Weights to start training from.

use super::count::Counts;
use super::estimate::{Weighting, estimate};
use super::schedule::{Schedule, ScheduleOptions};
use super::structure::TwoLayers;
use super::suggest::{SuggestedTopic, suggest};
use crate::corpus::{Docs, token_frequency};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::network::{Graph, Weights};

/// An edge without weight gets no share of any document, and so would stay without.
const MIN_EDGE: f64 = 0.01;

/// Other edges of topics that documents suggest, and the leak of topics that none suggests: nearly nothing, but training can change it.
const OTHER_EDGE: f64 = 0.02;
const UNUSED: f64 = 0.01;
/// The share of a token's documents that the leak has at least.
const LEAK_SHARE: f64 = 0.05;

/// The weights that moments of these documents give; where they give none, those of `otherwise`. A graph of two layers with every edge has
/// no sets of tokens that belong to one topic alone: its topics are those that the documents suggest ([`suggest`]).
///
/// # Errors
///
/// As [`Schedule::of`] and [`Counts::of`].
pub(crate) fn start_weights(
    graph: &Graph,
    docs: &Docs<'_>,
    doc_ixs: &[u32],
    otherwise: &Weights,
    monitor: &Monitor,
) -> Result<Weights> {
    TwoLayers::of(graph)?;
    let (n_topics, n_tokens) = (graph.n_topics(), graph.n_tokens());
    if n_topics > 1 && graph.n_edges() == n_topics * n_tokens {
        let topics = suggest(docs, doc_ixs, n_tokens, n_topics, monitor)?;
        return Ok(suggested_weights(graph, &topics, &token_frequency(docs, doc_ixs, n_tokens)));
    }
    let schedule = Schedule::of(graph, &ScheduleOptions::default(), monitor)?;
    let doc_ixs = doc_ixs.iter().map(|&doc_ix| doc_ix as usize);
    let counts = Counts::of(docs, doc_ixs, graph.n_tokens(), &schedule, monitor)?;
    let learned = estimate(graph, &schedule, &counts, Weighting::Pooled, monitor)?;
    let mut weights = learned.weights(graph, &counts, Some(otherwise));
    weights.edge.iter_mut().for_each(|w| *w = w.max(MIN_EDGE));
    Ok(weights)
}

/// Weights of a graph with every edge, from topics that documents suggest and the tokens' frequencies.
fn suggested_weights(graph: &Graph, topics: &[SuggestedTopic], frequency: &[f64]) -> Weights {
    let n_topics = graph.n_topics();
    let weight = |(parent, child): (u32, u32)| {
        let failure =
            topics.get(parent as usize).map_or(1.0, |topic| topic.failures[child as usize - n_topics]);
        (-failure.ln()).max(OTHER_EDGE)
    };
    let prior = |topic: usize| topics.get(topic).map_or(UNUSED, |topic| -(-topic.prior).ln_1p());
    let leak = |(token, &share): (usize, &f64)| {
        let causes =
            topics.iter().map(|topic| 1.0 - topic.prior * (1.0 - topic.failures[token])).product::<f64>();
        -((1.0 - share) / causes).clamp(1e-6, 1.0 - LEAK_SHARE * share).ln()
    };
    let leak = (0..n_topics).map(prior).chain(frequency.iter().enumerate().map(leak)).collect();
    Weights { leak, edge: graph.edges().map(weight).collect() }
}
