//! What differs between topic models of words: what one document is, and what the corpus has beside its topics.

use super::rows::Rows;
use super::step::Step;
use super::{SviOptions, Tensors};
use crate::baseline::Score;
use crate::error::Result;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What is found of one document.
#[derive(Debug, Default)]
pub struct Found {
    /// Its score.
    pub(in crate::baseline) score: f64,
    /// phi_v^k: the share of each topic in each of its words, word by word.
    pub(in crate::baseline) phi: Vec<f64>,
    /// `E[theta_k]`, its shares of topics.
    pub(in crate::baseline) theta: Vec<f64>,
    /// What `targets` counts of documents, topic by topic; nothing where there are none.
    pub(in crate::baseline) counts: Vec<f64>,
}

/// A kind of document, with the corpus's parameters beside topics.
pub trait Local: Sized + Clone + PartialEq + std::fmt::Debug + Send + Sync {
    /// All options.
    type Options: Serialize + DeserializeOwned + Clone + PartialEq + std::fmt::Debug + Send + Sync;
    /// Working memory.
    type Scratch: Default;
    /// The name on the command line.
    const NAME: &'static str;
    /// What scores are.
    const SCORE: Score;
    /// What is scored.
    const SCORE_OF: &'static str;
    /// Whether rows are E log beta; else exp of it, over its largest.
    const LOGS: bool;

    /// Checks the options and begins.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`](crate::Error::Usage) for options that make no sense.
    fn start(options: &Self::Options) -> Result<Self>;

    /// The shared ones of the options.
    fn svi(options: &Self::Options) -> &SviOptions;

    /// Finds one document's topics from its words.
    fn infer(
        &self,
        options: &Self::Options,
        words: &[u32],
        rows: &Rows,
        scratch: &mut Self::Scratch,
        found: &mut Found,
    );

    /// Adds its arrays to those of the topics.
    fn save(&self, tensors: Tensors) -> Tensors {
        tensors
    }

    /// Takes its arrays out again.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`](crate::Error::Usage) where they are missing or out of range: a damaged file.
    fn load(&mut self, _tensors: &mut Tensors) -> Result<()> {
        Ok(())
    }

    /// Numbers it learned.
    fn n_parameters(&self) -> usize {
        0
    }

    /// Where a batch alone would set the corpus's parameters.
    fn targets(&self, _step: &Step<'_>) -> Vec<f64> {
        Vec::new()
    }

    /// Moves them there, by the step's rate, and learns how to correct targets.
    fn advance(&mut self, _step: &Step<'_>) {}
}
