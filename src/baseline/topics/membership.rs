//! One document of mixed membership: the shares theta of K topics that n words have in common.
//!
//! With p_kv the probability of what was seen of word v under topic k,
//!
//! ```text
//! phi_vk = e_k p_kv / den_v,   den_v = sum_k e_k p_kv,   gamma_k = alpha_k + e_k sum_v p_kv / den_v
//! e_k = exp(psi(gamma_k) - psi(gamma.))   where theta ~ Dir(alpha);   e_k = gamma_k where theta is a plain parameter
//! L = sum_v log den_v - KL(Dir(gamma) || Dir(alpha))   at the best phi
//! ```
//!
//! No phi is stored: a sweep is two dense products. e is kept relative to its largest, so that nothing underflows.

use super::local::Found;
use super::rows::Rows;
use super::shares;
use crate::gamma::{digamma, dirichlet_kl};
use multiversion::multiversion;

/// Numbers that are added up side by side: whole vectors, whatever the machine's width.
const LANES: usize = 8;
/// Factors of a denominator are at least this: their product is above 0.
pub(crate) const LEAST: f64 = 1e-150;

/// What theta is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Prior<'a> {
    /// Drawn from Dir(alpha).
    Dirichlet(&'a [f64]),
    /// A parameter: gamma is its best value, up to a factor.
    None,
}

/// When sweeps end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Until {
    /// Sweeps at most.
    pub(crate) sweeps: u32,
    /// No gamma moves by this over the number of topics.
    pub(crate) tolerance: f64,
}

/// Working memory for documents, one after another.
#[derive(Debug, Default)]
pub struct Membership {
    /// Words, padded to whole vectors.
    width: usize,
    /// p_kv, topic by topic; 1 in the padding.
    p: Vec<f64>,
    /// Which words count: 1 or 0.
    mask: Vec<f64>,
    /// e_k, relative to its largest.
    e: Vec<f64>,
    /// The logarithm of the factor that is missing in e.
    log_scale: f64,
    den: Vec<f64>,
    /// mask_v / den_v.
    share: Vec<f64>,
    sums: Vec<f64>,
    gamma: Vec<f64>,
}

impl Membership {
    /// Begins a document of so many words, all of which count.
    pub(crate) fn begin(&mut self, n_topics: usize, n_words: usize) {
        let width = n_words.next_multiple_of(LANES);
        self.width = width;
        self.p.clear();
        self.p.resize(n_topics * width, 1.0);
        self.mask.clear();
        self.mask.resize(n_words, 1.0);
        self.mask.resize(width, 0.0);
        self.den.resize(width, 0.0);
        self.share.resize(width, 0.0);
        for per_topic in [&mut self.e, &mut self.sums, &mut self.gamma] {
            per_topic.resize(n_topics, 0.0);
        }
    }

    /// Probabilities of the words under one topic, to be filled in.
    pub(crate) fn row(&mut self, topic: usize) -> &mut [f64] {
        &mut self.p[topic * self.width..][..self.width]
    }

    /// Says that a word does not count.
    pub(crate) fn leave_out(&mut self, word: usize) {
        self.mask[word] = 0.0;
    }

    /// Sweeps from the given gamma, or from equal shares of all words. At the end e and the denominators are those of the last gamma.
    pub(crate) fn climb(&mut self, prior: Prior<'_>, from: Option<&[f64]>, until: Until) {
        let n_topics = self.gamma.len() as f64;
        let share = self.mask.iter().sum::<f64>() / n_topics;
        for (topic, gamma) in self.gamma.iter_mut().enumerate() {
            *gamma = from.map_or(share + alpha(prior, topic), |from| from[topic]);
        }
        let least = until.tolerance / n_topics;
        self.sweep(prior);
        for _ in 0..until.sweeps {
            let mut moved = 0f64;
            for topic in 0..self.gamma.len() {
                let gamma = alpha(prior, topic) + self.e[topic] * self.sums[topic];
                moved = moved.max((gamma - self.gamma[topic]).abs());
                self.gamma[topic] = gamma;
            }
            self.sweep(prior);
            if moved < least {
                break;
            }
        }
    }

    /// Finds the topics of a document's words.
    pub(crate) fn infer_words(
        &mut self,
        words: &[u32],
        rows: &Rows,
        prior: Prior<'_>,
        until: Until,
        found: &mut Found,
    ) {
        self.begin(rows.n_topics(), words.len());
        let mut offset = 0.0;
        for (at, &word) in words.iter().enumerate() {
            let (row, log_factor) = rows.row(word);
            self.p[at..].iter_mut().step_by(self.width).zip(row).for_each(|(p, x)| *p = *x);
            offset += log_factor;
        }
        self.climb(prior, None, until);
        found.score = self.bound(prior) + offset;
        found.phi.clear();
        (0..words.len()).for_each(|at| found.phi.extend(self.phi(at)));
        found.theta.clear();
        found.theta.extend(shares(&self.gamma));
    }

    fn sweep(&mut self, prior: Prior<'_>) {
        match prior {
            Prior::Dirichlet(_) => {
                self.e.iter_mut().zip(&self.gamma).for_each(|(e, &gamma)| *e = digamma(gamma));
                let most = self.e.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                self.e.iter_mut().for_each(|e| *e = (*e - most).exp().max(LEAST));
                self.log_scale = most - digamma(self.gamma.iter().sum());
            }
            Prior::None => {
                let sum: f64 = self.gamma.iter().sum();
                self.e.iter_mut().zip(&self.gamma).for_each(|(e, &gamma)| *e = (gamma / sum).max(LEAST));
                self.log_scale = 0.0;
            }
        }
        denominators(&self.p, &self.e, &mut self.den);
        sum_shares(&self.p, &self.mask, &self.den, &mut self.share, &mut self.sums);
    }

    /// L: of the words that count.
    pub(crate) fn bound(&self, prior: Prior<'_>) -> f64 {
        let words = self.den.iter().zip(&self.mask).filter(|(_, mask)| **mask > 0.0);
        let logs: f64 = words.map(|(den, _)| den.ln() + self.log_scale).sum();
        match prior {
            Prior::Dirichlet(alpha) => logs - dirichlet_kl(&self.gamma, alpha),
            Prior::None => logs,
        }
    }

    /// `sum_v log sum_k theta_k p_kv` over the words that count, with so many factors multiplied before a logarithm is taken.
    pub(crate) fn log_likelihood(&mut self, theta: &[f64], at_once: usize) -> f64 {
        denominators(&self.p, theta, &mut self.den);
        let words = self.den.chunks(at_once).zip(self.mask.chunks(at_once));
        let product = |(den, mask): (&[f64], &[f64])| -> f64 {
            den.iter().zip(mask).map(|(den, mask)| if *mask > 0.0 { *den } else { 1.0 }).product()
        };
        words.map(|words| product(words).ln()).sum()
    }

    /// gamma_k.
    pub(crate) fn gamma(&self) -> &[f64] {
        &self.gamma
    }

    /// phi_vk of one word.
    pub(crate) fn phi(&self, word: usize) -> impl Iterator<Item = f64> + '_ {
        let topics = self.e.iter().zip(self.p[word..].iter().step_by(self.width));
        topics.map(move |(e, p)| e * p * self.share[word])
    }

    /// Adds `times` phi of all words to sums of as many columns, topic by topic.
    pub(crate) fn add_phi(&self, times: f64, sums: &mut [f64], n_words: usize) {
        add_phi(&self.p, &self.e, &self.share, times, sums, n_words);
    }
}

fn alpha(prior: Prior<'_>, topic: usize) -> f64 {
    match prior {
        Prior::Dirichlet(alpha) => alpha[topic],
        Prior::None => 0.0,
    }
}

/// den_v = sum_k e_k p_kv.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
fn denominators(p: &[f64], e: &[f64], den: &mut [f64]) {
    den.fill(0.0);
    for (e, row) in e.iter().zip(p.chunks_exact(den.len().max(1))) {
        den.iter_mut().zip(row).for_each(|(den, p)| *den += e * p);
    }
}

/// 1 / den_v where v counts, and the sums over v of p_kv / den_v.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
fn sum_shares(p: &[f64], mask: &[f64], den: &[f64], share: &mut [f64], sums: &mut [f64]) {
    for ((share, mask), den) in share.iter_mut().zip(mask).zip(den) {
        *share = mask / den;
    }
    sums.fill(0.0);
    for (sum, row) in sums.iter_mut().zip(p.chunks_exact(den.len().max(1))) {
        let mut lanes = [0.0; LANES];
        for (p, share) in row.chunks_exact(LANES).zip(share.chunks_exact(LANES)) {
            (0..LANES).for_each(|lane| lanes[lane] += p[lane] * share[lane]);
        }
        *sum = lanes.iter().sum();
    }
}

#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
fn add_phi(p: &[f64], e: &[f64], share: &[f64], times: f64, sums: &mut [f64], n_words: usize) {
    if n_words == 0 {
        return;
    }
    for ((e, p), sums) in e.iter().zip(p.chunks_exact(share.len())).zip(sums.chunks_exact_mut(n_words)) {
        let e = e * times;
        for ((sum, p), share) in sums.iter_mut().zip(p).zip(share) {
            *sum += e * p * share;
        }
    }
}

#[cfg(test)]
#[path = "membership_tests.rs"]
mod tests;
