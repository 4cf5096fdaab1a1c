//! Clusters of rows by EM of a mixture of Bernoulli distributions, from several starts:
//!
//! ```text
//! r_dc ~ pi_c prod_v b_cv^y (1 - b_cv)^(1-y),   pi_c = sum_d r_dc / D,   b_cv = (sum_d r_dc y_dv + s) / (sum_d r_dc + 2 s)
//! ```
//!
//! A row costs its present (and its unknown) tokens: log p = const_c + sum of log-odds.

use super::best_of;
use super::table::Table;
use crate::numeric::f64::log_sum_exp;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Rows that every probability is smoothed by.
const SMOOTHING: f64 = 0.1;
/// How much a component begins like its row; the rest is like all rows.
const SEED: f64 = 0.5;
const ITERATIONS: usize = 40;
/// EM ends where an iteration gains less than this, in nats a row.
const TOLERANCE: f64 = 1e-3;

/// The cluster of every row, of the best of `restarts` starts.
pub(super) fn clusters(table: &Table, n_clusters: usize, restarts: usize, seed: u64) -> Vec<u32> {
    best_of(restarts, seed, |rng| run(table, n_clusters, rng))
}

struct Mixture {
    n_clusters: usize,
    constants: Vec<f64>,
    /// By token: log-odds of every cluster, and log(1 - b), which an unknown token takes back.
    log_odds: Vec<f64>,
    log_off: Vec<f64>,
}

impl Mixture {
    /// Of sums of responsibilities: of all rows, by token of those with it, and of those in which it is unknown.
    fn of(all: &[f64], on: &[f64], unknown: Option<&[f64]>) -> Self {
        let (n_clusters, n_rows) = (all.len(), all.iter().sum::<f64>());
        let mut constants: Vec<f64> = all.iter().map(|n| (n / n_rows).max(1e-300).ln()).collect();
        let mut log_odds = Vec::with_capacity(on.len());
        let mut log_off = Vec::with_capacity(on.len());
        for (at, &on) in on.iter().enumerate() {
            let cluster = at % n_clusters;
            let known = all[cluster] - unknown.map_or(0.0, |unknown| unknown[at]);
            let (on, off) = (on + SMOOTHING, (known - on).max(0.0) + SMOOTHING);
            log_odds.push((on / off).ln());
            log_off.push((off / (on + off)).ln());
            constants[cluster] += log_off[at];
        }
        Self { n_clusters, constants, log_odds, log_off }
    }

    /// log p(row, cluster).
    fn joint(&self, table: &Table, row: usize, out: &mut Vec<f64>) {
        out.clear();
        out.extend_from_slice(&self.constants);
        let n = self.n_clusters;
        for &token in table.present.get(row) {
            let log_odds = &self.log_odds[token as usize * n..][..n];
            out.iter_mut().zip(log_odds).for_each(|(sum, l)| *sum += l);
        }
        for &token in table.unknown.get(row) {
            let log_off = &self.log_off[token as usize * n..][..n];
            out.iter_mut().zip(log_off).for_each(|(sum, l)| *sum -= l);
        }
    }
}

fn run(table: &Table, n_clusters: usize, rng: &mut ChaCha8Rng) -> (f64, Vec<u32>) {
    let (n, n_rows) = (n_clusters, table.n_rows);
    // Each component begins like one row, and like all.
    let mut on = vec![0.0; table.n_tokens * n];
    for (token, [present, known]) in table.counts().into_iter().enumerate() {
        let p = f64::from(present) / f64::from(known.max(1));
        on[token * n..][..n].fill((1.0 - SEED) * p * n_rows as f64 / n as f64);
    }
    for cluster in 0..n {
        let row = rng.random_range(0..n_rows);
        for &token in table.present.get(row) {
            on[token as usize * n + cluster] += SEED * n_rows as f64 / n as f64;
        }
    }
    let mut mixture = Mixture::of(&vec![n_rows as f64 / n as f64; n], &on, None);
    let mut joint = Vec::with_capacity(n);
    let mut last = f64::NEG_INFINITY;
    for _ in 0..ITERATIONS {
        let mut log_p = 0.0;
        let mut all = vec![0.0; n];
        on.fill(0.0);
        let mut unknown = table.has_unknown.then(|| vec![0.0; on.len()]);
        for row in 0..n_rows {
            mixture.joint(table, row, &mut joint);
            let log_sum = log_sum_exp(joint.iter().copied());
            log_p += log_sum;
            joint.iter_mut().for_each(|l| *l = (*l - log_sum).exp());
            all.iter_mut().zip(&joint).for_each(|(sum, r)| *sum += r);
            let add = |sums: &mut [f64], tokens: &[u32]| {
                for &token in tokens {
                    sums[token as usize * n..][..n].iter_mut().zip(&joint).for_each(|(sum, r)| *sum += r);
                }
            };
            add(&mut on, table.present.get(row));
            unknown.iter_mut().for_each(|unknown| add(unknown, table.unknown.get(row)));
        }
        mixture = Mixture::of(&all, &on, unknown.as_deref());
        if log_p - last < TOLERANCE * n_rows as f64 {
            last = log_p;
            break;
        }
        last = log_p;
    }
    let best = |row: usize| {
        mixture.joint(table, row, &mut joint);
        (0..n).reduce(|best, c| if joint[c] > joint[best] { c } else { best }).map_or(0, |c| c as u32)
    };
    (last, (0..n_rows).map(best).collect())
}
