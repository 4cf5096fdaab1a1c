//! What topics are sampled from: a mixture of products of Bernoulli distributions.

use crate::numeric::f64::{LogSum, sigmoid};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// One product of a mixture.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// Logarithm of its weight; weights need not sum to one.
    pub log_weight: f64,
    /// Probability of every topic to be on; exactly 0 or 1 where it is clamped.
    pub q: Vec<f64>,
}

/// A mixture of pieces, disjoint or not: the density of a configuration is the sum over all of weight times product.
#[derive(Debug, Clone, PartialEq)]
pub struct Mixture {
    pieces: Vec<Prepared>,
    log_weight: f64,
}

#[derive(Debug, Clone, PartialEq)]
struct Prepared {
    /// Sums of the weights up to and including this piece.
    end: f64,
    q: Vec<f64>,
    /// Logarithms of the weight and of the product with all topics off that are not clamped to 1.
    log_off: f64,
    /// `log q / (1 - q)`; minus infinity where q = 0, and 0 where q = 1.
    logit: Vec<f64>,
    /// How many topics are clamped to 1.
    n_certain: usize,
}

impl Mixture {
    /// A mixture of at least one piece, all with the same topics.
    pub fn new(pieces: impl IntoIterator<Item = Piece>) -> Self {
        let pieces: Vec<Piece> = pieces.into_iter().collect();
        let mut whole = LogSum::default();
        pieces.iter().for_each(|piece| whole.add(piece.log_weight));
        let mut end = 0.0;
        let prepare = |Piece { log_weight, q }| {
            let log_weight: f64 = log_weight - whole.log();
            end += log_weight.exp();
            let off = |&q: &f64| if q < 1.0 { (-q).ln_1p() } else { 0.0 };
            let logit = |&q: &f64| if q < 1.0 { q.ln() - (-q).ln_1p() } else { 0.0 };
            Prepared {
                end,
                log_off: log_weight + q.iter().map(off).sum::<f64>(),
                logit: q.iter().map(logit).collect(),
                n_certain: q.iter().filter(|&&q| q >= 1.0).count(),
                q,
            }
        };
        Self { pieces: pieces.into_iter().map(prepare).collect(), log_weight: whole.log() }
    }

    /// log of the sum of the weights as given.
    pub fn log_weight(&self) -> f64 {
        self.log_weight
    }

    /// Samples a configuration: the topics that are on, ascending.
    pub fn sample(&self, rng: &mut ChaCha8Rng, on: &mut Vec<usize>) {
        let u = rng.random::<f64>();
        let last = self.pieces.len() - 1;
        let at = self.pieces[..last].partition_point(|piece| piece.end <= u);
        on.clear();
        on.extend(
            (0..self.pieces[at].q.len()).filter(|&topic| rng.random::<f64>() < self.pieces[at].q[topic]),
        );
    }

    /// log of the density of the configuration with these topics on.
    pub fn log_density(&self, on: &[usize]) -> f64 {
        let mut density = LogSum::default();
        for piece in &self.pieces {
            let n_certain = on.iter().filter(|&&topic| piece.q[topic] >= 1.0).count();
            if n_certain == piece.n_certain {
                density.add(piece.log_off + on.iter().map(|&topic| piece.logit[topic]).sum::<f64>());
            }
        }
        density.log()
    }

    /// The probability of every topic to be on.
    pub fn marginals(&self) -> Vec<f64> {
        let mut marginals = vec![0.0; self.pieces.first().map_or(0, |piece| piece.q.len())];
        let mut begin = 0.0;
        for piece in &self.pieces {
            marginals.iter_mut().zip(&piece.q).for_each(|(sum, q)| *sum += (piece.end - begin) * q);
            begin = piece.end;
        }
        marginals
    }
}

/// q below this is taken as this before its log-odds are formed, and 1 - q as well: f32 holds no smaller 1 - q.
const SMALLEST: f64 = 1e-7;

/// q with its log-odds divided by `temperature`, at least `floor` away from 0 and 1.
pub(super) fn soften(q: &[f64], temperature: f64, floor: f64) -> Vec<f64> {
    let soft = |&q: &f64| {
        let q = q.clamp(SMALLEST, 1.0 - SMALLEST);
        sigmoid((q.ln() - (-q).ln_1p()) / temperature).clamp(floor, 1.0 - floor)
    };
    q.iter().map(soft).collect()
}
