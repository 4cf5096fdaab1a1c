//! Markov chains over topics: against golden answers and enumeration, the same everywhere, and in training.

#![allow(clippy::unwrap_used)]

mod bounds;
mod chains;
mod golden;
mod training;

use crate::common::*;
use noisyor::corpus::Item;
use noisyor::mcmc::{Augmentation, Configuration, Joint, McmcOptions, Model, Shared};
use noisyor::network::Network;

/// A document of a network, to be sampled.
struct Case<'a> {
    network: &'a Network,
    joint: Joint,
    x: Configuration,
}

impl<'a> Case<'a> {
    fn new(network: &'a Network, tokens: &[u32], model: Model) -> Self {
        let (corpus, alignment) = corpus_of(network, [tokens.to_vec()]);
        let shared = Shared::new(&network.graph, &network.weights);
        let mut joint = Joint::new(&network.graph, model);
        joint.load(&shared, &alignment.docs(&corpus), Item { doc_ix: 0, count: 1 });
        let mut x = Configuration::default();
        x.clear(&joint);
        Self { network, joint, x }
    }

    /// The places of the topics, by their numbers in the network.
    fn places(&self) -> Vec<usize> {
        let mut places = vec![usize::MAX; self.network.graph.n_topics()];
        (0..self.joint.n_topics()).for_each(|place| places[self.joint.topic(place)] = place);
        places
    }

    /// Goes to a state, given for every topic of the network.
    fn go_to(&mut self, on: &[bool]) {
        for place in 0..self.joint.n_topics() {
            if self.x.on[place] != on[self.joint.topic(place)] {
                self.x.flip(&self.joint, place);
            }
        }
    }
}

/// All states of the topics of a small network.
fn states(n_topics: usize) -> impl Iterator<Item = Vec<bool>> {
    (0u32..1 << n_topics).map(move |states| (0..n_topics).map(|topic| states >> topic & 1 == 1).collect())
}
