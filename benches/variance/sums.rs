//! The sums of each document by itself, and their means over some.

use noisyor::Network;
use noisyor::corpus::{Docs, Item};
use noisyor::estep::{DocResults, EStep, EStepOptions, Monitor, Params, Work, cpu::CpuEStep};
use noisyor::network::Graph;

/// Means over documents.
#[derive(Clone)]
pub struct Sums {
    /// `n_kj` of every edge.
    pub n: Vec<f64>,
    /// `n_0i` of every node.
    pub n_0: Vec<f64>,
    /// `q_k` of every topic.
    pub q: Vec<f64>,
    /// `y_j` of every token.
    pub y: Vec<f64>,
    /// `q_k y_j` of every edge to a token.
    pub qy: Vec<f64>,
    /// `[k in H_d]` of every topic.
    pub h: Vec<f64>,
    /// `q_k [i in H_d]` of every edge between topics.
    pub qh: Vec<f64>,
}

/// What one document adds: list, place, value.
pub type Terms = Vec<(u8, u32, f32)>;

impl Sums {
    fn new(graph: &Graph) -> Self {
        let zeros = |n: usize| vec![0.0; n];
        Self {
            n: zeros(graph.n_edges()),
            n_0: zeros(graph.n_nodes()),
            q: zeros(graph.n_topics()),
            y: zeros(graph.n_tokens()),
            qy: zeros(graph.n_edges()),
            h: zeros(graph.n_topics()),
            qh: zeros(graph.n_edges()),
        }
    }

    fn lists(&mut self) -> [&mut Vec<f64>; 7] {
        [&mut self.n, &mut self.n_0, &mut self.q, &mut self.y, &mut self.qy, &mut self.h, &mut self.qh]
    }

    pub fn mean<'a>(graph: &Graph, docs: impl ExactSizeIterator<Item = &'a Terms>) -> Self {
        let (mut sums, n_docs) = (Self::new(graph), docs.len() as f64);
        let lists = sums.lists();
        for &(list, at, value) in docs.flatten() {
            lists[list as usize][at as usize] += f64::from(value);
        }
        lists.into_iter().flatten().for_each(|sum| *sum /= n_docs);
        sums
    }

    fn terms(mut self) -> Terms {
        let mut terms = Terms::new();
        for (list, values) in self.lists().into_iter().enumerate() {
            let some = values.iter().enumerate().filter(|(_, value)| **value != 0.0);
            terms.extend(some.map(|(at, &value)| (list as u8, at as u32, value as f32)));
        }
        terms
    }
}

/// The first documents, one by one, the free tail included.
pub fn of_documents(network: &Network, docs: Docs<'_>, n_docs: usize) -> Vec<Terms> {
    let (graph, weights, options) = (&network.graph, &network.weights, &EStepOptions::default());
    let params = &Params::derive(graph, weights, options.bound).expect("good weights");
    let (monitor, mut estep) = (&Monitor::default(), CpuEStep::new());
    let of_doc = |doc_ix: usize| {
        let items = &[Item { doc_ix: doc_ix as u32, count: 1 }];
        let mut sums = Sums::new(graph);
        let mut sink = |results: &DocResults<'_>| {
            let (topics, q) = results.doc(0);
            for (&topic, &q) in topics.iter().zip(q) {
                (sums.q[topic as usize], sums.h[topic as usize]) = (f64::from(q), 1.0);
            }
            Ok(())
        };
        let work = Work { graph, params, docs, items, options, gradients: true, kept_on: None, monitor };
        let stats = estep.run(&work, Some(&mut sink)).expect("an E-step").with_tail(params);
        docs.tokens(doc_ix).for_each(|token| sums.y[token as usize] = 1.0);
        for child in 0..graph.n_nodes() {
            for edge in graph.edges_into(child) {
                let q = sums.q[graph.edge_parents()[edge] as usize];
                match child.checked_sub(graph.n_topics()) {
                    Some(token) => sums.qy[edge] = q * sums.y[token],
                    None => sums.qh[edge] = q * sums.h[child],
                }
            }
        }
        let counts = |w: &[f64], sums: &[f64]| w.iter().zip(sums).map(|(w, sum)| w * sum).collect();
        (sums.n, sums.n_0) = (counts(&weights.edge, &stats.edge), counts(&weights.leak, &stats.leak));
        sums.q.copy_from_slice(&stats.topic_q);
        sums.terms()
    };
    (0..n_docs).map(of_doc).collect()
}
