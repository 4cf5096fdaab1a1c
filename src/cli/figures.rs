//! Figures of a training in words: an evaluation, a time, a large number.

pub(crate) use noisyor::columns::grouped;
use noisyor::train::Metrics;

/// One evaluation; `last` is the bound of the held-out documents before it.
pub(crate) fn metrics_line(metrics: &Metrics, last: Option<f64>) -> String {
    let mut line = format!("epoch {:.2} step {}", metrics.epoch, metrics.step);
    if let Some(train) = metrics.train_elbo {
        line += &format!("  train {train:.4}");
    }
    if let Some(valid) = metrics.valid_elbo {
        line += &format!("  held out {valid:.4}");
        if let Some(last) = last {
            line += &format!(" ({:+.4})", valid - last);
        }
    }
    format!("{line} [{}]  {:.0} documents/s", metrics.bound, metrics.docs_per_s)
}

/// Seconds in the two largest units that they fill: `45s`, `2m14s`, `3h05m`, `2d03h`.
pub(crate) fn short_time(seconds: f64) -> String {
    // Also what is no number, or too large for one.
    let seconds = seconds.clamp(0.0, 1e15).round() as u64;
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    match () {
        () if days > 0 => format!("{days}d{:02}h", hours % 24),
        () if hours > 0 => format!("{hours}h{:02}m", minutes % 60),
        () if minutes > 0 => format!("{minutes}m{:02}s", seconds % 60),
        () => format!("{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_two_units() {
        let shown = [0.4, 59.6, 134.0, 11_100.0, 183_600.0, -3.0, f64::NAN, f64::INFINITY].map(short_time);
        assert_eq!(shown, ["0s", "1m00s", "2m14s", "3h05m", "2d03h", "0s", "0s", "11574074074d01h"]);
    }

    #[test]
    fn numbers_have_commas() {
        let shown = [0.0, 999.4, 1000.0, -1234567.0, -0.2, f64::INFINITY].map(grouped);
        assert_eq!(shown, ["0", "999", "1,000", "-1,234,567", "0", "inf"]);
    }
}
