//! Bounds hold, and exact methods agree, on random networks.

#![allow(clippy::unwrap_used)]

use crate::common::{assert_close, network_of};
use noisyor::posterior::dag::Dag;
use noisyor::posterior::deep_upper::deep_upper;
use noisyor::posterior::enumerate::enumerate;
use noisyor::posterior::hubs::Route;
use noisyor::posterior::search::search;
use noisyor::posterior::two_layer::Problem;
use noisyor::posterior::vi::vi;
use noisyor::posterior::{Case, Engine, Method, Options, Posterior, Watch};
use noisyor::{Monitor, Network};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Layers of topics, then tokens; edges between neighbouring layers and some that skip one. Weights strong or weak, leaks down to 1e-8.
pub fn random_network(rng: &mut ChaCha8Rng, layers: &[usize]) -> Network {
    let ends: Vec<usize> = layers
        .iter()
        .scan(0, |sum, n| {
            *sum += n;
            Some(*sum)
        })
        .collect();
    let layer_of = |node: usize| ends.iter().position(|&end| node < end).unwrap();
    let n_nodes = *ends.last().unwrap();
    let n_topics = ends[ends.len() - 2];
    let density = rng.random_range(0.15..1.0);
    let size = 10f64.powf(rng.random_range(-1.5..0.8));
    let leak_size = 10f64.powf(rng.random_range(-8.0..0.0));
    let mut edges = Vec::new();
    for child in 0..n_nodes {
        for parent in (0..n_topics).filter(|&parent| layer_of(parent) < layer_of(child)) {
            let near = layer_of(child) - layer_of(parent) == 1;
            if rng.random::<f64>() < if near { density } else { 0.2 * density } {
                edges.push((parent as u32, child as u32, size * rng.random_range(0.05..2.0)));
            }
        }
    }
    let leak = (0..n_nodes)
        .map(|node| {
            if node < n_topics {
                10f64.powf(rng.random_range(-2.5..0.3))
            } else {
                leak_size * rng.random_range(0.3..3.0)
            }
        })
        .collect();
    network_of(n_topics, n_nodes - n_topics, &edges, leak)
}

/// Tokens present, absent and unknown; some topics given.
pub fn random_case(rng: &mut ChaCha8Rng, network: &Network) -> Case {
    let mut case = Case::default();
    let (present, known) = (rng.random::<f64>(), rng.random_range(0.4..1.0));
    for token in 0..network.graph.n_tokens() as u32 {
        if rng.random::<f64>() < known {
            if rng.random::<f64>() < present { case.present.push(token) } else { case.absent.push(token) }
        }
    }
    if rng.random::<f64>() < 0.3 {
        let topic = rng.random_range(0..network.graph.n_topics()) as u32;
        case.given.push((topic, rng.random()));
    }
    case
}

/// By plain sums over all topic states: log p and marginals.
pub fn by_hand(network: &Network, case: &Case) -> (f64, Vec<f64>) {
    let (graph, weights) = (&network.graph, &network.weights);
    let n = graph.n_topics();
    let (mut total, mut on) = (0.0, vec![0.0; n]);
    for state in 0..1usize << n {
        let is_on = |topic: usize| state >> topic & 1 == 1;
        if case.given.iter().any(|&(topic, given)| is_on(topic as usize) != given) {
            continue;
        }
        let a = |node: usize| {
            let parents = graph.edges_into(node).zip(graph.parents(node));
            weights.leak[node]
                + parents
                    .filter(|&(_, &p)| is_on(p as usize))
                    .map(|(edge, _)| weights.edge[edge])
                    .sum::<f64>()
        };
        let factor = |node: usize, on: bool| if on { -(-a(node)).exp_m1() } else { (-a(node)).exp() };
        let mut p: f64 = (0..n).map(|topic| factor(topic, is_on(topic))).product();
        p *= case.present.iter().map(|&t| factor(n + t as usize, true)).product::<f64>();
        p *= case.absent.iter().map(|&t| factor(n + t as usize, false)).product::<f64>();
        total += p;
        (0..n).filter(|&topic| is_on(topic)).for_each(|topic| on[topic] += p);
    }
    (total.ln(), on.iter().map(|on| on / total).collect())
}

fn run(network: &Network, case: &Case, method: Method) -> Posterior {
    let options = Options { method, samples: 400, ..Options::default() };
    Engine::new(network).unwrap().run(case, 0, &options, &Monitor::default()).unwrap()
}

fn check(name: &str, found: &Posterior, log_p: f64, marginals: &[f64]) {
    let interval = found.log_p;
    assert!(
        interval.lower <= log_p + 1e-10 && log_p <= interval.upper + 1e-10,
        "{name}: {interval:?}, exact {log_p}"
    );
    for (topic, (got, &want)) in found.marginals.iter().zip(marginals).enumerate() {
        assert!(got.lower <= got.p && got.p <= got.upper && got.p.is_finite(), "{name}: {got:?}");
        if found.ess.is_none() {
            assert!(
                got.lower <= want + 1e-9 && want <= got.upper + 1e-9,
                "{name}: topic {topic} {got:?}, exact {want}"
            );
        }
    }
}

#[test]
fn bounds_hold_on_ten_thousand_two_layer_networks() {
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    for number in 0..10_000 {
        let (n_topics, n_tokens) = (rng.random_range(1..=6), rng.random_range(1..=7));
        let network = random_network(rng, &[n_topics, n_tokens]);
        let case = random_case(rng, &network);
        let (log_p, marginals) = by_hand(&network, &case);
        let exact = run(&network, &case, Method::Exact);
        let name = format!("network {number}");
        check(&name, &exact, log_p, &marginals);
        assert_close(&name, exact.log_p.lower, log_p, 1e-9);
        for (topic, (got, want)) in exact.marginals.iter().zip(&marginals).enumerate() {
            assert_close(&format!("{name} topic {topic}"), got.p, *want, 1e-9);
        }
        let mut methods = vec![Method::Jj, Method::Vi];
        if number % 10 == 0 {
            methods.extend([
                Method::Quickscore,
                Method::Hybrid,
                Method::Ks,
                Method::MeanField(3),
                Method::Sample,
            ]);
        }
        for method in methods {
            check(&format!("{name} {method}"), &run(&network, &case, method), log_p, &marginals);
        }
    }
}

/// A search may end anywhere between its first bounds and the exact answer.
#[test]
fn bounds_of_a_search_hold() {
    let rng = &mut ChaCha8Rng::seed_from_u64(3);
    let monitor = Monitor::default();
    let watch = Watch::new(&monitor, None);
    let mut n_open = 0;
    for number in 0..3_000 {
        let (n_topics, n_tokens) = (rng.random_range(1..=7), rng.random_range(1..=8));
        let network = random_network(rng, &[n_topics, n_tokens]);
        let case = random_case(rng, &network);
        let dag = Dag::new(&network, &case).unwrap();
        let problem = Problem::of(&dag).unwrap();
        let (log_p, marginals) = by_hand(&network, &case);
        let gap = 10f64.powf(rng.random_range(-5.0..1.5));
        let found = search(&problem, gap, 1 << n_topics, &watch).unwrap();
        assert!(found.meets);
        let (name, interval) = (format!("network {number}, gap {gap}"), found.log_p);
        assert!(interval.upper - interval.lower <= gap, "{name}: {interval:?}");
        assert!(
            interval.lower <= log_p + 1e-10 && log_p <= interval.upper + 1e-10,
            "{name}: {interval:?}, exact {log_p}"
        );
        for (&topic, marginal) in dag.topics.iter().zip(&found.marginals) {
            let p = marginals[topic as usize];
            assert!(marginal.lower <= p + 1e-9 && p <= marginal.upper + 1e-9, "{name}: {marginal:?} {p}");
            assert!(marginal.error() <= gap.exp_m1() + 1e-9, "{name}: {marginal:?}");
        }
        n_open += usize::from(interval.upper - interval.lower > 1e-3);
    }
    assert!(n_open > 500, "{n_open} with a gap");
}

#[test]
fn bounds_hold_on_deep_networks() {
    let rng = &mut ChaCha8Rng::seed_from_u64(2);
    let monitor = Monitor::default();
    let watch = Watch::new(&monitor, None);
    let (mut gaps, mut n_looser) = (Vec::new(), 0);
    for number in 0..500 {
        let layers: Vec<usize> = (0..3).map(|_| rng.random_range(1..=4)).collect();
        let network = random_network(rng, &[layers[0], layers[1], 2 * layers[2]]);
        let case = random_case(rng, &network);
        let (log_p, marginals) = by_hand(&network, &case);
        let name = format!("deep network {number}");
        for method in [Method::Exact, Method::Vi, Method::Sample, Method::Auto] {
            check(&format!("{name} {method}"), &run(&network, &case, method), log_p, &marginals);
        }
        let dag = Dag::new(&network, &case).unwrap();
        let found = enumerate(&dag, &watch).unwrap().unwrap();
        assert_close(&name, found.log_p, log_p, 1e-10);
        for (&topic, &p) in dag.topics.iter().zip(&found.marginals) {
            assert_close(&format!("{name} topic {topic}"), p, marginals[topic as usize], 1e-9);
        }
        let lower = vi(&dag, &watch).unwrap();
        let upper = deep_upper(&dag, &lower.q);
        assert!(
            lower.log_p <= log_p + 1e-9 && log_p <= upper + 1e-9,
            "{name}: {} {log_p} {upper}",
            lower.log_p
        );
        // Topics that lead to nothing that is on are summed out first.
        let certain = Engine::new(&network).unwrap().upper(&case, &monitor).unwrap();
        assert!(log_p <= certain + 1e-10, "{name}: {log_p} {certain}");
        n_looser += u32::from(certain > upper + 1e-3);
        gaps.push((upper.min(certain) - log_p, log_p - lower.log_p));
    }
    // Summing out first loses nothing, but for searches that end elsewhere.
    assert!(n_looser < 10, "{n_looser} of 500 bounds are looser");
    // The bounds are not just bounds: halves of the networks are within this, in nats.
    gaps.sort_by(|a, b| a.0.total_cmp(&b.0));
    let upper = gaps[gaps.len() / 2].0;
    gaps.sort_by(|a, b| a.1.total_cmp(&b.1));
    let lower = gaps[gaps.len() / 2].1;
    assert!(upper < 3.0 && lower < 1.0, "median gaps {upper} and {lower}");
}

/// Networks large enough for tables of several blocks, and for groups of blocks.
#[test]
fn cover_agrees_with_enumeration_and_with_any_number_of_threads() {
    let monitor = Monitor::default();
    let watch = Watch::new(&monitor, None);
    let mut n_hubs = 0;
    for (seed, n_topics, n_tokens, density) in
        [(1, 12, 17, 0.5), (2, 14, 16, 0.3), (3, 30, 13, 0.2), (4, 8, 18, 0.9), (5, 26, 18, 0.15)]
    {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let effects: Vec<Vec<(usize, f64)>> = (0..n_topics)
            .map(|_| {
                let mut of_topic = Vec::new();
                for token in 0..n_tokens {
                    if rng.random::<f64>() < density {
                        of_topic.push((token, rng.random_range(0.05..3.0)));
                    }
                }
                of_topic
            })
            .collect();
        let logit: Vec<f64> = (0..n_topics).map(|_| rng.random_range(-7.0..1.0)).collect();
        let leak: Vec<f64> = (0..n_tokens).map(|_| 10f64.powf(rng.random_range(-12.0..-1.0))).collect();
        let problem = Problem::new(0.0, logit, leak, effects);
        let cover = || problem.covered(28, &watch).unwrap().unwrap();
        let found = cover();
        // With hubs, the same.
        for max_bits in [8, 10, 12, 14, 16, 18] {
            let Some(route) = Route::new(&problem, max_bits) else { continue };
            n_hubs += route.hubs.len();
            let exact = route.exact(&problem, &watch).unwrap().unwrap();
            assert_close(&format!("seed {seed}, {max_bits}"), exact.log_p, found.log_p, 1e-11);
            for (got, want) in exact.marginals.iter().zip(&found.marginals) {
                assert!((got / want - 1.0).abs() < 1e-9, "seed {seed}, {max_bits}: {got} and {want}");
            }
        }
        if n_topics < 20 {
            let dag = problem.dag();
            let want = enumerate(&dag, &watch).unwrap().unwrap();
            assert_close(&format!("seed {seed}"), found.log_p, want.log_p, 1e-11);
            for (got, want) in found.marginals.iter().zip(&want.marginals) {
                assert!((got / want - 1.0).abs() < 1e-9, "seed {seed}: {got} and {want}");
            }
        }
        for threads in [1, 2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let again = pool.install(cover);
            assert_eq!(found.log_p.to_bits(), again.log_p.to_bits());
            assert_eq!(found.marginals, again.marginals);
        }
    }
    assert!(n_hubs > 0, "no network had hubs");
}

#[test]
fn samples_are_near_the_truth_and_the_same_on_any_number_of_threads() {
    let rng = &mut ChaCha8Rng::seed_from_u64(5);
    let (mut n_far, mut n_all) = (0, 0);
    for number in 0..60 {
        let layers: &[usize] = if number % 2 == 0 { &[6, 8] } else { &[3, 4, 8] };
        let network = random_network(rng, layers);
        let case = random_case(rng, &network);
        let (log_p, marginals) = by_hand(&network, &case);
        let options = Options { method: Method::Sample, samples: 4_000, ..Options::default() };
        let engine = Engine::new(&network).unwrap();
        let sample = || engine.run(&case, number, &options, &Monitor::default()).unwrap();
        let found = sample();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(found, pool.install(sample));
        if found.marginals.iter().any(|marginal| marginal.error() > 1e-3) {
            let other = engine.run(&case, number + 100, &options, &Monitor::default()).unwrap();
            assert_ne!(found.marginals, other.marginals);
        }
        assert!(
            (found.log_p_estimate.unwrap() - log_p).abs() < 0.2,
            "{number}: {:?} {log_p}",
            found.log_p_estimate
        );
        n_all += marginals.len();
        n_far += found
            .marginals
            .iter()
            .zip(&marginals)
            .filter(|&(got, &p)| p < got.lower - 1e-9 || p > got.upper + 1e-9)
            .count();
    }
    // Three standard errors hold 99.7 %; weights of finite variance only.
    assert!(n_far * 50 <= n_all, "{n_far} of {n_all} outside");
}
