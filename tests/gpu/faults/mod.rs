//! Devices that are lost, run out of memory or refuse: the work goes on, and the results are the same.

#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used)]

mod clamp;
mod lost;
mod memory;
mod often;
mod resident;
mod stop;

use crate::common::backends::*;
use crate::common::gpu::gpu_machine;
use crate::common::*;
use noisyor::batch::{Chunk, ChunkLimits};
use noisyor::estep::device::twin::TwinMachine;
use noisyor::estep::device::{
    Array, DeviceEStep, Dispatch, DispatchPlan, Fault, Machine, Place, Read, Spent,
};
use noisyor::estep::gpu::{GpuMachine, GpuOptions};
use noisyor::estep::{DocResults, EStep, EStepOptions, Monitor, Params, Start, Work};
use noisyor::{Error, Result};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

/// A call to a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Reserve,
    Write,
    Submit,
    Start,
    Wait,
}

const CALLS: [Call; 5] = [Call::Reserve, Call::Write, Call::Submit, Call::Start, Call::Wait];

/// What happens in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    /// The device is destroyed just before it.
    Destroyed,
    /// It comes to nothing, and says that the device is lost.
    Lost,
    OutOfMemory,
    Refused,
    /// The user asks to stop.
    Stop,
}

/// A machine in trouble at given calls: the n-th of a kind, counted from zero.
struct Faulty<M> {
    inner: M,
    trouble: Vec<(Call, usize, Trouble)>,
    /// In every call of a kind from the n-th on.
    forever: Option<(Call, usize, Trouble)>,
    n_calls: [usize; 5],
    n_struck: usize,
    monitor: Arc<Monitor>,
    max_array_bytes: u64,
}

/// A machine that can be destroyed.
trait Destroy: Machine {
    fn destroy(&self) -> Result<(), Fault>;
}

impl Destroy for GpuMachine {
    fn destroy(&self) -> Result<(), Fault> {
        GpuMachine::destroy(self);
        Ok(())
    }
}

/// Twins cannot be destroyed, but can be said to be.
impl Destroy for TwinMachine {
    fn destroy(&self) -> Result<(), Fault> {
        Err(Fault::Lost("gone".to_owned()))
    }
}

impl<M: Destroy> Faulty<M> {
    fn new(inner: M, trouble: &[(Call, usize, Trouble)]) -> Self {
        let (trouble, monitor, max_array_bytes) = (trouble.to_vec(), Arc::default(), inner.max_array_bytes());
        Self { inner, trouble, forever: None, n_calls: [0; 5], n_struck: 0, monitor, max_array_bytes }
    }

    fn n_calls(&self, call: Call) -> usize {
        self.n_calls[call as usize]
    }

    /// Strikes, if it is time to.
    fn call(&mut self, call: Call) -> Result<(), Fault> {
        let n = self.n_calls[call as usize];
        self.n_calls[call as usize] += 1;
        let now = self.trouble.iter().find(|trouble| (trouble.0, trouble.1) == (call, n));
        let forever = self.forever.filter(|&(kind, from, _)| kind == call && n >= from);
        let Some((_, _, trouble)) = now.copied().or(forever) else { return Ok(()) };
        self.n_struck += 1;
        match trouble {
            Trouble::Destroyed => self.inner.destroy(),
            Trouble::Lost => Err(Fault::Lost("struck".to_owned())),
            Trouble::OutOfMemory => Err(Fault::OutOfMemory("struck".to_owned())),
            Trouble::Refused => Err(Fault::Refused("struck".to_owned())),
            Trouble::Stop => {
                self.monitor.stop.store(true, Ordering::Relaxed);
                Ok(())
            }
        }
    }
}

impl<M: Destroy> Machine for Faulty<M> {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn max_array_bytes(&self) -> u64 {
        self.max_array_bytes
    }

    fn max_bytes(&self) -> Option<u64> {
        self.inner.max_bytes()
    }

    fn reserve(&mut self, place: Place, array: Array, n_bytes: usize) -> Result<(), Fault> {
        self.call(Call::Reserve)?;
        self.inner.reserve(place, array, n_bytes)
    }

    fn write(&mut self, place: Place, array: Array, at: usize, bytes: &[u8]) -> Result<(), Fault> {
        self.call(Call::Write)?;
        self.inner.write(place, array, at, bytes)
    }

    fn submit(&mut self, place: Place, dispatches: &[Dispatch], reads: &[Read]) -> Result<(), Fault> {
        self.call(Call::Submit)?;
        self.inner.submit(place, dispatches, reads)
    }

    fn start(&mut self, sets: &[usize]) -> Result<(), Fault> {
        self.call(Call::Start)?;
        self.inner.start(sets)
    }

    fn wait(&mut self, set: usize) -> Result<Vec<Vec<u32>>, Fault> {
        self.call(Call::Wait)?;
        self.inner.wait(set)
    }

    fn release(&mut self, packed: usize) {
        self.inner.release(packed);
    }

    fn reopen(&mut self) -> Result<()> {
        self.inner.reopen()
    }

    fn clear(&mut self) {
        self.inner.clear();
    }

    fn take_spent(&mut self) -> Spent {
        self.inner.take_spent()
    }
}

/// Several blocks and several chunks of one or two blocks each, so that two are in flight and more are to come.
fn several_chunks() -> Case {
    let limits = ChunkLimits { block_docs: 128, block_size: 1 << 20, chunk_size: 15_000 };
    let case = Case::sample(1_000).limits(limits);
    let n_blocks: Vec<usize> = case.chunks().iter().map(|chunk| chunk.blocks.len()).collect();
    assert!(n_blocks.len() >= 4 && n_blocks.iter().all(|&n| n <= 2) && n_blocks[0] == 2, "{n_blocks:?}");
    case
}

/// A backend on a machine in trouble, and its warnings.
struct Run<M> {
    estep: DeviceEStep<Faulty<M>>,
    warnings: Arc<Mutex<Vec<String>>>,
}

impl<M: Destroy> Run<M> {
    fn new(case: &Case, machine: Faulty<M>) -> Self {
        let mut estep = DeviceEStep::new(machine, case.device.clone());
        let warnings = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&warnings);
        estep.on_warning(move |warning| told.lock().unwrap().push(warning.to_owned()));
        Self { estep, warnings }
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap().clone()
    }

    fn run(&mut self, case: &Case) -> Result<Ran> {
        let monitor = Arc::clone(&self.estep.machine().monitor);
        case.try_on(&mut self.estep, &monitor)
    }
}

/// Runs with trouble that is overcome: the results of an undisturbed run, every document done once, a warning each. The warnings.
fn assert_overcome<M: Destroy>(
    case: &Case,
    machine: M,
    trouble: &[(Call, usize, Trouble)],
    want: &Ran,
) -> Vec<String> {
    let mut run = Run::new(case, Faulty::new(machine, trouble));
    let got = run.run(case).unwrap_or_else(|error| panic!("{trouble:?}: {error}"));
    assert!(got == *want, "{trouble:?}: other results");
    let (n_struck, n_warnings) = (run.estep.machine().n_struck, run.warnings().len());
    assert_eq!((n_struck, n_warnings), (trouble.len(), trouble.len()), "{trouble:?}: {:?}", run.warnings());
    let n_done = run.estep.machine().monitor.docs_done.load(Ordering::Relaxed);
    assert_eq!(n_done, case.items.len() as u64, "{trouble:?}: progress");
    // Nothing of the trouble is left, in what was kept either.
    assert!(run.run(case).unwrap() == *want, "{trouble:?}: other results afterwards");
    run.warnings()
}

/// How often each call is made in an undisturbed run, and its results.
fn undisturbed<M: Destroy>(case: &Case, machine: M) -> ([usize; 5], Ran) {
    let mut run = Run::new(case, Faulty::new(machine, &[]));
    let ran = run.run(case).unwrap();
    assert!(run.warnings().is_empty());
    (run.estep.machine().n_calls, ran)
}
