//! Evaluation, early stopping and other endings.

use super::*;
use noisyor::train::FigureKind;

#[test]
fn metrics_are_what_they_are_documented_to_be() {
    let data = Data::tiny(1_500);
    let options = TrainOptions { eval_every: 2, ..options(EM, BatchSize::Docs(270), 5) };
    let (outcome, seen) = data.evaluations(options.clone());
    // 1,350 training documents make 5 batches an epoch.
    let steps: Vec<(u64, f64)> = seen.iter().map(|(metrics, ..)| (metrics.step, metrics.epoch)).collect();
    assert_eq!(steps, [(10, 2.0), (20, 4.0), (25, 5.0)]);
    let valid_docs = options.split(data.corpus.n_docs()).valid;
    assert_eq!((outcome.ended, valid_docs.len()), (Ended::Finished, 150));
    let mut seconds = 0.0;
    for (metrics, weights, _) in &seen {
        let valid = data.stats(weights, &valid_docs, &options.estep).elbo_mean();
        assert_close("the validation bound", metrics.valid_elbo.unwrap(), valid, F64);
        assert_eq!(metrics.bound, FigureKind::Tail);
        assert!(metrics.docs_per_s > 0.0 && metrics.edges_per_s > metrics.docs_per_s);
        assert!(metrics.seconds >= seconds);
        seconds = metrics.seconds;
    }
}

#[test]
fn the_training_bound_is_that_of_the_weights_before_each_step() {
    let data = Data::tiny(600);
    let options = options(EM, BatchSize::Full, 3);
    let rest = split(600, options.valid, options.test, options.seed).train;
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
    // Patience counts evaluations that do not gain 0.02 % on the last that did, nor a third of that on the one before.
    let (mut last_gain, mut idle) = (0, 0);
    for at in 1..valid.len() {
        assert!(idle < 3, "evaluation {at} is one too many");
        let gains = |share: f64, before: usize| valid[at] - valid[before] > share * valid[before].abs();
        if gains(2e-4, last_gain) {
            (last_gain, idle) = (at, 0);
        } else if !gains(2e-4 / 3.0, at - 1) {
            idle += 1;
        }
    }
    assert_eq!(idle, 3);
}

#[test]
fn small_gains_add_up_to_one_that_resets_the_patience() {
    // A rate so small that no epoch gains 0.02 % by itself, while two do.
    let data = Data::tiny(300);
    let with_rate = |rate: f64, patience: u32| {
        let step = StepRule::Paper { rate, c: 1000.0, schedule: RateSchedule::Constant };
        TrainOptions { patience, ..options(step, BatchSize::Full, 30) }
    };
    let gain_of = |rate: f64| {
        let (_, seen) = data.evaluations(TrainOptions { epochs: 2, ..with_rate(rate, 0) });
        let valid: Vec<f64> = seen.iter().map(|(metrics, ..)| metrics.valid_elbo.unwrap()).collect();
        (valid[1] - valid[0]) / valid[0].abs()
    };
    let rate = 1e-6 * 1.5e-4 / gain_of(1e-6);
    assert!((1e-4..2e-4).contains(&gain_of(rate)), "{}", gain_of(rate));
    let ended = |patience: u32| data.evaluations(with_rate(rate, patience)).0.ended;
    assert_eq!((ended(1), ended(3)), (Ended::EarlyStop, Ended::Finished));
}

#[test]
fn without_validation_the_last_weights_are_kept() {
    let data = Data::tiny(300);
    let options = TrainOptions { valid: 0.0, patience: 1, ..options(EM, BatchSize::Full, 6) };
    let (outcome, seen) = data.evaluations(options);
    assert_eq!((outcome.ended, seen.len()), (Ended::Finished, 6));
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
fn without_steps_the_initial_weights_are_evaluated() {
    let data = Data::tiny(300);
    for batch in [BatchSize::Docs(90), BatchSize::Full] {
        let options = TrainOptions { max_steps: Some(0), ..options(EM, batch, 3) };
        let (outcome, seen) = data.evaluations(options.clone());
        assert_eq!((outcome.ended, seen.len()), (Ended::Finished, 1));
        assert_eq!(outcome.weights, data.start(&options));
        let metrics = outcome.metrics.unwrap();
        assert_eq!((metrics.step, metrics.epoch, metrics.train_elbo), (0, 0.0, None));
        assert!(metrics.valid_elbo.is_some_and(|bound| bound < 0.0));
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
        if let Event::Started { n_train, n_valid, n_steps, n_batches, leak_floor, .. } = *event {
            announced.push((n_train, n_valid, n_steps, n_batches, leak_floor));
        }
        Ok(())
    };
    let options = options(EM, BatchSize::Docs(300), 2);
    data.train_on(options, &Monitor::default(), &mut on_event).unwrap();
    assert_eq!(announced, [(900, 100, 6, 3, 1e-5)]);
}

#[test]
fn an_interrupt_ends_training_with_the_best_weights_so_far() {
    let data = Data::tiny(1_000);
    let monitor = Monitor::default();
    let (mut n_evaluations, mut kept) = (0, None);
    let mut on_event = |event: &Event<'_>| {
        if let Event::Evaluated { metrics, best, weights, .. } = event {
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
        Event::Started { .. } | Event::Safe { .. } | Event::Refined { .. } => Ok(()),
        Event::Evaluated { .. } => Err(Error::Usage("the disk is full".into())),
    };
    let result = data.train_on(options(EM, BatchSize::Auto, 5), &Monitor::default(), &mut on_event);
    assert!(matches!(result, Err(Error::Usage(message)) if message == "the disk is full"));
}
