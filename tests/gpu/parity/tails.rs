//! Chunks that do not fill the device run together: the same bytes, and fewer steps one after another.

use super::resident::Counted;
use super::*;
use noisyor::estep::device::{Machine, Spent};

/// Sixteen chunks, each with a few documents that take much longer than the others.
fn sixteen_chunks() -> Case {
    let limits = ChunkLimits { block_docs: 128, block_size: 1 << 20, chunk_size: 1 };
    let case = Case::sample(2_000).limits(limits);
    assert_eq!(case.chunks().len(), 16);
    case
}

/// What a backend gives in its second run, when it need not wait for packed documents, the steps it took and all dispatches: where
/// nothing runs together every dispatch is a step.
fn steps<M: Machine>(
    case: &Case,
    machine: M,
    filling_nodes: usize,
    max_bytes: Option<u64>,
) -> (Ran, u64, u64) {
    let device = DeviceOptions { filling_nodes, ..case.device.clone() };
    let mut estep = untroubled(Counted::new(machine, max_bytes), &device);
    case.on(&mut estep);
    estep.take_spent();
    let ran = case.on(&mut estep);
    let Spent { n_steps, kernels, .. } = estep.take_spent().0;
    (ran, n_steps, kernels.iter().map(|kernel| kernel.1).sum())
}

/// Steps by dispatch: with nothing together, with tails, with all, and with all but little memory.
fn assert_steps<M: Machine>(case: &Case, machine: impl Fn() -> Option<M>) -> Vec<f64> {
    let n_nodes = case.chunks()[0].n_nodes();
    let (mut shares, mut want) = (Vec::new(), None);
    for (filling_nodes, max_bytes) in
        [(0, None), (n_nodes / 8, None), (n_nodes * 2, None), (n_nodes * 2, Some(0))]
    {
        let Some(machine) = machine() else { return shares };
        let (ran, n_steps, n_dispatches) = steps(case, machine, filling_nodes, max_bytes);
        assert!(
            *want.get_or_insert_with(|| ran.clone()) == ran,
            "{filling_nodes}, {max_bytes:?}: other results"
        );
        shares.push(n_steps as f64 / n_dispatches as f64);
    }
    println!("{} documents, {:?}: steps by dispatch {shares:.3?}", case.items.len(), case.options.start);
    // With memory for two chunks there is one in each group.
    assert!(shares[0] == 1.0 && shares[3] == 1.0, "{shares:?}");
    shares
}

#[test]
fn chunks_that_do_not_fill_the_device_take_fewer_steps_together() {
    let plain = EStepOptions { start: Start::Plain, ..EStepOptions::default() };
    let best = EStepOptions { start: Start::Best, ..EStepOptions::default() };
    for options in [EStepOptions::default(), plain, best] {
        let case = sixteen_chunks().options(options);
        let shares = assert_steps(&case, || Some(TwinMachine::new()));
        assert!(shares[1] < 0.85 && shares[2] < 0.5, "{shares:?}");
    }
}

#[test]
fn steps_of_several_chunks_do_not_disturb_each_other_on_the_gpu() {
    let shares = assert_steps(&sixteen_chunks(), || gpu_machine(GpuOptions::default()));
    assert!(shares.is_empty() || shares[2] < 0.5, "{shares:?}");
}

#[test]
fn pieces_run_together_too() {
    let case = sixteen_chunks().options(EStepOptions { clamp: 2, ..EStepOptions::default() });
    assert_steps(&case, || Some(TwinMachine::new()));
}
