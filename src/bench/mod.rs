//! E-step throughput of several backends on the same documents. Speed counts only where the answers are the same: a backend
//! whose bound, q or gradient sums differ from the first one's gets no speed-up.

mod answers;
mod doctor;
mod model;
mod on_ranks;
mod report;
#[cfg(test)]
mod tests;

pub use answers::{Difference, MAX_BOUND_DIFFERENCE, MAX_Q_DIFFERENCE, MAX_SUMS_DIFFERENCE};
pub use doctor::{Card, Cause, Diagnosis, Doctor, Finding, KernelFigure, diagnose};
pub use model::{BYTES_PER_UNIT, Modelled, Unit};
pub use on_ranks::{RanksReport, bench_ranks};
pub use report::{KernelSpent, KernelTimes, OnDevice, Report, Row, Speedup, Spread, Units};

use crate::error::{Error, Result};
use crate::estep::cpu::CpuEStep;
use crate::estep::device::{DeviceEStep, HostSpent, Machine, Route, Spent};
use crate::estep::{EStep, Stats, Work};
use answers::Answers;
use cpu_time::ProcessTime;
use std::time::Instant;

/// A backend that can be measured. What is here by default fits one without a device.
pub trait Measured: EStep {
    /// Whether it keeps packed documents, so that a second run need not pack them.
    fn keeps_packed(&self) -> bool {
        false
    }

    /// Forgets the packed documents that it keeps.
    fn forget_packed(&mut self) {}

    /// How documents go through its kernels, where that is known.
    fn route(&self) -> Option<Route> {
        None
    }

    /// What its device spent since the last call.
    fn take_spent(&mut self) -> Option<(Spent, HostSpent)> {
        None
    }
}

impl Measured for CpuEStep {}

impl<M: Machine> Measured for DeviceEStep<M> {
    fn keeps_packed(&self) -> bool {
        true
    }

    fn forget_packed(&mut self) {
        DeviceEStep::forget_packed(self);
    }

    fn route(&self) -> Option<Route> {
        DeviceEStep::route(self)
    }

    fn take_spent(&mut self) -> Option<(Spent, HostSpent)> {
        Some(DeviceEStep::take_spent(self))
    }
}

/// A backend under its name.
pub struct Contender {
    /// Its name in the report.
    pub name: String,
    /// What it computes on, for people.
    pub device: String,
    /// The backend.
    pub estep: Box<dyn Measured>,
}

/// One timed run.
struct Run {
    wall_s: f64,
    cpu_s: f64,
    /// Scalars alone.
    totals: Stats,
    spent: Option<(Spent, HostSpent)>,
}

impl Run {
    fn of(estep: &mut dyn Measured, work: &Work<'_>) -> Result<Self> {
        estep.take_spent();
        let (cpu, wall) = (ProcessTime::now(), Instant::now());
        let stats = estep.run(work, None)?;
        let (wall_s, cpu_s) = (wall.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64());
        let mut totals = Stats::default();
        totals.add_totals(&stats);
        Ok(Self { wall_s, cpu_s, totals, spent: estep.take_spent() })
    }
}

/// Whether the runs of a backend find their documents packed: a backend that keeps them is measured both ways.
fn ways(contender: &Contender) -> &'static [bool] {
    if contender.estep.keeps_packed() { &[false, true] } else { &[false] }
}

/// How often [`bench()`] runs the E-step.
pub fn n_runs(contenders: &[Contender], n_repeats: usize) -> usize {
    contenders.iter().map(|contender| 1 + n_repeats * ways(contender).len()).sum()
}

/// Measures every backend: a warm-up that is not timed and gives q, then repeats, in which the backends take turns so that a
/// machine that slows down does so for all of them. `tell` hears what runs.
pub fn bench(
    work: &Work<'_>,
    n_repeats: usize,
    contenders: &mut [Contender],
    tell: &mut dyn FnMut(&str),
) -> Result<Report> {
    if n_repeats == 0 {
        return Err(Error::Usage("`repeat` must be at least 1; it is 0".into()));
    }
    if work.items.is_empty() {
        return Err(Error::Usage("there are no documents to measure on".into()));
    }
    let mut answers = Vec::new();
    for contender in contenders.iter_mut() {
        tell(&format!("warming up {}", contender.name));
        answers.push(Answers::of(contender.estep.as_mut(), work)?);
    }
    let mut measured: Vec<(usize, bool, Vec<Run>)> = Vec::new();
    for (at, contender) in contenders.iter().enumerate() {
        measured.extend(ways(contender).iter().map(|&packed_before| (at, packed_before, Vec::new())));
    }
    for repeat in 1..=n_repeats {
        for (at, packed_before, runs) in &mut measured {
            let Contender { name, estep, .. } = &mut contenders[*at];
            if !*packed_before {
                tell(&format!("run {repeat} of {n_repeats}: {name}"));
                estep.forget_packed();
            }
            runs.push(Run::of(estep.as_mut(), work)?);
        }
    }
    let mut rows: Vec<Row> = Vec::new();
    for (at, packed_before, runs) in measured {
        let difference = answers[at].difference(&answers[0]);
        rows.push(Row::new(&contenders[at], packed_before, runs, difference, rows.first()));
    }
    Ok(Report {
        docs: work.items.len(),
        bound: work.options.bound,
        gradients: work.gradients,
        repeat: n_repeats,
        answers_agree: rows.iter().all(|row| row.answers_agree),
        rows,
    })
}
