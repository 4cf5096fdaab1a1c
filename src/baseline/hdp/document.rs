//! One document: pieces i of its stick, topics zeta_i of each, and the pieces phi_n of its words, by coordinate ascent.
//!
//! ```text
//! phi_n^i ~ exp(E log sigma_i(pi) + sum_k zeta_i^k x_nk)                    x_nk = E log beta_k,w_n
//! zeta_i^k ~ exp(E log sigma_k(v) + sum_n phi_n^i x_nk)
//! q(pi_i) = Beta(1 + sum_n phi_n^i, alpha + sum_n sum_{j>i} phi_n^j)        the last pi is 1
//! L = sum_n log sum_i exp(..) + sum_ik zeta_i^k (E log sigma_k(v) - log zeta_i^k) - sum_i KL(q(pi_i) || Beta(1, alpha))   at the best phi
//! ```
//!
//! Pieces begin at the topics that explain most words on their own, the first at the one with the most.

use super::stick::log_shares;
use crate::baseline::topics::{Found, Until};
use crate::gamma::dirichlet_kl;
use crate::numeric::f64::log_sum_exp;

/// A piece begins with so much of its topic; the rest is spread over all.
const START: f64 = 0.9;

/// Working memory for documents, one after another.
#[derive(Debug, Default)]
pub struct Document {
    n_topics: usize,
    alpha: f64,
    /// x_nk, word by word.
    x: Vec<f64>,
    /// Word by word.
    phi: Vec<f64>,
    /// Piece by piece.
    zeta: Vec<f64>,
    /// Parameters of q(pi_i).
    pieces: Vec<[f64; 2]>,
    bound: f64,
}

impl Document {
    pub(super) fn begin<'a>(
        &mut self,
        x: impl Iterator<Item = &'a [f64]>,
        log_shares: &[f64],
        n_pieces: usize,
        alpha: f64,
    ) {
        let n_topics = log_shares.len();
        (self.n_topics, self.alpha) = (n_topics, alpha);
        self.x.clear();
        x.for_each(|x| self.x.extend_from_slice(x));
        self.phi.clear();
        self.phi.resize(self.x.len() / n_topics * n_pieces, 0.0);
        // How many words each topic explains if every word chooses for itself.
        let (mut explained, mut shares) = (vec![0.0; n_topics], vec![0.0; n_topics]);
        for x in self.x.chunks_exact(n_topics) {
            shares.iter_mut().zip(x).zip(log_shares).for_each(|((share, x), log)| *share = x + log);
            normalise(&mut shares);
            explained.iter_mut().zip(&shares).for_each(|(sum, share)| *sum += share);
        }
        let mut topics: Vec<usize> = (0..n_topics).collect();
        topics.sort_by(|&a, &b| explained[b].total_cmp(&explained[a]));
        self.zeta.clear();
        self.zeta.resize(n_pieces * n_topics, (1.0 - START) / n_topics as f64);
        for (piece, zeta) in self.zeta.chunks_exact_mut(n_topics).enumerate() {
            match topics.get(piece) {
                Some(&topic) => zeta[topic] += START,
                None => zeta.fill(1.0 / n_topics as f64),
            }
        }
        self.pieces.clear();
        self.pieces.resize(n_pieces, [1.0, alpha]);
    }

    pub(super) fn climb(&mut self, log_shares: &[f64], until: Until) {
        self.assign(log_shares);
        for _ in 0..until.sweeps {
            let before = self.bound;
            self.break_stick();
            self.point(log_shares);
            self.assign(log_shares);
            if self.bound - before < until.tolerance {
                break;
            }
        }
    }

    fn n_pieces(&self) -> usize {
        self.pieces.len()
    }

    fn log_pieces(&self) -> Vec<f64> {
        log_shares(self.pieces.iter().map(|&[a1, a2]| (a1, a2)), self.n_pieces())
    }

    /// The best phi, and the bound there.
    fn assign(&mut self, log_shares: &[f64]) {
        let (log_pieces, n_topics) = (self.log_pieces(), self.n_topics);
        self.bound = 0.0;
        for (x, phi) in self.x.chunks_exact(n_topics).zip(self.phi.chunks_exact_mut(log_pieces.len())) {
            for ((phi, log), zeta) in phi.iter_mut().zip(&log_pieces).zip(self.zeta.chunks_exact(n_topics)) {
                *phi = log + dot(zeta, x);
            }
            self.bound += normalise(phi);
        }
        for zeta in self.zeta.chunks_exact(n_topics) {
            let entropy =
                |(&zeta, log): (&f64, &f64)| if zeta > 0.0 { zeta * (log - zeta.ln()) } else { 0.0 };
            self.bound += zeta.iter().zip(log_shares).map(entropy).sum::<f64>();
        }
        let (_, broken) = self.pieces.split_last().expect("a stick has a piece");
        let prior = [1.0, self.alpha];
        self.bound -= broken.iter().map(|piece| dirichlet_kl(piece, &prior)).sum::<f64>();
    }

    fn break_stick(&mut self) {
        let n_pieces = self.n_pieces();
        let mut behind = 0.0;
        for piece in (0..n_pieces).rev() {
            let own: f64 = self.phi[piece.min(self.phi.len())..].iter().step_by(n_pieces).sum();
            self.pieces[piece] = [1.0 + own, self.alpha + behind];
            behind += own;
        }
    }

    fn point(&mut self, log_shares: &[f64]) {
        let (n_pieces, n_topics) = (self.n_pieces(), self.n_topics);
        for (piece, zeta) in self.zeta.chunks_exact_mut(n_topics).enumerate() {
            zeta.copy_from_slice(log_shares);
            for (x, phi) in self.x.chunks_exact(n_topics).zip(self.phi.chunks_exact(n_pieces)) {
                let phi = phi[piece];
                zeta.iter_mut().zip(x).for_each(|(zeta, x)| *zeta += phi * x);
            }
            normalise(zeta);
        }
    }

    pub(super) fn tell(&self, found: &mut Found) {
        let (n_pieces, n_topics) = (self.n_pieces(), self.n_topics);
        found.score = self.bound;
        found.phi.clear();
        found.phi.resize(self.x.len(), 0.0);
        for (of_word, phi) in found.phi.chunks_exact_mut(n_topics).zip(self.phi.chunks_exact(n_pieces)) {
            self.mix(phi.iter().copied(), of_word);
        }
        let mut left = 1.0;
        let share = |(piece, [a1, a2]): (usize, &[f64; 2])| {
            let share = if piece + 1 == n_pieces { left } else { left * a1 / (a1 + a2) };
            left -= share;
            share
        };
        found.theta.clear();
        found.theta.resize(n_topics, 0.0);
        self.mix(self.pieces.iter().enumerate().map(share), &mut found.theta);
        found.counts.clear();
        found.counts.resize(n_topics, 0.0);
        self.mix(std::iter::repeat_n(1.0, n_pieces), &mut found.counts);
    }

    /// Adds topics of pieces, each with a weight.
    fn mix(&self, weights: impl Iterator<Item = f64>, topics: &mut [f64]) {
        for (weight, zeta) in weights.zip(self.zeta.chunks_exact(self.n_topics)) {
            topics.iter_mut().zip(zeta).for_each(|(sum, zeta)| *sum += weight * zeta);
        }
    }
}

/// Makes probabilities of logarithms; the logarithm of their sum.
fn normalise(logs: &mut [f64]) -> f64 {
    let sum = log_sum_exp(logs.iter().copied());
    logs.iter_mut().for_each(|x| *x = (*x - sum).exp());
    sum
}

/// In lanes, so that it is computed in vectors.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut lanes = [0.0; 4];
    for (a, b) in a.0.iter().zip(b.0) {
        (0..4).for_each(|lane| lanes[lane] += a[lane] * b[lane]);
    }
    let rest: f64 = a.1.iter().zip(b.1).map(|(a, b)| a * b).sum();
    lanes.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG_SHARES: [f64; 3] = [-0.7, -1.1, -2.0];
    /// Four words: the first two are the first topic's, the others the second's.
    const X: [[f64; 3]; 4] = [[-0.5, -4.0, -2.0], [-0.6, -3.0, -2.0], [-5.0, -0.4, -2.0], [-3.0, -0.9, -2.0]];

    fn document(n_pieces: usize, until: Until) -> Document {
        let mut document = Document::default();
        document.begin(X.iter().map(|x| &x[..]), &LOG_SHARES, n_pieces, 1.5);
        document.climb(&LOG_SHARES, until);
        document
    }

    #[test]
    fn no_sweep_lowers_the_bound() {
        for n_pieces in [1, 2, 5] {
            let bound = |sweeps| document(n_pieces, Until { sweeps, tolerance: -1.0 }).bound;
            let bounds: Vec<f64> = (0..40).map(bound).collect();
            assert!(bounds.windows(2).all(|pair| pair[1] >= pair[0] - 1e-13), "{bounds:?}");
            assert!(bounds[39] > bounds[0] + 0.01, "{bounds:?}");
        }
    }

    /// The bound as it is defined, term by term, at the fixed point; and what is told of it.
    #[test]
    fn the_bound_is_the_sum_of_its_terms() {
        let document = document(3, Until { sweeps: 1000, tolerance: 0.0 });
        let log_pieces = document.log_pieces();
        let mut bound = 0.0;
        for (x, phi) in X.iter().zip(document.phi.chunks(3)) {
            for (piece, phi) in phi.iter().enumerate() {
                let expected: f64 = (0..3).map(|k| document.zeta[3 * piece + k] * x[k]).sum();
                bound += phi * (log_pieces[piece] + expected - phi.ln());
            }
        }
        for (at, zeta) in document.zeta.iter().enumerate() {
            bound += zeta * (LOG_SHARES[at % 3] - zeta.ln());
        }
        bound -= document.pieces[..2].iter().map(|piece| dirichlet_kl(piece, &[1.0, 1.5])).sum::<f64>();
        assert!((bound - document.bound).abs() < 1e-10, "{bound}, not {}", document.bound);
        let mut found = Found::default();
        document.tell(&mut found);
        assert!((found.theta.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{:?}", found.theta);
        assert!((found.counts.iter().sum::<f64>() - 3.0).abs() < 1e-12, "{:?}", found.counts);
        assert!(found.phi.chunks(3).all(|phi| (phi.iter().sum::<f64>() - 1.0).abs() < 1e-12));
        let largest = |phi: &[f64]| (0..3).max_by(|&a, &b| phi[a].total_cmp(&phi[b]));
        let topics: Vec<_> = found.phi.chunks(3).filter_map(largest).collect();
        assert_eq!(topics, [0, 0, 1, 1], "{:?}", found.phi);
    }
}
