//! Options of Bernoulli LDA.

use crate::baseline::topics::{MAX_TOPICS, Until, check_range};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// The range of the Dirichlet prior's parameters.
pub(super) const ALPHA_RANGE: (f64, f64) = (1e-6, 1e6);

/// Options of [`BernoulliLda`](super::BernoulliLda).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BernoulliLdaOptions {
    /// Topics, K.
    pub topics: usize,
    /// Prior of a document's shares, Dir(alpha, ..., alpha).
    pub alpha: f64,
    /// Documents of every topic that hold a word, besides its own: s1.
    pub smoothing_on: f64,
    /// Documents of every topic that do not hold a word: s0.
    pub smoothing_off: f64,
    /// Further starts of a document that is scored or described, each at one topic; the best counts. Training has one, and remembers.
    pub starts: u32,
    /// Sweeps over a document at most.
    pub sweeps: u32,
    /// Sweeps end where no gamma moves by this over the number of topics.
    pub sweep_tolerance: f64,
    /// Training ends where a pass gains less than this, in nats a document.
    pub tolerance: f64,
}

impl Default for BernoulliLdaOptions {
    fn default() -> Self {
        Self {
            topics: 10,
            alpha: 0.1,
            smoothing_on: 0.1,
            smoothing_off: 0.1,
            starts: 3,
            sweeps: 100,
            sweep_tolerance: 1e-3,
            tolerance: 1e-4,
        }
    }
}

impl BernoulliLdaOptions {
    /// Whether they make sense.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`](crate::Error::Usage) that names the option, its value and its range.
    pub fn check(&self) -> Result<()> {
        check_range("topics", self.topics as f64, (1.0, MAX_TOPICS as f64))?;
        check_range("alpha", self.alpha, ALPHA_RANGE)?;
        check_range("smoothing_on", self.smoothing_on, (0.0, 1e6))?;
        check_range("smoothing_off", self.smoothing_off, (0.0, 1e6))?;
        check_range("sweeps", f64::from(self.sweeps), (1.0, 1e6))?;
        check_range("sweep_tolerance", self.sweep_tolerance, (0.0, 1e6))?;
        check_range("tolerance", self.tolerance, (0.0, 1e6))
    }

    pub(super) fn until(&self) -> Until {
        Until { sweeps: self.sweeps, tolerance: self.sweep_tolerance }
    }
}
