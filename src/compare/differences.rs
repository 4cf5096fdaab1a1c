//! The same documents under two models: by how much their bounds differ, document by document.

use serde::Serialize;

/// A range of differences, and how many documents are in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bin {
    /// From here on; none for the first bin, which takes all below.
    pub from: Option<f64>,
    /// Up to here; none for the last one.
    pub to: Option<f64>,
    /// Documents.
    pub docs: usize,
}

/// Differences A - B of the bounds of documents: above zero A is better.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Differences {
    /// Documents.
    pub docs: usize,
    /// Mean bound under A.
    pub mean_a: f64,
    /// Under B.
    pub mean_b: f64,
    /// Mean difference.
    pub mean: f64,
    /// Its standard error, of pairs; none of a single document.
    pub standard_error: Option<f64>,
    /// Documents that A is better on.
    pub a_better: usize,
    /// That B is better on.
    pub b_better: usize,
    /// How the differences are distributed.
    pub histogram: Vec<Bin>,
}

/// Bins of a histogram at most, but one; rounding their width up leaves no fewer than a third.
const BINS: f64 = 16.0;

/// Compares the bounds of the same documents, one for one; none if there are none.
pub fn differences(a: &[f64], b: &[f64]) -> Option<Differences> {
    let mut each: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let n = each.len() as f64;
    if each.is_empty() {
        return None;
    }
    let mean_of = |values: &[f64]| values.iter().sum::<f64>() / n;
    let mean = mean_of(&each);
    let squares: f64 = each.iter().map(|difference| (difference - mean).powi(2)).sum();
    let standard_error = (each.len() > 1).then(|| (squares / (n - 1.0) / n).sqrt());
    each.sort_unstable_by(f64::total_cmp);
    Some(Differences {
        docs: each.len(),
        mean_a: mean_of(&a[..each.len()]),
        mean_b: mean_of(&b[..each.len()]),
        mean,
        standard_error,
        a_better: each.iter().filter(|&&difference| difference > 0.0).count(),
        b_better: each.iter().filter(|&&difference| difference < 0.0).count(),
        histogram: histogram(&each),
    })
}

/// Bins of a round width, with an edge at zero; a hundredth at either end does not stretch them.
fn histogram(sorted: &[f64]) -> Vec<Bin> {
    let quantile = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
    let (low, high) = (quantile(0.01), quantile(0.99));
    let width = round_width((high - low) / BINS);
    if !(width > 0.0 && width.is_finite()) {
        return vec![Bin { from: None, to: None, docs: sorted.len() }];
    }
    let (first, last) = ((low / width).floor(), (high / width).floor());
    let n_bins = (last - first) as usize + 1;
    let mut counts = vec![0; n_bins];
    for difference in sorted {
        let bin = ((difference / width).floor() - first).clamp(0.0, (n_bins - 1) as f64);
        counts[bin as usize] += 1;
    }
    let edge = |bin: usize| (first + bin as f64) * width;
    let bin = |(at, &docs): (usize, &usize)| Bin {
        from: (at > 0).then(|| edge(at)),
        to: (at + 1 < n_bins).then(|| edge(at + 1)),
        docs,
    };
    counts.iter().enumerate().map(bin).collect()
}

/// The least of 1, 2 and 5 times a power of ten that is no less.
fn round_width(width: f64) -> f64 {
    let power = 10f64.powf(width.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|&round| round >= width)
        .unwrap_or(width)
}

/// Places of the documents with the largest differences: those that A is better on, those that B is; `n` of each at most.
pub fn extremes(a: &[f64], b: &[f64], n: usize) -> (Vec<usize>, Vec<usize>) {
    let difference = |at: usize| a[at] - b[at];
    let mut places: Vec<usize> = (0..a.len().min(b.len())).collect();
    places.sort_by(|&one, &other| difference(other).total_cmp(&difference(one)));
    let better_a = places.iter().copied().filter(|&at| difference(at) > 0.0).take(n).collect();
    let better_b = places.iter().rev().copied().filter(|&at| difference(at) < 0.0).take(n).collect();
    (better_a, better_b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_by_hand() {
        let found = differences(&[-1.0, -2.0, -3.0, -4.0], &[-2.0, -2.0, -5.0, -3.0]).unwrap();
        assert_eq!((found.docs, found.a_better, found.b_better), (4, 2, 1));
        assert_eq!((found.mean_a, found.mean_b, found.mean), (-2.5, -3.0, 0.5));
        // Differences 1, 0, 2, -1: squares about the mean sum to 5, so the variance is 5/3 and the error sqrt(5/12).
        assert!((found.standard_error.unwrap() - (5f64 / 12.0).sqrt()).abs() < 1e-12);
        assert_eq!(found.histogram.iter().map(|bin| bin.docs).sum::<usize>(), 4);
        assert_eq!(extremes(&[-1.0, -2.0, -3.0, -4.0], &[-2.0, -2.0, -5.0, -3.0], 2), (vec![2, 0], vec![3]));
    }

    #[test]
    fn no_difference_and_no_document() {
        assert_eq!(differences(&[], &[]), None);
        let one = differences(&[-1.0], &[-1.0]).unwrap();
        assert_eq!((one.mean, one.standard_error, one.histogram.len()), (0.0, None, 1));
        let same = differences(&[-1.0, -2.0], &[-1.0, -2.0]).unwrap();
        assert_eq!((same.standard_error, same.a_better, same.b_better), (Some(0.0), 0, 0));
    }

    #[test]
    fn bins_are_round_have_an_edge_at_zero_and_hold_all() {
        let a: Vec<f64> = (0..1000).map(|at| (f64::from(at) - 300.0) / 37.0).collect();
        let found = differences(&a, &vec![0.0; a.len()]).unwrap().histogram;
        assert_eq!(found.iter().map(|bin| bin.docs).sum::<usize>(), 1000);
        assert!((6..=17).contains(&found.len()), "{found:?}");
        assert!(found.iter().any(|bin| bin.from == Some(0.0)), "{found:?}");
        let below: usize =
            found.iter().filter(|bin| bin.to.is_some_and(|to| to <= 0.0)).map(|bin| bin.docs).sum();
        assert_eq!(below, 300);
        assert_eq!((found[0].from, found[found.len() - 1].to), (None, None));
    }
}
