//! All edges that a round learns of one topic, from all their sets at once.
//!
//! With `y_j = sqrt(p(1-p)) d_j / m_j`, which no factor of a single token changes, a singly-coupled set has
//!
//! ```text
//! m_ab / (m_a m_b) - 1 = y_a y_b           third cumulant / (m_a m_b m_c) = s y_a y_b y_c,   s = (2p-1) / sqrt(p(1-p)).
//! ```
//!
//! So the y fit the pairs by least squares, a matrix of rank one with some entries missing, and s fits the triplets. Single triplets of rare
//! topics divide noise by noise; here sums are divided, and nothing is left out because of the sign that noise gave it.

use super::average::Estimate;
use super::estimate::{Sweep, divided};
use super::formula::BySubset;
use super::schedule::{Kind, Step};
use super::source::{ByGroup, GROUPS, Table};
use super::{Learned, estimate::Removed};
use rustc_hash::FxHashMap;

/// Sweeps over the tokens at most, and the change, relative to the largest y, that ends them.
const MAX_SWEEPS: usize = 5000;
const TOLERANCE: f64 = 1e-14;
/// How close the solutions for single groups of documents are, for errors.
const GROUP_TOLERANCE: f64 = 1e-7;
/// Weights depend on the y, and the y on the weights.
const REWEIGHTINGS: usize = 3;

/// What a pair or a triplet says.
struct Piece {
    /// Places of its tokens.
    at: [usize; 3],
    /// Its normalised covariance or cumulant.
    value: f64,
    /// What each group of documents adds to its error.
    by_group: ByGroup,
    /// The part of its variance that comes from parameters below.
    below: f64,
    /// Documents in which its tokens are known.
    known: f64,
}

/// A topic in a round.
pub(super) struct Pool {
    /// Whether y is known, and its value or a start.
    fixed: Vec<bool>,
    start: Vec<f64>,
    /// By token, what each group of documents adds to the error of a y that is known.
    start_by_group: Vec<ByGroup>,
    /// The share of documents without each token.
    absent: Vec<f64>,
    pairs: Vec<Piece>,
    triplets: Vec<Piece>,
    /// The pairs of every token, and the other token.
    of_token: Vec<Vec<(usize, usize)>>,
    /// The place of every step's token.
    place: FxHashMap<u32, usize>,
    /// The prior, where it is known.
    prior: Option<(f64, ByGroup)>,
}

/// What steps of one topic give.
pub(super) struct Pooled {
    pub(super) prior: Estimate,
    pub(super) failures: Vec<Estimate>,
}

impl Pool {
    /// Gathers what the steps of a topic in one round use.
    pub(super) fn of(sweep: &Sweep<'_>, steps: &[Step], learned: &Learned) -> Self {
        let topic = steps[0].topic;
        let prior = learned.prior[topic as usize].as_ref().filter(|prior| !prior.degenerate);
        let mut pool = Self {
            fixed: Vec::new(),
            start: Vec::new(),
            start_by_group: Vec::new(),
            absent: Vec::new(),
            pairs: Vec::new(),
            triplets: Vec::new(),
            of_token: Vec::new(),
            place: FxHashMap::default(),
            prior: prior.map(|prior| (prior.value, prior.by_group)),
        };
        let mut sets: Vec<Vec<u32>> = Vec::new();
        for step in steps {
            for &set in &step.sets {
                let (mut tokens, n) = step.tokens(set);
                tokens[..n].sort_unstable();
                sets.push(tokens[..2].to_vec());
                if step.kind == Kind::Triplet {
                    sets.extend([vec![tokens[0], tokens[2]], tokens[1..].to_vec()]);
                    if pool.prior.is_none() {
                        sets.push(tokens.to_vec());
                    }
                }
            }
        }
        sets.sort_unstable();
        sets.dedup();
        let mut table = Table::default();
        for tokens in &sets {
            sweep.source.table(tokens, &mut table);
            let mut at = [0; 3];
            for (at, &token) in at.iter_mut().zip(tokens) {
                *at = pool.token(sweep, steps, token, learned);
            }
            for (bit, &at) in at.iter().enumerate().take(tokens.len()) {
                pool.absent[at] = table.moments[1 << bit];
            }
            let Some(piece) = piece(sweep, topic, tokens, &table, at, learned) else { continue };
            if tokens.len() == 3 {
                pool.triplets.push(piece);
            } else {
                let number = pool.pairs.len();
                pool.of_token[at[0]].push((number, at[1]));
                pool.of_token[at[1]].push((number, at[0]));
                pool.pairs.push(piece);
            }
        }
        pool
    }

    /// The place of a token; y is known where the edge is, and is not wanted.
    fn token(&mut self, sweep: &Sweep<'_>, steps: &[Step], token: u32, learned: &Learned) -> usize {
        if let Some(&place) = self.place.get(&token) {
            return place;
        }
        let failure = sweep.net.edge(steps[0].topic, token).and_then(|edge| learned.failure[edge].as_ref());
        let failure = failure.filter(|_| steps.iter().all(|step| step.token != token));
        let known = failure.filter(|failure| !failure.degenerate).zip(self.prior.as_ref());
        let y = |p: f64, f: f64| (p * (1.0 - p)).sqrt() * (1.0 - f) / (1.0 - p + p * f);
        let start = known.map_or(0.0, |(f, (p, _))| y(*p, f.value));
        let by_group = known.map_or([0.0; GROUPS], |(f, (p, p_by))| {
            std::array::from_fn(|g| y(inside(p + p_by[g]), inside(f.value + f.by_group[g])) - start)
        });
        self.fixed.push(failure.is_some());
        self.start.push(start);
        self.start_by_group.push(by_group);
        self.absent.push(1.0);
        self.of_token.push(Vec::new());
        self.place.insert(token, self.start.len() - 1);
        self.start.len() - 1
    }

    /// Fits everything; degenerate where the documents say nothing.
    pub(super) fn solve(&self, steps: &[Step], n_groups: usize) -> Pooled {
        self.solution(steps, n_groups).unwrap_or_else(|| Pooled {
            prior: self
                .prior
                .map_or(Estimate::degenerate(f64::NAN, 0), |(p, by)| Estimate::new(p, by, 0, n_groups)),
            failures: steps.iter().map(|_| Estimate::degenerate(f64::NAN, 0)).collect(),
        })
    }

    fn solution(&self, steps: &[Step], n_groups: usize) -> Option<Pooled> {
        let values: Vec<f64> = self.pairs.iter().map(|pair| pair.value).collect();
        let mut y = self.begin(&values)?;
        let mut weights = Vec::new();
        for _ in 0..REWEIGHTINGS {
            weights = self.pairs.iter().map(|pair| self.pair_weight(pair, &y)).collect();
            self.fit(&values, &weights, &mut y, TOLERANCE);
        }
        let triplet_weights: Vec<f64> =
            self.triplets.iter().map(|triplet| self.triplet_weight(triplet, &y)).collect();
        let prior_of = |y: &[f64], group: Option<usize>| match &self.prior {
            Some((p, by_group)) => Some(group.map_or(*p, |group| inside(p + by_group[group]))),
            None => self.prior_of(y, &triplet_weights, group),
        };
        let prior = prior_of(&y, None)?;
        let tokens: Vec<usize> = steps.iter().map(|step| self.place[&step.token]).collect();
        let failures: Vec<f64> = tokens.iter().map(|&at| failure(y[at], prior)).collect();

        let mut prior_by = [0.0; GROUPS];
        let mut failures_by = vec![[0.0; GROUPS]; steps.len()];
        for group in 0..if n_groups > 0 { GROUPS } else { 0 } {
            let moved: Vec<f64> = self.pairs.iter().map(|pair| pair.value + pair.by_group[group]).collect();
            let mut y = y.clone();
            for at in (0..y.len()).filter(|&at| self.fixed[at]) {
                y[at] += self.start_by_group[at][group];
            }
            self.fit(&moved, &weights, &mut y, GROUP_TOLERANCE);
            let p = prior_of(&y, Some(group)).unwrap_or(f64::NAN);
            prior_by[group] = p - prior;
            for (at, token) in tokens.iter().enumerate() {
                failures_by[at][group] = failure(y[*token], p) - failures[at];
            }
        }
        let weigh = |at: usize| {
            let used =
                self.of_token[at].iter().filter(|&&(pair, other)| weights[pair] > 0.0 && y[other] != 0.0);
            used.count() as u32
        };
        let estimate = |(at, (&token, &value)): (usize, (&usize, &f64))| match weigh(token) {
            0 => Estimate::degenerate(f64::NAN, 0),
            n_sets => Estimate::new(value, failures_by[at], n_sets, n_groups),
        };
        Some(Pooled {
            prior: Estimate::new(prior, prior_by, self.triplets.len() as u32, n_groups),
            failures: tokens.iter().zip(&failures).enumerate().map(estimate).collect(),
        })
    }

    /// All y alike, as large as the pairs are on average; none where these are not positive and nothing is known.
    fn begin(&self, values: &[f64]) -> Option<Vec<f64>> {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let known = self.start.iter().zip(&self.fixed).any(|(&y, &fixed)| fixed && y != 0.0);
        if !(known || mean > 0.0) {
            return None;
        }
        let typical = mean.max(0.0).sqrt();
        Some(self.start.iter().zip(&self.fixed).map(|(&y, &fixed)| if fixed { y } else { typical }).collect())
    }

    /// Gauss and Seidel: each y by least squares, given the others.
    fn fit(&self, values: &[f64], weights: &[f64], y: &mut [f64], tolerance: f64) {
        for _ in 0..MAX_SWEEPS {
            let (mut change, mut largest) = (0.0f64, f64::MIN_POSITIVE);
            for at in (0..y.len()).filter(|&at| !self.fixed[at]) {
                let (mut top, mut bottom) = (0.0, 0.0);
                for &(pair, other) in &self.of_token[at] {
                    top += weights[pair] * values[pair] * y[other];
                    bottom += weights[pair] * y[other] * y[other];
                }
                let next = if bottom > 0.0 { top / bottom } else { 0.0 };
                change = change.max((next - y[at]).abs());
                largest = largest.max(next.abs());
                y[at] = next;
            }
            if change <= tolerance * largest {
                return;
            }
        }
    }

    /// `s` by least squares, and the prior that has it.
    fn prior_of(&self, y: &[f64], weights: &[f64], group: Option<usize>) -> Option<f64> {
        let (mut top, mut bottom) = (0.0, 0.0);
        for (triplet, weight) in self.triplets.iter().zip(weights) {
            let product: f64 = triplet.at.iter().map(|&at| y[at]).product();
            let value = triplet.value + group.map_or(0.0, |group| triplet.by_group[group]);
            top += weight * value * product;
            bottom += weight * product * product;
        }
        let s = top / bottom;
        // (1 + s / sqrt(4 + s^2)) / 2 without cancellation where s is far below zero.
        let root = (4.0 + s * s).sqrt();
        let prior = if s < 0.0 { 2.0 / (root * (root - s)) } else { 0.5 * (1.0 + s / root) };
        prior.is_finite().then_some(prior)
    }

    /// The variance of a covariance of binary numbers is `(v_a v_b + (1-2m_a)(1-2m_b) c_ab - c_ab^2) / N` with `v = m(1-m)`; c is
    /// taken from the fit, so that weights do not vary with the values that they weigh.
    fn pair_weight(&self, pair: &Piece, y: &[f64]) -> f64 {
        let [a, b, _] = pair.at;
        let (m, v, t) =
            (self.absent[a] * self.absent[b], self.spread(a) * self.spread(b), self.tilt(a) * self.tilt(b));
        let c = (m * y[a] * y[b]).max(0.0);
        weight((v + (t * c).max(0.0) - (c * c).min(0.5 * v)) / (pair.known * m * m) + pair.below, v)
    }

    /// The same for a third central moment: the product of three, by pairs.
    fn triplet_weight(&self, triplet: &Piece, y: &[f64]) -> f64 {
        let [a, b, c] = triplet.at;
        let m = self.absent[a] * self.absent[b] * self.absent[c];
        let v = self.spread(a) * self.spread(b) * self.spread(c);
        let pair = |a: usize, b: usize, c: usize| {
            let covariance = (self.absent[a] * self.absent[b] * y[a] * y[b]).max(0.0);
            (self.tilt(a) * self.tilt(b) * covariance).max(0.0) * self.spread(c)
        };
        let all = v + pair(a, b, c) + pair(a, c, b) + pair(b, c, a);
        weight(all / (triplet.known * m * m) + triplet.below, v)
    }

    fn spread(&self, at: usize) -> f64 {
        self.absent[at] * (1.0 - self.absent[at])
    }

    fn tilt(&self, at: usize) -> f64 {
        1.0 - 2.0 * self.absent[at]
    }
}

/// Tokens that are always or never present say nothing.
fn weight(variance: f64, spread: f64) -> f64 {
    let weight = 1.0 / variance;
    if spread > 0.0 && variance > 0.0 && weight.is_finite() { weight } else { 0.0 }
}

/// A probability that an error was added to.
fn inside(p: f64) -> f64 {
    p.clamp(super::CLIP, 1.0 - super::CLIP)
}

/// `d/m = y / sqrt(p(1-p))`, and `f = (m - (1-p) d) / (m + p d)`.
fn failure(y: f64, p: f64) -> f64 {
    let d = y / (p * (1.0 - p)).sqrt();
    (1.0 - (1.0 - p) * d) / (1.0 + p * d)
}

/// `m_ab / (m_a m_b) - 1`, or the third cumulant over `m_a m_b m_c`.
fn cumulant(m: &BySubset, n_tokens: usize) -> f64 {
    let ab = m[3] / (m[1] * m[2]) - 1.0;
    if n_tokens == 2 {
        return ab;
    }
    let (ac, bc) = (m[5] / (m[1] * m[4]) - 1.0, m[6] / (m[2] * m[4]) - 1.0);
    m[7] / (m[1] * m[2] * m[4]) - 1.0 - ab - ac - bc
}

/// What a set says; none where it cannot be computed, or depends on what is degenerate.
fn piece(
    sweep: &Sweep<'_>,
    topic: u32,
    tokens: &[u32],
    table: &Table,
    at: [usize; 3],
    learned: &Learned,
) -> Option<Piece> {
    let coupling = sweep.net.coupling(topic, tokens);
    let removed = |group: Option<usize>| -> Vec<Removed> {
        coupling.iter().filter_map(|&other| sweep.influence(other, tokens, learned, group)).collect()
    };
    let usual = removed(None);
    let is_uncertain =
        |removed: &Removed| removed.by.iter().any(|(which, _)| !learned.error(*which).is_finite());
    if usual.iter().any(is_uncertain) {
        return None;
    }
    let n = tokens.len();
    let value = cumulant(&divided(&table.moments, &usual), n);
    let (mut by_group, mut below) = ([0.0; GROUPS], 0.0);
    for group in 0..if sweep.source.n_groups() > 0 { GROUPS } else { 0 } {
        let mut moments = table.moments;
        (1..1 << n).for_each(|mask| moments[mask] += table.by_group[mask][group]);
        if usual.is_empty() {
            by_group[group] = cumulant(&moments, n) - value;
        } else {
            let moved = removed(Some(group));
            by_group[group] = cumulant(&divided(&moments, &moved), n) - value;
            below += (cumulant(&divided(&table.moments, &moved), n) - value).powi(2);
        }
    }
    let piece = Piece { at, value, by_group, below, known: table.known[(1 << n) - 1] };
    (value.is_finite() && below.is_finite() && by_group.iter().all(|add| add.is_finite())).then_some(piece)
}
