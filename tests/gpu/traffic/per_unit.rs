//! The bytes per unit that `noisyor bench --doctor` goes by are those that are counted here.

use super::*;
use crate::meter::{Phase, Table};
use noisyor::bench::{BYTES_PER_UNIT, Modelled, Unit};
use noisyor::estep::device::Route;
use std::fmt::Write;

/// An E-step of documents of `dblp`.
fn counted(n_docs: u64, start: Start, route: Route) -> Table {
    let case = Case::preset("dblp", n_docs).options(EStepOptions { start, ..EStepOptions::default() });
    let case = case.by(route);
    let mut estep = untroubled(MeterMachine::new(), &case.device);
    let stats = case.on(&mut estep).stats;
    let table = Table::take(&mut estep, &stats);
    assert_eq!(estep.take_spent().1.n_searched, table.units(Phase::Search), "edges that searched");
    table
}

/// Bytes from L2 of waves of 32 per unit, to one decimal, of a row of the table; none if none of its kernels ran.
fn per_unit(tables: &[Table; 2], modelled: &Modelled) -> Option<f64> {
    let (phase, table) = match modelled.unit {
        Unit::Searched => (Phase::Search, &tables[0]),
        Unit::EdgeUpdate => (Phase::Alternations, &tables[1]),
        Unit::Edge | Unit::SummedEdge => (Phase::Once, &tables[1]),
    };
    // In bins a phase is a row.
    let in_bins = table.rows(phase).any(|row| matches!(row.kernel, "search" | "alternate"));
    let is_part = |kernel: &str| match modelled.name {
        "search" | "alternations" => in_bins,
        name => !in_bins && kernel == name,
    };
    let rows: Vec<u64> =
        table.rows(phase).filter(|row| is_part(row.kernel)).map(|row| row.tallies[0].from_l2).collect();
    let bytes = rows.iter().sum::<u64>() as f64 / table.units(phase) as f64;
    (!rows.is_empty()).then_some((10.0 * bytes).round() / 10.0)
}

#[test]
fn bytes_per_unit_are_those_of_the_doctor() {
    let tables = Route::ALL
        .map(|route| [(10, Start::Greedy), (60, Start::Plain)].map(|(n, start)| counted(n, start, route)));
    let mut found = String::new();
    for modelled in &BYTES_PER_UNIT {
        let bytes = [0, 1, 2, 3].map(|route: usize| per_unit(&tables[route], modelled));
        let row = Modelled { bytes, ..*modelled };
        let _ = writeln!(found, "{row:?},");
    }
    let expected: String = BYTES_PER_UNIT.iter().map(|modelled| format!("{modelled:?},\n")).collect();
    assert_eq!(expected, found, "BYTES_PER_UNIT (src/bench/model.rs) should be\n{found}");
}
