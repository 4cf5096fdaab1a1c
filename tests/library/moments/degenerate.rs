//! Data that say little or nothing: an answer with a wide error bar or a refusal by name, and never a NaN.

use super::sampled::figure_1;
use super::{graph_of, learn, schedule_of};
use noisyor::corpus::{Corpus, Others, align};
use noisyor::moments::{Certificate, Counts, Estimate, Learned, Schedule, ScheduleOptions, Weighting, Why};
use noisyor::{Graph, Monitor};

fn run(graph: &Graph, corpus: &Corpus) -> Learned {
    let schedule = schedule_of(graph, &ScheduleOptions::default());
    let names: Vec<String> = (0..graph.n_tokens()).map(|token| token.to_string()).collect();
    let alignment = align(corpus, &names);
    let docs = alignment.docs(corpus);
    let counts = Counts::of(&docs, 0..corpus.n_docs(), names.len(), &schedule, &Monitor::default()).unwrap();
    let learned = [Weighting::First, Weighting::Average, Weighting::Pooled].map(|weighting| {
        let learned = learn(graph, &schedule, &counts, weighting);
        all(&learned).for_each(assert_sane);
        let weights = learned.weights(graph, &counts, None);
        let names = noisyor::Names { topics: vec![], tokens: vec![] };
        assert_eq!(weights.fault(graph, &|node| names.of(node).to_owned()), None);
        learned
    });
    learned.into_iter().next_back().unwrap()
}

fn all(learned: &Learned) -> impl Iterator<Item = &Estimate> {
    learned.prior.iter().chain(&learned.failure).chain(&learned.leak_failure).flatten()
}

fn assert_sane(estimate: &Estimate) {
    assert!((0.0..=1.0).contains(&estimate.value) && estimate.raw.is_finite(), "{estimate:?}");
    assert!(estimate.se > 0.0, "nothing is certain: {estimate:?}");
    assert_eq!(estimate.degenerate && estimate.n_sets == 0, estimate.degenerate, "{estimate:?}");
}

fn star() -> Graph {
    graph_of(1, 4, &[(0, 0), (0, 1), (0, 2), (0, 3)])
}

#[test]
fn tokens_that_are_always_or_never_present() {
    for docs in [
        vec![vec![0, 1, 2, 3]; 100],
        vec![vec![]; 100],
        vec![vec![0]; 100],
        (0..100).map(|doc| if doc % 3 == 0 { vec![0, 1, 2] } else { vec![0] }).collect(),
    ] {
        let learned = run(&star(), &Corpus::from_tokens(docs));
        let first = learned.failure[0].as_ref().unwrap();
        assert!(first.degenerate && first.se.is_infinite(), "{first:?}");
    }
}

#[test]
fn one_document_or_a_few() {
    for n_docs in 1..12 {
        let docs =
            (0..n_docs).map(|doc| (0..4).filter(|token| (doc * 7 + token * token * 3) % 5 < 2).collect());
        run(&star(), &Corpus::from_tokens(docs));
        let docs =
            (0..n_docs).map(|doc| (0..5).filter(|token| (doc * 7 + token * token * 3) % 5 < 2).collect());
        run(&figure_1(), &Corpus::from_tokens(docs));
    }
    let one = run(&star(), &Corpus::from_tokens([vec![0, 1]]));
    assert!(all(&one).all(|estimate| estimate.se >= 1.0), "{one:?}");
}

/// Tokens that exclude one another: covariances are negative, the roots complex.
#[test]
fn negative_covariances() {
    let learned = run(&star(), &Corpus::from_tokens((0..400).map(|doc| vec![doc % 4])));
    assert!(learned.failure.iter().flatten().all(|failure| failure.degenerate && failure.se.is_infinite()));
    assert!(learned.prior[0].as_ref().unwrap().degenerate);
}

/// Independent tokens: the determinant is near zero, and the topic is nowhere to be seen. The error bar must show it.
#[test]
fn independent_tokens_have_wide_error_bars() {
    let docs = (0..4096u32).map(|doc| (0..4).filter(|token| doc >> (3 * token) & 7 < 2).collect());
    let learned = run(&star(), &Corpus::from_tokens(docs));
    for failure in learned.failure.iter().flatten() {
        assert!(failure.se > 0.3, "{failure:?}");
    }
}

/// Three tokens that are never known together.
#[test]
fn sets_that_no_document_knows() {
    let mut corpus = Corpus::default();
    for doc in 0..300u32 {
        let mut others = Others { tokens: vec![doc % 3], rest_unknown: false };
        corpus.push_state(&mut vec![(doc + 1) % 3], &mut others, "", "").unwrap();
    }
    let learned = run(&graph_of(1, 3, &[(0, 0), (0, 1), (0, 2)]), &corpus);
    assert!(learned.failure.iter().flatten().all(|failure| failure.degenerate && failure.se.is_infinite()));
}

#[test]
fn what_cannot_be_learned_is_named() {
    let why = |graph: &Graph| {
        let certificate = Certificate::of(graph, &schedule_of(graph, &ScheduleOptions::default())).unwrap();
        assert!(!certificate.complete);
        certificate.left.into_iter().flat_map(|left| left.topics).map(|topic| topic.why).collect::<Vec<_>>()
    };
    assert_eq!(why(&graph_of(1, 2, &[(0, 0), (0, 1)])), [Why::FewTokens]);
    assert_eq!(why(&graph_of(1, 0, &[])), [Why::NoTokens]);
    let both = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3)];
    let coupled = |by| Why::Coupled { by: vec![by] };
    assert_eq!(why(&graph_of(2, 4, &both)), [coupled(1), coupled(0)]);
}

#[test]
fn deeper_graphs_and_empty_corpora_are_refused() {
    let (deep, _) = Graph::build(2, 1, &[(0, 1), (1, 2)], &|node| node.to_string()).unwrap();
    let told = Schedule::of(&deep, &ScheduleOptions::default(), &Monitor::default()).unwrap_err().to_string();
    assert!(told.contains("two layers") && told.contains("topic 1"), "{told}");
    let schedule = schedule_of(&star(), &ScheduleOptions::default());
    let (none, names) = (Corpus::default(), vec!["0".to_owned()]);
    let alignment = align(&none, &names);
    let told = Counts::of(&alignment.docs(&none), 0..0, 4, &schedule, &Monitor::default())
        .err()
        .unwrap()
        .to_string();
    assert!(told.contains("no documents"), "{told}");
}
