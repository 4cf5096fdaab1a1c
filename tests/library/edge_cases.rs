//! Networks, documents and corpora at the edges of what is allowed, each against an answer known beforehand.

#![allow(clippy::unwrap_used)]

use crate::common::*;
use noisyor::corpus::{Corpus, Item, align};
use noisyor::estep::cpu::CpuEStep;
use noisyor::estep::cpu::Probe;
use noisyor::estep::{Bound, EStep, EStepOptions, Monitor, Params, Work};
use noisyor::network::{Network, Weights};
use noisyor::numeric::f64::{beta, log1mexp, softplus};
use noisyor::train::{BatchSize, Begin, Ended, Outcome, StepRule, TrainOptions, train};
use noisyor::{Error, Result, exact, infer};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const BOUNDS: [Bound; 3] = [Bound::Local, Bound::Tail, Bound::Full];

fn elbo(network: &Network, tokens: &[u32], bound: Bound) -> f64 {
    run_docs(network, &[tokens.to_vec()], &EStepOptions { bound, ..EStepOptions::default() }).elbo[0]
}

fn likelihood(network: &Network, tokens: &[u32]) -> f64 {
    let docs = [tokens.to_vec()];
    exact::log_likelihood(&network.graph, &network.weights, &docs, &Monitor::default()).unwrap()[0]
}

/// Where 20 alternations of the fast path end, its bound and sums are the oracle's.
fn assert_oracles_answer(network: &Network, tokens: &[u32], bound: Bound) {
    let (corpus, alignment) = corpus_of(network, [tokens.to_vec()]);
    let params = Params::derive(&network.graph, &network.weights, bound).unwrap();
    let mut probe = Probe::new(&network.graph, &alignment.docs(&corpus), 0, bound, &params);
    alternate(&mut probe, 20);
    assert_oracle(&format!("{tokens:?} {bound}"), &probe, network, tokens, bound);
}

/// Full-batch EM without a penalty and without validation.
fn em(epochs: u32) -> TrainOptions {
    let step = StepRule::Em { lambda: 0.0 };
    TrainOptions { step, epochs, batch: BatchSize::Full, valid: 0.0, ..TrainOptions::default() }
}

fn train_on(network: &Network, docs: &[Vec<u32>], options: TrainOptions) -> Result<Outcome> {
    let (corpus, alignment) = corpus_of(network, docs.to_vec());
    let (options, monitor) = (options.check()?, Monitor::default());
    let docs = alignment.docs(&corpus);
    train(Begin::New(&network.graph, None), docs, &options, &mut CpuEStep::new(), &monitor, &mut |_| Ok(()))
}

fn assert_finite(weights: &Weights) {
    assert!(weights.leak.iter().chain(&weights.edge).all(|w| w.is_finite() && *w > 0.0));
}

// Documents.

#[test]
fn an_empty_document_has_a_known_bound() {
    for (seed, network, _) in random_cases(50, 12, 15) {
        let all_leaks: f64 = network.weights.leak.iter().sum();
        let tail = oracle(&network, &[]).tail(&vec![false; network.graph.n_topics()]);
        assert_close(&format!("seed {seed}: local"), elbo(&network, &[], Bound::Local), -all_leaks, F64);
        assert_close(&format!("seed {seed}: tail"), elbo(&network, &[], Bound::Tail), tail - all_leaks, F64);
        assert_oracles_answer(&network, &[], Bound::Full);
    }
}

#[test]
fn a_document_with_every_token_has_the_oracles_bound() {
    for (_, network, docs) in random_cases(50, 12, 15) {
        assert_eq!(docs[1].len(), network.graph.n_tokens());
        BOUNDS.into_iter().for_each(|bound| assert_oracles_answer(&network, &docs[1], bound));
    }
}

#[test]
fn under_one_topic_the_bound_is_the_likelihood() {
    // One topic is all of the posterior: mean field is exact, and r = 1.
    let edges: Vec<(u32, u32, f64)> = (1..7).map(|token| (0, token, 0.3 * f64::from(token))).collect();
    let network = network_of(1, 6, &edges, vec![0.2, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06]);
    for tokens in [&[][..], &[0], &[5], &[1, 3, 4], &[0, 1, 2, 3, 4, 5]] {
        let exact = likelihood(&network, tokens);
        assert_close("full", elbo(&network, tokens, Bound::Full), exact, F32_BOUND);
        assert_close("tail", elbo(&network, tokens, Bound::Tail), exact, F32_BOUND);
    }
}

#[test]
fn tokens_that_the_model_does_not_know_are_left_out_and_counted() {
    let network = network_of(1, 2, &[(0, 1, 1.0), (0, 2, 0.5)], vec![0.1; 3]);
    let options = EStepOptions::default();
    let run = |corpus: &Corpus| {
        let alignment = align(corpus, &network.names.tokens);
        let items = Item::each(&(0..corpus.n_docs() as u32).collect::<Vec<_>>());
        let elbo = run_items(&network, alignment.docs(corpus), &items, &options).elbo;
        (elbo, alignment.n_unknown, alignment.unknown_example)
    };
    let known = run_docs(&network, &[vec![1], vec![], vec![0, 1]], &options).elbo;
    let by_number = Corpus::from_tokens([vec![1, 7], vec![9], vec![0, 1]]);
    assert_eq!(run(&by_number), (known.clone(), 2, Some("number 7".into())));
    // By name, in another order than the model's.
    let mut by_name = Corpus::from_tokens([vec![0, 1], vec![1], vec![0, 2]]);
    by_name.set_token_names(["w1", "comet", "w0"]);
    let (elbo, n_unknown, example) = run(&by_name);
    assert_eq!((n_unknown, example), (2, Some("'comet'".into())));
    elbo.iter().zip(&known).for_each(|(got, want)| assert_close("by name", *got, *want, F32_BOUND));
}

#[test]
fn documents_that_differ_in_unknown_tokens_only_are_identical() {
    let network = network_of(0, 2, &[], vec![0.1; 2]);
    let (corpus, alignment) = corpus_of(&network, [vec![1, 5], vec![0], vec![1], vec![9], vec![]]);
    let item = |doc_ix, count| Item { doc_ix, count };
    let docs = alignment.docs(&corpus);
    assert_eq!(Item::shared(&docs, &[0, 1, 2, 3, 4]), [item(0, 2), item(1, 1), item(3, 2)]);
    assert_eq!(Item::shared(&docs, &[4, 2, 1]), [item(1, 1), item(2, 1), item(4, 1)]);
}

#[test]
fn an_active_token_without_a_parent_adds_its_log_odds() {
    let network = network_of(1, 3, &[(0, 1, 1.0)], vec![0.1, 0.2, 0.3, 1e-6]);
    for bound in BOUNDS {
        let empty = elbo(&network, &[], bound);
        assert_close("one", elbo(&network, &[1], bound), empty + beta(0.3), F32_BOUND);
        assert_close("two", elbo(&network, &[1, 2], bound), empty + beta(0.3) + beta(1e-6), F32_BOUND);
    }
}

// Topics and edges.

#[test]
fn topics_that_no_token_reaches_cost_their_leak_or_nothing() {
    // Topic 1 has no child; topic 2 causes only topic 3, which has none.
    let with =
        network_of(4, 2, &[(0, 4, 1.0), (0, 5, 0.5), (2, 3, 0.8)], vec![0.1, 0.2, 0.3, 0.4, 0.05, 0.06]);
    let without = network_of(1, 2, &[(0, 1, 1.0), (0, 2, 0.5)], vec![0.1, 0.05, 0.06]);
    for tokens in [&[][..], &[0], &[0, 1]] {
        let difference = |bound| elbo(&with, tokens, bound) - elbo(&without, tokens, bound);
        assert_close("local", difference(Bound::Local), -0.2 - 0.3 - 0.4, F32_BOUND);
        // A childless topic sums to one: -w0 + log(1 + exp(beta)) = 0.
        assert_close("tail", difference(Bound::Tail), -0.3 + softplus(beta(0.3) - 0.8), F32_BOUND);
        assert!((difference(Bound::Tail)..=F32_BOUND).contains(&difference(Bound::Full)), "full");
        assert_close("exact", likelihood(&with, tokens), likelihood(&without, tokens), F64);
    }
}

#[test]
fn em_leaves_a_topic_without_children_alone() {
    let network = network_of(2, 2, &[(0, 2, 1.0), (0, 3, 1.0)], vec![0.1; 4]);
    let docs = [vec![0], vec![1], vec![0, 1], vec![]];
    let weights = train_on(&network, &docs, em(10)).unwrap().weights;
    // It starts at 0.05, and every leak explains itself: L = D q0 / (1 - exp(-w0)) = D.
    assert_close("its leak", weights.leak[1], 0.05, F32_SUMS);
}

/// `degree` topics over one token.
fn star(degree: usize) -> Network {
    let rng = &mut ChaCha8Rng::seed_from_u64(degree as u64);
    let edges: Vec<_> = (0..degree as u32)
        .map(|topic| (topic, degree as u32, 10f64.powf(rng.random_range(-2.0..0.5))))
        .collect();
    let mut leak: Vec<f64> = (0..degree).map(|_| rng.random_range(0.001..0.02)).collect();
    leak.push(0.001);
    let mut network = network_of(degree, 1, &edges, leak);
    network.weights.round_to_f32();
    network
}

#[test]
fn nodes_of_in_degree_1_and_500_have_the_oracles_bound() {
    for degree in [1, 2, 500] {
        let network = star(degree);
        for bound in BOUNDS {
            assert_oracles_answer(&network, &[0], bound);
            assert_oracles_answer(&network, &[], bound);
        }
        // By hand: the token is off with exp(-w0) prod_k (1 - p_k (1 - exp(-w_k))), p_k = 1 - exp(-w0_k).
        let Weights { leak, edge } = &network.weights;
        let off: f64 =
            edge.iter().zip(leak).map(|(w, leak)| (-leak).exp_m1() * -(-w).exp_m1()).map(f64::ln_1p).sum();
        let (off, degree_bound) = (off - leak[degree], elbo(&network, &[0], Bound::Full));
        assert!(
            degree_bound <= log1mexp(-off) + F32_BOUND,
            "{degree}: {degree_bound} above {}",
            log1mexp(-off)
        );
        if degree == 1 {
            assert_close("exact", degree_bound, log1mexp(-off), F32_BOUND);
        }
    }
}

#[test]
fn weights_at_the_floor_leave_a_network_of_leaks() {
    const FLOOR: f64 = 1e-5;
    for seed in 0..20 {
        let mut network = random_network(seed, 10, 12);
        network.weights.edge.fill(f64::from(FLOOR as f32));
        network.weights.leak.fill(f64::from(FLOOR as f32));
        for mut tokens in random_docs(&network, seed, 2) {
            tokens.truncate(4);
            // Leaks alone: tokens are on with probability 1e-5 each, topics do next to nothing.
            let leaks = tokens.len() as f64 * log1mexp(FLOOR);
            let exact = likelihood(&network, &tokens);
            assert!((exact - leaks).abs() < AT_FLOOR, "seed {seed}: {exact}, leaks {leaks}");
            for bound in BOUNDS {
                assert_oracles_answer(&network, &tokens, bound);
                let got = elbo(&network, &tokens, bound);
                let rounding = F32_BOUND * (1.0 + exact.abs());
                assert!(
                    got <= exact + rounding && got > exact - AT_FLOOR,
                    "seed {seed} {bound}: {got}, {exact}"
                );
            }
        }
    }
}

#[test]
fn without_edges_every_token_stands_alone() {
    let network = network_of(3, 3, &[], vec![0.5, 0.6, 0.7, 0.1, 0.2, 0.3]);
    for (tokens, tail) in [(&[][..], -0.6), (&[0, 2], log1mexp(0.1) - 0.2 + log1mexp(0.3))] {
        assert_close("tail", elbo(&network, tokens, Bound::Tail), tail, F32_BOUND);
        assert_close("full", elbo(&network, tokens, Bound::Full), tail, F32_BOUND);
        assert_close("exact", likelihood(&network, tokens), tail, F64);
        // The paper's local bound has the three topics off.
        assert_close("local", elbo(&network, tokens, Bound::Local), tail - 0.5 - 0.6 - 0.7, F32_BOUND);
    }
    assert_finite(&train_on(&network, &[vec![0], vec![1, 2]], em(5)).unwrap().weights);
}

#[test]
fn without_topics_em_finds_the_frequencies() {
    let network = network_of(0, 3, &[], vec![0.1, 0.2, 0.3]);
    for bound in BOUNDS {
        assert_close("bound", elbo(&network, &[1], bound), -0.4 + log1mexp(0.2), F32_BOUND);
    }
    assert_close("exact", likelihood(&network, &[1]), -0.4 + log1mexp(0.2), F64);
    // Token 0 is in a quarter, token 1 in half, token 2 in none of the documents.
    let docs = [vec![0, 1], vec![1], vec![], vec![]];
    let weights = train_on(&network, &docs, em(200)).unwrap().weights;
    assert_close("a quarter", weights.leak[0], -(0.75f64.ln()), F32_SUMS);
    assert_close("a half", weights.leak[1], -(0.5f64.ln()), F32_SUMS);
    assert_eq!(weights.leak[2], f64::from(1e-5f32), "never seen: the floor");
}

#[test]
fn without_tokens_every_document_is_empty() {
    let network = network_of(2, 0, &[(0, 1, 1.0)], vec![0.1, 0.2]);
    // Topic 1 sums to one; topic 0 then adds -w0 + log(1 + exp(beta - w)).
    let tail = -0.1 + softplus(beta(0.1) - 1.0);
    for tokens in [&[][..], &[3]] {
        assert_close("local", elbo(&network, tokens, Bound::Local), -0.3, F64);
        assert_close("tail", elbo(&network, tokens, Bound::Tail), tail, F64);
    }
    assert_close("exact", likelihood(&network, &[]), 0.0, F64);
    assert_finite(&train_on(&network, &[vec![], vec![3]], em(3)).unwrap().weights);
    let nothing = network_of(0, 0, &[], vec![]);
    BOUNDS.into_iter().for_each(|bound| assert_eq!(elbo(&nothing, &[], bound), 0.0));
}

/// 200 layers of 15 topics, each topic over three of the next layer and one further below.
fn deep() -> Network {
    const WIDTH: u32 = 15;
    const DEPTH: u32 = 200;
    const TOPICS: u32 = WIDTH * DEPTH;
    let rng = &mut ChaCha8Rng::seed_from_u64(0);
    let mut edges = Vec::new();
    for topic in 0..TOPICS {
        let (layer, place) = (topic / WIDTH, topic % WIDTH);
        for step in 0..3 {
            edges.push((topic, (layer + 1) * WIDTH + (place + step) % WIDTH, rng.random_range(0.05..0.5)));
        }
        let skip = (layer + rng.random_range(2..20)) * WIDTH + place;
        if skip < TOPICS {
            edges.push((topic, skip, rng.random_range(0.05..0.5)));
        }
    }
    let leak = (0..TOPICS + WIDTH).map(|_| 10f64.powf(rng.random_range(-4.0..-2.0))).collect();
    let mut network = network_of(TOPICS as usize, WIDTH as usize, &edges, leak);
    network.weights.round_to_f32();
    network
}

#[test]
fn three_thousand_topics_in_two_hundred_layers() {
    let network = deep();
    for bound in BOUNDS {
        assert_oracles_answer(&network, &[3], bound);
        assert_oracles_answer(&network, &(0..15).collect::<Vec<_>>(), bound);
    }
    let empty = elbo(&network, &[], Bound::Local);
    assert_close("empty", empty, -network.weights.leak.iter().sum::<f64>(), F64);
    // Thirty such documents are packed in several parts.
    let docs: Vec<Vec<u32>> = (0..30).map(|doc| vec![doc % 15, (doc + 1) % 15]).collect();
    let ran = run_docs(&network, &docs, &EStepOptions::default());
    assert_eq!(ran.elbo[22], elbo(&network, &docs[22], Bound::Tail));
    let outcome = train_on(&network, &docs, em(2)).unwrap();
    assert_eq!(outcome.ended, Ended::Finished);
    assert_finite(&outcome.weights);
}

// Corpora.

#[test]
fn a_token_in_every_document_is_explained_by_leak_and_topics() {
    let network = network_of(1, 2, &[(0, 1, 1.0), (0, 2, 1.0)], vec![0.1; 3]);
    let docs: Vec<Vec<u32>> = (0..200).map(|doc| if doc % 2 == 0 { vec![0, 1] } else { vec![0] }).collect();
    let Weights { leak, edge } = train_on(&network, &docs, em(200)).unwrap().weights;
    let off = (-leak[1]).exp() * ((-leak[0]).exp() + (1.0 - (-leak[0]).exp()) * (-edge[0]).exp());
    assert!(off < 0.02, "the token is off with probability {off}");
}

#[test]
fn the_leak_of_a_token_in_every_document_grows_up_to_the_cap() {
    let network = network_of(0, 1, &[], vec![0.1]);
    let docs = vec![vec![0]; 50];
    // Every step is w0 <- w0 / (1 - exp(-w0)), from -log(1 - 1/2): growth slows down as exp(-w0).
    let mut leak = 2f64.ln();
    for epochs in 1..20 {
        leak /= -(-leak).exp_m1();
        let got = train_on(&network, &docs, em(epochs)).unwrap().weights.leak[0];
        assert_close(&format!("after {epochs} steps"), got, leak, F32_SUMS);
    }
    let capped = train_on(&network, &docs, TrainOptions { cap: 3.0, ..em(60) }).unwrap().weights;
    assert_eq!(capped.leak[0], 3.0);
}

#[test]
fn an_empty_corpus_cannot_be_trained_on_but_inferred() {
    let network = random_network(1, 5, 6);
    let result = train_on(&network, &[], em(3));
    assert!(matches!(result, Err(Error::Usage(message)) if message.contains("no documents")));
    let (corpus, alignment) = corpus_of(&network, []);
    let (docs, monitor) = (alignment.docs(&corpus), Monitor::default());
    let mut calls = 0;
    let mut sink = |_: &noisyor::estep::DocResults<'_>| {
        calls += 1;
        Ok(())
    };
    let options = EStepOptions::default();
    let (stats, _) =
        infer::run(&network, docs, &[], &options, &mut CpuEStep::new(), &monitor, Some(&mut sink)).unwrap();
    assert_eq!((stats.n_docs, stats.elbo_mean(), calls), (0.0, 0.0, 0));
    assert!(exact::log_likelihood(&network.graph, &network.weights, &[], &monitor).unwrap().is_empty());
}

#[test]
fn one_document_is_trained_on_and_not_held_out() {
    let network = network_of(2, 3, &[(0, 2, 1.0), (0, 3, 1.0), (1, 3, 1.0), (1, 4, 1.0)], vec![0.1; 5]);
    let outcome = train_on(&network, &[vec![0, 2]], TrainOptions { valid: 0.1, ..em(100) }).unwrap();
    assert_eq!(outcome.ended, Ended::Finished);
    assert_finite(&outcome.weights);
    // A network can make one document all but certain.
    let trained = Network { weights: outcome.weights, ..network };
    assert!(likelihood(&trained, &[0, 2]) > -0.1, "{}", likelihood(&trained, &[0, 2]));
}

#[test]
fn a_document_repeated_a_thousand_times_trains_as_one() {
    for seed in 0..10 {
        let network = random_network(seed, 8, 10);
        let doc = random_docs(&network, seed, 1)[2].clone();
        let estep = EStepOptions { tolerance: 0.0, max_alternations: 15, ..EStepOptions::default() };
        let train = |times| {
            let options = TrainOptions { estep: estep.clone(), ..em(3) };
            train_on(&network, &vec![doc.clone(); times], options).unwrap().weights
        };
        let (one, thousand) = (train(1), train(1000));
        for (a, b) in one.leak.iter().chain(&one.edge).zip(thousand.leak.iter().chain(&thousand.edge)) {
            assert_close(&format!("seed {seed}"), *b, *a, F32_SUMS);
        }
    }
}

#[test]
fn a_repeated_document_is_run_once_and_counted_often() {
    let network = random_network(3, 8, 10);
    let (corpus, alignment) = corpus_of(&network, vec![vec![0]; 1000]);
    let docs = alignment.docs(&corpus);
    let all: Vec<u32> = (0..1000).collect();
    let items = Item::shared(&docs, &all);
    assert_eq!(items, [Item { doc_ix: 0, count: 1000 }]);
    let options = EStepOptions::default();
    let params = Params::derive(&network.graph, &network.weights, options.bound).unwrap();
    let monitor = &Monitor::default();
    let work = Work {
        graph: &network.graph,
        params: &params,
        docs,
        items: &items,
        options: &options,
        gradients: false,
        kept_on: None,
        monitor,
    };
    let stats = CpuEStep::new().run(&work, None).unwrap();
    assert_eq!((stats.n_items, stats.n_docs), (1, 1000.0));
    assert_close("mean", stats.elbo_mean(), elbo(&network, &[0], Bound::Tail), F64);
}

// The exact likelihood.

#[test]
fn the_exact_likelihood_is_refused_above_22_topics() {
    let without_edges = |n_topics: usize| network_of(n_topics, 1, &[], vec![0.1; n_topics + 1]);
    assert_close("22 topics", likelihood(&without_edges(22), &[0]), log1mexp(0.1), F64);
    let network = without_edges(23);
    let result = exact::log_likelihood(&network.graph, &network.weights, &[vec![0]], &Monitor::default());
    assert!(matches!(result, Err(Error::Usage(message)) if message.contains("at most 22 topics")));
}
