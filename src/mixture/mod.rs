//! Mixtures of Bernoulli distributions: a document has one component, which switches on each token on its own.
//!
//! With share pi_k of component k and P_kt its probability of token t,
//!
//! ```text
//! log p(d, k) = c_k + sum over tokens t of d of l_kt
//! c_k = log pi_k + sum_t log(1 - P_kt),   l_kt = log(P_kt / (1 - P_kt))
//! ```
//!
//! so a document costs its own tokens and not the vocabulary. [`Mixture::fit`] finds shares and probabilities by EM; a mixture is
//! where the weights of a complete layer of topics can start from (`weights.rs`).

mod estep;
mod fit;
#[cfg(test)]
mod tests;
mod weights;

pub(crate) use estep::Scores;
pub(crate) use fit::Data;
pub use fit::{Counts, Pseudo, mixture_work};
pub(crate) use weights::complete_layer;

/// Options of [`Mixture::fit`].
#[derive(Debug, Clone, PartialEq)]
pub struct MixtureOptions {
    /// Components.
    pub components: usize,
    /// Iterations of EM at most.
    pub iterations: u32,
    /// EM ends where an iteration gains less than this, in nats a document.
    pub tolerance: f64,
    /// Documents that every component has besides its own: they hold each token as often as all documents do. None: as many as
    /// make documents held out likeliest.
    pub smoothing: Option<f64>,
    /// Seed of the start.
    pub seed: u64,
}

impl Default for MixtureOptions {
    fn default() -> Self {
        Self { components: 10, iterations: 40, tolerance: 1e-4, smoothing: None, seed: 0 }
    }
}

/// A mixture of Bernoulli distributions.
#[derive(Debug, Clone, PartialEq)]
pub struct Mixture {
    /// Share of each component, pi; they add up to one.
    pub shares: Vec<f64>,
    /// Probability of each token, P, component by component.
    pub p: Vec<f64>,
    /// Share of the documents that hold each token.
    pub frequency: Vec<f64>,
    /// Mean log-likelihood of the documents it was fitted to, in nats.
    pub log_likelihood: f64,
    /// What EM climbs: the mean log-likelihood, and of the documents that smoothing adds; after every iteration.
    pub course: Vec<f64>,
}

impl Mixture {
    /// Number of components.
    pub fn n_components(&self) -> usize {
        self.shares.len()
    }

    /// Number of tokens.
    pub fn n_tokens(&self) -> usize {
        self.frequency.len()
    }

    /// Probability of each token in one component.
    pub fn component(&self, component: usize) -> &[f64] {
        &self.p[component * self.n_tokens()..][..self.n_tokens()]
    }
}
