//! The corpus's stick: q(v_k) = Beta(a1_k, a2_k), and the last v is 1.
//!
//! ```text
//! E log sigma_k = E log v_k + sum_{l<k} E log(1 - v_l),   E log v = psi(a1) - psi(a1 + a2)
//! target(a1_k) = 1 + (D / B) sum_d s_dk,   target(a2_k) = omega + (D / B) sum_d sum_{l>k} s_dl,   s_dk = sum_i zeta_di^k
//! ```
//!
//! with control variates `h = sum_v n_dv phib_v^k`, the words that are expected of topic k, and `sum_{l>k}` of them. Their factors
//! `a = Cov(s, h) / Var(h)` come from running means of the covariances and variances within earlier batches: while topics still move, means of
//! different batches differ, and would count as covariance.

use crate::baseline::topics::{Step, Tensors, coefficient, within};
use crate::error::Result;
use crate::gamma::digamma;

/// The ranges of arrays in a file.
const RANGE: (f64, f64) = (1e-9, 1e15);
/// Parameters are at least this share of their prior: a correction may take more than there is.
const LEAST: f64 = 0.1;
/// Running means of each coordinate: Cov(s, h), Var(h).
const RUNNING: usize = 2;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stick {
    omega: f64,
    /// a1, then a2.
    a: Vec<f64>,
    /// Of each of them, where they are corrected.
    running: Vec<[f64; RUNNING]>,
}

impl Stick {
    pub(super) fn new(n_topics: usize, omega: f64, corrected: bool) -> Self {
        let a = [vec![1.0; n_topics], vec![omega; n_topics]].concat();
        let running = if corrected { vec![[0.0; RUNNING]; a.len()] } else { Vec::new() };
        Self { omega, a, running }
    }

    pub(super) fn n_parameters(&self) -> usize {
        self.a.len()
    }

    pub(super) fn log_shares(&self) -> Vec<f64> {
        let (a1, a2) = self.a.split_at(self.a.len() / 2);
        log_shares(a1.iter().copied().zip(a2.iter().copied()), a1.len())
    }

    pub(super) fn save(&self, tensors: Tensors) -> Tensors {
        let n_topics = self.a.len() / 2;
        let tensors = tensors.with_f64("stick", &[2, n_topics], self.a.clone());
        if self.running.is_empty() {
            return tensors;
        }
        tensors.with_f64("state_stick", &[2, n_topics, RUNNING], self.running.as_flattened().to_vec())
    }

    pub(super) fn load(&mut self, tensors: &mut Tensors) -> Result<()> {
        self.a = tensors.take_f64("stick", self.a.len())?;
        within("stick", &self.a, RANGE)?;
        if !self.running.is_empty() && tensors.has("state_stick") {
            let running = tensors.take_f64("state_stick", self.running.len() * RUNNING)?;
            within("state_stick", &running, (-RANGE.1, RANGE.1))?;
            self.running = running.as_chunks().0.to_vec();
        }
        Ok(())
    }

    pub(super) fn targets(&self, step: &Step<'_>) -> Vec<f64> {
        let n_topics = self.a.len() / 2;
        let prior = |at: usize| if at < n_topics { 1.0 } else { self.omega };
        let mut targets: Vec<f64> = means(&step.sums.counts, n_topics)
            .iter()
            .enumerate()
            .map(|(at, mean)| prior(at) + step.n_docs() * mean)
            .collect();
        if let Some(expected) = step.expected_h() {
            let (h, expected) = (means(&step.sums.h, n_topics), both(&expected));
            for (at, target) in targets.iter_mut().enumerate() {
                let [cov, var] = self.running[at];
                let a = coefficient(cov, var);
                *target -= a * step.n_docs() * (h[at] - expected[at]);
            }
        }
        targets
    }

    pub(super) fn advance(&mut self, step: &Step<'_>) {
        let (targets, n_topics) = (self.targets(step), self.a.len() / 2);
        for (at, (a, target)) in self.a.iter_mut().zip(targets).enumerate() {
            let least = LEAST * if at < n_topics { 1.0 } else { self.omega };
            *a = (*a + step.rate * (target - *a)).max(least);
        }
        if self.running.is_empty() {
            return;
        }
        let (mean_s, mean_h) = (means(&step.sums.counts, n_topics), means(&step.sums.h, n_topics));
        let docs = step.sums.counts.chunks_exact(n_topics).zip(step.sums.h.chunks_exact(n_topics));
        if docs.len() < 2 {
            return;
        }
        let (mut moments, others) = (vec![[0.0; RUNNING]; self.a.len()], (docs.len() - 1) as f64);
        for (s, h) in docs {
            for (at, (s, h)) in both(s).into_iter().zip(both(h)).enumerate() {
                let (s, h) = (s - mean_s[at], h - mean_h[at]);
                moments[at][0] += s * h / others;
                moments[at][1] += h * h / others;
            }
        }
        for (running, moment) in self.running.as_flattened_mut().iter_mut().zip(moments.as_flattened()) {
            *running += step.rate * (moment - *running);
        }
    }
}

/// Numbers of topics, then for each topic the sum of those behind it.
fn both(x: &[f64]) -> Vec<f64> {
    let mut both = [x, x].concat();
    let mut behind = 0.0;
    for (behind_it, x) in both[x.len()..].iter_mut().zip(x).rev() {
        *behind_it = behind;
        behind += x;
    }
    both
}

/// Means over documents of what [`both`] gives.
fn means(docs: &[f64], n_topics: usize) -> Vec<f64> {
    let mut sums = vec![0.0; n_topics];
    let docs = docs.chunks_exact(n_topics);
    let n_docs = docs.len().max(1) as f64;
    docs.for_each(|doc| sums.iter_mut().zip(doc).for_each(|(sum, x)| *sum += x / n_docs));
    both(&sums)
}

/// E log sigma of the pieces of a stick whose shares of what is left are Beta(a1, a2); the last of `n` pieces takes all.
pub(super) fn log_shares(pieces: impl Iterator<Item = (f64, f64)>, n: usize) -> Vec<f64> {
    let mut left = 0.0;
    let piece = |(at, (a1, a2)): (usize, (f64, f64))| {
        if at + 1 == n {
            return left;
        }
        let psi_sum = digamma(a1 + a2);
        let log_share = left + digamma(a1) - psi_sum;
        left += digamma(a2) - psi_sum;
        log_share
    };
    pieces.enumerate().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::topics::golden::{Batches, batches, cases};

    #[test]
    fn pieces_by_hand() {
        assert_eq!(both(&[1.0, 2.0, 4.0]), [1.0, 2.0, 4.0, 6.0, 4.0, 0.0]);
        // E log of Beta(1, 1) is -1, for the piece and for the rest.
        let logs = log_shares([(1.0, 1.0); 3].into_iter(), 3);
        [-1.0, -2.0, -2.0].iter().zip(&logs).for_each(|(want, got)| assert!((want - got).abs() < 1e-14));
        assert_eq!(log_shares([(1.0, 5.0)].into_iter(), 1), [0.0]);
    }

    /// Sums of q in place of zeta, corrected by the tokens that are attributed to a topic (tests/golden/baselines/README.md).
    #[test]
    fn golden_control_variates() {
        for case in cases() {
            let at = |key: &str, k: usize| case["topics"][key][k].as_f64().expect("a number");
            let Batches { all, batch, known, control } = batches(&case);
            let n_topics = all.counts.len() / known.n_docs as usize;
            let mut stick = Stick::new(n_topics, 1.0, true);
            let step = |sums| Step { rate: 1.0, sums, known: &known, control: Some(&control) };
            stick.advance(&step(&all));
            let targets = stick.targets(&step(&batch));
            for k in 0..n_topics {
                let [cov, var] = stick.running[k];
                assert!((coefficient(cov, var) - at("a_star", k)).abs() < 1e-9, "{k}: {cov} / {var}");
                let got = (targets[k] - 1.0) / known.n_docs;
                assert!((got - at("corrected", k)).abs() < 1e-9, "{k}: {got}, not {}", at("corrected", k));
            }
        }
    }
}
