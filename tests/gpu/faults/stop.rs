//! Requests to stop.

use super::*;

/// Stops at a submission; then the backend goes on as if nothing had been.
fn assert_stops<M: Destroy>(machine: impl Fn() -> Option<M>) {
    let case = several_chunks();
    let Some(first) = machine() else { return };
    let (n_calls, want) = undisturbed(&case, first);
    for (call, at) in [(Call::Reserve, 0), (Call::Submit, 0), (Call::Submit, 3), (Call::Wait, 5)] {
        let trouble = [(call, at, Trouble::Stop)];
        let mut run = Run::new(&case, Faulty::new(machine().unwrap(), &trouble));
        let error = run.run(&case).unwrap_err();
        assert!(matches!(error, Error::Interrupted), "{error}");
        let n_waits = run.estep.machine().n_calls(Call::Wait);
        assert!(n_waits <= n_calls[Call::Wait as usize] / 2, "stopping took {n_waits} more waits");
        run.estep.machine().monitor.stop.store(false, Ordering::Relaxed);
        let again = run.run(&case).unwrap_or_else(|error| panic!("after {trouble:?}: {error}"));
        assert!(again == want, "after {trouble:?}: other results");
        assert!(run.warnings().is_empty(), "{:?}", run.warnings());
    }
}

#[test]
fn twins_stop_when_asked_to_and_go_on_afterwards() {
    assert_stops(|| Some(TwinMachine::new()));
}

#[test]
fn a_gpu_stops_when_asked_to_and_goes_on_afterwards() {
    assert_stops(|| gpu_machine(GpuOptions::default()));
}

/// Results that cannot be delivered end the run; the backend can be used again.
fn assert_survives_its_sink<M: Destroy>(machine: impl Fn() -> Option<M>) {
    let case = several_chunks();
    let Some(first) = machine() else { return };
    let (_, want) = undisturbed(&case, first);
    let mut run = Run::new(&case, Faulty::new(machine().unwrap(), &[]));
    let params = Params::derive(&case.network.graph, &case.network.weights, case.options.bound).unwrap();
    let (graph, docs, items, options) = (&case.network.graph, case.docs(), &case.items[..], &case.options);
    let work = Work {
        graph,
        params: &params,
        docs,
        items,
        options,
        gradients: true,
        kept_on: None,
        monitor: &Monitor::default(),
    };
    let mut full = |_: &DocResults<'_>| Err(Error::Usage("the disk is full".to_owned()));
    let error = run.estep.run(&work, Some(&mut full)).unwrap_err();
    assert!(matches!(error, Error::Usage(_)), "{error}");
    assert!(run.run(&case).unwrap() == want && run.warnings().is_empty(), "{:?}", run.warnings());
}

#[test]
fn twins_survive_results_that_cannot_be_delivered() {
    assert_survives_its_sink(|| Some(TwinMachine::new()));
}

#[test]
fn a_gpu_survives_results_that_cannot_be_delivered() {
    assert_survives_its_sink(|| gpu_machine(GpuOptions::default()));
}
