//! Conditional probabilities, marginals and samples, against enumeration.

use super::{Rows, every_row};
use noisyor::baseline::spn::plain::State;
use noisyor::baseline::spn::{Fit, Spn, SpnOptions};
use noisyor::baseline::{Model, Training};
use noisyor::{Error, Monitor};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const N: usize = 6;

/// A network of six tokens, and the probability of every row.
fn network() -> (Spn, Vec<f64>) {
    let rng = &mut ChaCha8Rng::seed_from_u64(3);
    let mut row = || {
        let p = [0.15, 0.5, 0.85][rng.random_range(0..3)];
        let mut present = || if rng.random::<f64>() < p { State::Present } else { State::Absent };
        (0..N).map(|_| present()).collect()
    };
    let rows = Rows::of(&(0..800).map(|_| row()).collect::<Vec<_>>(), N);
    let (monitor, train) = (Monitor::default(), rows.all());
    let training =
        Training { docs: rows.docs(), train: &train, valid: &[], n_tokens: N, seed: 1, monitor: &monitor };
    let mut spn = Spn::start(SpnOptions { fit: Fit::Cvb, ..SpnOptions::default() }, &training).unwrap();
    spn.pass(&training, 0).unwrap();
    assert!(spn.structure().n_sums() > 0);
    let everything = Rows::of(&every_row(N), N);
    let p = spn.scores(&everything.docs(), &everything.all()).iter().map(|score| score.exp()).collect();
    (spn, p)
}

/// Probability of all rows that agree with what is known.
fn sum(p: &[f64], row: &[State]) -> f64 {
    let agrees = |other: &[State]| row.iter().zip(other).all(|(a, b)| *a == State::Unknown || a == b);
    every_row(N).iter().zip(p).filter(|(other, _)| agrees(other)).map(|(_, p)| p).sum()
}

#[test]
fn conditional_probabilities_are_ratios() {
    let (spn, p) = network();
    let mut states = every_row(N);
    states.iter_mut().step_by(3).for_each(|row| row[4] = State::Unknown);
    let rows = Rows::of(&states, N);
    for given in [&[][..], &[2], &[0, 4, 5], &[0, 1, 2, 3, 4, 5]] {
        let got = spn.log_p_given(&rows.docs(), &rows.all(), given).unwrap();
        for (row, got) in states.iter().zip(got) {
            let of_given: Vec<State> = (0..)
                .zip(row)
                .map(|(token, state)| if given.contains(&token) { *state } else { State::Unknown })
                .collect();
            let want = (sum(&p, row) / sum(&p, &of_given)).ln();
            assert!((got - want).abs() < 1e-9, "given {given:?}: {got}, not {want}");
        }
    }
    assert!(matches!(spn.log_p_given(&rows.docs(), &[0], &[6]), Err(Error::Usage(_))));
}

#[test]
fn marginals_leave_a_token_itself_out() {
    let (spn, p) = network();
    let mut states = every_row(N);
    states.iter_mut().for_each(|row| row[1] = State::Unknown);
    for row in states {
        for (token, got) in spn.marginals_of(&row).unwrap().into_iter().enumerate() {
            let with = |state| {
                let mut row = row.clone();
                row[token] = state;
                sum(&p, &row)
            };
            let want = with(State::Present) / with(State::Unknown);
            assert!((got - want).abs() < 1e-12, "token {token}: {got}, not {want}");
        }
    }
    assert!(matches!(spn.marginals_of(&[State::Absent]), Err(Error::Usage(_))));
}

#[test]
fn samples_are_as_frequent_as_their_probabilities() {
    let (spn, p) = network();
    let mut row = vec![State::Unknown; N];
    for given in [None, Some((2, State::Present)), Some((3, State::Absent))] {
        if let Some((token, state)) = given {
            row[token] = state;
        }
        let n_docs = 20_000;
        let mut counts = vec![0.0; 1 << N];
        for tokens in spn.sample_row(&row, n_docs, 5).unwrap() {
            counts[tokens.iter().map(|token| 1 << token).sum::<usize>()] += 1.0;
        }
        let all = sum(&p, &row);
        for (number, other) in every_row(N).iter().enumerate() {
            let agrees = row.iter().zip(other).all(|(a, b)| *a == State::Unknown || a == b);
            let want = if agrees { p[number] / all * n_docs as f64 } else { 0.0 };
            // Five standard deviations of 3 x 64 counts.
            let error = 5.0 * want.sqrt() + if want > 0.0 { 1.0 } else { 0.0 };
            assert!((counts[number] - want).abs() <= error, "{other:?}: {} of {want}", counts[number]);
        }
    }
    assert_eq!(spn.sample_row(&row, 50, 5).unwrap(), spn.sample_row(&row, 50, 5).unwrap());
    assert_ne!(spn.sample_row(&row, 50, 5).unwrap(), spn.sample_row(&row, 50, 6).unwrap());
}
