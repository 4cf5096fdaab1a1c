//! The structured bound: a few topics of a document clamped to settings, mean field on the rest.
//!
//! With L_s the bound of the document given setting s and the settings disjoint, `log sum_s exp(L_s)` is a lower bound of log p(y), exact
//! where all topics are clamped in all ways. The posterior is then a mixture of pieces with weights `exp(L_s - L)`; q and the
//! gradient sums are its means.
//!
//! The document begins whole. Topic by topic, the most interesting first, every piece that has some weight is split in two, topic on and
//! topic off; a split that does not raise the bound is undone. So the settings are those worth their time, not all 2^B of B topics.
//!
//! Here is what is decided; the backends compute the pieces' bounds.

use super::{MAX_CLAMPED, MIN_BETTER};
use crate::numeric::f64::log_sum_exp;

/// What a clamped topic's log-odds are raised or lowered by: q is then 1, or below 1e-34.
pub const PULL: f32 = 1e6;
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
pub(super) struct Piece {
    /// Its bound.
    pub(super) bound: f64,
    /// Which of the chosen topics are clamped in it, and which of those are on: a bit each, [`MAX_CLAMPED`] at most.
    clamped: u32,
    on: u32,
}

impl Piece {
    /// The piece with one more topic clamped, off and on; their bounds are yet to be found.
    #[inline(always)]
    pub(super) fn halves(self, topic: usize) -> [Self; 2] {
        [0, 1].map(|on| Self { clamped: self.clamped | 1 << topic, on: self.on | on << topic, ..self })
    }

    /// Whether it has one of the chosen topics clamped on or off.
    #[inline(always)]
    pub(super) fn clamp(self, topic: usize) -> Option<bool> {
        (self.clamped >> topic & 1 == 1).then_some(self.on >> topic & 1 == 1)
    }
}

/// The pieces of one document.
#[derive(Debug, Clone, Default)]
pub(super) struct Pieces {
    list: Vec<Piece>,
    /// Topics to clamp, counted from the document's first, with their interest, the most interesting first.
    chosen: Vec<(f32, u32)>,
    /// The bound that all have together.
    total: f64,
}

impl Pieces {
    /// The whole document, with its bound and up to so many topics to clamp. Of every topic: what it is worth with all others off, and
    /// its log-odds. A topic is of interest if it could explain the document alone and if its own state is not clear: competing
    /// explanations have both. (On tiny20 clamping the topics of the least clear state gained a third to two thirds as much.)
    #[inline(always)]
    pub(super) fn begin(&mut self, bound: f64, most: u32, topics: impl Iterator<Item = (f32, f32)>) {
        self.total = bound;
        self.list.clear();
        self.list.push(Piece { bound, clamped: 0, on: 0 });
        self.chosen.clear();
        for (topic, (alone, log_odds)) in (0..).zip(topics) {
            let interest = alone.min(CLEARLY) - CLARITY * log_odds.abs();
            if interest > -MIN_INTEREST {
                self.chosen.push((interest, topic));
            }
        }
        self.chosen.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        self.chosen.truncate(most as usize);
    }

    /// No document.
    pub(super) fn clear(&mut self) {
        self.list.clear();
    }

    /// The topics to clamp, counted from the document's first.
    #[inline(always)]
    pub(super) fn chosen(&self) -> impl ExactSizeIterator<Item = u32> {
        self.chosen.iter().map(|&(_, topic)| topic)
    }

    /// The pieces.
    #[inline(always)]
    pub(super) fn list(&self) -> &[Piece] {
        &self.list
    }

    /// The bound that all pieces have together.
    #[inline(always)]
    pub(super) fn total(&self) -> f64 {
        self.total
    }

    /// The share of a piece.
    #[inline(always)]
    pub(super) fn weight(&self, piece: usize) -> f64 {
        (self.list[piece].bound - self.total).exp()
    }

    /// Whether a piece is worth splitting.
    #[inline(always)]
    pub(super) fn is_to_split(&self, piece: usize) -> bool {
        self.weight(piece) >= MIN_WEIGHT
    }

    /// Splits a piece if that raises the bound; the first half takes its place, the second goes to the end. A split that changes nothing
    /// but rounding is none: topics that compete with no other gain nothing, and are common.
    #[inline(always)]
    pub(super) fn split(&mut self, piece: usize, halves: [Piece; 2]) -> bool {
        let gains = log_sum_exp(halves.map(|half| half.bound)) - self.list[piece].bound;
        let splits = gains > f64::from(MIN_BETTER);
        if splits {
            self.list[piece] = halves[0];
            self.list.push(halves[1]);
        }
        splits
    }

    /// Ends the round of one topic: shares change.
    #[inline(always)]
    pub(super) fn end_round(&mut self) {
        self.total = log_sum_exp(self.list.iter().map(|piece| piece.bound));
    }
}
