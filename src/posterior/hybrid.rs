//! Some findings exactly, the others by bounds that factorise over topics (Jaakkola & Jordan 1999).
//!
//! A bound `exp(k_i + sum_j t_ij d_j)` of each finding outside E tilts the priors: `logit rho'_j = logit rho_j + sum_i t_ij`. What remains
//! is an exact problem of the findings in E.

use super::Watch;
use super::two_layer::{Exact, Problem};
use crate::error::Result;
use crate::numeric::f64::sigmoid;

/// The bounded log-probability and the marginals under the bounding measure; none where it takes tables of more than `2^max_bits` entries
/// or too much time.
///
/// # Errors
///
/// [`Error::Interrupted`](crate::Error::Interrupted).
pub fn bounded(
    problem: &Problem,
    exact: &[bool],
    tilt: &[f64],
    constant: f64,
    (max_bits, watch): (usize, &Watch<'_>),
) -> Result<Option<Exact>> {
    let tilted = problem.tilted(exact, tilt, constant);
    if tilted.n_findings() == 0 {
        let marginals = tilted.logit.iter().map(|&logit| sigmoid(logit)).collect();
        return Ok(Some(Exact { log_p: tilted.constant, marginals }));
    }
    tilted.exact(max_bits, watch)
}
