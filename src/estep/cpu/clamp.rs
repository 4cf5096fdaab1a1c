//! The structured bound of a document: its pieces, one after another.

use super::document::{DocState, OneDoc};
use crate::estep::Stats;
use crate::estep::pieces::{PULL, Piece, Pieces};

/// The pieces of one document, and where they ended.
#[derive(Debug, Default)]
pub(super) struct Clamped {
    pub(super) pieces: Pieces,
    /// q, log-odds and r of each piece.
    ends: Vec<f32>,
}

impl DocState {
    /// Splits a document whose E-step is done, with this bound. Leaves the pieces and the mean q; returns the bound and the number of
    /// alternations that it took.
    #[inline(always)]
    pub(super) fn clamp(&mut self, doc: OneDoc<'_>, bound: f64, totals: &mut Stats) -> (f64, u32) {
        let mut clamped = std::mem::take(&mut self.clamped);
        let log_odds = &self.logit[doc.batch.topics(doc.doc_ix)];
        let topics = self.search.alone.iter().copied().zip(log_odds.iter().copied());
        clamped.pieces.begin(bound, doc.options.clamp, topics);
        let n_chosen = clamped.pieces.chosen().len();
        let mut n_alternations = 0;
        if n_chosen > 0 {
            clamped.ends.clear();
            self.save(doc, &mut clamped.ends);
        }
        for topic in 0..n_chosen {
            for piece in 0..clamped.pieces.list().len() {
                if clamped.pieces.is_to_split(piece) {
                    n_alternations += self.split(doc, &mut clamped, piece, topic, totals);
                }
            }
            clamped.pieces.end_round();
        }
        if n_alternations > 0 {
            clamped.pieces.chosen().for_each(|topic| self.set_pull(doc, topic, 0.0));
            if clamped.pieces.list().len() > 1 {
                self.mean_q(doc, &clamped);
            } else {
                self.restore(doc, &clamped.ends);
            }
        }
        self.clamped = clamped;
        (self.clamped.pieces.total(), n_alternations)
    }

    /// Splits a piece by a topic, if that raises the bound.
    #[inline(always)]
    fn split(
        &mut self,
        doc: OneDoc<'_>,
        clamped: &mut Clamped,
        piece: usize,
        topic: usize,
        totals: &mut Stats,
    ) -> u32 {
        let Clamped { pieces, ends } = clamped;
        let (len, size) = (ends.len(), doc.end_size());
        let mut halves = pieces.list()[piece].halves(topic);
        let mut n_alternations = 0;
        for half in &mut halves {
            self.pull(doc, pieces, *half);
            let (bound, n) = self.solve(doc, totals);
            half.bound = bound;
            n_alternations += n;
            self.save(doc, ends);
        }
        if pieces.split(piece, halves) {
            ends.copy_within(len..len + size, piece * size);
            ends.copy_within(len + size..len + 2 * size, len);
            ends.truncate(len + size);
        } else {
            ends.truncate(len);
        }
        n_alternations
    }

    /// Clamps the topics that are clamped in a piece, and no others.
    #[inline(always)]
    fn pull(&mut self, doc: OneDoc<'_>, pieces: &Pieces, piece: Piece) {
        for (at, topic) in pieces.chosen().enumerate() {
            let pull = piece.clamp(at).map_or(0.0, |on| if on { PULL } else { -PULL });
            self.set_pull(doc, topic, pull);
        }
    }

    /// Raises or lowers a topic's log-odds.
    #[inline(always)]
    fn set_pull(&mut self, doc: OneDoc<'_>, topic: u32, pull: f32) {
        let node = doc.batch.topics(doc.doc_ix).start + topic as usize;
        self.bias[topic as usize] = doc.params.bias[doc.batch.nodes[node].id as usize] + pull;
    }

    /// q of the mixture.
    #[inline(always)]
    fn mean_q(&mut self, doc: OneDoc<'_>, clamped: &Clamped) {
        let q = &mut self.q[doc.batch.topics(doc.doc_ix)];
        q.fill(0.0);
        for (piece, end) in clamped.ends.chunks_exact(doc.end_size()).enumerate() {
            let weight = clamped.pieces.weight(piece) as f32;
            q.iter_mut().zip(end).for_each(|(q, of_piece)| *q += weight * of_piece);
        }
        q.iter_mut().for_each(|q| *q = q.min(1.0)); // the weights add up to one to rounding
    }

    /// Puts the document where a piece ended; the mean q is lost.
    #[inline(always)]
    pub(super) fn take_piece(&mut self, doc: OneDoc<'_>, piece: usize) {
        let clamped = std::mem::take(&mut self.clamped);
        self.restore(doc, &clamped.ends[piece * doc.end_size()..][..doc.end_size()]);
        self.clamped = clamped;
    }
}
