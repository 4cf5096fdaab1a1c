//! Training by samples: near EM by exact posteriors, its regulariser, and what it is refused with.

use super::golden::em_step;
use super::*;
use noisyor::estep::cpu::CpuEStep;
use noisyor::estep::{EStepOptions, Monitor};
use noisyor::network::{Init, Weights};
use noisyor::synth::Sampler;
use noisyor::train::{
    BatchSize, Begin, Event, Outcome, PriorOptions, RefineOptions, RenewOptions, StepRule, TrainOptions,
    train,
};

/// Two parents above three topics, twelve tokens.
fn network() -> Network {
    let mut edges = vec![(0, 2, 1.2), (0, 3, 0.8), (1, 3, 0.9), (1, 4, 1.5)];
    for topic in 2..5u32 {
        edges.extend((0..5).map(|at| (topic, 5 + (topic - 2) * 4 + at, 0.4 + 0.3 * f64::from(at))));
    }
    edges.retain(|edge| edge.1 < 17);
    let leak = [vec![0.3, 0.4, 0.1, 0.1, 0.1], vec![0.03; 12]].concat();
    network_of(5, 12, &edges, leak)
}

fn docs_of(network: &Network, n: u64) -> Vec<Vec<u32>> {
    let sampler = Sampler::new(network);
    (0..n).map(|doc| sampler.sample(5, doc).tokens).collect()
}

fn rule(augmentation: Augmentation, pseudo_count: f64) -> StepRule {
    StepRule::Mcmc(McmcOptions { augmentation, pseudo_count, ..McmcOptions::default() })
}

/// Trains from these weights; the outcome, and how many evaluations had a bound of the training documents.
fn train_from(start: &Network, docs: &[Vec<u32>], options: TrainOptions) -> (Outcome, usize) {
    let (corpus, alignment) = corpus_of(start, docs.iter().cloned());
    let mut n_bounds = 0;
    let mut on_event = |event: &Event<'_>| {
        if let Event::Evaluated { metrics, .. } = event {
            n_bounds += usize::from(metrics.train_elbo.is_some());
        }
        Ok(())
    };
    let begin = Begin::New(&start.graph, Some(&start.weights));
    let (docs, options) = (alignment.docs(&corpus), options.check().unwrap());
    let outcome =
        train(begin, docs, &options, &mut CpuEStep::new(), &Monitor::default(), &mut on_event).unwrap();
    (outcome, n_bounds)
}

/// Weights away from those that the documents come from.
fn distorted(network: &Network) -> Network {
    let mut start = network.clone();
    let factor = |at: usize| [0.5, 1.7, 0.8, 1.2, 0.6][at % 5];
    start.weights.edge.iter_mut().enumerate().for_each(|(at, w)| *w *= factor(at));
    start.weights.leak.iter_mut().enumerate().for_each(|(at, w)| *w *= factor(at + 2));
    start.weights.round_to_f32();
    start
}

#[test]
fn it_comes_near_em_by_exact_posteriors() {
    const EPOCHS: u32 = 30;
    let network = network();
    let (docs, start) = (docs_of(&network, 1_500), distorted(&network));
    let mean = |weights: Weights| {
        let network = Network { weights, ..start.clone() };
        likelihood(&network, &docs).iter().sum::<f64>() / docs.len() as f64
    };
    let before = mean(start.weights.clone());
    for augmentation in [Augmentation::Poisson, Augmentation::Cascade] {
        let mut exact = start.clone();
        for _ in 0..EPOCHS {
            exact.weights = em_step(&exact, &docs, augmentation);
        }
        let exact = mean(exact.weights);
        assert!(exact > before + 0.1, "{augmentation:?}: EM gains {}", exact - before);
        for batch in [BatchSize::Full, BatchSize::Docs(300)] {
            let step = rule(augmentation, 0.0);
            let base = TrainOptions { step, batch, epochs: EPOCHS, valid: 0.0, ..TrainOptions::default() };
            let options = TrainOptions { init: Init::Graph, share_identical: false, ..base };
            let (outcome, n_bounds) = train_from(&start, &docs, options);
            let sampled = mean(outcome.weights);
            println!("{augmentation:?}, {batch:?}: from {before:.4} to {sampled:.4}, EM {exact:.4}");
            // With 43 weights, each as far from its best as samples of 20 sweeps leave it.
            assert!((sampled - exact).abs() < 0.01, "{augmentation:?}, {batch:?}: {sampled}, EM {exact}");
            assert_eq!(n_bounds, 0, "samples are no bound");
        }
    }
}

/// One sweep a step is far from the posterior, unless chains go on from step to step.
#[test]
fn chains_go_on_from_step_to_step() {
    let network = network();
    let (docs, start) = (docs_of(&network, 1_500), network.clone());
    let mean = |weights: Weights| {
        let network = Network { weights, ..start.clone() };
        likelihood(&network, &docs).iter().sum::<f64>() / docs.len() as f64
    };
    let before = mean(start.weights.clone());
    let step = StepRule::Mcmc(McmcOptions { sweeps: 1, burn_in: 0, ..McmcOptions::default() });
    let base =
        TrainOptions { step, epochs: 60, valid: 0.0, batch: BatchSize::Docs(300), ..TrainOptions::default() };
    let base = TrainOptions { init: Init::Graph, share_identical: false, ..base };
    let after = mean(train_from(&start, &docs, base).0.weights);
    println!("from {before:.4}, the weights that the documents come from, to {after:.4}");
    assert!(after > before - 0.005, "from {before} to {after}");
}

#[test]
fn the_regulariser_keeps_weights_at_the_start() {
    let network = network();
    let (docs, start) = (docs_of(&network, 200), distorted(&network));
    let train = |pseudo_count: f64| {
        let step = rule(Augmentation::Cascade, pseudo_count);
        let base = TrainOptions { step, epochs: 3, batch: BatchSize::Full, ..TrainOptions::default() };
        train_from(&start, &docs, TrainOptions { init: Init::Graph, valid: 0.0, ..base }).0.weights
    };
    let (held, free) = (train(1e9), train(0.0));
    for (held, start) in
        held.edge.iter().chain(&held.leak).zip(start.weights.edge.iter().chain(&start.weights.leak))
    {
        assert_close("held", *held, *start, 1e-6);
    }
    let moved = free.edge.iter().zip(&start.weights.edge).filter(|(w, start)| (*w - *start).abs() > 0.05);
    assert!(moved.count() > 10, "without it they move");
}

/// One pseudo-document and one that has its topic on for certain: `p = (1 p_start + c) / (1 + Q)`.
#[test]
fn a_pseudo_count_is_a_document_with_the_initial_weights() {
    // The topic alone can switch the token on, all but surely.
    let start = network_of(1, 1, &[(0, 1, 1.0)], vec![0.7, 1e-12]);
    let docs = vec![vec![0]; 3];
    let p = 1.0 - (-1.0f64).exp();
    for (augmentation, want) in [
        // Of every document: c = p / (1 - exp(-w)) = 1, n = w / (1 - exp(-w)).
        (Augmentation::Cascade, -(1.0 - (2.0 * p + 3.0) / 5.0f64).ln()),
        (Augmentation::Poisson, (2.0 + 3.0 / p) / 5.0),
    ] {
        let base = TrainOptions { step: rule(augmentation, 2.0), epochs: 1, ..TrainOptions::default() };
        let base = TrainOptions { batch: BatchSize::Full, leak_floor: Some(1e-13), valid: 0.0, ..base };
        let weights = train_from(&start, &docs, TrainOptions { init: Init::Graph, ..base }).0.weights;
        assert_close(&format!("{augmentation:?}"), weights.edge[0], want, 1e-6);
    }
}

#[test]
fn options_that_do_not_go_with_it_are_refused() {
    let options = || TrainOptions { step: rule(Augmentation::Cascade, 1.0), ..TrainOptions::default() };
    assert!(options().check().is_ok());
    let estep = EStepOptions { clamp: 2, ..EStepOptions::default() };
    let prior = PriorOptions { docs: 1.0, trained_docs: 1.0, tokens: 1 };
    let with = |change: fn(&mut McmcOptions)| {
        let mut mcmc = McmcOptions::default();
        change(&mut mcmc);
        TrainOptions { step: StepRule::Mcmc(mcmc), ..TrainOptions::default() }
    };
    for (refused, part) in [
        (TrainOptions { estep, ..options() }, "leave out `clamp`"),
        (TrainOptions { keep_starts: true, ..options() }, "leave out `keep_starts`"),
        (TrainOptions { refine: Some(RefineOptions::default()), ..options() }, "`step` em alone"),
        (TrainOptions { renew: Some(RenewOptions::default()), ..options() }, "`step` em alone"),
        (TrainOptions { smooth: true, ..options() }, "goes with EM"),
        (TrainOptions { condense: true, ..options() }, "dropped by EM"),
        (TrainOptions { prior: Some(prior), ..options() }, "only `step` em"),
        (with(|mcmc| mcmc.sweeps = 0), "`sweeps` is 0"),
        (with(|mcmc| mcmc.pseudo_count = -1.0), "it is -1"),
        (with(|mcmc| mcmc.pseudo_count = f64::NAN), "it is NaN"),
    ] {
        let message = refused.check().unwrap_err().to_string();
        assert!(message.contains(part), "'{part}' is not in: {message}");
    }
}
