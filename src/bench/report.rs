//! What was measured. All figures of a row but the spread are those of its run with the median wall time.

use super::answers::{Difference, agree};
use super::{Contender, Run};
use crate::estep::Bound;
use crate::estep::device::{HostSpent, Route, Spent};
use serde::Serialize;

/// What was measured.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Documents of a run.
    pub docs: usize,
    /// Which bound.
    pub bound: Bound,
    /// Whether the gradient sums were computed too.
    pub gradients: bool,
    /// Timed runs behind every row.
    pub repeat: usize,
    /// Whether all backends answer what the first one does.
    pub answers_agree: bool,
    /// The backends; those that keep packed documents twice.
    pub rows: Vec<Row>,
}

/// One backend.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// Its name.
    pub backend: String,
    /// What it computes on.
    pub device: String,
    /// Whether it found the documents packed by an earlier run.
    pub packed_before: bool,
    /// Wall seconds of a run.
    pub wall_s: Spread,
    /// CPU seconds of a run, over all threads of the process.
    pub cpu_s: f64,
    /// Documents per second of wall time.
    pub docs_per_s: f64,
    /// Documents per second of CPU time.
    pub docs_per_cpu_s: f64,
    /// Positive edges per document.
    pub edges_per_doc: f64,
    /// Positive-edge updates (edges times alternations) per second of wall time.
    pub edge_updates_per_s: f64,
    /// Alternations per document.
    pub alternations_per_doc: f64,
    /// Mean bound per document.
    pub elbo_mean: f64,
    /// Mean bound minus that of the first row.
    pub elbo_difference: f64,
    /// How far q and the sums are from the first backend's.
    pub difference: Difference,
    /// Whether these differences are small enough.
    pub answers_agree: bool,
    /// How much faster than the first row; none where the answers differ.
    pub speedup: Option<Speedup>,
    /// Where the time went, for backends on a device.
    pub on_device: Option<OnDevice>,
}

/// Seconds over repeats.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Spread {
    /// The one in the middle.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

/// Ratios of documents per second.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Speedup {
    /// Of wall time.
    pub wall: f64,
    /// Of CPU time.
    pub cpu: f64,
}

/// Where kernel times come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KernelTimes {
    /// Measured around every kernel.
    Device,
    /// Not known: the time that the host waited stands for their sum.
    Wall,
}

/// Where a run on a device spent its time. Host and device work at the same time: these do not add up to the wall time.
#[derive(Debug, Clone, Serialize)]
pub struct OnDevice {
    /// How documents went through the kernels; none where the work was too small to measure which way is the fastest.
    pub route: Option<&'static str>,
    /// What there was to do.
    pub units: Units,
    /// Packing documents, in a thread of its own.
    pub pack_s: f64,
    /// The host waited for packed documents.
    pub starved_s: f64,
    /// Writing to the device.
    pub upload_s: f64,
    /// Handing dispatches over; some drivers make the host wait here for earlier ones.
    pub submit_s: f64,
    /// Kernels ran.
    pub kernel_s: f64,
    /// How that is known.
    pub kernel_times: KernelTimes,
    /// The host waited for the device.
    pub wait_s: f64,
    /// Copying results out of the device's memory.
    pub readback_s: f64,
    /// Share of the wall time in which kernels ran.
    pub busy: f64,
    /// Bytes written.
    pub upload_bytes: u64,
    /// Bytes read back.
    pub readback_bytes: u64,
    /// Chunks of packed documents.
    pub chunks: u64,
    /// How many of them were packed before, on the host.
    pub chunks_cached: u64,
    /// How many of them were on the device before.
    pub chunks_resident: u64,
    /// Dispatches one after another: those of several chunks that may overlap count as one.
    pub steps: u64,
    /// Kernel by kernel, in the order in which they first ran.
    pub kernels: Vec<KernelSpent>,
}

/// What there was to do in a run: what bytes of kernels are counted per.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Units {
    /// Positive edges.
    pub edges: u64,
    /// Positive edges times alternations.
    pub edge_updates: u64,
    /// Positive edges of documents that searched, summed over the rounds in which they were at work.
    pub searched: u64,
}

/// One kernel's part of a run.
#[derive(Debug, Clone, Serialize)]
pub struct KernelSpent {
    /// Its name.
    pub name: &'static str,
    /// How often it was dispatched.
    pub dispatches: u64,
    /// Seconds, where they are known.
    pub seconds: Option<f64>,
}

/// Keeps rates finite on work too small for the clock.
pub(super) const SHORTEST: f64 = 1e-9;

impl Row {
    /// A row from runs, set against the first row; the first has none before it and is set against itself.
    pub(super) fn new(
        contender: &Contender,
        packed_before: bool,
        mut runs: Vec<Run>,
        difference: Difference,
        first: Option<&Self>,
    ) -> Self {
        runs.sort_by(|a, b| a.wall_s.total_cmp(&b.wall_s));
        let (min, max) = (runs[0].wall_s, runs[runs.len() - 1].wall_s);
        let Run { wall_s, cpu_s, totals, spent } = runs.swap_remove(runs.len() / 2);
        let n_items = totals.n_items as f64;
        let (docs_per_s, docs_per_cpu_s) =
            (totals.n_docs / wall_s.max(SHORTEST), totals.n_docs / cpu_s.max(SHORTEST));
        let elbo_mean = totals.elbo_mean();
        let (first_elbo, first_wall, first_cpu) = first
            .map_or((elbo_mean, docs_per_s, docs_per_cpu_s), |first| {
                (first.elbo_mean, first.docs_per_s, first.docs_per_cpu_s)
            });
        let answers_agree = agree(elbo_mean, first_elbo, difference);
        let speedup = Speedup { wall: docs_per_s / first_wall, cpu: docs_per_cpu_s / first_cpu };
        Self {
            backend: contender.name.clone(),
            device: contender.device.clone(),
            packed_before,
            wall_s: Spread { median: wall_s, min, max },
            cpu_s,
            docs_per_s,
            docs_per_cpu_s,
            edges_per_doc: totals.n_edges as f64 / n_items,
            edge_updates_per_s: totals.n_edge_updates as f64 / wall_s.max(SHORTEST),
            alternations_per_doc: totals.n_alternations as f64 / n_items,
            elbo_mean,
            elbo_difference: elbo_mean - first_elbo,
            difference,
            answers_agree,
            speedup: answers_agree.then_some(speedup),
            on_device: spent.map(|(device, host)| OnDevice {
                route: contender.estep.route().map(Route::name),
                units: Units {
                    edges: totals.n_edges,
                    edge_updates: totals.n_edge_updates,
                    searched: host.n_searched,
                },
                ..OnDevice::new(device, host, wall_s)
            }),
        }
    }
}

impl OnDevice {
    pub(super) fn new(device: Spent, host: HostSpent, wall_s: f64) -> Self {
        let known: Option<Vec<f64>> = device.kernels.iter().map(|&(_, _, seconds)| seconds).collect();
        let (kernel_times, kernel_s) = match known {
            Some(seconds) => (KernelTimes::Device, seconds.iter().sum()),
            None => (KernelTimes::Wall, device.wait_s),
        };
        let kernel = |(name, dispatches, seconds)| KernelSpent { name, dispatches, seconds };
        Self {
            route: None,
            units: Units::default(),
            pack_s: host.pack_s,
            starved_s: host.starved_s,
            upload_s: device.upload_s,
            submit_s: device.submit_s,
            kernel_s,
            kernel_times,
            wait_s: device.wait_s,
            readback_s: device.readback_s,
            busy: kernel_s / wall_s.max(SHORTEST),
            upload_bytes: device.upload_bytes,
            readback_bytes: device.readback_bytes,
            chunks: host.n_chunks,
            chunks_cached: host.n_cached,
            chunks_resident: host.n_resident,
            steps: device.n_steps,
            kernels: device.kernels.into_iter().map(kernel).collect(),
        }
    }
}
