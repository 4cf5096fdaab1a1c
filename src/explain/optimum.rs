//! Where the E-step of one document, or of a piece of it, ends, in f64. q and r are the fast path's, found by its own code
//! ([`Probe::solve`]); what follows from them is computed here, and nothing is iterated.

use super::Explainer;
use crate::batch::Batch;
use crate::estep::cpu::Probe;
use crate::numeric::{R_MIN, f64::log1mexp_slope, f64::sigmoid, f64::softplus};
use std::ops::Range;

/// Where the E-step of a document, or of a piece of it, ends.
pub(super) struct Optimum<'a> {
    /// The document, packed: topics by colour, then tokens.
    pub(super) batch: &'a Batch,
    /// q of every node of the batch; 1 for tokens.
    pub(super) q: Vec<f64>,
    /// The log-odds of every topic at the q and r of its neighbours (Eq. 12).
    pub(super) log_odds: Vec<f64>,
    pub(super) edges: Vec<Edge>,
    /// The bound.
    pub(super) elbo: f64,
    /// The most that a q that is not clamped differs from the one of its log-odds.
    pub(super) last_move: f64,
}

/// A positive edge. With `x = w / r` and `t = f'(w0) (1 - exp(-x))`, all follows without cancellation (src/numeric.rs).
#[derive(Clone, Copy)]
pub(super) struct Edge {
    pub(super) w: f64,
    pub(super) r: f64,
    /// `f(u) - f(w0) = log1p(t)`.
    pub(super) log: f64,
    /// `m = w + r (f(u) - f(w0))`.
    m: f64,
    /// `1 / (1 - exp(-u))`.
    pub(super) count: f64,
}

impl Edge {
    /// Into a node with `f'(w0)` of `slope`.
    fn new(w: f64, r: f64, slope: f64) -> Self {
        let t = slope * -(-w / r.max(f64::from(R_MIN))).exp_m1();
        let log = t.ln_1p();
        Self { w, r, log, m: w + r * log, count: (1.0 + slope) / (1.0 + t) }
    }
}

impl<'a> Optimum<'a> {
    /// Where the probe stands, these topics being clamped.
    pub(super) fn new(explainer: &Explainer<'_>, probe: &'a Probe<'_>, clamped: &[(usize, bool)]) -> Self {
        // From the log-odds of the last sweep, so that 1 - q has its digits, too.
        let mut q: Vec<f64> = probe.log_odds().iter().map(|&g| sigmoid(f64::from(g))).collect();
        q.resize(probe.batch().n_nodes(), 1.0);
        let edges = edges_of(explainer, probe);
        let mut optimum =
            Self { batch: probe.batch(), q, log_odds: vec![], edges, elbo: 0.0, last_move: 0.0 };
        optimum.log_odds = optimum.all_log_odds(explainer);
        optimum.elbo = optimum.bound(explainer, probe.log_odds());
        let is_free = |place: usize| clamped.iter().all(|&(topic, _)| topic != place);
        let free = optimum.topics().filter(|&place| is_free(place));
        let moves = free.map(|place| (sigmoid(optimum.log_odds[place]) - optimum.q[place]).abs());
        optimum.last_move = moves.fold(0.0, f64::max);
        optimum
    }

    pub(super) fn topics(&self) -> Range<usize> {
        self.batch.topics(0)
    }

    /// The edges into a node of the batch.
    pub(super) fn edges_into(&self, node: usize) -> Range<usize> {
        self.batch.nodes[node].edge_begin as usize..self.batch.nodes[node + 1].edge_begin as usize
    }

    pub(super) fn parent_of(&self, edge: usize) -> usize {
        self.batch.edges[edge].parent as usize
    }

    /// Eq. 12 of every topic.
    fn all_log_odds(&self, explainer: &Explainer<'_>) -> Vec<f64> {
        let n_topics = self.topics().len();
        let bias = |node: usize| explainer.bias[self.batch.nodes[node].id as usize];
        let mut log_odds: Vec<f64> = self.topics().map(bias).collect();
        for node in 0..self.batch.n_nodes() {
            for edge in self.edges_into(node) {
                let (m, parent) = (self.edges[edge].m, self.parent_of(edge));
                log_odds[parent] += m * self.q[node];
                if node < n_topics {
                    log_odds[node] += m * self.q[parent];
                }
            }
        }
        log_odds
    }

    /// Eq. 9. The entropy is that of the q of `found`, log-odds of the last sweep.
    fn bound(&self, explainer: &Explainer<'_>, found: &[f32]) -> f64 {
        let mut elbo = explainer.params.constant;
        for node in 0..self.batch.n_nodes() {
            let id = self.batch.nodes[node].id as usize;
            let parents = self.edges_into(node).map(|edge| self.edges[edge].m * self.q[self.parent_of(edge)]);
            elbo += self.q[node] * (explainer.bias[id] + parents.sum::<f64>());
            if let Some(&g) = found.get(node) {
                let g = f64::from(g);
                elbo += softplus(g) - self.q[node] * g - explainer.tail(id);
            }
        }
        elbo
    }
}

/// The positive edges in f64. r adds up to one to rounding in f32; here its sum is one.
fn edges_of(explainer: &Explainer<'_>, probe: &Probe<'_>) -> Vec<Edge> {
    let (network, batch) = (explainer.network, probe.batch());
    let mut edges = Vec::with_capacity(batch.n_edges());
    for pair in batch.nodes.windows(2) {
        let id = pair[0].id as usize;
        let slope = log1mexp_slope(explainer.leak(id));
        let shares = &probe.shares()[pair[0].edge_begin as usize..pair[1].edge_begin as usize];
        let sum: f64 = shares.iter().map(|&r| f64::from(r)).sum();
        let weights = &network.weights.edge[network.graph.edges_into(id)];
        edges.extend(weights.iter().zip(shares).map(|(&w, &r)| Edge::new(w, f64::from(r) / sum, slope)));
    }
    edges
}
