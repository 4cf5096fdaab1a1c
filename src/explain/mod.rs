//! Why one document has the topics it has: its local model at the variational optimum, in f64, and who explains whom.
//!
//! [`Explainer::explain`] finds the optimum that the E-step finds, to many more digits; [`Explainer::why`] takes one topic's
//! log-odds apart (Eq. 12).

mod explanation;
mod json;
mod optimum;
pub mod picture;
mod views;
mod why;

pub use explanation::{Cause, Explanation, Source, TokenPart, TopicPart};
pub use json::{explanation_json, why_json};
pub use views::{Branch, REAL_SHARE, WordView, probability_text};
pub use why::{ABSENT_NAMED, Term, TermKind, Why};

use crate::error::{Error, Result};
use crate::estep::Bound;
use crate::network::{MAX_WEIGHT, Network};
use crate::numeric::{WEIGHT_MIN, f64 as exact};

/// Explains documents under one network. What follows from the weights alone is derived once.
#[derive(Debug)]
pub struct Explainer<'a> {
    network: &'a Network,
    bound: Bound,
    /// `beta - S` of every node (S is zero for tokens).
    bias: Vec<f64>,
    /// `-W0`, plus the whole tail: the bound of an empty document.
    constant: f64,
    precision: optimum::Precision,
}

impl<'a> Explainer<'a> {
    /// For a network and a bound; fails, naming it, on a weight that is not finite and positive.
    pub fn new(network: &'a Network, bound: Bound) -> Result<Self> {
        let Network { graph, weights, names, .. } = network;
        if let Some(fault) = weights.fault(graph, &|node| format!("'{}'", names.of(node))) {
            return Err(Error::Numeric(format!(
                "{fault}: every weight must be above zero and at most {MAX_WEIGHT}"
            )));
        }
        let mut child_sums = vec![0.0; graph.n_nodes()];
        for (&parent, &weight) in graph.edge_parents().iter().zip(&weights.edge) {
            child_sums[parent as usize] += weight;
        }
        let explainer = Self {
            network,
            bound,
            bias: (0..graph.n_nodes())
                .map(|node| exact::beta(weights.leak[node].max(WEIGHT_MIN)) - child_sums[node])
                .collect(),
            constant: -weights.leak.iter().sum::<f64>(),
            precision: optimum::Precision::TIGHT,
        };
        let tail: f64 = (0..graph.n_topics()).map(|topic| explainer.tail(topic)).sum();
        Ok(Self { constant: explainer.constant + tail, ..explainer })
    }

    /// The same, to the few digits that the E-step finds: for many documents.
    pub fn roughly(self) -> Self {
        Self { precision: optimum::Precision::ROUGH, ..self }
    }

    /// The network.
    pub fn network(&self) -> &'a Network {
        self.network
    }

    /// The leak of a node, as it is computed with.
    fn leak(&self, node: usize) -> f64 {
        self.network.weights.leak[node].max(WEIGHT_MIN)
    }

    /// What a topic adds to the bound while it is outside the local model.
    fn tail(&self, topic: usize) -> f64 {
        if self.bound == Bound::Tail { exact::softplus(self.bias[topic]) } else { 0.0 }
    }
}
