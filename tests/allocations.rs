//! Packing and E-steps allocate nothing per document once their memory has grown.
#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use noisyor::batch::{Batch, Packer};
use noisyor::corpus::Item;
use noisyor::estep::cpu::Probe;
use noisyor::estep::{Bound, EStepOptions, Params, Start};

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

#[test]
fn an_estep_allocates_nothing_in_the_steady_state() {
    let network = random_network(7, 40, 60);
    let (corpus, alignment) = corpus_of(&network, random_docs(&network, 7, 50));
    let params = Params::derive(&network.graph, &network.weights, Bound::Tail).unwrap();
    for (start, clamp) in [(Start::Greedy, 0), (Start::Plain, 0), (Start::Best, 0), (Start::Greedy, 4)] {
        let options = EStepOptions { start, clamp, ..EStepOptions::default() };
        let mut probe = Probe::empty(&network.graph, Bound::Tail, &params);
        let mut run = || {
            for doc_ix in 0..corpus.n_docs() as u32 {
                probe.load(&alignment.docs(&corpus), doc_ix);
                probe.solve(&options);
            }
        };
        let grown = allocation_counter::measure(&mut run);
        assert!(grown.count_total > 0, "the counter counts");
        let steady = allocation_counter::measure(&mut run);
        assert_eq!(steady.count_total, 0, "{start:?}, clamp {clamp}: {steady:?}");
    }
}
