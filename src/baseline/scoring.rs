//! Documents under a model: blocks of them in parallel, results in their order.

use super::Model;
use crate::corpus::{Docs, RELEASE_DOCS};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use rayon::prelude::*;
use std::sync::atomic::Ordering;

/// Documents of a block.
const BLOCK: usize = 128;

/// Runs blocks of documents in parallel, and hands their results on in order.
fn in_blocks<T: Send>(
    docs: &Docs<'_>,
    doc_ixs: &[u32],
    monitor: &Monitor,
    run: impl Fn(&[u32]) -> T + Sync,
    mut each: impl FnMut(&[u32], T) -> Result<()>,
) -> Result<()> {
    for slice in doc_ixs.chunks(RELEASE_DOCS) {
        let block = |doc_ixs: &[u32]| {
            monitor.go_on()?;
            let result = run(doc_ixs);
            monitor.docs_done.fetch_add(doc_ixs.len() as u64, Ordering::Relaxed);
            Ok(result)
        };
        let results = slice.par_chunks(BLOCK).map(block).collect::<Result<Vec<T>>>()?;
        docs.corpus().release();
        for (doc_ixs, result) in slice.chunks(BLOCK).zip(results) {
            each(doc_ixs, result)?;
        }
    }
    Ok(())
}

/// The score of every document.
///
/// # Errors
///
/// Cancellation; documents with unknown tokens, where the model does not take them.
pub fn scores(model: &dyn Model, docs: &Docs<'_>, doc_ixs: &[u32], monitor: &Monitor) -> Result<Vec<f64>> {
    refuse_unknown(model, docs)?;
    let mut scores = Vec::with_capacity(doc_ixs.len());
    let run = |doc_ixs: &[u32]| model.scores(docs, doc_ixs);
    in_blocks(docs, doc_ixs, monitor, run, |_, block| {
        scores.extend(block);
        Ok(())
    })?;
    Ok(scores)
}

/// log p of every document by so many random draws, and its standard error.
///
/// # Errors
///
/// [`Error::Usage`] where the model has no such estimate; else as [`scores`].
pub fn estimates(
    model: &dyn Model,
    docs: &Docs<'_>,
    doc_ixs: &[u32],
    (draws, seed): (usize, u64),
    monitor: &Monitor,
) -> Result<Vec<(f64, f64)>> {
    refuse_unknown(model, docs)?;
    let mut estimates = Vec::with_capacity(doc_ixs.len());
    let run = |doc_ixs: &[u32]| model.estimates(docs, doc_ixs, draws, seed);
    in_blocks(docs, doc_ixs, monitor, run, |_, block| {
        let none = || {
            Error::Usage(format!(
                "{} has no estimate beside its {} scores; lda of Bernoulli likelihood has",
                model.name(),
                model.score()
            ))
        };
        estimates.extend(block.ok_or_else(none)?);
        Ok(())
    })?;
    Ok(estimates)
}

/// The mean score of documents; none if there are none.
///
/// # Errors
///
/// As [`scores`].
pub fn mean_score(
    model: &dyn Model,
    docs: &Docs<'_>,
    doc_ixs: &[u32],
    monitor: &Monitor,
) -> Result<Option<f64>> {
    let scores = scores(model, docs, doc_ixs, monitor)?;
    Ok((!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64))
}

/// Score and features of every document, in order.
///
/// # Errors
///
/// As [`scores`], and what `each` fails with.
pub fn describe(
    model: &dyn Model,
    docs: &Docs<'_>,
    doc_ixs: &[u32],
    monitor: &Monitor,
    mut each: impl FnMut(u32, f64, &[f32]) -> Result<()>,
) -> Result<()> {
    refuse_unknown(model, docs)?;
    let n_features = model.feature_names().len();
    let run = |doc_ixs: &[u32]| (model.scores(docs, doc_ixs), model.features(docs, doc_ixs));
    in_blocks(docs, doc_ixs, monitor, run, |doc_ixs, (scores, features)| {
        for (at, (&doc_ix, score)) in doc_ixs.iter().zip(scores).enumerate() {
            each(doc_ix, score, &features[at * n_features..][..n_features])?;
        }
        Ok(())
    })
}

/// Refuses documents with unknown tokens for models that do not sum them out.
pub(super) fn refuse_unknown(model: &dyn Model, docs: &Docs<'_>) -> Result<()> {
    if model.takes_unknown() { Ok(()) } else { docs.all_known(&format!("baseline {}", model.name())) }
}
