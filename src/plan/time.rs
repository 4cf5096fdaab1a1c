//! From a rehearsal to the run itself.

use super::rehearsal::{Course, Rehearsal, Seconds};
use super::survey::Survey;
use crate::train::TrainOptions;
use serde::Serialize;

/// Epochs are gone through one by one up to here; all later ones cost what this one does.
const MAX_EPOCHS: u64 = 1000;
/// How quickly updates may fall with the number of weight steps beyond the rehearsal, as an exponent.
const STEEPEST: f64 = -0.3;

/// What a run takes, early stopping aside.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Times {
    /// Reading the graph and the corpus, as it took now.
    pub reading: Seconds,
    /// An epoch's weight steps, in the mean over the run.
    pub epoch: Seconds,
    /// An evaluation of the documents held out.
    pub evaluation: Seconds,
    /// The whole run: reading, epochs, evaluations, the test.
    pub total: Seconds,
    /// `infer` over the whole corpus with the trained model, reading and writing aside.
    pub infer: Seconds,
    /// Documents per second of training.
    pub docs_per_s: f64,
    /// Evaluations, the last one at the end.
    pub evaluations: u64,
    /// Alternations a document, in the mean over the run.
    pub alternations: f64,
}

/// Edge updates an item of all documents, epoch by epoch of the larger rehearsal.
///
/// Between the two rehearsals updates change by a power of the number of documents, and so they go on: in the first epoch they
/// fall, as the first steps say more, later they grow, but not beyond those of documents held out. As many documents come in, those trained on and those held out become one and the same.
fn updates(rehearsal: &Rehearsal, n_items: usize) -> Vec<f64> {
    let [smaller, larger] = &rehearsal.courses[..] else {
        return rehearsal.courses.last().map(|course| course.updates.clone()).unwrap_or_default();
    };
    let octaves = |more: usize, fewer: usize| (more as f64 / fewer.max(1) as f64).ln();
    let further = octaves(n_items, larger.n_items) / octaves(larger.n_items, smaller.n_items).max(1e-9);
    let held_out = rehearsal.last[1].0;
    let grown = |(&fewer, &more): (&f64, &f64)| {
        (more * (more / fewer.max(1e-9)).powf(further)).min(held_out.max(more))
    };
    smaller.updates.iter().zip(&larger.updates).map(grown).collect()
}

/// Updates in an epoch of the run, from those in the rehearsal's: weight steps are what counts.
fn at_epoch(updates: &[f64], course: &Course, n_batches: usize, epoch: u64) -> f64 {
    let Some(&last) = updates.last() else { return 0.0 };
    let n = updates.len() as f64;
    let place = (epoch as f64 * n_batches as f64 / course.n_batches.max(1) as f64).max(1.0);
    if place <= n {
        let (below, share) = (place.floor() as usize - 1, place.fract());
        let above = updates[(below + 1).min(updates.len() - 1)];
        return updates[below] * (1.0 - share) + above * share;
    }
    let middle = updates[updates.len() / 2 - usize::from(updates.len() > 1)];
    let slope = if updates.len() < 4 { 0.0 } else { (last / middle).ln() / 2f64.ln() };
    last * (place / n).powf(slope.clamp(STEEPEST, 0.0))
}

/// The times of a run of so many weight steps; `given`: the graph has weights, which are evaluated in the end.
pub(super) fn times(
    rehearsal: &Rehearsal,
    survey: &Survey,
    options: &TrainOptions,
    n_steps: u64,
    given: bool,
    reading: Seconds,
) -> Times {
    let (train, valid) = (&survey.train, &survey.valid);
    let n_batches = survey.n_batches as u64;
    let updates = updates(rehearsal, train.n_items);
    let Some(course) = rehearsal.courses.last() else { return Times::default() };
    let n_epochs = n_steps as f64 / n_batches as f64;
    let mut sum = 0.0;
    for epoch in 1..=n_steps.div_ceil(n_batches).min(MAX_EPOCHS) {
        let is_last = epoch == MAX_EPOCHS;
        let share =
            if is_last { n_epochs - (epoch - 1) as f64 } else { (n_epochs - (epoch - 1) as f64).min(1.0) };
        sum += share * at_epoch(&updates, course, survey.n_batches, epoch);
    }
    let mean = if n_epochs > 0.0 { sum / n_epochs } else { updates.first().copied().unwrap_or(0.0) };
    let last = at_epoch(&updates, course, survey.n_batches, n_steps.div_ceil(n_batches).max(1));
    let [with_sums, without] = rehearsal.rates;
    let [edges, valid_edges] = rehearsal.edges;
    let epoch =
        with_sums.item(edges, mean).times(train.n_items as f64).plus(rehearsal.fixed.times(n_batches as f64));
    // Documents held out lie between those trained on and those held out from a few.
    let held_out = (last.max(1.0) * rehearsal.last[1].0.max(last).max(1.0)).sqrt();
    let of_held_out =
        |n_items: usize| without.item(valid_edges, held_out).times(n_items as f64).plus(rehearsal.fixed);
    let evaluation = of_held_out(valid.n_items);
    let evaluations = n_steps.div_ceil(n_batches).div_ceil(u64::from(options.eval_every)).max(1);
    let n_evaluated = if valid.n_docs == 0 { 0.0 } else { (evaluations + u64::from(given)) as f64 };
    let test = if survey.n_test == 0 { Seconds::default() } else { of_held_out(survey.n_test) };
    let total = reading.plus(epoch.times(n_epochs)).plus(evaluation.times(n_evaluated)).plus(test);
    let n_all = train.n_docs + valid.n_docs + survey.n_test;
    Times {
        reading,
        epoch,
        evaluation,
        total,
        infer: without.item(edges, last).times(n_all as f64),
        docs_per_s: train.n_docs as f64 / epoch.wall.max(1e-9),
        evaluations,
        alternations: rehearsal.last[0].1 * mean / rehearsal.last[0].0.max(1e-9),
    }
}
