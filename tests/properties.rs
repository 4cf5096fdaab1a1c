//! What holds for every network, checked on random DAGs with skip edges.

#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use noisyor::batch::{Batch, Packer};
use noisyor::corpus::{Docs, Item};
use noisyor::estep::cpu::Probe;
use noisyor::estep::oracle::{Oracle, Point};
use noisyor::estep::{Bound, EStepOptions, Monitor, Params, Stats, Temper};
use noisyor::network::{Graph, Network, Weights};
use noisyor::train::{StepRule, Stepper};
use noisyor::{exact, numeric};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed ^ 0x7e57)
}

fn f32s(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&v| v as f32).collect()
}

fn likelihood(network: &Network, docs: &[Vec<u32>]) -> Vec<f64> {
    exact::log_likelihood(&network.graph, &network.weights, docs, &Monitor::default()).unwrap()
}

fn derive(network: &Network) -> Params {
    Params::derive(&network.graph, &network.weights, Bound::Tail).unwrap()
}

/// Alternations in f64, topic by topic: q of the topics inside, r of the nodes that can be on.
fn alternate_f64(oracle: &Oracle<'_>, inside: &[bool], point: &mut Point, n_alternations: usize) {
    for _ in 0..n_alternations {
        (0..inside.len()).filter(|&topic| inside[topic]).for_each(|topic| oracle.update_q(point, topic));
        oracle.positive_nodes(inside).into_iter().for_each(|node| oracle.update_r(point, node));
    }
}

// Bounds.

#[test]
fn fast_bounds_stay_below_the_likelihood_at_every_schedule() {
    for (seed, network, docs) in random_cases(250, 10, 12) {
        let exact = likelihood(&network, &docs);
        let tempered = EStepOptions { temper: Some(Temper::default()), ..EStepOptions::default() };
        for (name, options) in [
            ("default", EStepOptions::default()),
            ("paper", EStepOptions::paper(Bound::Tail)),
            ("tempered", tempered),
            ("cut short", EStepOptions { max_alternations: 2, ..EStepOptions::default() }),
        ] {
            let run = |bound| run_docs(&network, &docs, &EStepOptions { bound, ..options.clone() }).elbo;
            let (local, tail, full) = (run(Bound::Local), run(Bound::Tail), run(Bound::Full));
            for (doc, &exact) in exact.iter().enumerate() {
                let rounding = F32_BOUND * (1.0 + exact.abs());
                let most = local[doc].max(tail[doc]).max(full[doc]);
                assert!(most <= exact + rounding, "seed {seed} doc {doc} {name}: {most} above {exact}");
                assert!(local[doc] <= tail[doc] + rounding, "seed {seed} doc {doc} {name}: local above tail");
            }
        }
    }
}

#[test]
fn f64_bounds_stay_below_the_likelihood() {
    for (seed, network, docs) in random_cases(250, 10, 12) {
        for (tokens, exact) in docs.iter().zip(likelihood(&network, &docs)) {
            let oracle = oracle(&network, tokens);
            let all = vec![true; network.graph.n_topics()];
            for inside in [oracle.local_topics(), all] {
                let mut point = oracle.start(&inside);
                for _ in 0..4 {
                    let bound = oracle.elbo(&point) + oracle.tail(&inside);
                    assert!(bound <= exact + F64, "seed {seed} {tokens:?}: {bound} above {exact}");
                    assert!(oracle.tail(&inside) >= 0.0);
                    alternate_f64(&oracle, &inside, &mut point, 3);
                }
            }
        }
    }
}

#[test]
fn the_full_model_started_from_the_local_solution_ends_no_lower_than_tail() {
    for (seed, network, docs) in random_cases(200, 10, 12) {
        for tokens in &docs {
            let oracle = oracle(&network, tokens);
            let inside = oracle.local_topics();
            let mut point = oracle.start(&inside);
            alternate_f64(&oracle, &inside, &mut point, 10);
            let tail = oracle.elbo(&point) + oracle.tail(&inside);
            let params = derive(&network);
            for topic in (0..inside.len()).filter(|&topic| !inside[topic]) {
                point.q[topic] = params.tail_q[topic];
            }
            let all = vec![true; inside.len()];
            for sweeps in 0..4 {
                let full = oracle.elbo(&point);
                assert!(full >= tail - F64_UPDATE, "seed {seed} after {sweeps}: full {full}, tail {tail}");
                alternate_f64(&oracle, &all, &mut point, 1);
            }
        }
    }
}

/// A random network to which a token is added that every topic without a child causes.
fn all_ancestors(seed: u64) -> (Network, Vec<u32>) {
    let network = random_network(seed, 10, 12);
    let (graph, n_tokens) = (&network.graph, network.graph.n_tokens());
    let token = graph.n_nodes() as u32;
    let known = graph.edges().zip(&network.weights.edge).map(|((parent, child), &w)| (parent, child, w));
    let childless = (0..graph.n_topics()).filter(|&topic| graph.children(topic).is_empty());
    let edges: Vec<_> = known.chain(childless.map(|topic| (topic as u32, token, 0.7))).collect();
    let leak = network.weights.leak.iter().copied().chain([0.05]).collect();
    (network_of(graph.n_topics(), n_tokens + 1, &edges, leak), (0..=n_tokens as u32).collect())
}

#[test]
fn local_tail_and_full_agree_where_every_topic_is_an_ancestor() {
    for seed in 0..300 {
        let (network, tokens) = all_ancestors(seed);
        assert!(oracle(&network, &tokens).local_topics().iter().all(|&inside| inside));
        // A fixed number of alternations: rounding must not decide when to stop.
        let options = EStepOptions { tolerance: 0.0, max_alternations: 30, ..EStepOptions::default() };
        let run = |bound| {
            run_docs(&network, std::slice::from_ref(&tokens), &EStepOptions { bound, ..options.clone() }).elbo
        };
        let local = run(Bound::Local)[0];
        assert_close(&format!("seed {seed}: full"), run(Bound::Full)[0], local, F32_BOUND);
        assert_close(&format!("seed {seed}: tail"), run(Bound::Tail)[0], local, F32_BOUND);
    }
}

// Ascent, update by update.

/// Calls `update` again and again and sees that the bound never falls.
fn assert_ascends(
    what: &str,
    oracle: &Oracle<'_>,
    point: &mut Point,
    updates: impl Iterator<Item = usize>,
    mut update: impl FnMut(&mut Point, usize),
) {
    let mut before = oracle.elbo(point);
    for at in updates {
        update(point, at);
        let now = oracle.elbo(point);
        assert!(now >= before - F64_UPDATE, "{what} {at}: the bound falls from {before} to {now}");
        before = now;
    }
}

#[test]
fn f64_updates_of_single_topics_and_nodes_never_lower_the_bound() {
    for (seed, network, docs) in random_cases(300, 20, 25) {
        let rng = &mut rng(seed);
        for tokens in &docs {
            let oracle = oracle(&network, tokens);
            let inside = oracle.local_topics();
            let mut topics: Vec<usize> = (0..inside.len()).filter(|&topic| inside[topic]).collect();
            let mut nodes = oracle.positive_nodes(&inside);
            let mut point = random_point(&network, &inside, rng);
            for _ in 0..3 {
                topics.shuffle(rng);
                nodes.shuffle(rng);
                assert_ascends(
                    &format!("seed {seed} topic"),
                    &oracle,
                    &mut point,
                    topics.iter().copied(),
                    |p, t| oracle.update_q(p, t),
                );
                assert_ascends(
                    &format!("seed {seed} node"),
                    &oracle,
                    &mut point,
                    nodes.iter().copied(),
                    |p, n| oracle.update_r(p, n),
                );
            }
        }
    }
}

/// All topics of one colour from the same point.
fn update_colour(oracle: &Oracle<'_>, inside: &[bool], point: &mut Point, colour: usize) {
    let topics = |&topic: &usize| inside[topic] && oracle.graph.colour(topic) == colour;
    let held = point.clone();
    for topic in (0..inside.len()).filter(topics) {
        point.q[topic] = numeric::f64::sigmoid(oracle.log_odds(&held, topic));
    }
}

#[test]
fn f64_updates_of_whole_colours_never_lower_the_bound() {
    for (seed, network, docs) in random_cases(300, 20, 25) {
        let rng = &mut rng(seed);
        for tokens in &docs {
            let oracle = oracle(&network, tokens);
            let inside = vec![true; network.graph.n_topics()];
            let mut point = random_point(&network, &inside, rng);
            let colours = (0..3).flat_map(|_| 0..network.graph.n_colours());
            assert_ascends(&format!("seed {seed} colour"), &oracle, &mut point, colours, |p, c| {
                update_colour(&oracle, &inside, p, c)
            });
        }
    }
}

#[test]
fn fast_updates_never_lower_the_bound() {
    for (seed, network, docs) in random_cases(200, 20, 25) {
        let (corpus, alignment) = corpus_of(&network, docs.clone());
        let params = Params::derive(&network.graph, &network.weights, Bound::Local).unwrap();
        for (doc, tokens) in docs.iter().enumerate() {
            let oracle = oracle(&network, tokens);
            let mut probe = probe_at_start(&network, &alignment.docs(&corpus), doc, Bound::Local, &params);
            let mut before = (probe.elbo(), oracle.elbo(&point_of(&network, &probe)));
            // The last update of each sweep is that of r.
            let n_topics = probe.q().len();
            for update in (0..6).flat_map(|_| 0..=n_topics) {
                if update < n_topics {
                    probe.update_q(update)
                } else {
                    probe.update_r()
                }
                let point = point_of(&network, &probe);
                let now = (probe.elbo(), oracle.elbo(&point));
                let rounding = F32_TERMS * bound_size(&oracle, &point);
                let name = format!("seed {seed} doc {doc} update {update}: {before:?} to {now:?}");
                assert!(now.0 >= before.0 - rounding, "{name}: the f32 bound falls");
                assert!(now.1 >= before.1 - F32_UPDATE, "{name}: the bound at the f32 point falls");
                before = now;
            }
        }
    }
}

/// A single accelerated iteration may overshoot where shares are far from their best; all in all they get
/// there sooner than Eq. 10.
#[test]
fn accelerated_r_iterations_end_higher_than_as_many_plain_ones() {
    let mut bounds = [0.0; 2];
    for (seed, network, docs) in random_cases(200, 12, 15) {
        let (rng, params) = (&mut rng(seed), derive(&network));
        for tokens in &docs {
            let oracle = oracle(&network, tokens);
            let point = random_point(&network, &oracle.local_topics(), rng);
            let mut probes = [(); 2].map(|()| probe_at(&network, tokens, &params, &point));
            for _ in 0..20 {
                probes[0].update_r();
                probes[1].accelerate_r();
            }
            for (bound, probe) in bounds.iter_mut().zip(&probes) {
                *bound += oracle.elbo(&point_of(&network, probe));
            }
        }
    }
    assert!(bounds[1] > bounds[0], "sum of bounds {}, plain {}", bounds[1], bounds[0]);
}

#[test]
fn r_iterations_stay_at_the_best_r() {
    for (seed, network, docs) in random_cases(60, 12, 15) {
        let (rng, params) = (&mut rng(seed), derive(&network));
        for tokens in &docs {
            let oracle = oracle(&network, tokens);
            let inside = oracle.local_topics();
            let mut best = random_point(&network, &inside, rng);
            oracle.positive_nodes(&inside).into_iter().for_each(|node| oracle.optimise_r(&mut best, node));
            for update in [Probe::update_r, Probe::accelerate_r] {
                let mut probe = probe_at(&network, tokens, &params, &best);
                let most = oracle.elbo(&point_of(&network, &probe));
                update(&mut probe);
                let now = oracle.elbo(&point_of(&network, &probe));
                assert!((now - most).abs() <= F32_UPDATE, "seed {seed} {tokens:?}: {now}, best {most}");
            }
        }
    }
}

// The fast path against the oracle.

#[test]
fn fast_bound_and_sums_are_the_oracles_where_the_e_step_ends() {
    const ALTERNATIONS: usize = 12;
    for (seed, network, docs) in random_cases(200, 30, 40) {
        let (corpus, alignment) = corpus_of(&network, docs.clone());
        for bound in [Bound::Local, Bound::Tail, Bound::Full] {
            let max_alternations = ALTERNATIONS as u32;
            let options = EStepOptions { bound, max_alternations, tolerance: 0.0, ..EStepOptions::default() };
            let ran = run_docs(&network, &docs, &options);
            let params = Params::derive(&network.graph, &network.weights, bound).unwrap();
            let mut total = Stats::new(&network.graph, true);
            for (doc, tokens) in docs.iter().enumerate() {
                let name = format!("seed {seed} doc {doc} {bound}");
                let mut probe = probe_at_start(&network, &alignment.docs(&corpus), doc, bound, &params);
                alternate(&mut probe, ALTERNATIONS);
                // Colours at once are topics one after another: the same bits.
                assert_eq!(probe.elbo(), ran.elbo[doc], "{name}");
                assert_eq!(f32s(&point_of(&network, &probe).q), ran.q[doc], "{name}");
                assert_oracle(&name, &probe, &network, tokens, bound);
                add_stats(&mut total, &Stats { elbo_sum: probe.elbo(), ..probe.stats() });
            }
            assert_sums(&format!("seed {seed} {bound}"), &ran.stats, &total, F64_SUMS);
        }
    }
}

#[test]
fn one_colour_at_once_is_one_topic_after_another() {
    for (seed, network, docs) in random_cases(300, 20, 25) {
        let oracle = oracle(&network, &docs[1]);
        let inside = vec![true; network.graph.n_topics()];
        let mut at_once = random_point(&network, &inside, &mut rng(seed));
        let mut in_turn = at_once.clone();
        for colour in 0..network.graph.n_colours() {
            update_colour(&oracle, &inside, &mut at_once, colour);
            let topics = (0..inside.len()).filter(|&topic| network.graph.colour(topic) == colour);
            topics.for_each(|topic| oracle.update_q(&mut in_turn, topic));
            assert_eq!(at_once, in_turn, "seed {seed} colour {colour}");
        }
    }
}

// The EM step.

/// Documents held at points of the variational family.
struct Held {
    network: Network,
    points: Vec<(Vec<u32>, Point)>,
}

fn held(seed: u64, network: Network, docs: Vec<Vec<u32>>) -> Held {
    let rng = &mut rng(seed);
    let mut points = Vec::new();
    for tokens in docs {
        let oracle = oracle(&network, &tokens);
        let inside = oracle.local_topics();
        let mut point = random_point(&network, &inside, rng);
        alternate_f64(&oracle, &inside, &mut point, rng.random_range(0..3));
        points.push((tokens, point));
    }
    Held { network, points }
}

impl Held {
    fn bound(&self, weights: &Weights) -> f64 {
        let graph = &self.network.graph;
        self.points.iter().map(|(tokens, point)| Oracle { graph, weights, tokens }.elbo(point)).sum()
    }

    /// Documents in which each topic is outside the local model.
    fn n_outside(&self) -> Vec<f64> {
        let inside = self.points.iter().map(|(tokens, _)| oracle(&self.network, tokens).local_topics());
        let mut n_outside = vec![0.0; self.network.graph.n_topics()];
        inside.for_each(|inside| {
            n_outside.iter_mut().zip(inside).for_each(|(n, inside)| *n += f64::from(!inside))
        });
        n_outside
    }

    fn stats(&self) -> Stats {
        let mut stats = Stats::new(&self.network.graph, true);
        for (tokens, point) in &self.points {
            let sums = oracle(&self.network, tokens).sums(point);
            stats.edge.iter_mut().zip(&sums.edge).for_each(|(sum, term)| *sum += term);
            stats.leak.iter_mut().zip(&sums.leak).for_each(|(sum, term)| *sum += term);
            stats.topic_q.iter_mut().zip(&sums.topic_q).for_each(|(sum, term)| *sum += term);
            stats.n_docs += 1.0;
        }
        stats.topic_docs = self.n_outside().iter().map(|n| stats.n_docs - n).collect();
        stats
    }

    fn advanced(&self, lambda: f64, stats: &Stats) -> Weights {
        let mut weights = self.network.weights.clone();
        // A leak that no document asks for would go to zero: the floor is what keeps the bound finite.
        let mut stepper =
            Stepper::new(StepRule::Em { lambda }, (1e-30, 1e-30, 1e30), self.points.len(), (1, 1));
        stepper.advance(&self.network.graph, &mut weights, stats);
        weights.leak.iter_mut().chain(&mut weights.edge).for_each(|w| *w = w.max(1e-30));
        weights
    }

    /// What the EM step raises: bound, less the penalty, plus the free tail at `q0` where one is given.
    fn objective(&self, weights: &Weights, lambda: f64, q0: Option<&[f64]>) -> f64 {
        let graph = &self.network.graph;
        let outside = |(topic, n): (usize, f64)| {
            q0.map_or(0.0, |q0| n * outside_term(graph, weights, topic, q0[topic]))
        };
        let tail: f64 = self.n_outside().into_iter().enumerate().map(outside).sum();
        self.bound(weights) - lambda * weights.edge.iter().sum::<f64>() + tail
    }

    /// Steps one after another, at the same q and r, never lower the objective.
    fn assert_steps_ascend(mut self, name: &str, lambda: f64, tail: bool) {
        for step in 0..12 {
            let params = derive(&self.network);
            let mut stats = self.stats();
            if tail {
                stats.add_tail(&params);
            }
            let q0 = tail.then_some(&*params.tail_q);
            let before = self.objective(&self.network.weights, lambda, q0);
            let weights = self.advanced(lambda, &stats);
            let after = self.objective(&weights, lambda, q0);
            let rounding = F64 * (1.0 + before.abs());
            assert!(after >= before - rounding, "{name} step {step}: from {before} to {after}");
            self.network.weights = weights;
        }
    }
}

/// What a topic outside H_d adds at a held q0; at the best q0 it is log(1 + exp(beta - S)).
fn outside_term(graph: &Graph, weights: &Weights, topic: usize, q0: f64) -> f64 {
    let children: f64 = graph.child_edges(topic).iter().map(|&edge| weights.edge[edge as usize]).sum();
    let entropy = if q0 <= 0.0 || q0 >= 1.0 { 0.0 } else { -q0 * q0.ln() - (1.0 - q0) * (-q0).ln_1p() };
    q0 * (numeric::f64::beta(weights.leak[topic]) - children) + entropy
}

#[test]
fn the_em_step_never_lowers_the_bound_at_held_q_and_r() {
    for (seed, network, docs) in random_cases(250, 12, 15) {
        held(seed, network, docs).assert_steps_ascend(&format!("seed {seed}"), 0.0, false);
    }
}

#[test]
fn the_em_step_never_lowers_the_penalised_bound() {
    for (seed, network, docs) in random_cases(250, 12, 15) {
        let lambda = [0.1, 1.0, 3.0][seed as usize % 3];
        held(seed, network, docs).assert_steps_ascend(&format!("seed {seed}"), lambda, false);
    }
}

/// The tail's q0 is held like q and r. The best q0 for the new weights can only raise the tail further, and
/// the tail that is reported is the one at its best q0: so that does not fall either.
#[test]
fn the_em_step_never_lowers_the_bound_with_the_free_tail() {
    for (seed, network, docs) in random_cases(250, 12, 15) {
        let lambda = [0.0, 1.0][seed as usize % 2];
        held(seed, network, docs).assert_steps_ascend(&format!("seed {seed}"), lambda, true);
    }
}

// Gradients against finite differences.

/// d value / d log w by central differences.
fn log_slope(
    weights: &Weights,
    pick: impl Fn(&mut Weights) -> &mut f64,
    value: impl Fn(&Weights) -> f64,
) -> f64 {
    const STEP: f64 = 1e-4;
    let at = |sign: f64| {
        let mut weights = weights.clone();
        *pick(&mut weights) *= (sign * STEP).exp();
        value(&weights)
    };
    (at(1.0) - at(-1.0)) / (2.0 * STEP)
}

#[test]
fn sums_are_the_slope_of_the_bound() {
    for (seed, network, docs) in random_cases(200, 12, 15) {
        let Held { network, points } = held(seed, network, docs);
        let (graph, weights) = (&network.graph, &network.weights);
        for (tokens, point) in &points {
            let sums = oracle(&network, tokens).sums(point);
            let bound = |weights: &Weights| Oracle { graph, weights, tokens }.elbo(point);
            for (edge, &parent) in graph.edge_parents().iter().enumerate() {
                let gradient = sums.edge[edge] - sums.topic_q[parent as usize];
                let slope = log_slope(weights, |w| &mut w.edge[edge], bound);
                assert_close(
                    &format!("seed {seed} edge {edge}"),
                    weights.edge[edge] * gradient,
                    slope,
                    DIFFERENCE,
                );
            }
            for node in 0..graph.n_nodes() {
                let gradient = sums.leak[node] - 1.0;
                let slope = log_slope(weights, |w| &mut w.leak[node], bound);
                assert_close(
                    &format!("seed {seed} leak {node}"),
                    weights.leak[node] * gradient,
                    slope,
                    DIFFERENCE,
                );
            }
        }
    }
}

#[test]
fn the_tails_sums_are_the_slope_of_the_tail() {
    for (seed, network, docs) in random_cases(200, 12, 15) {
        let held = held(seed, network, docs);
        let (graph, weights, n_outside) = (&held.network.graph, &held.network.weights, held.n_outside());
        let tail = |weights: &Weights| -> f64 {
            let per_doc = |(tokens, _): &(Vec<u32>, Point)| {
                let oracle = Oracle { graph, weights, tokens };
                oracle.tail(&oracle.local_topics())
            };
            held.points.iter().map(per_doc).sum()
        };
        let mut stats = Stats::new(graph, true);
        stats.n_docs = held.points.len() as f64;
        stats.topic_docs = n_outside.iter().map(|n| stats.n_docs - n).collect();
        stats.add_tail(&derive(&held.network));
        assert!(
            stats.edge.iter().all(|&sum| sum == 0.0)
                && stats.leak[graph.n_topics()..].iter().all(|&sum| sum == 0.0)
        );
        for (edge, &parent) in graph.edge_parents().iter().enumerate() {
            let slope = log_slope(weights, |w| &mut w.edge[edge], tail);
            let got = -weights.edge[edge] * stats.topic_q[parent as usize];
            assert_close(&format!("seed {seed} edge {edge}"), got, slope, DIFFERENCE);
        }
        for topic in 0..graph.n_topics() {
            let slope = log_slope(weights, |w| &mut w.leak[topic], tail);
            let got = weights.leak[topic] * stats.leak[topic];
            assert_close(&format!("seed {seed} leak {topic}"), got, slope, DIFFERENCE);
        }
    }
}

// The order of nodes, edges and documents.

/// A network with its nodes and edges in another order, and where each old one is now.
struct Reordered {
    network: Network,
    node: Vec<usize>,
    edge: Vec<usize>,
}

fn reorder(network: &Network, rng: &mut ChaCha8Rng) -> Reordered {
    let (graph, n_topics) = (&network.graph, network.graph.n_topics());
    let mut node: Vec<usize> = (0..graph.n_nodes()).collect();
    let (topics, tokens) = node.split_at_mut(n_topics);
    topics.shuffle(rng);
    tokens.shuffle(rng);
    let renamed = |(parent, child): (u32, u32)| (node[parent as usize] as u32, node[child as usize] as u32);
    let pairs: Vec<(u32, u32)> = graph.edges().map(renamed).collect();
    let mut edges: Vec<(u32, u32, f64)> =
        pairs.iter().zip(&network.weights.edge).map(|(&(parent, child), &w)| (parent, child, w)).collect();
    edges.shuffle(rng);
    let leak = moved(&network.weights.leak, &node);
    let network = network_of(n_topics, graph.n_tokens(), &edges, leak);
    let edge =
        pairs.iter().map(|pair| network.graph.edges().position(|edge| edge == *pair).unwrap()).collect();
    Reordered { network, node, edge }
}

/// `values[at]` at `to[at]`.
fn moved<T: Copy>(values: &[T], to: &[usize]) -> Vec<T> {
    let mut moved = values.to_vec();
    to.iter().zip(values).for_each(|(&to, &value)| moved[to] = value);
    moved
}

impl Reordered {
    fn tokens(&self, tokens: &[u32]) -> Vec<u32> {
        let n_topics = self.network.graph.n_topics();
        let mut tokens: Vec<u32> =
            tokens.iter().map(|&token| (self.node[n_topics + token as usize] - n_topics) as u32).collect();
        tokens.sort_unstable();
        tokens
    }

    fn point(&self, point: &Point) -> Point {
        let topic = &self.node[..point.q.len()];
        Point { q: moved(&point.q, topic), r: moved(&point.r, &self.edge) }
    }

    /// N, L and Q are the same.
    fn assert_same(&self, name: &str, old: [&[f64]; 3], new: [&[f64]; 3], tolerance: f64) {
        let to = [&*self.edge, &*self.node, &self.node[..old[2].len()]];
        for (kind, letter) in ["N", "L", "Q"].into_iter().enumerate() {
            for (at, &old) in old[kind].iter().enumerate() {
                assert_close(&format!("{name}: {letter} {at}"), new[kind][to[kind][at]], old, tolerance);
            }
        }
    }

    /// `new` is the point `old` in the new order, (q, r) within tolerances.
    fn assert_same_point(&self, name: &str, old: &Point, new: &Point, tolerance: (f64, f64)) {
        let old = self.point(old);
        old.q.iter().zip(&new.q).for_each(|(a, b)| assert_close(&format!("{name}: q"), *b, *a, tolerance.0));
        old.r.iter().zip(&new.r).for_each(|(a, b)| assert_close(&format!("{name}: r"), *b, *a, tolerance.1));
    }

    /// One update of r at a node and, for a topic, of q.
    fn assert_same_updates(&self, name: &str, old: &Oracle<'_>, new: &Oracle<'_>, point: &Point) {
        for node in old.positive_nodes(&old.local_topics()) {
            let (mut a, mut b) = (point.clone(), self.point(point));
            old.update_r(&mut a, node);
            new.update_r(&mut b, self.node[node]);
            if old.graph.is_topic(node) {
                old.update_q(&mut a, node);
                new.update_q(&mut b, self.node[node]);
            }
            self.assert_same_point(name, &a, &b, (F64, F64));
        }
    }
}

#[test]
fn the_order_of_nodes_and_edges_does_not_matter_in_f64() {
    for (seed, network, docs) in random_cases(200, 12, 15) {
        let rng = &mut rng(seed);
        let reordered = reorder(&network, rng);
        for tokens in &docs {
            let name = format!("seed {seed} {tokens:?}");
            let new_tokens = reordered.tokens(tokens);
            let (old, new) = (oracle(&network, tokens), oracle(&reordered.network, &new_tokens));
            let inside = old.local_topics();
            assert_eq!(moved(&inside, &reordered.node[..inside.len()]), new.local_topics(), "{name}");
            let point = random_point(&network, &inside, rng);
            let (a, b) = (old.sums(&point), new.sums(&reordered.point(&point)));
            reordered.assert_same(&name, [&a.edge, &a.leak, &a.topic_q], [&b.edge, &b.leak, &b.topic_q], F64);
            assert_close(&name, new.elbo(&reordered.point(&point)), old.elbo(&point), F64);
            reordered.assert_same_updates(&name, &old, &new, &point);
        }
    }
}

/// Every q in the old order, then r.
fn update_both(reordered: &Reordered, old: &mut Probe<'_>, new: &mut Probe<'_>) {
    for (at, topic) in old.topics().into_iter().enumerate() {
        let topic = reordered.node[topic as usize] as u32;
        old.update_q(at);
        new.update_q(new.topics().iter().position(|&other| other == topic).unwrap());
    }
    old.update_r();
    new.update_r();
}

#[test]
fn the_order_of_nodes_and_edges_does_not_matter_in_the_fast_path() {
    for (seed, network, docs) in random_cases(200, 12, 15) {
        let rng = &mut rng(seed);
        let reordered = reorder(&network, rng);
        let derive =
            |network: &Network| Params::derive(&network.graph, &network.weights, Bound::Tail).unwrap();
        let params = (derive(&network), derive(&reordered.network));
        for tokens in &docs {
            let (oracle, name) = (oracle(&network, tokens), format!("seed {seed} {tokens:?}"));
            let point = random_point(&network, &oracle.local_topics(), rng);
            let mut old = probe_at(&network, tokens, &params.0, &point);
            let mut new =
                probe_at(&reordered.network, &reordered.tokens(tokens), &params.1, &reordered.point(&point));
            let rounding = F32_TERMS * bound_size(&oracle, &point);
            assert!((old.elbo() - new.elbo()).abs() <= rounding, "{name}: {} {}", old.elbo(), new.elbo());
            let (a, b) = (old.stats(), new.stats());
            reordered.assert_same(
                &name,
                [&a.edge, &a.leak, &a.topic_q],
                [&b.edge, &b.leak, &b.topic_q],
                F32_SUMS,
            );
            update_both(&reordered, &mut old, &mut new);
            let (a, b) = (point_of(&network, &old), point_of(&reordered.network, &new));
            reordered.assert_same_point(&name, &a, &b, (F32_LOG_ODDS, F32_SUMS));
        }
    }
}

/// The fast path at a point of a document.
fn probe_at<'a>(network: &'a Network, tokens: &[u32], params: &'a Params, point: &Point) -> Probe<'a> {
    let (corpus, alignment) = corpus_of(network, [tokens.to_vec()]);
    let mut probe = Probe::new(&network.graph, &alignment.docs(&corpus), 0, Bound::Tail, params);
    probe.set(&f32s(&point.q), &f32s(&point.r));
    probe
}

fn assert_same_docs(name: &str, order: &[usize], a: &Ran, b: &Ran) {
    for (at, &from) in order.iter().enumerate() {
        assert_eq!(a.elbo[from].to_bits(), b.elbo[at].to_bits(), "{name}: the bound of document {from}");
        assert_eq!(a.q[from], b.q[at], "{name}: q of document {from}");
    }
}

#[test]
fn the_order_of_documents_does_not_matter() {
    for seed in 0..30 {
        let network = random_network(seed, 12, 15);
        // More than two blocks.
        let docs = random_docs(&network, seed, 300);
        let ran = run_docs(&network, &docs, &EStepOptions::default());
        let mut order: Vec<usize> = (0..docs.len()).collect();
        order.shuffle(&mut rng(seed));
        let shuffled: Vec<Vec<u32>> = order.iter().map(|&doc| docs[doc].clone()).collect();
        let again = run_docs(&network, &shuffled, &EStepOptions::default());
        assert_same_docs(&format!("seed {seed}"), &order, &ran, &again);
        assert_sums(&format!("seed {seed}"), &ran.stats, &again.stats, F64_SUMS);
    }
}

fn assert_sums(name: &str, a: &Stats, b: &Stats, tolerance: f64) {
    assert_eq!((a.n_docs, &a.topic_docs), (b.n_docs, &b.topic_docs), "{name}");
    assert_close(&format!("{name}: bound"), b.elbo_sum, a.elbo_sum, F64_SUMS);
    for (kind, a, b) in [("N", &a.edge, &b.edge), ("L", &a.leak, &b.leak), ("Q", &a.topic_q, &b.topic_q)] {
        for (at, (&a, &b)) in a.iter().zip(b).enumerate() {
            assert!((a - b).abs() <= tolerance * a.abs(), "{name}: {kind} {at} is {a} or {b}");
        }
    }
}

#[test]
fn the_split_into_batches_does_not_matter() {
    for seed in 0..20 {
        let network = random_network(seed, 12, 15);
        let docs = random_docs(&network, seed, 300);
        let (corpus, alignment) = corpus_of(&network, docs.clone());
        let items = Item::each(&(0..docs.len() as u32).collect::<Vec<_>>());
        let all = run_docs(&network, &docs, &EStepOptions::default());
        for size in [1, 7, 128, 150] {
            let mut parts = Ran { elbo: Vec::new(), q: Vec::new(), stats: Stats::new(&network.graph, true) };
            for chunk in items.chunks(size) {
                let part = run_items(&network, alignment.docs(&corpus), chunk, &EStepOptions::default());
                parts.elbo.extend(part.elbo);
                parts.q.extend(part.q);
                add_stats(&mut parts.stats, &part.stats);
            }
            let order: Vec<usize> = (0..docs.len()).collect();
            assert_same_docs(&format!("seed {seed} size {size}"), &order, &all, &parts);
            assert_sums(&format!("seed {seed} size {size}"), &all.stats, &parts.stats, F64_SUMS);
        }
    }
}

fn add_stats(total: &mut Stats, part: &Stats) {
    total.add_totals(part);
    for (sum, terms) in [
        (&mut total.edge, &part.edge),
        (&mut total.leak, &part.leak),
        (&mut total.topic_q, &part.topic_q),
        (&mut total.topic_docs, &part.topic_docs),
    ] {
        sum.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
    }
}

#[test]
fn an_item_counts_as_often_as_it_says() {
    for (seed, network, docs) in random_cases(100, 12, 15) {
        let (corpus, alignment) = corpus_of(&network, docs.clone());
        let run =
            |items: &[Item]| run_items(&network, alignment.docs(&corpus), items, &EStepOptions::default());
        let doc_ixs: Vec<u32> = (0..docs.len() as u32).collect();
        // The count multiplies in f32, which is exact for powers of two.
        for (count, tolerance) in [(2, F64_SUMS), (4, F64_SUMS), (3, F32_COUNT), (1000, F32_COUNT)] {
            let once: Vec<Item> = doc_ixs.iter().map(|&doc_ix| Item { doc_ix, count }).collect();
            let often: Vec<Item> = (0..count).flat_map(|_| Item::each(&doc_ixs)).collect();
            assert_sums(
                &format!("seed {seed} times {count}"),
                &run(&often).stats,
                &run(&once).stats,
                tolerance,
            );
        }
    }
}

// Colours and the packed batch.

#[test]
fn no_topic_shares_a_colour_with_a_parent() {
    for (seed, network, _) in random_cases(500, 40, 10) {
        let graph = &network.graph;
        let topic_edges = graph.edges().filter(|&(_, child)| graph.is_topic(child as usize));
        for (parent, child) in topic_edges {
            assert_ne!(
                graph.colour(parent as usize),
                graph.colour(child as usize),
                "seed {seed}: {parent} {child}"
            );
        }
        let most = (0..graph.n_topics()).map(|topic| graph.colour(topic)).max();
        assert_eq!(most.map(|most| most + 1), Some(graph.n_colours()), "seed {seed}: unused colours");
    }
}

/// Edges only between neighbouring layers; every node above the tokens has a child.
fn layered(seed: u64) -> Network {
    let rng = &mut rng(seed);
    let sizes: Vec<usize> = (0..rng.random_range(3..7)).map(|_| rng.random_range(1..8)).collect();
    let mut edges = Vec::new();
    let mut first = 0;
    for pair in sizes.windows(2) {
        for parent in first..first + pair[0] {
            let sure = rng.random_range(0..pair[1]);
            let children = (0..pair[1]).filter(|&child| child == sure || rng.random::<f64>() < 0.3);
            edges.extend(children.map(|child| (parent as u32, (first + pair[0] + child) as u32, 0.5)));
        }
        first += pair[0];
    }
    let n_nodes: usize = sizes.iter().sum();
    network_of(first, n_nodes - first, &edges, vec![0.1; n_nodes])
}

#[test]
fn a_layered_graph_takes_two_colours() {
    for seed in 0..300 {
        assert_eq!(layered(seed).graph.n_colours(), 2, "seed {seed}");
    }
    let flat = network_of(3, 2, &[(0, 3, 1.0), (1, 3, 1.0), (2, 4, 1.0)], vec![0.1; 5]);
    assert_eq!(flat.graph.n_colours(), 1);
}

#[test]
fn packed_batches_are_what_their_layout_says() {
    for (seed, network, docs) in random_cases(300, 25, 30) {
        let (corpus, alignment) = corpus_of(&network, docs.clone());
        let items: Vec<Item> =
            (0..docs.len() as u32).map(|doc_ix| Item { doc_ix, count: doc_ix + 1 }).collect();
        for full in [false, true] {
            let mut packer = Packer::new(&network.graph, full);
            let mut batch = Batch::default();
            for max_edges in [usize::MAX, 40, 1] {
                let mut done = 0;
                while done < items.len() {
                    let rest = &items[done..];
                    let n =
                        packer.pack(&network.graph, &alignment.docs(&corpus), rest, max_edges, &mut batch);
                    assert!(n > 0 && (n == rest.len() || batch.n_edges() >= max_edges), "seed {seed}");
                    assert_batch(&network, &alignment.docs(&corpus), &rest[..n], full, &batch);
                    done += n;
                }
            }
        }
    }
}

fn assert_batch(network: &Network, docs: &Docs<'_>, items: &[Item], full: bool, batch: &Batch) {
    let graph = &network.graph;
    assert_eq!((batch.n_docs(), batch.n_nodes() + 1), (items.len(), batch.nodes.len()));
    assert_eq!(batch.slot_children.len(), batch.n_edges());
    assert_eq!(batch.colour_ends.len(), items.len() * graph.n_colours());
    let (last_doc, last_node) = (batch.docs[items.len()], batch.nodes[batch.n_nodes()]);
    assert_eq!((batch.docs[0].node_begin, batch.docs[0].edge_begin), (0, 0));
    assert_eq!(
        (last_doc.node_begin as usize, last_doc.edge_begin as usize),
        (batch.n_nodes(), batch.n_edges())
    );
    assert_eq!(last_node.edge_begin as usize, batch.n_edges());
    assert_eq!(last_node.slot_begin as usize, batch.n_edges());
    for (doc_ix, item) in items.iter().enumerate() {
        let tokens: Vec<u32> = docs.tokens(item.doc_ix as usize).collect();
        assert_eq!(batch.docs[doc_ix].count, item.count);
        assert_nodes(&oracle(network, &tokens), full, batch, doc_ix);
        assert_edges(graph, batch, doc_ix);
        assert_slots(graph, batch, doc_ix);
    }
}

/// Topics of the model by colour, then the active tokens.
fn assert_nodes(oracle: &Oracle<'_>, full: bool, batch: &Batch, doc_ix: usize) {
    let (graph, doc, next) = (oracle.graph, batch.docs[doc_ix], batch.docs[doc_ix + 1]);
    let ids =
        |from: u32, to: u32| batch.nodes[from as usize..to as usize].iter().map(|node| node.id as usize);
    let nodes = &batch.nodes[doc.node_begin as usize..next.node_begin as usize];
    assert!(nodes.iter().all(|node| node.doc_ix as usize == doc_ix));
    let inside = if full { vec![true; graph.n_topics()] } else { oracle.local_topics() };
    let mut topics: Vec<usize> = ids(doc.node_begin, doc.token_begin).collect();
    topics.sort_unstable();
    assert_eq!(topics, (0..graph.n_topics()).filter(|&topic| inside[topic]).collect::<Vec<_>>());
    let tokens = ids(doc.token_begin, next.node_begin).map(|id| (id - graph.n_topics()) as u32);
    assert_eq!(tokens.collect::<Vec<_>>(), oracle.tokens);
    let mut begin = doc.node_begin;
    for colour in 0..graph.n_colours() {
        let end = batch.colour_ends[doc_ix * graph.n_colours() + colour];
        assert!(begin <= end && ids(begin, end).all(|topic| graph.colour(topic) == colour));
        begin = end;
    }
    assert_eq!(begin, doc.token_begin);
}

/// A node's edges are all of its edges in the network, in the same order.
fn assert_edges(graph: &Graph, batch: &Batch, doc_ix: usize) {
    let nodes = batch.docs[doc_ix].node_begin as usize..batch.docs[doc_ix + 1].node_begin as usize;
    assert_eq!(batch.nodes[nodes.start].edge_begin, batch.docs[doc_ix].edge_begin);
    for at in nodes {
        let edges = batch.nodes[at].edge_begin as usize..batch.nodes[at + 1].edge_begin as usize;
        let parents: Vec<u32> = batch.edges[edges]
            .iter()
            .map(|edge| {
                assert!(batch.topics(doc_ix).contains(&(edge.parent as usize)));
                batch.nodes[edge.parent as usize].id
            })
            .collect();
        assert_eq!(parents, graph.parents(batch.nodes[at].id as usize));
    }
}

/// The edges out of each topic fill its slots, each once, and `slot_children` has their children.
fn assert_slots(graph: &Graph, batch: &Batch, doc_ix: usize) {
    let (doc, next) = (batch.docs[doc_ix], batch.docs[doc_ix + 1]);
    let mut filled = vec![false; (next.edge_begin - doc.edge_begin) as usize];
    for child in doc.node_begin as usize..next.node_begin as usize {
        for edge in
            &batch.edges[batch.nodes[child].edge_begin as usize..batch.nodes[child + 1].edge_begin as usize]
        {
            let parent = edge.parent as usize;
            let slots = batch.nodes[parent].slot_begin..batch.nodes[parent + 1].slot_begin;
            assert!(slots.contains(&edge.slot), "an edge outside its parent's slots");
            assert_eq!(batch.slot_children[edge.slot as usize] as usize, child);
            let filled = &mut filled[(edge.slot - doc.edge_begin) as usize];
            assert!(!std::mem::replace(filled, true), "two edges in one slot");
        }
    }
    assert!(filled.iter().all(|&filled| filled), "an empty slot");
    let tokens = doc.token_begin as usize..next.node_begin as usize;
    assert!(tokens.into_iter().all(|at| batch.nodes[at].slot_begin == next.edge_begin));
    let first_topic = batch.topics(doc_ix).next().map(|at| batch.nodes[at].slot_begin);
    assert!(first_topic.is_none_or(|begin| begin == doc.edge_begin) && graph.n_nodes() > 0);
}

// Extreme weights.

/// One token of every in-degree from 1 to 40, topics over topics, weights over their whole range.
fn extreme_network(seed: u64) -> Network {
    const TOPICS: u32 = 40;
    let rng = &mut rng(seed);
    let log_uniform = |rng: &mut ChaCha8Rng, lo: f64, hi: f64| lo * (hi / lo).powf(rng.random());
    // Some networks have all weights or leaks near one end.
    let (lo, hi) = [(1e-5, 20.0), (1e-5, 1e-4), (5.0, 20.0), (1e-5, 20.0)][seed as usize % 4];
    let (leak_lo, leak_hi) = [(1e-7, 20.0), (1e-7, 1e-6), (5.0, 20.0)][seed as usize % 3];
    let mut edges = Vec::new();
    for child in 1..2 * TOPICS {
        let degree = if child < TOPICS { child.min(4) } else { child - TOPICS + 1 };
        for parent in rand::seq::index::sample(rng, child.min(TOPICS) as usize, degree as usize) {
            edges.push((parent as u32, child, log_uniform(rng, lo, hi)));
        }
    }
    let leak = (0..2 * TOPICS).map(|_| log_uniform(rng, leak_lo, leak_hi)).collect();
    let mut network = network_of(TOPICS as usize, TOPICS as usize, &edges, leak);
    network.weights.round_to_f32();
    network
}

#[test]
fn extreme_weights_give_numbers() {
    for seed in 0..100 {
        let network = extreme_network(seed);
        let docs = random_docs(&network, seed, 4);
        for bound in [Bound::Tail, Bound::Full] {
            for options in [EStepOptions { bound, ..EStepOptions::default() }, EStepOptions::paper(bound)] {
                let ran = run_docs(&network, &docs, &options);
                let Stats { edge, leak, topic_q, .. } = &ran.stats;
                let numbers = edge.iter().chain(leak).chain(topic_q).chain(&ran.elbo);
                assert!(numbers.into_iter().all(|number| number.is_finite()), "seed {seed} {bound}");
                assert!(ran.q.iter().flatten().all(|q| (0.0..=1.0).contains(q)), "seed {seed} {bound}");
            }
        }
    }
}

#[test]
fn extreme_weights_give_the_oracles_bound_and_sums() {
    for seed in 0..100 {
        let network = extreme_network(seed);
        let docs = random_docs(&network, seed, 4);
        let (corpus, alignment) = corpus_of(&network, docs.clone());
        for bound in [Bound::Tail, Bound::Full] {
            let params = Params::derive(&network.graph, &network.weights, bound).unwrap();
            for (doc, tokens) in docs.iter().enumerate() {
                let name = format!("seed {seed} doc {doc} {bound}");
                let mut probe = probe_at_start(&network, &alignment.docs(&corpus), doc, bound, &params);
                alternate(&mut probe, 30);
                let shares = probe.r();
                assert!(shares.iter().all(|(_, r)| (0.0..=1.0 + F32_SUMS as f32).contains(r)), "{name}");
                assert_oracle(&name, &probe, &network, tokens, bound);
            }
        }
    }
}
