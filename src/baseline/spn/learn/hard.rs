//! Clusters of rows by hard incremental EM of a naive Bayes mixture whose number of clusters is open (Gens and Domingos 2013).
//!
//! Rows in random order go to the cluster with the best
//!
//! ```text
//! log(n_c / N) + sum_v log((n_cv[x] + a) / (n_c + 2 a))
//! ```
//!
//! or open a cluster of their own where that is better by `lambda` nats a token: a prior of exp(-lambda C V).

use super::best_of;
use super::table::Table;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

const SMOOTHING: f64 = 0.1;
const PASSES: usize = 4;
/// No cluster yet.
const NONE: u32 = u32::MAX;

/// The cluster of every row, of the best of `restarts` starts.
pub(super) fn clusters(table: &Table, penalty: f64, restarts: usize, seed: u64) -> Vec<u32> {
    let logs = Logs::up_to(table.n_rows);
    best_of(restarts, seed, |rng| run(table, penalty, &logs, rng))
}

/// log(n + a), and log(n + 2 a), of whole numbers.
struct Logs {
    one: Vec<f64>,
    two: Vec<f64>,
}

impl Logs {
    fn up_to(n: usize) -> Self {
        let logs = |more: f64| (0..=n).map(|n| (n as f64 + more).ln()).collect();
        Self { one: logs(SMOOTHING), two: logs(2.0 * SMOOTHING) }
    }
}

/// Rows, and rows with each token.
#[derive(Clone)]
struct Cluster {
    n: usize,
    on: Vec<u32>,
    /// Sum of log((n - n_v + a) / (n + 2 a)): a row without tokens.
    base: f64,
}

impl Cluster {
    fn change(&mut self, table: &Table, row: usize, logs: &Logs, is_added: bool) {
        if is_added {
            self.n += 1
        } else {
            self.n -= 1
        }
        for &token in table.present.get(row) {
            let on = &mut self.on[token as usize];
            *on = if is_added { *on + 1 } else { *on - 1 };
        }
        let off: f64 = self.on.iter().map(|&on| logs.one[self.n - on as usize]).sum();
        self.base = off - logs.two[self.n] * self.on.len() as f64;
    }

    /// log p(row | cluster); unknown tokens are left out.
    fn log_p(&self, table: &Table, row: usize, logs: &Logs) -> f64 {
        let off = |token: u32| logs.one[self.n - self.on[token as usize] as usize];
        let on = |token: u32| logs.one[self.on[token as usize] as usize];
        let present: f64 = table.present.get(row).iter().map(|&token| on(token) - off(token)).sum();
        let unknown: f64 = table.unknown.get(row).iter().map(|&token| off(token) - logs.two[self.n]).sum();
        self.base + present - unknown
    }
}

fn run(table: &Table, penalty: f64, logs: &Logs, rng: &mut ChaCha8Rng) -> (f64, Vec<u32>) {
    let (n_rows, n_tokens) = (table.n_rows, table.n_tokens);
    let mut order: Vec<usize> = (0..n_rows).collect();
    order.shuffle(rng);
    let mut clusters: Vec<Cluster> = Vec::new();
    let mut of_row = vec![NONE; n_rows];
    let log_all = (n_rows as f64).ln();
    // A row alone in its cluster is as likely as the cluster with it.
    let alone = n_tokens as f64 * (logs.one[1] - logs.two[1] - penalty) - log_all;
    for _ in 0..PASSES {
        for &row in &order {
            if of_row[row] != NONE {
                clusters[of_row[row] as usize].change(table, row, logs, false);
            }
            let mut best = (alone, None);
            for (at, cluster) in clusters.iter().enumerate().filter(|(_, cluster)| cluster.n > 0) {
                let score = (cluster.n as f64).ln() - log_all + cluster.log_p(table, row, logs);
                if score > best.0 {
                    best = (score, Some(at));
                }
            }
            let at = best.1.unwrap_or_else(|| {
                clusters.iter().position(|cluster| cluster.n == 0).unwrap_or_else(|| {
                    clusters.push(Cluster { n: 0, on: vec![0; n_tokens], base: 0.0 });
                    clusters.len() - 1
                })
            });
            clusters[at].change(table, row, logs, true);
            of_row[row] = at as u32;
        }
    }
    let row_score = |row: usize| {
        let cluster = &clusters[of_row[row] as usize];
        (cluster.n as f64).ln() - log_all + cluster.log_p(table, row, logs)
    };
    let n_clusters = clusters.iter().filter(|cluster| cluster.n > 0).count();
    let score = (0..n_rows).map(row_score).sum::<f64>() - penalty * (n_clusters * n_tokens) as f64;
    (score, of_row)
}
