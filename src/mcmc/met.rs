//! The paper's lower bound of log p(y): the joint probabilities of all different configurations that were met, summed.

use crate::numeric::f64::LogSum;
use rustc_hash::FxHashSet;

/// Configurations are known by the exclusive or of their topics' keys. Should two have the same, the second is left out: the sum
/// is still a lower bound.
pub(crate) fn key(topic: usize) -> u64 {
    // SplitMix64 of the topic's number.
    let mut z = (topic as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Terms this far below the largest are left out: a million of them would not show in the twelfth digit.
const NEGLIGIBLE: f64 = 42.0;

/// Configurations met so far.
#[derive(Debug, Default)]
pub(crate) struct Configurations {
    seen: FxHashSet<u64>,
    sum: LogSum,
    largest: f64,
}

impl Configurations {
    /// Forgets them all.
    pub(crate) fn clear(&mut self) {
        self.seen.clear();
        (self.sum, self.largest) = (LogSum::default(), f64::NEG_INFINITY);
    }

    /// Adds one, unless it was met before.
    pub(crate) fn add(&mut self, key: u64, log_joint: f64) {
        if log_joint > self.largest - NEGLIGIBLE && self.seen.insert(key) {
            self.largest = self.largest.max(log_joint);
            self.sum.add(log_joint);
        }
    }

    /// log of the sum.
    pub(crate) fn log(&self) -> f64 {
        self.sum.log()
    }
}
