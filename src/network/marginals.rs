//! How likely nodes are where nothing is observed.

use super::{Graph, Network, Weights};

/// The probability of every topic where nothing is observed, as if its parents were independent.
pub fn topic_marginals(graph: &Graph, weights: &Weights) -> Vec<f64> {
    let mut on = vec![0.0; graph.n_topics()];
    for &topic in graph.topic_order() {
        let topic = topic as usize;
        let parents = graph.parents(topic).iter().zip(&weights.edge[graph.edges_into(topic)]);
        let log_off: f64 = parents.map(|(&parent, w)| (on[parent as usize] * (-w).exp_m1()).ln_1p()).sum();
        on[topic] = -(log_off - weights.leak[topic]).exp_m1();
    }
    on
}

/// The probability of every token where nothing is observed, as if its parents were independent.
pub fn token_marginals(network: &Network) -> Vec<f64> {
    let (graph, weights) = (&network.graph, &network.weights);
    let on = topic_marginals(graph, weights);
    let log_off = |node: usize| -> f64 {
        let parents = graph.parents(node).iter().zip(&weights.edge[graph.edges_into(node)]);
        parents.map(|(&parent, w)| (on[parent as usize] * (-w).exp_m1()).ln_1p()).sum::<f64>()
            - weights.leak[node]
    };
    (graph.n_topics()..graph.n_nodes()).map(|token| -log_off(token).exp_m1()).collect()
}
