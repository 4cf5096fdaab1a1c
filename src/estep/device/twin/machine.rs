//! A machine that runs the kernels' twins.

use super::Memory;
use crate::error::Result;
use crate::estep::device::{Array, Dispatch, Fault, Machine, Read, Spent};
use std::time::Instant;

/// The twins as a machine: what a device should compute, one row after another on one thread.
#[derive(Debug, Default)]
pub struct TwinMachine {
    sets: Vec<Memory>,
    network: Vec<u32>,
    read: Vec<Vec<Vec<u32>>>,
    spent: Spent,
}

impl TwinMachine {
    /// With nothing on it.
    pub fn new() -> Self {
        Self::default()
    }

    fn set(&mut self, set: usize) -> &mut Memory {
        if self.sets.len() <= set {
            self.sets.resize_with(set + 1, Memory::default);
            self.read.resize_with(set + 1, Vec::new);
        }
        &mut self.sets[set]
    }
}

impl Machine for TwinMachine {
    fn name(&self) -> String {
        "twins".to_owned()
    }

    fn max_array_bytes(&self) -> u64 {
        1 << 40
    }

    fn reserve(&mut self, set: usize, array: Array, n_bytes: usize) -> Result<(), Fault> {
        if array == Array::Network {
            self.network.resize(self.network.len().max(n_bytes / 4), 0);
        } else {
            self.set(set).bytes_mut(array, n_bytes);
        }
        Ok(())
    }

    fn write(&mut self, set: usize, array: Array, at: usize, bytes: &[u8]) -> Result<(), Fault> {
        self.reserve(set, array, at + bytes.len())?;
        let all = match array {
            Array::Network => bytemuck::cast_slice_mut(&mut self.network),
            _ => self.set(set).bytes_mut(array, 0),
        };
        all[at..at + bytes.len()].copy_from_slice(bytes);
        self.spent.upload_bytes += bytes.len() as u64;
        Ok(())
    }

    fn submit(&mut self, set: usize, dispatches: &[Dispatch], reads: &[Read]) -> Result<(), Fault> {
        let mut memory = std::mem::take(self.set(set));
        std::mem::swap(&mut memory.network, &mut self.network);
        for dispatch in dispatches {
            let begun = Instant::now();
            (dispatch.kernel.twin)(&mut memory, dispatch.lanes, &dispatch.args);
            self.spent.add_kernel(dispatch.kernel.name, Some(begun.elapsed().as_secs_f64()));
        }
        std::mem::swap(&mut memory.network, &mut self.network);
        let words = |read: &Read| {
            let words: &[u32] = bytemuck::cast_slice(memory.bytes(read.array));
            words[read.words.clone()].to_vec()
        };
        self.read[set] = reads.iter().map(words).collect();
        self.spent.readback_bytes += reads.iter().map(|read| 4 * read.words.len() as u64).sum::<u64>();
        self.sets[set] = memory;
        Ok(())
    }

    fn wait(&mut self, set: usize) -> Result<Vec<Vec<u32>>, Fault> {
        Ok(std::mem::take(&mut self.read[set]))
    }

    fn reopen(&mut self) -> Result<()> {
        self.clear();
        Ok(())
    }

    fn clear(&mut self) {
        self.sets.clear();
        self.read.clear();
        self.network.clear();
    }

    fn take_spent(&mut self) -> Spent {
        std::mem::take(&mut self.spent)
    }
}
