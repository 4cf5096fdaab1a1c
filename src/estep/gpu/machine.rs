//! A machine on wgpu.

use super::buffers::{Arrays, Set};
use super::open::{GpuOptions, Open, Pipelines};
use super::submission::{Pending, Queued};
use super::timing::Timing;
use crate::error::{Error, Result};
use crate::estep::device::{Array, Dispatch, Fault, Machine, Place, Read, Route, Spent};
use std::collections::HashMap;
use std::time::Instant;
use wgpu::PollType;

/// A GPU.
pub struct GpuMachine {
    pub(super) options: GpuOptions,
    pub(super) open: Open,
    pub(super) pipelines: Pipelines,
    /// Holds the network alone.
    pub(super) shared: Arrays,
    /// Packed documents.
    pub(super) packed: HashMap<usize, Arrays>,
    pub(super) sets: Vec<Set>,
    /// Handed over and not started; started and not waited for.
    pub(super) queued: Vec<Option<Queued>>,
    pub(super) pending: Vec<Option<Pending>>,
    pub(super) timings: Vec<Option<Timing>>,
    pub(super) spent: Spent,
}

impl GpuMachine {
    /// Opens a device.
    ///
    /// # Errors
    ///
    /// [`Error::Device`] where there is no such adapter, or it cannot run the kernels.
    pub fn open(options: GpuOptions) -> Result<Self> {
        let open = Open::new(&options)?;
        let pipelines = Pipelines::new(&open)?;
        Ok(Self {
            options,
            open,
            pipelines,
            shared: Arrays::default(),
            packed: HashMap::new(),
            sets: Vec::new(),
            queued: Vec::new(),
            pending: Vec::new(),
            timings: Vec::new(),
            spent: Spent::default(),
        })
    }

    /// Whether this is a GPU, not software.
    pub fn is_hardware(&self) -> bool {
        self.open.hardware
    }

    /// Destroys the device under the machine's feet, as a driver that crashes would.
    pub fn destroy(&self) {
        self.open.device.destroy();
    }

    /// Bytes of all buffers on the device.
    pub fn n_bytes(&self) -> u64 {
        let packed: u64 = self.packed.values().map(Arrays::n_bytes).sum();
        self.shared.n_bytes() + packed + self.sets.iter().map(Set::n_bytes).sum::<u64>()
    }

    pub(super) fn opened(&self) -> &Open {
        &self.open
    }

    /// What an array is part of, if that is there.
    pub(super) fn arrays(&self, place: Place, array: Array) -> Option<&Arrays> {
        match array {
            Array::Network => Some(&self.shared),
            packed if packed.is_packed() => self.packed.get(&place.packed),
            _ => self.sets.get(place.set).map(|set| &set.state),
        }
    }

    /// Bytes that may still be allocated.
    pub(super) fn bytes_left(&self) -> u64 {
        self.options.max_bytes.map_or(u64::MAX / 2, |most| most.saturating_sub(self.n_bytes()))
    }

    fn make_sets(&mut self, n: usize) {
        while self.sets.len() < n {
            self.sets.push(Set::default());
            self.queued.push(None);
            self.pending.push(None);
            self.timings.push(None);
        }
    }
}

impl Machine for GpuMachine {
    fn name(&self) -> String {
        self.open.name.clone()
    }

    fn max_array_bytes(&self) -> u64 {
        self.open.limits.max_storage_buffer_binding_size.min(self.open.limits.max_buffer_size)
    }

    fn routes(&self) -> Vec<Route> {
        let routes = self.pipelines.routes.iter().copied();
        // Cards are made for bins; software, which has no memory of its own for workgroups, is slowed down by them.
        if self.open.hardware { routes.rev().collect() } else { routes.collect() }
    }

    fn tries_routes(&self) -> bool {
        true
    }

    fn max_bytes(&self) -> Option<u64> {
        self.options.max_bytes
    }

    fn reserve(&mut self, place: Place, array: Array, n_bytes: usize) -> Result<(), Fault> {
        self.make_sets(place.set + 1);
        let left = self.bytes_left();
        let arrays = match array {
            Array::Network => &mut self.shared,
            packed if packed.is_packed() => self.packed.entry(place.packed).or_default(),
            _ => &mut self.sets[place.set].state,
        };
        if arrays.reserve(&self.open, array, n_bytes as u64, left)? {
            self.sets.iter_mut().for_each(Set::unbind);
        }
        Ok(())
    }

    fn write(&mut self, place: Place, array: Array, at: usize, bytes: &[u8]) -> Result<(), Fault> {
        let begun = Instant::now();
        let Some(buffer) = self.arrays(place, array).and_then(|arrays| arrays.get(array)) else {
            return Err(Fault::Refused(format!("no array '{}'", array.name())));
        };
        if !bytes.is_empty() {
            self.open.queue.write_buffer(buffer, at as u64, bytes);
        }
        self.spent.upload_s += begun.elapsed().as_secs_f64();
        self.spent.upload_bytes += bytes.len() as u64;
        self.open.check()
    }

    fn submit(&mut self, place: Place, dispatches: &[Dispatch], reads: &[Read]) -> Result<(), Fault> {
        self.make_sets(place.set + 1);
        let (dispatches, reads) = (dispatches.to_vec(), reads.to_vec());
        self.queued[place.set] = Some(Queued { place, dispatches, reads });
        Ok(())
    }

    fn start(&mut self, sets: &[usize]) -> Result<(), Fault> {
        let begun = Instant::now();
        let queued: Vec<Queued> = sets.iter().filter_map(|&set| self.queued.get_mut(set)?.take()).collect();
        self.run_together(queued)?;
        self.spent.submit_s += begun.elapsed().as_secs_f64();
        Ok(())
    }

    fn wait(&mut self, set: usize) -> Result<Vec<Vec<u32>>, Fault> {
        let Some(pending) = self.pending[set].take() else {
            return Err(Fault::Refused("what is waited for was not started".to_owned()));
        };
        let begun = Instant::now();
        let wait = PollType::Wait { submission_index: Some(pending.index.clone()), timeout: None };
        let polled = self.open.device.poll(wait);
        self.spent.wait_s += begun.elapsed().as_secs_f64();
        self.open.check()?;
        polled.map_err(|e| Fault::Lost(e.to_string()))?;
        match pending.mapped.try_recv() {
            Ok(Ok(())) => (),
            Ok(Err(e)) => return Err(Fault::Lost(format!("results cannot be read: {e}"))),
            Err(e) => return Err(Fault::Lost(format!("results never came: {e}"))),
        }
        let begun = Instant::now();
        let read = self.collect(set, &pending)?;
        self.spent.readback_s += begun.elapsed().as_secs_f64();
        Ok(read)
    }

    fn release(&mut self, packed: usize) {
        self.packed.remove(&packed);
        self.sets.iter_mut().for_each(Set::unbind);
    }

    fn reopen(&mut self) -> Result<()> {
        self.clear();
        let open = Open::new(&self.options)?;
        if open.name != self.open.name {
            return Err(Error::Device(format!(
                "{} is gone; {} is there, but its results would differ in the last digits: choose it with `device`",
                self.open.name, open.name
            )));
        }
        (self.pipelines, self.open) = (Pipelines::new(&open)?, open);
        Ok(())
    }

    fn clear(&mut self) {
        self.shared = Arrays::default();
        self.packed.clear();
        self.sets.clear();
        self.queued.clear();
        self.pending.clear();
        self.timings.clear();
        self.open.calm();
    }

    fn take_spent(&mut self) -> Spent {
        std::mem::take(&mut self.spent)
    }
}
