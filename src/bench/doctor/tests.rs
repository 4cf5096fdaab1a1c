//! Made-up rows.

use super::*;
use crate::bench::{BYTES_PER_UNIT, Difference, KernelSpent, Spread, Units};

const CARD: Card = Card { is_hardware: true, copy_bytes_per_s: 100e9 };

/// A second on a card, in bins of 32 KB, in which nothing stands out.
fn good() -> Row {
    let difference = Difference { q_mean: 0.0, q_quantile_999: 0.0, sums: 0.0 };
    let kernel = |name, dispatches, seconds| KernelSpent { name, dispatches, seconds: Some(seconds) };
    Row {
        backend: "gpu".into(),
        device: "card".into(),
        packed_before: true,
        wall_s: Spread { median: 1.0, min: 1.0, max: 1.0 },
        cpu_s: 0.1,
        docs_per_s: 1.0,
        docs_per_cpu_s: 1.0,
        edges_per_doc: 1.0,
        edge_updates_per_s: 1.0,
        alternations_per_doc: 1.0,
        elbo_mean: -1.0,
        elbo_difference: 0.0,
        difference,
        answers_agree: true,
        speedup: None,
        on_device: Some(OnDevice {
            route: Some("32 KB bins"),
            units: Units { edges: 1_000_000, edge_updates: 1_000_000_000, searched: 0 },
            pack_s: 0.0,
            starved_s: 0.1,
            upload_s: 0.1,
            submit_s: 0.05,
            kernel_s: 0.9,
            kernel_times: KernelTimes::Device,
            wait_s: 0.8,
            readback_s: 0.05,
            busy: 0.9,
            upload_bytes: 1,
            readback_bytes: 1,
            steps: 100,
            chunks: 1,
            chunks_cached: 1,
            chunks_resident: 1,
            kernels: vec![
                kernel("alternate", 100, 0.6),
                kernel("r_update", 900, 0.25),
                kernel("gradient", 1, 0.05),
            ],
        }),
    }
}

fn judge(card: &Card, change: impl FnOnce(&mut OnDevice)) -> Diagnosis {
    let mut row = good();
    change(row.on_device.as_mut().unwrap());
    diagnose(&row, &EStepOptions::default(), card).unwrap()
}

/// The causes on a card of a row that was changed, and what is said of them.
fn causes(change: impl FnOnce(&mut OnDevice)) -> (Vec<Cause>, String) {
    let findings = judge(&CARD, change).findings;
    let said = findings.iter().map(|finding| format!("{}: {}\n", finding.seen, finding.remedy)).collect();
    (findings.iter().map(|finding| finding.cause).collect(), said)
}

fn assert_one(cause: Cause, part: &str, change: impl FnOnce(&mut OnDevice)) {
    let (found, said) = causes(change);
    assert_eq!(found, [cause], "{said}");
    assert!(said.contains(part), "{said}");
}

#[test]
fn nothing_stands_out_in_a_good_run() {
    let (found, said) = causes(|_| ());
    assert!(found.is_empty(), "{said}");
    let cpu = Row { on_device: None, ..good() };
    assert!(diagnose(&cpu, &EStepOptions::default(), &CARD).is_none());
}

#[test]
fn figures_are_bytes_of_the_model_over_seconds() {
    let figures = judge(&CARD, |_| ()).kernels;
    assert_eq!(figures.len(), 2, "{figures:?}");
    let all = &figures[0];
    assert_eq!((all.name, all.dispatches), ("alternations", 1000));
    let modelled = BYTES_PER_UNIT.iter().find(|modelled| modelled.name == "alternations").unwrap();
    let bytes = modelled.bytes[3].unwrap() * 1e9;
    let close = |found: Option<f64>, expected: f64| {
        let found = found.unwrap();
        assert!((found / expected - 1.0).abs() < 1e-12, "{found} is not {expected}");
    };
    close(all.seconds, 0.85);
    close(all.share, 0.85 / 0.9);
    close(all.dispatch_s, 0.85e-3);
    close(all.modelled_bytes, bytes);
    close(all.bytes_per_s, bytes / 0.85);
    close(all.share_of_copy, bytes / 0.85 / 100e9);
    let on_flat = judge(&CARD, |run| run.route = Some("flat")).kernels;
    let names: Vec<&str> = on_flat.iter().map(|figure| figure.name).collect();
    assert_eq!(names, ["alternate", "r_update", "gradient"]);
}

#[test]
fn what_is_not_modelled_has_no_bandwidth() {
    let of = |options: EStepOptions| diagnose(&good(), &options, &CARD).unwrap().kernels;
    let has_bytes = |figures: &[KernelFigure]| figures.iter().any(|figure| figure.modelled_bytes.is_some());
    assert!(has_bytes(&of(EStepOptions::default())));
    assert!(!has_bytes(&of(EStepOptions { clamp: 1, ..EStepOptions::default() })));
    assert!(!has_bytes(&of(EStepOptions { q_sweeps: 2, ..EStepOptions::default() })));
    assert!(!has_bytes(&judge(&CARD, |run| run.route = None).kernels));
}

#[test]
fn software_judges_correctness_only() {
    let software = Card { is_hardware: false, ..CARD };
    let findings = judge(&software, |run| (run.starved_s, run.route) = (0.9, Some("flat"))).findings;
    assert_eq!(findings.iter().map(|finding| finding.cause).collect::<Vec<_>>(), [Cause::Software]);
}

#[test]
fn kernels_without_timestamps() {
    assert_one(Cause::NoTimestamps, "timestamps", |run| {
        (run.kernel_times, run.kernel_s, run.busy) = (KernelTimes::Wall, 0.5, 0.5);
        run.kernels.iter_mut().for_each(|kernel| kernel.seconds = None);
    });
}

#[test]
fn packing_starves_the_device() {
    assert_one(Cause::Packing, "40 % of the time", |run| (run.starved_s, run.busy) = (0.4, 0.5));
}

#[test]
fn uploads_take_long() {
    assert_one(Cause::Uploads, "`device_mb`", |run| (run.upload_s, run.busy) = (0.4, 0.5));
}

#[test]
fn dispatches_are_short() {
    assert_one(Cause::ShortDispatches, "`docs`", |run| run.kernels[1].dispatches = 100_000);
}

#[test]
fn another_route_than_large_bins() {
    // Batches take more bytes than bins.
    for route in ["flat", "stream", "16 KB bins"] {
        assert_one(Cause::Route, route, |run| run.route = Some(route));
    }
}

#[test]
fn the_device_is_idle() {
    assert_one(Cause::Idle, "50 % of the time", |run| run.busy = 0.5);
}

#[test]
fn kernels_are_slow() {
    assert_one(Cause::SlowKernels, "alternations (", |run| run.units.edge_updates /= 10);
}

#[test]
fn several_causes_come_in_order() {
    let (found, _) = causes(|run| (run.upload_s, run.starved_s, run.route) = (0.5, 0.5, Some("flat")));
    assert_eq!(found, [Cause::Packing, Cause::Uploads, Cause::Route]);
}
