//! Traffic and dispatches of whole E-steps, exactly: a change of a kernel, of the lists of rows or of the sequence of dispatches shows.

use super::*;
use crate::meter::{CARDS, Phase, Table, Tally};
use noisyor::estep::device::Route;
use noisyor::estep::device::twin::TwinMachine;
use std::fmt::Write;

/// What was counted when somebody last looked at it. A test that fails prints its lines as they are now; if the change is wanted, they
/// belong here. (In brackets, to be read: bytes from L2 per unit of work.)
const EXPECTED: &str = "
dblp 10 Greedy Stream Search: 1046499 units, 1324 dispatches
    81585144 distinct bytes
    waves of 32: 208221120 requested, 137805536 from L2 (131.7)
    waves of 64: 172957344 requested, 138110272 from L2 (132.0)
dblp 10 Greedy Stream Alternations: 38611 units, 12 dispatches
    2672916 distinct bytes
    waves of 32: 5209056 requested, 3815040 from L2 (98.8)
    waves of 64: 4362528 requested, 3895392 from L2 (100.9)
dblp 10 Greedy Stream Once: 13771 units, 8 dispatches
    1737544 distinct bytes
    waves of 32: 4733536 requested, 3553792 from L2 (258.1)
    waves of 64: 4347456 requested, 4052448 from L2 (294.3)
dblp 10 Greedy LargeBins Search: 1046499 units, 22 dispatches
    6597252 distinct bytes
    waves of 32: 210969600 requested, 109455488 from L2 (104.6)
    waves of 64: 173636320 requested, 123541248 from L2 (118.1)
dblp 10 Greedy LargeBins Alternations: 38611 units, 1 dispatches
    729896 distinct bytes
    waves of 32: 3015328 requested, 2285568 from L2 (59.2)
    waves of 64: 2790144 requested, 2263904 from L2 (58.6)
dblp 10 Greedy LargeBins Once: 13771 units, 8 dispatches
    1737664 distinct bytes
    waves of 32: 4739616 requested, 3563360 from L2 (258.8)
    waves of 64: 4351680 requested, 4056160 from L2 (294.5)
dblp 60 Plain Flat Alternations: 1355617 units, 84 dispatches
    85048100 distinct bytes
    waves of 32: 506828192 requested, 407930496 from L2 (300.9)
    waves of 64: 494934592 requested, 490798176 from L2 (362.0)
dblp 60 Plain Flat Once: 114102 units, 8 dispatches
    12301652 distinct bytes
    waves of 32: 65396384 requested, 54055104 from L2 (473.7)
    waves of 64: 63624384 requested, 62966112 from L2 (551.8)
dblp 60 Plain Stream Alternations: 1355617 units, 84 dispatches
    87166884 distinct bytes
    waves of 32: 176845792 requested, 128161536 from L2 (94.5)
    waves of 64: 147573664 requested, 132290624 from L2 (97.6)
dblp 60 Plain Stream Once: 114102 units, 8 dispatches
    12627044 distinct bytes
    waves of 32: 28661792 requested, 22578112 from L2 (197.9)
    waves of 64: 25573952 requested, 23334240 from L2 (204.5)
dblp 60 Plain SmallBins Alternations: 1355617 units, 88 dispatches
    77021256 distinct bytes
    waves of 32: 165618496 requested, 120236288 from L2 (88.7)
    waves of 64: 139523040 requested, 124392768 from L2 (91.8)
dblp 60 Plain SmallBins Once: 114102 units, 8 dispatches
    12627548 distinct bytes
    waves of 32: 28691840 requested, 22574432 from L2 (197.8)
    waves of 64: 25598208 requested, 23350784 from L2 (204.6)
dblp 60 Plain LargeBins Alternations: 1355617 units, 55 dispatches
    24128816 distinct bytes
    waves of 32: 107359968 requested, 80660032 from L2 (59.5)
    waves of 64: 98189760 requested, 80504704 from L2 (59.4)
dblp 60 Plain LargeBins Once: 114102 units, 8 dispatches
    12627644 distinct bytes
    waves of 32: 28670112 requested, 22544096 from L2 (197.6)
    waves of 64: 25567104 requested, 23320416 from L2 (204.4)
sample 200 Greedy Stream Search: 162988 units, 464 dispatches
    23180884 distinct bytes
    waves of 32: 67312224 requested, 56550144 from L2 (347.0)
    waves of 64: 64239168 requested, 59606592 from L2 (365.7)
sample 200 Greedy Stream Alternations: 40996 units, 128 dispatches
    2563980 distinct bytes
    waves of 32: 5479200 requested, 4663936 from L2 (113.8)
    waves of 64: 5107776 requested, 4735744 from L2 (115.5)
sample 200 Greedy Stream Once: 10237 units, 9 dispatches
    2315116 distinct bytes
    waves of 32: 7949888 requested, 6600096 from L2 (644.7)
    waves of 64: 7517344 requested, 7375808 from L2 (720.5)
sample 200 Greedy LargeBins Search: 162988 units, 4 dispatches
    1826200 distinct bytes
    waves of 32: 72188576 requested, 44438176 from L2 (272.6)
    waves of 64: 67934816 requested, 54012128 from L2 (331.4)
sample 200 Greedy LargeBins Alternations: 40996 units, 2 dispatches
    553020 distinct bytes
    waves of 32: 5206752 requested, 3974720 from L2 (97.0)
    waves of 64: 4866080 requested, 4185024 from L2 (102.1)
sample 200 Greedy LargeBins Once: 10237 units, 9 dispatches
    2315140 distinct bytes
    waves of 32: 7946624 requested, 6596128 from L2 (644.3)
    waves of 64: 7515808 requested, 7376352 from L2 (720.6)
sample 200 Plain Flat Alternations: 67552 units, 192 dispatches
    4180280 distinct bytes
    waves of 32: 16007744 requested, 10904320 from L2 (161.4)
    waves of 64: 15553536 requested, 15099584 from L2 (223.5)
sample 200 Plain Flat Once: 10237 units, 9 dispatches
    2155940 distinct bytes
    waves of 32: 8707616 requested, 6697632 from L2 (654.3)
    waves of 64: 8295328 requested, 8216096 from L2 (802.6)
sample 200 Plain Stream Alternations: 67552 units, 192 dispatches
    4347992 distinct bytes
    waves of 32: 9139776 requested, 7786912 from L2 (115.3)
    waves of 64: 8510016 requested, 7891744 from L2 (116.8)
sample 200 Plain Stream Once: 10237 units, 9 dispatches
    2270612 distinct bytes
    waves of 32: 7126336 requested, 5956608 from L2 (581.9)
    waves of 64: 6731648 requested, 6591200 from L2 (643.9)
sample 200 Plain SmallBins Alternations: 67552 units, 3 dispatches
    567600 distinct bytes
    waves of 32: 7653280 requested, 6022432 from L2 (89.2)
    waves of 64: 7242976 requested, 6255232 from L2 (92.6)
sample 200 Plain SmallBins Once: 10237 units, 9 dispatches
    2270780 distinct bytes
    waves of 32: 7124288 requested, 5952864 from L2 (581.5)
    waves of 64: 6733792 requested, 6589248 from L2 (643.7)
sample 200 Plain LargeBins Alternations: 67552 units, 3 dispatches
    595184 distinct bytes
    waves of 32: 8236512 requested, 6077408 from L2 (90.0)
    waves of 64: 7690240 requested, 6414528 from L2 (95.0)
sample 200 Plain LargeBins Once: 10237 units, 9 dispatches
    2270636 distinct bytes
    waves of 32: 7123072 requested, 5952640 from L2 (581.5)
    waves of 64: 6730112 requested, 6591744 from L2 (643.9)
yelp 30 Plain Stream Alternations: 1762388 units, 144 dispatches
    125331112 distinct bytes
    waves of 32: 229024352 requested, 172308928 from L2 (97.8)
    waves of 64: 193519360 requested, 165876064 from L2 (94.1)
yelp 30 Plain Stream Once: 83282 units, 8 dispatches
    10774152 distinct bytes
    waves of 32: 23335936 requested, 18771424 from L2 (225.4)
    waves of 64: 21245760 requested, 19682720 from L2 (236.3)
yelp 30 Plain LargeBins Alternations: 1762388 units, 108 dispatches
    43773408 distinct bytes
    waves of 32: 158376800 requested, 120923648 from L2 (68.6)
    waves of 64: 143390336 requested, 118908352 from L2 (67.5)
yelp 30 Plain LargeBins Once: 83282 units, 8 dispatches
    10774752 distinct bytes
    waves of 32: 23337728 requested, 18711936 from L2 (224.7)
    waves of 64: 21246304 requested, 19681536 from L2 (236.3)
";

/// A case's lines of the table.
fn lines(name: &str, n_docs: u64, start: Start, route: Route) -> String {
    let case = if name == "sample" { Case::sample(n_docs as usize) } else { Case::preset(name, n_docs) };
    let case = case.options(EStepOptions { start, ..EStepOptions::default() }).by(route);
    let mut estep = untroubled(MeterMachine::new(), &case.device);
    let ran = case.on(&mut estep);
    assert_agree(name, &case.on_twins(), &ran);
    let table = Table::take(&mut estep, &ran.stats);
    println!("{name}, {n_docs} documents, {start:?} start, {}\n{table}", route.name());
    let mut lines = String::new();
    for phase in Phase::ALL.into_iter().filter(|phase| table.rows(*phase).next().is_some()) {
        let (total, units) = (table.total(phase), table.units(phase));
        let _ = writeln!(
            lines,
            "{name} {n_docs} {start:?} {route:?} {phase:?}: {units} units, {} dispatches",
            total.dispatches
        );
        let _ = writeln!(lines, "    {} distinct bytes", total.distinct);
        for (card, Tally { requested, from_l2, .. }) in CARDS.iter().zip(total.tallies) {
            let _ = write!(lines, "    waves of {}: {requested} requested, {from_l2} from L2", card.wave);
            let _ = writeln!(lines, " ({:.1})", from_l2 as f64 / units as f64);
        }
    }
    lines
}

fn assert_expected(name: &str, n_docs: u64, start: Start, routes: &[Route]) {
    let found: String = routes.iter().map(|&route| lines(name, n_docs, start, route)).collect();
    assert!(EXPECTED.contains(&found), "traffic is not what it was (EXPECTED), but\n{found}");
}

#[test]
fn traffic_of_the_sample_from_a_plain_start() {
    assert_expected("sample", 200, Start::Plain, &Route::ALL);
}

#[test]
fn traffic_of_the_sample_from_a_search() {
    assert_expected("sample", 200, Start::Greedy, &[Route::Stream, Route::LargeBins]);
}

#[test]
fn traffic_of_dblp_from_a_plain_start() {
    assert_expected("dblp", 60, Start::Plain, &Route::ALL);
}

#[test]
fn traffic_of_dblp_from_a_search() {
    assert_expected("dblp", 10, Start::Greedy, &[Route::Stream, Route::LargeBins]);
}

#[test]
fn traffic_of_yelp_from_a_plain_start() {
    assert_expected("yelp", 30, Start::Plain, &[Route::Stream, Route::LargeBins]);
}

/// Of an update in `EXPECTED`, over both cards: bytes from L2 at most.
#[test]
fn batches_take_at_most_110_bytes_an_update_and_bins_70() {
    for (route, most) in [(Route::Stream, 110.0), (Route::LargeBins, 70.0)] {
        for name in ["dblp 60", "yelp 30"] {
            let title = format!("{name} Plain {route:?} Alternations");
            let (_, behind) = EXPECTED.split_once(&title).unwrap();
            let bytes = behind.lines().skip(2).take(CARDS.len()).map(|line| {
                let bytes = line.split_once('(').unwrap().1.trim_end_matches(')');
                bytes.parse::<f64>().unwrap()
            });
            bytes.for_each(|bytes| assert!(bytes <= most, "{title}: {bytes}"));
        }
    }
}

/// Dispatches of an E-step of the whole sample, with the sums.
#[test]
fn the_sample_takes_few_dispatches_in_bins() {
    let n_docs = noisyor::corpus::sample_corpus().unwrap().n_docs();
    for (start, n_dispatches) in [(Start::Plain, 14), (Start::Greedy, 18)] {
        let options = EStepOptions { start, ..EStepOptions::default() };
        let case = Case::sample(n_docs).options(options).by(Route::LargeBins);
        let mut estep = untroubled(TwinMachine::new(), &case.device);
        case.on(&mut estep);
        let kernels = estep.take_spent().0.kernels;
        assert_eq!(
            kernels.iter().map(|kernel| kernel.1).sum::<u64>(),
            n_dispatches,
            "{start:?}: {kernels:?}"
        );
    }
}
