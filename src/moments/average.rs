//! One parameter from several sets of tokens.

use super::source::{ByGroup, GROUPS};

/// Probabilities are kept this far from 0 and 1.
pub const CLIP: f64 = 1e-6;
/// What stands for a parameter of which the documents say nothing.
const NO_IDEA: f64 = 0.5;

/// A parameter with its error.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// The value, within [[`CLIP`], 1 - [`CLIP`]].
    pub value: f64,
    /// The value before it was clipped.
    pub raw: f64,
    /// Its standard error; infinite where the documents say nothing.
    pub se: f64,
    /// Sets of tokens that it was averaged over.
    pub n_sets: u32,
    /// No set gave a value that can be relied on: covariances that are not positive, tokens that are always or never present, or
    /// parameters below that are degenerate themselves.
    pub degenerate: bool,
    /// What each group of documents adds to its error.
    pub(super) by_group: ByGroup,
}

impl Estimate {
    /// Whether the value was out of range.
    pub fn is_clipped(&self) -> bool {
        self.value != self.raw
    }

    /// Groups are alike, so their spread gives the variance of the sum.
    pub(super) fn new(raw: f64, by_group: ByGroup, n_sets: u32, n_groups: usize) -> Self {
        let squares: f64 = by_group.iter().map(|add| add * add).sum();
        let se = match n_groups {
            0 => 0.0,
            1 => f64::INFINITY,
            n => (squares * n as f64 / (n - 1) as f64).sqrt(),
        };
        if !raw.is_finite() || se.is_nan() {
            return Self::degenerate(NO_IDEA, n_sets);
        }
        Self { value: raw.clamp(CLIP, 1.0 - CLIP), raw, se, n_sets, degenerate: false, by_group }
    }

    /// A value that means nothing; where there is none at all, one in the middle.
    pub(super) fn degenerate(raw: f64, n_sets: u32) -> Self {
        let raw = if raw.is_finite() { raw } else { NO_IDEA };
        let value = raw.clamp(CLIP, 1.0 - CLIP);
        Self { value, raw, se: f64::INFINITY, n_sets, degenerate: true, by_group: [0.0; GROUPS] }
    }
}

/// Sums for an average by inverse variances.
#[derive(Debug, Clone)]
pub(super) struct Average {
    weight: f64,
    value: f64,
    by_group: ByGroup,
    n_sets: u32,
    /// The first value of all, for want of a better one.
    first: Option<f64>,
}

impl Default for Average {
    fn default() -> Self {
        Self { weight: 0.0, value: 0.0, by_group: [0.0; GROUPS], n_sets: 0, first: None }
    }
}

impl Average {
    /// Adds a value; one without a finite variance counts only if all are like that.
    pub(super) fn add(&mut self, value: f64, variance: f64, by_group: &ByGroup) {
        if !value.is_finite() {
            return;
        }
        self.first.get_or_insert(value);
        let weight = 1.0 / variance;
        if variance > 0.0 && weight > 0.0 && weight.is_finite() {
            self.weight += weight;
            self.value += weight * value;
            self.by_group.iter_mut().zip(by_group).for_each(|(sum, add)| *sum += weight * add);
            self.n_sets += 1;
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.weight += other.weight;
        self.value += other.value;
        self.by_group.iter_mut().zip(&other.by_group).for_each(|(sum, add)| *sum += add);
        self.n_sets += other.n_sets;
        self.first = self.first.or(other.first);
    }

    pub(super) fn estimate(&self, n_groups: usize) -> Estimate {
        if self.n_sets == 0 {
            return Estimate::degenerate(self.first.unwrap_or(NO_IDEA), 0);
        }
        let by_group = self.by_group.map(|sum| sum / self.weight);
        Estimate::new(self.value / self.weight, by_group, self.n_sets, n_groups)
    }
}
