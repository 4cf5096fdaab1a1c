//! What needs more than the public functions: that corrected gradients are unbiased, and what running means are.

use super::control::Control;
use super::golden::{Batches, batches, cases, n_topics};
use super::lambda::Known;
use super::step::Step;
use super::svi::Svi;
use super::{Local, SviOptions};
use crate::Monitor;
use crate::baseline::{HdpOptions, LdaOptions, Model, NmfOptions, Training};
use crate::corpus::{Corpus, align};
use crate::rng::{Stream, rng};
use rand::RngExt;

/// Documents of two kinds, and of both.
fn corpus() -> Corpus {
    let mut random = rng(9, Stream::SynthNetwork);
    Corpus::from_tokens((0..150).map(|doc| {
        let p = |token: u32| if token as usize % 3 == doc % 3 || token.is_multiple_of(3) { 0.5 } else { 0.1 };
        (0..9).filter(|&token| random.random::<f64>() < p(token)).collect::<Vec<_>>()
    }))
}

fn with_training<T>(corpus: &Corpus, work: impl FnOnce(&Training<'_>) -> T) -> T {
    let names: Vec<String> = (0..9).map(|token| token.to_string()).collect();
    let (alignment, train) = (align(corpus, &names), (0..corpus.n_docs() as u32).collect::<Vec<_>>());
    let (docs, monitor) = (alignment.docs(corpus), Monitor::default());
    work(&Training { docs, train: &train, valid: &[], n_tokens: 9, seed: 1, monitor: &monitor })
}

/// The mean of many batches' gradients is that of all documents, corrected or not, within five standard errors.
fn assert_unbiased<L: Local>(options: &L::Options) {
    with_training(&corpus(), |training| {
        let mut model = Svi::<L>::start(options, training).unwrap();
        (0..3).for_each(|number| assert!(model.pass(training, number).is_ok()));
        let n_draws = 2000;
        let some = model.gradients(training, 10, n_draws).unwrap();
        let all = model.gradients(training, training.train.len(), 2).unwrap();
        for (some, all, what) in [(&some.0, &all.0, "topics"), (&some.1, &all.1, "sticks")] {
            for at in 0..2 {
                for coordinate in 0..some.sums[at].len() {
                    let mean = some.sums[at][coordinate] / some.n;
                    let truth = all.sums[0][coordinate] / all.n;
                    let se = (some.variance(at, coordinate) / some.n).sqrt();
                    // The last stick never varies: rounding is all there is.
                    let slack = 5.0 * se + 1e-9 * truth.abs();
                    assert!(
                        (mean - truth).abs() < slack,
                        "{} {what} {at}: {mean} +- {se}, not {truth}",
                        L::NAME
                    );
                }
            }
            let total = |at: usize| (0..some.sums[at].len()).map(|c| some.variance(at, c)).sum::<f64>();
            assert!(
                some.sums[0].is_empty() || total(1) < total(0),
                "{} {what}: {} {}",
                L::NAME,
                total(0),
                total(1)
            );
        }
    });
}

#[test]
fn corrected_gradients_are_unbiased_and_vary_less() {
    let svi = SviOptions { topics: 3, batch: 15, control_variates: true, ..SviOptions::default() };
    assert_unbiased::<crate::baseline::lda::Dirichlet>(&LdaOptions { svi: svi.clone(), alpha: 0.5 });
    assert_unbiased::<crate::baseline::nmf::Factors>(&NmfOptions { svi: svi.clone() });
    assert_unbiased::<crate::baseline::hdp::Sticks>(&HdpOptions { svi, sticks: 3, ..HdpOptions::default() });
}

/// With rate 1 and all documents, phib is the mean of phi over documents with the word; then the best factor is 1.
#[test]
fn running_means_are_those_of_documents_with_the_word() {
    let svi = SviOptions { topics: 3, batch: 15, control_variates: true, ..SviOptions::default() };
    with_training(&corpus(), |training| {
        let model =
            Svi::<crate::baseline::lda::Dirichlet>::start(&LdaOptions { svi, alpha: 0.5 }, training).unwrap();
        let sums = model.expect(training, training.train).unwrap();
        let known = Known::of(&training.docs, training.train, 9);
        let mut control = Control::new(3, 9);
        control.learn(&sums, &known, 1.0);
        let assert_means = |control: &Control| {
            for (word, n, phi) in sums.words() {
                assert!((n - known.counts[word as usize]).abs() < 1e-9, "{n}");
                for (mean, phi) in control.mean_of(word).iter().zip(phi) {
                    assert!((mean - phi / n).abs() < 1e-12, "{mean}, not {}", phi / n);
                }
            }
        };
        assert_means(&control);
        // Nothing was known when the batch came; the second time, h is the mean of g given the word.
        assert_eq!(control.coefficient(0), 0.0);
        control.learn(&sums, &known, 1.0);
        (0..3).for_each(|topic| assert!((control.coefficient(topic) - 1.0).abs() < 1e-12));
        assert_means(&control);
        // The same documents again change no mean, whatever the rate.
        control.learn(&sums, &known, 0.3);
        assert_means(&control);
    });
}

/// Control variates with exact posteriors in place of phi.
#[test]
fn golden_control_variates() {
    for case in cases() {
        let Batches { all, batch, known, .. } = batches(&case);
        let at = |key: &str, topic: usize, word: u32| case[key][topic][word as usize].as_f64().unwrap();
        let mut control = Control::new(n_topics(&case), known.counts.len());
        for word in 0..known.counts.len() {
            for topic in 0..n_topics(&case) {
                control.mean[word * n_topics(&case) + topic] = at("phi", topic, word as u32);
            }
        }
        for word in 0..known.counts.len() as u32 {
            let corrected = |control: &Control, key: &str| {
                let mut row = vec![0.0; n_topics(&case)];
                let step = Step { rate: 1.0, sums: &batch, known: &known, control: Some(control) };
                step.target(word, 0.0, &mut row);
                for (topic, got) in row.iter().enumerate() {
                    let (got, want) = (got / known.n_docs, at(key, topic, word));
                    assert!((got - want).abs() < 1e-9, "{key} {topic} {word}: {got}, not {want}");
                }
            };
            (control.cov, control.var) = (vec![1.0; n_topics(&case)], vec![1.0; n_topics(&case)]);
            corrected(&control, "corrected_a1");
            // The best factors of this word alone: no other has a mean.
            let mut alone = Control::new(n_topics(&case), known.counts.len());
            let own = word as usize * n_topics(&case)..(word as usize + 1) * n_topics(&case);
            alone.mean[own.clone()].copy_from_slice(&control.mean[own]);
            alone.learn(&all, &known, 1.0);
            for topic in 0..n_topics(&case) {
                let want = at("a_star", topic, word);
                assert!((alone.coefficient(topic) - want).abs() < 1e-9 * want.max(1.0), "{topic} {word}");
            }
            (control.cov, control.var) = (alone.cov, alone.var);
            corrected(&control, "corrected_astar");
        }
    }
}
