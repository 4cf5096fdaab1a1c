//! Document completion: some of a document's active words are held out, and predicted from the others.
//!
//! ```text
//! score = mean over held-out words v of log( m_v / sum of m over all words that are not given )
//! ```
//!
//! where m is the model's [`Model::predictive`]. A word occurs once in a document, so given words are left out of the sum; that way
//! models of which words occur and models of how words are drawn are scored alike.

use crate::baseline::Model;
use crate::corpus::Docs;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::rng::{Stream, rng};
use rand::RngExt;
use rayon::prelude::*;

/// Documents of one thread at a time.
const BLOCK: usize = 64;

/// How well words are predicted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Completion {
    /// Mean log-probability of a held-out word, in nats.
    pub mean: f64,
    /// Its standard error over documents that have such words.
    pub se: f64,
    /// Words that were held out.
    pub n_words: u64,
    /// Documents that had any.
    pub n_docs: u64,
}

/// Holds out a share of the active words of each document, by seed and document, and predicts them from the others. Documents of which
/// nothing is held out, or nothing would be left, do not count.
///
/// # Errors
///
/// [`Error::Usage`] where the model has no [`Model::predictive`], the share is not between 0 and 1, or there is no word to predict;
/// [`Error::Interrupted`].
pub fn completion(
    model: &dyn Model,
    docs: &Docs<'_>,
    doc_ixs: &[u32],
    share: f64,
    seed: u64,
    monitor: &Monitor,
) -> Result<Completion> {
    if !(share > 0.0 && share < 1.0) {
        return Err(Error::Usage(format!(
            "the share of words to hold out is {share}; give one between 0 and 1"
        )));
    }
    if model.predictive(&[]).is_none() {
        let message = format!("{} does not predict words from others; lda, hdp and nmf do", model.name());
        return Err(Error::Usage(message));
    }
    let of_doc = |&doc_ix: &u32| {
        let mut random = rng(seed, Stream::HeldOut(u64::from(doc_ix)));
        let (mut given, mut held_out) = (Vec::new(), Vec::new());
        for token in docs.tokens(doc_ix as usize) {
            if random.random::<f64>() < share { held_out.push(token) } else { given.push(token) }
        }
        if given.is_empty() || held_out.is_empty() {
            return None;
        }
        let mut weights = model.predictive(&given)?;
        given.iter().for_each(|&token| weights[token as usize] = 0.0);
        let log_sum = weights.iter().sum::<f64>().ln();
        let sum: f64 = held_out.iter().map(|&token| weights[token as usize].ln() - log_sum).sum();
        Some((sum, held_out.len() as u64))
    };
    let blocks = doc_ixs.par_chunks(BLOCK).map(|doc_ixs| {
        monitor.go_on()?;
        Ok(doc_ixs.iter().filter_map(of_doc).collect::<Vec<_>>())
    });
    let of_docs: Vec<(f64, u64)> = blocks.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    let (sum, n_words) = of_docs.iter().fold((0.0, 0), |(sum, n), of_doc| (sum + of_doc.0, n + of_doc.1));
    if n_words == 0 {
        return Err(Error::Usage("no word could be held out: documents have too few active words".into()));
    }
    let (mean, n_docs) = (sum / n_words as f64, of_docs.len() as f64);
    // Of a ratio of two sums over documents.
    let squares: f64 = of_docs.iter().map(|&(sum, n)| (sum - n as f64 * mean).powi(2)).sum();
    let se = (squares * n_docs / (n_docs - 1.0)).sqrt() / n_words as f64;
    Ok(Completion { mean, se, n_words, n_docs: of_docs.len() as u64 })
}
