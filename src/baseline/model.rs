//! What every baseline can do.

use super::Tensors;
use crate::corpus::Docs;
use crate::error::Result;
use crate::monitor::Monitor;
use serde::{Deserialize, Serialize};

/// What a score of a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Score {
    /// log p(document).
    Exact,
    /// A lower bound of it.
    Bound,
    /// A random estimate of it.
    Estimate,
}

impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Exact => "exact",
            Self::Bound => "bound",
            Self::Estimate => "estimate",
        })
    }
}

/// What a model learns from.
#[derive(Clone, Copy)]
pub struct Training<'a> {
    /// All documents, in the model's token numbers.
    pub docs: Docs<'a>,
    /// Those to learn from, ascending.
    pub train: &'a [u32],
    /// Those to choose settings by, ascending; they may be none.
    pub valid: &'a [u32],
    /// Tokens there are.
    pub n_tokens: usize,
    /// Seed of everything random.
    pub seed: u64,
    /// Counts documents, and cancels.
    pub monitor: &'a Monitor,
}

/// What a pass over the training documents came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pass {
    /// Mean score of the training documents, each as the model was when it met it; of the model's kind.
    pub train_score: Option<f64>,
    /// Parameter steps that were taken.
    pub steps: u64,
    /// Whether another pass would change nothing of worth.
    pub converged: bool,
}

/// The tokens of largest `p log(p / q)`, where q are their probabilities in all documents, with their p.
pub(super) fn most_telling(p: &[f64], q: &[f64], n: usize) -> Vec<(u32, f64)> {
    let telling = |(&p, &q): (&f64, &f64)| if p > 0.0 { p * (p / q.max(1e-12)).ln() } else { 0.0 };
    let mut tokens: Vec<(f64, u32)> = p.iter().zip(q).map(telling).zip(0..).collect();
    tokens.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    tokens.iter().take(n).filter(|(telling, _)| *telling > 0.0).map(|&(_, at)| (at, p[at as usize])).collect()
}

/// A model of binary documents. Where documents have unknown tokens, see [`Model::takes_unknown`].
pub trait Model: Send + Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// Tokens it knows.
    fn n_tokens(&self) -> usize;

    /// What [`Model::scores`] are.
    fn score(&self) -> Score;

    /// What is scored, where it is not the presence and absence of every token: such scores are not comparable with others.
    fn score_of(&self) -> Option<&'static str> {
        None
    }

    /// Numbers that it learned, for comparisons.
    fn n_parameters(&self) -> usize;

    /// Whether documents may have unknown tokens; the others are then summed out.
    fn takes_unknown(&self) -> bool {
        false
    }

    /// One pass over the training documents; `number` counts from 0. All that the next pass needs is in the model and in
    /// [`Model::tensors`], so that a run continues to the same bytes.
    ///
    /// # Errors
    ///
    /// Cancellation ([`Error::Interrupted`](crate::Error::Interrupted)): the model is then dropped, and the pass is run again from the
    /// state before it.
    fn pass(&mut self, training: &Training<'_>, number: u32) -> Result<Pass>;

    /// The score of each of these documents, in nats. They are a few hundred; blocks of documents run in parallel, so the call itself uses
    /// one thread. A score depends on its document alone, not on its neighbours.
    fn scores(&self, docs: &Docs<'_>, doc_ixs: &[u32]) -> Vec<f64>;

    /// log p of each of these documents by so many random draws, and its standard error; none where scores are as good as it gets. Blocks and
    /// threads as in [`Model::scores`].
    fn estimates(
        &self,
        _docs: &Docs<'_>,
        _doc_ixs: &[u32],
        _draws: usize,
        _seed: u64,
    ) -> Option<Vec<(f64, f64)>> {
        None
    }

    /// The probability of every token to be present, where the given ones are in these states and no other is known; none where the model
    /// cannot say.
    fn marginals(&self, _given: &[(u32, bool)]) -> Option<Vec<f64>> {
        None
    }

    /// Documents drawn from the model, where the given tokens are in these states: the tokens that are present in each, ascending. None where
    /// the model cannot draw any.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`](crate::Error::Usage) where the given states have no probability.
    fn sample(&self, _given: &[(u32, bool)], _n_docs: usize, _seed: u64) -> Result<Option<Vec<Vec<u32>>>> {
        Ok(None)
    }

    /// Names of the features.
    fn feature_names(&self) -> Vec<String>;

    /// Features of each of these documents, one row after another; blocks and threads as in [`Model::scores`].
    fn features(&self, docs: &Docs<'_>, doc_ixs: &[u32]) -> Vec<f32>;

    /// The tokens that tell a feature from the others best, with their probabilities; none where features have no tokens of their own.
    fn top_tokens(&self, _feature: usize, _n: usize) -> Vec<(u32, f64)> {
        Vec::new()
    }

    /// For every token a number in proportion to the chance that it is the next one present, where the given tokens are present and
    /// nothing else is known. None where the model cannot say.
    fn predictive(&self, _given: &[u32]) -> Option<Vec<f64>> {
        None
    }

    /// Everything it holds. Arrays whose names begin with `state_` are for further passes alone, and not in the file of a finished model.
    fn tensors(&self) -> Tensors;
}
