//! Random networks: what a schedule promises, exact moments keep.

use super::{graph_of, learn, schedule_of};
use noisyor::moments::formula::{pair, triplet};
use noisyor::moments::{Certificate, Exact, Kind, Schedule, ScheduleOptions, Source, Table, Weighting};
use noisyor::{Graph, Weights};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Failures and priors in [0.2, 0.8], leaks of 0.01, as in the paper.
pub(super) fn random_weights(graph: &Graph, rng: &mut ChaCha8Rng) -> Weights {
    let mut weight = |share: f64| -(share + (1.0 - 2.0 * share) * rng.random::<f64>()).ln();
    let edge = (0..graph.n_edges()).map(|_| weight(0.2)).collect();
    let leak =
        (0..graph.n_nodes()).map(|node| if graph.is_topic(node) { weight(0.2) } else { 0.01 }).collect();
    Weights { leak, edge }
}

fn random_graph(rng: &mut ChaCha8Rng) -> Graph {
    let (n_topics, n_tokens) = (rng.random_range(1..8u32), rng.random_range(3..20u32));
    let share = rng.random_range(0.15..0.6);
    let all = (0..n_topics).flat_map(|topic| (0..n_tokens).map(move |token| (topic, token)));
    let edges: Vec<(u32, u32)> = all.filter(|_| rng.random_bool(share)).collect();
    graph_of(n_topics as usize, n_tokens as usize, &edges)
}

/// Every set is singly-coupled after what was learned in earlier rounds is removed, checked from the definition.
fn assert_valid(graph: &Graph, schedule: &Schedule) {
    let before = |round: u32, learned: Option<u32>| learned.is_some_and(|learned| learned < round);
    let n_topics = graph.n_topics();
    for step in schedule.steps.iter().filter(|step| step.kind != Kind::Anchor) {
        for &set in &step.sets {
            let (tokens, n) = step.tokens(set);
            for topic in 0..n_topics as u32 {
                let edges: Vec<usize> = tokens[..n]
                    .iter()
                    .flat_map(|&token| {
                        let node = n_topics + token as usize;
                        graph.parents(node).iter().zip(graph.edges_into(node)).filter(|(t, _)| **t == topic)
                    })
                    .map(|(_, edge)| edge)
                    .collect();
                if topic == step.topic {
                    assert_eq!(edges.len(), n, "the topic is a parent of all");
                } else if edges.len() > 1 {
                    let known = |&edge: &usize| before(step.round, schedule.edge_round[edge]);
                    assert!(
                        edges.iter().all(known) && before(step.round, schedule.prior_round[topic as usize])
                    );
                }
            }
            if n == 2 {
                let node = n_topics + tokens[1] as usize;
                let at = graph.parents(node).binary_search(&step.topic).unwrap();
                assert!(before(step.round, schedule.edge_round[graph.edges_into(node).start + at]));
                assert!(before(step.round, schedule.prior_round[step.topic as usize]));
            }
        }
    }
    // Revisions divide out what is known in the end, and use no edge's own answer.
    for step in &schedule.revisions {
        for &[other, _] in &step.sets {
            let edge = |topic: u32, token: u32| {
                let node = n_topics + token as usize;
                let at = graph.parents(node).binary_search(&topic).ok();
                at.map(|at| graph.edges_into(node).start + at)
            };
            assert!(other != step.token && edge(step.topic, other).is_some());
            for topic in 0..n_topics as u32 {
                if let (Some(a), Some(b)) = (edge(topic, step.token), edge(topic, other)) {
                    assert!([a, b].iter().all(|&edge| schedule.edge_round[edge].is_some()));
                }
            }
        }
    }
}

#[test]
fn a_thousand_learnable_networks_are_recovered_from_exact_moments() {
    let mut rng = ChaCha8Rng::seed_from_u64(20);
    let (mut n_done, mut deepest) = (0, 0);
    while n_done < 1000 {
        let graph = random_graph(&mut rng);
        let schedule = schedule_of(&graph, &ScheduleOptions::default());
        assert_valid(&graph, &schedule);
        if !Certificate::of(&graph, &schedule).unwrap().complete {
            continue;
        }
        let truth = random_weights(&graph, &mut rng);
        let exact = Exact::new(&graph, &truth);
        let learned = learn(&graph, &schedule, &exact, Weighting::Pooled);
        let found = learned.weights(&graph, &exact, None);
        let pairs = found.leak.iter().zip(&truth.leak).chain(found.edge.iter().zip(&truth.edge));
        for (found, want) in pairs {
            let error = ((-found).exp() - (-want).exp()).abs();
            assert!(error < 1e-8, "network {n_done}: {error:e} of {}", graph.n_topics());
        }
        deepest = deepest.max(schedule.n_rounds());
        n_done += 1;
    }
    assert!(deepest >= 4, "some are deep: {deepest}");
}

/// Every slope of the closed forms, against central differences.
#[test]
fn slopes_of_the_formulas() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for _ in 0..200 {
        let graph = graph_of(1, 3, &[(0, 0), (0, 1), (0, 2)]);
        let truth = random_weights(&graph, &mut rng);
        let mut table = Table::default();
        Exact::new(&graph, &truth).table(&[0, 1, 2], &mut table);
        let m = table.moments;
        let h = 1e-6;
        let moved = |mask: usize, by: f64| {
            let mut m = m;
            m[mask] += by;
            m
        };
        let close = |what: &str, slope: f64, high: f64, low: f64| {
            let want = (high - low) / (2.0 * h);
            assert!((slope - want).abs() < 1e-4 * (1.0 + want.abs()), "{what}: {slope} {want}");
        };
        let (of_triplet, of_pair) = (triplet(&m), pair(&m, 0.3, 0.4));
        for mask in 1..8 {
            let (high, low) = (triplet(&moved(mask, h)), triplet(&moved(mask, -h)));
            close("p", of_triplet.prior.slope[mask], high.prior.value, low.prior.value);
            close("f", of_triplet.failure.slope[mask], high.failure.value, low.failure.value);
            if mask < 4 {
                let (high, low) = (pair(&moved(mask, h), 0.3, 0.4), pair(&moved(mask, -h), 0.3, 0.4));
                close("pair", of_pair.failure.slope[mask], high.failure.value, low.failure.value);
            }
        }
        let value = |p: f64, f: f64| pair(&m, p, f).failure.value;
        close("pair, p", of_pair.by_prior, value(0.3 + h, 0.4), value(0.3 - h, 0.4));
        close("pair, f", of_pair.by_known, value(0.3, 0.4 + h), value(0.3, 0.4 - h));
    }
}

/// Anchors that random graphs need are right, too, where the clean-up finds a solution.
#[test]
fn networks_that_need_anchors() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let (mut n_done, mut n_right) = (0, 0);
    while n_done < 100 {
        let graph = random_graph(&mut rng);
        let schedule = schedule_of(&graph, &ScheduleOptions::default());
        let (n_learned, n_all) = schedule.n_learned(&graph);
        if n_learned < n_all || schedule.steps.iter().all(|step| step.kind != Kind::Anchor) {
            continue;
        }
        let truth = random_weights(&graph, &mut rng);
        let exact = Exact::new(&graph, &truth);
        let learned = learn(&graph, &schedule, &exact, Weighting::Pooled);
        let right = learned.failure.iter().zip(&truth.edge).all(|(found, want)| {
            found.as_ref().is_some_and(|found| (found.value - (-want).exp()).abs() < 1e-6)
        });
        n_right += usize::from(right);
        n_done += 1;
    }
    assert!(n_right >= 95, "{n_right} of {n_done}");
}
