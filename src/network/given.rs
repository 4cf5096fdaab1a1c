//! Topics whose state is given, put into the network.
//!
//! A given topic is no longer inferred, but what it says of others stays. To its children it is one more constant cause if it is on: its
//! weights go into their leaks. Of its parents it is evidence, as a token is: a token with its leak and its edges stands for it, present
//! if it is on and absent if it is off. What is left of the topic has no edges and is never on, so that all topics keep their numbers.
//! The bound is then one of `log p(y, given)`.

use super::{Graph, MAX_WEIGHT, Network};
use crate::error::{Error, Result};

/// The leak of what is left of a given topic: it is on with a probability that no sum notices.
const NEVER: f64 = 1e-30;

/// A network with given topics put in.
#[derive(Debug, Clone)]
pub struct WithGiven {
    /// The network, with a token more for every given topic.
    pub network: Network,
    /// Those of the new tokens that are present in every document.
    pub present: Vec<u32>,
    /// Topics that are given as on.
    pub on: Vec<u32>,
}

impl Network {
    /// Puts topics in whose state is given. Each must come once.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for a number that no topic has, or a topic that comes twice.
    pub fn with_given(&self, given: &[(u32, bool)]) -> Result<WithGiven> {
        let (n_topics, n_tokens) = (self.graph.n_topics(), self.graph.n_tokens());
        let mut states = vec![None; n_topics];
        for &(topic, on) in given {
            match states.get_mut(topic as usize) {
                Some(state @ None) => *state = Some(on),
                Some(Some(_)) => {
                    return Err(Error::Usage(format!("topic {topic} is given twice; give it once")));
                }
                None => {
                    return Err(Error::Usage(format!(
                        "given topic {topic}: the model has {n_topics} topics"
                    )));
                }
            }
        }
        let (mut leak, mut names) = (self.weights.leak.clone(), self.names.clone());
        let place = |topic: u32| given.iter().position(|&(other, _)| other == topic);
        let mut stand_in = |topic: u32| {
            leak.push(self.weights.leak[topic as usize]);
            names.tokens.push(format!("{} (given)", self.names.of(topic)));
        };
        given.iter().for_each(|&(topic, _)| stand_in(topic));
        let mut edges = Vec::with_capacity(self.graph.n_edges());
        for ((parent, child), &w) in self.graph.edges().zip(&self.weights.edge) {
            let of_child = states.get(child as usize).copied().flatten();
            let stand_in = of_child.and_then(|_| place(child)).map(|at| n_topics + n_tokens + at);
            match states[parent as usize] {
                // Between two that are given, it is the evidence that gets the cause.
                Some(true) => leak[stand_in.unwrap_or(child as usize)] += w,
                Some(false) => {}
                None => edges.push(((parent, stand_in.map_or(child, |node| node as u32)), w)),
            }
        }
        leak.iter_mut().for_each(|leak| *leak = leak.min(MAX_WEIGHT));
        given.iter().for_each(|&(topic, _)| leak[topic as usize] = NEVER);
        let ends: Vec<(u32, u32)> = edges.iter().map(|&(edge, _)| edge).collect();
        let (graph, order) = Graph::build(n_topics, n_tokens + given.len(), &ends, &|node| node.to_string())
            .map_err(|fault| Error::Usage(fault.message))?;
        let mut network = Self { graph, names, ..self.clone() };
        network.weights.leak = leak;
        network.weights.edge = order.iter().map(|&at| edges[at as usize].1).collect();
        let on = |(at, &(topic, on)): (usize, &(u32, bool))| on.then_some(((n_tokens + at) as u32, topic));
        let (present, on) = given.iter().enumerate().filter_map(on).unzip();
        Ok(WithGiven { network, present, on })
    }
}
