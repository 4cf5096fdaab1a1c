//! When training stops early: patience with a bound held out that no longer gains.

use serde::{Deserialize, Serialize};

/// The bound held out must gain this share of itself, over as many evaluations as it takes, to reset the patience. (Debian's
/// descriptions gain a hundredth of a nat of 112 an epoch for ever.)
const GAIN: f64 = 2e-4;

/// Evaluations so far, as far as patience goes.
///
/// Of few documents held out one alone, of which a word has lost its last explanation, moves the bound down by more than an epoch
/// moves it up. So a bound that climbs out of a dip at the pace of a gain is waited for: such evaluations do not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Patience {
    /// Evaluations that count against it, since the last gain.
    idle: u32,
    /// The bounds at the last gain and at the last evaluation.
    last_gain: Option<f64>,
    last: Option<f64>,
}

impl Patience {
    /// Counts an evaluation, where so many idle ones end the training. Where nothing is held out each is a gain.
    pub(crate) fn count(&mut self, bound: Option<f64>, most: u32) {
        let gains = |share: f64, before: Option<f64>| match (bound, before) {
            (Some(now), Some(before)) => now - before > share * before.abs(),
            _ => true,
        };
        if gains(GAIN, self.last_gain) {
            *self = Self { idle: 0, last_gain: bound, last: bound };
            return;
        }
        let climbs = gains(GAIN / f64::from(most.max(1)), self.last);
        self.idle += u32::from(!climbs);
        self.last = bound;
    }

    /// Whether training is to stop after so many idle evaluations; with 0 it never is.
    pub(crate) fn is_over(&self, most: u32) -> bool {
        most > 0 && self.idle >= most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After which of these bounds training stops.
    fn stop(bounds: &[f64], most: u32) -> Option<usize> {
        let mut patience = Patience::default();
        bounds.iter().position(|&bound| {
            patience.count(Some(bound), most);
            patience.is_over(most)
        })
    }

    #[test]
    fn it_stops_where_the_bound_falls_or_stands() {
        assert_eq!(stop(&[-10.0, -9.0, -9.01, -9.02, -9.03, -9.04, -9.05], 5), Some(6));
        assert_eq!(stop(&[-10.0, -9.0, -9.0, -9.0, -8.9999, -8.9998, -8.9998], 5), Some(6));
        assert_eq!(stop(&[-10.0; 99], 0), None);
    }

    #[test]
    fn small_gains_add_up() {
        // 0.005 % each: the fifth is a gain over the first.
        let bounds: Vec<f64> = (0..99).map(|at| -10.0 + 5e-4 * f64::from(at)).collect();
        assert_eq!(stop(&bounds, 5), None);
        assert_eq!(stop(&bounds, 3), Some(3), "three are too few");
    }

    #[test]
    fn a_bound_that_climbs_out_of_a_dip_is_waited_for() {
        // A table of 24 columns: the best at first, a dip of 0.01, and better than before ten evaluations later.
        let dip = [
            -7.649, -7.643, -7.637, -7.640, -7.640, -7.640, -7.6465, -7.6440, -7.6430, -7.6419, -7.6405,
            -7.6395, -7.633,
        ];
        assert_eq!(stop(&dip, 5), None);
        // What does not climb in time is not waited for; nor is it where it climbs too slowly, or turns back.
        assert_eq!(stop(&[-7.637, -7.64, -7.65, -7.66, -7.67, -7.68, -7.67], 5), Some(5));
        let slowly: Vec<f64> =
            [-7.637].into_iter().chain((0..20).map(|at| -7.65 + 1e-4 * f64::from(at))).collect();
        assert_eq!(stop(&slowly, 5), Some(5));
        let turning = [-7.637, -7.65, -7.645, -7.65, -7.645, -7.65, -7.645, -7.65, -7.645, -7.65, -7.645];
        assert_eq!(stop(&turning, 5), Some(9));
    }

    #[test]
    fn without_documents_held_out_it_never_stops() {
        let mut patience = Patience::default();
        (0..9).for_each(|_| patience.count(None, 1));
        assert!(!patience.is_over(1));
    }
}
