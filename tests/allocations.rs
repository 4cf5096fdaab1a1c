//! Packing allocates nothing per document once its memory has grown.
#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use noisyor::batch::{Batch, Packer};
use noisyor::corpus::Item;

#[test]
fn packing_allocates_nothing_in_the_steady_state() {
    let network = random_network(7, 40, 60);
    let docs = random_docs(&network, 7, 500);
    let items = Item::each(&(0..docs.len() as u32).collect::<Vec<_>>());
    let (corpus, alignment) = corpus_of(&network, docs);
    let (mut packer, mut batch) = (Packer::new(&network.graph, false), Batch::default());
    let mut pack = || packer.pack(&network.graph, &alignment.docs(&corpus), &items, usize::MAX, &mut batch);
    let grown = allocation_counter::measure(|| assert_eq!(pack(), items.len()));
    assert!(grown.count_total > 0, "the counter counts");
    let steady = allocation_counter::measure(|| assert_eq!(pack(), items.len()));
    assert_eq!(steady.count_total, 0, "{steady:?}");
}
