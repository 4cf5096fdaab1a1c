//! What a run on a device achieved beside what its kernels should move, and the likely causes of a shortfall.

use super::model;
use super::{KernelTimes, OnDevice, Row};
use crate::estep::EStepOptions;
use crate::estep::device::Route;
use serde::Serialize;

/// Share of the wall time above which the host is what the device waits for.
const MUCH_OF_WALL: f64 = 0.3;
/// Seconds of a dispatch below which starting it takes about as long.
const SHORT_DISPATCH: f64 = 20e-6;
/// Share of the kernel time above which short dispatches matter.
const MANY_SHORT: f64 = 0.5;
/// Share of the wall time below which the device is idle.
const IDLE: f64 = 0.6;
/// Share of the copy bandwidth below which a kernel is slow.
const SLOW: f64 = 0.3;
/// Share of the kernel time from which on a slow kernel matters.
const MATTERS: f64 = 0.1;

/// What is known of the device.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Card {
    /// Whether it is a GPU, not software.
    pub is_hardware: bool,
    /// Bytes read and written per second by copies from buffer to buffer.
    pub copy_bytes_per_s: f64,
}

/// A kernel's figures, or those of several that share their work.
#[derive(Debug, Clone, Serialize)]
pub struct KernelFigure {
    /// Its name.
    pub name: &'static str,
    /// How often it was dispatched.
    pub dispatches: u64,
    /// Seconds, where they are known.
    pub seconds: Option<f64>,
    /// Share of the time of all kernels.
    pub share: Option<f64>,
    /// Seconds of a dispatch, in the mean.
    pub dispatch_s: Option<f64>,
    /// Bytes that it should move, where that is known.
    pub modelled_bytes: Option<f64>,
    /// The same per second.
    pub bytes_per_s: Option<f64>,
    /// The same beside what copies reach.
    pub share_of_copy: Option<f64>,
}

/// What makes a run slow, or its figures of little use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The device is software.
    Software,
    /// Kernels could not be timed.
    NoTimestamps,
    /// The device waits for packed documents.
    Packing,
    /// The device waits for what is written to it.
    Uploads,
    /// Kernels end almost as soon as they begin.
    ShortDispatches,
    /// Documents do not go through bins of 32 KB.
    Route,
    /// The device has nothing to do, for another reason.
    Idle,
    /// Kernels move their bytes slowly.
    SlowKernels,
}

/// A likely cause.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// Which one.
    pub cause: Cause,
    /// What was seen.
    pub seen: String,
    /// What to do.
    pub remedy: String,
}

/// What is to say of a row.
#[derive(Debug, Clone, Serialize)]
pub struct Diagnosis {
    /// Whether it found the documents packed by an earlier run.
    pub packed_before: bool,
    /// Kernel by kernel, in the order in which they first ran.
    pub kernels: Vec<KernelFigure>,
    /// Likely causes of a shortfall, the most important first; none where nothing stands out.
    pub findings: Vec<Finding>,
}

/// What is to say of all rows.
#[derive(Debug, Clone, Serialize)]
pub struct Doctor {
    /// The device.
    #[serde(flatten)]
    pub card: Card,
    /// The rows of the GPU, in their order.
    pub rows: Vec<Diagnosis>,
}

/// Judges a row; none if it is not of a device.
pub fn diagnose(row: &Row, options: &EStepOptions, card: &Card) -> Option<Diagnosis> {
    let run = row.on_device.as_ref()?;
    let kernels = figures(run, options, card);
    let findings = findings(row.wall_s.median, run, &kernels, card);
    Some(Diagnosis { packed_before: row.packed_before, kernels, findings })
}

fn figures(run: &OnDevice, options: &EStepOptions, card: &Card) -> Vec<KernelFigure> {
    let route = Route::ALL.into_iter().find(|route| run.route == Some(route.name()));
    // Name, dispatches, seconds where all are known.
    let mut rows: Vec<(&'static str, u64, Option<f64>)> = Vec::new();
    for kernel in &run.kernels {
        let name = model::row_of(route, kernel.name);
        match rows.iter_mut().find(|row| row.0 == name) {
            None => rows.push((name, kernel.dispatches, kernel.seconds)),
            Some((_, dispatches, seconds)) => {
                *dispatches += kernel.dispatches;
                *seconds = seconds.zip(kernel.seconds).map(|(a, b)| a + b);
            }
        }
    }
    let figure = |(name, dispatches, seconds): (_, u64, Option<f64>)| {
        let modelled_bytes = route.and_then(|route| model::bytes(route, name, &run.units, options));
        // A clock too coarse for a kernel says nothing of its speed.
        let timed = seconds.filter(|seconds| *seconds > 0.0);
        let bytes_per_s = modelled_bytes.zip(timed).map(|(bytes, seconds)| bytes / seconds);
        KernelFigure {
            name,
            dispatches,
            seconds,
            share: timed.map(|seconds| seconds / run.kernel_s),
            dispatch_s: seconds.map(|seconds| seconds / dispatches.max(1) as f64),
            modelled_bytes,
            bytes_per_s,
            share_of_copy: bytes_per_s.map(|rate| rate / card.copy_bytes_per_s),
        }
    };
    rows.into_iter().map(figure).collect()
}

fn findings(wall_s: f64, run: &OnDevice, kernels: &[KernelFigure], card: &Card) -> Vec<Finding> {
    let mut list = Vec::new();
    let mut add = |cause, seen, remedy: &str| list.push(Finding { cause, seen, remedy: remedy.to_owned() });
    if !card.is_hardware {
        // Host and device are the same processor: no other figure means what it would on a card.
        add(
            Cause::Software,
            "the adapter is software".to_owned(),
            "these figures tell whether answers are right, not how fast a card is; choose a card with `device`",
        );
        return list;
    }
    let percent = |part: f64, of: f64| format!("{:.0} %", 100.0 * part / of);
    if run.kernel_times == KernelTimes::Wall {
        add(
            Cause::NoTimestamps,
            "the adapter has no timestamps: kernels are not timed one by one".to_owned(),
            "take another driver or API where there is one (noisyor devices), or the maker's profiler",
        );
    }
    let is_starved = run.starved_s > MUCH_OF_WALL * wall_s;
    if is_starved {
        add(
            Cause::Packing,
            format!("{} of the time went into waiting for packed documents", percent(run.starved_s, wall_s)),
            "this is the first epoch alone: the row packed before or resident is that of the others; \
             more `threads`, or `docs` that take longer",
        );
    }
    let uploads = run.upload_s > MUCH_OF_WALL * wall_s;
    if uploads {
        add(
            Cause::Uploads,
            format!("{} of the time went into writing to the device", percent(run.upload_s, wall_s)),
            "raise `device_mb`, so that packed documents stay on the device",
        );
    }
    let is_short = |kernel: &&KernelFigure| kernel.dispatch_s.is_some_and(|mean| mean < SHORT_DISPATCH);
    let short_s: f64 = kernels.iter().filter(is_short).filter_map(|kernel| kernel.seconds).sum();
    if short_s > MANY_SHORT * run.kernel_s {
        add(
            Cause::ShortDispatches,
            format!(
                "{} of the kernel time is in kernels whose dispatches take less than 20 microseconds",
                percent(short_s, run.kernel_s)
            ),
            "too few documents a run, or a tail of slow ones: more `docs`, or a smaller `max_alternations`",
        );
    }
    if let Some(route) = run.route.filter(|route| *route != Route::LargeBins.name()) {
        add(
            Cause::Route,
            format!("documents go through the kernels by the route {route}"),
            "a card should have 32 KB of workgroup memory: `route` 32kb-bins compares it, or says that it has less",
        );
    }
    if run.kernel_times == KernelTimes::Device && run.busy < IDLE && !is_starved && !uploads {
        add(
            Cause::Idle,
            format!("kernels ran in {:.0} % of the time", 100.0 * run.busy),
            "compare submit, wait and readback above; more `docs` give larger chunks",
        );
    }
    let slow = kernels.iter().filter(|kernel| kernel.share.is_some_and(|share| share >= MATTERS));
    let slow: Vec<String> = slow
        .filter_map(|kernel| Some((kernel.name, kernel.share_of_copy.filter(|share| *share < SLOW)?)))
        .map(|(name, share)| format!("{name} ({:.0} %)", 100.0 * share))
        .collect();
    if !slow.is_empty() {
        add(
            Cause::SlowKernels,
            format!("of the bandwidth of copies little is reached by {}", slow.join(", ")),
            "compare registers and waves of the card's family (scripts/gpu-isa.sh), and cache misses in the maker's profiler",
        );
    }
    list
}

#[cfg(test)]
mod tests;
