//! A machine that runs the kernels' twins.

use super::Memory;
use crate::error::Result;
use crate::estep::device::{Array, Dispatch, Fault, Machine, Place, Read, Spent};
use rustc_hash::FxHashMap;
use std::time::Instant;

/// The twins as a machine: what a device should compute, one row after another on one thread.
#[derive(Debug, Default)]
pub struct TwinMachine {
    /// The network alone.
    shared: Memory,
    /// Packed documents.
    packed: FxHashMap<usize, Memory>,
    /// The state of flights.
    sets: FxHashMap<usize, Memory>,
    /// What was read, and how many dispatches wait to be started: here they have run already.
    read: FxHashMap<usize, Vec<Vec<u32>>>,
    submitted: FxHashMap<usize, usize>,
    spent: Spent,
}

impl TwinMachine {
    /// With nothing on it.
    pub fn new() -> Self {
        Self::default()
    }

    /// What an array is part of.
    fn memory(&mut self, place: Place, array: Array) -> &mut Memory {
        match array {
            Array::Network => &mut self.shared,
            packed if packed.is_packed() => self.packed.entry(place.packed).or_default(),
            _ => self.sets.entry(place.set).or_default(),
        }
    }

    /// Puts the network and the packed documents of a place into the memory that twins work on, or takes them out again.
    fn exchange(&mut self, packed: usize, memory: &mut Memory) {
        memory.swap(&mut self.shared, Array::Network);
        let packed = self.packed.entry(packed).or_default();
        Array::PACKED.into_iter().for_each(|array| memory.swap(packed, array));
    }
}

impl Machine for TwinMachine {
    fn name(&self) -> String {
        "twins".to_owned()
    }

    fn max_array_bytes(&self) -> u64 {
        1 << 40
    }

    fn max_bytes(&self) -> Option<u64> {
        None
    }

    fn reserve(&mut self, place: Place, array: Array, n_bytes: usize) -> Result<(), Fault> {
        self.memory(place, array).bytes_mut(array, n_bytes);
        Ok(())
    }

    fn write(&mut self, place: Place, array: Array, at: usize, bytes: &[u8]) -> Result<(), Fault> {
        let all = self.memory(place, array).bytes_mut(array, at + bytes.len());
        all[at..at + bytes.len()].copy_from_slice(bytes);
        self.spent.upload_bytes += bytes.len() as u64;
        Ok(())
    }

    fn submit(&mut self, place: Place, dispatches: &[Dispatch], reads: &[Read]) -> Result<(), Fault> {
        let mut memory = self.sets.remove(&place.set).unwrap_or_default();
        self.exchange(place.packed, &mut memory);
        for dispatch in dispatches {
            let begun = Instant::now();
            (dispatch.kernel.twin)(&mut memory, dispatch.lanes, &dispatch.args);
            self.spent.add_kernel(dispatch.kernel.name, Some(begun.elapsed().as_secs_f64()));
        }
        let words = |read: &Read| {
            let words: &[u32] = bytemuck::cast_slice(memory.bytes(read.array));
            words[read.words.clone()].to_vec()
        };
        self.read.insert(place.set, reads.iter().map(words).collect());
        self.spent.readback_bytes += reads.iter().map(|read| 4 * read.words.len() as u64).sum::<u64>();
        self.exchange(place.packed, &mut memory);
        self.sets.insert(place.set, memory);
        self.submitted.insert(place.set, dispatches.len());
        Ok(())
    }

    fn start(&mut self, sets: &[usize]) -> Result<(), Fault> {
        let n_dispatches = sets.iter().filter_map(|set| self.submitted.remove(set));
        self.spent.n_steps += n_dispatches.max().unwrap_or(0) as u64;
        Ok(())
    }

    fn wait(&mut self, set: usize) -> Result<Vec<Vec<u32>>, Fault> {
        if self.submitted.contains_key(&set) {
            return Err(Fault::Refused("what is waited for was not started".to_owned()));
        }
        Ok(self.read.remove(&set).unwrap_or_default())
    }

    fn release(&mut self, packed: usize) {
        self.packed.remove(&packed);
    }

    fn reopen(&mut self) -> Result<()> {
        self.clear();
        Ok(())
    }

    fn clear(&mut self) {
        *self = Self { spent: std::mem::take(&mut self.spent), ..Self::default() };
    }

    fn take_spent(&mut self) -> Spent {
        std::mem::take(&mut self.spent)
    }
}
