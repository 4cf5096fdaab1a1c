//! An E-step that all ranks share: each computes some blocks of the documents, and their sums are added up.
//!
//! Documents are divided where blocks begin, so blocks are the same whatever the number of ranks, and so are the sums, which are whole
//! numbers ([`Sums`]). A rank's share comes in a few pieces: the sums of one travel while the next is computed. Piece after piece, ranks
//! have consecutive documents, so that results can be handed on in order.
//!
//! Every rank makes the same list of documents, with identical ones joined: that is a hash of each, little beside its E-step.

use super::team::{Calling, Team};
use crate::batch::BLOCK_DOCS;
use crate::corpus::Item;
use crate::error::{Error, Result};
use crate::estep::{DocResults, EStep, EStepOptions, OnLists, Params, Scale, Sink, Stats, Sums, Work};
use crate::mcmc::Sampling;
use crate::monitor::Monitor;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use twox_hash::XxHash3_64;

/// A piece of a rank's share has so many documents, at least: sums are as large for few documents as for many.
const PIECE_DOCS: usize = 4096;
/// The same in runs that may not be divided, so that a device is not left without work between pieces.
const PIECE_RUNS: usize = 4;
/// Pieces of a share at most.
const MAX_PIECES: usize = 4;

/// An E-step on ranks.
pub struct RankedEStep {
    inner: Box<dyn EStep>,
    team: Team,
    /// This rank's own: requests to stop, which all ranks follow once they have agreed, and the documents of all ranks.
    own: Arc<Monitor>,
}

/// Which documents are whose.
struct Shares {
    n_docs: usize,
    run_docs: usize,
    n_ranks: usize,
    n_pieces: usize,
}

impl Shares {
    fn of(n_docs: usize, run_docs: usize, n_ranks: usize) -> Self {
        let least = PIECE_DOCS.max(PIECE_RUNS * run_docs);
        let n_pieces = (n_docs / (least * n_ranks)).clamp(1, MAX_PIECES);
        Self { n_docs, run_docs, n_ranks, n_pieces }
    }

    /// The documents of a rank in a piece.
    fn range(&self, piece: usize, rank: usize) -> Range<usize> {
        let (at, of) = (piece * self.n_ranks + rank, self.n_pieces * self.n_ranks);
        let n_runs = self.n_docs.div_ceil(self.run_docs);
        let begin = |at: usize| (n_runs * at / of * self.run_docs).min(self.n_docs);
        begin(at)..begin(at + 1)
    }
}

/// Sums and results of a piece on their way.
struct Coming<'a> {
    piece: usize,
    sums: Calling<'a, Vec<i64>>,
    results: Option<Calling<'a, Vec<Vec<u8>>>>,
    /// Documents of this rank.
    n_own: u64,
}

impl RankedEStep {
    /// An E-step by which this rank computes its share. Everything that is to stop by agreement of all ranks has a monitor of its own in
    /// [`Work`]; `own` is that of this rank's user.
    pub fn new(inner: Box<dyn EStep>, team: Team, own: Arc<Monitor>) -> Self {
        Self { inner, team, own }
    }

    /// Computes this rank's share of a piece, and sends it on its way.
    fn start<'a>(
        inner: &mut dyn EStep,
        (team, own): (&'a Team, &Monitor),
        (work, scale, keeps): (&Work<'_>, Scale, bool),
        (piece, range): (usize, Range<usize>),
    ) -> Result<Coming<'a>> {
        let kept_on = work.kept_on.map(|lists| lists.part(range.clone()));
        let items: &[Item] = &work.items[range];
        let share = Work { items, kept_on: kept_on.as_ref(), monitor: own, ..*work };
        let mut results = Results::default();
        let mut keep = |some: &DocResults<'_>| {
            results.add(some);
            Ok(())
        };
        let computed = match own.go_on() {
            Ok(()) => inner.run_packed(&share, scale, keeps.then_some(&mut keep)),
            Err(interrupted) => Err(interrupted),
        };
        let (sums, stops) = match computed {
            Ok(sums) => (sums, 0),
            // The others are waiting for sums, and hear of it with them.
            Err(Error::Interrupted) => (Sums::new(work.graph, work.gradients, scale), 1),
            Err(error) => return Err(error),
        };
        let sums = team.start_sum(told(sums.numbers(), stops, mark(work.params)));
        let results = keeps.then(|| team.start_gather(results.to_bytes()));
        let n_own = if stops == 0 { items.iter().map(|item| u64::from(item.count)).sum() } else { 0 };
        Ok(Coming { piece, sums, results, n_own })
    }
}

impl EStep for RankedEStep {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn run_packed(&mut self, work: &Work<'_>, scale: Scale, mut sink: Option<&mut Sink<'_>>) -> Result<Sums> {
        let Self { inner, team, own } = self;
        let shares = Shares::of(work.items.len(), inner.run_docs(work.options), team.size());
        let keeps = sink.is_some();
        let mut all = Sums::new(work.graph, work.gradients, scale);
        let mut of_piece = all.clone();
        let mark = mark(work.params);
        let mut land = |coming: Coming<'_>| -> Result<()> {
            of_piece.set(&landed(team, coming.sums, work.monitor, mark)?);
            all.merge(&of_piece);
            let others = of_piece.n_docs().saturating_sub(coming.n_own);
            own.docs_done.fetch_add(others, Ordering::Relaxed);
            let (Some(sink), Some(results)) = (&mut sink, coming.results) else { return Ok(()) };
            for (rank, bytes) in results.wait()?.iter().enumerate() {
                let results = Results::of_bytes(bytes).ok_or_else(|| out_of_step(team, rank))?;
                results.hand_on(shares.range(coming.piece, rank).start, sink)?;
            }
            Ok(())
        };
        let mut before = None;
        for piece in 0..shares.n_pieces {
            let range = shares.range(piece, team.rank());
            let started = Self::start(inner.as_mut(), (team, own), (work, scale, keeps), (piece, range))?;
            if let Some(before) = before.replace(started) {
                land(before)?;
            }
        }
        before.map_or(Ok(()), land)?;
        Ok(all)
    }

    fn sample(&mut self, sampling: &Sampling<'_>) -> Result<(Stats, OnLists)> {
        let Self { team, own, .. } = self;
        let scale = Scale::of(sampling.items)?;
        let range = Shares { n_pieces: 1, ..Shares::of(sampling.items.len(), BLOCK_DOCS, team.size()) }
            .range(0, team.rank());
        let chains = sampling.chains.map(|chains| chains.part(range.clone()));
        let share =
            Sampling { items: &sampling.items[range], chains: chains.as_ref(), monitor: own, ..*sampling };
        let mut sums = Sums::new(sampling.graph, true, scale);
        let (sums_here, ends, stops) = match share.run_in(scale) {
            Ok((sums, ends)) => (sums, ends, 0),
            Err(Error::Interrupted) => (sums.clone(), OnLists::default(), 1),
            Err(error) => return Err(error),
        };
        let mark = mark(&sampling.params()?);
        let coming = team.start_sum(told(sums_here.numbers(), stops, mark));
        let ends = postcard::to_allocvec(&ends).map_err(|e| Error::Rank(e.to_string()))?;
        let all_ends = team.start_gather(ends);
        sums.set(&landed(team, coming, sampling.monitor, mark)?);
        let mut ends = OnLists::default();
        for (rank, bytes) in all_ends.wait()?.iter().enumerate() {
            let of_rank: OnLists = postcard::from_bytes(bytes).map_err(|_| out_of_step(team, rank))?;
            ends.append(&of_rank);
        }
        Ok((sampling.stats(&sums)?, ends))
    }

    fn run_docs(&self, options: &EStepOptions) -> usize {
        self.inner.run_docs(options)
    }
}

/// A number that tells whether ranks have the same parameters.
fn mark(params: &Params) -> i64 {
    let hash = |numbers: &[f32]| XxHash3_64::oneshot(bytemuck::cast_slice(numbers));
    (hash(&params.edge) ^ hash(&params.slope).rotate_left(1) ^ hash(&params.bias).rotate_left(2)) as i64
}

/// Numbers to be added up, whether this rank was asked to stop, and its mark.
fn told(mut numbers: Vec<i64>, stops: i64, mark: i64) -> Vec<i64> {
    numbers.extend([stops, mark]);
    numbers
}

/// Sums of all ranks; an error where one of them was asked to stop, which all hear of with the same sums, or where weights differ. All ranks
/// compute them alike; but machines of different kinds may have different exponentials.
fn landed(team: &Team, coming: Calling<'_, Vec<i64>>, monitor: &Monitor, mark: i64) -> Result<Vec<i64>> {
    let mut numbers = coming.wait()?;
    let (marks, stops) = (numbers.pop(), numbers.pop());
    if marks != Some(mark.wrapping_mul(team.size() as i64)) {
        let message = "ranks have come to different weights, so their machines do not compute alike; use machines of one kind";
        return Err(Error::Rank(message.into()));
    }
    if stops != Some(0) {
        monitor.stop.store(true, Ordering::Relaxed);
        return Err(Error::Interrupted);
    }
    Ok(numbers)
}

fn out_of_step(team: &Team, rank: usize) -> Error {
    Error::Rank(format!("{} has sent results that are none", team.name(rank)))
}

/// Per-document results as they are sent.
#[derive(Default)]
struct Results {
    /// Topics of each document.
    n_topics: Vec<u32>,
    topics: Vec<u32>,
    q: Vec<f32>,
    elbo: Vec<f64>,
}

impl Results {
    fn add(&mut self, some: &DocResults<'_>) {
        self.n_topics.extend(some.topic_offsets.windows(2).map(|pair| (pair[1] - pair[0]) as u32));
        self.topics.extend_from_slice(some.topics);
        self.q.extend_from_slice(some.q);
        self.elbo.extend_from_slice(some.elbo);
    }

    /// The numbers of documents and topics, then the arrays. Ranks have the same byte order ([`super::agree()`]).
    fn to_bytes(&self) -> Vec<u8> {
        let lengths = [self.elbo.len() as u64, self.topics.len() as u64];
        let arrays: [&[u8]; 5] = [
            bytemuck::cast_slice(&lengths),
            bytemuck::cast_slice(&self.elbo),
            bytemuck::cast_slice(&self.n_topics),
            bytemuck::cast_slice(&self.topics),
            bytemuck::cast_slice(&self.q),
        ];
        arrays.concat()
    }

    /// None where the lengths do not fit.
    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (lengths, rest) = bytes.split_at_checked(16)?;
        let length =
            |at: usize| usize::try_from(bytemuck::pod_read_unaligned::<u64>(&lengths[at..at + 8])).ok();
        let (n_docs, n_topics) = (length(0)?, length(8)?);
        let (elbo, rest) = rest.split_at_checked(n_docs.checked_mul(8)?)?;
        let (of_docs, rest) = rest.split_at_checked(n_docs.checked_mul(4)?)?;
        let (topics, q) = rest.split_at_checked(n_topics.checked_mul(4)?)?;
        let results = Self {
            n_topics: bytemuck::pod_collect_to_vec(of_docs),
            topics: bytemuck::pod_collect_to_vec(topics),
            q: bytemuck::pod_collect_to_vec(q),
            elbo: bytemuck::pod_collect_to_vec(elbo),
        };
        let is_whole = results.q.len() == n_topics && q.len() == 4 * n_topics;
        let sum: u64 = results.n_topics.iter().map(|&n| u64::from(n)).sum();
        (is_whole && sum == n_topics as u64).then_some(results)
    }

    fn hand_on(&self, first_item: usize, sink: &mut Sink<'_>) -> Result<()> {
        if self.elbo.is_empty() {
            return Ok(());
        }
        let mut topic_offsets = vec![0];
        topic_offsets.extend(self.n_topics.iter().scan(0, |end, &n| {
            *end += n as usize;
            Some(*end)
        }));
        let Self { topics, q, elbo, .. } = self;
        sink(&DocResults { first_item, topic_offsets: &topic_offsets, topics, q, elbo })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_is_in_one_share_and_shares_begin_where_runs_may() {
        for (n_docs, run_docs, n_ranks) in
            [(0, 128, 3), (1, 128, 2), (2000, 128, 4), (131_072, 128, 3), (100_001, 4096, 2), (50, 1, 7)]
        {
            let shares = Shares::of(n_docs, run_docs, n_ranks);
            let mut next = 0;
            for piece in 0..shares.n_pieces {
                for rank in 0..n_ranks {
                    let range = shares.range(piece, rank);
                    assert_eq!(range.start, next);
                    assert!(range.start.is_multiple_of(run_docs) || range.start == n_docs);
                    next = range.end;
                }
            }
            assert_eq!(next, n_docs);
        }
    }

    #[test]
    fn results_come_back_and_damaged_ones_are_none() {
        let results =
            Results { n_topics: vec![2, 0], topics: vec![3, 9], q: vec![0.5, 1.0], elbo: vec![-1.0, -2.0] };
        let bytes = results.to_bytes();
        let back = Results::of_bytes(&bytes).unwrap();
        assert!(back.to_bytes() == bytes && back.topics == [3, 9]);
        assert!((0..bytes.len()).all(|len| Results::of_bytes(&bytes[..len]).is_none()));
        let mut claims = bytes;
        claims[0..8].fill(0xff);
        assert!(Results::of_bytes(&claims).is_none());
    }
}
