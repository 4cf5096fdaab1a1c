//! What was counted, per unit of work.

use super::{CARDS, Counted, MeterMachine, Tally};
use noisyor::estep::Stats;
use noisyor::estep::device::{DeviceEStep, KERNELS, Lanes};
use std::fmt;

/// Kernels that do the same work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Rounds of a search; the unit is a positive edge of a document that searches, a round.
    Search,
    /// Alternations; the unit is a positive edge of a document at work, an alternation.
    Alternations,
    /// What runs once a start; the unit is a positive edge.
    Once,
}

impl Phase {
    pub const ALL: [Self; 3] = [Self::Search, Self::Alternations, Self::Once];

    fn of(kernel: &str) -> Self {
        match kernel {
            "flip_terms" | "flip_gain" | "flip_chain" | "flip_best" | "search" => Self::Search,
            "init_q" | "init_r" | "node_bound" | "doc_bound" | "keep" | "restore" | "gradient"
            | "edge_sums" | "node_sums" => Self::Once,
            // So that a new kernel is seen here.
            _ => Self::Alternations,
        }
    }
}

/// An E-step, counted.
#[derive(Debug, Clone)]
pub struct Table {
    rows: Vec<Counted>,
    /// By phase.
    units: [u64; 3],
}

impl Table {
    /// Takes what a machine has counted in an E-step that ended with these sums.
    pub fn take(estep: &mut DeviceEStep<MeterMachine>, stats: &Stats) -> Self {
        let (mut rows, searched) = estep.machine().take_counted();
        let place = |name: &str| KERNELS.iter().position(|kernel| kernel.name == name);
        rows.sort_by_key(|row| (place(row.kernel), row.lanes));
        Self { rows, units: [searched, stats.n_edge_updates, stats.n_edges] }
    }

    /// Units of work of a phase.
    pub fn units(&self, phase: Phase) -> u64 {
        self.units[phase as usize]
    }

    /// A phase's kernels.
    pub fn rows(&self, phase: Phase) -> impl Iterator<Item = &Counted> {
        self.rows.iter().filter(move |row| Phase::of(row.kernel) == phase)
    }

    /// A phase's sums.
    pub fn total(&self, phase: Phase) -> Counted {
        let mut total = Counted::new("all", Lanes::Thread);
        for row in self.rows(phase) {
            total.dispatches += row.dispatches;
            total.distinct += row.distinct;
            total.tallies.iter_mut().zip(&row.tallies).for_each(|(sum, tally)| *sum += *tally);
        }
        total
    }
}

fn write_row(f: &mut fmt::Formatter<'_>, row: &Counted, lanes: &str, units: u64) -> fmt::Result {
    let per = |bytes: u64| bytes as f64 / units.max(1) as f64;
    write!(f, "{:12} {lanes:8} {:10} {:9.1}", row.kernel, row.dispatches, per(row.distinct))?;
    for Tally { instructions, lanes, requested, from_l2 } in row.tallies {
        let (lanes, share) =
            (lanes as f64 / instructions.max(1) as f64, row.distinct as f64 / from_l2 as f64);
        write!(f, " | {lanes:5.1} {:9.1} {:9.1} {:5.0} %", per(requested), per(from_l2), 100.0 * share)?;
    }
    writeln!(f)
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:41}", "bytes per unit")?;
        CARDS.iter().try_for_each(|card| write!(f, " | {:33}", format!("waves of {}", card.wave)))?;
        write!(f, "\n{:12} {:8} {:>10} {:>9}", "kernel", "rows", "dispatches", "distinct")?;
        for _ in CARDS {
            write!(f, " | {:>5} {:>9} {:>9} {:>7}", "lanes", "requested", "from L2", "of it")?;
        }
        writeln!(f)?;
        for phase in Phase::ALL {
            let (units, total) = (self.units(phase), self.total(phase));
            if total.dispatches == 0 {
                continue;
            }
            let unit = match phase {
                Phase::Search => "search, per positive edge that is searched and round",
                Phase::Alternations => "alternations, per update: positive edge and alternation",
                Phase::Once => "once, per positive edge",
            };
            writeln!(f, "{unit} ({units})")?;
            for row in self.rows(phase) {
                write_row(f, row, &format!("{:?}", row.lanes), units)?;
            }
            write_row(f, &total, "", units)?;
        }
        Ok(())
    }
}
