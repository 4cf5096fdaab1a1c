//! Learning rates over time, for the steps that have one.

use serde::{Deserialize, Serialize};

/// How the rate falls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RateSchedule {
    /// Not at all.
    Constant,
    /// `rate (1 + t)^-0.6`, t in epochs: a Robbins-Monro sequence.
    Power,
    /// Half a cosine from the rate to a hundredth of it over the whole run.
    Cosine,
}

impl RateSchedule {
    /// The factor on the rate at step `step` of `n_steps`, with `steps_per_epoch` to an epoch.
    pub fn factor(self, step: u64, steps_per_epoch: u64, n_steps: u64) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Power => (1.0 + step as f64 / steps_per_epoch.max(1) as f64).powf(-0.6),
            Self::Cosine => {
                let done = (step as f64 / n_steps.max(1) as f64).min(1.0);
                0.01 + 0.99 * 0.5 * (1.0 + (std::f64::consts::PI * done).cos())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RateSchedule::*;

    #[test]
    fn rates_fall_as_stated() {
        assert_eq!(Constant.factor(7, 10, 100), 1.0);
        assert_eq!(Power.factor(0, 10, 100), 1.0);
        assert!((Power.factor(10, 10, 100) - 2f64.powf(-0.6)).abs() < 1e-15);
        assert_eq!(Cosine.factor(0, 10, 100), 1.0);
        assert!((Cosine.factor(100, 10, 100) - 0.01).abs() < 1e-15);
        assert!((Cosine.factor(50, 10, 100) - 0.505).abs() < 1e-15);
    }
}
