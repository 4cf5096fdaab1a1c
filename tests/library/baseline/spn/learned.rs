//! Networks that are learned: sound distributions, the same to the bit, resumed, with unknown values and odd tables.

use super::{Rows, every_row};
use noisyor::baseline::spn::plain::{State, log_values};
use noisyor::baseline::spn::{Clustering, Fit, Spn, SpnOptions};
use noisyor::baseline::{Model, Training};
use noisyor::{Error, Monitor};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::atomic::Ordering;

/// Rounding of sums of a few hundred probabilities.
const SUM: f64 = 1e-9;

/// Rows of two kinds, each with its own frequent tokens; token 1 mostly follows token 0. A share of the values is unknown.
fn planted(n_rows: usize, n_tokens: usize, unknown: f64, seed: u64) -> Vec<Vec<State>> {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let mut row = || {
        let kind = rng.random_range(0..2);
        let mut row: Vec<State> = Vec::new();
        for token in 0..n_tokens {
            let p = if token % 2 == kind { 0.7 } else { 0.1 };
            let p = if token == 1 && row[0] == State::Present { 0.9 } else { p };
            let is_present = rng.random::<f64>() < p;
            row.push(if is_present { State::Present } else { State::Absent });
        }
        row.iter_mut().filter(|_| rng.random::<f64>() < unknown).for_each(|state| *state = State::Unknown);
        row
    };
    (0..n_rows).map(|_| row()).collect()
}

fn options(fit: Fit) -> SpnOptions {
    SpnOptions { fit, min_rows: 40, batch: 200, ..SpnOptions::default() }
}

/// A network of these rows after some passes; its last score of the training rows.
fn learn(rows: &Rows, n_tokens: usize, options: SpnOptions, passes: u32) -> (Spn, Option<f64>) {
    let (monitor, train) = (Monitor::default(), rows.all());
    let training =
        Training { docs: rows.docs(), train: &train, valid: &[], n_tokens, seed: 7, monitor: &monitor };
    let mut spn = Spn::start(options, &training).unwrap();
    let mut score = None;
    for number in 0..passes {
        score = spn.pass(&training, number).unwrap().train_score;
    }
    (spn, score)
}

fn fits() -> impl Iterator<Item = Fit> {
    Fit::NAMES.into_iter().map(|(_, fit)| fit)
}

#[test]
fn probabilities_add_up_to_one() {
    let everything = Rows::of(&every_row(8), 8);
    for clustering in [Clustering::Soft, Clustering::Hard] {
        for fit in fits() {
            let rows = Rows::of(&planted(600, 8, 0.0, 1), 8);
            let options = SpnOptions { clustering, penalty: 0.05, ..options(fit) };
            let (spn, _) = learn(&rows, 8, options, 3);
            assert!(spn.structure().n_sums() > 0, "{fit:?} {clustering:?}");
            let scores = spn.scores(&everything.docs(), &everything.all());
            let sum: f64 = scores.iter().map(|score| score.exp()).sum();
            assert!((sum - 1.0).abs() < SUM, "{fit:?} {clustering:?}: {sum}");
            let nothing = Rows::of(&[vec![State::Unknown; 8]], 8);
            assert!(spn.scores(&nothing.docs(), &[0])[0].abs() < SUM);
        }
    }
}

#[test]
fn tiles_agree_with_single_rows() {
    let n_tokens = 40;
    let train = Rows::of(&planted(700, n_tokens, 0.0, 2), n_tokens);
    let (spn, _) = learn(&train, n_tokens, options(Fit::Cvb), 2);
    // Tokens in few and in many rows of a tile, a last tile that is not full, rows with and without unknown tokens.
    let mut states = planted(300, n_tokens, 0.3, 3);
    states.extend(planted(100, n_tokens, 0.0, 4));
    states.iter_mut().skip(128).step_by(9).for_each(|row| row[20..].fill(State::Absent));
    let rows = Rows::of(&states, n_tokens);
    let scores = spn.scores(&rows.docs(), &rows.all());
    for (state, score) in states.iter().zip(&scores) {
        let plain = *log_values(spn.structure(), spn.weights(), state).last().unwrap();
        assert!((score - plain).abs() < 1e-11 * plain.abs().max(1.0), "{score}, not {plain}");
    }
    // A score does not depend on its neighbours.
    let one_by_one: Vec<f64> = rows.all().iter().flat_map(|&row| spn.scores(&rows.docs(), &[row])).collect();
    for (a, b) in one_by_one.iter().zip(&scores) {
        assert!((a - b).abs() < 1e-11 * b.abs().max(1.0), "{a}, not {b}");
    }
}

#[test]
fn every_fit_learns() {
    // Two kinds of 8 tokens: independent tokens cost 16 times the entropy of 0.4.
    let rows = Rows::of(&planted(1000, 16, 0.0, 5), 16);
    let independent = 16.0 * (0.4f64 * 0.4f64.ln() + 0.6 * 0.6f64.ln());
    for fit in fits() {
        let passes = if matches!(fit, Fit::Mle | Fit::CvbPaper) { 25 } else { 4 };
        let (_, score) = learn(&rows, 16, options(fit), passes);
        let score = score.unwrap();
        assert!(score > independent + 0.8, "{fit:?}: {score} against {independent}");
    }
}

#[test]
fn one_thread_or_four_give_the_same_bytes() {
    // More rows than one block has, and nearly all different.
    let rows = Rows::of(&planted(1300, 14, 0.05, 6), 14);
    let run = |n_threads, options: SpnOptions, passes| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        pool.install(|| learn(&rows, 14, options, passes).0.tensors())
    };
    for fit in fits() {
        assert_eq!(run(1, options(fit), 2), run(4, options(fit), 2), "{fit:?}");
    }
    let hard = || SpnOptions { clustering: Clustering::Hard, penalty: 0.05, ..options(Fit::Cvb) };
    assert_eq!(run(1, hard(), 0), run(4, hard(), 0));
}

#[test]
fn a_resumed_network_goes_on_to_the_same_bytes() {
    let rows = Rows::of(&planted(500, 10, 0.1, 8), 10);
    let (monitor, train) = (Monitor::default(), rows.all());
    let training =
        Training { docs: rows.docs(), train: &train, valid: &[], n_tokens: 10, seed: 7, monitor: &monitor };
    for fit in fits() {
        let mut spn = Spn::start(options(fit), &training).unwrap();
        for number in 0..4 {
            let mut resumed = Spn::load(spn.tensors()).unwrap();
            assert_eq!(resumed.tensors(), spn.tensors(), "{fit:?}");
            let passes = (resumed.pass(&training, number).unwrap(), spn.pass(&training, number).unwrap());
            assert_eq!(passes.0, passes.1, "{fit:?}");
            assert_eq!(resumed.tensors(), spn.tensors(), "{fit:?} after pass {number}");
        }
    }
}

#[test]
fn a_cancelled_start_ends() {
    let rows = Rows::of(&planted(500, 10, 0.0, 8), 10);
    let (monitor, train) = (Monitor::default(), rows.all());
    let training =
        Training { docs: rows.docs(), train: &train, valid: &[], n_tokens: 10, seed: 7, monitor: &monitor };
    let mut spn = Spn::start(options(Fit::Cvb), &training).unwrap();
    assert!(monitor.docs_done.load(Ordering::Relaxed) >= 500);
    monitor.stop.store(true, Ordering::Relaxed);
    assert!(matches!(Spn::start(options(Fit::Cvb), &training), Err(Error::Interrupted)));
    assert!(matches!(spn.pass(&training, 0), Err(Error::Interrupted)));
}

#[test]
fn odd_tables() {
    let absent = || vec![State::Absent; 3];
    let all = |state| (0..40).map(|_| vec![state; 3]).collect::<Vec<_>>();
    let one = vec![vec![State::Present, State::Absent, State::Unknown]];
    for rows in [vec![absent()], all(State::Absent), all(State::Present), all(State::Unknown), one] {
        for fit in fits() {
            let rows = Rows::of(&rows, 3);
            let (spn, score) = learn(&rows, 3, options(fit), 3);
            assert!(score.unwrap().is_finite(), "{fit:?}");
            let everything = Rows::of(&every_row(3), 3);
            let scores = spn.scores(&everything.docs(), &everything.all());
            let sum: f64 = scores.iter().map(|score| score.exp()).sum();
            assert!((sum - 1.0).abs() < SUM, "{fit:?}: {sum}");
        }
    }
    // No token at all, and no document.
    let nothing = Rows::of(&[vec![], vec![]], 0);
    assert_eq!(learn(&nothing, 0, options(Fit::Cvb), 1).0.scores(&nothing.docs(), &[0, 1]), [0.0, 0.0]);
    let monitor = Monitor::default();
    let training =
        Training { docs: nothing.docs(), train: &[], valid: &[], n_tokens: 0, seed: 0, monitor: &monitor };
    assert!(matches!(Spn::start(options(Fit::Cvb), &training), Err(Error::Usage(_))));
}

#[test]
fn unknown_values_cost_little() {
    // What is known tells the kind of a row, with a third of the values unknown, too.
    let (full, holes) = (Rows::of(&planted(1500, 12, 0.0, 9), 12), Rows::of(&planted(1500, 12, 0.33, 9), 12));
    let test = Rows::of(&planted(1000, 12, 0.0, 10), 12);
    let mean = |rows: &Rows| {
        let (spn, _) = learn(rows, 12, options(Fit::Cvb), 5);
        spn.scores(&test.docs(), &test.all()).iter().sum::<f64>() / 1000.0
    };
    let (full, holes) = (mean(&full), mean(&holes));
    assert!(holes > full - 0.1 && holes <= full + 0.05, "{holes} against {full}");
}

#[test]
fn features_are_shares_of_a_row() {
    let rows = Rows::of(&planted(600, 10, 0.0, 11), 10);
    let (spn, _) = learn(&rows, 10, SpnOptions { feature_layers: 1, ..options(Fit::Cvb) }, 2);
    let names = spn.feature_names();
    assert_eq!(names.len(), spn.structure().children(spn.structure().n_nodes() - 1).len());
    let features = spn.features(&rows.docs(), &rows.all());
    assert_eq!(features.len(), 600 * names.len());
    for row in features.chunks(names.len()) {
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
    }
    // They tell the kind of a row: some feature differs where tokens of one kind are present.
    let (deeper, _) = learn(&rows, 10, options(Fit::Cvb), 2);
    assert!(deeper.feature_names().len() >= names.len());
    let spread = features.iter().fold((1f32, 0f32), |(low, high), &x| (low.min(x), high.max(x)));
    assert!(spread.0 < 0.05 && spread.1 > 0.5, "{spread:?}");
}
