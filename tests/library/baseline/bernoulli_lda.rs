//! Bernoulli LDA against golden answers, enumeration, and itself.

use super::{
    Data, assert_damage_is_seen, assert_sound, floats, golden_cases, golden_data, pass, three_topics,
};
use crate::common::{F64, assert_close};
use noisyor::baseline::{BernoulliLda, BernoulliLdaOptions, Model, Tensors};
use noisyor::corpus::{Corpus, Others, align};
use noisyor::gamma::digamma;
use serde_json::{Value, json};

/// Of what digamma is in (tests/golden/baselines/README.md).
const DIGAMMA: f64 = 1e-8;
const PROBABILITY: f64 = 1e-12;

fn model(case: &Value, sweeps: u32, sweep_tolerance: f64) -> BernoulliLda {
    let (alpha, b) = (floats(&case["alpha"]), floats(&case["b"]));
    let (topics, n_tokens) = (alpha.len(), b.len() / alpha.len());
    let options = BernoulliLdaOptions {
        topics,
        starts: 0,
        sweeps,
        sweep_tolerance,
        smoothing_on: case["smoothing_on"].as_f64().unwrap(),
        smoothing_off: case["smoothing_off"].as_f64().unwrap(),
        ..BernoulliLdaOptions::default()
    };
    let tensors = Tensors::new(&json!({ "options": options, "n_tokens": n_tokens }))
        .with_f64("alpha", &[topics], alpha)
        .with_f64("b", &[topics, n_tokens], b);
    BernoulliLda::load(tensors).unwrap()
}

#[test]
fn golden() {
    let cases = golden_cases();
    assert_eq!(cases.len(), 3);
    for case in &cases {
        let (data, sweeps) = (golden_data(case), case["sweeps"].as_u64().unwrap() as u32);
        let mut model = model(case, sweeps, 0.0);
        let docs = data.alignment.docs(&data.corpus);
        let (gammas, phis, b) = (floats(&case["gamma"]), floats(&case["phi"]), floats(&case["b"]));
        let n_topics = floats(&case["alpha"]).len();
        for &doc_ix in &data.train {
            let gamma = model.gamma(&docs, doc_ix);
            for (got, want) in gamma.iter().zip(&gammas[doc_ix as usize * n_topics..]) {
                assert_close("gamma", *got, *want, DIGAMMA);
            }
            let e: Vec<f64> = gamma.iter().map(|&gamma| digamma(gamma).exp()).collect();
            for token in 0..data.n_tokens {
                let on = docs.tokens(doc_ix as usize).any(|other| other as usize == token);
                let p = |topic: usize| b[topic * data.n_tokens + token];
                let p = |topic: usize| e[topic] * if on { p(topic) } else { 1.0 - p(topic) };
                let sum: f64 = (0..n_topics).map(p).sum();
                for topic in 0..n_topics {
                    let at = (doc_ix as usize * data.n_tokens + token) * n_topics + topic;
                    assert!((p(topic) / sum - phis[at]).abs() < DIGAMMA);
                }
            }
        }
        let scores = model.scores(&docs, &data.train);
        for (got, want) in scores.iter().zip(floats(&case["elbo"])) {
            assert_close("bound", *got, want, DIGAMMA);
        }
        let pass = model.pass(&data.training(0), 0).unwrap();
        assert_close(
            "mean",
            pass.train_score.unwrap(),
            scores.iter().sum::<f64>() / scores.len() as f64,
            F64,
        );
        let after = model.tensors().take_f64("b", b.len()).unwrap();
        for (got, want) in after.iter().zip(floats(&case["b_after"])) {
            assert!((got - want).abs() < PROBABILITY, "b: {got}, not {want}");
        }
    }
}

/// The bound is never above the exact likelihood, and the mean of many samples is the likelihood.
#[test]
fn exact_likelihood() {
    let mut n_exact = 0;
    for case in golden_cases().iter().filter(|case| !case["exact_loglik"].is_null()) {
        let (data, model, exact) =
            (golden_data(case), model(case, 1000, 1e-9), floats(&case["exact_loglik"]));
        let docs = data.alignment.docs(&data.corpus);
        let estimates = model.estimate(&docs, &data.train, 30_000, 1);
        for ((bound, (log_p, se)), exact) in model.scores(&docs, &data.train).iter().zip(estimates).zip(exact)
        {
            assert!(*bound <= exact, "bound {bound} above {exact}");
            assert!(*bound > exact - 3.0, "bound {bound}, exact {exact}");
            assert!(se < 0.02 && (log_p - exact).abs() < 5.0 * se, "sampled {log_p} +- {se}, exact {exact}");
            n_exact += 1;
        }
    }
    assert_eq!(n_exact, 14);
}

#[test]
fn keeps_to_what_every_model_does() {
    let options = BernoulliLdaOptions { topics: 4, ..BernoulliLdaOptions::default() };
    assert_sound(|training| BernoulliLda::start(&options, training), BernoulliLda::load);
    let data = three_topics(50);
    let mut model = BernoulliLda::start(&options, &data.training(0)).unwrap();
    model.pass(&data.training(0), 0).unwrap();
    let arrays: [(&str, &[f64]); 4] = [
        ("alpha", &[0.0, -1.0, 1e9]),
        ("b", &[-0.1, 0.0, 1.0, 3.0]),
        ("state_objective", &[]),
        ("state_gammas", &[0.0, -2.0]),
    ];
    assert_damage_is_seen(&model, &arrays, BernoulliLda::load);
}

/// Proposals take turns, and weights are against their equal mixture.
#[test]
fn every_proposal_has_as_many_draws() {
    let data = three_topics(50);
    let model = BernoulliLda::start(&BernoulliLdaOptions::default(), &data.training(0)).unwrap();
    let docs = data.alignment.docs(&data.corpus);
    let estimate = |draws| model.estimate(&docs, &[0, 1], draws, 7);
    assert_eq!(estimate(4), estimate(6));
    assert_ne!(estimate(4), estimate(3));
}

#[test]
fn training_climbs_and_ends() {
    let data = three_topics(1500);
    for (topics, sweeps) in [(4, 1), (7, 3), (2, 100)] {
        let options = BernoulliLdaOptions { topics, sweeps, ..BernoulliLdaOptions::default() };
        let mut model = BernoulliLda::start(&options, &data.training(2)).unwrap();
        let mut before = f64::NEG_INFINITY;
        for number in 0..25 {
            model.pass(&data.training(2), number).unwrap();
            let objective = model.tensors().take_f64("state_objective", 1).unwrap()[0];
            assert!(objective >= before - 1e-12, "pass {number}, {topics} topics: {before} to {objective}");
            before = objective;
        }
    }
    let options = BernoulliLdaOptions { topics: 3, sweep_tolerance: 1e-6, ..BernoulliLdaOptions::default() };
    let mut model = BernoulliLda::start(&options, &data.training(1)).unwrap();
    let mut course = Vec::new();
    for number in 0..200 {
        let pass = model.pass(&data.training(1), number).unwrap();
        course.push(model.tensors().take_f64("state_objective", 1).unwrap()[0]);
        assert!(pass.train_score.unwrap() > *course.last().unwrap(), "smoothing adds logarithms below 0");
        if pass.converged {
            break;
        }
    }
    assert!(course.len() < 200 && course.len() > 5, "{course:?}");
    assert!(course.windows(2).all(|pair| pair[1] >= pair[0] - 1e-12), "{course:?}");
    assert!(course[course.len() - 1] > course[0] + 1.0, "{course:?}");
    // Each topic has words of one kind.
    let b = model.tensors().take_f64("b", 36).unwrap();
    let mut kinds: Vec<usize> = b
        .chunks(12)
        .map(|b| {
            let kind = |kind: usize| b[4 * kind..][..4].iter().sum::<f64>();
            (0..3).max_by(|&one, &other| kind(one).total_cmp(&kind(other))).unwrap()
        })
        .collect();
    kinds.sort_unstable();
    assert_eq!(kinds, [0, 1, 2], "{b:?}");
}

/// More starts never lower a bound, and raise some; training has its own.
#[test]
fn further_starts_raise_bounds() {
    let data = three_topics(300);
    let docs = data.alignment.docs(&data.corpus);
    let scores = |starts| {
        let options = BernoulliLdaOptions { topics: 5, starts, ..BernoulliLdaOptions::default() };
        let mut model = BernoulliLda::start(&options, &data.training(6)).unwrap();
        pass(&mut model, &data.training(6), 0..8);
        model.scores(&docs, &data.train)
    };
    let (one, three) = (scores(0), scores(3));
    assert!(one.iter().zip(&three).all(|(one, three)| three >= one));
    assert!(three.iter().sum::<f64>() > one.iter().sum::<f64>() + 0.1);
}

/// A document with an unknown word is scored like one of a model without that word.
#[test]
fn unknown_words_are_left_out() {
    let data = three_topics(100);
    let options = BernoulliLdaOptions { topics: 3, ..BernoulliLdaOptions::default() };
    let mut model = BernoulliLda::start(&options, &data.training(1)).unwrap();
    pass(&mut model, &data.training(1), 0..5);
    let mut corpus = Corpus::default();
    let mut others = Others { tokens: vec![11], rest_unknown: false };
    corpus.push_state(&mut vec![0, 1, 5], &mut others, "", "").unwrap();
    let names: Vec<String> = (0..12).map(|token| token.to_string()).collect();
    let (alignment, all) = (align(&corpus, &names), [0]);
    let shorter = {
        let b = model.tensors().take_f64("b", 36).unwrap();
        let b = b.chunks(12).flat_map(|b| b[..11].to_vec()).collect();
        let tensors = Tensors::new(&json!({ "options": options, "n_tokens": 11 }))
            .with_f64("alpha", &[3], vec![0.1; 3])
            .with_f64("b", &[3, 11], b);
        BernoulliLda::load(tensors).unwrap()
    };
    let known = Data::of([vec![0, 1, 5]], 11);
    let known_docs = known.alignment.docs(&known.corpus);
    let docs = alignment.docs(&corpus);
    assert_close("bound", model.scores(&docs, &all)[0], shorter.scores(&known_docs, &all)[0], F64);
    let (one, other) = (model.estimate(&docs, &all, 99, 0)[0], shorter.estimate(&known_docs, &all, 99, 0)[0]);
    assert_close("estimate", one.0, other.0, F64);
    assert!(
        (model.scores(&docs, &all)[0] - model.scores(&data.alignment.docs(&data.corpus), &all)[0]).abs()
            > 1e-3
    );
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let data = three_topics(10);
    let with = |change: &dyn Fn(&mut BernoulliLdaOptions)| {
        let mut options = BernoulliLdaOptions::default();
        change(&mut options);
        BernoulliLda::start(&options, &data.training(0)).unwrap_err().to_string()
    };
    assert!(with(&|options| options.topics = 0).contains("`topics` is 0"));
    assert!(with(&|options| options.alpha = f64::NAN).contains("`alpha` is NaN"));
    assert!(with(&|options| options.smoothing_on = -1.0).contains("`smoothing_on` is -1"));
    assert!(with(&|options| options.sweeps = 0).contains("`sweeps` is 0"));
}
