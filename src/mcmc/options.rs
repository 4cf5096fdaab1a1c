//! How chains are run for training, and what EM counts.

use crate::error::{Error, Result};
use crate::network::Weights;
use serde::{Deserialize, Serialize};

/// The topics of a document that are sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    /// All topics of the network.
    Full,
    /// H_d, the ancestors of the document's tokens; all others are off. Training by it is biased: a topic that is on and leaves no
    /// token is never counted.
    Local,
}

/// What a node that is on was caused by, given its parents. Each makes an EM that never lowers the likelihood, with exact posteriors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Augmentation {
    /// Every parent that is on sends a Poisson number of causes, of rate w: `n_ki = w_ki N_ki`, `w = sum n / sum x_k`.
    Poisson,
    /// Every parent that is on succeeds or not, with probability `p = 1 - exp(-w)`: `c_ki = p_ki N_ki`, `p = sum c / sum x_k`. Coarser,
    /// so its EM is the faster one.
    Cascade,
}

/// A cascade's probability is at most one minus this.
const MIN_FAILURE: f64 = 1e-9;

impl Augmentation {
    /// Weights become what EM has a closed form for: w itself, or p.
    pub(crate) fn to_rates(self, weights: &mut Weights) {
        if self == Self::Cascade {
            weights.leak.iter_mut().chain(&mut weights.edge).for_each(|w| *w = -(-*w).exp_m1());
        }
    }

    /// The inverse of [`Augmentation::to_rates`].
    pub(crate) fn to_weights(self, rates: &mut Weights) {
        if self == Self::Cascade {
            let weight = |p: f64| -(-p.min(1.0 - MIN_FAILURE)).ln_1p();
            rates.leak.iter_mut().chain(&mut rates.edge).for_each(|p| *p = weight(*p));
        }
    }
}

/// Training by samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct McmcOptions {
    /// The topics that are sampled.
    pub model: Model,
    /// Sweeps of a document and step whose states are counted.
    pub sweeps: u32,
    /// Sweeps before them. Chains go on where the document's last step left them.
    pub burn_in: u32,
    /// What is counted.
    pub augmentation: Augmentation,
    /// Every edge has the counts of so many documents beside, in which its parent is on and its child as likely as the initial weights
    /// have it: keeps edges of topics that are rarely on from vanishing.
    pub pseudo_count: f64,
}

impl Default for McmcOptions {
    fn default() -> Self {
        Self {
            model: Model::Full,
            sweeps: 20,
            burn_in: 5,
            augmentation: Augmentation::Cascade,
            pseudo_count: 1.0,
        }
    }
}

impl McmcOptions {
    /// Checks that the numbers make sense.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] that names the option.
    pub fn check(&self) -> Result<()> {
        if self.sweeps == 0 {
            return Err(Error::Usage(
                "`sweeps` is 0, and the states of at least one are counted; raise it".into(),
            ));
        }
        if !(self.pseudo_count >= 0.0 && self.pseudo_count.is_finite()) {
            return Err(Error::Usage(format!(
                "`pseudo_count` must be at least 0; it is {}",
                self.pseudo_count
            )));
        }
        Ok(())
    }
}
