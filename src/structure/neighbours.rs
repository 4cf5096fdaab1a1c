//! The near neighbours of every item: what occurs with it more often than chance would have it.
//!
//! Rows are counted one by one over the inverted index (Gustavson's product), so that no matrix of all pairs is ever held:
//! the cost is the sum over documents of their squared lengths, the memory what is kept.

use super::occurrences::Occurrences;
use crate::error::Result;
use crate::monitor::Monitor;
use crate::ranks::Team;
use rayon::prelude::*;
use std::sync::atomic::Ordering;

/// Neighbours that an item keeps of its own; it may be a neighbour of more.
const NEAREST: usize = 64;
/// Documents of an item, and items of a document, that are looked at: evenly spaced where there are more.
const DOCS_A_ROW: usize = 8_192;
const ITEMS_A_DOC: usize = 512;
/// Similarities below the first are noise. Below the second they make hubs of words that occur with everything: an item keeps
/// them only where it has few others.
const LEAST: f32 = 0.03;
const NEAR: f32 = 0.15;
const FEW: usize = 6;
/// Rows between two looks at the monitor.
const ROWS: usize = 4_096;

/// The graph of near neighbours, symmetric, in CSR.
#[derive(Debug)]
pub(super) struct Neighbours {
    offsets: Vec<usize>,
    near: Vec<(u32, f32)>,
}

impl Neighbours {
    /// The neighbours of an item by number, with their similarity, above 0 and below 1.
    pub(super) fn of(&self, item: usize) -> &[(u32, f32)] {
        &self.near[self.offsets[item]..self.offsets[item + 1]]
    }

    pub(super) fn n_items(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The same neighbours, nearer the more neighbours they share: similarity times the root of the rows' Tanimoto coefficient.
    ///
    /// A word of two meanings is near the words of both, which are not near each other: it is no core for either.
    pub(super) fn cohesive(&self) -> Self {
        let norm = |item: usize| 1.0 + self.of(item).iter().map(|entry| entry.1 * entry.1).sum::<f32>();
        let rows: Vec<Vec<(u32, f32)>> = (0..self.n_items())
            .into_par_iter()
            .map_init(
                || vec![0f32; self.n_items()],
                |dense, item| {
                    dense[item] = 1.0;
                    self.of(item).iter().for_each(|&(other, similarity)| dense[other as usize] = similarity);
                    let cohesion = |&(other, similarity): &(u32, f32)| {
                        let shared: f32 = self
                            .of(other as usize)
                            .iter()
                            .map(|entry| entry.1 * dense[entry.0 as usize])
                            .sum();
                        let shared = shared + dense[other as usize];
                        let all = norm(item) + norm(other as usize) - shared;
                        (other, similarity * (shared / all).sqrt())
                    };
                    let row = self.of(item).iter().map(cohesion).collect();
                    dense[item] = 0.0;
                    self.of(item).iter().for_each(|entry| dense[entry.0 as usize] = 0.0);
                    row
                },
            )
            .collect();
        Self { offsets: self.offsets.clone(), near: rows.concat() }
    }

    /// A neighbour of either is a neighbour of both, with the larger similarity (samples may differ).
    fn symmetric(rows: &[Vec<(u32, f32)>]) -> Self {
        let mut offsets = vec![0; rows.len() + 1];
        for (item, row) in rows.iter().enumerate() {
            offsets[item + 1] += row.len();
            row.iter().for_each(|&(other, _)| offsets[other as usize + 1] += 1);
        }
        for item in 0..rows.len() {
            offsets[item + 1] += offsets[item];
        }
        let (mut next, mut near) = (offsets.clone(), vec![(0, 0.0); offsets[rows.len()]]);
        let mut put = |item: usize, entry: (u32, f32)| {
            near[next[item]] = entry;
            next[item] += 1;
        };
        for (item, row) in rows.iter().enumerate() {
            for &(other, similarity) in row {
                put(item, (other, similarity));
                put(other as usize, (item as u32, similarity));
            }
        }
        let mut kept = 0;
        for item in 0..rows.len() {
            let (begin, end) = (offsets[item], offsets[item + 1]);
            near[begin..end].sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
            offsets[item] = kept;
            for at in begin..end {
                if at == begin || near[at].0 != near[at - 1].0 {
                    near[kept] = near[at];
                    kept += 1;
                }
            }
        }
        offsets[rows.len()] = kept;
        near.truncate(kept);
        Self { offsets, near }
    }
}

/// Counts and compares, of which every rank does a share; pairs that share fewer than `min_support` documents are left out.
pub(super) fn neighbours(
    items: &Occurrences,
    min_support: u32,
    team: &Team,
    monitor: &Monitor,
) -> Result<Neighbours> {
    let n_items = items.n_items();
    let mut rows = Vec::with_capacity(n_items);
    for begin in (0..n_items).step_by(ROWS) {
        monitor.go_on()?;
        let end = (begin + ROWS).min(n_items);
        let row = |counter: &mut Counter, item| counter.row(items, item, min_support);
        rows.extend(team.share(begin..end, |rows| {
            rows.into_par_iter().map_init(|| Counter::new(n_items), row).collect()
        })?);
        let share = |row: usize| (items.n_docs() as u64 * row as u64) / n_items as u64;
        monitor.docs_done.fetch_add(share(end) - share(begin), Ordering::Relaxed);
    }
    Ok(Neighbours::symmetric(&rows))
}

/// Counts one row at a time.
struct Counter {
    /// Documents seen with each item, and how many they stand for.
    counts: Vec<(u32, f32)>,
    touched: Vec<u32>,
}

impl Counter {
    fn new(n_items: usize) -> Self {
        Self { counts: vec![(0, 0.0); n_items], touched: Vec::new() }
    }

    fn row(&mut self, items: &Occurrences, item: usize, min_support: u32) -> Vec<(u32, f32)> {
        let docs = items.docs(item);
        let stride = docs.len().div_ceil(DOCS_A_ROW).max(1);
        for &doc in docs.iter().step_by(stride) {
            let others = items.items(doc as usize);
            // Of a long document a part of its items is seen, another part for every item, each standing for several.
            let step = others.len().div_ceil(ITEMS_A_DOC).max(1);
            for &other in others.iter().skip((item + doc as usize) % step).step_by(step) {
                let count = &mut self.counts[other as usize];
                if count.0 == 0 {
                    self.touched.push(other);
                }
                *count = (count.0 + 1, count.1 + step as f32);
            }
        }
        let (n_docs, own_df) = (items.n_docs() as f64, docs.len() as f64);
        let mut row = Vec::new();
        for other in self.touched.drain(..) {
            let (seen, stands_for) = std::mem::take(&mut self.counts[other as usize]);
            if other as usize == item || u64::from(seen) * (stride as u64) < u64::from(min_support) {
                continue;
            }
            let scale = stride as f64 * f64::from(stands_for) / f64::from(seen);
            let similarity =
                similarity(f64::from(seen), scale, own_df, items.df(other as usize) as f64, n_docs);
            if similarity >= LEAST {
                row.push((other, similarity));
            }
        }
        keep_nearest(&mut row);
        row
    }
}

fn keep_nearest(row: &mut Vec<(u32, f32)>) {
    let nearest = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    if row.len() > NEAREST {
        row.select_nth_unstable_by(NEAREST, nearest);
        row.truncate(NEAREST);
    }
    row.sort_unstable_by(nearest);
    row.truncate(row.partition_point(|entry| entry.1 >= NEAR).max(FEW));
}

/// Normalised pointwise mutual information, log(p_ij / (p_i p_j)) / -log p_ij, of a count less its standard deviation: what
/// was seen a few times may be chance. Each of the `seen` stands for `scale`.
fn similarity(seen: f64, scale: f64, df_one: f64, df_other: f64, n_docs: f64) -> f32 {
    let sure = (scale * (seen - seen.sqrt())).min(df_one).min(df_other);
    if sure <= 0.0 {
        return 0.0;
    }
    let information = (sure * n_docs / (df_one * df_other)).ln();
    // Estimates from a sample may contradict each other.
    (information / (n_docs / sure).ln().max(f64::MIN_POSITIVE)).min(0.999) as f32
}
