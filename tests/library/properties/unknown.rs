//! Unknown tokens: an E-step and its sums are those of the network without them.

use super::*;
use noisyor::corpus::{Alignment, Corpus, Others, align};
use noisyor::estep::cpu::CpuEStep;
use noisyor::exact::log_likelihood_of;
use noisyor::likelihood;
use noisyor::monitor::Monitor;
use noisyor::train::{Begin, TrainOptions, train};

/// A document with unknown tokens, and the same under the network without those.
struct Hidden {
    unknown: Vec<u32>,
    corpus: Corpus,
    alignment: Alignment,
    without: Network,
    present: Vec<u32>,
}

impl Hidden {
    /// Hides so large a share of the tokens, listed or as the rest.
    fn new(network: &Network, tokens: &[u32], share: f64, rng: &mut ChaCha8Rng) -> Self {
        let all = 0..network.graph.n_tokens() as u32;
        let unknown: Vec<u32> = all.clone().filter(|_| rng.random_bool(share)).collect();
        let mut seen: Vec<u32> = tokens.iter().copied().filter(|token| !unknown.contains(token)).collect();
        let absent = all.filter(|token| !unknown.contains(token) && !seen.contains(token)).collect();
        let rest_unknown = rng.random_bool(0.5);
        let mut others = Others { tokens: if rest_unknown { absent } else { unknown.clone() }, rest_unknown };
        let mut corpus = Corpus::default();
        corpus.set_token_names(&network.names.tokens);
        corpus.push_state(&mut seen, &mut others, "", "").unwrap();
        let alignment = align(&corpus, &network.names.tokens);
        let mut without = network.clone();
        without.leave_out_tokens(&unknown).unwrap();
        let number = |token: &u32| token - unknown.iter().filter(|other| *other < token).count() as u32;
        let present = seen.iter().map(number).collect();
        Self { unknown, corpus, alignment, without, present }
    }

    fn docs(&self) -> Docs<'_> {
        self.alignment.docs(&self.corpus)
    }

    fn run(&self, network: &Network, options: &EStepOptions) -> (Ran, Ran) {
        let items = [Item { doc_ix: 0, count: 1 }];
        let here = run_items(network, self.docs(), &items, options);
        (here, run_docs(&self.without, std::slice::from_ref(&self.present), options))
    }
}

fn cases(n: u64, share: f64) -> impl Iterator<Item = (String, Network, Hidden)> {
    random_cases(n, 10, 15).flat_map(move |(seed, network, docs)| {
        let rng = &mut rng(seed);
        let hidden: Vec<Hidden> =
            docs.iter().map(|tokens| Hidden::new(&network, tokens, share, rng)).collect();
        hidden
            .into_iter()
            .enumerate()
            .map(move |(doc, hidden)| (format!("seed {seed} doc {doc}"), network.clone(), hidden))
    })
}

#[test]
fn the_e_step_is_that_of_the_network_without_them() {
    let mut n_unknown = 0;
    for share in [0.0, 0.3, 0.9] {
        for (name, network, hidden) in cases(60, share) {
            n_unknown += hidden.unknown.len();
            for start in [Start::Plain, Start::Greedy] {
                let options =
                    EStepOptions { bound: Bound::Full, start, tolerance: 1e-6, ..EStepOptions::default() };
                let (here, without) = hidden.run(&network, &options);
                assert_close(&name, here.elbo[0], without.elbo[0], 1e-3);
                for (topic, (&a, &b)) in here.q[0].iter().zip(&without.q[0]).enumerate() {
                    assert_close(&format!("{name}: q {topic}"), f64::from(a), f64::from(b), 2e-2);
                }
                sums_are_those_without(&name, &network, &hidden, &here, &without);
            }
        }
    }
    assert!(n_unknown > 1000);
}

/// N and L of known nodes are those of the other network; of unknown ones q_k and 1, so that their gradients are nothing.
fn sums_are_those_without(name: &str, network: &Network, hidden: &Hidden, here: &Ran, without: &Ran) {
    let (graph, n_topics) = (&network.graph, network.graph.n_topics());
    let mut next_node = 0;
    for node in 0..graph.n_nodes() {
        let is_unknown = node >= n_topics && hidden.unknown.contains(&((node - n_topics) as u32));
        let name = format!("{name}: node {node}");
        if is_unknown {
            assert_close(&name, here.stats.leak[node], 1.0, 1e-5);
            for (edge, &parent) in graph.edges_into(node).zip(graph.parents(node)) {
                assert_close(&name, here.stats.edge[edge], here.stats.topic_q[parent as usize], 1e-5);
            }
            continue;
        }
        assert_close(&name, here.stats.leak[node], without.stats.leak[next_node], 3e-2);
        let others = hidden.without.graph.edges_into(next_node);
        for (edge, other) in graph.edges_into(node).zip(others) {
            assert_close(&name, here.stats.edge[edge], without.stats.edge[other], 3e-2);
        }
        next_node += 1;
    }
}

#[test]
fn the_short_way_of_the_sums_is_the_same() {
    for (name, network, hidden) in cases(40, 0.4) {
        let options = EStepOptions { tolerance: 1e-6, ..EStepOptions::default() };
        let params = derive(&network);
        let items = [Item { doc_ix: 0, count: 1 }];
        let (whole, _) = hidden.run(&network, &options);
        let work = noisyor::estep::Work {
            graph: &network.graph,
            params: &params,
            docs: hidden.docs(),
            items: &items,
            options: &options,
            gradients: true,
            kept_on: None,
            monitor: &Monitor::default(),
        };
        let short = noisyor::estep::EStep::run(&mut CpuEStep::new(), &work, None).unwrap();
        assert_close(&name, short.elbo_sum, whole.elbo[0], 1e-3);
        for (a, b) in short.edge.iter().zip(&whole.stats.edge) {
            assert_close(&name, *a, *b, 2e-2);
        }
    }
}

#[test]
fn bounds_stay_below_the_likelihood_of_what_is_known() {
    for (name, network, hidden) in cases(80, 0.4) {
        let monitor = Monitor::default();
        let exact = log_likelihood_of(&network.graph, &network.weights, &hidden.docs(), &monitor).unwrap()[0];
        let without = likelihood(&hidden.without, std::slice::from_ref(&hidden.present))[0];
        assert_close(&name, exact, without, 1e-9);
        for bound in [Bound::Local, Bound::Tail, Bound::Full] {
            let (here, _) = hidden.run(&network, &EStepOptions { bound, ..EStepOptions::default() });
            assert!(here.elbo[0] <= exact + F32_BOUND * (1.0 + exact.abs()), "{name} {bound}");
        }
        let options = likelihood::Options { samples: 50, ..likelihood::Options::default() };
        let estimates =
            likelihood::estimate(&network, hidden.docs(), &options, &mut CpuEStep::new(), &monitor).unwrap();
        let estimate = estimates.doc(0);
        assert!((estimate.log_p - exact).abs() < 6.0 * estimate.se + 0.02, "{name}: {estimate:?}, {exact}");
    }
}

#[test]
fn training_learns_from_what_is_known() {
    // Each token is unknown in half of the documents: to count it as absent would halve its probability.
    let network = network_of(1, 2, &[(0, 1, 2.0), (0, 2, 1.0)], vec![0.7, 0.05, 0.3]);
    let rng = &mut rng(3);
    let mut corpus = Corpus::default();
    corpus.set_token_names(&network.names.tokens);
    for _ in 0..4000 {
        let on = rng.random_bool(0.5);
        let is_there = [if on { 0.85 } else { 0.05 }, if on { 0.7 } else { 0.3 }].map(|p| rng.random_bool(p));
        let is_known = [rng.random_bool(0.5), rng.random_bool(0.5)];
        let of = |known: bool, there: bool| {
            (0..2u32)
                .filter(|&t| is_known[t as usize] == known && (!known || is_there[t as usize] == there))
                .collect()
        };
        let mut unknown = Others { tokens: of(false, false), rest_unknown: false };
        corpus.push_state(&mut of(true, true), &mut unknown, "", "").unwrap();
    }
    let alignment = align(&corpus, &network.names.tokens);
    let options = TrainOptions { valid: 0.0, epochs: 200, ..TrainOptions::default() }.check().unwrap();
    let begin = Begin::New(&network.graph, None);
    let trained = train(
        begin,
        alignment.docs(&corpus),
        &options,
        &mut CpuEStep::new(),
        &Monitor::default(),
        &mut |_| Ok(()),
    )
    .unwrap();
    let weights = &trained.weights;
    let pi = -(-weights.leak[0]).exp_m1();
    for (token, share) in [(0, 0.5 * 0.85 + 0.5 * 0.05), (1, 0.5 * 0.7 + 0.5 * 0.3)] {
        let off = |w: f64| (-weights.leak[1 + token] - w).exp();
        let marginal = 1.0 - pi * off(weights.edge[token]) - (1.0 - pi) * off(0.0);
        assert_close(&format!("token {token}"), marginal, share, 0.05);
    }
}
