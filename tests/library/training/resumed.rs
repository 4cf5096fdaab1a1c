//! Training that was stopped and goes on ends as if it never had been: from every state it tells, through a checkpoint file.

use super::*;
use noisyor::corpus::{CorpusSource, Place};
use noisyor::run::{NetworkSource, RunConfig, RunFolder};
use noisyor::train::{RefineOptions, RenewOptions, State};

/// Metrics but for times.
fn untimed(metrics: &Metrics) -> Metrics {
    Metrics { seconds: 0.0, docs_per_s: 0.0, edges_per_s: 0.0, ..metrics.clone() }
}

/// A training's states, its evaluations so far at each, all its evaluations, and its outcome.
struct Told {
    states: Vec<(State, usize)>,
    evaluations: Vec<Metrics>,
    outcome: Outcome,
}

fn tell(
    data: &Data,
    begin: Begin<'_>,
    options: &TrainOptions,
    monitor: &Monitor,
    stop_at: Option<usize>,
) -> Told {
    let (mut states, mut evaluations) = (Vec::new(), Vec::new());
    let mut on_event = |event: &Event<'_>| {
        match event {
            Event::Safe { state, .. } => {
                states.push(((*state).clone(), evaluations.len()));
                monitor.stop.store(stop_at == Some(states.len()), Ordering::Relaxed);
            }
            Event::Evaluated { metrics, .. } => evaluations.push(untimed(metrics)),
            _ => {}
        }
        Ok(())
    };
    let docs = data.alignment.docs(&data.corpus);
    let options = options.clone().check().unwrap();
    let mut outcome = train(begin, docs, &options, &mut CpuEStep::new(), monitor, &mut on_event).unwrap();
    outcome.metrics = outcome.metrics.as_ref().map(untimed);
    Told { states, evaluations, outcome }
}

/// A state as a checkpoint file gives it back.
fn through_file(state: &State) -> State {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let mut run = RunFolder::create(Some(&path)).unwrap();
    let mut config = RunConfig::new(CorpusSource::new(Place::Memory), NetworkSource::Memory);
    config.run.backend = "something".into();
    run.write_config(&config).unwrap();
    run.save_checkpoint(state).unwrap();
    drop(run);
    let (_, found) = RunFolder::open(&path).unwrap();
    assert_eq!(serde_json::from_str::<RunConfig>(&found.config.0).unwrap(), config);
    found.checkpoint.unwrap().1.state
}

/// Goes on from some states, and from what a stop after each leaves.
fn check(data: &Data, options: TrainOptions, every: usize) {
    let graph = &data.network.graph;
    let new = || Begin::New(graph, Some(&data.network.weights));
    let whole = tell(data, new(), &options, &Monitor::default(), None);
    assert!(whole.states.len() > 3 && !whole.evaluations.is_empty());
    for (at, (state, n_before)) in whole.states.iter().enumerate().step_by(every) {
        let kept = through_file(state);
        assert_eq!(kept, *state);
        let rest = tell(data, Begin::At(graph, Box::new(kept)), &options, &Monitor::default(), None);
        assert_eq!(rest.outcome, whole.outcome, "state {at}");
        assert_eq!(rest.evaluations, whole.evaluations[*n_before..], "state {at}");
        // A stop changes nothing but the time.
        let stopped = tell(data, new(), &options, &Monitor::default(), Some(at + 1));
        let expected = if at + 1 == whole.states.len() { whole.outcome.ended } else { Ended::Interrupted };
        assert_eq!(stopped.outcome.ended, expected);
        let (last, _) = stopped.states.into_iter().next_back().unwrap();
        assert_eq!(last.step(), state.step());
        let rest = tell(data, Begin::At(graph, Box::new(last)), &options, &Monitor::default(), None);
        assert_eq!(rest.outcome, whole.outcome, "stopped at {at}");
        assert_eq!(rest.evaluations, whole.evaluations[*n_before..], "stopped at {at}");
    }
}

/// Many documents of six words, which are few distinct ones: their E-step takes no time.
fn of_six_words(n_docs: u32) -> Data {
    let network = random_network(5, 2, 6);
    let docs: Vec<Vec<u32>> = (0..n_docs)
        .map(|doc| (0..6).filter(|word| doc.wrapping_mul(2_654_435_761) >> (26 + word) & 1 == 1).collect())
        .collect();
    let (corpus, alignment) = corpus_of(&network, docs);
    Data { network, corpus, alignment }
}

#[test]
fn mini_batches_full_batches_and_every_rule_go_on_as_if_never_stopped() {
    let data = Data::tiny(200);
    for rule in [EM, PAPER, ADAM, MCMC] {
        for batch in [BatchSize::Docs(60), BatchSize::Full] {
            check(&data, TrainOptions { eval_every: 2, ..options(rule, batch, 5) }, 1);
        }
    }
    check(&data, TrainOptions { valid: 0.0, ..options(EM, BatchSize::Docs(90), 3) }, 1);
    check(&data, TrainOptions { patience: 1, ..options(EM, BatchSize::Full, 300) }, 7);
    check(
        &data,
        TrainOptions { max_steps: Some(4), share_identical: false, ..options(EM, BatchSize::Docs(60), 9) },
        1,
    );
}

#[test]
fn corrected_sums_go_on_as_if_never_stopped() {
    let control_variates = true;
    let data = Data::tiny(200);
    for rule in [EM, PAPER, ADAM] {
        check(&data, TrainOptions { control_variates, ..options(rule, BatchSize::Docs(60), 3) }, 1);
    }
    let more =
        TrainOptions { smooth: true, condense: true, valid: 0.2, ..options(EM, BatchSize::Docs(60), 6) };
    check(&data, TrainOptions { control_variates, ..more }, 3);
    let refine = RefineOptions { first_epochs: 2, epochs: 1, rounds: 1, ..RefineOptions::default() };
    let more = TrainOptions { refine: Some(refine), ..options(EM, BatchSize::Docs(60), 2) };
    check(&data, TrainOptions { control_variates, ..more }, 9);
}

#[test]
fn kept_starts_go_on_as_if_never_stopped() {
    let data = Data::tiny(200);
    for batch in [BatchSize::Docs(60), BatchSize::Full] {
        check(&data, TrainOptions { keep_starts: true, ..options(EM, batch, 5) }, 1);
    }
}

#[test]
fn smoothing_and_condensing_go_on_as_if_never_stopped() {
    let data = Data::tiny(300);
    for (batch, condense) in
        [(BatchSize::Docs(60), false), (BatchSize::Docs(60), true), (BatchSize::Full, true)]
    {
        let options = TrainOptions { smooth: true, condense, valid: 0.2, ..options(EM, batch, 6) };
        // An epoch of batches has five states: every third one meets all of them.
        check(&data, options, 3);
    }
}

#[test]
fn large_batches_go_on_as_if_never_stopped() {
    let data = of_six_words(31_000);
    for (smooth, control_variates) in [(false, false), (true, false), (true, true)] {
        let batch = BatchSize::Docs(10_200);
        let options = TrainOptions { valid: 0.01, smooth, control_variates, ..options(EM, batch, 2) };
        check(&data, options, 1);
    }
}

#[test]
fn refinement_goes_on_as_if_never_stopped() {
    let data = Data::tiny(150);
    let n_edges = data.network.graph.n_edges();
    for (valid, max_edges) in [(0.2, n_edges - 20), (0.2, n_edges), (0.0, n_edges + 5)] {
        let refine = RefineOptions {
            max_edges: Some(max_edges),
            first_epochs: 2,
            epochs: 1,
            reseeds: 2,
            rounds: 2,
            swaps: 3,
        };
        check(&data, TrainOptions { refine: Some(refine), valid, ..options(EM, BatchSize::Docs(60), 2) }, 5);
    }
}

#[test]
fn renewal_goes_on_as_if_never_stopped() {
    let data = Data::tiny(200);
    for valid in [0.2, 0.0] {
        let renew =
            RenewOptions { rounds: 4, idle: 2, first_epochs: 2, epochs: 2, sample: 80, candidates: 6 };
        check(&data, TrainOptions { renew: Some(renew), valid, ..options(EM, BatchSize::Docs(60), 2) }, 2);
    }
}

#[test]
fn a_step_of_many_slices_can_be_left_half_done() {
    // More than two slices.
    let data = of_six_words(300_000);
    let options = TrainOptions { valid: 0.0, ..options(EM, BatchSize::Full, 2) };
    let whole = tell(&data, Begin::New(&data.network.graph, None), &options, &Monitor::default(), None);
    let partial: Vec<usize> = whole.states.iter().map(|(state, _)| state.partial_docs()).collect();
    let (one, two) = (1 << 17, 1 << 18);
    assert_eq!(partial, [0, one, two, 0, 0, one, two, 0, 0]);
    for (state, _) in &whole.states[1..3] {
        let state = through_file(state);
        let rest =
            tell(&data, Begin::At(&data.network.graph, Box::new(state)), &options, &Monitor::default(), None);
        assert_eq!(rest.outcome, whole.outcome);
    }
}

#[test]
fn a_run_that_ended_goes_on_with_more_epochs_or_patience_and_not_without() {
    let data = Data::tiny(200);
    let graph = &data.network.graph;
    let short = TrainOptions { patience: 0, ..options(EM, BatchSize::Docs(60), 2) };
    let long = TrainOptions { epochs: 5, ..short.clone() };
    let end = |told: Told| told.states.into_iter().next_back().unwrap().0;
    let ended = end(tell(&data, Begin::New(graph, None), &short, &Monitor::default(), None));
    assert!(ended.has_ended());
    let again = tell(&data, Begin::At(graph, Box::new(ended.clone())), &short, &Monitor::default(), None);
    assert_eq!((again.states.len(), again.evaluations.len()), (1, 0));
    let further = tell(&data, Begin::At(graph, Box::new(ended)), &long, &Monitor::default(), None);
    assert_eq!(
        further.outcome,
        tell(&data, Begin::New(graph, None), &long, &Monitor::default(), None).outcome
    );
}

#[test]
fn the_last_two_checkpoints_are_kept_and_damaged_ones_passed_over() {
    let data = Data::tiny(200);
    let options = options(EM, BatchSize::Docs(60), 3);
    let told = tell(&data, Begin::New(&data.network.graph, None), &options, &Monitor::default(), None);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let mut run = RunFolder::create(Some(&path)).unwrap();
    run.write_config(&RunConfig::new(CorpusSource::new(Place::Memory), NetworkSource::Memory)).unwrap();
    told.states.iter().for_each(|(state, _)| assert!(run.save_checkpoint(state).unwrap() > 1000));
    let there = || {
        let mut names: Vec<String> = std::fs::read_dir(path.join("checkpoint"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let n = told.states.len();
    let name = |number: usize| format!("{number:010}.ckpt");
    assert_eq!(there(), [name(n - 1), name(n)]);
    assert!(RunFolder::open(&path).unwrap_err().to_string().contains("another noisyor"));
    drop(run);

    let damage = |number: usize| {
        let file = path.join("checkpoint").join(name(number));
        let mut bytes = std::fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
        std::fs::write(&file, bytes).unwrap();
    };
    damage(n);
    std::fs::write(path.join("checkpoint/.noisyor-half"), b"half").unwrap();
    let (mut run, found) = RunFolder::open(&path).unwrap();
    assert_eq!(found.damaged.len(), 1);
    assert!(found.damaged[0].to_string().contains(&name(n)), "{}", found.damaged[0]);
    let (_, checkpoint) = found.checkpoint.unwrap();
    assert_eq!(checkpoint.state, told.states[n - 2].0);
    // The damaged one does not push out the sound one.
    run.save_checkpoint(&checkpoint.state).unwrap();
    assert_eq!(there(), [name(n - 1), name(n + 1)]);
    drop(run);
    damage(n - 1);
    damage(n + 1);
    let error = RunFolder::open(&path).unwrap_err();
    assert_eq!(error.exit_status(), 2);
    let error = error.to_string();
    assert!(error.contains(&name(n - 1)) && error.contains(&name(n + 1)), "{error}");
}
