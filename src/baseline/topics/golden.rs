//! Golden answers on control variates, as batches (tests/golden/baselines/README.md). For tests.

use super::control::Control;
use super::lambda::Known;
use super::sums::Sums;
use serde_json::Value;

/// The documents of a case.
pub(in crate::baseline) struct Batches {
    pub(in crate::baseline) all: Sums,
    pub(in crate::baseline) batch: Sums,
    pub(in crate::baseline) known: Known,
    /// With exact conditional means.
    pub(in crate::baseline) control: Control,
}

pub(in crate::baseline) fn cases() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/baselines/golden.json");
    let golden: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let cases = golden["control_variates"].as_array().unwrap().clone();
    assert_eq!(cases.len(), 2);
    cases
}

pub(in crate::baseline) fn n_topics(case: &Value) -> usize {
    case["phi"].as_array().unwrap().len()
}

/// Attributions stand for phi, q for the counts of documents.
pub(in crate::baseline) fn batches(case: &Value) -> Batches {
    let number = |value: &Value| value.as_f64().unwrap();
    let (n_topics, n_docs) = (n_topics(case), case["rows"].as_array().unwrap().len());
    let f = case["document_frequency"].as_array().unwrap();
    let known =
        Known { n_docs: n_docs as f64, counts: f.iter().map(|f| number(f) * n_docs as f64).collect() };
    let words = |doc: usize| {
        let present = (0..f.len()).filter(move |&word| number(&case["rows"][doc][word]) == 1.0);
        let phi = move |word: usize| -> Vec<f64> {
            (0..n_topics).map(|topic| number(&case["attributions"][doc][topic][word])).collect()
        };
        present.map(move |word| (word as u32, phi(word))).collect::<Vec<_>>()
    };
    let given = |docs: &[usize]| Sums::given(n_topics, f.len(), docs.iter().map(|&doc| words(doc)));
    let all: Vec<usize> = (0..n_docs).collect();
    let mut control = Control::new(n_topics, f.len());
    control.learn(&given(&all), &known, 1.0);
    let with_counts = |docs: &[usize]| {
        let (mut sums, mut h) = (given(docs), vec![0.0; n_topics]);
        for &doc in docs {
            sums.counts.extend((0..n_topics).map(|topic| number(&case["q"][doc][topic])));
            control.total(words(doc).into_iter().map(|(word, _)| (word, 1.0)), &mut h);
            sums.h.extend_from_slice(&h);
        }
        sums
    };
    let batch: Vec<usize> =
        case["batch"].as_array().unwrap().iter().map(|doc| number(doc) as usize).collect();
    Batches { all: with_counts(&all), batch: with_counts(&batch), known, control }
}
