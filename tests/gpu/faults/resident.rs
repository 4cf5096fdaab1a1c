//! Trouble while packed documents stay on the device.

use super::*;
use noisyor::estep::device::Route;

/// Runs twice on one backend, with trouble in the second run; whether it said `what`, and the chunks that are there in the third run.
fn strike_second<M: Destroy>(machine: M, call: Call, share: f64, trouble: Trouble, what: &str) -> usize {
    strike_second_of(&several_chunks(), machine, call, share, trouble, what)
}

fn strike_second_of<M: Destroy>(
    case: &Case,
    machine: M,
    call: Call,
    share: f64,
    trouble: Trouble,
    what: &str,
) -> usize {
    let mut run = Run::new(case, Faulty::new(machine, &[]));
    let want = run.run(case).unwrap();
    let n_calls = run.estep.machine().n_calls;
    let n_first = n_calls[call as usize];
    assert!(run.run(case).unwrap() == want);
    let n_second = run.estep.machine().n_calls(call) - n_first;
    // The third run is like the second: packed documents are there.
    let at = n_first + n_second + (share * n_second as f64) as usize;
    run.estep.machine().trouble = vec![(call, at, trouble)];
    assert_eq!(run.estep.take_spent().1.n_resident, case.chunks().len() as u64);
    assert!(run.run(case).unwrap() == want, "{call:?} {share} {trouble:?}: other results");
    let warnings = run.warnings();
    assert!(warnings.len() == 1 && warnings[0].contains(what), "{call:?} {share}: {warnings:?}");
    run.estep.take_spent();
    assert!(run.run(case).unwrap() == want, "{call:?} {share} {trouble:?}: other results afterwards");
    assert_eq!(run.warnings().len(), 1);
    run.estep.take_spent().1.n_resident as usize
}

#[test]
fn out_of_memory_takes_residents_before_it_halves_chunks() {
    let n_chunks = several_chunks().chunks().len();
    for call in [Call::Reserve, Call::Submit, Call::Wait] {
        for share in [0.1, 0.6] {
            let what = "fewer packed documents";
            let n = strike_second(TwinMachine::new(), call, share, Trouble::OutOfMemory, what);
            assert!(n > 0 && n <= n_chunks / 2, "{call:?} {share}: {n} of {n_chunks}");
        }
    }
}

#[test]
fn a_device_that_refuses_keeps_residents_of_smaller_chunks() {
    let what = "half the size";
    let n = strike_second(TwinMachine::new(), Call::Submit, 0.0, Trouble::Refused, what);
    assert!(n > several_chunks().chunks().len(), "{n}");
}

#[test]
fn a_lost_device_forgets_residents() {
    let n_chunks = several_chunks().chunks().len();
    for (call, share) in [(Call::Write, 0.5), (Call::Submit, 0.0), (Call::Wait, 0.7)] {
        let n = strike_second(TwinMachine::new(), call, share, Trouble::Lost, "opening it again");
        // Those that had landed are not there again yet.
        assert!(if share == 0.0 { n == n_chunks } else { n <= n_chunks }, "{call:?} {share}: {n}");
        let Some(gpu) = gpu_machine(GpuOptions::default()) else { continue };
        let on_gpu = strike_second(gpu, call, share, Trouble::Destroyed, "opening it again");
        // Of two chunks in flight either may land first: how many alternations they take hangs on the last digits.
        assert!(on_gpu.abs_diff(n) <= 1, "{call:?} {share}: {on_gpu} and {n}");
    }
}

#[test]
fn memory_that_runs_out_again_and_again_takes_all_residents_and_then_sets() {
    let limits = ChunkLimits { chunk_size: 1, ..several_chunks().device.limits };
    let case = several_chunks().limits(limits);
    assert_eq!(case.chunks().len(), 8);
    let (n_calls, want) = undisturbed(&case, TwinMachine::new());
    let n_reserved = n_calls[Call::Reserve as usize];
    let mut run = Run::new(&case, Faulty::new(TwinMachine::new(), &[]));
    assert!(run.run(&case).unwrap() == want);
    let mut held = Vec::new();
    for _ in 0..6 {
        let at = run.estep.machine().n_calls(Call::Reserve) + n_reserved / 2;
        run.estep.machine().trouble = vec![(Call::Reserve, at, Trouble::OutOfMemory)];
        assert!(run.run(&case).unwrap() == want, "other results");
        run.estep.take_spent();
        assert!(run.run(&case).unwrap() == want, "other results");
        held.push(run.estep.take_spent().1.n_resident);
    }
    let warnings = run.warnings();
    assert!(held.is_sorted_by(|a, b| a >= b) && held.ends_with(&[0]), "{held:?}, {warnings:?}");
    let of = |what: &str| warnings.iter().map(|warning| warning.contains(what)).collect::<Vec<_>>();
    assert_eq!(of("fewer packed documents"), [true, true, true, true, false, false], "{warnings:?}");
    assert_eq!(of("two chunks at a time")[4..], [true, false], "{warnings:?}");
    assert_eq!(of("one chunk at a time")[4..], [false, true], "{warnings:?}");
}

#[test]
fn trouble_on_other_routes_changes_nothing_either() {
    for route in [Route::Stream, Route::SmallBins, Route::LargeBins] {
        let case = several_chunks().by(route);
        for (call, share, trouble, what) in [
            (Call::Submit, 0.3, Trouble::Lost, "opening it again"),
            (Call::Wait, 0.7, Trouble::Lost, "opening it again"),
            (Call::Reserve, 0.5, Trouble::OutOfMemory, "fewer packed documents"),
        ] {
            strike_second_of(&case, TwinMachine::new(), call, share, trouble, what);
            let Some(gpu) = gpu_machine(GpuOptions::default()) else { continue };
            let trouble = if what == "opening it again" { Trouble::Destroyed } else { trouble };
            strike_second_of(&case, gpu, call, share, trouble, what);
        }
    }
}
