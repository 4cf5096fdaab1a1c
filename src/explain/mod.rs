//! Why one document has the topics it has: its local model where its E-step ends, and who explains whom.
//!
//! [`Explainer::explain`] runs the CPU's E-step, as `infer` does with the same options, and computes in f64 what follows from its q
//! and r; [`Explainer::why`] takes one topic's log-odds apart (Eq. 12). Under the structured bound a document has several explanations,
//! its pieces: what is said of a node is the mean over them.

mod explanation;
mod json;
mod mixture;
mod optimum;
pub mod picture;
mod piece;
mod views;
mod why;

pub use explanation::{Cause, Explanation, Source, TokenPart, TopicPart};
pub use json::{explanation_json, why_json};
pub use piece::{Piece, PieceView};
pub use views::{Branch, REAL_SHARE, WordView, probability_text};
pub use why::{ABSENT_NAMED, Term, TermKind, Why};

use crate::error::{Error, Result};
use crate::estep::{Bound, EStepOptions, Params};
use crate::network::{MAX_WEIGHT, Network};
use crate::numeric::{WEIGHT_MIN, f64 as exact};

/// Explains documents under one network. What follows from the weights alone is derived once.
#[derive(Debug)]
pub struct Explainer<'a> {
    network: &'a Network,
    options: EStepOptions,
    /// What the E-step needs.
    params: Params,
    /// `beta - S` of every node (S is zero for tokens), which the parameters have in f32.
    bias: Vec<f64>,
}

impl<'a> Explainer<'a> {
    /// For a network and an E-step; fails, naming it, on a weight that is not finite and positive.
    ///
    /// # Errors
    ///
    /// [`Error::Numeric`] that names the weight.
    pub fn new(network: &'a Network, options: &EStepOptions) -> Result<Self> {
        let Network { graph, weights, names, .. } = network;
        if let Some(fault) = weights.fault(graph, &|node| format!("'{}'", names.of(node))) {
            return Err(Error::Numeric(format!(
                "{fault}: every weight must be above zero and at most {MAX_WEIGHT}"
            )));
        }
        let mut bias: Vec<f64> = weights.leak.iter().map(|&leak| exact::beta(leak.max(WEIGHT_MIN))).collect();
        for (&parent, &weight) in graph.edge_parents().iter().zip(&weights.edge) {
            bias[parent as usize] -= weight;
        }
        let params = Params::derive(graph, weights, options.bound)?;
        Ok(Self { network, options: options.clone(), params, bias })
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
        if self.options.bound == Bound::Tail { exact::softplus(self.bias[topic]) } else { 0.0 }
    }
}
