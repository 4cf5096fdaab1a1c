//! Seeded splits.

use crate::rng::{Stream, rng};
use rand::seq::SliceRandom;

/// Splits `0..n_docs` at random into (the rest, a share of them), both ascending.
///
/// Where there are two documents or more, a share above zero holds at least one; one document is never split off.
pub fn split(n_docs: usize, share: f64, seed: u64) -> (Vec<u32>, Vec<u32>) {
    let mut order: Vec<u32> = (0..n_docs as u32).collect();
    let taken = match (share * n_docs as f64).round() as usize {
        _ if share <= 0.0 || n_docs < 2 => 0,
        taken => taken.clamp(1, n_docs - 1),
    };
    order.shuffle(&mut rng(seed, Stream::Split));
    let mut rest = order.split_off(taken);
    rest.sort_unstable();
    order.sort_unstable();
    (rest, order)
}
