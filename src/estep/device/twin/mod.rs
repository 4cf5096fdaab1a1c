//! The kernels' twins: the same arithmetic on the same arrays, row by row on one thread, as plain as can be.

mod alternate;
mod doc_bound;
mod edge_sums;
mod edge_terms;
mod flip_best;
mod flip_chain;
mod flip_gain;
mod flip_terms;
mod gradient;
mod init_q;
mod init_r;
mod keep;
mod machine;
mod memory;
mod node_bound;
mod node_sums;
mod q_update;
mod r_update;
mod restore;
mod search;

pub use alternate::alternate;
pub use doc_bound::doc_bound;
pub use edge_sums::edge_sums;
pub use flip_best::flip_best;
pub use flip_chain::flip_chain;
pub use flip_gain::flip_gain;
pub use flip_terms::flip_terms;
pub use gradient::gradient;
pub use init_q::init_q;
pub use init_r::init_r;
pub use keep::keep;
pub use machine::TwinMachine;
pub use memory::Memory;
pub use node_bound::node_bound;
pub use node_sums::node_sums;
pub use q_update::q_update;
pub use r_update::r_update;
pub use restore::restore;
pub use search::search;

use crate::estep::device::{Args, Lanes, WORKGROUP};
use std::ops::Range;

/// The rows of a dispatch, from a list of rows or of batches.
fn listed<'a>(rows: &'a [[u32; 2]], lanes: Lanes, args: &Args) -> impl Iterator<Item = usize> + use<'a> {
    let listed = &rows[args.row_begin as usize..][..args.n_rows as usize];
    listed
        .iter()
        .enumerate()
        .flat_map(move |(at, record)| match lanes {
            Lanes::Stream => batch(rows, *record),
            _ => &listed[at..=at],
        })
        .map(|&[row, _]| row as usize)
}

/// The records of a batch's rows.
fn batch(rows: &[[u32; 2]], [first, size]: [u32; 2]) -> &[[u32; 2]] {
    &rows[first as usize..][..size as usize % 65_536]
}

/// The rows of a range of batches.
fn batches(rows: &[[u32; 2]], [from, to]: [u32; 2]) -> impl Iterator<Item = usize> + '_ {
    let batches = &rows[from as usize..to as usize];
    batches.iter().flat_map(|&record| batch(rows, record)).map(|&[row, _]| row as usize)
}

/// The records of a dispatch's bins, as `Rows` lists them.
fn bins<'a>(rows: &'a [[u32; 2]], args: &Args) -> impl Iterator<Item = &'a [[u32; 2]]> + use<'a> {
    let listed = &rows[args.row_begin as usize..][..args.n_rows as usize];
    listed.iter().map(|&[place, n_colours]| &rows[place as usize..][..7 + n_colours as usize])
}

/// What a flip loses that must not be; above every number of an edge or topic in a row.
pub(super) const NOWHERE: f32 = 1e9;

/// Whether a topic is on, in a search.
#[inline(always)]
fn is_on(q: f32) -> bool {
    q > 0.5
}

/// Sums over a row's entries: one after another, or dealt out to the lanes of a workgroup and then added as a tree.
#[inline(always)]
fn row_sum<const N: usize>(
    lanes: Lanes,
    entries: Range<usize>,
    mut terms: impl FnMut(usize) -> [f32; N],
) -> [f32; N] {
    row_sum_of(lanes, [entries], |_, entry| terms(entry))
}

/// The same over entries of several kinds, each of which begins with the first lane.
#[inline(always)]
fn row_sum_of<const N: usize, const KINDS: usize>(
    lanes: Lanes,
    entries: [Range<usize>; KINDS],
    mut terms: impl FnMut(usize, usize) -> [f32; N],
) -> [f32; N] {
    let add = |sum: &mut [f32; N], terms: [f32; N]| (0..N).for_each(|n| sum[n] += terms[n]);
    match lanes {
        Lanes::Group => {
            let mut sums = [[0.0; N]; WORKGROUP as usize];
            for (kind, entries) in entries.into_iter().enumerate() {
                let lanes = (0..WORKGROUP as usize).cycle();
                entries.zip(lanes).for_each(|(entry, lane)| add(&mut sums[lane], terms(kind, entry)));
            }
            let mut stride = sums.len() / 2;
            while stride > 0 {
                (0..stride).for_each(|lane| {
                    let other = sums[lane + stride];
                    add(&mut sums[lane], other);
                });
                stride /= 2;
            }
            sums[0]
        }
        _ => {
            let mut sum = [0.0; N];
            for (kind, entries) in entries.into_iter().enumerate() {
                entries.for_each(|entry| add(&mut sum, terms(kind, entry)));
            }
            sum
        }
    }
}
