//! Seeded splits.

use crate::rng::{Stream, rng};
use rand::seq::SliceRandom;

/// Splits `0..n_docs` at random into (the rest, a share of them), both ascending.
///
/// A share above zero holds at least one document where there are two or more.
pub fn split(n_docs: usize, share: f64, seed: u64) -> (Vec<u32>, Vec<u32>) {
    let mut order: Vec<u32> = (0..n_docs as u32).collect();
    let mut taken = (share * n_docs as f64).round() as usize;
    if share > 0.0 && n_docs >= 2 {
        taken = taken.clamp(1, n_docs - 1);
    }
    order.shuffle(&mut rng(seed, Stream::Split));
    let mut rest = order.split_off(taken.min(n_docs));
    rest.sort_unstable();
    order.sort_unstable();
    (rest, order)
}
