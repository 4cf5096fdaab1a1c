//! Trouble while pieces of documents are on the device.

use super::*;

/// Two groups of documents, several chunks in every pass.
fn pieces() -> Case {
    let limits = ChunkLimits { block_docs: 16, block_size: 1 << 20, chunk_size: 3_000 };
    let options = EStepOptions { clamp: 3, ..EStepOptions::default() };
    Case::sample(100).limits(limits).options(options)
}

#[test]
fn pieces_go_on_after_trouble_with_the_same_results() {
    let case = pieces();
    let (n_calls, want) = undisturbed(&case, TwinMachine::new());
    for trouble in [Trouble::Lost, Trouble::OutOfMemory] {
        for call in [Call::Submit, Call::Wait] {
            // In every pass of both groups.
            for at in (0..12).map(|at| 1 + at * n_calls[call as usize] / 13) {
                assert_overcome(&case, TwinMachine::new(), &[(call, at, trouble)], &want);
            }
        }
    }
}

#[test]
fn a_lost_gpu_goes_on_with_pieces() {
    let Some(machine) = gpu_machine(GpuOptions::default()) else { return };
    let case = pieces();
    let (n_calls, want) = undisturbed(&case, machine);
    for at in [1, 2, 3].map(|at| at * n_calls[Call::Submit as usize] / 4) {
        let machine = gpu_machine(GpuOptions::default()).unwrap();
        assert_overcome(&case, machine, &[(Call::Submit, at, Trouble::Destroyed)], &want);
    }
}

#[test]
fn pieces_too_large_for_the_device_run_on_the_twins() {
    let case = pieces();
    let (_, want) = undisturbed(&case, TwinMachine::new());
    // Nothing fits; then what has few pieces does.
    for max_array_bytes in [16, 20_000] {
        let machine = Faulty { max_array_bytes, ..Faulty::new(TwinMachine::new(), &[]) };
        let mut run = Run::new(&case, machine);
        assert!(run.run(&case).unwrap() == want, "{max_array_bytes} bytes: other results");
        let told = |what: &str| run.warnings().iter().filter(|warning| warning.contains(what)).count();
        assert_eq!(told("run on the CPU"), 1, "{:?}", run.warnings());
    }
}

#[test]
fn a_request_to_stop_is_heard_in_every_pass() {
    let case = pieces();
    let (n_calls, _) = undisturbed(&case, TwinMachine::new());
    for at in (0..6).map(|at| at * n_calls[Call::Submit as usize] / 6) {
        let mut run = Run::new(&case, Faulty::new(TwinMachine::new(), &[(Call::Submit, at, Trouble::Stop)]));
        assert!(matches!(run.run(&case), Err(Error::Interrupted)), "submission {at}");
    }
}
