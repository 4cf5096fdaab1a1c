//! From trained weights to a model: names of topics that found their words while they were trained, and what the file says of training.

use super::start::Start;
use crate::network::{Graph, Network, Weights};
use crate::structure::{name_topics, name_topics_by_telling, stale_names};
use crate::train::{CheckedOptions, Metrics, Outcome, TrainOptions};
use serde_json::json;

/// The model of an outcome.
pub(super) fn finished(start: &Start, options: &CheckedOptions, outcome: &Outcome) -> Network {
    model_of(start, options, (&outcome.graph, &outcome.weights), &outcome.reseeded, outcome.metrics.as_ref())
}

/// The model of these weights. Topics whose words refinement or renewal chose are named after those; so are all of a complete graph,
/// which knows no words before it is trained, and those of a learned graph that are left without the words of their names.
pub(super) fn model_of(
    start: &Start,
    options: &CheckedOptions,
    (graph, weights): (&Graph, &Weights),
    reseeded: &[u32],
    metrics: Option<&Metrics>,
) -> Network {
    let mut network = Network {
        graph: graph.clone(),
        weights: weights.clone(),
        names: start.names.clone(),
        training: summary(start, options, metrics),
    };
    let all: Vec<u32> = (0..graph.n_topics() as u32).collect();
    let learning = start.learning.as_ref();
    if options.refine.is_some() {
        name_topics(&mut network, if learning.is_some() { &all } else { reseeded });
        network.drop_empty_topics();
    } else if learning.is_some_and(|learning| learning.is_complete()) {
        name_topics_by_telling(&mut network, &all);
    } else if let Some(learning) = learning {
        // Names that a user gave stay whatever the words.
        let is_given = |topic: u32| learning.given_names().any(|name| name == network.names.of(topic));
        let stale: Vec<u32> = stale_names(&network).into_iter().filter(|&topic| !is_given(topic)).collect();
        name_topics_by_telling(&mut network, &stale);
    } else if options.renew.is_some() {
        name_topics(&mut network, reseeded);
    }
    if options.condense {
        network.drop_empty_topics();
    }
    network
}

/// What the model file says of its training: no times, no thread counts.
fn summary(start: &Start, options: &TrainOptions, metrics: Option<&Metrics>) -> String {
    json!({
        "program": concat!("noisyor ", env!("CARGO_PKG_VERSION")),
        "options": options,
        "docs": start.n_docs,
        "step": metrics.map(|m| m.step),
        "epoch": metrics.map(|m| m.epoch),
        "train_elbo": metrics.and_then(|m| m.train_elbo),
        "valid_elbo": metrics.and_then(|m| m.valid_elbo),
    })
    .to_string()
}
