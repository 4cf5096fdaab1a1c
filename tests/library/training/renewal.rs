//! Topics that begin anew.

use super::*;
use noisyor::train::{RefineOptions, RefineStage, RenewOptions};

const CAUSES: usize = 5;
const TOKENS: usize = 30;

/// Causes that share tokens with each other, and documents sampled from them; every cause has an edge to every token.
fn causes() -> Data {
    let weight = |cause: usize, token: usize| {
        if (token + TOKENS - 6 * cause) % TOKENS < 9 { 2.0 } else { 1e-5 }
    };
    let edge = |cause, token| (cause as u32, (CAUSES + token) as u32, weight(cause, token));
    let edges: Vec<(u32, u32, f64)> =
        (0..CAUSES).flat_map(|cause| (0..TOKENS).map(move |token| edge(cause, token))).collect();
    let leak = (0..CAUSES + TOKENS).map(|node| if node < CAUSES { 0.28 } else { 1e-3 }).collect();
    let network = network_of(CAUSES, TOKENS, &edges, leak);
    Data::sampled(network, 2_000)
}

fn renewed(seed: u64, renew: bool) -> TrainOptions {
    let renew = renew.then(RenewOptions::default);
    TrainOptions { renew, seed, patience: 5, ..options(EM, BatchSize::Auto, 40) }
}

#[test]
fn renewal_finds_the_causes_that_random_weights_miss() {
    let data = causes();
    let bound = |seed, renew| {
        let options = renewed(seed, renew);
        let valid = options.split(data.corpus.n_docs()).valid;
        let outcome = data.train(options);
        let estep = EStepOptions::default();
        let of = |weights: &Weights| data.stats(weights, &valid, &estep).elbo_mean();
        of(&outcome.weights) - of(&data.network.weights)
    };
    let gaps = |renew| (0..4).map(|seed| bound(seed, renew)).collect::<Vec<f64>>();
    let (with, without) = (gaps(true), gaps(false));
    println!("above the true network: renewed {with:?}, else {without:?}");
    assert!(with.iter().all(|&gap| gap > -0.2), "{with:?}");
    assert!(without.iter().sum::<f64>() < with.iter().sum::<f64>() - 1.0, "{without:?}");
}

#[test]
fn renewal_gives_the_same_bits_on_1_and_3_threads_and_another_seed_others() {
    let data = Data::tiny(600);
    let renew = RenewOptions { rounds: 3, sample: 300, candidates: 8, ..RenewOptions::default() };
    let run = |n_threads, seed| {
        let options = TrainOptions { renew: Some(renew.clone()), seed, ..options(EM, BatchSize::Auto, 2) };
        bits(&on_threads(n_threads, || data.train(options)).weights)
    };
    assert_eq!(run(1, 0), run(3, 0));
    assert_ne!(run(1, 0), run(1, 1));
}

#[test]
fn the_best_of_all_rounds_and_epochs_is_kept() {
    let data = causes();
    let mut best = f64::NEG_INFINITY;
    let mut stages = Vec::new();
    let mut on_event = |event: &Event<'_>| {
        match event {
            Event::Refined { stage, .. } => stages.push((*stage, best)),
            Event::Evaluated { metrics, .. } => best = best.max(metrics.valid_elbo.unwrap()),
            _ => {}
        }
        Ok(())
    };
    let outcome = data.train_on(renewed(2, true), &Monitor::default(), &mut on_event).unwrap();
    let undone = stages.iter().filter(|(stage, _)| *stage == RefineStage::Undone).count();
    assert!(stages.len() > undone, "{stages:?}");
    assert_eq!(outcome.metrics.unwrap().valid_elbo, Some(best));
    assert!(outcome.reseeded.windows(2).all(|pair| pair[0] < pair[1]));
}

#[test]
fn renewal_is_refused_where_it_makes_no_sense() {
    let sound = TrainOptions { renew: Some(RenewOptions::default()), ..TrainOptions::default() };
    assert!(sound.clone().check().is_ok());
    let none = Some(RenewOptions { rounds: 0, ..RenewOptions::default() });
    for (options, word) in [
        (TrainOptions { step: ADAM, ..sound.clone() }, "`step` em"),
        (TrainOptions { max_steps: Some(0), ..sound.clone() }, "`steps` 0"),
        (TrainOptions { refine: Some(RefineOptions::default()), ..sound.clone() }, "`refine`"),
        (TrainOptions { renew: none, ..sound.clone() }, "at least one round"),
    ] {
        let message = options.check().unwrap_err().to_string();
        assert!(message.contains(word), "{message}");
    }
}
