//! Baselines: golden files, and what every model has to keep to.

#![allow(clippy::unwrap_used)]

mod bernoulli_lda;
mod damage;
mod mixture;
mod spn;
mod topics;

use crate::common::golden_file;
use noisyor::baseline::{Model, Tensors, Training};
use noisyor::corpus::{Alignment, Corpus, align};
use noisyor::{Monitor, Result};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

/// Documents to train on.
pub(crate) struct Data {
    pub(crate) corpus: Corpus,
    pub(crate) alignment: Alignment,
    pub(crate) train: Vec<u32>,
    pub(crate) monitor: Monitor,
    pub(crate) n_tokens: usize,
}

impl Data {
    pub(crate) fn of(docs: impl IntoIterator<Item = Vec<u32>>, n_tokens: usize) -> Self {
        let corpus = Corpus::from_tokens(docs);
        let names: Vec<String> = (0..n_tokens).map(|token| token.to_string()).collect();
        let (alignment, train) = (align(&corpus, &names), (0..corpus.n_docs() as u32).collect());
        Self { corpus, alignment, train, monitor: Monitor::default(), n_tokens }
    }

    pub(crate) fn training(&self, seed: u64) -> Training<'_> {
        let docs = self.alignment.docs(&self.corpus);
        let Self { train, monitor, n_tokens, .. } = self;
        Training { docs, train, valid: &[], n_tokens: *n_tokens, seed, monitor }
    }
}

/// Documents of three topics with words of their own, four each, and some noise; a document is of one topic.
pub(crate) fn three_topics(n_docs: usize) -> Data {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let doc = |_| {
        let topic = random.random_range(0..3u32);
        let p = |token: u32| if topic == token / 4 { 0.7 } else { 0.03 };
        (0..12).filter(|&token| random.random::<f64>() < p(token)).collect()
    };
    Data::of((0..n_docs).map(doc).collect::<Vec<_>>(), 12)
}

/// Numbers of lists within lists.
pub(crate) fn floats(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(values) => values.iter().flat_map(floats).collect(),
        number => vec![number.as_f64().unwrap()],
    }
}

/// Rows of which Bernoulli LDA and mixtures have golden answers.
pub(crate) fn golden_cases() -> Vec<Value> {
    golden_file("baselines/golden.json")["bernoulli_lda"].as_array().unwrap().clone()
}

/// The rows of such a case.
pub(crate) fn golden_data(case: &Value) -> Data {
    let rows = case["rows"].as_array().unwrap();
    let tokens = |row: &Value| (0u32..).zip(floats(row)).filter(|(_, y)| *y == 1.0).map(|(token, _)| token);
    let n_tokens = rows[0].as_array().unwrap().len();
    Data::of(rows.iter().map(|row| tokens(row).collect()), n_tokens)
}

/// A model after so many passes, in a pool of so many threads.
pub(crate) fn trained<M: Model>(
    data: &Data,
    n_threads: usize,
    n_passes: u32,
    start: impl Fn(&Training<'_>) -> Result<M> + Send + Sync,
) -> M {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
    pool.install(|| {
        let mut model = start(&data.training(7)).unwrap();
        pass(&mut model, &data.training(7), 0..n_passes);
        model
    })
}

/// Makes passes.
pub(crate) fn pass(model: &mut impl Model, training: &Training<'_>, numbers: std::ops::Range<u32>) {
    for number in numbers {
        model.pass(training, number).unwrap();
    }
}

/// The bytes of everything a model holds.
pub(crate) fn bytes(model: &impl Model) -> Vec<u8> {
    serde_json::to_vec(&model.tensors()).unwrap()
}

/// What every model keeps to: the number of threads does not matter and the seed does, a model that was saved goes on to the same bytes,
/// and what is degenerate does no harm.
pub(crate) fn assert_sound<M: Model>(
    start: impl Fn(&Training<'_>) -> Result<M> + Send + Sync,
    load: impl Fn(Tensors) -> Result<M>,
) {
    let data = three_topics(700);
    let one = trained(&data, 1, 3, &start);
    assert_eq!(bytes(&one), bytes(&trained(&data, 4, 3, &start)), "the number of threads matters");
    let other = start(&data.training(8)).unwrap();
    assert_ne!(bytes(&other), bytes(&start(&data.training(7)).unwrap()), "the seed does not matter");
    // Saved after one pass.
    let mut saved = load(trained(&data, 2, 1, &start).tensors()).unwrap();
    pass(&mut saved, &data.training(7), 1..3);
    assert_eq!(bytes(&saved), bytes(&one), "a saved model goes another way");
    // Scores do not depend on neighbours.
    let docs = data.alignment.docs(&data.corpus);
    assert_eq!(one.scores(&docs, &[3, 5])[1], one.scores(&docs, &[5])[0]);
    // Stopped.
    data.monitor.stop.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(saved.pass(&data.training(7), 3).is_err());
    for (docs, n_tokens) in [
        (vec![vec![]; 3], 2),
        (vec![vec![0, 2]], 5),
        (vec![vec![0, 1], vec![], vec![1]], 4),
        (vec![vec![]], 0),
        (vec![], 3),
    ] {
        let what = format!("{docs:?} of {n_tokens} tokens");
        let data = Data::of(docs, n_tokens);
        let model = trained(&data, 2, 3, &start);
        let docs = data.alignment.docs(&data.corpus);
        assert!(model.scores(&docs, &data.train).iter().all(|x| x.is_finite() && *x < 1e-9), "{what}");
        let features = model.features(&docs, &data.train);
        assert_eq!(features.len(), data.train.len() * model.feature_names().len(), "{what}");
        assert!(features.iter().all(|x| x.is_finite()), "{what}: {features:?}");
        assert_eq!(bytes(&load(model.tensors()).unwrap()), bytes(&model), "{what}");
    }
}

/// Every array of a model, made shorter, and with each of these values in it, is refused.
pub(crate) fn assert_damage_is_seen<M: Model>(
    model: &M,
    arrays: &[(&str, &[f64])],
    load: impl Fn(Tensors) -> Result<M>,
) {
    let tensors = serde_json::to_value(model.tensors()).unwrap();
    assert!(load(serde_json::from_value(tensors.clone()).unwrap()).is_ok());
    for (name, values) in arrays {
        let with = |change: &dyn Fn(&mut Vec<serde_json::Value>)| {
            let mut tensors = tensors.clone();
            change(tensors["arrays"][*name]["F64"][1].as_array_mut().expect(name));
            load(serde_json::from_value(tensors).unwrap())
        };
        assert!(with(&|array| drop(array.pop())).is_err(), "{name} is shorter");
        for &value in *values {
            let refused = with(&|array| array[0] = value.into()).err().map(|e| e.to_string());
            assert!(refused.as_ref().is_some_and(|e| e.contains(name)), "{name} has {value}: {refused:?}");
        }
        let mut without = tensors.clone();
        without["arrays"].as_object_mut().unwrap().remove(*name);
        if !name.starts_with("state_") {
            assert!(load(serde_json::from_value(without).unwrap()).is_err(), "without {name}");
        }
    }
    for facts in ["", "{}", "[1]", r#"{"options":{},"n_tokens":3}"#, r#"{"n_tokens":-1}"#] {
        let mut tensors = tensors.clone();
        tensors["facts"] = facts.into();
        assert!(load(serde_json::from_value(tensors).unwrap()).is_err(), "facts {facts}");
    }
    for n_tokens in [serde_json::json!(u64::MAX), serde_json::json!(1u64 << 31), serde_json::json!(7)] {
        let mut facts: serde_json::Value = serde_json::from_str(tensors["facts"].as_str().unwrap()).unwrap();
        facts["n_tokens"] = n_tokens;
        let mut tensors = tensors.clone();
        tensors["facts"] = facts.to_string().into();
        assert!(load(serde_json::from_value(tensors).unwrap()).is_err(), "another number of tokens");
    }
}
