//! What was measured on ranks, for people.

use crate::cli::figures::grouped;
use noisyor::bench::RanksReport;

pub(super) fn text(input: &str, report: &RanksReport) -> String {
    let rate = |seconds: f64| grouped(report.docs as f64 / seconds.max(1e-9));
    let mb = |bytes: u64| format!("{:.3} MB", bytes as f64 / 1e6);
    let RanksReport { docs, ranks, repeat, alone_s, together_s, .. } = *report;
    let sparse = match report.sparse_bytes {
        0 => "densely".to_owned(),
        bytes => format!("{} of them sparsely", mb(bytes)),
    };
    format!(
        "{docs} documents of {input}, an E-step with gradient sums; medians of {repeat} runs after a warm-up\n\n\
         one rank alone  {:>12} documents/s  {:.4} s\n\
         {:16}{:>12} documents/s  {:.4} s  {:.2} times\n\n\
         a rank sends {} in {} calls, {sparse}; the sums are {}\n\
         {:.4} s with sums on their way, in {:.4} s of these nothing is computed ({:.1} % of the time)\n\
         the sums are {} to the bit\n",
        rate(alone_s.median),
        alone_s.median,
        format!("{ranks} ranks"),
        rate(together_s.median),
        together_s.median,
        report.speedup,
        mb(report.sent_bytes),
        report.calls,
        mb(report.sums_bytes),
        report.communication_s,
        report.waited_s,
        100.0 * report.waited_s / together_s.median.max(1e-9),
        if report.same_sums { "the same" } else { "NOT the same" },
    )
}
