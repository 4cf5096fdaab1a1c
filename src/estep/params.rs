//! What the E-step needs of the weights, derived once per weight step, in f64, then rounded to f32.

use super::Bound;
use crate::error::{Error, Result};
use crate::network::{Graph, MAX_WEIGHT, Weights};
use crate::numeric::{WEIGHT_MIN, f64 as exact};

/// Parameters of one weight step.
#[derive(Debug, Clone, Default)]
pub struct Params {
    /// `w` of every edge.
    pub edge: Vec<f32>,
    /// `f'(w0)` of every node.
    pub slope: Vec<f32>,
    /// `beta - S` of every node (S is zero for tokens).
    pub bias: Vec<f32>,
    /// `w0` of every token, for documents where it is unknown.
    pub token_leak: Vec<f32>,
    /// What each topic adds to the free tail while it is outside H_d; zero unless the bound is `tail`.
    pub tail: Vec<f32>,
    /// q of each topic outside H_d; zero unless the bound is `tail`.
    pub tail_q: Vec<f64>,
    /// `-W0`, plus the whole tail: the bound of an empty document.
    pub constant: f64,
    /// Layers of topics: how long a chain of ancestors can be.
    pub n_levels: u32,
}

impl Params {
    /// Derives the parameters; fails, naming it, on a weight that is not finite and positive.
    ///
    /// # Errors
    ///
    /// [`Error::Numeric`] that names the weight.
    pub fn derive(graph: &Graph, weights: &Weights, bound: Bound) -> Result<Self> {
        if let Some(fault) = weights.fault(graph, &|node| format!("node {node}")) {
            return Err(Error::Numeric(format!(
                "{fault}: every weight must be above zero and at most {MAX_WEIGHT}"
            )));
        }
        let leak = |node: usize| weights.leak[node].max(WEIGHT_MIN);
        let mut child_sums = vec![0.0; graph.n_nodes()];
        for (&parent, &weight) in graph.edge_parents().iter().zip(&weights.edge) {
            child_sums[parent as usize] += weight;
        }
        let bias: Vec<f64> =
            (0..graph.n_nodes()).map(|node| exact::beta(leak(node)) - child_sums[node]).collect();
        let topics = if bound == Bound::Tail { &bias[..graph.n_topics()] } else { &[] };
        let mut params = Self {
            edge: weights.edge.iter().map(|&w| w.max(WEIGHT_MIN) as f32).collect(),
            slope: (0..graph.n_nodes()).map(|node| exact::log1mexp_slope(leak(node)) as f32).collect(),
            token_leak: (graph.n_topics()..graph.n_nodes()).map(|node| leak(node) as f32).collect(),
            tail: topics.iter().map(|&bias| exact::softplus(bias) as f32).collect(),
            tail_q: topics.iter().map(|&bias| exact::sigmoid(bias)).collect(),
            constant: topics.iter().map(|&bias| exact::softplus(bias)).sum::<f64>()
                - weights.leak.iter().sum::<f64>(),
            n_levels: graph.levels().into_iter().max().unwrap_or(0),
            bias: bias.iter().map(|&bias| bias as f32).collect(),
        };
        params.tail.resize(graph.n_topics(), 0.0);
        params.tail_q.resize(graph.n_topics(), 0.0);
        Ok(params)
    }
}
