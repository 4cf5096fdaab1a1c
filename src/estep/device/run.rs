//! The backend: chunks are packed ahead by a thread of their own, two are on the device at a time, and their results are added in
//! order. A device that fails gets smaller chunks or is opened again, and the work goes on where it was.

use super::cache::{Cache, Key, key};
use super::flight::{Flight, Landed};
use super::landing::add;
use super::{Array, Fault, Machine, Plan, Spent, WORKGROUP, network_words};
use crate::batch::{Chunk, ChunkLimits, Chunks};
use crate::error::{Error, Result};
use crate::estep::cpu::CpuEStep;
use crate::estep::{Bound, DocResults, EStep, Params, Sink, Stats, Work};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::Instant;

/// Chunks on the device at a time, if it has the memory: one is loaded and looked at while the other is computed.
const N_SETS: usize = 2;
/// Chunks packed ahead.
const N_AHEAD: usize = 1;
/// Entries of a row at most: some devices (lavapipe) end loops after 65,535 iterations in all, without a word, and a kernel goes
/// through a row twice, in steps of a workgroup.
const LONGEST_ROW: usize = 30_000 * WORKGROUP as usize;
/// Losses in a row, without a chunk landing between them, before giving up.
const MAX_LOSSES: u32 = 3;

/// How a device is used.
#[derive(Debug, Clone)]
pub struct DeviceOptions {
    /// When blocks and chunks are full.
    pub limits: ChunkLimits,
    /// Memory for packed chunks that are kept, in bytes.
    pub cache_bytes: usize,
}

impl Default for DeviceOptions {
    fn default() -> Self {
        let limits = ChunkLimits { block_docs: 4096, block_size: 1 << 21, chunk_size: 1 << 22 };
        Self { limits, cache_bytes: 2 << 30 }
    }
}

/// Where a run's wall time went, on the host's side.
#[derive(Debug, Clone, Default)]
pub struct HostSpent {
    /// Waiting for packed chunks.
    pub starved_s: f64,
    /// Packing, in a thread of its own.
    pub pack_s: f64,
    /// Chunks run.
    pub n_chunks: u64,
    /// Chunks that came from the cache.
    pub n_cached: u64,
}

/// The backend of a machine.
pub struct DeviceEStep<M> {
    machine: M,
    options: DeviceOptions,
    cache: Cache,
    host: HostSpent,
    /// Chunks on the device at a time.
    n_sets: usize,
    /// Whether it was said that some documents run on the CPU.
    told_of_cpu: bool,
    /// Whether it was said that the structured bound is computed on the CPU.
    told_of_clamp: bool,
    on_warning: Box<dyn FnMut(&str) + Send>,
}

/// A chunk, and the seconds it took to pack; none if it was packed before.
type Packed = (Arc<Chunk>, Option<f64>);

/// Why a run stopped early.
enum Stop {
    /// The device failed, with a chunk of so many blocks and such a size.
    Fault(Fault, Option<(usize, usize)>),
    /// The first chunk to come has one block, and that is too large for the device.
    TooLarge(Arc<Chunk>),
    /// Anything else.
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl<M: Machine> DeviceEStep<M> {
    /// A backend on a machine.
    pub fn new(machine: M, options: DeviceOptions) -> Self {
        let cache = Cache::new(options.cache_bytes);
        Self {
            machine,
            options,
            cache,
            host: HostSpent::default(),
            n_sets: N_SETS,
            told_of_cpu: false,
            told_of_clamp: false,
            on_warning: Box::new(|_| ()),
        }
    }

    /// Who is told of trouble that was overcome.
    pub fn on_warning(&mut self, tell: impl FnMut(&str) + Send + 'static) {
        self.on_warning = Box::new(tell);
    }

    /// The machine.
    pub fn machine(&mut self) -> &mut M {
        &mut self.machine
    }

    /// What was spent since the last call, on the device's and on the host's side.
    pub fn take_spent(&mut self) -> (Spent, HostSpent) {
        (self.machine.take_spent(), std::mem::take(&mut self.host))
    }

    /// Forgets the packed chunks that were kept.
    pub fn forget_packed(&mut self) {
        self.cache.clear();
    }

    /// Runs until done or stopped; `done` counts the items whose results are in `stats`.
    fn attempt(
        &mut self,
        work: &Work<'_>,
        params: &Params,
        stats: &mut Stats,
        done: &mut usize,
        sink: &mut Option<&mut Sink<'_>>,
    ) -> Result<(), Stop> {
        let plan = Plan {
            options: work.options.clone(),
            gradients: work.gradients,
            keep_q: sink.is_some(),
            n_topics: work.graph.n_topics() as u32,
            n_edges: work.graph.n_edges() as u32,
            n_levels: params.n_levels,
        };
        let words = network_words(work.graph, params);
        let network = bytemuck::cast_slice(&words);
        let fault = |fault| Stop::Fault(fault, None);
        self.machine.reserve(0, Array::Network, network.len()).map_err(fault)?;
        self.machine.write(0, Array::Network, 0, network).map_err(fault)?;
        let key = if self.options.cache_bytes > 0 { key(work, &self.options.limits) } else { [0; 2] };
        let cached = self.cache.get(&key);
        let (limits, first_item) = (self.options.limits, *done);
        std::thread::scope(|scope| {
            let (send, feed) = sync_channel(N_AHEAD);
            scope.spawn(move || {
                let mut next_item = first_item;
                for chunk in cached.into_iter().skip_while(|chunk| chunk.items.start < first_item) {
                    next_item = chunk.items.end;
                    if send.send((chunk, None)).is_err() {
                        return;
                    }
                }
                let full = work.options.bound == Bound::Full;
                let mut chunks =
                    Chunks::new(work.graph, work.docs, work.items, next_item, full, work.gradients, limits);
                loop {
                    let begun = Instant::now();
                    let Some(chunk) = chunks.next() else { return };
                    if send.send((Arc::new(chunk), Some(begun.elapsed().as_secs_f64()))).is_err() {
                        return;
                    }
                }
            });
            self.fly(work, params, &plan, key, feed, stats, done, sink)
        })
    }

    #[allow(clippy::too_many_arguments)]
    fn fly(
        &mut self,
        work: &Work<'_>,
        params: &Params,
        plan: &Plan,
        key: Key,
        feed: Receiver<Packed>,
        stats: &mut Stats,
        done: &mut usize,
        sink: &mut Option<&mut Sink<'_>>,
    ) -> Result<(), Stop> {
        let mut flights: [Option<Flight>; N_SETS] = Default::default();
        // Chunks land in any order; their results are added in theirs.
        let mut landed: BTreeMap<usize, Landed> = BTreeMap::new();
        let (mut fed, mut to_place) = (true, None);
        loop {
            if work.monitor.stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted.into());
            }
            for set in 0..self.n_sets {
                if flights[set].is_none() && fed && landed.len() < N_SETS {
                    let waiting = flights.iter().all(Option::is_none);
                    let (chunk, pack_s) =
                        match to_place.take().map_or_else(|| self.next_chunk(&feed, waiting), Ok) {
                            Ok(next) => next,
                            Err(TryRecvError::Empty) => continue,
                            Err(TryRecvError::Disconnected) => {
                                fed = false;
                                continue;
                            }
                        };
                    if self.is_too_large(plan, &chunk) {
                        if chunk.blocks.len() == 1 && *done == chunk.items.start {
                            return Err(Stop::TooLarge(chunk));
                        } else if chunk.blocks.len() == 1 {
                            to_place = Some((chunk, pack_s));
                            continue;
                        }
                        let fault =
                            Fault::Refused("an array or a row is larger than the adapter allows".to_owned());
                        return Err(stop(fault, &chunk));
                    }
                    self.host.n_chunks += 1;
                    self.host.pack_s += pack_s.unwrap_or(0.0);
                    self.host.n_cached += u64::from(pack_s.is_none());
                    self.cache.add(key, &chunk);
                    let flight = Flight::start(&mut self.machine, set, plan, Arc::clone(&chunk));
                    flights[set] = Some(flight.map_err(|fault| stop(fault, &chunk))?);
                }
            }
            for flight in &mut flights {
                let Some(in_air) = flight else { continue };
                let advanced = in_air.advance(&mut self.machine);
                if let Some(home) = advanced.map_err(|fault| stop(fault, &in_air.chunk))? {
                    landed.insert(home.chunk.items.start, home);
                    *flight = None;
                }
            }
            while let Some(home) = landed.remove(done) {
                add(work, params, &home, stats, sink)?;
                *done = home.chunk.items.end;
                let n_docs: u64 = home.chunk.docs.iter().map(|doc| u64::from(doc.count)).sum();
                work.monitor.docs_done.fetch_add(n_docs, Ordering::Relaxed);
            }
            if !fed && to_place.is_none() && flights.iter().all(Option::is_none) {
                return Ok(());
            }
        }
    }

    /// The next packed chunk; waits for it only if there is nothing else to do.
    fn next_chunk(&mut self, feed: &Receiver<Packed>, wait: bool) -> Result<Packed, TryRecvError> {
        if !wait {
            return feed.try_recv();
        }
        let begun = Instant::now();
        let next = feed.recv().map_err(|_| TryRecvError::Disconnected);
        self.host.starved_s += begun.elapsed().as_secs_f64();
        next
    }

    fn is_too_large(&self, plan: &Plan, chunk: &Chunk) -> bool {
        if chunk.longest_row() > LONGEST_ROW {
            return true;
        }
        let largest = plan.array_bytes(chunk).into_iter().map(|(_, n_bytes)| n_bytes).max().unwrap_or(0);
        largest as u64 > self.machine.max_array_bytes()
    }

    /// Runs, in as many attempts as it takes.
    fn run_all(
        &mut self,
        work: &Work<'_>,
        params: &Params,
        mut sink: Option<&mut Sink<'_>>,
    ) -> Result<Stats> {
        let (mut stats, mut done) = (Stats::new(work.graph, work.gradients), 0);
        let (mut n_lost, mut done_before) = (0, 0);
        loop {
            match self.attempt(work, params, &mut stats, &mut done, &mut sink) {
                Ok(()) => return Ok(stats),
                Err(Stop::Error(error)) => return Err(error),
                Err(Stop::TooLarge(chunk)) => {
                    self.run_on_cpu(work, params, &chunk, &mut stats, &mut sink)?;
                    done = chunk.items.end;
                }
                Err(Stop::Fault(fault, of)) => {
                    n_lost = if done > done_before { 0 } else { n_lost };
                    n_lost += u32::from(matches!(fault, Fault::Lost(_)));
                    done_before = done;
                    if n_lost > MAX_LOSSES {
                        return Err(Error::Device(format!(
                            "{}: {fault}, {n_lost} times in a row",
                            self.machine.name()
                        )));
                    }
                    self.recover(fault, of)?;
                }
            }
        }
    }

    /// Makes the machine fit to go on, or gives up.
    fn recover(&mut self, fault: Fault, of: Option<(usize, usize)>) -> Result<()> {
        match (&fault, of) {
            (Fault::Lost(_), _) => {
                (self.on_warning)(&format!("{fault}; opening it again"));
                self.machine.reopen()
            }
            (_, Some((n_blocks, size))) if n_blocks > 1 && self.options.limits.chunk_size > 1 => {
                self.options.limits.chunk_size = (size.min(self.options.limits.chunk_size) / 2).max(1);
                (self.on_warning)(&format!("{fault}; going on with chunks of half the size"));
                self.cache.clear();
                self.machine.clear();
                Ok(())
            }
            (_, Some(_)) if self.n_sets > 1 => {
                self.n_sets = 1;
                (self.on_warning)(&format!("{fault}; going on with one chunk at a time"));
                self.machine.clear();
                Ok(())
            }
            _ => Err(Error::Device(format!(
                "{}: {fault}; free some of its memory, raise --device-mb if it is set, choose another --device, or use \
                 --backend cpu",
                self.machine.name()
            ))),
        }
    }

    /// Runs a block that no array of the device can hold on the CPU.
    fn run_on_cpu(
        &mut self,
        work: &Work<'_>,
        params: &Params,
        chunk: &Chunk,
        stats: &mut Stats,
        sink: &mut Option<&mut Sink<'_>>,
    ) -> Result<()> {
        if !std::mem::replace(&mut self.told_of_cpu, true) {
            (self.on_warning)(&format!(
                "{} documents with {} positive edges are too much for one array of {}; they, and others like them, run on the CPU",
                chunk.n_docs(),
                chunk.n_edges(),
                self.machine.name()
            ));
        }
        let work = Work { items: &work.items[chunk.items.clone()], ..*work };
        let mut forward = sink.as_mut().map(|sink| {
            move |results: &DocResults<'_>| {
                sink(&DocResults { first_item: chunk.items.start + results.first_item, ..*results })
            }
        });
        let sink = forward.as_mut().map(|forward| forward as &mut Sink<'_>);
        stats.merge(&CpuEStep::new().run(&work, params, sink)?);
        Ok(())
    }
}

fn stop(fault: Fault, chunk: &Chunk) -> Stop {
    Stop::Fault(fault, Some((chunk.blocks.len(), chunk.size())))
}

impl<M: Machine> EStep for DeviceEStep<M> {
    fn name(&self) -> String {
        self.machine.name()
    }

    fn run(&mut self, work: &Work<'_>, params: &Params, sink: Option<&mut Sink<'_>>) -> Result<Stats> {
        if work.options.clamp > 0 {
            // Pieces differ in number from document to document, and there are no kernels for them yet.
            if !std::mem::replace(&mut self.told_of_clamp, true) {
                (self.on_warning)("the structured bound is computed on the CPU");
            }
            return CpuEStep::new().run(work, params, sink);
        }
        let result = self.run_all(work, params, sink);
        if result.is_err() {
            self.machine.clear(); // chunks may still be in flight
        }
        result
    }
}
