//! Weights to start training from.

use super::count::Counts;
use super::estimate::{Weighting, estimate};
use super::schedule::{Schedule, ScheduleOptions};
use crate::corpus::Docs;
use crate::error::Result;
use crate::monitor::Monitor;
use crate::network::{Graph, Weights};

/// An edge without weight gets no share of any document, and so would stay without.
const MIN_EDGE: f64 = 0.01;

/// The weights that moments of these documents give; where they give none, those of `otherwise`.
///
/// # Errors
///
/// As [`Schedule::of`] and [`Counts::of`].
pub(crate) fn start_weights(
    graph: &Graph,
    docs: &Docs<'_>,
    doc_ixs: &[u32],
    otherwise: &Weights,
    monitor: &Monitor,
) -> Result<Weights> {
    let schedule = Schedule::of(graph, &ScheduleOptions::default(), monitor)?;
    let doc_ixs = doc_ixs.iter().map(|&doc_ix| doc_ix as usize);
    let counts = Counts::of(docs, doc_ixs, graph.n_tokens(), &schedule, monitor)?;
    let learned = estimate(graph, &schedule, &counts, Weighting::Pooled, monitor)?;
    let mut weights = learned.weights(graph, &counts, Some(otherwise));
    weights.edge.iter_mut().for_each(|w| *w = w.max(MIN_EDGE));
    Ok(weights)
}
