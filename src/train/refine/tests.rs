//! What evidence says against the f64 oracle; levels and edges; dead topics.

#![allow(clippy::unwrap_used)] // helpers of tests are tests too

use super::edges::{Levels, Wired};
use super::evidence::{Evidence, Q_MIN};
use super::reseed;
use crate::corpus::{Corpus, Item, align};
use crate::estep::cpu::CpuEStep;
use crate::estep::oracle::{Oracle, Point};
use crate::estep::{Bound, DocResults, EStepOptions, Monitor};
use crate::network::{Graph, Weights};
use crate::rng::{Stream, rng};
use crate::train::TrainOptions;
use crate::train::state::{Phase, State};
use crate::train::trainer::{Setup, Trainer};
use rand::RngExt;
use std::collections::BTreeSet;

/// Sums of evidence against the oracle's: f32 q are the same ones, but r has had a fixed number of iterations.
const SUMS: f64 = 0.02;

/// Four topics in two levels above eight tokens, and edges past a level; token 7 has no parents.
const EDGES: [(u32, u32, f64); 13] = [
    (0, 2, 0.9),
    (1, 2, 0.5),
    (1, 3, 1.2),
    (2, 4, 1.5),
    (2, 5, 0.8),
    (2, 6, 0.3),
    (3, 6, 1.1),
    (3, 7, 0.7),
    (3, 8, 1.4),
    (0, 9, 0.6),
    (1, 9, 0.9),
    (0, 10, 1.3),
    (2, 10, 0.05),
];
const N_TOPICS: usize = 4;
const N_TOKENS: usize = 8;

fn network() -> (Graph, Weights) {
    let leak = [0.3, 0.25, 0.1, 0.15, 0.05, 0.1, 0.08, 0.12, 0.06, 0.1, 0.09, 0.2];
    build(&EDGES, leak.to_vec())
}

fn build(edges: &[(u32, u32, f64)], leak: Vec<f64>) -> (Graph, Weights) {
    let pairs: Vec<(u32, u32)> = edges.iter().map(|edge| (edge.0, edge.1)).collect();
    let (graph, order) =
        Graph::build(N_TOPICS, leak.len() - N_TOPICS, &pairs, &|node| node.to_string()).unwrap();
    let mut weights = Weights { leak, edge: order.iter().map(|&at| edges[at as usize].2).collect() };
    weights.round_to_f32();
    (graph, weights)
}

fn docs() -> Vec<Vec<u32>> {
    let rng = &mut rng(3, Stream::SynthNetwork);
    (0..16).map(|_| (0..N_TOKENS as u32).filter(|_| rng.random_bool(0.4)).collect()).collect()
}

/// A trainer of a network on all documents, under the bound without a tail.
fn with_trainer<T>(
    network: (Graph, Weights),
    docs: Vec<Vec<u32>>,
    run: impl FnOnce(&mut Trainer<'_>) -> T,
) -> T {
    let estep = EStepOptions { bound: Bound::Local, ..EStepOptions::default() };
    let options = TrainOptions { estep, share_identical: false, ..TrainOptions::default() }.check().unwrap();
    let names: Vec<String> = (0..network.0.n_tokens()).map(|token| token.to_string()).collect();
    let corpus = Corpus::from_tokens(docs);
    let alignment = align(&corpus, &names);
    let all: Vec<u32> = (0..corpus.n_docs() as u32).collect();
    let (mut estep, monitor) = (CpuEStep::new(), Monitor::default());
    let docs = alignment.docs(&corpus);
    let state = State::new(network.0, network.1, Phase::Epochs { evaluation_due: false });
    let setup = Setup {
        docs,
        train_docs: all,
        valid_docs: &[],
        options: &options,
        n_steps: 1,
        leak_floor: 1e-5,
        monitor: &monitor,
    };
    run(&mut Trainer::new(state, setup, &mut estep))
}

/// What evidence says of the network, and where the oracle stands: q of the E-step, the best r of every node.
struct Case {
    graph: Graph,
    weights: Weights,
    levels: Levels,
    docs: Vec<Vec<u32>>,
    evidence: Evidence,
    points: Vec<Point>,
}

impl Case {
    fn new() -> Self {
        let ((graph, weights), docs) = (network(), docs());
        let levels = Levels::of(&graph);
        let (evidence, q) = with_trainer((graph.clone(), weights.clone()), docs.clone(), |trainer| {
            let evidence = Evidence::gather(trainer, &levels, false).unwrap();
            (evidence, q_of_docs(trainer))
        });
        let best = |(tokens, q): (&Vec<u32>, Vec<f64>)| {
            let oracle = Oracle { graph: &graph, weights: &weights, tokens };
            let mut point = Point { q, ..oracle.start(&[true; N_TOPICS]) };
            (0..graph.n_nodes()).for_each(|node| oracle.optimise_r(&mut point, node));
            point
        };
        let points = docs.iter().zip(q).map(best).collect();
        Self { graph, weights, levels, docs, evidence, points }
    }

    /// The bound of a document.
    fn elbo(&self, doc: usize) -> f64 {
        let Self { graph, weights, .. } = self;
        Oracle { graph, weights, tokens: &self.docs[doc] }.elbo(&self.points[doc])
    }

    /// The same of other edges into one node: q is held, r of that node is the best.
    fn elbo_with(&self, doc: usize, edges: &[(u32, u32, f64)], node: u32) -> f64 {
        let (graph, weights) = &build(edges, self.weights.leak.clone());
        let oracle = Oracle { graph, weights, tokens: &self.docs[doc] };
        let mut point = Point { q: self.points[doc].q.clone(), ..oracle.start(&[true; N_TOPICS]) };
        for other in (0..graph.n_nodes()).filter(|&other| other != node as usize) {
            point.r[graph.edges_into(other)]
                .copy_from_slice(&self.points[doc].r[self.graph.edges_into(other)]);
        }
        oracle.optimise_r(&mut point, node as usize);
        oracle.elbo(&point)
    }

    fn q(&self, doc: usize, topic: u32) -> f64 {
        self.points[doc].q[topic as usize]
    }

    /// Topics that are hardly on are not looked at.
    fn is_seen(&self, doc: usize, node: u32) -> bool {
        match node.checked_sub(N_TOPICS as u32) {
            None => self.q(doc, node) >= Q_MIN,
            Some(token) => self.docs[doc].contains(&token),
        }
    }
}

/// q of every topic and document.
fn q_of_docs(trainer: &mut Trainer<'_>) -> Vec<Vec<f64>> {
    let mut q = Vec::new();
    let mut take = |_: &[Item], results: &DocResults<'_>| {
        for at in 0..results.n_docs() {
            let (topics, on) = results.doc(at);
            let mut dense = vec![0.0; N_TOPICS];
            topics.iter().zip(on).for_each(|(&topic, &on)| dense[topic as usize] = f64::from(on));
            q.push(dense);
        }
    };
    trainer.visit(true, Some(&mut take)).unwrap();
    q
}

fn assert_close(what: &str, got: f64, want: f64) {
    assert!((got - want).abs() <= SUMS * (1.0 + want.abs()), "{what}: got {got}, want {want}");
}

#[test]
fn importance_is_what_the_bound_owes_to_an_edge() {
    let case = Case::new();
    for (edge, (parent, child)) in case.graph.edges().enumerate() {
        let mut without = case.weights.clone();
        without.edge[edge] = 0.0;
        let owed = |doc: usize| {
            if case.is_seen(doc, child) {
                let oracle = Oracle { graph: &case.graph, weights: &without, tokens: &case.docs[doc] };
                case.elbo(doc) - oracle.elbo(&case.points[doc])
            } else {
                -case.q(doc, parent) * case.weights.edge[edge]
            }
        };
        let sum = (0..case.docs.len()).map(owed).sum();
        assert_close(&format!("{parent} -> {child}"), case.evidence.importance[edge], sum);
    }
}

#[test]
fn a_dropped_edge_costs_no_more_than_its_importance() {
    let case = Case::new();
    let cost = |dropped: (u32, u32)| -> f64 {
        let rest: Vec<(u32, u32, f64)> = EDGES.into_iter().filter(|e| (e.0, e.1) != dropped).collect();
        (0..case.docs.len()).map(|doc| case.elbo(doc) - case.elbo_with(doc, &rest, dropped.1)).sum()
    };
    let costs: Vec<f64> = case.graph.edges().map(cost).collect();
    let importance = &case.evidence.importance;
    for (edge, (cost, importance)) in costs.iter().zip(importance).enumerate() {
        // Less, where others take over its share of r.
        assert!(*cost <= importance + SUMS * (1.0 + importance.abs()), "{edge}: {cost}, {importance}");
    }
    let least = (0..costs.len()).min_by(|&a, &b| importance[a].total_cmp(&importance[b])).unwrap();
    let most = costs.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
    assert!(costs[least] < 0.05 * most, "{costs:?}");
}

#[test]
fn a_candidates_gradient_is_the_slope_of_the_bound_at_weight_zero() {
    const SMALL: f64 = 1e-5;
    let case = Case::new();
    let candidates = &case.evidence.candidates;
    let there: BTreeSet<(u32, u32)> = case.graph.edges().collect();
    assert!(candidates.keys().all(|edge| !there.contains(edge) && case.levels.allow(edge.0, edge.1)));
    let pairs = (0..N_TOPICS as u32).flat_map(|parent| (0..12).map(move |child| (parent, child)));
    let (mut to_topics, mut to_tokens) = (0, 0);
    for (parent, child) in pairs.filter(|edge| case.levels.allow(edge.0, edge.1) && !there.contains(edge)) {
        let more: Vec<(u32, u32, f64)> = EDGES.into_iter().chain([(parent, child, SMALL)]).collect();
        let (mut slope, mut seen) = (0.0, false);
        for doc in 0..case.docs.len() {
            if case.q(doc, parent) >= Q_MIN && case.is_seen(doc, child) {
                slope += (case.elbo_with(doc, &more, child) - case.elbo(doc)) / f64::from(SMALL as f32);
                seen = true;
            } else {
                slope -= case.q(doc, parent);
            }
        }
        let gradient = candidates.get(&(parent, child));
        assert_eq!(gradient.is_some(), seen, "{parent} -> {child}");
        if let Some(&gradient) = gradient {
            assert_close(&format!("{parent} -> {child}"), gradient, slope);
            *(if (child as usize) < N_TOPICS { &mut to_topics } else { &mut to_tokens }) += 1;
        }
    }
    assert!(to_topics > 0 && to_tokens > 9, "{to_topics} and {to_tokens} compared");
}

#[test]
fn the_best_candidates_have_the_largest_gradients_above_zero() {
    let gradients = [((0, 4), 2.0), ((1, 4), -1.0), ((0, 5), 3.0), ((1, 5), 2.0), ((0, 6), 0.0)];
    let evidence = Evidence { candidates: gradients.into_iter().collect(), ..Evidence::default() };
    for (most, best) in [(0, &[][..]), (2, &[(0, 5), (0, 4)]), (9, &[(0, 5), (0, 4), (1, 5)])] {
        assert_eq!(evidence.best_candidates(most), best);
    }
}

#[test]
fn levels_allow_every_edge_that_leads_down_and_no_other() {
    let (graph, _) = network();
    let levels = Levels::of(&graph);
    let height = [2, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut n_pairs = 0;
    for parent in 0..graph.n_nodes() as u32 {
        for child in 0..graph.n_nodes() as u32 {
            let allowed = height[parent as usize] > height[child as usize];
            assert_eq!(levels.allow(parent, child), allowed, "{parent} -> {child}");
            n_pairs += usize::from(allowed);
        }
    }
    assert_eq!((levels.n_pairs(), n_pairs), (2 * 10 + 2 * 8, 36));
    assert!(graph.edges().all(|(parent, child)| levels.allow(parent, child)));
    // A topic without children may have tokens, and a topic above it may have it.
    let (bare, _) = Graph::build(2, 1, &[(0, 1)], &|node| node.to_string()).unwrap();
    let levels = Levels::of(&bare);
    assert!(levels.allow(0, 1) && levels.allow(1, 2) && levels.allow(0, 2) && !levels.allow(1, 0));
    assert_eq!(levels.n_pairs(), 3);
}

#[test]
fn a_complete_graph_has_the_old_edges_and_all_that_were_missing() {
    let (graph, weights) = network();
    let levels = Levels::of(&graph);
    let complete = |seed| {
        with_trainer((graph.clone(), weights.clone()), docs(), |trainer| {
            Wired::of(trainer).complete(&levels, seed).build()
        })
    };
    // It is built, so it has no cycle.
    let (full, full_weights) = complete(1);
    assert_eq!(full.n_edges(), levels.n_pairs());
    for (edge, &weight) in full.edges().zip(&full_weights.edge) {
        assert!(levels.allow(edge.0, edge.1));
        match graph.edges().position(|old| old == edge) {
            Some(at) => assert_eq!(weight, weights.edge[at], "{edge:?}"),
            None => assert!(weight > 0.0 && weight < 0.1, "{edge:?}: {weight}"),
        }
    }
    assert_eq!(full_weights.leak, weights.leak);
    assert!(complete(1).1 == full_weights && complete(2).1 != full_weights);
}

#[test]
fn edges_are_kept_by_score_and_joined_with_their_weights() {
    let (graph, weights) = network();
    with_trainer((graph.clone(), weights.clone()), docs(), |trainer| {
        assert!(Wired::of(trainer).build() == (graph.clone(), weights.clone()));
        // Scores against the order of the edges; two are equal.
        let mut score: Vec<f64> = (0..graph.n_edges()).map(|at| (at * 5 % 13) as f64).collect();
        score[3] = score[7];
        let mut order: Vec<usize> = (0..score.len()).collect();
        order.sort_by(|&a, &b| score[b].total_cmp(&score[a]).then(a.cmp(&b)));
        let all: Vec<(u32, u32)> = graph.edges().collect();
        for n_edges in 0..=score.len() {
            let (kept, kept_weights) = Wired::of(trainer).keep_best(&score, n_edges).build();
            let expected: BTreeSet<(u32, u32)> = order[..n_edges].iter().map(|&at| all[at]).collect();
            assert_eq!(kept.edges().collect::<BTreeSet<_>>(), expected);
            for (edge, weight) in kept.edges().zip(&kept_weights.edge) {
                let at = all.iter().position(|old| *old == edge).unwrap();
                assert_eq!(*weight, weights.edge[at], "{edge:?}");
            }
            assert_eq!(kept_weights.leak, weights.leak);
        }
        let (joined, joined_weights) = Wired::of(trainer).join(&[(3, 4), (0, 3)], 0.5).build();
        assert_eq!(joined.n_edges(), graph.n_edges() + 2);
        for (edge, weight) in joined.edges().zip(joined_weights.edge) {
            let old = all.iter().position(|old| *old == edge);
            assert_eq!(weight, old.map_or(0.5, |at| weights.edge[at]), "{edge:?}");
        }
    });
}

#[test]
fn a_dead_topic_begins_anew_at_words_that_no_topic_explains() {
    // Documents of three themes of four words; topics 0 and 1 have the first two, topic 2 nothing but a word of noise, topic 3 is
    // above 0 and 1.
    let rng = &mut rng(5, Stream::SynthNetwork);
    let document = |_| -> Vec<u32> {
        let theme = rng.random_range(0..3);
        let mut words: Vec<u32> =
            (0..4).map(|word| 4 * theme + word).filter(|_| rng.random_bool(0.8)).collect();
        words.extend((12..14).filter(|_| rng.random_bool(0.1)));
        words
    };
    let docs: Vec<Vec<u32>> = (0..400).map(document).collect();
    let first = N_TOPICS as u32;
    let mut edges: Vec<(u32, u32, f64)> = (0..8).map(|word| (word / 4, first + word, 1.5)).collect();
    edges.extend([(2, first + 12, 0.01), (3, 0, 0.3), (3, 1, 0.3)]);
    let mut leak = vec![0.3, 0.3, 0.01, 0.3];
    leak.extend([0.02; 8]);
    leak.extend([0.3; 4]);
    leak.extend([0.1; 2]);
    let network = build(&edges, leak);
    let levels = Levels::of(&network.0);
    with_trainer(network, docs, |trainer| {
        let evidence = Evidence::gather(trainer, &levels, true).unwrap();
        let dead = reseed::dead_topics(&trainer.state.graph, &evidence, trainer.n_docs(), edges.len());
        assert!(dead.contains(&2) && !dead.contains(&0) && !dead.contains(&1), "{dead:?}");
        let (graph, weights) = reseed::reseed(trainer, &levels, &evidence, &[2]).build();
        let strong: BTreeSet<u32> = (graph.children(2).iter().zip(graph.child_edges(2)))
            .filter(|&(_, &edge)| weights.edge[edge as usize] > 0.3)
            .map(|(&child, _)| child - first)
            .collect();
        assert_eq!(strong, BTreeSet::from([8, 9, 10, 11]));
        // The other topics are as before.
        for (edge, (parent, child)) in trainer.state.graph.edges().enumerate().filter(|(_, edge)| edge.0 != 2)
        {
            let at = graph.edges().position(|other| other == (parent, child)).unwrap();
            assert_eq!(weights.edge[at], trainer.state.weights.edge[edge]);
        }
        assert!(graph.parents(2).contains(&3));
    });
}
