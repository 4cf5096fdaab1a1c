//! Seeded splits.

use crate::rng::{Stream, rng};
use rand::seq::SliceRandom;

/// Documents in three parts, each ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    /// To train on.
    pub train: Vec<u32>,
    /// To choose by: when to stop, which model is best.
    pub valid: Vec<u32>,
    /// To judge by, and for nothing else.
    pub test: Vec<u32>,
}

/// Splits `0..n_docs` at random; the shares are of all documents. The test part does not depend on the validation share, and a
/// larger validation part changes the training part alone.
///
/// A share above zero takes at least one document as long as one remains to train on, and never the last.
pub fn split(n_docs: usize, valid: f64, test: f64, seed: u64) -> Parts {
    let mut order: Vec<u32> = (0..n_docs as u32).collect();
    let mut left = n_docs.saturating_sub(1);
    let mut take = |share: f64| {
        let wanted = (share * n_docs as f64).round() as usize;
        let taken = if share > 0.0 { wanted.max(1).min(left) } else { 0 };
        left -= taken;
        taken
    };
    let (n_valid, n_test) = (take(valid), take(test));
    order.shuffle(&mut rng(seed, Stream::Split));
    let mut train = order.split_off(n_test + n_valid);
    let mut valid = order.split_off(n_test);
    // The rest has room for all of them.
    order.shrink_to_fit();
    [&mut train, &mut valid, &mut order].into_iter().for_each(|part| part.sort_unstable());
    Parts { train, valid, test: order }
}
