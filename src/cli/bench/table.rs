//! The report as tables for people.

use super::Output;
use crate::cli::figures::grouped;
use noisyor::bench::{KernelTimes, OnDevice, Report, Row};

/// Tables and what to know about them.
pub(super) fn text(output: &Output<'_>) -> String {
    let report = &output.report;
    let per_doc = report.rows.first().map_or(0.0, |row| row.edges_per_doc);
    let gradients = if report.gradients { "with" } else { "without" };
    let runs =
        if report.repeat == 1 { "one run".to_owned() } else { format!("medians of {} runs", report.repeat) };
    let mut text = format!(
        "{} documents of {}: {} topics, {} tokens, {} edges; {per_doc:.1} positive edges a document\n\
         E-step {gradients} gradient sums, bound {}, {runs} after a warm-up\n\n",
        report.docs,
        output.input,
        output.topics,
        output.tokens,
        output.edges,
        output.estep.bound_label()
    );
    text += &(rates(report) + "\n" + &answers(report));
    let on_device: Vec<(String, &OnDevice)> =
        report.rows.iter().filter_map(|row| Some((title(row), row.on_device.as_ref()?))).collect();
    if !on_device.is_empty() {
        text += &format!("\n{}\n{}", spent(&on_device), kernels(&on_device));
    }
    text + "\n" + &notes(report)
}

fn title(row: &Row) -> String {
    let what = match &row.on_device {
        Some(run) if run.chunks_resident == run.chunks => ", resident",
        Some(run) if run.chunks_resident > 0 => ", part resident",
        _ if row.packed_before => ", packed before",
        _ => "",
    };
    format!("{}{what}", row.backend)
}

fn rates(report: &Report) -> String {
    let mut text = format!(
        "{:21}{:>12}{:>12}{:>18}{:>14}{:>28}\n",
        "backend", "documents/s", "per CPU-s", "edge updates/s", "alternations", "wall seconds (min..max)"
    );
    for row in &report.rows {
        let wall = row.wall_s;
        text += &format!(
            "{:21}{:>12}{:>12}{:>18}{:>14.2}{:>28}\n",
            title(row),
            grouped(row.docs_per_s),
            grouped(row.docs_per_cpu_s),
            grouped(row.edge_updates_per_s),
            row.alternations_per_doc,
            format!("{:.4} ({:.4}..{:.4})", wall.median, wall.min, wall.max)
        );
    }
    text
}

fn answers(report: &Report) -> String {
    let first = report.rows.first().map_or("", |row| &row.backend);
    let mut text = format!(
        "{:21}{:>14}{:>11}{:>10}{:>12}{:>8}{:>10}{:>11}\n",
        format!("against {first}"),
        format!("bound ({})", report.bound),
        "difference",
        "mean |dq|",
        "99.9 % |dq|",
        "sums",
        "speed-up",
        "per CPU-s"
    );
    for row in &report.rows {
        text += &format!(
            "{:21}{:>14.5}{:>+11.1e}{:>10.1e}{:>12.1e}{:>8.1e}",
            title(row),
            row.elbo_mean,
            row.elbo_difference,
            row.difference.q_mean,
            row.difference.q_quantile_999,
            row.difference.sums
        );
        text += &match row.speedup {
            Some(speedup) => format!("{:>10.3}{:>11.3}\n", speedup.wall, speedup.cpu),
            None => " answers differ: no speed-up shown\n".to_owned(),
        };
    }
    text
}

fn spent(on_device: &[(String, &OnDevice)]) -> String {
    let mut text = format!(
        "{:21}{:>8}{:>8}{:>8}{:>8}{:>9}{:>9}{:>9}{:>6}{:>8}{:>8}{:>7}\n",
        "seconds of a run",
        "pack",
        "starved",
        "upload",
        "submit",
        "kernels",
        "wait",
        "readback",
        "busy",
        "MB up",
        "MB down",
        "chunks"
    );
    for (title, run) in on_device {
        let mb = |bytes: u64| bytes as f64 / 1e6;
        text += &format!(
            "{title:21}{:>8.4}{:>8.4}{:>8.4}{:>8.4}{:>9.4}{:>9.4}{:>9.4}{:>5.0}%{:>8.2}{:>8.2}{:>7}\n",
            run.pack_s,
            run.starved_s,
            run.upload_s,
            run.submit_s,
            run.kernel_s,
            run.wait_s,
            run.readback_s,
            100.0 * run.busy,
            mb(run.upload_bytes),
            mb(run.readback_bytes),
            format!("{}/{}", run.chunks_cached, run.chunks)
        );
    }
    text
}

/// A line for every kernel, dispatches and seconds for every way of running it.
fn kernels(on_device: &[(String, &OnDevice)]) -> String {
    let mut text = format!("{:11}", "kernel");
    on_device.iter().for_each(|(title, _)| text += &format!("{title:>23}"));
    text += "\n";
    for kernel in &on_device[0].1.kernels {
        text += &format!("{:11}", kernel.name);
        for (_, run) in on_device {
            text += &match run.kernels.iter().find(|other| other.name == kernel.name) {
                Some(same) => {
                    let seconds = same.seconds.map_or("-".to_owned(), |seconds| format!("{seconds:.4} s"));
                    format!("{:>23}", format!("{} x, {seconds}", same.dispatches))
                }
                None => format!("{:>23}", "-"),
            };
        }
        text += "\n";
    }
    text += &format!("{:11}", "steps");
    on_device.iter().for_each(|(_, run)| text += &format!("{:>23}", grouped(run.steps as f64)));
    text + "\n"
}

fn notes(report: &Report) -> String {
    let mut text = String::new();
    for row in report.rows.iter().filter(|row| !row.packed_before) {
        text += &format!("{}: {}", row.backend, row.device);
        text += &match &row.on_device {
            None => "; packs documents while it runs, always\n".to_owned(),
            Some(run) => {
                let times = match run.kernel_times {
                    KernelTimes::Device => "kernels are timed one by one",
                    KernelTimes::Wall => "no timestamps: kernel time is the wall clock of waiting",
                };
                let route = run.route.map_or(
                    "flat or by kind of device: too few documents to measure".to_owned(),
                    str::to_owned,
                );
                format!("; route: {route}; {times}\n")
            }
        };
    }
    if report.rows.iter().any(|row| row.packed_before) {
        text += "packed before: documents as an earlier run packed them, as in later epochs of training, within --cache-mb\n\
                 resident: on the device as well, within --device-mb; MB up, MB down: of a run, which is what an epoch takes\n\
                 steps: dispatches one after another; those of several chunks that may overlap count as one\n\
                 starved: waiting for packed documents; busy: kernels' share of the wall time; chunks: packed before/all\n\
                 host and device work at the same time: the seconds need not add up\n";
    }
    text
}
