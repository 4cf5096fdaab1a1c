//! What several tests share: golden files, random networks, and the tolerances, each with its reason.
#![allow(dead_code, clippy::unwrap_used)]

pub mod backends;
#[cfg(feature = "gpu")]
pub mod gpu;

use noisyor::corpus::{Alignment, Corpus, Docs, Item, align};
use noisyor::estep::cpu::{CpuEStep, Probe};
use noisyor::estep::oracle::{Oracle, Point};
use noisyor::estep::{Bound, DocResults, EStep, EStepOptions, Monitor, OnLists, Params, Stats, Work};
use noisyor::network::{Graph, Names, Network, Weights, load_bytes};
use noisyor::numeric::f64::{beta, log1mexp};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use std::path::Path;

/// f64 against f64: only the order of summation differs.
pub const F64: f64 = 1e-9;
/// Bounds of the fast path, relative to 1 + |bound|: sums of about a hundred f32 terms, each good to 4e-7.
pub const F32_BOUND: f64 = 3e-6;
/// Log-odds of the fast path, relative to the size of the terms that are summed.
pub const F32_LOG_ODDS: f64 = 3e-6;
/// Gradient sums of the fast path, relative to 1 + |sum|: one exponential and one division each.
pub const F32_SUMS: f64 = 5e-6;
/// Bounds of the fast path, relative to [`bound_size`]: every term is good to 4e-7 (src/numeric.rs).
pub const F32_TERMS: f64 = 4e-7;
/// What an update of the fast path may lose: f32 holds no 1 - q below 6e-8, and what an error dg of the
/// log-odds loses is of second order, dg^2 / 8.
pub const F32_UPDATE: f64 = 1e-7;
/// Sums in f64 of the same f32 terms in another order, relative to the sum: at most a thousand terms, all
/// positive.
pub const F64_SUMS: f64 = 1e-12;
/// What rounding to whole units may change two sums by, as a share of the most that D documents can add up to, for every block: a unit is
/// less than 2^-58 of that (src/estep/sums.rs: `2^(e + L - 61)`, with `2^e` at most 4 times what one document adds, and `2^L < 2 D`), and
/// each of the two is off by half a unit. Sums that are tiny beside what documents can add up to have an absolute error, not a relative one.
pub const FIXED_SUMS: f64 = 1.0 / (1u64 << 58) as f64;
/// What a document can add to N and L of random networks: 1 + 1 / w, with edge weights above 0.03 and leaks above 9e-6.
pub const MOST_N: f64 = 33.0;
pub const MOST_L: f64 = 1.2e5;
/// f64 bounds before and after an update: about a thousand terms of at most 100, each good to 1e-16.
pub const F64_UPDATE: f64 = 1e-10;
/// Central differences over 1e-4 of a weight's logarithm: truncation 2e-9, rounding 1e-10, relative to the
/// size of a bound of about 100.
pub const DIFFERENCE: f64 = 1e-7;
/// What ten topics at the floor can change in log p of a document of four tokens: each topic is on with
/// probability 1e-5 and then at most doubles the chance of every token, 10 * 1e-5 * 2^4.
pub const AT_FLOOR: f64 = 1.6e-3;
/// Counts that are kept as f32: each is rounded by 6e-8 of itself, and a weight is a quotient of sums of two.
pub const KEPT_COUNTS: f64 = 1e-6;
/// Adam's first step against the rate of 0.01: its epsilon of 1e-8, times the rate, against gradients above
/// 1e-4.
pub const ADAM_FIRST: f64 = 1e-6;
/// (Mean, maximum) error of recovered weights: with 20,000 documents an edge weight w of a topic that is on
/// in a fifth of them is uncertain by sqrt((exp(w) - 1) / 4000), 0.02 to 0.05 for w of 1 to 2.5; about three
/// times the largest for the maximum of 56.
pub const RECOVERED_EDGES: (f64, f64) = (0.04, 0.16);
/// The same for topic leaks of 0.1 to 0.3: uncertain by sqrt((exp(w) - 1) / 20000), 0.002 to 0.004.
pub const RECOVERED_TOPIC_LEAKS: (f64, f64) = (0.006, 0.012);
/// The same for token leaks of 0.005 to 0.05, uncertain by 0.0005 to 0.0016, and what mean field adds.
pub const RECOVERED_TOKEN_LEAKS: (f64, f64) = (0.003, 0.009);
/// The best r found by iteration or by bisection, where it is well determined: the bound is flat around it.
pub const BEST_R: f64 = 1e-3;
/// The bound at the best r after a fixed number of f32 iterations: they converge linearly, and stop at rounding.
pub const BEST_R_BOUND: f64 = 2e-5;
/// Mean shortfall in nats from the best of 14 plain starts that the default E-step may have on the golden networks: -0.106
/// was measured, better than the best of them.
pub const SHORTFALL: f64 = -0.05;
/// Slopes of the structured bound by finite differences of 0.2 %: f32 bounds of some ten nats are good to 1e-5, over 4e-3.
pub const STRUCTURED_SLOPE: f64 = 2e-2;
/// Words that a kernel and its twin write from the same state, |d| / (1 + |word|), and |d| / r for r: a dozen operations of one
/// to three ulp of 6e-8 each, since multiply-adds may or may not be fused and divisions are good to 2.5 ulp; 1.5e-6 was measured.
pub const KERNEL: f64 = 5e-6;
/// Mean over nodes of kappa's |d| / (1 + kappa): where w / r is tiny its denominator is a difference of nearly equal numbers, and
/// a few nodes with weights at the floor are off by a hundredth; 4e-6 was measured.
pub const KERNEL_KAPPA: f64 = 1e-4;
/// Documents that a kernel and its twin may judge differently: those whose topic moved by the tolerance, to rounding.
pub const KERNEL_DOCS: f64 = 1e-3;
/// Mean of |d bound| of two backends, relative to the mean of |bound|: every node's term is good to 4e-7 (src/numeric.rs), and
/// devices add them in f32; 1.1e-6 was measured.
pub const PARITY_BOUND: f64 = 5e-6;
/// Mean of |dq| of two backends: q is good to 6e-8, and the log-odds it comes from to a few 1e-7; 3e-7 was measured. Trajectories
/// that rounding sends different ways cost up to 1 each and must be rarer than this.
pub const PARITY_Q_MEAN: f64 = 1e-6;
/// |dq| that one topic in a thousand may exceed: log-odds of size 30 are good to 1e-5; 2e-6 was measured.
pub const PARITY_Q_HIGH: f64 = 1e-5;
/// N, L and Q of two backends, sum of |d| over the sum: devices add up to thousands of documents in f32, in 64 lanes; 1.4e-6
/// was measured.
pub const PARITY_SUMS: f64 = 5e-6;
/// |d| / (1 + sum) that one of a thousand sums may exceed. The relative errors of r add up over the alternations, fourfold with
/// p = 4: a dozen alternations of 4e-7 each, fourfold, are 2e-5; 1.4e-5 was measured.
pub const PARITY_SUMS_HIGH: f64 = 5e-5;
/// Mean numbers of alternations of two backends, relative: rounding decides only where a move is the tolerance's, to 1e-6 of it.
pub const PARITY_ALTERNATIONS: f64 = 1e-3;
/// Documents that two backends may split differently: a split must gain `MIN_BETTER`, a bound is good to 1e-5 nats, and gains spread
/// over many powers of ten, so one split in a thousand gains that much to rounding, and a document has some ten. One of 200
/// documents of the sample was measured. Others stop an alternation later, or have pieces of weights that rounding of their bounds
/// moves: of few documents one is allowed, because a gate of one in a thousand would see each.
pub const PARITY_SPLITS: f64 = 1e-2;
/// Nats by which the bounds of a document that is split the same way may differ, relative to 1 + |bound|; 1e-6 was measured.
pub const PARITY_SPLIT_BOUND: f64 = 3e-6;
/// Held-out bounds, in nats, of models that CPU and GPU trained from one seed: (after 5 epochs, at the end). Rounding of 1e-7
/// grows from step to step, and the best of the evaluations may be another one.
pub const PARITY_TRAINED: (f64, f64) = (1e-3, 1e-2);
/// The peer clips q, r and w at 1e-5 (tests/golden/README.md).
pub const PEER: f64 = 2e-3;

pub fn assert_close(what: &str, got: f64, want: f64, tolerance: f64) {
    let error = (got - want).abs() / (1.0 + want.abs());
    assert!(
        error <= tolerance,
        "{what}: got {got}, want {want}, relative error {error:e} above {tolerance:e}"
    );
}

pub fn golden_file(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap()
}

/// A golden network, with the place of each of its edges in the golden file's list.
pub struct Golden {
    pub name: String,
    pub network: Network,
    pub place: Vec<usize>,
    pub value: Value,
}

pub fn golden_cases() -> Vec<Golden> {
    (0..15).map(|number| golden(&format!("case{number:02}"))).collect()
}

fn golden(name: &str) -> Golden {
    golden_of(name, golden_file(&format!("{name}.json")))
}

/// A golden network with its answers.
pub fn golden_of(name: &str, value: Value) -> Golden {
    let network = golden_network(&value["model"]);
    let listed: Vec<(u32, u32)> = value["model"]["edges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| (e[0].as_u64().unwrap() as u32, e[1].as_u64().unwrap() as u32))
        .collect();
    let place =
        network.graph.edges().map(|edge| listed.iter().position(|&other| other == edge).unwrap()).collect();
    Golden { name: name.to_owned(), network, place, value }
}

pub fn golden_network(model: &Value) -> Network {
    let path = Path::new("golden.json");
    load_bytes(path, model.to_string().as_bytes()).unwrap().into_model(path).unwrap()
}

impl Golden {
    /// Values listed by golden edge, in the network's edge order.
    pub fn by_edge(&self, list: &Value) -> Vec<f64> {
        let list = floats(list);
        self.place.iter().map(|&place| list[place]).collect()
    }

    pub fn docs(&self) -> &[Value] {
        self.value["docs"].as_array().unwrap()
    }
}

pub fn floats(list: &Value) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

pub fn tokens(list: &Value) -> Vec<u32> {
    list.as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as u32).collect()
}

/// A corpus of token numbers, aligned with a network.
pub fn corpus_of(network: &Network, docs: impl IntoIterator<Item = Vec<u32>>) -> (Corpus, Alignment) {
    let corpus = Corpus::from_tokens(docs);
    let alignment = align(&corpus, &network.names.tokens);
    (corpus, alignment)
}

/// A network of the given edges and weights, nodes named by number.
pub fn network_of(n_topics: usize, n_tokens: usize, edges: &[(u32, u32, f64)], leak: Vec<f64>) -> Network {
    let pairs: Vec<(u32, u32)> = edges.iter().map(|edge| (edge.0, edge.1)).collect();
    let (graph, order) = Graph::build(n_topics, n_tokens, &pairs, &|node| node.to_string()).unwrap();
    let number = |prefix: &str, n: usize| (0..n).map(|i| format!("{prefix}{i}")).collect();
    Network {
        weights: Weights { leak, edge: order.iter().map(|&at| edges[at as usize].2).collect() },
        names: Names { topics: number("t", graph.n_topics()), tokens: number("w", graph.n_tokens()) },
        graph,
        training: String::new(),
    }
}

/// A random DAG with skip edges: up to `n_topics` topics and `n_tokens` tokens, random densities and weights.
pub fn random_network(seed: u64, n_topics: usize, n_tokens: usize) -> Network {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let (n_topics, n_tokens) = (rng.random_range(1..=n_topics), rng.random_range(1..=n_tokens));
    let density = rng.random_range(0.15..0.9);
    // Leaks from 1e-5 to 0.5: both the easy and the hard range.
    let leak_scale = 10f64.powf(rng.random_range(-4.5..-0.5));
    let mut edges = Vec::new();
    for child in 1..n_topics + n_tokens {
        for parent in 0..child.min(n_topics) {
            if rng.random::<f64>() < density {
                edges.push((parent as u32, child as u32, 10f64.powf(rng.random_range(-1.5..0.7))));
            }
        }
    }
    let leak = (0..n_topics + n_tokens).map(|_| leak_scale * rng.random_range(0.3..3.0)).collect();
    network_of(n_topics, n_tokens, &edges, leak)
}

/// Random documents of a network, the empty one and the one with every token among them.
pub fn random_docs(network: &Network, seed: u64, n_docs: usize) -> Vec<Vec<u32>> {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed ^ 0xd0c5);
    let n_tokens = network.graph.n_tokens() as u32;
    let mut docs = vec![Vec::new(), (0..n_tokens).collect()];
    docs.extend((0..n_docs).map(|_| {
        let share: f64 = rng.random();
        (0..n_tokens).filter(|_| rng.random::<f64>() < share).collect()
    }));
    docs
}

/// Random networks of up to the given size, each with its seed and some documents. Weights are f32 numbers,
/// as training leaves them: both paths then start from the same ones.
pub fn random_cases(
    n: u64,
    n_topics: usize,
    n_tokens: usize,
) -> impl Iterator<Item = (u64, Network, Vec<Vec<u32>>)> {
    (0..n).map(move |seed| {
        let mut network = random_network(seed, n_topics, n_tokens);
        network.weights.round_to_f32();
        let docs = random_docs(&network, seed, 3);
        (seed, network, docs)
    })
}

/// The oracle of one document.
pub fn oracle<'a>(network: &'a Network, tokens: &'a [u32]) -> Oracle<'a> {
    Oracle { graph: &network.graph, weights: &network.weights, tokens }
}

/// Any q (0 outside) and any r.
pub fn random_point(network: &Network, inside: &[bool], rng: &mut ChaCha8Rng) -> Point {
    let q = inside.iter().map(|&inside| if inside { rng.random_range(0.001..0.999) } else { 0.0 }).collect();
    let mut r: Vec<f64> = (0..network.graph.n_edges()).map(|_| rng.random_range(0.01..1.0)).collect();
    normalise(network, &mut r);
    Point { q, r }
}

/// Makes the r of every node sum to one.
pub fn normalise(network: &Network, r: &mut [f64]) {
    for node in 0..network.graph.n_nodes() {
        let shares = &mut r[network.graph.edges_into(node)];
        let sum: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|r| *r /= sum);
    }
}

/// What the fast path gives for every item, and its sums.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    pub elbo: Vec<f64>,
    /// q of every topic of the network, 0 outside the item's model.
    pub q: Vec<Vec<f32>>,
    pub stats: Stats,
}

/// The fast path over whole documents.
pub fn run_docs(network: &Network, docs: &[Vec<u32>], options: &EStepOptions) -> Ran {
    let (corpus, alignment) = corpus_of(network, docs.iter().cloned());
    let all: Vec<u32> = (0..docs.len() as u32).collect();
    run_items(network, alignment.docs(&corpus), &Item::each(&all), options)
}

/// The fast path over items.
pub fn run_items(network: &Network, docs: Docs<'_>, items: &[Item], options: &EStepOptions) -> Ran {
    run_on(&mut CpuEStep::new(), network, docs, items, options, None, &Monitor::default()).unwrap()
}

/// A backend over items.
pub fn run_on(
    estep: &mut dyn EStep,
    network: &Network,
    docs: Docs<'_>,
    items: &[Item],
    options: &EStepOptions,
    kept_on: Option<&OnLists>,
    monitor: &Monitor,
) -> noisyor::Result<Ran> {
    let params = Params::derive(&network.graph, &network.weights, options.bound).unwrap();
    let (mut elbo, mut q) = (Vec::new(), Vec::new());
    let mut sink = |results: &DocResults<'_>| {
        assert_eq!(results.first_item, elbo.len(), "results come in the order of the items");
        elbo.extend_from_slice(results.elbo);
        for doc_ix in 0..results.n_docs() {
            let mut dense = vec![0.0; network.graph.n_topics()];
            let (topics, q_of_topics) = results.doc(doc_ix);
            topics.iter().zip(q_of_topics).for_each(|(&topic, &q)| dense[topic as usize] = q);
            q.push(dense);
        }
        Ok(())
    };
    let work = Work {
        graph: &network.graph,
        params: &params,
        docs,
        items,
        options,
        gradients: true,
        kept_on,
        monitor,
    };
    let stats = estep.run(&work, Some(&mut sink))?;
    Ok(Ran { elbo, q, stats })
}

/// The fast path's alternations (one q sweep, one accelerated r iteration), update by update.
pub fn alternate(probe: &mut Probe<'_>, n_alternations: usize) {
    for _ in 0..n_alternations {
        (0..probe.q().len()).for_each(|at| probe.update_q(at));
        probe.accelerate_r();
    }
}

/// Where a probe stands, in f64; r sums to one exactly, as the mathematics has it.
pub fn point_of(network: &Network, probe: &Probe<'_>) -> Point {
    let mut point = Point { q: vec![0.0; network.graph.n_topics()], r: vec![1.0; network.graph.n_edges()] };
    probe.topics().iter().zip(probe.q()).for_each(|(&topic, &q)| point.q[topic as usize] = f64::from(q));
    probe.r().into_iter().for_each(|(edge, r)| point.r[edge] = f64::from(r));
    normalise(network, &mut point.r);
    point
}

/// The sum of the absolute values of the bound's terms, which f32 errors are relative to: large terms may
/// cancel in a small bound.
pub fn bound_size(oracle: &Oracle<'_>, point: &Point) -> f64 {
    let Oracle { graph, weights, .. } = oracle;
    let mut size = 1.0 + weights.leak.iter().sum::<f64>();
    for node in oracle.positive_nodes(&point.q.iter().map(|&q| q > 0.0).collect::<Vec<_>>()) {
        let v = point.q.get(node).copied().unwrap_or(1.0);
        size += v * beta(weights.leak[node]).abs();
        if graph.is_topic(node) {
            size += v * graph.child_edges(node).iter().map(|&e| weights.edge[e as usize]).sum::<f64>();
        }
        for (edge, &parent) in graph.edges_into(node).zip(graph.parents(node)) {
            let most = weights.edge[edge] + point.r[edge] * log1mexp(weights.leak[node]).abs();
            size += v * point.q[parent as usize] * most;
        }
    }
    size
}

/// The fast path's bound and sums, where a probe stands, are the oracle's.
pub fn assert_oracle(name: &str, probe: &Probe<'_>, network: &Network, tokens: &[u32], bound: Bound) {
    let (oracle, point) = (oracle(network, tokens), point_of(network, probe));
    let tail = if bound == Bound::Tail { oracle.tail(&oracle.local_topics()) } else { 0.0 };
    let error = (probe.elbo() - oracle.elbo(&point) - tail).abs();
    let rounding = F32_TERMS * bound_size(&oracle, &point);
    assert!(error <= rounding, "{name}: the bound is {error:e} off, {rounding:e} allowed");
    let (got, want) = (probe.stats(), oracle.sums(&point));
    let sums = [("N", got.edge, want.edge), ("L", got.leak, want.leak), ("Q", got.topic_q, want.topic_q)];
    for (kind, got, want) in sums {
        for (at, (got, want)) in got.into_iter().zip(want).enumerate() {
            assert_close(&format!("{name}: {kind} {at}"), got, want, F32_SUMS);
        }
    }
}

/// `log p(y)` by enumeration.
pub fn likelihood(network: &Network, docs: &[Vec<u32>]) -> Vec<f64> {
    noisyor::exact::log_likelihood(&network.graph, &network.weights, docs, &Monitor::default()).unwrap()
}

/// `log p(x, y)` of a configuration, a bit for every topic.
pub fn log_joint(network: &Network, tokens: &[u32], states: u32) -> f64 {
    let (graph, weights) = (&network.graph, &network.weights);
    let is_on = |node: usize| match graph.is_topic(node) {
        true => states >> node & 1 == 1,
        false => tokens.contains(&((node - graph.n_topics()) as u32)),
    };
    let term = |node: usize| {
        let edges = graph.edges_into(node).filter(|&e| is_on(graph.edge_parents()[e] as usize));
        let a = weights.leak[node] + edges.map(|e| weights.edge[e]).sum::<f64>();
        if is_on(node) { (-(-a).exp_m1()).ln() } else { -a }
    };
    (0..graph.n_nodes()).map(term).sum()
}

/// p(topic on | tokens) by enumeration.
pub fn posterior(network: &Network, tokens: &[u32]) -> Vec<f64> {
    let n_topics = network.graph.n_topics();
    let (mut on, mut all) = (vec![0.0; n_topics], 0.0);
    for states in 0u32..1 << n_topics {
        let p = log_joint(network, tokens, states).exp();
        all += p;
        (0..n_topics).filter(|topic| states >> topic & 1 == 1).for_each(|topic| on[topic] += p);
    }
    on.into_iter().map(|sum| sum / all).collect()
}
