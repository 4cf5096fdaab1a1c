//! The mixture of Bernoulli distributions: golden steps of EM, unknown tokens, and what every model keeps to.

use super::{Data, assert_sound, bytes, floats, golden_cases, golden_data, pass, three_topics};
use crate::common::assert_close;
use noisyor::baseline::{MixtureModel, MixtureOptions, Model, Tensors, Training};
use noisyor::corpus::{Corpus, Others, align};
use noisyor::mixture::{Counts, Mixture, Pseudo};
use noisyor::{Error, Result};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

/// A finished mixture.
fn of(shares: &[f64], p: &[f64]) -> MixtureModel {
    let n_tokens = p.len() / shares.len();
    let facts = json!({"components": shares.len(), "tokens": n_tokens, "smoothing": 1.0});
    let tensors = Tensors::new(&facts)
        .with_f64("shares", &[shares.len()], shares.to_vec())
        .with_f64("p", &[shares.len(), n_tokens], p.to_vec())
        .with_f64("frequency", &[n_tokens], vec![0.5; n_tokens]);
    MixtureModel::load(tensors).unwrap()
}

fn assert_all_close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    found.iter().zip(expected).for_each(|(&found, &expected)| assert_close(what, found, expected, tolerance));
}

/// To the tolerances of golden/baselines: 1e-9 relative, probabilities to 1e-12.
#[test]
fn golden_steps_of_em() {
    for case in golden_cases() {
        let mixture = &case["mixture"];
        let (shares, p) = (floats(&mixture["pi"]), floats(&mixture["b"]));
        let n_tokens = p.len() / shares.len();
        let data = golden_data(&case);
        let docs = data.alignment.docs(&data.corpus);
        let model = of(&shares, &p);
        assert_all_close("loglik", &model.scores(&docs, &data.train), &floats(&mixture["loglik"]), 1e-9);
        let r = model.responsibilities(&docs, &data.train);
        assert_all_close("responsibilities", &r, &floats(&mixture["responsibilities"]), 1e-12);
        // The M-step, with the responsibilities counted.
        let n = shares.len();
        let mut counts = Counts { docs: vec![0.0; n], tokens: vec![0.0; n * n_tokens] };
        for (doc, r) in r.chunks(n).enumerate() {
            for component in 0..n {
                counts.docs[component] += r[component];
                docs.tokens(doc)
                    .for_each(|token| counts.tokens[component * n_tokens + token as usize] += r[component]);
            }
        }
        let number = |value: &Value| value.as_f64().unwrap();
        let (on, off) = (number(&case["smoothing_on"]), number(&case["smoothing_off"]));
        let pseudo =
            Pseudo { shares: number(&mixture["smoothing_pi"]), on: vec![on; n_tokens], all: on + off };
        let mut after = Mixture { ..model.mixture().clone() };
        counts.maximise(&pseudo, &mut after);
        assert_all_close("pi", &after.shares, &floats(&mixture["pi_after"]), 1e-12);
        assert_all_close("b", &after.p, &floats(&mixture["b_after"]), 1e-12);
    }
}

fn start(training: &Training<'_>) -> Result<MixtureModel> {
    MixtureModel::start(&MixtureOptions { components: 3, smoothing: None }, training)
}

#[test]
fn it_keeps_to_what_every_model_does() {
    assert_sound(start, MixtureModel::load);
}

#[test]
fn components_are_found_and_em_climbs() {
    let data = three_topics(600);
    let (train, valid) = data.train.split_at(500);
    let training = Training { train, valid, ..data.training(1) };
    let options = MixtureOptions { components: 3, smoothing: Some(1.0) };
    let mut model = MixtureModel::start(&options, &training).unwrap();
    let mut last = f64::NEG_INFINITY;
    for number in 0..30 {
        let found = model.pass(&training, number).unwrap();
        // The E-step is in f32, and drops the smallest shares.
        let now = found.train_score.unwrap();
        assert!(now > last - 1e-3, "{now} after {last}");
        last = now;
        if found.converged {
            break;
        }
    }
    let mixture = model.mixture();
    for topic in 0..3 {
        let own = |component: usize| (0..4).all(|word| mixture.component(component)[4 * topic + word] > 0.5);
        assert!((0..3).any(own), "no component has the words of topic {topic}");
    }
    assert_eq!(model.top_tokens(0, 4).len(), 4);
}

#[test]
fn scores_of_all_documents_add_up_to_one() {
    let data = Data::of((0..32u32).map(|at| (0..5).filter(|bit| at >> bit & 1 == 1).collect()), 5);
    let mut model = start(&data.training(3)).unwrap();
    pass(&mut model, &data.training(3), 0..3);
    let sum: f64 =
        model.scores(&data.alignment.docs(&data.corpus), &data.train).iter().map(|x| x.exp()).sum();
    assert!((sum - 1.0).abs() < 1e-12, "{sum}");
}

#[test]
fn unknown_tokens_are_summed_out() {
    let model = of(&[0.3, 0.7], &[0.9, 0.2, 0.5, 0.1, 0.6, 0.25]);
    let names: Vec<String> = (0..3).map(|token| token.to_string()).collect();
    let mut corpus = Corpus::default();
    // Token 1 unknown; then both of its values; then everything unknown.
    let mut unknown = Others { tokens: vec![1], rest_unknown: false };
    corpus.push_state(&mut vec![0], &mut unknown, "", "").unwrap();
    corpus.push(&mut vec![0], "", "");
    corpus.push(&mut vec![0, 1], "", "");
    corpus.push_state(&mut vec![], &mut Others { tokens: vec![], rest_unknown: true }, "", "").unwrap();
    let alignment = align(&corpus, &names);
    let scores = model.scores(&alignment.docs(&corpus), &[0, 1, 2, 3]);
    assert!((scores[0].exp() - scores[1].exp() - scores[2].exp()).abs() < 1e-15, "{scores:?}");
    assert!(scores[3].abs() < 1e-15, "{scores:?}");
}

#[test]
fn training_with_unknown_tokens_finds_what_was_there() {
    // Two kinds of document, each with three words of probability 0.8; two tokens in five are unknown.
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut corpus = Corpus::default();
    for doc in 0..2000u32 {
        let mut others = Others::default();
        let mut present = Vec::new();
        for word in 0..6 {
            let is_there = word / 3 == doc % 2 && random.random::<f64>() < 0.8;
            match random.random::<f64>() < 0.4 {
                true => others.tokens.push(word),
                false if is_there => present.push(word),
                false => {}
            }
        }
        corpus.push_state(&mut present, &mut others, "", "").unwrap();
    }
    let names: Vec<String> = (0..6).map(|token| token.to_string()).collect();
    let alignment = align(&corpus, &names);
    let (train, monitor): (Vec<u32>, _) = ((0..2000).collect(), Default::default());
    let docs = alignment.docs(&corpus);
    let training = Training { docs, train: &train, valid: &[], n_tokens: 6, seed: 1, monitor: &monitor };
    let options = MixtureOptions { components: 2, smoothing: Some(0.1) };
    let mut model = MixtureModel::start(&options, &training).unwrap();
    pass(&mut model, &training, 0..30);
    let mixture = model.mixture();
    let first = if mixture.component(0)[0] > 0.5 { 0 } else { 1 };
    for token in 0..6 {
        let (own, other) = if token < 3 { (first, 1 - first) } else { (1 - first, first) };
        let p = |component: usize| mixture.component(component)[token];
        // Unknown as absent would have 0.48. The standard error is 0.016.
        assert!((p(own) - 0.8).abs() < 0.06 && p(other) < 0.02, "{token}: {} {}", p(own), p(other));
    }
    // Saved and loaded in the middle.
    let mut again = MixtureModel::load(model.tensors()).unwrap();
    pass(&mut again, &training, 30..32);
    pass(&mut model, &training, 30..32);
    assert_eq!(bytes(&again), bytes(&model));
}

#[test]
fn smoothing_is_chosen_by_documents_held_out() {
    let smoothing = |data: &Data, components: usize| {
        let (train, valid) = data.train.split_at(600);
        let training = Training { train, valid, ..data.training(5) };
        let options = MixtureOptions { components, smoothing: None };
        let mut model = MixtureModel::start(&options, &training).unwrap();
        pass(&mut model, &training, 0..8);
        model.smoothing()
    };
    // There is nothing to find in noise; groups that are there need little smoothing.
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let doc = |_| (0..30).filter(|_| random.random::<f64>() < 0.3).collect();
    let noise = Data::of((0..900).map(doc).collect::<Vec<_>>(), 30);
    let (of_noise, of_topics) = (smoothing(&noise, 30), smoothing(&three_topics(900), 3));
    assert!(of_noise > of_topics, "{of_noise} {of_topics}");
}

#[test]
fn tokens_that_training_never_saw_are_rare_and_not_impossible() {
    let data = Data::of((0..200u32).map(|doc| if doc < 150 { vec![doc % 2] } else { vec![doc % 2, 2] }), 3);
    let (train, valid) = (&data.train[..120], &data.train[120..150]);
    let training = Training { train, valid, ..data.training(1) };
    let mut model = start(&training).unwrap();
    pass(&mut model, &training, 0..5);
    // A tenth of a document in 120, log 1200, shared out among components: far from the 27 nats of the least probability.
    let scores = model.scores(&data.alignment.docs(&data.corpus), &[0, 150]);
    let cost = scores[0] - scores[1];
    assert!((7.0..13.0).contains(&cost), "{cost}");
}

#[test]
fn many_components_of_few_documents_still_learn() {
    let data = three_topics(120);
    let options = MixtureOptions { components: 60, smoothing: None };
    let mut model = MixtureModel::start(&options, &data.training(2)).unwrap();
    let first = model.pass(&data.training(2), 0).unwrap().train_score.unwrap();
    pass(&mut model, &data.training(2), 1..10);
    let last = model.pass(&data.training(2), 10).unwrap().train_score.unwrap();
    assert!(last > first + 0.5, "{first} {last}");
}

#[test]
fn options_and_damage_are_refused() {
    for (components, smoothing) in [(0, None), (2, Some(0.0)), (2, Some(f64::NAN)), (2, Some(-1.0))] {
        assert!(matches!(MixtureOptions { components, smoothing }.check(), Err(Error::Usage(_))));
    }
    let sound = || {
        let facts = json!({"components": 2, "tokens": 2, "smoothing": 1.0});
        Tensors::new(&facts)
            .with_f64("shares", &[2], vec![0.5, 0.5])
            .with_f64("p", &[2, 2], vec![0.1; 4])
            .with_f64("frequency", &[2], vec![0.5; 2])
    };
    assert!(MixtureModel::load(sound()).is_ok());
    for damaged in [
        Tensors::new(&json!({"components": 2, "tokens": 2})),
        Tensors::new(&json!({"components": u64::MAX, "tokens": u64::MAX, "smoothing": 1.0})),
        sound().with_f64("shares", &[2], vec![0.9, 0.5]),
        sound().with_f64("shares", &[2], vec![-0.5, 1.5]),
        sound().with_f64("p", &[2, 2], vec![0.1, 0.2, 0.3, 1.0]),
        sound().with_f64("p", &[3], vec![0.1; 3]),
        sound().with_f64("frequency", &[2], vec![0.5, f64::NAN]),
        sound().with_u32("p", &[2, 2], vec![0; 4]),
        sound().with_f64("state_docs", &[2], vec![1.0, -1.0]).with_f64("state_tokens", &[4], vec![0.0; 4]),
    ] {
        assert!(MixtureModel::load(damaged).is_err());
    }
}
