//! What control variates do to the noise of batches, at fixed weights: variance with them to variance without, summed over coordinates.
//!
//! `cargo bench --bench variance [-- CORPUS MODEL [DOCS [BATCH]]]`, by default the bundled sample under its network, and tiny20 under the
//! trained network of tests/golden/tiny20_peer.json where NOISYOR_TINY20 names its file. The sums of each document are kept (of the first
//! DOCS documents, by default 6,000); then 400 batches of BATCH documents (1,000, at most a sixth of DOCS) are drawn. Rows on weights are of
//! topics with Q > 60. `mean` says how far the means over all batches are from the corpus, in standard errors: the root mean square
//! over coordinates, about 1 without bias; ratios have some.

#[path = "../common/mod.rs"]
mod common;
mod estimates;
mod sums;

use common::Case;
use estimates::{Attributed, Estimate, estimates};
use noisyor::corpus::{align, read};
use noisyor::network::load_bytes;
use noisyor::rng::{Stream, rng};
use rand::seq::SliceRandom;
use std::path::Path;
use sums::{Sums, of_documents};

/// Batches drawn.
const N_BATCHES: usize = 400;
/// Coordinates that vary by less than this share of their value do not vary but by rounding.
const ROUNDING: f64 = 1e-6;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let number = |at: usize, usual: usize| arguments.get(at).map_or(usual, |n| n.parse().expect("a number"));
    let cases: Vec<Case> = match &arguments[..] {
        [] => [Some(Case::sample()), Case::tiny20()].into_iter().flatten().collect(),
        [_] => panic!("give a corpus and a model"),
        [corpus, model, ..] => vec![case_of(Path::new(corpus), Path::new(model))],
    };
    for case in cases {
        let n_docs = number(2, 6_000).min(case.corpus.n_docs());
        table(&case, n_docs, number(3, 1_000).clamp(1, n_docs.div_ceil(6)));
    }
}

fn case_of(corpus: &Path, model: &Path) -> Case {
    let bytes = std::fs::read(model).expect("the model's file");
    let network = load_bytes(model, &bytes).and_then(|loaded| loaded.into_model(model)).expect("a model");
    let (read, _) = read(corpus, &Default::default(), None, &Default::default()).expect("a corpus");
    Case { name: corpus.display().to_string(), network, corpus: read }
}

/// Moments over batches of the estimates of one quantity, coordinate by coordinate.
struct Row {
    truth: Estimate,
    sum: Vec<f64>,
    squares: Vec<f64>,
}

impl Row {
    fn add(&mut self, values: &[f64]) {
        for (at, value) in values.iter().enumerate() {
            let off = value - self.truth.values[at];
            self.sum[at] += off;
            self.squares[at] += off * off;
        }
    }

    /// Variance summed over coordinates, and how far means are off, in standard errors.
    fn variance(&self) -> (f64, f64) {
        let n = N_BATCHES as f64;
        let (mut total, mut off, mut counted) = (0.0, 0.0, 0.0);
        for (at, truth) in self.truth.values.iter().enumerate() {
            let mean = self.sum[at] / n;
            let variance = self.squares[at] / n - mean * mean;
            total += variance;
            if variance.sqrt() > ROUNDING * truth.abs() {
                off += mean * mean / (variance / n);
                counted += 1.0;
            }
        }
        (total, (off / f64::max(counted, 1.0)).sqrt())
    }
}

fn table(case: &Case, n_docs: usize, n_batch: usize) {
    let alignment = align(&case.corpus, &case.network.names.tokens);
    let docs = of_documents(&case.network, alignment.docs(&case.corpus), n_docs);
    let graph = &case.network.graph;
    let all = Sums::mean(graph, docs.iter());
    let attributed = Attributed::of_topics(&case.network, &docs, &all);
    let row = |truth: Estimate| {
        let zeros = vec![0.0; truth.values.len()];
        Row { truth, sum: zeros.clone(), squares: zeros }
    };
    let mut rows: Vec<Row> =
        estimates(&case.network, &attributed, &all, &all, n_docs).into_iter().map(row).collect();
    let mut order: Vec<usize> = (0..n_docs).collect();
    let mut rng = rng(1, Stream::Plan);
    for _ in 0..N_BATCHES {
        order.shuffle(&mut rng);
        let batch = Sums::mean(graph, order[..n_batch].iter().map(|&doc| &docs[doc]));
        let estimates = estimates(&case.network, &attributed, &all, &batch, n_docs);
        rows.iter_mut().zip(&estimates).for_each(|(row, estimate)| row.add(&estimate.values));
    }
    println!("\n{}: {n_docs} documents, batches of {n_batch}", case.name);
    println!("{:<46} {:>12} {:>8} {:>8}", "quantity", "coordinates", "ratio", "mean");
    let mut plain = f64::NAN;
    for row in &rows {
        let (variance, off) = row.variance();
        plain = if row.truth.is_plain() { variance } else { plain };
        let n = row.truth.values.len();
        println!("{:<46} {n:>12} {:>8.3} {off:>8.2}", row.truth.name, variance / plain);
    }
}
