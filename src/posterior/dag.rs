//! A network conditioned on a case: what is left of it when everything known has been put in.
//!
//! A node known to be off factorises: it is `exp(-w0) prod_k exp(-w_k x_k)`, so its weights go into one sum a topic. A topic known to be
//! on adds its weights to the leaks of its children. A topic without parents and without children that are on or unknown is independent
//! of all others: its posterior is closed form.

use super::case::Case;
use crate::error::Result;
use crate::network::Network;
use crate::numeric::f64::{beta, log1mexp, sigmoid, softplus};

/// Unknown parents, or children, of a node, with their weights.
pub type Parents = Vec<(usize, f64)>;

/// The unknown topics that depend on each other, and the nodes that are on.
#[derive(Debug, Clone, Default)]
pub struct Dag {
    /// log of all factors that no topic of `topics` enters.
    pub constant: f64,
    /// Numbers in the network, every parent before its children.
    pub topics: Vec<u32>,
    /// `w0` of every topic, with the weights of parents that are on.
    pub leak: Vec<f64>,
    /// Summed weights to children known to be off.
    pub absent: Vec<f64>,
    /// Parents of every topic and their weights.
    pub parents: Vec<Parents>,
    /// Nodes known to be on: leak, parents and their weights.
    pub on: Vec<(f64, Parents)>,
    /// Of every topic of the network: its posterior where that is closed form.
    pub settled: Vec<Option<f64>>,
}

/// `log(1 - rho + rho exp(s))` with `rho = sigmoid(logit)`, without cancellation.
pub fn log_mix(logit: f64, s: f64) -> f64 {
    if logit > 0.0 {
        s + log_mix(-logit, -s)
    } else if s < 30.0 {
        (sigmoid(logit) * s.exp_m1()).ln_1p()
    } else {
        softplus(logit + s) - softplus(logit)
    }
}

impl Dag {
    /// Conditions a network on a case.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`](crate::Error::Usage) for a case that contradicts itself or has numbers that the network lacks.
    pub fn new(network: &Network, case: &Case) -> Result<Self> {
        let (graph, weights) = (&network.graph, &network.weights);
        let states = case.states(graph)?;
        let n_topics = graph.n_topics();
        let mut absent = vec![0.0; n_topics];
        let mut tied = vec![false; n_topics];
        let (mut constant, mut on) = (0.0, Vec::new());
        // Leak with the parents that are on, and the unknown parents.
        let split = |node: usize| {
            let (mut leak, mut parents) = (weights.leak[node], Vec::new());
            for (edge, &parent) in graph.edges_into(node).zip(graph.parents(node)) {
                match states[parent as usize] {
                    None => parents.push((parent as usize, weights.edge[edge])),
                    Some(true) => leak += weights.edge[edge],
                    Some(false) => {}
                }
            }
            (leak, parents)
        };
        for (node, state) in states.iter().enumerate() {
            let Some(is_on) = *state else { continue };
            let (leak, parents) = split(node);
            if !is_on {
                constant -= leak;
                parents.iter().for_each(|&(parent, w)| absent[parent] += w);
            } else if parents.is_empty() {
                constant += log1mexp(leak);
            } else {
                parents.iter().for_each(|&(parent, _)| tied[parent] = true);
                on.push((leak, parents));
            }
        }
        let mut settled: Vec<Option<f64>> =
            states[..n_topics].iter().map(|state| state.map(f64::from)).collect();
        let free = graph.topic_order().iter().map(|&topic| topic as usize);
        let free: Vec<(usize, f64, Parents)> = free
            .filter(|&topic| states[topic].is_none())
            .map(|topic| {
                let (leak, parents) = split(topic);
                (topic, leak, parents)
            })
            .collect();
        for (topic, _, parents) in &free {
            tied[*topic] |= !parents.is_empty();
            parents.iter().for_each(|&(parent, _)| tied[parent] = true);
        }
        let mut dag = Self::default();
        let mut place = vec![usize::MAX; n_topics];
        for (topic, leak, mut parents) in free {
            if !tied[topic] {
                let logit = beta(leak);
                constant += log_mix(logit, -absent[topic]);
                settled[topic] = Some(sigmoid(logit - absent[topic]));
                continue;
            }
            place[topic] = dag.topics.len();
            parents.iter_mut().for_each(|(parent, _)| *parent = place[*parent]);
            dag.topics.push(topic as u32);
            dag.leak.push(leak);
            dag.absent.push(absent[topic]);
            dag.parents.push(parents);
        }
        for (_, parents) in &mut on {
            parents.iter_mut().for_each(|(parent, _)| *parent = place[*parent]);
        }
        Ok(Self { constant, on, settled, ..dag })
    }

    /// The children of every topic and their weights: topics, then nodes that are on.
    pub(super) fn children(&self) -> (Vec<Parents>, Vec<Parents>) {
        let (mut topics, mut on) = (vec![Vec::new(); self.n_topics()], vec![Vec::new(); self.n_topics()]);
        for (child, parents) in self.parents.iter().enumerate() {
            parents.iter().for_each(|&(parent, w)| topics[parent].push((child, w)));
        }
        for (node, (_, parents)) in self.on.iter().enumerate() {
            parents.iter().for_each(|&(parent, w)| on[parent].push((node, w)));
        }
        (topics, on)
    }

    /// Number of unknown topics that depend on each other.
    pub fn n_topics(&self) -> usize {
        self.topics.len()
    }

    /// Whether a topic has a parent that is unknown too.
    pub fn is_deep(&self) -> bool {
        self.parents.iter().any(|parents| !parents.is_empty())
    }

    /// `log p(x, y)` of states of the topics.
    pub fn log_joint(&self, x: &[bool]) -> f64 {
        let activation = |leak: f64, parents: &[(usize, f64)]| {
            leak + parents.iter().filter(|&&(parent, _)| x[parent]).map(|&(_, w)| w).sum::<f64>()
        };
        let of_topic = |topic: usize| {
            let a = activation(self.leak[topic], &self.parents[topic]);
            if x[topic] { log1mexp(a) - self.absent[topic] } else { -a }
        };
        let of_on: f64 = self.on.iter().map(|(leak, parents)| log1mexp(activation(*leak, parents))).sum();
        self.constant + (0..self.n_topics()).map(of_topic).sum::<f64>() + of_on
    }

    /// Values of `topics` and settled ones, by topic of the network.
    pub fn spread(&self, values: &[f64]) -> Vec<f64> {
        let mut all: Vec<f64> = self.settled.iter().map(|p| p.unwrap_or(0.0)).collect();
        self.topics.iter().zip(values).for_each(|(&topic, &value)| all[topic as usize] = value);
        all
    }
}
