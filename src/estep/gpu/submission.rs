//! What starts together: one command buffer, step by step.
//!
//! Before a dispatch wgpu puts a barrier for every buffer that was used in the same pass before and is written, then or now. On Vulkan a
//! barrier waits for all dispatches before it, those of other sets too. But what a pass uses first gets its barriers before the pass, all
//! in one. So where there are several sets every step is a pass of its own: one barrier, and then dispatches that may overlap.

use super::GpuMachine;
use super::timing::Timing;
use crate::estep::device::{Args, Dispatch, Fault, MAX_GROUPS, Machine, Place, Read};
use std::sync::mpsc;
use wgpu::{
    Buffer, CommandEncoder, CommandEncoderDescriptor, ComputePassDescriptor, MapMode, SubmissionIndex,
};

/// What was handed over for a set.
pub(super) struct Queued {
    pub(super) place: Place,
    pub(super) dispatches: Vec<Dispatch>,
    pub(super) reads: Vec<Read>,
}

impl Queued {
    fn n_read(&self) -> u64 {
        self.reads.iter().map(|read| 4 * read.words.len() as u64).sum()
    }
}

/// A set's part of what was started, whose results are not in yet.
pub(super) struct Pending {
    pub(super) index: SubmissionIndex,
    pub(super) mapped: mpsc::Receiver<Result<(), wgpu::BufferAsyncError>>,
    reads: Vec<Read>,
    n_bytes: u64,
    /// Its dispatches, if they are not timed.
    untimed: Vec<Dispatch>,
    /// Dispatches by step, whose timestamps stand behind what is read. The first set has those of all.
    timed: Vec<Vec<Dispatch>>,
    times_at: u64,
}

/// The dispatches of each step: the n-th ones of all sets.
fn steps(queued: &[Queued]) -> Vec<Vec<(usize, usize)>> {
    let n_steps = queued.iter().map(|one| one.dispatches.len()).max().unwrap_or(0);
    let of_step = |step| (0..queued.len()).filter(move |&at| step < queued[at].dispatches.len());
    (0..n_steps).map(|step| of_step(step).map(|at| (at, step)).collect()).collect()
}

/// The same with the kernels of a step one after another, so that each can be timed.
fn by_kernel(steps: &[Vec<(usize, usize)>], queued: &[Queued]) -> Vec<Vec<(usize, usize)>> {
    let kernel = |&(at, n): &(usize, usize)| queued[at].dispatches[n].kernel.name;
    let in_step = |step: &Vec<(usize, usize)>| {
        let mut step = step.clone();
        step.sort_by_key(kernel);
        step.chunk_by(|a, b| kernel(a) == kernel(b)).map(<[_]>::to_vec).collect::<Vec<_>>()
    };
    steps.iter().flat_map(in_step).collect()
}

impl GpuMachine {
    /// Starts what was handed over for some sets.
    pub(super) fn run_together(&mut self, queued: Vec<Queued>) -> Result<(), Fault> {
        if queued.is_empty() {
            return Ok(());
        }
        let steps = steps(&queued);
        self.spent.n_steps += steps.len() as u64;
        let steps = if self.open.timestamps { by_kernel(&steps, &queued) } else { steps };
        let n_timed = if self.open.timestamps { Timing::n_timed(steps.len()) } else { 0 };
        let times_at = queued[0].n_read().next_multiple_of(8);
        let with_times = times_at + 16 * n_timed as u64;
        let sizes: Vec<u64> = queued
            .iter()
            .enumerate()
            .map(|(at, one)| if at == 0 { with_times } else { one.n_read() }.max(16))
            .collect();
        for (one, &n_bytes) in queued.iter().zip(&sizes) {
            self.prepare(one, n_bytes)?;
        }
        let first = queued[0].place.set;
        if n_timed > 0 && self.timings[first].is_none() {
            self.timings[first] = Some(Timing::new(&self.open)?);
        }
        let mut encoder = self.open.device.create_command_encoder(&CommandEncoderDescriptor::default());
        self.encode(&mut encoder, &queued, &steps, n_timed)?;
        for one in &queued {
            self.encode_reads(&mut encoder, one)?;
        }
        if let (true, Some(timing)) = (n_timed > 0, &self.timings[first]) {
            timing.resolve(&mut encoder, n_timed, self.staging(first)?, times_at);
        }
        let index = self.open.queue.submit([encoder.finish()]);
        let of_step =
            |step: &Vec<(usize, usize)>| step.iter().map(|&(at, n)| queued[at].dispatches[n]).collect();
        let mut timed: Vec<Vec<Dispatch>> = steps.iter().take(n_timed).map(of_step).collect();
        for (one, n_bytes) in queued.into_iter().zip(sizes) {
            let Queued { place, dispatches, reads } = one;
            let (send, mapped) = mpsc::channel();
            self.staging(place.set)?.map_async(MapMode::Read, 0..n_bytes, move |result| {
                let _ = send.send(result);
            });
            let (index, timed) = (index.clone(), std::mem::take(&mut timed));
            let untimed = if n_timed > 0 { Vec::new() } else { dispatches };
            self.pending[place.set] =
                Some(Pending { index, mapped, reads, n_bytes, untimed, timed, times_at });
        }
        self.open.check()
    }

    /// Bytes between the arguments of two dispatches.
    fn stride(&self) -> usize {
        size_of::<Args>().next_multiple_of(self.open.limits.min_uniform_buffer_offset_alignment as usize)
    }

    fn staging(&self, set: usize) -> Result<&Buffer, Fault> {
        let missing = || Fault::Refused("no room was made to read back".to_owned());
        self.sets[set].staging.as_ref().ok_or_else(missing)
    }

    /// Makes room for a set's arguments and for what is read back, and writes the former.
    fn prepare(&mut self, one: &Queued, n_bytes: u64) -> Result<(), Fault> {
        let (set, stride) = (one.place.set, self.stride());
        // A run that ended early left its submission behind: the staging buffer is mapped until that is taken.
        if self.pending[set].is_some() {
            self.wait(set)?;
        }
        let (n_args, left) = (stride * one.dispatches.len().max(1), self.bytes_left());
        self.sets[set].reserve_others(&self.open, n_args as u64, n_bytes, left)?;
        self.sets[set].take(one.place.packed);
        let mut args = vec![0u8; stride * one.dispatches.len()];
        for (dispatch, args) in one.dispatches.iter().zip(args.chunks_exact_mut(stride)) {
            let in_full = Args { groups_x: groups(dispatch)[0], ..dispatch.args };
            args[..size_of::<Args>()].copy_from_slice(bytemuck::bytes_of(&in_full));
        }
        if let Some(buffer) = self.sets[set].args.as_ref().filter(|_| !args.is_empty()) {
            self.open.queue.write_buffer(buffer, 0, &args);
            self.spent.upload_bytes += args.len() as u64;
        }
        Ok(())
    }

    fn encode(
        &mut self,
        encoder: &mut CommandEncoder,
        queued: &[Queued],
        steps: &[Vec<(usize, usize)>],
        n_timed: usize,
    ) -> Result<(), Fault> {
        let (stride, timing) = (self.stride(), self.timings[queued[0].place.set].as_ref());
        let mut pass = None;
        for (step, dispatches) in steps.iter().enumerate() {
            // A pass of its own for every step of several sets, or that is timed.
            if n_timed > 0 || queued.len() > 1 {
                pass = None;
            }
            let pass = pass.get_or_insert_with(|| {
                let timing = timing.filter(|_| n_timed > 0);
                let timestamp_writes = timing.and_then(|timing| timing.writes(step));
                let descriptor = ComputePassDescriptor { label: None, timestamp_writes };
                encoder.begin_compute_pass(&descriptor).forget_lifetime()
            });
            for &(at, n) in dispatches {
                let Queued { place, dispatches, .. } = &queued[at];
                let dispatch = &dispatches[n];
                let pipeline = self.pipelines.get(&self.open, dispatch.kernel, dispatch.lanes)?;
                let others = [Some(&self.shared), self.packed.get(&place.packed)];
                let arrays = self.sets[place.set].bind(&self.open, dispatch.kernel, pipeline, others)?;
                let [x, y] = groups(dispatch);
                pass.set_pipeline(&pipeline.pipeline);
                pass.set_bind_group(0, arrays, &[(n * stride) as u32]);
                pass.dispatch_workgroups(x, y, 1);
            }
        }
        Ok(())
    }

    fn encode_reads(&self, encoder: &mut CommandEncoder, one: &Queued) -> Result<(), Fault> {
        let mut at = 0;
        for read in one.reads.iter().filter(|read| !read.words.is_empty()) {
            let array = self.arrays(one.place, read.array).and_then(|arrays| arrays.get(read.array));
            let array = array.ok_or_else(|| Fault::Refused("an array that was never made".to_owned()))?;
            let n_bytes = 4 * read.words.len() as u64;
            let (begin, staging) = (4 * read.words.start as u64, self.staging(one.place.set)?);
            encoder.copy_buffer_to_buffer(array, begin, staging, at, n_bytes);
            at += n_bytes;
        }
        Ok(())
    }

    /// Copies what was read out of the staging buffer.
    pub(super) fn collect(&mut self, set: usize, pending: &Pending) -> Result<Vec<Vec<u32>>, Fault> {
        let staging = self.staging(set)?;
        let view = staging.get_mapped_range(0..pending.n_bytes).map_err(|e| Fault::Refused(e.to_string()))?;
        let mut at = 0;
        let mut words = |n: usize| {
            let bytes = &view[at..at + 4 * n];
            at += 4 * n;
            bytemuck::pod_collect_to_vec::<u8, u32>(bytes)
        };
        let read = pending.reads.iter().map(|read| words(read.words.len())).collect();
        let times = &view[pending.times_at.min(pending.n_bytes) as usize..];
        let ticks: Vec<u64> = if pending.timed.is_empty() {
            Vec::new()
        } else {
            bytemuck::pod_collect_to_vec(&times[..16 * pending.timed.len()])
        };
        drop(view);
        staging.unmap();
        self.spent.readback_bytes += at as u64;
        if let Some(timing) = &self.timings[set] {
            timing.add(&pending.timed, &ticks, &mut self.spent);
        }
        pending.untimed.iter().for_each(|dispatch| self.spent.add_kernel(dispatch.kernel.name, None));
        Ok(read)
    }
}

/// Workgroups of a dispatch, folded into two dimensions.
fn groups(dispatch: &Dispatch) -> [u32; 2] {
    let n_groups = dispatch.lanes.n_groups(dispatch.args.n_rows);
    let x = n_groups.clamp(1, MAX_GROUPS);
    [x, n_groups.div_ceil(x)]
}
