//! From importance weights to an estimate.

use crate::numeric::f64::LogSum;

/// log of the mean of weights, and how good it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Mean {
    pub(crate) log: f64,
    /// Standard error of `log`, by the delta method: that of the mean over the mean.
    pub(crate) se: f64,
    /// Effective sample size, `(sum w)^2 / sum w^2`.
    pub(crate) ess: f64,
}

/// The mean of weights that are given by their logarithms.
pub(crate) fn mean(log_weights: &[f64]) -> Mean {
    let n = log_weights.len() as f64;
    let (mut sum, mut squares) = (LogSum::default(), LogSum::default());
    for &log_weight in log_weights {
        sum.add(log_weight);
        squares.add(2.0 * log_weight);
    }
    // Rounding must not take it out of its range.
    let ess = (2.0 * sum.log() - squares.log()).exp().clamp(1.0, n);
    // Sample variance over n and the squared mean: (n sum w^2 / (sum w)^2 - 1) / (n - 1).
    let variance = (n / ess - 1.0) / (n - 1.0);
    Mean { log: sum.log() - n.ln(), se: variance.sqrt(), ess }
}
