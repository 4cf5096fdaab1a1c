//! A network whose size follows the data: choosing it, and saying why.

use super::Common;
use super::progress::Progress;
use noisyor::Result;
use noisyor::capacity::{Chooser, Chosen, Shape, Trial, choice_work};
use noisyor::estep::EStep;
use noisyor::monitor::Monitor;
use noisyor::network::Network;
use noisyor::train::BatchSize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Chooses a network. What is tried and chosen is said; what was chosen, and why, comes back to be written down.
pub(super) fn choose(
    chooser: &Chooser<'_>,
    estep: &mut dyn EStep,
    common: &Common,
    monitor: &Arc<Monitor>,
) -> Result<(Network, Value)> {
    let docs = chooser.docs;
    let words = docs.corpus().n_occurrences() as f64 / docs.n_docs().max(1) as f64;
    let n_docs = docs.n_docs();
    let work = choice_work(n_docs, chooser.tokens.len(), words, chooser.effort);
    let progress = Progress::start(common, monitor, "choosing a network", work);
    let chosen = chooser.choose(estep, &mut |trial| common.say(describe(trial)))?;
    drop(progress);
    let mut arguments = format!("{} --epochs {}", arguments(&chosen.shape), chosen.epochs);
    if chosen.batch != chooser.options.batch {
        arguments += &match chosen.batch {
            BatchSize::Docs(docs) => format!(" --batch {docs}"),
            BatchSize::Full | BatchSize::Auto => " --batch full".to_owned(),
        };
    }
    if chooser.options.smooth {
        arguments += " --smoothing held-out";
    }
    if chooser.options.condense {
        arguments += " --condense";
    }
    let limit = if chosen.limited { "; a larger --effort would try more topics" } else { "" };
    common.say(format_args!("chosen, for the best bound of documents held out: {arguments}{limit}"));
    let Chosen { network, shape, trials, epochs, batch, .. } = chosen;
    let mut learning = match shape {
        Shape::Learned(options) => json!(options),
        Shape::Complete(size) => json!({ "topics": [size], "parents": "all" }),
    };
    learning["effort"] = json!(chooser.effort);
    learning["epochs"] = json!(epochs);
    learning["batch"] = json!(batch);
    learning["trials"] = json!(trials);
    learning["repeat"] = json!(arguments);
    Ok((network, learning))
}

/// What was tried, and what came of it.
fn describe(trial: &Trial) -> String {
    let layers: Vec<String> = trial.topics.iter().map(usize::to_string).collect();
    let (layers, edges) = (layers.join(" + "), trial.edges);
    let kind = if trial.complete { "every edge: " } else { "" };
    let bound = trial
        .bound
        .map_or(String::new(), |bound| format!(": {bound:.4} nats a document after a short training"));
    format!("tried {layers} topics, {kind}{edges} edges{bound}")
}

/// The options that make the same network without a choice.
fn arguments(shape: &Shape) -> String {
    match shape {
        Shape::Complete(size) => format!("--topics {size} --parents all"),
        Shape::Learned(options) => {
            let topics: Vec<String> = options.topics.iter().map(usize::to_string).collect();
            let gain = options.min_gain.map_or(String::new(), |gain| format!(" --min-gain {gain}"));
            let edges = options.doc_edges.map_or(String::new(), |edges| format!(" --doc-edges {edges}"));
            format!("--topics {}{gain}{edges}", topics.join(","))
        }
    }
}
