//! The structured bound: a few topics of a document clamped to settings, mean field on the rest.
//!
//! With L_s the bound of the document given setting s and the settings disjoint, `log sum_s exp(L_s)` is a lower bound of log p(y), exact
//! where all topics are clamped in all ways. The posterior is then a mixture of pieces with weights `exp(L_s - L)`; q and the
//! gradient sums are its means.
//!
//! The document begins whole. Topic by topic, the most interesting first, every piece that has some weight is split in two, topic on and
//! topic off; a split that does not raise the bound is undone. So the settings are those worth their time, not all 2^B of B topics.

use super::document::{DocState, OneDoc};
use crate::estep::{MAX_CLAMPED, Stats};
use crate::numeric::f64::log_sum_exp;

/// What a clamped topic's log-odds are raised or lowered by: q is then 1, or below 1e-34.
const PULL: f32 = 1e6;
// A piece has a bit for every topic that may be clamped.
const _: () = assert!(MAX_CLAMPED <= u32::BITS);

/// Pieces of less weight are not split.
const MIN_WEIGHT: f64 = 0.05;
/// From this on, in nats, a topic is no more of interest for explaining more alone.
const CLEARLY: f32 = 3.0;
/// What a nat of a topic's log-odds takes from its interest.
const CLARITY: f32 = 0.3;
/// Topics of less interest than minus this are not clamped.
const MIN_INTEREST: f32 = 6.0;

/// One piece of a document.
#[derive(Debug, Clone, Copy)]
struct Piece {
    /// Its bound.
    bound: f64,
    /// Which of the chosen topics are clamped in it, and which of those are on: a bit each, [`MAX_CLAMPED`] at most.
    clamped: u32,
    on: u32,
}

/// The pieces of one document.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    list: Vec<Piece>,
    /// q, log-odds and r of each piece.
    ends: Vec<f32>,
    /// The bounds, for their sum.
    bounds: Vec<f64>,
    /// Topics to clamp, as nodes of the batch, the most interesting first.
    chosen: Vec<u32>,
    /// Topics with their interest.
    interest: Vec<(f32, u32)>,
}

impl Pieces {
    /// Number of pieces; 0 where the document stayed whole.
    pub(super) fn len(&self) -> usize {
        if self.list.len() > 1 { self.list.len() } else { 0 }
    }

    /// The weight of a piece where all have this bound together.
    pub(super) fn weight(&self, piece: usize, total: f64) -> f64 {
        (self.list[piece].bound - total).exp()
    }

    /// The bound of a piece.
    pub(super) fn bound(&self, piece: usize) -> f64 {
        self.list[piece].bound
    }

    /// The topics that are clamped in a piece, as nodes of the batch, and whether they are on in it.
    pub(super) fn settings(&self, piece: usize) -> impl Iterator<Item = (u32, bool)> {
        let Piece { clamped, on, .. } = self.list[piece];
        let bits = self.chosen.iter().enumerate().filter(move |(bit, _)| clamped >> bit & 1 == 1);
        bits.map(move |(bit, &topic)| (topic, on >> bit & 1 == 1))
    }

    fn total(&mut self) -> f64 {
        self.bounds.clear();
        self.bounds.extend(self.list.iter().map(|piece| piece.bound));
        log_sum_exp(&self.bounds)
    }
}

impl DocState {
    /// Splits a document whose E-step is done, with this bound. Leaves the pieces and the mean q; returns the bound and the number of
    /// alternations that it took.
    #[inline(always)]
    pub(super) fn clamp(&mut self, doc: OneDoc<'_>, bound: f64, totals: &mut Stats) -> (f64, u32) {
        let mut pieces = std::mem::take(&mut self.pieces);
        self.choose(doc, &mut pieces);
        pieces.list.clear();
        pieces.list.push(Piece { bound, clamped: 0, on: 0 });
        let (mut total, mut n_alternations) = (bound, 0);
        if !pieces.chosen.is_empty() {
            pieces.ends.clear();
            self.save(doc, &mut pieces.ends);
        }
        for topic in 0..pieces.chosen.len() {
            for at in 0..pieces.list.len() {
                if pieces.weight(at, total) >= MIN_WEIGHT {
                    n_alternations += self.split(doc, &mut pieces, at, topic, totals);
                }
            }
            total = pieces.total();
        }
        if pieces.list.len() > 1 {
            self.unclamp(doc, &pieces);
            self.mean_q(doc, &pieces, total);
        } else if n_alternations > 0 {
            self.unclamp(doc, &pieces);
            self.restore(doc, &pieces.ends);
        }
        self.pieces = pieces;
        (total, n_alternations)
    }

    /// Splits a piece by a topic, if that raises the bound.
    #[inline(always)]
    fn split(
        &mut self,
        doc: OneDoc<'_>,
        pieces: &mut Pieces,
        at: usize,
        topic: usize,
        totals: &mut Stats,
    ) -> u32 {
        let parent = pieces.list[at];
        let len = pieces.ends.len();
        let size = doc.end_size();
        let mut halves = [parent; 2];
        let mut n_alternations = 0;
        for (on, half) in (0..).zip(&mut halves) {
            half.clamped |= 1 << topic;
            half.on |= on << topic;
            for (bit, &topic) in pieces.chosen.iter().enumerate() {
                let pull = match (half.clamped >> bit & 1, half.on >> bit & 1) {
                    (0, _) => 0.0,
                    (_, 0) => -PULL,
                    _ => PULL,
                };
                self.set_pull(doc, topic as usize, pull);
            }
            let (bound, n) = self.solve(doc, totals);
            half.bound = bound;
            n_alternations += n;
            self.save(doc, &mut pieces.ends);
        }
        if log_sum_exp(&halves.map(|half| half.bound)) > parent.bound {
            // The first half takes the parent's place, the second is at the end already.
            pieces.ends.copy_within(len..len + size, at * size);
            pieces.ends.copy_within(len + size..len + 2 * size, len);
            pieces.ends.truncate(len + size);
            pieces.list[at] = halves[0];
            pieces.list.push(halves[1]);
        } else {
            pieces.ends.truncate(len);
        }
        n_alternations
    }

    /// Raises or lowers a topic's log-odds.
    #[inline(always)]
    fn set_pull(&mut self, doc: OneDoc<'_>, topic: usize, pull: f32) {
        let first = doc.batch.topics(doc.doc_ix).start;
        self.bias[topic - first] = doc.params.bias[doc.batch.nodes[topic].id as usize] + pull;
    }

    #[inline(always)]
    fn unclamp(&mut self, doc: OneDoc<'_>, pieces: &Pieces) {
        for &topic in &pieces.chosen {
            self.set_pull(doc, topic as usize, 0.0);
        }
    }

    /// q of the mixture.
    #[inline(always)]
    fn mean_q(&mut self, doc: OneDoc<'_>, pieces: &Pieces, total: f64) {
        let q = &mut self.q[doc.batch.topics(doc.doc_ix)];
        q.fill(0.0);
        for (piece, end) in pieces.ends.chunks_exact(doc.end_size()).enumerate() {
            let weight = pieces.weight(piece, total) as f32;
            q.iter_mut().zip(end).for_each(|(q, of_piece)| *q += weight * of_piece);
        }
    }

    /// Puts the document where a piece ended; the mean q is lost.
    #[inline(always)]
    pub(super) fn take_piece(&mut self, doc: OneDoc<'_>, piece: usize) {
        let pieces = std::mem::take(&mut self.pieces);
        self.restore(doc, &pieces.ends[piece * doc.end_size()..][..doc.end_size()]);
        self.pieces = pieces;
    }

    /// The topics to clamp. A topic is of interest if it could explain the document alone, `alone` being what it is worth with all
    /// others off, and if its own state is not clear: competing explanations have both. (On tiny20 clamping the topics of the least clear
    /// state gained a third to two thirds as much.)
    #[inline(always)]
    fn choose(&mut self, doc: OneDoc<'_>, pieces: &mut Pieces) {
        let topics = doc.batch.topics(doc.doc_ix);
        pieces.interest.clear();
        for (topic, &alone) in topics.zip(&self.search.alone) {
            let interest = alone.min(CLEARLY) - CLARITY * self.logit[topic].abs();
            if interest > -MIN_INTEREST {
                pieces.interest.push((interest, topic as u32));
            }
        }
        pieces.interest.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        pieces.chosen.clear();
        pieces
            .chosen
            .extend(pieces.interest.iter().take(doc.options.clamp as usize).map(|&(_, topic)| topic));
    }
}
