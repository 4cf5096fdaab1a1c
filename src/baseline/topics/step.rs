//! Where one batch would set the parameters of all documents:
//!
//! ```text
//! target(lam_kv) = eta + (D / B) sum_d n_dv phi_dv^k - a_k (hbar - E[h])        lam <- lam + rho_t (target - lam)
//! ```
//!
//! The natural gradient is target - lam; at fixed parameters both vary alike.

use super::control::Control;
use super::lambda::Known;
use super::sums::Sums;

/// A batch, and what goes with it.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// rho_t.
    pub(in crate::baseline) rate: f64,
    pub(in crate::baseline) sums: &'a Sums,
    pub(in crate::baseline) known: &'a Known,
    /// None: gradients are not corrected.
    pub(in crate::baseline) control: Option<&'a Control>,
}

impl Step<'_> {
    /// D.
    pub(in crate::baseline) fn n_docs(&self) -> f64 {
        self.known.n_docs
    }

    /// Writes the target of a word's lam.
    pub(super) fn target(&self, word: u32, eta: f64, row: &mut [f64]) {
        let (n, scale) = (self.sums.of_word(word), self.known.n_docs / self.sums.n_docs);
        match n {
            Some((_, phi)) => row.iter_mut().zip(phi).for_each(|(x, phi)| *x = eta + scale * phi),
            None => row.fill(eta),
        }
        if let Some(control) = self.control {
            let n = n.map_or(0.0, |(n, _)| n);
            control.correct(word, scale * n - self.known.counts[word as usize], row);
        }
    }

    /// Mean of `sum_v n_dv phib_v^k` over all documents; nothing where gradients are not corrected.
    pub(in crate::baseline) fn expected_h(&self) -> Option<Vec<f64>> {
        let control = self.control?;
        let mut mean = vec![0.0; control.cov.len()];
        control.total((0u32..).zip(self.known.counts.iter().copied()), &mut mean);
        mean.iter_mut().for_each(|mean| *mean /= self.known.n_docs);
        Some(mean)
    }
}
