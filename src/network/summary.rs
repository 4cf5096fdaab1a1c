//! A model or graph in a few numbers.

use super::{Graph, Loaded, Weights};
use crate::faults::shown;
use serde::Serialize;
use std::fmt;

/// A topic whose weights are all below this switches nothing on: a child in a thousand, at most.
pub(super) const DEAD: f64 = 1e-3;

/// What a model or graph file without faults holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// `model`, or `graph` where there are no weights.
    pub kind: &'static str,
    /// Number of topics.
    pub topics: usize,
    /// Number of tokens.
    pub tokens: usize,
    /// Number of edges.
    pub edges: usize,
    /// Topics on the longest path: 1 where all topics have only tokens below.
    pub layers: usize,
    /// Parents of a token, on average.
    pub mean_parents: f64,
    /// Parents of the token that has most.
    pub max_parents: usize,
    /// Weights of the edges, of a model that has any.
    pub weights: Option<Range>,
    /// Leaks, of a model.
    pub leaks: Option<Range>,
    /// Topics that have children, all by weights below 0.001; of a model.
    pub dead_topics: Option<usize>,
    /// What training wrote about itself, or empty.
    pub training: String,
    /// Whether a checksum vouches for the content.
    pub checksum: Checksum,
}

/// Whether a checksum vouches for the content. One that does not match is a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Checksum {
    /// There is one and it matches.
    Right,
    /// There is none.
    None,
}

/// The smallest, the middle and the largest of some numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Range {
    /// The smallest.
    pub min: f64,
    /// The one in the middle; of two, the larger.
    pub median: f64,
    /// The largest.
    pub max: f64,
}

impl Range {
    fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        Some(Self { min, median: sorted[sorted.len() / 2], max })
    }
}

impl Weights {
    /// Whether a topic has children but switches none of them on.
    pub(super) fn is_dead(&self, graph: &Graph, topic: usize) -> bool {
        let edges = graph.child_edges(topic);
        !edges.is_empty() && edges.iter().all(|&edge| self.edge[edge as usize] < DEAD)
    }
}

impl Summary {
    pub(super) fn of(loaded: &Loaded, checksum: Checksum) -> Self {
        let Loaded { graph, weights, training, .. } = loaded;
        let n_parents = || (graph.n_topics()..graph.n_nodes()).map(|token| graph.parents(token).len());
        let weights = weights.as_ref();
        let dead = |weights: &Weights| (0..graph.n_topics()).filter(|&t| weights.is_dead(graph, t)).count();
        Self {
            kind: if weights.is_some() { "model" } else { "graph" },
            topics: graph.n_topics(),
            tokens: graph.n_tokens(),
            edges: graph.n_edges(),
            layers: layers(graph),
            mean_parents: n_parents().sum::<usize>() as f64 / graph.n_tokens().max(1) as f64,
            max_parents: n_parents().max().unwrap_or(0),
            weights: weights.and_then(|weights| Range::of(&weights.edge)),
            leaks: weights.and_then(|weights| Range::of(&weights.leak)),
            dead_topics: weights.map(dead),
            training: training.clone(),
            checksum,
        }
    }
}

fn layers(graph: &Graph) -> usize {
    let mut depth = vec![1; graph.n_topics()];
    for &topic in graph.topic_order() {
        let above = graph.parents(topic as usize).iter().map(|&parent| depth[parent as usize]).max();
        depth[topic as usize] = above.unwrap_or(0) + 1;
    }
    depth.into_iter().max().unwrap_or(0)
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:.4} to {:.4}, median {:.4}", self.min, self.max, self.median)
    }
}

impl fmt::Display for Summary {
    /// Aligned lines, each with its end.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut row = |label: &str, value: &dyn fmt::Display| writeln!(f, "{label:<12}{value}");
        row("kind", &self.kind)?;
        row("topics", &self.topics)?;
        row("tokens", &self.tokens)?;
        row("edges", &self.edges)?;
        row("layers", &self.layers)?;
        row("parents", &format_args!("{:.2} a token, at most {}", self.mean_parents, self.max_parents))?;
        if let Some(weights) = &self.weights {
            row("weights", weights)?;
        }
        if let Some(leaks) = &self.leaks {
            row("leaks", leaks)?;
        }
        if let Some(dead) = &self.dead_topics {
            row("dead topics", dead)?;
        }
        if !self.training.is_empty() {
            row("training", &shown(&self.training))?;
        }
        row("checksum", &if self.checksum == Checksum::Right { "right" } else { "none" })
    }
}
