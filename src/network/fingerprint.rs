//! A checksum of a model's content, the same in every file format.

use super::{Names, Network};
use sha2::{Digest, Sha256};

/// SHA-256 over names, graph, weights and training summary, in hexadecimal.
pub fn fingerprint(network: &Network) -> String {
    let mut hash = Sha256::new();
    let Names { topics, tokens } = &network.names;
    for names in [topics, tokens] {
        hash.update((names.len() as u64).to_le_bytes());
        for name in names {
            hash.update((name.len() as u64).to_le_bytes());
            hash.update(name);
        }
    }
    let numbers = network.graph.edge_offsets().iter().chain(network.graph.edge_parents());
    numbers.for_each(|number| hash.update(number.to_le_bytes()));
    let weights = network.weights.leak.iter().chain(&network.weights.edge);
    weights.for_each(|weight| hash.update(weight.to_le_bytes()));
    hash.update(&network.training);
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
