//! The part of the page's data that it reads at once: what was run, curves, histograms and counts.

use super::Report;
use super::gather::Gathered;
use crate::error::{Error, Result};
use crate::network::Network;
use crate::posterior::calibration::Calibration;
use crate::train::Metrics;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Points of a curve at most.
const POINTS: usize = 2000;
/// Bins of weights a decade.
const BINS_PER_DECADE: f64 = 4.0;
/// A topic whose weights are all below this switches nothing on.
const NOTHING: f64 = 1e-3;

/// The summary as JSON.
pub(super) fn summary(report: &Report<'_>, left_out: &str) -> Result<String> {
    let network = report.network;
    let (graph, weights) = (&network.graph, &network.weights);
    let n_topics = graph.n_topics();
    let gathered = report.docs.as_ref().map(|(_, gathered)| gathered);
    // Weights are kept as f32.
    let floor = f64::from(report.floor as f32);
    let (topic_leaks, token_leaks) = weights.leak.split_at(n_topics);
    let summary = json!({
        "title": report.title,
        "about": report.about,
        "metrics": curves(report.metrics, report.clamp),
        "topics": n_topics,
        "tokens": graph.n_tokens(),
        "edges": graph.n_edges(),
        "docs": gathered.map(about_docs),
        "no_docs": report.no_docs,
        "weights": {
            "per_decade": BINS_PER_DECADE,
            "edges": decades(&weights.edge),
            "topic_leaks": decades(topic_leaks),
            "token_leaks": decades(token_leaks),
        },
        "floor": report.floor,
        "at_floor": weights.edge.iter().filter(|&&weight| weight <= floor).count(),
        "switch_nothing": (0..n_topics).filter(|&topic| switches_nothing(network, topic)).count(),
        "left_out": left_out,
        "calibration": report.calibration.as_ref().map(Calibration::json),
    });
    serde_json::to_string(&summary).map_err(|e| Error::Usage(format!("the page's data are no JSON: {e}")))
}

/// Columns of the evaluations; of very many, equally spaced ones and the last.
fn curves(metrics: &[Metrics], clamp: u32) -> Value {
    let every = metrics.len().div_ceil(POINTS).max(1);
    let is_kept = |at: usize| at.is_multiple_of(every) || at + 1 == metrics.len();
    let kept: Vec<&Metrics> =
        metrics.iter().enumerate().filter(|(at, _)| is_kept(*at)).map(|(_, metrics)| metrics).collect();
    let column = |value: &dyn Fn(&Metrics) -> Value| kept.iter().map(|m| value(m)).collect::<Vec<Value>>();
    json!({
        "n_all": metrics.len(),
        "bound": metrics.last().map(|metrics| metrics.bound.label(clamp)),
        "step": column(&|m| json!(m.step)),
        "epoch": column(&|m| json!(m.epoch)),
        "seconds": column(&|m| json!(m.seconds)),
        "train": column(&|m| json!(m.train_elbo)),
        "valid": column(&|m| json!(m.valid_elbo)),
        "n_edges": column(&|m| json!(m.n_edges)),
    })
}

fn about_docs(gathered: &Gathered) -> Value {
    let counts = [0, 1, 2].map(|part| gathered.bounds.n_values(part));
    let means =
        [0, 1, 2].map(|part| (counts[part] > 0).then(|| gathered.elbo_sums[part] / counts[part] as f64));
    let bins: Vec<Value> =
        gathered.bounds.counts.iter().map(|(bin, [a, b, c])| json!([bin, a, b, c])).collect();
    json!({
        "looked_at": gathered.n_docs,
        "all": gathered.n_all,
        "of_run": gathered.parts.is_some(),
        "counts": counts,
        "means": means,
        "bound": gathered.bound,
        "empty_bound": gathered.empty_bound,
        "bin_width": gathered.bounds.width,
        "bins": bins,
    })
}

/// Counts of weights by their logarithm: bin, count.
fn decades(weights: &[f64]) -> Vec<(i64, u64)> {
    let mut bins: BTreeMap<i64, u64> = BTreeMap::new();
    for weight in weights {
        *bins.entry((weight.log10() * BINS_PER_DECADE).floor() as i64).or_default() += 1;
    }
    bins.into_iter().collect()
}

fn switches_nothing(network: &Network, topic: usize) -> bool {
    network.graph.child_edges(topic).iter().all(|&edge| network.weights.edge[edge as usize] < NOTHING)
}
