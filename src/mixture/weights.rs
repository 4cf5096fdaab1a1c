//! Weights of a complete layer of topics above the tokens, from a mixture.

use super::Mixture;
use crate::error::{Error, Result};
use crate::network::{Graph, Weights};
use std::ops::RangeInclusive;

/// A token's leak has this share of the token's probability in the median document's component.
const LEAK_SHARE: f64 = 0.9;
const MEDIAN: f64 = 0.5;
/// It is no more than this share of the token's frequency: the rest is for topics.
const MOST_LEAK: f64 = 0.5;
/// The smallest edge at the start: EM moves weights in proportion, and what starts at the floor stays there.
const LEAST_EDGE: f64 = 1e-3;
/// The largest share of a component that a leak stands for.
const MOST_SHARE: f64 = 0.95;

/// The topics right above the tokens, if each of them is linked to every token and no other topic to any.
pub(crate) fn complete_layer(graph: &Graph) -> Result<&[u32]> {
    let topics = if graph.n_tokens() > 0 { graph.parents(graph.n_topics()) } else { &[] };
    let same = (graph.n_topics()..graph.n_nodes()).all(|token| graph.parents(token) == topics);
    let lowest = topics.iter().all(|&topic| graph.children(topic as usize).len() == graph.n_tokens());
    if topics.is_empty() || !same || !lowest {
        return Err(Error::Usage(
            "`init` mixture is for graphs in which every topic of the lowest layer is linked to every token, and no other topic \
             to any; use `parents` all with `topics`, or `init` data"
                .into(),
        ));
    }
    Ok(topics)
}

impl Mixture {
    /// Writes the weights of `topics`, a complete layer, one a component, so that a document of one active topic is as the
    /// component has it:
    ///
    /// ```text
    /// w0_k = -log(1 - pi_k),   w0_t = -log(1 - p0_t),   w_kt = log((1 - p0_t) / (1 - P_kt))
    /// ```
    ///
    /// each within its range. `p0_t = min(0.9 m_t, 0.5 p_t)` with m_t the median of P_kt over the documents: what a token is
    /// nearly everywhere is the leak's, or every topic that is on would count it again.
    pub(crate) fn write_weights(
        &self,
        graph: &Graph,
        topics: &[u32],
        edge_range: RangeInclusive<f64>,
        leak_range: RangeInclusive<f64>,
        weights: &mut Weights,
    ) {
        let leak = |p: f64| (-(-p).ln_1p()).clamp(*leak_range.start(), *leak_range.end());
        for (&topic, &share) in topics.iter().zip(&self.shares) {
            weights.leak[topic as usize] = leak(share.min(MOST_SHARE));
        }
        let mut sorted: Vec<(f64, f64)> = Vec::with_capacity(self.n_components());
        for (token, &frequency) in self.frequency.iter().enumerate() {
            let of_components = || (0..self.n_components()).map(|component| self.component(component)[token]);
            sorted.clear();
            sorted.extend(of_components().zip(self.shares.iter().copied()));
            sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            let mut below = 0.0;
            let median = sorted.iter().find(|(_, share)| {
                below += share;
                below >= MEDIAN
            });
            let p0 = (LEAK_SHARE * median.map_or(0.0, |&(p, _)| p)).min(MOST_LEAK * frequency);
            let node = graph.n_topics() + token;
            weights.leak[node] = leak(p0);
            for (w, p) in weights.edge[graph.edges_into(node)].iter_mut().zip(of_components()) {
                *w = ((-p0).ln_1p() - (-p).ln_1p())
                    .max(LEAST_EDGE)
                    .clamp(*edge_range.start(), *edge_range.end());
            }
        }
        weights.round_to_f32();
    }
}
