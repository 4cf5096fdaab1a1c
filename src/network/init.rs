//! Weights to start training from.

use super::{Graph, Weights};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// How training starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Init {
    /// Token leaks explain half of each token's frequency; edges are small and random.
    Data,
    /// The same constants everywhere (edges still random: equal topics would stay equal).
    Constant,
    /// The weights that came with the graph.
    Graph,
    /// Edges to the tokens and the leaks of a complete lowest layer from a mixture of Bernoulli distributions fitted to the
    /// documents ([`crate::mixture`]); the rest as by [`Init::Data`].
    Mixture,
    /// What moments of the documents give, in a graph of two layers ([`crate::moments`]); where they give nothing, as by [`Init::Data`]. In a
    /// graph with every edge, the topics that they suggest.
    Moments,
}

const TOPIC_LEAK: f64 = 0.05;
const CONSTANT_TOKEN_LEAK: f64 = 0.01;
const EDGE: f64 = 0.2;

/// Initial weights; `frequency` is the share of documents that hold each token.
///
/// A token's leak is set so that it alone switches the token on half as often as it is seen,
/// `w0 = -log(1 - frequency / 2)`: the topics explain the rest.
pub fn initial_weights(
    graph: &Graph,
    init: Init,
    frequency: &[f64],
    leak_floor: f64,
    rng: &mut ChaCha8Rng,
) -> Weights {
    let token_leak = |&share: &f64| match init {
        Init::Constant => CONSTANT_TOKEN_LEAK,
        // Where the graph's weights are wanted and there are none, `train` refuses before it comes here.
        Init::Data | Init::Mixture | Init::Moments | Init::Graph => -(-0.5 * share).ln_1p(),
    };
    let mut leak = vec![TOPIC_LEAK; graph.n_topics()];
    leak.extend(frequency.iter().map(token_leak).map(|leak| leak.max(leak_floor)));
    let edge = (0..graph.n_edges()).map(|_| EDGE * rng.random_range(0.2..1.8)).collect();
    let mut weights = Weights { leak, edge };
    weights.round_to_f32();
    weights
}
