//! Trouble at random moments, many times over; scripts/gpu-faults.sh runs it.

use super::*;

const TIMES: usize = 20;

/// Seeded by NOISYOR_FAULT_SEED, so that a failure can be had again.
fn rng() -> ChaCha8Rng {
    let seed = std::env::var("NOISYOR_FAULT_SEED").map_or(0, |seed| seed.parse().unwrap());
    println!("seed {seed}");
    ChaCha8Rng::seed_from_u64(seed)
}

/// Strikes once in each of many runs, at any of the calls of an undisturbed one but the first reservation.
fn twenty_times(what: &str, case: &Case, calls: &[Call], trouble: Trouble) {
    let open = || gpu_machine(GpuOptions::default());
    let Some(machine) = open() else { return };
    let (n_calls, want) = undisturbed(case, machine);
    let rng = &mut rng();
    for time in 0..TIMES {
        let call = calls[rng.random_range(0..calls.len())];
        let at = rng.random_range(1..n_calls[call as usize]);
        assert_overcome(case, open().unwrap(), &[(call, at, trouble)], &want);
        println!("{what} {}: at {call:?} {at} of {}: the same results", time + 1, n_calls[call as usize]);
    }
    println!("{what}: {TIMES} of {TIMES} runs gave the same results, with a warning each");
}

#[test]
#[ignore = "scripts/gpu-faults.sh"]
fn a_gpu_destroyed_at_random_moments() {
    let calls = [Call::Reserve, Call::Write, Call::Submit, Call::Wait];
    twenty_times("destroyed", &several_chunks(), &calls, Trouble::Destroyed);
}

#[test]
#[ignore = "scripts/gpu-faults.sh"]
fn a_gpu_out_of_memory_at_random_moments() {
    // All blocks in one chunk, which can be halved wherever it is.
    let limits = ChunkLimits { chunk_size: usize::MAX, ..several_chunks().device.limits };
    let calls = [Call::Reserve, Call::Submit, Call::Wait];
    twenty_times("out of memory", &several_chunks().limits(limits), &calls, Trouble::OutOfMemory);
}

#[test]
#[ignore = "scripts/gpu-faults.sh"]
fn a_gpu_with_random_amounts_of_memory() {
    let limits = ChunkLimits { chunk_size: usize::MAX, ..several_chunks().device.limits };
    let (case, rng) = (several_chunks().limits(limits), &mut rng());
    let Some(machine) = gpu_machine(GpuOptions::default()) else { return };
    let (_, want) = undisturbed(&case, machine);
    let mut n_warnings = Vec::new();
    for _ in 0..TIMES {
        let max_bytes = Some(rng.random_range(2 << 20..4 << 20));
        let machine = gpu_machine(GpuOptions { max_bytes, ..GpuOptions::default() }).unwrap();
        let mut run = Run::new(&case, Faulty::new(machine, &[]));
        assert!(run.run(&case).unwrap() == want, "{max_bytes:?} bytes: other results");
        n_warnings.push(run.warnings().len());
    }
    println!(
        "memory: {TIMES} of {TIMES} runs gave the same results; chunks were halved {n_warnings:?} times"
    );
}
