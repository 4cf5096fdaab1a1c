//! Training on the GPU: the same bytes again, and what the CPU comes to.

use super::*;
use noisyor::estep::cpu::CpuEStep;
use noisyor::estep::{EStep, Monitor};
use noisyor::train::{BatchSize, Begin, Event, Outcome, TrainOptions, train};

/// Trains, and gives the held-out bound after every epoch.
fn trained(case: &Case, estep: &mut dyn EStep, options: TrainOptions) -> (Outcome, Vec<f64>) {
    let mut bounds = Vec::new();
    let mut on_event = |event: &Event<'_>| {
        if let Event::Evaluated { metrics, .. } = event {
            bounds.push(metrics.valid_elbo.unwrap());
        }
        Ok(())
    };
    let (graph, options) = (&case.network.graph, options.check().unwrap());
    let outcome =
        train(Begin::New(graph, None), case.docs(), &options, estep, &Monitor::default(), &mut on_event)
            .unwrap();
    (outcome, bounds)
}

#[test]
fn the_same_seed_gives_the_same_bits_on_the_gpu() {
    let case = Case::sample(1_500);
    for batch in [BatchSize::Full, BatchSize::Docs(300)] {
        let run = |seed| {
            let options = TrainOptions { batch, epochs: 3, seed, ..TrainOptions::default() };
            Some(trained(&case, &mut gpu_estep(&case.device)?, options))
        };
        let Some((first, bounds)) = run(0) else { return };
        let (again, bounds_again) = run(0).unwrap();
        assert!(first.weights == again.weights && bounds == bounds_again, "{batch:?}");
        assert!(first.weights != run(1).unwrap().0.weights, "{batch:?}: another seed");
    }
}

#[test]
fn cpu_and_gpu_train_the_same_model() {
    let case = Case::sample(4_000);
    let Some(mut gpu) = gpu_estep(&case.device) else { return };
    let (on_gpu, gpu_bounds) = trained(&case, &mut gpu, TrainOptions::default());
    let (on_cpu, cpu_bounds) = trained(&case, &mut CpuEStep::new(), TrainOptions::default());
    let best = |outcome: &Outcome| outcome.metrics.as_ref().unwrap().valid_elbo.unwrap();
    let after_5 = (cpu_bounds[4] - gpu_bounds[4]).abs();
    let at_the_end = (best(&on_cpu) - best(&on_gpu)).abs();
    println!(
        "held-out bound after 5 epochs: CPU {:.6}, GPU {:.6}, {after_5:.1e} apart; at the end, after {} and {} epochs: \
         CPU {:.6}, GPU {:.6}, {at_the_end:.1e} apart",
        cpu_bounds[4],
        gpu_bounds[4],
        cpu_bounds.len(),
        gpu_bounds.len(),
        best(&on_cpu),
        best(&on_gpu)
    );
    assert!(
        best(&on_cpu) > cpu_bounds[0] + 0.05,
        "training did nothing: {} {}",
        best(&on_cpu),
        cpu_bounds[0]
    );
    assert!(after_5 <= PARITY_TRAINED.0 && at_the_end <= PARITY_TRAINED.1);
}

/// Two epochs come to the same held-out bounds on CPU, twins and GPU.
fn assert_trains_alike(options: TrainOptions) {
    let case = Case::sample(600);
    let options = || TrainOptions { epochs: 2, ..options.clone() };
    let (_, on_cpu) = trained(&case, &mut CpuEStep::new(), options());
    let (_, on_twins) = trained(&case, &mut untroubled(TwinMachine::new(), &case.device), options());
    println!("held-out bounds: CPU {on_cpu:?}, twins {on_twins:?}");
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= PARITY_TRAINED.0;
    assert!(on_cpu.len() == on_twins.len() && on_cpu.iter().zip(&on_twins).all(close));
    if let Some(mut gpu) = gpu_estep(&case.device) {
        let (_, on_gpu) = trained(&case, &mut gpu, options());
        assert!(on_cpu.iter().zip(&on_gpu).all(close), "CPU {on_cpu:?}, GPU {on_gpu:?}");
    }
}

#[test]
fn the_structured_bound_trains_the_same_model() {
    let estep = EStepOptions { clamp: 3, ..EStepOptions::default() };
    assert_trains_alike(TrainOptions { batch: BatchSize::Docs(200), estep, ..TrainOptions::default() });
}

#[test]
fn kept_starts_train_the_same_model() {
    for batch in [BatchSize::Docs(200), BatchSize::Full] {
        assert_trains_alike(TrainOptions { batch, keep_starts: true, ..TrainOptions::default() });
    }
}
