//! A machine on wgpu.

use super::buffers::Set;
use super::open::{GpuOptions, Open, Pipelines};
use super::timing::Timing;
use crate::error::{Error, Result};
use crate::estep::device::{Args, Array, Dispatch, Fault, MAX_GROUPS, Machine, Read, Spent};
use std::sync::mpsc;
use std::time::Instant;
use wgpu::{CommandEncoderDescriptor, ComputePassDescriptor, MapMode, PollType, SubmissionIndex};

/// A GPU.
pub struct GpuMachine {
    options: GpuOptions,
    open: Open,
    pipelines: Pipelines,
    sets: Vec<Set>,
    /// Holds the network alone.
    shared: Set,
    pending: Vec<Option<Pending>>,
    timings: Vec<Option<Timing>>,
    spent: Spent,
}

/// A submission whose results are not in yet.
struct Pending {
    index: SubmissionIndex,
    mapped: mpsc::Receiver<Result<(), wgpu::BufferAsyncError>>,
    reads: Vec<Read>,
    n_bytes: u64,
    dispatches: Vec<Dispatch>,
    n_timed: usize,
    times_at: u64,
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
            sets: Vec::new(),
            shared: Set::default(),
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
        self.sets.iter().chain([&self.shared]).map(Set::n_bytes).sum()
    }

    /// Bytes that may still be allocated.
    fn bytes_left(&self) -> u64 {
        self.options.max_bytes.map_or(u64::MAX / 2, |most| most.saturating_sub(self.n_bytes()))
    }

    fn make_sets(&mut self, n: usize) {
        while self.sets.len() < n {
            self.sets.push(Set::default());
            self.pending.push(None);
            self.timings.push(None);
        }
    }

    fn encode(&mut self, set: usize, dispatches: &[Dispatch], reads: &[Read]) -> Result<Pending, Fault> {
        let stride =
            size_of::<Args>().next_multiple_of(self.open.limits.min_uniform_buffer_offset_alignment as usize);
        let n_read: u64 = reads.iter().map(|read| 4 * read.words.len() as u64).sum();
        let times_at = n_read.next_multiple_of(8);
        let n_timed = if self.open.timestamps { Timing::n_timed(dispatches.len()) } else { 0 };
        let n_bytes = (times_at + 16 * n_timed as u64).max(16);
        let left = self.bytes_left();
        self.sets[set].reserve_others(
            &self.open,
            (stride * dispatches.len().max(1)) as u64,
            n_bytes,
            left,
        )?;
        if n_timed > 0 && self.timings[set].is_none() {
            self.timings[set] = Some(Timing::new(&self.open)?);
        }
        let mut args = vec![0u8; stride * dispatches.len()];
        let mut encoder = self.open.device.create_command_encoder(&CommandEncoderDescriptor::default());
        let mut pass = None;
        for (at, dispatch) in dispatches.iter().enumerate() {
            let n_groups = dispatch.lanes.n_groups(dispatch.args.n_rows);
            let groups_x = n_groups.clamp(1, MAX_GROUPS);
            let in_full = Args { groups_x, ..dispatch.args };
            args[at * stride..][..size_of::<Args>()].copy_from_slice(bytemuck::bytes_of(&in_full));
            let pipeline = self.pipelines.get(&self.open, dispatch.kernel, dispatch.lanes)?;
            let network = self.shared.array(Array::Network);
            let arrays = self.sets[set].bind(&self.open, dispatch.kernel, pipeline, network)?;
            if n_timed > 0 {
                pass = None; // a pass of its own for every dispatch that is timed
            }
            let pass = pass.get_or_insert_with(|| {
                let timestamp_writes = self.timings[set].as_ref().and_then(|timing| timing.writes(at));
                let descriptor = ComputePassDescriptor { label: None, timestamp_writes };
                encoder.begin_compute_pass(&descriptor).forget_lifetime()
            });
            pass.set_pipeline(&pipeline.pipeline);
            pass.set_bind_group(0, arrays, &[(at * stride) as u32]);
            pass.dispatch_workgroups(groups_x, n_groups.div_ceil(groups_x), 1);
        }
        drop(pass);
        let missing = || Fault::Refused("an array that was never made".to_owned());
        let Set { args: Some(args_buffer), staging: Some(staging), .. } = &self.sets[set] else {
            return Err(missing());
        };
        self.open.queue.write_buffer(args_buffer, 0, &args);
        let mut at = 0;
        for read in reads.iter().filter(|read| !read.words.is_empty()) {
            let array = self.sets[set].array(read.array).ok_or_else(missing)?;
            let n_bytes = 4 * read.words.len() as u64;
            encoder.copy_buffer_to_buffer(array, 4 * read.words.start as u64, staging, at, n_bytes);
            at += n_bytes;
        }
        if let (true, Some(timing)) = (n_timed > 0, &self.timings[set]) {
            timing.resolve(&mut encoder, n_timed, staging, times_at);
        }
        let index = self.open.queue.submit([encoder.finish()]);
        let (send, mapped) = mpsc::channel();
        staging.map_async(MapMode::Read, 0..n_bytes, move |result| {
            let _ = send.send(result);
        });
        self.open.check()?;
        let (reads, dispatches) = (reads.to_vec(), dispatches.to_vec());
        Ok(Pending { index, mapped, reads, n_bytes, dispatches, n_timed, times_at })
    }

    /// Copies what was read out of the staging buffer.
    fn collect(&mut self, set: usize, pending: &Pending) -> Result<Vec<Vec<u32>>, Fault> {
        let refused = |message: String| Fault::Refused(message);
        let staging = self.sets[set].staging.as_ref().ok_or_else(|| refused("nothing to read".into()))?;
        let view = staging.get_mapped_range(0..pending.n_bytes).map_err(|e| refused(e.to_string()))?;
        let mut at = 0;
        let mut words = |n: usize| {
            let bytes = &view[at..at + 4 * n];
            at += 4 * n;
            bytemuck::pod_collect_to_vec::<u8, u32>(bytes)
        };
        let read = pending.reads.iter().map(|read| words(read.words.len())).collect();
        self.spent.readback_bytes += at as u64;
        if let (true, Some(timing)) = (pending.n_timed > 0, &self.timings[set]) {
            let bytes = &view[pending.times_at as usize..][..16 * pending.n_timed];
            timing.add(&pending.dispatches, &bytemuck::pod_collect_to_vec::<u8, u64>(bytes), &mut self.spent);
        } else {
            pending.dispatches.iter().for_each(|dispatch| self.spent.add_kernel(dispatch.kernel.name, None));
        }
        drop(view);
        staging.unmap();
        Ok(read)
    }
}

impl Machine for GpuMachine {
    fn name(&self) -> String {
        self.open.name.clone()
    }

    fn max_array_bytes(&self) -> u64 {
        self.open.limits.max_storage_buffer_binding_size.min(self.open.limits.max_buffer_size)
    }

    fn reserve(&mut self, set: usize, array: Array, n_bytes: usize) -> Result<(), Fault> {
        self.make_sets(set + 1);
        let left = self.bytes_left();
        if array == Array::Network {
            let old = self.shared.n_bytes();
            self.shared.reserve(&self.open, array, n_bytes as u64, left)?;
            if self.shared.n_bytes() != old {
                self.sets.iter_mut().for_each(Set::unbind);
            }
            return Ok(());
        }
        self.sets[set].reserve(&self.open, array, n_bytes as u64, left)
    }

    fn write(&mut self, set: usize, array: Array, at: usize, bytes: &[u8]) -> Result<(), Fault> {
        let begun = Instant::now();
        let arrays = if array == Array::Network { &self.shared } else { &self.sets[set] };
        let Some(buffer) = arrays.array(array) else {
            return Err(Fault::Refused(format!("no array '{}'", array.name())));
        };
        if !bytes.is_empty() {
            self.open.queue.write_buffer(buffer, at as u64, bytes);
        }
        self.spent.upload_s += begun.elapsed().as_secs_f64();
        self.spent.upload_bytes += bytes.len() as u64;
        self.open.check()
    }

    fn submit(&mut self, set: usize, dispatches: &[Dispatch], reads: &[Read]) -> Result<(), Fault> {
        let begun = Instant::now();
        self.make_sets(set + 1);
        // A run that ended early left its submission behind: the staging buffer is mapped until that is taken.
        if self.pending[set].is_some() {
            self.wait(set)?;
        }
        self.pending[set] = Some(self.encode(set, dispatches, reads)?);
        self.spent.submit_s += begun.elapsed().as_secs_f64();
        Ok(())
    }

    fn wait(&mut self, set: usize) -> Result<Vec<Vec<u32>>, Fault> {
        let Some(pending) = self.pending[set].take() else {
            return Err(Fault::Refused("nothing was submitted".to_owned()));
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
        self.sets.clear();
        self.pending.clear();
        self.timings.clear();
        self.shared = Set::default();
        self.open.calm();
    }

    fn take_spent(&mut self) -> Spent {
        std::mem::take(&mut self.spent)
    }
}
