//! The backend, how it is used, and where its time went.

use super::cache::Cache;
use super::pass::{Pass, Whole};
use super::resident::Residents;
use super::{DispatchPlan, Machine, Route, Spent};
use crate::batch::ChunkLimits;
use crate::error::Result;
use crate::estep::{EStep, EStepOptions, Scale, Sink, Sums, Work};

/// Chunks on the device at a time, if it has the memory. In most of them few documents are left at work: these take ten times the
/// alternations of most, with dispatches that fill no device, so that those of several chunks run at the same time.
pub const N_SETS: usize = 8;
/// Chunks at a time that fill the device: one is loaded and looked at while the other is computed.
pub const N_FILLING: usize = 2;

/// How a device is used.
#[derive(Debug, Clone)]
pub struct DeviceOptions {
    /// When blocks and chunks are full.
    pub limits: ChunkLimits,
    /// Host memory for packed chunks that are kept, in bytes.
    pub cache_bytes: usize,
    /// Device memory for packed chunks that stay there, in bytes; less if the machine has a limit that leaves less.
    pub resident_bytes: u64,
    /// How documents go through the kernels; by measurement if none is given.
    pub route: Option<Route>,
    /// Nodes at work that fill the device. Chunks with fewer are advanced together.
    pub filling_nodes: usize,
}

impl Default for DeviceOptions {
    fn default() -> Self {
        let limits = ChunkLimits { block_docs: 4096, block_size: 1 << 21, chunk_size: 1 << 22 };
        // A thread has a node, and large cards run some 200,000 threads at a time.
        Self { limits, cache_bytes: 2 << 30, resident_bytes: 2 << 30, filling_nodes: 1 << 17, route: None }
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
    /// Chunks that were kept packed on the host.
    pub n_cached: u64,
    /// Chunks that were on the device.
    pub n_resident: u64,
    /// Positive edges of documents that searched, summed over the rounds in which they were at work.
    pub n_searched: u64,
}

/// The backend of a machine.
pub struct DeviceEStep<M> {
    pub(super) machine: M,
    pub(super) options: DeviceOptions,
    pub(super) cache: Cache,
    pub(super) residents: Residents,
    pub(super) host: HostSpent,
    /// Chunks on the device at a time at most, and those that are there.
    pub(super) n_sets: usize,
    pub(super) n_flying: usize,
    /// Whether it was said that some documents run on the CPU.
    pub(super) told_of_cpu: bool,
    pub(super) on_warning: Box<dyn FnMut(&str) + Send>,
}

impl<M: Machine> DeviceEStep<M> {
    /// A backend on a machine.
    pub fn new(machine: M, options: DeviceOptions) -> Self {
        let (cache, residents) = (Cache::new(options.cache_bytes), Residents::new(options.resident_bytes));
        Self {
            machine,
            options,
            cache,
            residents,
            host: HostSpent::default(),
            n_sets: N_SETS,
            n_flying: 0,
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

    /// Forgets the packed chunks that were kept, on the device too.
    pub fn forget_packed(&mut self) {
        self.cache.clear();
        self.residents.places().for_each(|packed| self.machine.release(packed));
        self.residents.forget();
    }

    /// Takes everything off the device.
    pub(super) fn clear(&mut self) {
        self.residents.forget();
        self.machine.clear();
    }

    /// How documents go through the kernels; none if that was neither given nor measured yet.
    pub fn route(&self) -> Option<Route> {
        self.options.route
    }

    /// When blocks and chunks are full.
    pub(super) fn limits(&self) -> &ChunkLimits {
        &self.options.limits
    }

    /// Runs the E-step of whole documents.
    fn run_whole(&mut self, work: &Work<'_>, scale: Scale, sink: Option<&mut Sink<'_>>) -> Result<Sums> {
        let begins_on = work.kept_on.is_some() && work.options.start.searches();
        let route = self.route_for(work)?;
        let plan = DispatchPlan { begins_on, route, ..DispatchPlan::of(work, sink.is_some()) };
        let sums = Sums::new(work.graph, work.gradients, scale);
        let mut whole = Whole { work, sums, sink };
        self.run_pass(&Pass { work: *work, plan, pieces: None }, &mut whole)?;
        Ok(whole.sums)
    }
}

impl<M: Machine> EStep for DeviceEStep<M> {
    fn name(&self) -> String {
        self.machine.name()
    }

    fn run_packed(&mut self, work: &Work<'_>, scale: Scale, sink: Option<&mut Sink<'_>>) -> Result<Sums> {
        let result = match work.options.clamp {
            0 => self.run_whole(work, scale, sink),
            _ => self.run_clamped(work, scale, sink),
        };
        if result.is_err() {
            self.clear(); // chunks may still be in flight
        }
        result
    }

    fn run_docs(&self, options: &EStepOptions) -> usize {
        match options.clamp {
            0 => self.limits().block_docs,
            _ => self.group_docs(),
        }
    }
}
