//! Latent Dirichlet allocation of the words of a document (Blei, Ng, Jordan 2003), by stochastic variational inference.
//!
//! ```text
//! beta_k ~ Dir(eta);   theta_d ~ Dir(alpha);   for every active word:  z ~ theta_d,   w ~ beta_z
//! phi_dv^k ~ exp(psi(gamma_dk) + psi(lam_kv) - psi(lam_k.)),   gamma_dk = alpha + sum_v phi_dv^k
//! ```
//!
//! A document is `topics/membership.rs`. Its score bounds the probability of the active words, given how many there are.

use super::Score;
use super::topics::{Found, Local, Membership, Prior, Rows, Svi, SviOptions, check_range};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Multinomial LDA.
pub type Lda = Svi<Dirichlet>;

/// Options of [`Lda`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LdaOptions {
    /// Prior of a document's shares, Dir(alpha, ..., alpha).
    pub alpha: f64,
    /// How topics are learned.
    pub svi: SviOptions,
}

impl Default for LdaOptions {
    fn default() -> Self {
        Self { alpha: 0.1, svi: SviOptions::default() }
    }
}

impl LdaOptions {
    /// Whether they make sense.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`](crate::Error::Usage) that names the option, its value and its range.
    pub fn check(&self) -> Result<()> {
        check_range("alpha", self.alpha, (1e-6, 1e6))?;
        self.svi.check()
    }
}

/// Documents whose shares of topics are drawn from a Dirichlet distribution.
#[derive(Debug, Clone, PartialEq)]
pub struct Dirichlet {
    alpha: Vec<f64>,
}

impl Local for Dirichlet {
    type Options = LdaOptions;
    type Scratch = Membership;
    const NAME: &'static str = "lda";
    const SCORE: Score = Score::Bound;
    const SCORE_OF: &'static str = "the active words of a document, given how many there are";
    const LOGS: bool = false;

    fn start(options: &LdaOptions) -> Result<Self> {
        options.check()?;
        Ok(Self { alpha: vec![options.alpha; options.svi.topics] })
    }

    fn svi(options: &LdaOptions) -> &SviOptions {
        &options.svi
    }

    fn infer(
        &self,
        options: &LdaOptions,
        words: &[u32],
        rows: &Rows,
        document: &mut Membership,
        found: &mut Found,
    ) {
        document.infer_words(words, rows, Prior::Dirichlet(&self.alpha), options.svi.until(), found);
    }
}
