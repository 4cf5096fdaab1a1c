//! Non-negative matrix factorisation by generalised Kullback-Leibler divergence, with a Dirichlet distribution over its basis (Wang et al.
//! 2013, supplement B), by stochastic variational inference.
//!
//! ```text
//! x_d ~ sum_k theta_dk beta_k,   sum_v beta_kv = 1,   beta_k ~ Dir(eta)
//! phi_dv^k ~ theta_dk exp(psi(lam_kv) - psi(lam_k.)),   theta_dk = sum_v x_dv phi_dv^k
//! ```
//!
//! theta has no prior: it is fitted to each document, so the score, `sum_v log sum_k (theta_dk / theta_d.) exp(E log beta_kv)`, is not one
//! of a document that was never seen. Compare by [`completion`](super::completion).

use super::Score;
use super::topics::{Found, Local, Membership, Prior, Rows, Svi, SviOptions};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Non-negative matrix factorisation.
pub type Nmf = Svi<Factors>;

/// Options of [`Nmf`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NmfOptions {
    /// How the basis is learned.
    pub svi: SviOptions,
}

impl NmfOptions {
    /// Whether they make sense.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`](crate::Error::Usage) that names the option, its value and its range.
    pub fn check(&self) -> Result<()> {
        self.svi.check()
    }
}

/// Documents with factors of their own.
#[derive(Debug, Clone, PartialEq)]
pub struct Factors;

impl Local for Factors {
    type Options = NmfOptions;
    type Scratch = Membership;
    const NAME: &'static str = "nmf";
    const SCORE: Score = Score::Estimate;
    const SCORE_OF: &'static str =
        "the active words of a document, given how many there are, with factors fitted to that document";
    const LOGS: bool = false;

    fn start(options: &NmfOptions) -> Result<Self> {
        options.check().map(|()| Self)
    }

    fn svi(options: &NmfOptions) -> &SviOptions {
        &options.svi
    }

    fn infer(
        &self,
        options: &NmfOptions,
        words: &[u32],
        rows: &Rows,
        document: &mut Membership,
        found: &mut Found,
    ) {
        document.infer_words(words, rows, Prior::None, options.svi.until(), found);
    }
}
