//! Topics of a hierarchical Dirichlet process (Teh et al. 2006; Wang, Paisley, Blei 2011), by stochastic variational inference.
//!
//! K topics of the corpus have shares sigma(v), broken from one stick; each of T pieces of a document's own stick points at one of them:
//!
//! ```text
//! v_k ~ Beta(1, omega);   c_di ~ sigma(v),   pi_di ~ Beta(1, alpha),   z_dn ~ sigma(pi_d),   w_dn ~ beta_{c_d,z_dn}
//! sigma_k(v) = v_k prod_{l<k} (1 - v_l)
//! ```
//!
//! A document is in `document.rs`, the corpus's stick in `stick.rs`. The score bounds the probability of the active words, given how many
//! there are.

mod document;
mod stick;

use super::Score;
use super::topics::{Found, Local, Rows, Step, Svi, SviOptions, Tensors, check_range};
use crate::error::Result;
use document::Document;
use serde::{Deserialize, Serialize};
use stick::Stick;

/// Topics of a hierarchical Dirichlet process.
pub type Hdp = Svi<Sticks>;

/// Options of [`Hdp`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HdpOptions {
    /// Pieces of a document's stick at most, T.
    pub sticks: usize,
    /// How evenly a document's stick is broken: pieces are drawn from Beta(1, alpha).
    pub alpha: f64,
    /// The same of the corpus's stick.
    pub omega: f64,
    /// How topics are learned; `topics` is the most there may be.
    pub svi: SviOptions,
}

impl Default for HdpOptions {
    fn default() -> Self {
        let svi = SviOptions { topics: 150, ..SviOptions::default() };
        Self { sticks: 10, alpha: 1.0, omega: 1.0, svi }
    }
}

impl HdpOptions {
    /// Whether they make sense.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`](crate::Error::Usage) that names the option, its value and its range.
    pub fn check(&self) -> Result<()> {
        check_range("sticks", self.sticks as f64, (1.0, 1000.0))?;
        check_range("alpha", self.alpha, (1e-3, 1e3))?;
        check_range("omega", self.omega, (1e-3, 1e3))?;
        self.svi.check()
    }
}

/// Documents whose topics are pieces of a stick, and the corpus's stick.
#[derive(Debug, Clone, PartialEq)]
pub struct Sticks {
    corpus: Stick,
    /// E log sigma_k(v).
    log_shares: Vec<f64>,
}

impl Local for Sticks {
    type Options = HdpOptions;
    type Scratch = Document;
    const NAME: &'static str = "hdp";
    const SCORE: Score = Score::Bound;
    const SCORE_OF: &'static str = "the active words of a document, given how many there are";
    const LOGS: bool = true;

    fn start(options: &HdpOptions) -> Result<Self> {
        options.check()?;
        let corpus = Stick::new(options.svi.topics, options.omega, options.svi.control_variates);
        Ok(Self { log_shares: corpus.log_shares(), corpus })
    }

    fn svi(options: &HdpOptions) -> &SviOptions {
        &options.svi
    }

    fn infer(
        &self,
        options: &HdpOptions,
        words: &[u32],
        rows: &Rows,
        document: &mut Document,
        found: &mut Found,
    ) {
        let x = words.iter().map(|&word| rows.row(word).0);
        document.begin(x, &self.log_shares, options.sticks, options.alpha);
        document.climb(&self.log_shares, options.svi.until());
        document.tell(found);
    }

    fn save(&self, tensors: Tensors) -> Tensors {
        self.corpus.save(tensors)
    }

    fn load(&mut self, tensors: &mut Tensors) -> Result<()> {
        self.corpus.load(tensors)?;
        self.log_shares = self.corpus.log_shares();
        Ok(())
    }

    fn n_parameters(&self) -> usize {
        self.corpus.n_parameters()
    }

    fn targets(&self, step: &Step<'_>) -> Vec<f64> {
        self.corpus.targets(step)
    }

    fn advance(&mut self, step: &Step<'_>) {
        self.corpus.advance(step);
        self.log_shares = self.corpus.log_shares();
    }
}
