//! The backend: chunks are packed ahead by a thread of their own, two are on the device at a time, and their results are added in
//! order. A device that fails gets smaller chunks or is opened again, and the work goes on where it was.

use super::cache::{Cache, Key, key};
use super::clamp::Setting;
use super::flight::{Flight, Landed};
use super::landing::add;
use super::twin::TwinMachine;
use super::{Array, DispatchPlan, Fault, Machine, Spent, WORKGROUP, network_words};
use crate::batch::{Chunk, ChunkLimits, Chunks};
use crate::error::{Error, Result};
use crate::estep::cpu::CpuEStep;
use crate::estep::{Bound, DocResults, EStep, Sink, Stats, Work};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::Instant;

/// Chunks on the device at a time, if it has the memory: one is loaded and looked at while the other is computed.
pub const N_SETS: usize = 2;
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
    on_warning: Box<dyn FnMut(&str) + Send>,
}

/// Items that go through the device together, and what is asked of them.
pub(super) struct Pass<'a> {
    pub(super) work: Work<'a>,
    pub(super) plan: DispatchPlan,
    /// The settings of all items, where they are pieces of documents.
    pub(super) pieces: Option<&'a [Setting]>,
}

impl Pass<'_> {
    /// The settings of a chunk's documents; none where they are whole and begin with all topics off.
    fn settings(&self, chunk: &Chunk) -> Cow<'_, [Setting]> {
        if let Some(settings) = self.pieces {
            return Cow::Borrowed(&settings[chunk.items.clone()]);
        }
        let Some(lists) = self.work.kept_on.filter(|_| self.plan.begins_on) else { return Cow::default() };
        let mut lists = lists.from(chunk.items.start);
        let mut settings = vec![Setting::default(); chunk.n_docs()];
        settings.iter_mut().for_each(|setting| lists.next_into(&mut setting.begin_on));
        Cow::Owned(settings)
    }

    fn load_network(&self, machine: &mut dyn Machine) -> Result<(), Fault> {
        let words = network_words(self.work.graph, self.work.params);
        let network = bytemuck::cast_slice(&words);
        machine.reserve(0, Array::Network, network.len())?;
        machine.write(0, Array::Network, 0, network)
    }

    /// Takes a chunk through the kernels' twins.
    fn fly_on_twins(&self, chunk: &Arc<Chunk>) -> Result<Landed, Fault> {
        let mut twins = TwinMachine::new();
        self.load_network(&mut twins)?;
        let mut flight = Flight::start(&mut twins, 0, &self.plan, Arc::clone(chunk), &self.settings(chunk))?;
        loop {
            if let Some(home) = flight.advance(&mut twins)? {
                return Ok(home);
            }
        }
    }
}

/// Who gets what the chunks of a pass bring home, in the order of the items.
pub(super) trait Home {
    /// Takes a chunk's results.
    fn land(&mut self, home: &Landed) -> Result<()>;

    /// Runs a block that no array of the device can hold on the CPU, and takes its results.
    fn run_on_cpu(&mut self, pass: &Pass<'_>, chunk: &Arc<Chunk>) -> Result<()> {
        let home = pass.fly_on_twins(chunk).map_err(|fault| Error::Device(fault.to_string()))?;
        self.land(&home)
    }
}

/// Takes whole documents: sums, and results for the sink.
struct Whole<'a, 's, 'f> {
    work: &'a Work<'a>,
    stats: Stats,
    sink: Option<&'s mut Sink<'f>>,
}

impl Home for Whole<'_, '_, '_> {
    fn land(&mut self, home: &Landed) -> Result<()> {
        add(self.work, home, &mut self.stats, &mut self.sink)?;
        let n_docs: u64 = home.chunk.docs.iter().map(|doc| u64::from(doc.count)).sum();
        self.work.monitor.docs_done.fetch_add(n_docs, Ordering::Relaxed);
        Ok(())
    }

    fn run_on_cpu(&mut self, _: &Pass<'_>, chunk: &Arc<Chunk>) -> Result<()> {
        let kept_on = self.work.kept_on.map(|lists| lists.part(chunk.items.clone()));
        let items = &self.work.items[chunk.items.clone()];
        let work = Work { items, kept_on: kept_on.as_ref(), ..*self.work };
        let mut forward = self.sink.as_mut().map(|sink| {
            move |results: &DocResults<'_>| {
                sink(&DocResults { first_item: chunk.items.start + results.first_item, ..*results })
            }
        });
        let sink = forward.as_mut().map(|forward| forward as &mut Sink<'_>);
        self.stats.merge(&CpuEStep::new().run(&work, sink)?);
        Ok(())
    }
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

    /// When blocks and chunks are full.
    pub(super) fn limits(&self) -> &ChunkLimits {
        &self.options.limits
    }

    /// Runs until done or stopped; `done` counts the items whose results have landed.
    fn attempt(&mut self, pass: &Pass<'_>, done: &mut usize, home: &mut dyn Home) -> Result<(), Stop> {
        let work = &pass.work;
        pass.load_network(&mut self.machine).map_err(|fault| Stop::Fault(fault, None))?;
        // Pieces are others every time.
        let keeps = self.options.cache_bytes > 0 && pass.pieces.is_none();
        let key = keeps.then(|| key(work, &self.options.limits));
        let cached = key.map(|key| self.cache.get(&key)).unwrap_or_default();
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
            self.fly(pass, key, feed, done, home)
        })
    }

    fn fly(
        &mut self,
        pass: &Pass<'_>,
        key: Option<Key>,
        feed: Receiver<Packed>,
        done: &mut usize,
        home: &mut dyn Home,
    ) -> Result<(), Stop> {
        let plan = &pass.plan;
        let mut flights: [Option<Flight>; N_SETS] = Default::default();
        // Chunks land in any order; their results are added in theirs.
        let mut landed: BTreeMap<usize, Landed> = BTreeMap::new();
        let (mut fed, mut to_place) = (true, None);
        loop {
            if pass.work.monitor.stop.load(Ordering::Relaxed) {
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
                    if let Some(key) = key {
                        self.cache.add(key, &chunk);
                    }
                    let settings = pass.settings(&chunk);
                    let flight = Flight::start(&mut self.machine, set, plan, Arc::clone(&chunk), &settings);
                    flights[set] = Some(flight.map_err(|fault| stop(fault, &chunk))?);
                }
            }
            for flight in &mut flights {
                let Some(in_air) = flight else { continue };
                let advanced = in_air.advance(&mut self.machine);
                if let Some(results) = advanced.map_err(|fault| stop(fault, &in_air.chunk))? {
                    landed.insert(results.chunk.items.start, results);
                    *flight = None;
                }
            }
            while let Some(results) = landed.remove(done) {
                home.land(&results)?;
                *done = results.chunk.items.end;
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

    fn is_too_large(&self, plan: &DispatchPlan, chunk: &Chunk) -> bool {
        if chunk.longest_row() > LONGEST_ROW {
            return true;
        }
        let largest = plan.array_bytes(chunk).into_iter().map(|(_, n_bytes)| n_bytes).max().unwrap_or(0);
        largest as u64 > self.machine.max_array_bytes()
    }

    /// Runs a pass, in as many attempts as it takes.
    pub(super) fn run_pass(&mut self, pass: &Pass<'_>, home: &mut dyn Home) -> Result<()> {
        let mut done = 0;
        let (mut n_lost, mut done_before) = (0, 0);
        loop {
            match self.attempt(pass, &mut done, home) {
                Ok(()) => return Ok(()),
                Err(Stop::Error(error)) => return Err(error),
                Err(Stop::TooLarge(chunk)) => {
                    self.tell_of_cpu(&chunk);
                    home.run_on_cpu(pass, &chunk)?;
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
                (self.on_warning)(&format!("{fault}; continuing with chunks of half the size"));
                self.cache.clear();
                self.machine.clear();
                Ok(())
            }
            (_, Some(_)) if self.n_sets > 1 => {
                self.n_sets = 1;
                (self.on_warning)(&format!("{fault}; continuing with one chunk at a time"));
                self.machine.clear();
                Ok(())
            }
            _ => Err(Error::Device(format!(
                "{}: {fault}; free some of its memory, raise `device_mb` if it is set, choose another `device`, or use \
                 `backend` cpu",
                self.machine.name()
            ))),
        }
    }

    /// Says once that blocks which no array of the device can hold run on the CPU.
    fn tell_of_cpu(&mut self, chunk: &Chunk) {
        if !std::mem::replace(&mut self.told_of_cpu, true) {
            (self.on_warning)(&format!(
                "{} documents with {} positive edges are too much for one array of {}; they, and others like them, run on the CPU",
                chunk.n_docs(),
                chunk.n_edges(),
                self.machine.name()
            ));
        }
    }

    /// Runs the E-step of whole documents.
    fn run_whole(&mut self, work: &Work<'_>, sink: Option<&mut Sink<'_>>) -> Result<Stats> {
        let begins_on = work.kept_on.is_some() && work.options.start.searches();
        let plan = DispatchPlan { begins_on, ..DispatchPlan::of(work, sink.is_some()) };
        let stats = Stats::new(work.graph, work.gradients);
        let mut whole = Whole { work, stats, sink };
        self.run_pass(&Pass { work: *work, plan, pieces: None }, &mut whole)?;
        Ok(whole.stats)
    }
}

fn stop(fault: Fault, chunk: &Chunk) -> Stop {
    Stop::Fault(fault, Some((chunk.blocks.len(), chunk.size())))
}

impl<M: Machine> EStep for DeviceEStep<M> {
    fn name(&self) -> String {
        self.machine.name()
    }

    fn run_packed(&mut self, work: &Work<'_>, sink: Option<&mut Sink<'_>>) -> Result<Stats> {
        let result = match work.options.clamp {
            0 => self.run_whole(work, sink),
            _ => self.run_clamped(work, sink),
        };
        if result.is_err() {
            self.machine.clear(); // chunks may still be in flight
        }
        result
    }
}
