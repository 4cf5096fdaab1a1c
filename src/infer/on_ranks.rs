//! Inference on several ranks: the first says which documents are wanted, every rank computes its share of them, and the first writes.
//!
//! What a document gives does not depend on those beside it, so shares may begin anywhere. The next share is computed while the topics of
//! one travel, only those that are written.

use super::inference::Each;
use super::records::{Records, Selection};
use super::{InferredBy, Job, Task};
use crate::error::{Error, Result};
use crate::estep::{DocResults, EStep, Monitor, Params, Stats};
use crate::ranks::{Calling, Said, Team, agree};
use std::ops::Range;

/// Documents of a rank between two calls.
const SHARE_DOCS: usize = 1 << 13;

/// Compares what ranks are to infer.
pub(super) fn compare(team: &Team, job: &Job<'_>) -> Result<()> {
    let fields = serde_json::to_value(job.manifest("")).map_err(|e| Error::Usage(e.to_string()))?;
    agree(team, &Said::program().and_all(&fields, &[]))
}

/// Tells the other ranks which documents come next; none at the end.
pub(super) fn tell(team: &Team, range: &Range<usize>) -> Result<()> {
    team.first([range.start as u64, range.end as u64].map(u64::to_le_bytes).concat()).map(|_| ())
}

/// Computes a range on all ranks; `each` gets every document in order.
pub(super) fn share(
    team: &Team,
    task: &Task<'_>,
    range: Range<usize>,
    selection: &mut Selection,
    estep: &mut dyn EStep,
    each: &mut Each<'_>,
) -> Result<Stats> {
    let (mut all, n_topics) = (Stats::default(), task.network.graph.n_topics());
    let mut land = |coming: Calling<'_, Vec<Vec<u8>>>| -> Result<()> {
        for (rank, bytes) in coming.wait()?.iter().enumerate() {
            let read = || {
                let (stats, records) = postcard::take_from_bytes::<Stats>(bytes).ok()?;
                Some((stats, Records::from_bytes(records, n_topics)?))
            };
            let unread = || Error::Rank(format!("{} has sent topics that are none", team.name(rank)));
            let (stats, records) = read().ok_or_else(unread)?;
            all.merge(&stats);
            records.iter().try_for_each(|(elbo, topics)| each(elbo, topics))?;
        }
        Ok(())
    };
    let mut before = None;
    for begin in range.clone().step_by(SHARE_DOCS * team.size()) {
        let begin_of = |rank: usize| range.end.min(begin + rank * SHARE_DOCS);
        let mut records = Records::default();
        let mut sink = |results: &DocResults<'_>| {
            (0..results.n_docs())
                .for_each(|at| records.push(results.elbo[at], selection.select(results, at)));
            Ok(())
        };
        let own = begin_of(team.rank())..begin_of(team.rank() + 1);
        let stats = match task.run_range(own, estep, Some(&mut sink)) {
            Ok(stats) => stats,
            Err(error) => {
                // What all ranks have done is not lost.
                before.map_or(Ok(()), land)?;
                return Err(error);
            }
        };
        let mut bytes = postcard::to_allocvec(&stats).map_err(|e| Error::Rank(e.to_string()))?;
        bytes.extend(records.to_bytes());
        if let Some(before) = before.replace(team.start_gather(bytes)) {
            land(before)?;
        }
    }
    before.map_or(Ok(()), land)?;
    Ok(all)
}

/// Computes this rank's shares of what the first rank infers by [`Inference::run_on`](super::Inference::run_on), for the same job, until
/// that has all.
///
/// # Errors
/// As [`run`](super::run); [`Error::Rank`] where another rank failed, [`Error::Usage`] where the first rank has another job.
pub fn help(job: &Job<'_>, team: &Team, estep: &mut dyn EStep, monitor: &Monitor) -> Result<()> {
    team.share_error(help_with(job, team, estep, monitor))
}

fn help_with(job: &Job<'_>, team: &Team, estep: &mut dyn EStep, monitor: &Monitor) -> Result<()> {
    let InferredBy::Network { network, options, given, .. } = job.by else {
        return Err(Error::Usage("a baseline has no E-step".into()));
    };
    compare(team, job)?;
    let params = Params::derive(&network.graph, &network.weights, options.bound)?;
    let mut selection = Selection::new(job.threshold, &params, network.graph.n_topics(), given);
    let task = Task { network, params: &params, docs: job.docs, options, monitor };
    loop {
        let told = team.first(Vec::new())?;
        let mut bounds =
            told.chunks_exact(8).map(|bytes| bytemuck::pod_read_unaligned::<u64>(bytes) as usize);
        let range = bounds.next().unwrap_or(0)..bounds.next().unwrap_or(0);
        if range.is_empty() {
            return Ok(());
        }
        if range.end > job.docs.n_docs() {
            return Err(Error::Rank(format!("{} asks for documents that are not there", team.name(0))));
        }
        share(team, &task, range, &mut selection, estep, &mut |_, _| Ok(()))?;
    }
}
