//! Explanations against the oracle and the fast path: the same optimum, and terms that add up.

#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use noisyor::corpus::{align, sample_corpus, sample_network};
use noisyor::estep::oracle::Point;
use noisyor::estep::{Bound, EStepOptions};
use noisyor::explain::{Explainer, Explanation, TermKind, TopicPart};
use noisyor::network::Network;
use noisyor::numeric::f64::{beta, log1mexp};

/// Log-odds that q itself can tell: beyond, 1 - q has too few digits in f64.
const TELLABLE: f64 = 20.0;

/// Networks with documents: the golden ones, and random ones with skip edges.
fn cases() -> impl Iterator<Item = (String, Network, Vec<Vec<u32>>)> {
    let golden = golden_cases().into_iter().map(|case| {
        let docs = case.docs().iter().map(|doc| tokens(&doc["tokens"])).collect();
        (case.name, case.network, docs)
    });
    golden
        .chain(random_cases(60, 25, 40).map(|(seed, network, docs)| (format!("seed {seed}"), network, docs)))
}

/// The optimum as the oracle has points.
fn point_of(network: &Network, explanation: &Explanation) -> Point {
    let graph = &network.graph;
    let mut point = Point { q: vec![0.0; graph.n_topics()], r: vec![0.0; graph.n_edges()] };
    let causes = explanation.topics.iter().map(|part| (part.topic, &part.cause));
    for (node, cause) in causes.chain(explanation.tokens.iter().map(|part| (part.node, &part.cause))) {
        let parents = graph.edges_into(node as usize).zip(&cause.parents);
        parents.for_each(|(edge, parent)| point.r[edge] = parent.r);
    }
    explanation.topics.iter().for_each(|part| point.q[part.topic as usize] = part.q);
    point
}

fn logit(q: f64) -> f64 {
    (q / (1.0 - q)).ln()
}

#[test]
fn terms_add_up_to_the_log_odds_of_the_oracle() {
    for (name, network, docs) in cases() {
        for bound in [Bound::Tail, Bound::Local, Bound::Full] {
            let explainer = Explainer::new(&network, bound).unwrap();
            for tokens in &docs {
                let explanation = explainer.explain(tokens);
                let (oracle, point) = (oracle(&network, tokens), point_of(&network, &explanation));
                for part in &explanation.topics {
                    let (name, why) =
                        (format!("{name}: topic {}", part.topic), explainer.why(&explanation, part.topic));
                    assert!(why.considered && why.q == part.q && why.log_odds == part.log_odds, "{name}");
                    let sum: f64 = why.terms.iter().map(|term| term.value).sum();
                    assert_close(&name, sum, part.log_odds, F64);
                    assert_close(&name, sum, oracle.log_odds(&point, part.topic as usize), F64);
                    if part.log_odds.abs() < TELLABLE {
                        assert_close(&name, logit(part.q), part.log_odds, 1e-6);
                    }
                    let n_children: usize = why
                        .terms
                        .iter()
                        .filter(|term| term.kind > TermKind::Parent)
                        .map(|term| term.n_nodes)
                        .sum();
                    assert_eq!(n_children, network.graph.children(part.topic as usize).len(), "{name}");
                }
            }
        }
    }
}

#[test]
fn bound_costs_and_shares_are_the_oracles() {
    for (name, network, docs) in cases() {
        let (graph, leak) = (&network.graph, &network.weights.leak);
        let explainer = Explainer::new(&network, Bound::Tail).unwrap();
        for tokens in &docs {
            let explanation = explainer.explain(tokens);
            let (oracle, point) = (oracle(&network, tokens), point_of(&network, &explanation));
            let inside = oracle.local_topics();
            let in_model: Vec<usize> = explanation.topics.iter().map(|part| part.topic as usize).collect();
            assert!((0..graph.n_topics()).filter(|&topic| inside[topic]).eq(in_model), "{name}");
            assert_close(&name, explanation.elbo, oracle.elbo(&point) + oracle.tail(&inside), F64);
            let sums = oracle.sums(&point);
            for token in &explanation.tokens {
                let (node, cause) = (token.node as usize, &token.cause);
                let contributions: f64 = cause.parents.iter().map(|parent| parent.contribution).sum();
                assert_close(&name, -cause.cost, log1mexp(leak[node]) + contributions, F64);
                let counts: Vec<f64> =
                    graph.edges_into(node).map(|edge| network.weights.edge[edge] * sums.edge[edge]).collect();
                let all = counts.iter().sum::<f64>() + leak[node] * sums.leak[node];
                for (parent, count) in cause.parents.iter().zip(&counts) {
                    assert_close(&name, parent.share, count / all, F64);
                }
                let shares: f64 = cause.parents.iter().map(|parent| parent.share).sum();
                assert_close(&name, shares + cause.leak_share, 1.0, F64);
            }
        }
    }
}

/// |dq| of an explanation and the fast path, topic by topic. The explanation goes on where the fast path stops: its bound is no lower.
fn differences(network: &Network, docs: &[Vec<u32>], options: &EStepOptions) -> Vec<f64> {
    let ran = run_docs(network, docs, options);
    let explainer = Explainer::new(network, options.bound).unwrap();
    let mut differences = Vec::new();
    for (doc, tokens) in docs.iter().enumerate() {
        let explanation = explainer.explain(tokens);
        let rounding = F32_TERMS * bound_size(&oracle(network, tokens), &point_of(network, &explanation));
        let (elbo, fast) = (explanation.elbo, ran.elbo[doc]);
        assert!(elbo >= fast - rounding, "{elbo} for {tokens:?}, the fast path has {fast}");
        let difference = |part: &TopicPart| (part.q - f64::from(ran.q[doc][part.topic as usize])).abs();
        differences.extend(explanation.topics.iter().map(difference));
    }
    differences
}

/// The share of the differences above a limit.
fn above(differences: &[f64], limit: f64) -> f64 {
    differences.iter().filter(|&&difference| difference > limit).count() as f64 / differences.len() as f64
}

/// The fast path with the same start and order, on until f32 has no more to give.
fn long() -> EStepOptions {
    EStepOptions { max_alternations: 2_000, tolerance: 1e-7, ..EStepOptions::default() }
}

#[test]
fn the_optimum_is_the_one_that_inference_finds_if_it_goes_on() {
    let mut all = Vec::new();
    for (_, mut network, docs) in cases() {
        network.weights.round_to_f32();
        all.extend(differences(&network, &docs, &long()));
    }
    // Where two parents are nearly as good r creeps, and rounding decides when f32 stops: 0.5 % were above 1e-3, 1 % above 1e-4.
    assert!(
        above(&all, 1e-3) < 0.01 && above(&all, 1e-4) < 0.02,
        "{} {}",
        above(&all, 1e-3),
        above(&all, 1e-4)
    );
}

#[test]
fn documents_of_the_sample_end_where_inference_ends() {
    let (mut network, corpus) = (sample_network().unwrap(), sample_corpus().unwrap());
    network.weights.round_to_f32();
    let alignment = align(&corpus, &network.names.tokens);
    let docs: Vec<Vec<u32>> = (0..1_000).map(|doc| alignment.docs(&corpus).tokens(doc).collect()).collect();
    let all = differences(&network, &docs, &EStepOptions::default());
    // The tolerance of 1e-3 is one of a single alternation: 0.4 % were further off, 0.04 % by more than a hundredth.
    assert!(
        above(&all, 1e-3) < 0.01 && above(&all, 1e-2) < 1e-3,
        "{} {}",
        above(&all, 1e-3),
        above(&all, 1e-2)
    );
    assert!(above(&all, 0.05) == 0.0);
}

#[test]
fn nothing_to_explain_is_explained_too() {
    let network = network_of(2, 2, &[(0, 1, 1.0), (0, 2, 2.0), (1, 3, 0.5)], vec![0.3, 0.1, 0.01, 0.02]);
    let explainer = Explainer::new(&network, Bound::Tail).unwrap();
    let empty = explainer.explain(&[]);
    let inside = vec![false; 2];
    let (oracle, nothing) = (oracle(&network, &[]), Point { q: vec![0.0; 2], r: vec![0.0; 3] });
    assert!(empty.topics.is_empty() && empty.tokens.is_empty() && empty.last_move == 0.0);
    assert_close("empty", empty.elbo, oracle.elbo(&nothing) + oracle.tail(&inside), F64);
    assert_eq!(explainer.explain(&[7, 7]), empty, "tokens that the network does not have are left out");
    // Topics outside the local model: the leak against all that is not there.
    let why = explainer.why(&empty, 0);
    let values: Vec<f64> = why.terms.iter().map(|term| term.value).collect();
    assert_eq!(values, [beta(0.3), -2.0, -1.0]);
    assert!(!why.considered && (logit(why.q) - (beta(0.3) - 3.0)).abs() < 1e-12);
    assert_eq!(Explainer::new(&network, Bound::Local).unwrap().why(&empty, 0).q, 0.0);

    let bare = network_of(0, 2, &[], vec![0.5, 0.7]);
    let explained = Explainer::new(&bare, Bound::Tail).unwrap().explain(&[1]);
    let cause = &explained.tokens[0].cause;
    assert_eq!((cause.leak_share, cause.cost), (1.0, cause.leak_cost));
    assert_close("bare", explained.elbo, log1mexp(0.7) - 0.5, F64);
}

#[test]
fn faulty_weights_are_named() {
    let network = network_of(1, 1, &[(0, 1, f64::NAN)], vec![0.1, 0.1]);
    let message = Explainer::new(&network, Bound::Tail).unwrap_err().to_string();
    assert!(message.contains("t0") && message.contains("w0"), "{message}");
}
