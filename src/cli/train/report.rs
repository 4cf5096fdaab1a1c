//! What training prints at its end.

use super::Args;
use super::inputs::{Inputs, Start};
use crate::cli::Common;
use crate::cli::common::print;
use crate::cli::progress::Progress;
use anyhow::Result;
use noisyor::corpus::{Baseline, Docs, align, sample_network, split, token_frequency};
use noisyor::estep::{EStep, Monitor};
use noisyor::network::Network;
use noisyor::report::{MAX_DEPTH, TopicTree, topic_tree};
use noisyor::train::{CheckedOptions, Ended, Outcome};
use noisyor::{Error, Result as LibResult, infer};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// What is computed of a trained network.
pub(super) struct Figures {
    /// What the reference is, and its bound of the documents held out.
    reference: (&'static str, Option<f64>),
    pub(super) test_elbo: Option<f64>,
    /// Independent words, with the frequencies of the training part: of the documents held out, and of the test part.
    baselines: [Option<Baseline>; 2],
    /// Whether the user asked to stop, and figures are missing.
    pub(super) interrupted: bool,
}

/// How training ended, in words.
pub(super) fn ending(ended: Ended) -> &'static str {
    match ended {
        Ended::Finished => "finished",
        Ended::EarlyStop => "early stop",
        Ended::Interrupted => "interrupted",
    }
}

/// Computes the bounds of the test part and of the reference.
#[allow(clippy::too_many_arguments)]
pub(super) fn evaluate(
    args: &Args,
    inputs: &Inputs,
    start: Start,
    network: &Network,
    options: &CheckedOptions,
    estep: &mut dyn EStep,
    outcome: &Outcome,
    monitor: &Arc<Monitor>,
    common: &Common,
) -> LibResult<Figures> {
    // Of a run that was stopped nobody waits for these.
    let mut interrupted = outcome.ended == Ended::Interrupted;
    let mut elbo = |network: &Network, docs: Docs<'_>, doc_ixs: &[u32]| -> LibResult<Option<f64>> {
        if interrupted {
            return Ok(None);
        }
        let progress = Progress::start(common, monitor, "evaluating", doc_ixs.len() as u64);
        let (stats, _) = match infer::run(network, docs, doc_ixs, &options.estep, estep, monitor, None) {
            Err(Error::Interrupted) => {
                interrupted = true;
                return Ok(None);
            }
            run => run?,
        };
        drop(progress);
        common.say_estep(&stats);
        Ok((stats.n_docs > 0.0).then(|| stats.elbo_mean()))
    };
    let (what, reference) = reference(args, start)?;
    let reference_elbo = match reference {
        Some(network) => {
            let alignment = align(&inputs.corpus, &network.names.tokens);
            elbo(&network, alignment.docs(&inputs.corpus), &outcome.valid)?
        }
        None => None,
    };
    let test_elbo = elbo(network, inputs.docs(), &outcome.test)?;
    let baselines = baselines(inputs, network.graph.n_tokens(), options, outcome);
    Ok(Figures { reference: (what, reference_elbo), test_elbo, baselines, interrupted })
}

/// Independent words, of the documents held out and of the test part, where there are any.
fn baselines(
    inputs: &Inputs,
    n_tokens: usize,
    options: &CheckedOptions,
    outcome: &Outcome,
) -> [Option<Baseline>; 2] {
    let train = split(inputs.corpus.n_docs(), options.valid, options.test, options.seed).train;
    let frequency = |doc_ixs: &[u32]| token_frequency(&inputs.docs(), doc_ixs, n_tokens);
    let known = frequency(&train);
    [&outcome.valid, &outcome.test].map(|part| {
        let is_there = !part.is_empty();
        is_there.then(|| Baseline::new(&frequency(part), &known, train.len()))
    })
}

/// Prints topics, bounds and the folder.
pub(super) fn report(
    figures: &Figures,
    network: &Network,
    options: &CheckedOptions,
    outcome: &Outcome,
    folder: &Path,
    common: &Common,
) -> Result<()> {
    let Figures { reference: (what, reference_elbo), test_elbo, baselines: [of_valid, of_test], .. } =
        *figures;
    let valid_elbo = outcome.metrics.as_ref().and_then(|m| m.valid_elbo);
    let (n_valid, n_test) = (outcome.valid.len(), outcome.test.len());
    let (bound, ended) = (options.estep.bound_label(), ending(outcome.ended));
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
    let mut text = TopicTree::text(&topic_tree(network, 8, MAX_DEPTH)) + "\n";
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

/// A network to compare with: what the sample was sampled from, or the weights that came with a given graph.
fn reference(args: &Args, start: Start) -> LibResult<(&'static str, Option<Network>)> {
    if args.corpus.is_none() && args.graph.is_none() {
        return Ok(("network that the documents were sampled from", Some(sample_network()?)));
    }
    let what = if args.update.from.is_some() {
        "model it went on from, new tokens attached"
    } else {
        "weights that came with the graph"
    };
    let Start { graph, names, weights, learning, .. } = start;
    let given = weights.filter(|_| learning.is_null());
    let network = given.map(|weights| Network { graph, weights, names, training: String::new() });
    Ok((what, network))
}
