//! What training prints at its end.

use crate::cli::Common;
use crate::cli::common::print;
use anyhow::Result;
use noisyor::network::{MAX_DEPTH, Network};
use noisyor::report::{TopicTree, largest_topics, topic_tree};
use noisyor::run::{Figures, RunConfig, Trained};
use serde_json::json;
use std::path::Path;

/// Tokens of a topic that are shown.
const TOKENS: usize = 8;
/// A tree of more topics is too long to be read: then so many are shown, the largest.
const MOST_TOPICS: usize = 100;
const LARGEST: usize = 20;

/// The topics, or the largest of many.
fn topics(network: &Network, folder: &Path) -> String {
    let n_topics = network.graph.n_topics();
    if n_topics <= MOST_TOPICS {
        return TopicTree::text(&topic_tree(network, TOKENS, MAX_DEPTH));
    }
    let largest = TopicTree::text(&largest_topics(network, LARGEST, TOKENS));
    let folder = folder.display();
    format!("{largest}the largest {LARGEST} of {n_topics} topics; all of them: noisyor topics {folder}\n")
}

/// Prints topics, bounds and the folder.
pub(super) fn report(
    figures: &Figures,
    trained: &Trained,
    config: &RunConfig,
    folder: &Path,
    common: &Common,
) -> Result<()> {
    let Figures { reference: (what, reference_elbo), test_elbo, baselines: [of_valid, of_test], .. } =
        *figures;
    let Trained { network, outcome, options, .. } = trained;
    let valid_elbo = outcome.metrics.as_ref().and_then(|m| m.valid_elbo);
    let (n_valid, n_test) = (config.run.valid_docs.unwrap_or(0), config.run.test_docs.unwrap_or(0));
    let (bound, ended) = (options.estep.bound_label(), outcome.ended.in_words());
    if common.json {
        return print(format_args!(
            "{}\n",
            json!({
                "run": folder, "model": folder.join("model.safetensors"), "ended": ended, "bound": options.estep.bound,
                "metrics": outcome.metrics, "graph_weights_elbo": reference_elbo,
                "topics": network.graph.n_topics(), "edges": network.graph.n_edges(), "held_out_docs": n_valid,
                "test_docs": n_test, "test_elbo": test_elbo, "baseline_mean": of_valid.map(|baseline| baseline.mean),
                "test_baseline_mean": of_test.map(|baseline| baseline.mean),
            })
        ));
    }
    let mut text = topics(network, folder) + "\n";
    if let Some(valid) = valid_elbo {
        text += &format!("held-out bound ({bound}) {valid:.4} nats a document, over {} documents\n", n_valid);
        if let Some(train) = outcome.metrics.as_ref().and_then(|m| m.train_elbo) {
            let gap = train - valid;
            text += &format!("of the training documents {train:.4}: {gap:.4} above those held out\n");
        }
        text += &of_valid.map_or(String::new(), |baseline| baseline.describe(valid) + "\n");
    }
    if let Some(reference) = reference_elbo {
        text += &format!("the same under the {what}: {reference:.4}\n");
    }
    if let Some(test) = test_elbo {
        text += &format!(
            "test bound ({bound}) {test:.4} nats a document, over {n_test} documents that training never saw\n"
        );
        text += &of_test.map_or(String::new(), |baseline| baseline.describe(test) + "\n");
    }
    let metrics = outcome.metrics.as_ref();
    text += &match metrics {
        Some(m) => format!("{ended}; best after {:.2} epochs (step {})\n", m.epoch, m.step),
        None => format!("{ended}\n"),
    };
    print(text + &format!("run folder: {}\n", folder.display()))
}
