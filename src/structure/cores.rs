//! The core of every topic, chosen greedily by density.
//!
//! As in DBSCAN the densest item comes first, and what lies near it is covered. Here items are covered more or less: an item's
//! density is the sum over itself and its neighbours of the similarity that no core chosen so far has. This is greedy
//! maximisation of a submodular function (facility location), so densities only fall, and a heap of stale ones will do. It
//! never runs dry: past the dense regions come the items that are covered least. And it is nested: the cores of fewer topics
//! are the first of those of more, so that every topic of a layer goes on from one of the layer below.

use super::neighbours::Neighbours;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// An item covers itself so well; below 1, pairs come before loners.
const SELF: f32 = 0.3;

/// The items that each topic starts from: those of the anchors, then one core each. `worth` says how much an item counts.
pub(super) fn choose(
    worth: &[f32],
    near: &Neighbours,
    n_topics: usize,
    anchors: &[Vec<u32>],
) -> Vec<Vec<u32>> {
    let mut covered = vec![0f32; near.n_items()];
    let mut cores: Vec<Vec<u32>> = anchors.to_vec();
    for anchor in anchors {
        anchor.iter().for_each(|&token| cover(near, token, &mut covered));
    }
    let density = |item: u32, covered: &[f32]| {
        let own = worth[item as usize] * (SELF - covered[item as usize]).max(0.0);
        let gain = |&(other, similarity): &(u32, f32)| {
            worth[other as usize] * (similarity - covered[other as usize]).max(0.0)
        };
        own + near.of(item as usize).iter().map(gain).sum::<f32>()
    };
    let mut heap: BinaryHeap<Dense> = (0..near.n_items() as u32)
        .map(|item| Dense { density: density(item, &covered), item: Reverse(item) })
        .collect();
    while cores.len() < n_topics {
        let Some(Dense { item: Reverse(item), .. }) = heap.pop() else { break };
        let now = Dense { density: density(item, &covered), item: Reverse(item) };
        if heap.peek().is_some_and(|next| *next > now) {
            heap.push(now);
            continue;
        }
        cores.push(vec![item]);
        cover(near, item, &mut covered);
    }
    cores
}

/// By item, the topics that start from it.
pub(super) fn by_item(cores: &[Vec<u32>], n_items: usize) -> Vec<Vec<u32>> {
    let mut own = vec![Vec::new(); n_items];
    for (topic, core) in cores.iter().enumerate() {
        core.iter().for_each(|&item| own[item as usize].push(topic as u32));
    }
    own
}

fn cover(near: &Neighbours, core: u32, covered: &mut [f32]) {
    covered[core as usize] = 1.0;
    for &(other, similarity) in near.of(core as usize) {
        let covered = &mut covered[other as usize];
        *covered = covered.max(similarity);
    }
}

/// An item by density; of equals the first.
#[derive(Clone, Copy)]
struct Dense {
    density: f32,
    item: Reverse<u32>,
}

impl Ord for Dense {
    fn cmp(&self, other: &Self) -> Ordering {
        self.density.total_cmp(&other.density).then(self.item.cmp(&other.item))
    }
}

impl PartialOrd for Dense {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Dense {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Dense {}
