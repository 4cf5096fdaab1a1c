//! What a backend answered, and whether two backends answered the same.

use crate::error::Result;
use crate::estep::{DocResults, EStep, Params, Work};
use serde::Serialize;

/// Relative difference of mean bounds up to which they are the same.
pub const MAX_BOUND_DIFFERENCE: f64 = 1e-5;
/// Mean |dq| up to which q is the same.
pub const MAX_Q_DIFFERENCE: f64 = 1e-4;

/// q of the topics of all documents' local models, one after another.
#[derive(Default)]
pub(super) struct Answers {
    topics: Vec<u32>,
    q: Vec<f32>,
}

/// How far two backends' q are apart.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct QDifference {
    /// Mean of |dq| over topics of documents.
    pub mean: f64,
    /// Its 99.9 % quantile.
    pub quantile_999: f64,
}

impl Answers {
    /// Runs a backend and keeps what it answers.
    pub(super) fn of(estep: &mut (impl EStep + ?Sized), work: &Work<'_>, params: &Params) -> Result<Self> {
        let mut answers = Self::default();
        let mut keep = |results: &DocResults<'_>| {
            answers.topics.extend_from_slice(results.topics);
            answers.q.extend_from_slice(results.q);
            Ok(())
        };
        estep.run(work, params, Some(&mut keep))?;
        Ok(answers)
    }

    /// The difference to another backend's answers. Where the topics are not even the same it is as large as can be.
    pub(super) fn difference(&self, other: &Self) -> QDifference {
        if self.topics != other.topics {
            return QDifference { mean: 1.0, quantile_999: 1.0 };
        }
        let mut apart: Vec<f32> = self.q.iter().zip(&other.q).map(|(a, b)| (a - b).abs()).collect();
        if apart.is_empty() {
            return QDifference { mean: 0.0, quantile_999: 0.0 };
        }
        let mean = apart.iter().copied().map(f64::from).sum::<f64>() / apart.len() as f64;
        let place = (0.999 * apart.len() as f64).ceil() as usize - 1;
        let (_, quantile, _) = apart.select_nth_unstable_by(place, f32::total_cmp);
        QDifference { mean, quantile_999: f64::from(*quantile) }
    }
}

/// Whether a mean bound and q are the same as the first backend's; NaN is not the same as anything.
pub(super) fn agree(elbo_mean: f64, first_elbo_mean: f64, q: QDifference) -> bool {
    (elbo_mean - first_elbo_mean).abs() <= MAX_BOUND_DIFFERENCE * first_elbo_mean.abs()
        && q.mean <= MAX_Q_DIFFERENCE
}
