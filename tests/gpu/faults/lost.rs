//! Devices that are lost.

use super::*;
use noisyor::train::{Begin, TrainOptions, train};

/// The first, a middle and the last call of every kind, and the one after the first: two chunks are then in flight.
fn moments(n_calls: [usize; 5]) -> Vec<(Call, usize)> {
    let of = |call: Call| {
        let n = n_calls[call as usize];
        let moments = match call {
            // How many chunks start together depends on how fast they are packed.
            Call::Start => vec![0, 1, n / 4],
            _ => vec![0, 1, n / 3, n / 2, n - 2, n - 1],
        };
        moments.into_iter().map(move |at| (call, at))
    };
    CALLS.into_iter().flat_map(of).collect()
}

#[test]
fn twins_that_are_lost_at_any_call_change_nothing() {
    let case = several_chunks();
    let (n_calls, want) = undisturbed(&case, TwinMachine::new());
    for (call, at) in moments(n_calls) {
        assert_overcome(&case, TwinMachine::new(), &[(call, at, Trouble::Lost)], &want);
    }
}

#[test]
fn a_gpu_destroyed_at_any_call_changes_nothing() {
    let case = several_chunks();
    let Some(machine) = gpu_machine(GpuOptions::default()) else { return };
    let (n_calls, want) = undisturbed(&case, machine);
    for (call, at) in moments(n_calls) {
        let machine = gpu_machine(GpuOptions::default()).unwrap();
        assert_overcome(&case, machine, &[(call, at, Trouble::Destroyed)], &want);
    }
}

#[test]
fn a_gpu_destroyed_again_and_again_gets_there() {
    // Sixteen chunks, each waited for four times (a search would wait as often as its flips need): of every ten waits two chunks come home before the device is gone.
    let limits = ChunkLimits { chunk_size: 1, ..several_chunks().device.limits };
    let start = Start::Plain;
    let options = EStepOptions { tolerance: 0.0, max_alternations: 12, start, ..EStepOptions::default() };
    let mut case = Case::sample(2_000).limits(limits).options(options);
    case.device.filling_nodes = 0; // they would all come home at the same time
    let Some(machine) = gpu_machine(GpuOptions::default()) else { return };
    let (n_calls, want) = undisturbed(&case, machine);
    assert_eq!(n_calls[Call::Wait as usize], 64);
    let trouble: Vec<_> = (0..6).map(|time| (Call::Wait, 9 + 10 * time, Trouble::Destroyed)).collect();
    assert_overcome(&case, gpu_machine(GpuOptions::default()).unwrap(), &trouble, &want);
}

#[test]
fn three_losses_without_progress_are_overcome_and_four_are_not() {
    let case = several_chunks();
    let (_, want) = undisturbed(&case, TwinMachine::new());
    let times = |n: usize| (0..n).map(|at| (Call::Submit, at, Trouble::Lost)).collect::<Vec<_>>();
    assert_overcome(&case, TwinMachine::new(), &times(3), &want);
    let mut run = Run::new(&case, Faulty::new(TwinMachine::new(), &times(4)));
    let error = run.run(&case).unwrap_err();
    assert!(matches!(&error, Error::Device(message) if message.contains("twins")), "{error}");
    // And then it works again.
    assert!(run.run(&case).unwrap() == want);
}

#[test]
fn a_device_that_is_always_lost_is_given_up() {
    let case = several_chunks();
    let Some(_) = gpu_machine(GpuOptions::default()) else { return };
    for call in CALLS {
        for from in [0, 7] {
            let mut run = Run::new(&case, Faulty::new(gpu_machine(GpuOptions::default()).unwrap(), &[]));
            run.estep.machine().forever = Some((call, from, Trouble::Destroyed));
            let name = run.estep.name();
            let error = run.run(&case).unwrap_err();
            let said = matches!(&error, Error::Device(message) if message.contains(&name));
            assert!(said && error.to_string().contains("in a row"), "{call:?}: {error}");
            // A few attempts, each of which fails at its first call of the kind.
            assert!(
                run.estep.machine().n_calls(call) <= from + 30,
                "{call:?}: {:?}",
                run.estep.machine().n_calls
            );
        }
    }
}

#[test]
fn a_gpu_destroyed_in_mid_training_gives_the_same_model() {
    let case = several_chunks();
    let train_on = |trouble: &[(Call, usize, Trouble)]| {
        let options = TrainOptions { epochs: 2, ..TrainOptions::default() }.check().unwrap();
        let mut run = Run::new(&case, Faulty::new(gpu_machine(GpuOptions::default())?, trouble));
        let (graph, monitor) = (&case.network.graph, Monitor::default());
        let outcome =
            train(Begin::New(graph, None), case.docs(), &options, &mut run.estep, &monitor, &mut |_| Ok(()))
                .unwrap();
        assert_eq!(run.warnings().len(), trouble.len());
        Some((outcome.weights, run.estep.machine().n_calls(Call::Submit)))
    };
    let Some((want, n_submits)) = train_on(&[]) else { return };
    let trouble = [1, n_submits / 2, n_submits - 1].map(|at| (Call::Submit, at, Trouble::Destroyed));
    assert!(train_on(&trouble).unwrap().0 == want);
}
