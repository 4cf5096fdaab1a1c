//! Backends that are wrong on purpose.

use super::{Contender, KernelTimes, Measured, OnDevice, Report, bench, n_runs};
use crate::corpus::{Corpus, Item, align};
use crate::error::Result;
use crate::estep::cpu::CpuEStep;
use crate::estep::device::twin::TwinMachine;
use crate::estep::device::{DeviceEStep, DeviceOptions, HostSpent, Spent};
use crate::estep::{DocResults, EStep, EStepOptions, Monitor, Params, Scale, Sink, Stats, Sums, Work};
use crate::network::load_bytes;

/// The CPU backend with its answers changed.
#[derive(Default)]
struct Wrong {
    cpu: CpuEStep,
    /// Added to every bound, as a share of it.
    bound_share: f64,
    /// Added to every q.
    q: f32,
    /// Results do not come at all.
    silent: bool,
    /// Of one edge's N.
    sum_share: f64,
}

impl EStep for Wrong {
    fn name(&self) -> String {
        "wrong".to_owned()
    }

    fn run(&mut self, work: &Work<'_>, sink: Option<&mut Sink<'_>>) -> Result<Stats> {
        let (q_wrong, silent) = (self.q, self.silent);
        let mut forward = sink.map(|sink| {
            move |results: &DocResults<'_>| {
                let q: Vec<f32> = results.q.iter().map(|q| q + q_wrong).collect();
                if silent { Ok(()) } else { sink(&DocResults { q: &q, ..*results }) }
            }
        });
        let sink = forward.as_mut().map(|forward| forward as &mut Sink<'_>);
        let mut stats = self.cpu.run(work, sink)?;
        stats.elbo_sum *= 1.0 + self.bound_share;
        stats.edge[0] *= 1.0 + self.sum_share;
        Ok(stats)
    }

    fn run_packed(&mut self, work: &Work<'_>, scale: Scale, sink: Option<&mut Sink<'_>>) -> Result<Sums> {
        self.cpu.run_packed(work, scale, sink)
    }

    fn run_docs(&self, options: &EStepOptions) -> usize {
        self.cpu.run_docs(options)
    }
}

impl Measured for Wrong {}

fn contender(name: &str, estep: impl Measured + 'static) -> Contender {
    Contender { name: name.to_owned(), device: name.to_owned(), estep: Box::new(estep) }
}

fn twins() -> Contender {
    contender("twins", DeviceEStep::new(TwinMachine::new(), DeviceOptions::default()))
}

/// Measures on 300 documents of a small network.
fn measure(n_docs: usize, n_repeats: usize, contenders: &mut [Contender]) -> (Result<Report>, Vec<String>) {
    let graph = "\ta\t0.2\n\tb\t0.1\n\tx\t0.01\n\ty\t0.01\n\tz\t0.02\na\tx\t2\na\ty\t1\nb\ty\t0.5\nb\tz\t3\n";
    let network = load_bytes("graph.tsv".as_ref(), graph.as_bytes()).unwrap();
    let (graph, weights) = (network.graph, network.weights.unwrap());
    let kinds = [vec![0, 1], vec![1, 2], vec![2], vec![]];
    let corpus = Corpus::from_tokens(kinds.into_iter().cycle().take(n_docs));
    let alignment = align(&corpus, &network.names.tokens);
    let options = EStepOptions::default();
    let params = Params::derive(&graph, &weights, options.bound).unwrap();
    let items = Item::each(&(0..n_docs as u32).collect::<Vec<_>>());
    let monitor = Monitor::default();
    let docs = alignment.docs(&corpus);
    let work = Work {
        graph: &graph,
        params: &params,
        docs,
        items: &items,
        options: &options,
        gradients: true,
        kept_on: None,
        monitor: &monitor,
    };
    let mut told = Vec::new();
    let report = bench(&work, n_repeats, contenders, &mut |what| told.push(what.to_owned()));
    if report.is_ok() {
        let n_docs_run = monitor.docs_done.into_inner() as usize;
        assert_eq!(n_docs_run, n_docs * n_runs(contenders, n_repeats), "what progress is measured by");
    }
    (report, told)
}

fn against_cpu(wrong: Wrong) -> Report {
    measure(300, 1, &mut [contender("cpu", CpuEStep::new()), contender("wrong", wrong)]).0.unwrap()
}

#[test]
fn answers_that_differ_get_no_speedup() {
    for wrong in [
        Wrong { bound_share: 2e-5, ..Wrong::default() },
        Wrong { bound_share: -2e-5, ..Wrong::default() },
        Wrong { bound_share: f64::NAN, ..Wrong::default() },
        Wrong { q: 2e-4, ..Wrong::default() },
        Wrong { q: -2e-4, ..Wrong::default() },
        Wrong { q: f32::NAN, ..Wrong::default() },
        Wrong { silent: true, ..Wrong::default() },
        Wrong { sum_share: 1e-3, ..Wrong::default() },
        Wrong { sum_share: f64::NAN, ..Wrong::default() },
    ] {
        let report = against_cpu(wrong);
        assert!(!report.answers_agree);
        assert!(report.rows[0].answers_agree && report.rows[0].speedup.is_some());
        assert!(!report.rows[1].answers_agree && report.rows[1].speedup.is_none(), "{:?}", report.rows[1]);
    }
}

#[test]
fn answers_within_the_limits_get_one() {
    for wrong in [Wrong::default(), Wrong { bound_share: 5e-6, q: 5e-5, ..Wrong::default() }] {
        let (share, q) = (wrong.bound_share, f64::from(wrong.q));
        let report = against_cpu(wrong);
        let [cpu, other] = &report.rows[..] else { panic!("{report:?}") };
        let speedup = other.speedup.unwrap();
        assert!(report.answers_agree);
        assert_eq!(speedup.wall, other.docs_per_s / cpu.docs_per_s);
        assert_eq!(speedup.cpu, other.docs_per_cpu_s / cpu.docs_per_cpu_s);
        assert!((other.elbo_difference - share * cpu.elbo_mean).abs() < 1e-9, "{other:?}");
        assert!((other.difference.q_mean - q).abs() < 1e-6, "{other:?}");
        assert!((other.difference.q_quantile_999 - q).abs() < 1e-6, "{other:?}");
    }
}

#[test]
fn a_wrong_backend_does_not_condemn_the_others() {
    let wrong = contender("wrong", Wrong { q: 0.1, ..Wrong::default() });
    let (report, _) = measure(300, 1, &mut [contender("cpu", CpuEStep::new()), wrong, twins()]);
    let report = report.unwrap();
    let agrees: Vec<bool> = report.rows.iter().map(|row| row.answers_agree).collect();
    assert_eq!(agrees, [true, false, true, true]);
}

#[test]
fn a_device_is_measured_packing_and_packed() {
    let (report, told) = measure(300, 2, &mut [contender("cpu", CpuEStep::new()), twins()]);
    let report = report.unwrap();
    let rows: Vec<(&str, bool)> =
        report.rows.iter().map(|row| (row.backend.as_str(), row.packed_before)).collect();
    assert_eq!(rows, [("cpu", false), ("twins", false), ("twins", true)]);
    let [cpu, cold, warm] = &report.rows[..] else { panic!("{report:?}") };
    assert!(cpu.on_device.is_none());
    let (cold_run, warm_run) = (cold.on_device.as_ref().unwrap(), warm.on_device.as_ref().unwrap());
    assert_eq!((cold_run.chunks, cold_run.chunks_cached), (1, 0));
    assert_eq!((warm_run.chunks, warm_run.chunks_cached), (1, 1));
    assert_eq!((cold_run.chunks_resident, warm_run.chunks_resident), (0, 1));
    assert!(warm_run.upload_bytes < cold_run.upload_bytes, "{warm_run:?}");
    assert!(cold_run.pack_s > 0.0 && warm_run.pack_s == 0.0);
    assert_eq!(cold.elbo_mean, warm.elbo_mean);
    for run in [cold_run, warm_run] {
        assert_eq!(run.kernel_times, KernelTimes::Device);
        assert_eq!(run.kernel_s, run.kernels.iter().filter_map(|kernel| kernel.seconds).sum::<f64>());
        assert!(run.busy > 0.0 && run.busy <= 1.0 && run.upload_bytes > 0 && run.readback_bytes > 0);
    }
    assert!(cold.wall_s.min <= cold.wall_s.median && cold.wall_s.median <= cold.wall_s.max);
    let expected =
        ["warming up cpu", "warming up twins", "run 1 of 2: cpu", "run 1 of 2: twins", "run 2 of 2: cpu"];
    assert_eq!(told[..5], expected);
}

#[test]
fn without_timestamps_waiting_stands_for_the_kernels() {
    let mut spent = Spent { wait_s: 0.5, ..Spent::default() };
    spent.add_kernel("init_r", None);
    let run = OnDevice::new(spent, HostSpent::default(), 2.0);
    assert_eq!((run.kernel_times, run.kernel_s, run.busy), (KernelTimes::Wall, 0.5, 0.25));
    assert_eq!((run.kernels[0].dispatches, run.kernels[0].seconds), (1, None));
}

#[test]
fn nothing_to_measure_is_bad_usage() {
    let mut contenders = [contender("cpu", CpuEStep::new())];
    let error = |(result, _): (Result<Report>, _)| result.unwrap_err();
    for error in [error(measure(0, 1, &mut contenders)), error(measure(300, 0, &mut contenders))] {
        assert_eq!(error.exit_status(), 2, "{error}");
    }
}
