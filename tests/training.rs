//! Training: the same result everywhere, the right result where it is known, and honest endings.

#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use noisyor::corpus::{Alignment, Corpus, Item, split, token_frequency};
use noisyor::estep::cpu::CpuEStep;
use noisyor::estep::{Bound, EStep, EStepOptions, Monitor, Params, Stats, Work};
use noisyor::network::{MAX_WEIGHT, Network, Weights, initial_weights};
use noisyor::rng::{Stream, rng};
use noisyor::synth::{Preset, Sampler};
use noisyor::train::{
    BatchSize, Ended, Event, Metrics, Outcome, RateSchedule, StepRule, Stepper, TrainOptions, train,
};
use noisyor::{Error, Result, synth};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::atomic::Ordering;

const EM: StepRule = StepRule::Em { lambda: 1.0 };
const PAPER: StepRule = StepRule::Paper { rate: 0.001, c: 1000.0, schedule: RateSchedule::Power };
const ADAM: StepRule = StepRule::Adam { rate: 0.02, schedule: RateSchedule::Cosine };

/// A network and documents sampled from it.
struct Data {
    network: Network,
    corpus: Corpus,
    alignment: Alignment,
}

impl Data {
    fn sampled(network: Network, n_docs: u64) -> Self {
        let sampler = Sampler::new(&network);
        let docs: Vec<Vec<u32>> = (0..n_docs).map(|doc| sampler.sample(7, doc).tokens).collect();
        let (corpus, alignment) = corpus_of(&network, docs);
        Self { network, corpus, alignment }
    }

    /// A small network of three layers.
    fn tiny(n_docs: u64) -> Self {
        Self::sampled(synth::random_network(&Preset::of("tiny").unwrap(), 3).unwrap(), n_docs)
    }

    fn train_on(
        &self,
        options: TrainOptions,
        monitor: &Monitor,
        on_event: &mut dyn FnMut(&Event<'_>) -> Result<()>,
    ) -> Result<Outcome> {
        let (graph, docs) = (&self.network.graph, self.alignment.docs(&self.corpus));
        train(graph, docs, &options.check().unwrap(), &mut CpuEStep::new(), monitor, on_event)
    }

    fn train(&self, options: TrainOptions) -> Outcome {
        self.train_on(options, &Monitor::default(), &mut |_| Ok(())).unwrap()
    }

    /// The outcome, and every evaluation with its weights and whether it was the best.
    fn evaluations(&self, options: TrainOptions) -> (Outcome, Vec<(Metrics, Weights, bool)>) {
        let mut seen = Vec::new();
        let mut on_event = |event: &Event<'_>| {
            if let Event::Evaluated { metrics, best, weights } = event {
                seen.push(((*metrics).clone(), (*weights).clone(), *best));
            }
            Ok(())
        };
        let outcome = self.train_on(options, &Monitor::default(), &mut on_event).unwrap();
        (outcome, seen)
    }

    /// The weights that training starts from.
    fn start(&self, options: &TrainOptions) -> Weights {
        let docs = self.alignment.docs(&self.corpus);
        let (rest, _) = split(docs.n_docs(), options.valid, options.seed);
        let frequency = token_frequency(&docs, &rest, self.network.graph.n_tokens());
        let floor = options.floor.min(0.1 / rest.len() as f64);
        initial_weights(
            &self.network.graph,
            options.init,
            &frequency,
            floor,
            &mut rng(options.seed, Stream::Init),
        )
    }

    fn stats(&self, weights: &Weights, doc_ixs: &[u32], options: &EStepOptions) -> Stats {
        let params = Params::derive(&self.network.graph, weights, options.bound).unwrap();
        let work = Work {
            graph: &self.network.graph,
            docs: self.alignment.docs(&self.corpus),
            items: &Item::each(doc_ixs),
            options,
            gradients: true,
            monitor: &Monitor::default(),
        };
        let mut stats = CpuEStep::new().run(&work, &params, None).unwrap();
        stats.add_tail(&params);
        stats
    }
}

fn options(step: StepRule, batch: BatchSize, epochs: u32) -> TrainOptions {
    TrainOptions { step, batch, epochs, ..TrainOptions::default() }
}

fn bits(weights: &Weights) -> Vec<u64> {
    weights.leak.iter().chain(&weights.edge).map(|w| w.to_bits()).collect()
}

fn on_threads<T: Send>(n_threads: usize, run: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap().install(run)
}

// The same seed.

#[test]
fn the_same_seed_gives_the_same_bits_on_1_2_and_8_threads() {
    // More documents than one round of one thread takes.
    let data = Data::tiny(3_000);
    for step in [EM, PAPER, ADAM] {
        for batch in [BatchSize::Full, BatchSize::Docs(500)] {
            let run = |n_threads| {
                let outcome = on_threads(n_threads, || data.train(options(step, batch, 3)));
                (bits(&outcome.weights), outcome.metrics.unwrap().valid_elbo.unwrap().to_bits())
            };
            let one = run(1);
            assert_eq!(one, run(2), "{step:?} {batch:?}: 2 threads");
            assert_eq!(one, run(8), "{step:?} {batch:?}: 8 threads");
            let other = data.train(TrainOptions { seed: 1, ..options(step, batch, 3) });
            assert_ne!(one.0, bits(&other.weights), "{step:?} {batch:?}: another seed");
        }
    }
}

#[test]
fn identical_documents_may_share_an_e_step() {
    let data = Data::tiny(1_000);
    // A fixed number of alternations: rounding must not decide when a document stops.
    let estep = EStepOptions { tolerance: 0.0, max_alternations: 15, ..EStepOptions::default() };
    for batch in [BatchSize::Full, BatchSize::Docs(200)] {
        let run = |share_identical| {
            let estep = estep.clone();
            data.train(TrainOptions { share_identical, estep, valid: 0.0, ..options(EM, batch, 2) }).weights
        };
        let (shared, apart) = (run(true), run(false));
        assert_ne!(shared, data.start(&options(EM, batch, 2)));
        for (a, b) in shared.edge.iter().chain(&shared.leak).zip(apart.edge.iter().chain(&apart.leak)) {
            assert_close(&format!("{batch:?}"), *a, *b, F32_SUMS);
        }
    }
}

// The right weights.

/// Six topics with eight tokens of their own each, and four tokens that two topics share.
fn nearly_disjoint() -> Network {
    const TOPICS: usize = 6;
    const OWN: usize = 8;
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let mut edges = Vec::new();
    for token in 0..TOPICS * OWN {
        edges.push(((token / OWN) as u32, (TOPICS + token) as u32, rng.random_range(0.5..2.5)));
    }
    for shared in 0..4 {
        let token = (TOPICS + TOPICS * OWN + shared) as u32;
        edges.extend([shared, shared + 1].map(|topic| (topic as u32, token, rng.random_range(0.5..2.0))));
    }
    let n_tokens = TOPICS * OWN + 4;
    let mut leak: Vec<f64> = (0..TOPICS).map(|_| rng.random_range(0.1..0.3)).collect();
    leak.extend((0..n_tokens).map(|_| rng.random_range(0.005..0.05)));
    network_of(TOPICS, n_tokens, &edges, leak)
}

/// Mean and maximum of the absolute differences.
fn errors(got: &[f64], want: &[f64]) -> (f64, f64) {
    let errors = got.iter().zip(want).map(|(got, want)| (got - want).abs());
    (errors.clone().sum::<f64>() / got.len() as f64, errors.fold(0.0, f64::max))
}

#[test]
fn training_recovers_the_weights_that_documents_were_sampled_from() {
    let data = Data::sampled(nearly_disjoint(), 20_000);
    let n_topics = data.network.graph.n_topics();
    for (batch, epochs) in [(BatchSize::Full, 60), (BatchSize::Auto, 40)] {
        let step = StepRule::Em { lambda: 0.0 };
        let got = data.train(TrainOptions { valid: 0.0, ..options(step, batch, epochs) }).weights;
        let want = &data.network.weights;
        let edge = errors(&got.edge, &want.edge);
        let topic = errors(&got.leak[..n_topics], &want.leak[..n_topics]);
        let token = errors(&got.leak[n_topics..], &want.leak[n_topics..]);
        println!(
            "{batch:?}: (mean, maximum) error of edges {edge:?}, topic leaks {topic:?}, token leaks {token:?}"
        );
        for (what, got, most) in [
            ("edges", edge, RECOVERED_EDGES),
            ("topic leaks", topic, RECOVERED_TOPIC_LEAKS),
            ("token leaks", token, RECOVERED_TOKEN_LEAKS),
        ] {
            assert!(got.0 < most.0 && got.1 < most.1, "{batch:?}: {what} {got:?}");
        }
    }
}

#[test]
fn every_step_raises_the_held_out_bound() {
    let data = Data::tiny(3_000);
    for step in [EM, PAPER, ADAM] {
        for batch in [BatchSize::Full, BatchSize::Auto] {
            let options = options(step, batch, 15);
            let outcome = data.train(options.clone());
            let before = data.stats(&data.start(&options), &outcome.valid, &options.estep).elbo_mean();
            let after = data.stats(&outcome.weights, &outcome.valid, &options.estep).elbo_mean();
            assert!(after > before + 0.1, "{step:?} {batch:?}: from {before} to {after}");
        }
    }
}

// Evaluation, early stopping and other endings.

#[test]
fn metrics_are_what_they_are_documented_to_be() {
    let data = Data::tiny(1_500);
    let options = TrainOptions { eval_every: 2, ..options(EM, BatchSize::Docs(270), 5) };
    let (outcome, seen) = data.evaluations(options.clone());
    // 1,350 training documents make 5 batches an epoch.
    let steps: Vec<(u64, f64)> = seen.iter().map(|(metrics, ..)| (metrics.step, metrics.epoch)).collect();
    assert_eq!(steps, [(10, 2.0), (20, 4.0), (25, 5.0)]);
    assert_eq!((outcome.ended, outcome.valid.len()), (Ended::Finished, 150));
    let mut seconds = 0.0;
    for (metrics, weights, _) in &seen {
        let valid = data.stats(weights, &outcome.valid, &options.estep).elbo_mean();
        assert_close("the validation bound", metrics.valid_elbo.unwrap(), valid, F64);
        assert_eq!(metrics.bound, Bound::Tail);
        assert!(metrics.docs_per_s > 0.0 && metrics.edges_per_s > metrics.docs_per_s);
        assert!(metrics.seconds >= seconds);
        seconds = metrics.seconds;
    }
}

#[test]
fn the_training_bound_is_that_of_the_weights_before_each_step() {
    let data = Data::tiny(600);
    let options = options(EM, BatchSize::Full, 3);
    let (rest, _) = split(600, options.valid, options.seed);
    let mut weights = data.start(&options);
    for (metrics, after, _) in data.evaluations(options.clone()).1 {
        let bound = data.stats(&weights, &rest, &options.estep).elbo_mean();
        assert_close("the training bound", metrics.train_elbo.unwrap(), bound, F64);
        weights = after;
    }
}

#[test]
fn the_training_bound_of_an_epoch_is_the_mean_over_its_batches() {
    const BATCHES: u64 = 3;
    let data = Data::tiny(600);
    let options = TrainOptions { valid: 0.0, ..options(EM, BatchSize::Docs(200), 1) };
    let mut order: Vec<u32> = (0..600).collect();
    order.shuffle(&mut rng(options.seed, Stream::Shuffle(0)));
    let mut total = 0.0;
    for (step, docs) in (0..BATCHES).zip(order.chunks(200)) {
        let stop_there = TrainOptions { max_steps: Some(step), ..options.clone() };
        let weights = if step == 0 { data.start(&options) } else { data.train(stop_there).weights };
        total += data.stats(&weights, docs, &options.estep).elbo_sum;
    }
    let (_, seen) = data.evaluations(options);
    assert_eq!((seen.len(), seen[0].0.step), (1, BATCHES));
    assert_close("the training bound", seen[0].0.train_elbo.unwrap(), total / 600.0, F64);
}

#[test]
fn early_stopping_keeps_the_best_weights() {
    // Few documents and no penalty: the validation bound soon falls.
    let data = Data::tiny(120);
    let options = TrainOptions {
        valid: 0.4,
        patience: 3,
        ..options(StepRule::Em { lambda: 0.0 }, BatchSize::Full, 300)
    };
    let (outcome, seen) = data.evaluations(options);
    assert_eq!(outcome.ended, Ended::EarlyStop);
    let valid: Vec<f64> = seen.iter().map(|(metrics, ..)| metrics.valid_elbo.unwrap()).collect();
    let best = (0..seen.len()).max_by(|&a, &b| valid[a].total_cmp(&valid[b])).unwrap();
    assert!(best + 1 < seen.len(), "the last evaluation is the best: nothing to see");
    assert_eq!(outcome.weights, seen[best].1);
    assert_eq!(outcome.metrics.as_ref(), Some(&seen[best].0));
    for (at, (.., is_best)) in seen.iter().enumerate() {
        assert_eq!(*is_best, valid[..at].iter().all(|&before| before < valid[at]), "evaluation {at}");
    }
    // Patience counts evaluations that do not gain a thousandth of a nat on the best before them.
    let gains =
        |at: &usize| valid[*at] > valid[..*at].iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b)) + 1e-3;
    assert_eq!((0..seen.len()).rfind(gains).unwrap() + 3, seen.len() - 1);
}

#[test]
fn without_validation_the_last_weights_are_kept() {
    let data = Data::tiny(300);
    let options = TrainOptions { valid: 0.0, patience: 1, ..options(EM, BatchSize::Full, 6) };
    let (outcome, seen) = data.evaluations(options);
    assert_eq!((outcome.ended, seen.len(), outcome.valid.len()), (Ended::Finished, 6, 0));
    assert_eq!(outcome.weights, seen[5].1);
    assert_eq!(outcome.metrics.as_ref().map(|metrics| (metrics.step, metrics.valid_elbo)), Some((6, None)));
    assert!(seen.iter().all(|(metrics, _, best)| *best && metrics.train_elbo.is_some()));
}

#[test]
fn training_takes_no_more_steps_than_asked() {
    let data = Data::tiny(500);
    for (max_steps, steps) in [(1, vec![1]), (7, vec![5, 7]), (10, vec![5, 10]), (99, vec![5, 10, 15])] {
        let options = TrainOptions { max_steps: Some(max_steps), ..options(EM, BatchSize::Docs(90), 3) };
        let (outcome, seen) = data.evaluations(options);
        assert_eq!(outcome.ended, Ended::Finished);
        assert_eq!(
            seen.iter().map(|(metrics, ..)| metrics.step).collect::<Vec<_>>(),
            steps,
            "at most {max_steps}"
        );
    }
}

#[test]
fn evaluations_come_as_often_as_asked_and_at_the_end() {
    let data = Data::tiny(300);
    for (every, epochs) in [(1, vec![1.0, 2.0, 3.0, 4.0, 5.0]), (2, vec![2.0, 4.0, 5.0]), (9, vec![5.0])] {
        let options = TrainOptions { eval_every: every, patience: 0, ..options(EM, BatchSize::Docs(90), 5) };
        let (_, seen) = data.evaluations(options);
        assert_eq!(
            seen.iter().map(|(metrics, ..)| metrics.epoch).collect::<Vec<_>>(),
            epochs,
            "every {every}"
        );
    }
}

#[test]
fn the_start_is_announced_with_its_counts() {
    let data = Data::tiny(1_000);
    let mut announced = Vec::new();
    let mut on_event = |event: &Event<'_>| {
        if let Event::Started { n_train, n_valid, n_distinct, n_steps, n_batches, leak_floor } = *event {
            announced.push((n_train, n_valid, n_distinct < n_train, n_steps, n_batches, leak_floor));
        }
        Ok(())
    };
    let options = options(EM, BatchSize::Docs(300), 2);
    data.train_on(options, &Monitor::default(), &mut on_event).unwrap();
    assert_eq!(announced, [(900, 100, true, 6, 3, 1e-5)]);
}

#[test]
fn an_interrupt_ends_training_with_the_best_weights_so_far() {
    let data = Data::tiny(1_000);
    let monitor = Monitor::default();
    let (mut n_evaluations, mut kept) = (0, None);
    let mut on_event = |event: &Event<'_>| {
        if let Event::Evaluated { metrics, best, weights } = event {
            n_evaluations += 1;
            if *best {
                kept = Some(((*weights).clone(), (*metrics).clone()));
            }
            monitor.stop.store(metrics.epoch == 3.0, Ordering::Relaxed);
        }
        Ok(())
    };
    let outcome = data.train_on(options(EM, BatchSize::Auto, 50), &monitor, &mut on_event).unwrap();
    assert_eq!((outcome.ended, n_evaluations), (Ended::Interrupted, 3));
    assert_eq!(Some((outcome.weights, outcome.metrics.unwrap())), kept);
}

#[test]
fn an_interrupt_before_the_first_step_leaves_the_initial_weights() {
    let data = Data::tiny(300);
    let monitor = Monitor::default();
    let mut on_event = |_: &Event<'_>| {
        monitor.stop.store(true, Ordering::Relaxed);
        Ok(())
    };
    let options = options(EM, BatchSize::Auto, 5);
    let outcome = data.train_on(options.clone(), &monitor, &mut on_event).unwrap();
    assert_eq!((outcome.ended, outcome.metrics), (Ended::Interrupted, None));
    assert_eq!(outcome.weights, data.start(&options));
    assert!(outcome.weights.leak.iter().chain(&outcome.weights.edge).all(|w| w.is_finite() && *w > 0.0));
}

#[test]
fn a_failing_listener_ends_training_with_its_error() {
    let data = Data::tiny(300);
    let mut on_event = |event: &Event<'_>| match event {
        Event::Started { .. } => Ok(()),
        Event::Evaluated { .. } => Err(Error::Usage("the disk is full".into())),
    };
    let result = data.train_on(options(EM, BatchSize::Auto, 5), &Monitor::default(), &mut on_event);
    assert!(matches!(result, Err(Error::Usage(message)) if message == "the disk is full"));
}

// NaN and infinity.

fn numeric<T: std::fmt::Debug>(result: Result<T>) -> String {
    match result {
        Err(Error::Numeric(message)) => message,
        other => panic!("not a numeric error: {other:?}"),
    }
}

#[test]
fn an_absurd_rate_fails_in_the_first_step_and_names_the_weight() {
    let data = Data::tiny(300);
    let step = StepRule::Paper { rate: 1e200, c: 1e200, schedule: RateSchedule::Constant };
    let result = data.train_on(options(step, BatchSize::Full, 3), &Monitor::default(), &mut |_| Ok(()));
    let message = numeric(result);
    assert!(message.contains("the weight of edge ") && message.contains("after weight step 1:"), "{message}");
}

#[test]
fn sums_that_are_no_numbers_fail_in_the_same_step_and_name_the_weight() {
    let network = nearly_disjoint();
    for bad in [f64::NAN, f64::INFINITY] {
        for rule in [EM, PAPER, ADAM] {
            let mut stats = Stats::new(&network.graph, true);
            stats.n_docs = 2.0;
            stats.topic_q.fill(1.0);
            let step = |stats: &Stats| {
                let mut weights = network.weights.clone();
                let mut stepper = Stepper::new(rule, (1e-5, 1e-5, 20.0), 2, (1, 1));
                (stepper.step(&network.graph, &mut weights, stats), weights)
            };
            step(&stats).0.unwrap();
            let mut bad_leak = stats.clone();
            bad_leak.leak[3] = bad;
            let message = numeric(step(&bad_leak).0);
            assert!(message.starts_with("the leak of node 3 is "), "{rule:?}: {message}");
            stats.edge[2] = bad;
            let message = numeric(step(&stats).0);
            assert!(message.starts_with("the weight of edge 2 is "), "{rule:?}: {message}");
        }
    }
}

#[test]
fn weights_out_of_range_are_named() {
    let network = network_of(2, 2, &[(0, 2, 1.0), (1, 2, 1.0), (1, 3, 1.0)], vec![0.1; 4]);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, 2.0 * MAX_WEIGHT] {
        let derive = |change: &dyn Fn(&mut Weights)| {
            let mut weights = network.weights.clone();
            change(&mut weights);
            numeric(Params::derive(&network.graph, &weights, Bound::Tail))
        };
        let message = derive(&|weights| weights.leak[3] = bad);
        assert!(message.starts_with(&format!("the leak of 'node 3' is {bad}")), "{message}");
        let message = derive(&|weights| weights.edge[1] = bad);
        assert!(message.starts_with(&format!("the weight of 'node 1' -> 'node 2' is {bad}")), "{message}");
    }
}

#[test]
fn parameters_that_are_no_numbers_fail_at_the_document_they_touch() {
    // 0 -> 1 -> token 0 (node 3), 2 -> token 1 (node 4); document 1 is the only one to hold token 0.
    let network = network_of(3, 2, &[(0, 1, 1.0), (1, 3, 1.0), (2, 4, 1.0)], vec![0.1; 5]);
    let (corpus, alignment) = corpus_of(&network, [vec![1], vec![0], vec![1]]);
    let items = Item::each(&[2, 1, 0]);
    let run = |change: &dyn Fn(&mut Params)| {
        let options = EStepOptions::default();
        let mut params = Params::derive(&network.graph, &network.weights, options.bound).unwrap();
        change(&mut params);
        let (graph, docs, monitor) = (&network.graph, alignment.docs(&corpus), &Monitor::default());
        let work = Work { graph, docs, items: &items, options: &options, gradients: true, monitor };
        CpuEStep::new().run(&work, &params, None)
    };
    run(&|_| ()).unwrap();
    let edge_into = |node: usize| network.graph.edges_into(node).start;
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for node in [1, 3] {
            for message in [
                numeric(run(&|params| params.edge[edge_into(node)] = bad)),
                numeric(run(&|params| params.bias[node] = bad)),
                numeric(run(&|params| params.slope[node] = bad)),
            ] {
                assert!(
                    message.starts_with("the bound of document 1 is "),
                    "{bad} at node {node}: {message}"
                );
            }
        }
        numeric(run(&|params| params.constant = f64::from(bad)));
    }
}

// The weight step.

#[test]
fn one_batch_of_the_whole_corpus_is_a_full_batch() {
    let data = Data::tiny(500);
    let train = |batch| data.train(TrainOptions { valid: 0.0, ..options(EM, batch, 4) }).weights;
    assert_eq!(train(BatchSize::Docs(500)), train(BatchSize::Full));
    assert_ne!(train(BatchSize::Docs(100)), train(BatchSize::Full));
}

/// Random sums of a batch, as an E-step might give them.
fn random_stats(network: &Network, seed: u64, n_docs: f64) -> Stats {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let mut stats = Stats::new(&network.graph, true);
    stats.n_docs = n_docs;
    for sums in [&mut stats.edge, &mut stats.leak, &mut stats.topic_q] {
        sums.iter_mut().for_each(|sum| *sum = n_docs * rng.random_range(0.1..1.0));
    }
    stats
}

#[test]
fn stepwise_em_averages_counts() {
    const LAMBDA: f64 = 2.0;
    let network = nearly_disjoint();
    let (graph, start) = (&network.graph, &network.weights);
    let batches = [random_stats(&network, 1, 10.0), random_stats(&network, 2, 30.0)];
    let mut stepper = Stepper::new(StepRule::Em { lambda: LAMBDA }, (1e-5, 1e-5, 20.0), 40, (2, 2));
    let mut first = start.clone();
    stepper.advance(graph, &mut first, &batches[0]);
    let mut second = first.clone();
    stepper.advance(graph, &mut second, &batches[1]);
    // The second batch has weight (1 + 2)^-0.55; counts are per document.
    let new = 3f64.powf(-0.55);
    let mean = |a: f64, b: f64| (1.0 - new) * a / 10.0 + new * b / 30.0;
    for (edge, &parent) in graph.edge_parents().iter().enumerate() {
        let q = [0, 1].map(|batch| batches[batch].topic_q[parent as usize]);
        let n = [start.edge[edge] * batches[0].edge[edge], first.edge[edge] * batches[1].edge[edge]];
        assert_close("the first step", first.edge[edge], n[0] / (q[0] + LAMBDA * 10.0 / 40.0), F64);
        let want = mean(n[0], n[1]) / (mean(q[0], q[1]) + LAMBDA / 40.0);
        assert_close("the second step", second.edge[edge], want, F64);
    }
    for node in 0..graph.n_nodes() {
        let n = [start.leak[node] * batches[0].leak[node], first.leak[node] * batches[1].leak[node]];
        assert_close("the first leak", first.leak[node], n[0] / 10.0, F64);
        assert_close("the second leak", second.leak[node], mean(n[0], n[1]), F64);
    }
}

#[test]
fn the_paper_and_adam_step_along_the_mean_gradient() {
    let network = nearly_disjoint();
    let (graph, start, stats) = (&network.graph, &network.weights, random_stats(&network, 1, 10.0));
    let advance = |rule| {
        let mut weights = start.clone();
        Stepper::new(rule, (1e-5, 1e-5, 20.0), 10, (1, 1)).advance(graph, &mut weights, &stats);
        weights
    };
    let paper = advance(StepRule::Paper { rate: 0.01, c: 50.0, schedule: RateSchedule::Constant });
    // Adam's first step is the rate, in the gradient's direction, and no more than a factor of two.
    let adam_first = |w: f64, gradient: f64| (w + 0.01 * gradient.signum()).clamp(w / 2.0, w * 2.0);
    let adam = advance(StepRule::Adam { rate: 0.01, schedule: RateSchedule::Constant });
    for (edge, &parent) in graph.edge_parents().iter().enumerate() {
        let gradient = (stats.edge[edge] - stats.topic_q[parent as usize]) / 10.0;
        assert_close("paper", paper.edge[edge], start.edge[edge] + 0.5 * gradient, F64);
        assert_close("adam", adam.edge[edge], adam_first(start.edge[edge], gradient), ADAM_FIRST);
    }
    for node in 0..graph.n_nodes() {
        let gradient = stats.leak[node] / 10.0 - 1.0;
        assert_close("paper", paper.leak[node], start.leak[node] + 0.01 * gradient, F64);
        assert_close("adam", adam.leak[node], adam_first(start.leak[node], gradient), ADAM_FIRST);
    }
}

#[test]
fn the_floors_and_the_cap_hold() {
    let data = Data::tiny(500);
    for step in [EM, PAPER, ADAM] {
        let options = TrainOptions {
            floor: 0.05,
            leak_floor: Some(0.01),
            cap: 0.5,
            patience: 0,
            ..options(step, BatchSize::Auto, 20)
        };
        let weights = data.train(options).weights;
        // Weights are rounded to f32 last, and so are their ends.
        let (floor, leak_floor) = (f64::from(0.05f32), f64::from(0.01f32));
        assert!(weights.edge.iter().all(|w| (floor..=0.5).contains(w)), "{step:?}");
        assert!(weights.leak.iter().all(|w| (leak_floor..=0.5).contains(w)), "{step:?}");
        assert!(
            weights.edge.contains(&floor) && weights.edge.contains(&0.5),
            "{step:?}: the ends are not met"
        );
        assert!(weights.leak.contains(&leak_floor), "{step:?}: the leak floor is not met");
    }
}

#[test]
fn a_topic_that_is_never_on_keeps_its_weights() {
    // Topic 1 causes only token 1, which never occurs.
    let network = network_of(2, 2, &[(0, 2, 1.0), (1, 3, 0.7)], vec![0.1; 4]);
    let (corpus, alignment) = corpus_of(&network, [vec![0], vec![], vec![0]]);
    let data = Data { network, corpus, alignment };
    let estep = EStepOptions { bound: Bound::Local, ..EStepOptions::default() };
    let stats = data.stats(&data.network.weights, &[0, 1, 2], &estep);
    assert_eq!(stats.topic_q[1], 0.0);
    for n_batches in [1, 3] {
        let mut weights = data.network.weights.clone();
        let mut stepper = Stepper::new(EM, (1e-5, 1e-6, 20.0), 3, (n_batches, 9));
        for _ in 0..3 {
            stepper.step(&data.network.graph, &mut weights, &stats).unwrap();
        }
        assert_eq!(weights.edge[1], f64::from(0.7f32));
        // Its leak is what the M-step says: it is never on, so it has none.
        assert_eq!(weights.leak[1], f64::from(1e-6f32));
        assert!(weights.edge[0] != 1.0);
    }
}

#[test]
fn a_batch_without_documents_changes_nothing() {
    let network = nearly_disjoint();
    for rule in [EM, PAPER, ADAM] {
        let mut weights = network.weights.clone();
        let mut stepper = Stepper::new(rule, (1e-5, 1e-6, 20.0), 3, (1, 1));
        stepper.step(&network.graph, &mut weights, &Stats::new(&network.graph, true)).unwrap();
        assert_eq!(weights, network.weights, "{rule:?}");
    }
}
