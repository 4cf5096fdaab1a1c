//! Topics that documents can do without, topics that stand for two, and smoothing by documents held out.

use super::*;
use noisyor::train::Smoothing;

/// Tokens of a topic.
const OWN: u32 = 12;

/// Four topics with tokens of their own, the first two below a fifth.
fn truth() -> Network {
    let mut edges: Vec<(u32, u32, f64)> = Vec::new();
    for topic in 0..4 {
        edges.extend((0..OWN).map(|token| (topic, 6 + OWN * topic + token, 1.0)));
    }
    edges.extend([(4, 0, 1.2), (4, 1, 1.2)]);
    network_of(6, 4 * OWN as usize, &edges, &[0.02, 0.02, 0.15, 0.15, 0.3, 1e-6])
}

/// A network of topics with these leaks, and tokens with small ones.
fn network_of(n_topics: usize, n_tokens: usize, edges: &[(u32, u32, f64)], leaks: &[f64]) -> Network {
    let ends: Vec<(u32, u32)> = edges.iter().map(|edge| (edge.0, edge.1)).collect();
    let (graph, order) = Graph::build(n_topics, n_tokens, &ends, &|node| node.to_string()).unwrap();
    let edge = order.iter().map(|&at| edges[at as usize].2).collect();
    let leak = leaks.iter().copied().chain(std::iter::repeat_n(0.01, n_tokens)).collect();
    let numbered = |what: &str, n: usize| (0..n).map(|at| format!("{what}{at}")).collect();
    let names = Names { topics: numbered("topic", n_topics), tokens: numbered("token", n_tokens) };
    Network { graph, weights: Weights { edge, leak }, names, training: String::new() }
}

/// Trains from another graph of the same nodes.
fn train_from(data: &Data, start: &Network, options: TrainOptions) -> Outcome {
    let options = options.check().unwrap();
    let (begin, docs) = (Begin::New(&start.graph, Some(&start.weights)), data.alignment.docs(&data.corpus));
    train(begin, docs, &options, &mut CpuEStep::new(), &Monitor::default(), &mut |_| Ok(())).unwrap()
}

fn condensing() -> TrainOptions {
    TrainOptions {
        smooth: true,
        condense: true,
        init: Init::Graph,
        valid: 0.2,
        ..options(EM, BatchSize::Full, 20)
    }
}

#[test]
fn a_topic_with_the_words_of_two_becomes_their_parent_and_one_without_use_goes() {
    let data = Data::sampled(truth(), 3_000);
    // The parent is unknown: topic 4 has the words of both instead, and topic 5 words of all.
    let mut edges: Vec<(u32, u32, f64)> = Vec::new();
    for topic in 0..4 {
        edges.extend((0..OWN).map(|token| (topic, 6 + OWN * topic + token, 0.8)));
    }
    edges.extend((0..2 * OWN).map(|token| (4, 6 + token, 0.8)));
    edges.extend((0..4).map(|topic| (5, 6 + OWN * topic, 0.3)));
    let start = network_of(6, 4 * OWN as usize, &edges, &[0.1, 0.1, 0.1, 0.1, 0.2, 0.05]);
    let got = train_from(&data, &start, condensing());
    assert_eq!(got.graph.parents(0), [4], "{:?}", got.graph.edges().collect::<Vec<_>>());
    assert_eq!(got.graph.parents(1), [4]);
    assert!(got.graph.children(5).is_empty(), "{:?}", got.graph.children(5));
    for topic in 0..4 {
        let strong = |edge: &&u32| got.weights.edge[**edge as usize] > 0.5;
        let n_strong = got.graph.child_edges(topic).iter().filter(strong).count();
        assert_eq!(n_strong, OWN as usize, "topic {topic}");
    }
    let plain = train_from(&data, &start, TrainOptions { condense: false, ..condensing() });
    let bound = |outcome: &Outcome| outcome.metrics.as_ref().unwrap().valid_elbo.unwrap();
    assert!(bound(&got) > bound(&plain), "{} and {} without", bound(&got), bound(&plain));
}

#[test]
fn a_network_without_idle_topics_keeps_them_all() {
    let data = Data::sampled(truth(), 3_000);
    let got = train_from(&data, &data.network, condensing());
    let with_children = (0..6).filter(|&topic| !got.graph.children(topic).is_empty());
    assert_eq!(with_children.collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

#[test]
fn smoothing_by_documents_held_out_is_better_where_documents_are_few() {
    let data = Data::sampled(truth(), 500);
    // Every topic could have every token.
    let edges: Vec<(u32, u32, f64)> = (0..6)
        .flat_map(|topic| {
            (0..20).map(move |token| (topic, 6 + token, if token / 5 == topic { 1.5 } else { 0.2 }))
        })
        .collect();
    let start = network_of(6, 4 * OWN as usize, &edges, &[0.1; 6]);
    // The first step is smoothed already, where it is taken with all documents.
    for epochs in [1, 20] {
        let [plain, smoothed] = [false, true].map(|smooth| {
            let options =
                TrainOptions { smooth, condense: false, patience: 0, valid: 0.8, epochs, ..condensing() };
            train_from(&data, &start, options).metrics.unwrap()
        });
        assert!(smoothed.valid_elbo > plain.valid_elbo, "{smoothed:?} and {plain:?}");
        assert!(plain.smoothing.is_none());
        assert_ne!(smoothed.smoothing, Some(Smoothing::penalty(1.0)));
    }
}

#[test]
fn the_step_is_smoothed_as_the_formula_says() {
    let network = network_of(1, 2, &[(0, 1, 0.5), (0, 2, 0.25)], &[0.3]);
    let mut stats = Stats::new(&network.graph, true);
    stats.n_docs = 10.0;
    stats.topic_q[0] = 4.0;
    stats.edge.copy_from_slice(&[8.0, 4.0]);
    stats.leak.copy_from_slice(&[5.0, 100.0, 200.0]);
    let smoothing = Smoothing { lambda: 1.0, discount: 2.0, shrink: 3.0, leak_share: 0.5 };
    let rates = [0.7, 0.9];
    let mut weights = network.weights.clone();
    let mut stepper = Stepper::new(EM, (1e-9, 1e-9, 20.0), 10, (1, 1))
        .with_smoothing(Some((smoothing, std::sync::Arc::new(rates.to_vec()))));
    stepper.advance(&network.graph, &mut weights, &sums(&stats));
    // Counts n = w N: 4 and 1 documents; leaks w0 L / D: 0.1 and 0.2.
    let leaks = [(0.1 + 0.35) / 1.5, (0.2 + 0.45) / 1.5];
    let edges = [(2.0 + 3.0 * (0.7 - leaks[0])) / 8.0, (0.0 + 3.0 * (0.9 - leaks[1])) / 8.0];
    for (got, want) in weights.edge.iter().zip(edges).chain(weights.leak[1..].iter().zip(leaks)) {
        assert!((got - want).abs() < 1e-12, "{got} instead of {want}");
    }
    assert!((weights.leak[0] - 0.15).abs() < 1e-12, "topics are not smoothed: {}", weights.leak[0]);
}
