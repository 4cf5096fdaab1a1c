//! Sums over documents: the bound and the gradient terms of Eqs. 13-16, in f64.

use super::{BlockSums, Params};
use crate::network::Graph;
use serde::{Deserialize, Serialize};

/// Sums over D documents, each counted as often as its item says, and over the topics of their local models. Sums of several
/// slices of a batch are merged; a weight step takes them by [`Stats::with_tail`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// D.
    pub n_docs: f64,
    /// Sum of the bound.
    pub elbo_sum: f64,
    /// `N_ki` of every edge.
    pub edge: Vec<f64>,
    /// `L_i` of every node.
    pub leak: Vec<f64>,
    /// `Q_k` of every topic.
    pub topic_q: Vec<f64>,
    /// `n_k`: documents that hold the topic in H_d.
    pub topic_docs: Vec<f64>,
    /// Documents run, identical ones once.
    pub n_items: u64,
    /// Alternations over all items.
    pub n_alternations: u64,
    /// Items that reached the maximum of alternations before the tolerance.
    pub n_unconverged: u64,
    /// Positive edges of all items.
    pub n_edges: u64,
    /// Positive-edge updates: edges times alternations.
    pub n_edge_updates: u64,
}

/// What a weight step is computed from: sums over documents and all topics, those outside H_d included. Only [`Stats::with_tail`]
/// makes it, so nobody can leave the free tail out or add it twice.
#[derive(Debug, Clone, PartialEq)]
pub struct StepSums(Stats);

impl std::ops::Deref for StepSums {
    type Target = Stats;

    fn deref(&self) -> &Stats {
        &self.0
    }
}

impl Stats {
    /// Empty sums; without gradients the vectors stay empty.
    pub fn new(graph: &Graph, gradients: bool) -> Self {
        let n = |len: usize| vec![0.0; if gradients { len } else { 0 }];
        Self {
            edge: n(graph.n_edges()),
            leak: n(graph.n_nodes()),
            topic_q: n(graph.n_topics()),
            topic_docs: n(graph.n_topics()),
            ..Self::default()
        }
    }

    /// Adds a block as it is: for sums of single documents.
    pub(crate) fn add(&mut self, graph: &Graph, block: &BlockSums) {
        self.add_totals(&block.totals);
        let mut from = 0;
        for (at, &node) in block.nodes.iter().enumerate() {
            let node = node as usize;
            self.leak[node] += block.leak[at];
            if graph.is_topic(node) {
                self.topic_q[node] += block.topic[at][0];
                self.topic_docs[node] += block.topic[at][1];
            }
            let edges = &mut self.edge[graph.edges_into(node)];
            for (sum, term) in edges.iter_mut().zip(&block.edge[from..]) {
                *sum += term;
            }
            from += edges.len();
        }
    }

    /// Adds other sums of the same graph.
    pub fn merge(&mut self, other: &Self) {
        self.add_totals(other);
        let add = |sums: &mut Vec<f64>, terms: &[f64]| {
            sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term)
        };
        add(&mut self.edge, &other.edge);
        add(&mut self.leak, &other.leak);
        add(&mut self.topic_q, &other.topic_q);
        add(&mut self.topic_docs, &other.topic_docs);
    }

    /// Adds the scalars of one document, which counts as often as its item says.
    #[inline(always)]
    pub(crate) fn add_doc(&mut self, count: u32, elbo: f64, n_edges: u64, n_alternations: u32) {
        self.n_docs += f64::from(count);
        self.elbo_sum += f64::from(count) * elbo;
        self.n_items += 1;
        self.n_alternations += u64::from(n_alternations);
        self.n_edges += n_edges;
        self.n_edge_updates += n_edges * u64::from(n_alternations);
    }

    /// The scalars alone.
    pub(crate) fn scalars(&self) -> Self {
        let mut scalars = Self::default();
        scalars.add_totals(self);
        scalars
    }

    /// Adds the scalar sums.
    pub fn add_totals(&mut self, other: &Self) {
        self.n_docs += other.n_docs;
        self.elbo_sum += other.elbo_sum;
        self.n_items += other.n_items;
        self.n_alternations += other.n_alternations;
        self.n_unconverged += other.n_unconverged;
        self.n_edges += other.n_edges;
        self.n_edge_updates += other.n_edge_updates;
    }

    /// Mean bound per document; zero documents have a mean of zero.
    pub fn elbo_mean(&self) -> f64 {
        if self.n_docs > 0.0 { self.elbo_sum / self.n_docs } else { 0.0 }
    }

    /// With the free tail's share of the gradients: a topic is outside H_d in `D - n_k` documents, each time
    /// with probability `q0_k`, switched on by its leak alone: `1 / (1 - exp(-w0)) = 1 + f'(w0)`. Once for a batch, after its last
    /// slice.
    pub fn with_tail(mut self, params: &Params) -> StepSums {
        for (topic, &q0) in params.tail_q.iter().enumerate() {
            let outside = (self.n_docs - self.topic_docs[topic]) * q0;
            self.topic_q[topic] += outside;
            self.leak[topic] += outside * (1.0 + f64::from(params.slope[topic]));
        }
        StepSums(self)
    }
}
