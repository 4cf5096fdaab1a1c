//! Whole runs on memory full of poison.

use super::*;

/// A GPU whose arrays are full of poison whenever room is made in them.
pub(super) struct Poisoned<'a> {
    gpu: &'a mut GpuMachine,
    poison: u32,
}

impl Machine for Poisoned<'_> {
    fn name(&self) -> String {
        self.gpu.name()
    }

    fn max_array_bytes(&self) -> u64 {
        self.gpu.max_array_bytes()
    }

    fn max_bytes(&self) -> Option<u64> {
        self.gpu.max_bytes()
    }

    fn reserve(&mut self, place: Place, array: Array, n_bytes: usize) -> Result<(), Fault> {
        let poison = vec![self.poison; n_bytes / 4 + SPARE];
        self.gpu.reserve(place, array, 4 * poison.len())?;
        self.gpu.write(place, array, 0, bytemuck::cast_slice(&poison))
    }

    fn write(&mut self, place: Place, array: Array, at: usize, bytes: &[u8]) -> Result<(), Fault> {
        self.gpu.write(place, array, at, bytes)
    }

    fn submit(&mut self, place: Place, dispatches: &[Dispatch], reads: &[Read]) -> Result<(), Fault> {
        self.gpu.submit(place, dispatches, reads)
    }

    fn start(&mut self, sets: &[usize]) -> Result<(), Fault> {
        self.gpu.start(sets)
    }

    fn wait(&mut self, set: usize) -> Result<Vec<Vec<u32>>, Fault> {
        self.gpu.wait(set)
    }

    fn release(&mut self, packed: usize) {
        self.gpu.release(packed);
    }

    fn reopen(&mut self) -> Result<()> {
        panic!("the device was lost")
    }

    fn clear(&mut self) {
        self.gpu.clear();
    }

    fn take_spent(&mut self) -> Spent {
        self.gpu.take_spent()
    }
}

/// Sums and bounds of documents by a backend.
pub(super) fn run_on(
    backend: &mut dyn EStep,
    network: &Network,
    params: &Params,
    docs: &[Vec<u32>],
    bound: Bound,
) -> Result<(Stats, Vec<f64>)> {
    run_clamped_on(backend, network, params, docs, bound, 0)
}

/// The same with up to so many topics of a document clamped.
fn run_clamped_on(
    backend: &mut dyn EStep,
    network: &Network,
    params: &Params,
    docs: &[Vec<u32>],
    bound: Bound,
    clamp: u32,
) -> Result<(Stats, Vec<f64>)> {
    let (corpus, alignment) = corpus_of(network, docs.iter().cloned());
    let items = Item::each(&(0..docs.len() as u32).collect::<Vec<_>>());
    let (graph, docs, monitor) = (&network.graph, alignment.docs(&corpus), &Monitor::default());
    let options = &EStepOptions { bound, clamp, ..EStepOptions::default() };
    let work = Work { graph, params, docs, items: &items, options, gradients: true, kept_on: None, monitor };
    let mut elbo = Vec::new();
    let mut sink = |results: &DocResults<'_>| {
        assert!(results.q.iter().all(|q| (0.0..=1.0).contains(q)), "{:?}", results.q);
        elbo.extend_from_slice(results.elbo);
        Ok(())
    };
    let stats = backend.run(&work, Some(&mut sink))?;
    Ok((stats, elbo))
}

pub(super) fn on_poison(gpu: &mut GpuMachine, poison: u32) -> DeviceEStep<Poisoned<'_>> {
    DeviceEStep::new(
        Poisoned { gpu, poison },
        DeviceOptions { limits: SMALL, cache_bytes: 0, resident_bytes: 0, ..DeviceOptions::default() },
    )
}

#[test]
fn whole_runs_give_the_same_bits_whatever_was_in_memory() {
    with_gpu(|gpu| {
        for seed in [3, 8, 21] {
            let network = random_network(seed, 12, 15);
            let docs = random_docs(&network, seed, 300);
            let params = Params::derive(&network.graph, &network.weights, Bound::Tail).unwrap();
            for clamp in [0, 3] {
                let [zeros, nan, ones] = [0, POISONS[0], POISONS[1]].map(|poison| {
                    let gpu = &mut on_poison(gpu, poison);
                    run_clamped_on(gpu, &network, &params, &docs, Bound::Tail, clamp).unwrap()
                });
                assert!(zeros == nan && zeros == ones, "seed {seed}, clamp {clamp}");
            }
        }
    });
}
