//! Options of stochastic variational inference, which LDA, HDP and NMF share.

use super::{MAX_TOPICS, Until, check_range};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// The range of the prior eta of topics: digamma of a tenth of it is still a number to compute with.
pub(super) const ETA_RANGE: (f64, f64) = (1e-4, 1e4);

/// Options of stochastic variational inference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SviOptions {
    /// Topics, K.
    pub topics: usize,
    /// Prior of a topic's words, Dir(eta, ..., eta).
    pub eta: f64,
    /// Documents of a batch.
    pub batch: usize,
    /// Step t has rate (t + tau)^-kappa.
    pub tau: f64,
    /// See `tau`; above 0.5 and at most 1 the steps converge.
    pub kappa: f64,
    /// Whether gradients are corrected by what is known of all documents, to vary less from batch to batch.
    pub control_variates: bool,
    /// Sweeps over a document at most.
    pub sweeps: u32,
    /// Sweeps end where no expected number of words of a topic moves by this over the number of topics; with HDP, where the bound
    /// gains less than this.
    pub sweep_tolerance: f64,
    /// Training ends where the mean score of a pass differs from that of the pass before by less than this share.
    pub tolerance: f64,
}

impl Default for SviOptions {
    fn default() -> Self {
        Self {
            topics: 20,
            eta: 0.1,
            batch: 200,
            tau: 16.0,
            kappa: 0.7,
            control_variates: false,
            sweeps: 100,
            sweep_tolerance: 1e-2,
            tolerance: 1e-4,
        }
    }
}

impl SviOptions {
    /// Whether they make sense.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`](crate::Error::Usage) that names the option, its value and its range.
    pub fn check(&self) -> Result<()> {
        check_range("topics", self.topics as f64, (1.0, MAX_TOPICS as f64))?;
        check_range("eta", self.eta, ETA_RANGE)?;
        check_range("batch", self.batch as f64, (1.0, f64::from(u32::MAX)))?;
        check_range("tau", self.tau, (1.0, 1e12))?;
        check_range("kappa", self.kappa, (0.0, 1.0))?;
        check_range("sweeps", f64::from(self.sweeps), (1.0, 1e6))?;
        check_range("sweep_tolerance", self.sweep_tolerance, (0.0, 1e6))?;
        check_range("tolerance", self.tolerance, (0.0, 1e6))
    }

    /// rho_t.
    pub(super) fn rate(&self, step: u64) -> f64 {
        (step as f64 + self.tau).powf(-self.kappa)
    }

    pub(in crate::baseline) fn until(&self) -> Until {
        Until { sweeps: self.sweeps, tolerance: self.sweep_tolerance }
    }
}
