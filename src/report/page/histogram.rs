//! Counts by bins whose width is found on the way: values come once, and nobody knows their range.

use std::collections::BTreeMap;

/// Bins of a finished histogram at most.
const BINS: i64 = 64;
/// Bins at most while values still come.
const WORKING_BINS: i64 = 4096;

/// Counts of values of up to three kinds, in bins of one width, a power of two.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// Width of a bin. Bin `i` holds values from `i width` up to `(i + 1) width`.
    pub width: f64,
    /// Bins that hold anything, with the counts of each kind.
    pub counts: BTreeMap<i64, [u64; 3]>,
}

impl Histogram {
    /// An empty one, whose bins are at least so wide.
    pub fn new(width: f64) -> Self {
        Self { width, counts: BTreeMap::new() }
    }

    /// Counts a value.
    pub fn add(&mut self, value: f64, kind: usize) {
        let bin = (value / self.width).floor() as i64;
        self.counts.entry(bin).or_default()[kind] += 1;
        self.widen(WORKING_BINS);
    }

    /// The same in few bins: of the smallest width that will do, in whatever order the values came.
    pub fn finish(mut self) -> Self {
        self.widen(BINS);
        self
    }

    /// Bins of twice the width are pairs of bins, so nothing is counted anew.
    fn widen(&mut self, most: i64) {
        while self.counts.len() > 1 && self.span().saturating_add(1) > most {
            let mut wider: BTreeMap<i64, [u64; 3]> = BTreeMap::new();
            for (bin, counts) in std::mem::take(&mut self.counts) {
                let sums = wider.entry(bin.div_euclid(2)).or_default();
                sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            }
            (self.width, self.counts) = (2.0 * self.width, wider);
        }
    }

    fn span(&self) -> i64 {
        let ends = self.counts.first_key_value().zip(self.counts.last_key_value());
        ends.map_or(0, |((first, _), (last, _))| last.saturating_sub(*first))
    }

    /// Values of a kind.
    pub fn n_values(&self, kind: usize) -> u64 {
        self.counts.values().map(|counts| counts[kind]).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_do_not_depend_on_the_order_and_lose_nothing() {
        let values: Vec<f64> = (0..20_000).map(|i| -f64::from(i * i % 9973) * 0.37).collect();
        let of = |values: &mut dyn Iterator<Item = f64>| {
            let mut histogram = Histogram::new(1.0 / 64.0);
            values.for_each(|value| histogram.add(value, 1));
            histogram.finish()
        };
        let (forward, backward) = (of(&mut values.iter().copied()), of(&mut values.iter().rev().copied()));
        assert_eq!(forward, backward);
        assert_eq!((forward.n_values(0), forward.n_values(1)), (0, 20_000));
        let bins = forward.counts.len();
        assert!((32..=64).contains(&bins), "{bins} bins of width {}", forward.width);
        for (&bin, counts) in &forward.counts {
            let within = |value: &&f64| (**value / forward.width).floor() as i64 == bin;
            assert_eq!(values.iter().filter(within).count() as u64, counts[1]);
        }
    }

    #[test]
    fn values_far_apart_end() {
        let mut histogram = Histogram::new(1.0);
        [-1e300, 0.0, 1e300].into_iter().for_each(|value| histogram.add(value, 0));
        assert_eq!(histogram.finish().n_values(0), 3);
    }
}
