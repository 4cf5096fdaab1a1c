//! The kernels' twins: the same arithmetic on the same arrays, row by row on one thread, as plain as can be.

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

use crate::estep::device::{Args, Lanes, WORKGROUP};
use std::ops::Range;

/// The rows of a dispatch, from a list.
fn listed<'a>(rows: &'a [u32], args: &Args) -> impl Iterator<Item = usize> + use<'a> {
    rows[args.row_begin as usize..][..args.n_rows as usize].iter().map(|&row| row as usize)
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
    let add = |sum: &mut [f32; N], terms: [f32; N]| (0..N).for_each(|n| sum[n] += terms[n]);
    match lanes {
        Lanes::Thread => {
            let mut sum = [0.0; N];
            entries.for_each(|entry| add(&mut sum, terms(entry)));
            sum
        }
        Lanes::Group => {
            let mut sums = [[0.0; N]; WORKGROUP as usize];
            let lanes = (0..WORKGROUP as usize).cycle();
            entries.zip(lanes).for_each(|(entry, lane)| add(&mut sums[lane], terms(entry)));
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
    }
}
