//! What a backend answered, and whether two backends answered the same.

use crate::error::Result;
use crate::estep::{DocResults, EStep, Stats, Work};
use serde::Serialize;

/// Relative difference of mean bounds up to which they are the same.
pub const MAX_BOUND_DIFFERENCE: f64 = 1e-5;
/// Mean |dq| up to which q is the same.
pub const MAX_Q_DIFFERENCE: f64 = 1e-4;

/// Difference of gradient sums, relative to all of them together, up to which they are the same.
pub const MAX_SUMS_DIFFERENCE: f64 = 1e-5;

/// q of the topics of all documents' local models, one after another, and the gradient sums.
#[derive(Default)]
pub(super) struct Answers {
    topics: Vec<u32>,
    q: Vec<f32>,
    stats: Stats,
}

/// How far two backends' answers are apart, besides the bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Difference {
    /// Mean of |dq| over topics of documents.
    pub q_mean: f64,
    /// Its 99.9 % quantile.
    pub q_quantile_999: f64,
    /// The sum of |dN| over the sum of N, or the same of L or Q, whichever is the largest; zero without gradients.
    pub sums: f64,
}

impl Answers {
    /// Runs a backend and keeps what it answers.
    pub(super) fn of(estep: &mut (impl EStep + ?Sized), work: &Work<'_>) -> Result<Self> {
        let mut answers = Self::default();
        let mut keep = |results: &DocResults<'_>| {
            answers.topics.extend_from_slice(results.topics);
            answers.q.extend_from_slice(results.q);
            Ok(())
        };
        let stats = estep.run(work, Some(&mut keep))?;
        Ok(Self { stats, ..answers })
    }

    /// The difference to another backend's answers. Where the topics are not even the same it is as large as can be.
    pub(super) fn difference(&self, first: &Self) -> Difference {
        let (ours, theirs) = (&self.stats, &first.stats);
        let pairs =
            [(&ours.edge, &theirs.edge), (&ours.leak, &theirs.leak), (&ours.topic_q, &theirs.topic_q)];
        // Not `f64::max`, which would swallow NaN.
        let worst = |a: f64, b: f64| if b > a || b.is_nan() { b } else { a };
        let sums = pairs.into_iter().map(|(ours, theirs)| relative(ours, theirs)).fold(0.0, worst);
        let (q_mean, q_quantile_999) = self.q_difference(first);
        Difference { q_mean, q_quantile_999, sums }
    }

    fn q_difference(&self, first: &Self) -> (f64, f64) {
        if self.topics != first.topics {
            return (1.0, 1.0);
        }
        let mut apart: Vec<f32> = self.q.iter().zip(&first.q).map(|(a, b)| (a - b).abs()).collect();
        if apart.is_empty() {
            return (0.0, 0.0);
        }
        let mean = apart.iter().copied().map(f64::from).sum::<f64>() / apart.len() as f64;
        let place = (0.999 * apart.len() as f64).ceil() as usize - 1;
        let (_, quantile, _) = apart.select_nth_unstable_by(place, f32::total_cmp);
        (mean, f64::from(*quantile))
    }
}

/// `sum |a - b| / sum |b|`.
fn relative(a: &[f64], b: &[f64]) -> f64 {
    let apart: f64 = a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum();
    if a.len() != b.len() {
        1.0
    } else if apart == 0.0 {
        0.0
    } else {
        apart / b.iter().map(|b| b.abs()).sum::<f64>()
    }
}

/// Whether a mean bound, q and the gradient sums are the same as the first backend's; NaN is not the same as anything.
pub(super) fn agree(elbo_mean: f64, first_elbo_mean: f64, difference: Difference) -> bool {
    (elbo_mean - first_elbo_mean).abs() <= MAX_BOUND_DIFFERENCE * first_elbo_mean.abs()
        && difference.q_mean <= MAX_Q_DIFFERENCE
        && difference.sums <= MAX_SUMS_DIFFERENCE
}
