//! Every kernel in the interpreter, to the bit as its twin.

use super::*;
use crate::parity::kernels::{STATE, at_the_floor, dispatches, load, mixed_rows, words};
use noisyor::estep::Params;
use noisyor::estep::device::twin::TwinMachine;
use noisyor::estep::device::{Array, DispatchPlan, KERNELS, Kernel, Lanes, Route};
use std::collections::{BTreeMap, BTreeSet};

/// Where a twin computes the same in another order, and how: line in the shader, line as in the twin.
const ORDERS: [(&str, &str); 1] = [
    // x log2(e) is rounded to an integer in one go, without being rounded to f32 before.
    ("let n = round(x * -LOG2_E);", "let n = fma(x, -LOG2_E, 12582912.0) - 12582912.0;"),
];

fn as_the_twins(kernel: &Kernel, lanes: Lanes) -> String {
    ORDERS.iter().fold(kernel.source(lanes), |source, (shader, twin)| source.replace(shader, twin))
}

/// Runs a case's dispatches one by one on both machines; which kernels ran, with which lanes.
fn assert_same(case: &Case, n_alternations: u32) -> BTreeSet<(&'static str, Lanes)> {
    let (chunks, graph) = (case.chunks(), &case.network.graph);
    let params = Params::derive(graph, &case.network.weights, case.options.bound).unwrap();
    let plan = DispatchPlan::new(graph, params.n_levels, &case.options, true, true);
    let plan =
        DispatchPlan { pieces: case.options.clamp > 0, route: case.device.route.unwrap_or_default(), ..plan };
    let (twins, metered) = (&mut TwinMachine::new(), &mut MeterMachine::of(as_the_twins));
    load(twins, case, &plan, &chunks[0]);
    load(metered, case, &plan, &chunks[0]);
    let sizes: BTreeMap<Array, usize> = plan.array_bytes(&chunks[0]).into_iter().collect();
    let mut seen = BTreeSet::new();
    for dispatch in dispatches(&plan, &chunks[0], n_alternations).into_iter().chain(plan.finish(&chunks[0])) {
        seen.insert((dispatch.kernel.name, dispatch.lanes));
        let (expected, found) = (words(twins, &[dispatch], &sizes), words(metered, &[dispatch], &sizes));
        for ((array, expected), found) in STATE.into_iter().zip(&expected).zip(&found) {
            let pairs = expected.iter().zip(found).map(|(&expected, &found)| (expected, found));
            let name = format!("{}, {:?} rows, {}", dispatch.kernel.name, dispatch.lanes, array.name());
            let unlike = pairs.clone().position(|(a, b)| a != b);
            assert_eq!(unlike, None, "{name}: the first word that is not the same");
        }
    }
    seen
}

#[test]
fn every_kernel_computes_what_its_twin_computes_to_the_bit() {
    let options = |start, clamp| EStepOptions { start, clamp, ..EStepOptions::default() };
    let mut seen = BTreeSet::new();
    for route in Route::ALL {
        seen.extend(assert_same(&mixed_rows().options(options(Start::Best, 0)).by(route), 6));
    }
    seen.extend(assert_same(&mixed_rows().options(options(Start::Best, 1)), 2));
    seen.extend(assert_same(&at_the_floor().options(options(Start::Plain, 0)), 6));
    for kernel in KERNELS {
        for &lanes in kernel.lanes() {
            assert!(seen.remove(&(kernel.name, lanes)), "{kernel:?} never ran with {lanes:?} rows");
        }
    }
}

#[test]
fn twins_compute_in_another_order_in_few_places() {
    for (shader, _) in ORDERS {
        let of = |kernel: &&Kernel| kernel.lanes().iter().all(|&lanes| kernel.source(lanes).contains(shader));
        assert!(KERNELS.iter().any(of), "no kernel has the line '{shader}' any more");
    }
}
