//! What the doctor says, for people.

use noisyor::bench::{Doctor, KernelFigure};

/// A table of kernels, and the likely causes.
pub(super) fn text(doctor: &Doctor) -> String {
    let copies = doctor.card.copy_bytes_per_s / 1e9;
    let mut text = format!("\ndoctor: copies on the device read and write {copies:.1} GB/s\n");
    // Kernels do the same in all rows; in the last one nothing else is in their way.
    if let Some(last) = doctor.rows.last() {
        text += &format!(
            "{:14}{:>11}{:>11}{:>8}{:>15}{:>13}{:>9}{:>12}\n",
            "kernel", "dispatches", "seconds", "share", "us a dispatch", "modelled MB", "GB/s", "of copies"
        );
        last.kernels.iter().for_each(|kernel| text += &line(kernel));
        text += "modelled MB: to and from the second level of cache, by what documents of dblp take (docs/gpu.md)\n";
    }
    for row in &doctor.rows {
        let when = if row.packed_before { "packed before" } else { "first run" };
        if row.findings.is_empty() {
            text += &format!("{when}: nothing stands out\n");
        }
        for finding in &row.findings {
            text += &format!("{when}: {}\n    {}\n", finding.seen, finding.remedy);
        }
    }
    text
}

fn line(kernel: &KernelFigure) -> String {
    let or_dash = |figure: Option<String>| figure.unwrap_or_else(|| "-".to_owned());
    let percent = |share: Option<f64>| or_dash(share.map(|share| format!("{:.0}%", 100.0 * share)));
    format!(
        "{:14}{:>11}{:>11}{:>8}{:>15}{:>13}{:>9}{:>12}\n",
        kernel.name,
        kernel.dispatches,
        or_dash(kernel.seconds.map(|seconds| format!("{seconds:.4}"))),
        percent(kernel.share),
        or_dash(kernel.dispatch_s.map(|seconds| format!("{:.1}", 1e6 * seconds))),
        or_dash(kernel.modelled_bytes.map(|bytes| format!("{:.1}", bytes / 1e6))),
        or_dash(kernel.bytes_per_s.map(|rate| format!("{:.2}", rate / 1e9))),
        percent(kernel.share_of_copy)
    )
}
