//! The fast path at a given point of one document: for checking it against exact answers, update by update.

use super::document::DocState;
use super::gradient::Accumulator;
use super::q_sweep::{spread_m, sweep_colour};
use super::r_update::update_r;
use crate::batch::{Batch, Packer};
use crate::corpus::{Docs, Item};
use crate::estep::{Bound, Params, Start, Stats};
use crate::network::Graph;

/// One document held at some q and r.
pub struct Probe<'a> {
    graph: &'a Graph,
    params: &'a Params,
    batch: Batch,
    state: DocState,
}

impl<'a> Probe<'a> {
    /// A document at its start: q = 0.5, r = w / sum w.
    pub fn new(graph: &'a Graph, docs: &Docs<'_>, doc_ix: u32, bound: Bound, params: &'a Params) -> Self {
        let (mut batch, mut state) = (Batch::default(), DocState::default());
        let item = Item { doc_ix, count: 1 };
        Packer::new(graph, bound == Bound::Full).pack(graph, docs, &[item], usize::MAX, &mut batch);
        state.start(&batch);
        state.load(graph, &batch, 0, params);
        state.begin(graph, &batch, 0, params, Start::Plain);
        let mut probe = Self { graph, params, batch, state };
        probe.refresh();
        probe
    }

    /// Moves it to a point: q of every topic of the network, r of every edge.
    pub fn set(&mut self, q: &[f32], r: &[f32]) {
        for at in self.batch.topics(0) {
            let q = q[self.batch.nodes[at].id as usize].clamp(1e-30, 1.0 - f32::EPSILON);
            self.state.q[at] = q;
            self.state.logit[at] = (q / (1.0 - q)).ln();
        }
        for pair in self.batch.nodes.windows(2) {
            let edges = self.graph.edges_into(pair[0].id as usize);
            self.state.terms.r[pair[0].edge_begin as usize..pair[1].edge_begin as usize]
                .copy_from_slice(&r[edges]);
        }
        self.refresh();
    }

    fn refresh(&mut self) {
        let n_edges = self.batch.n_edges();
        self.state.terms.update(n_edges);
        spread_m(&self.batch.edges, 0, &self.state.terms.m[..n_edges], &mut self.state.slot_m);
    }

    /// The bound there.
    pub fn elbo(&self) -> f64 {
        self.state.bound(&self.batch, 0, self.params)
    }

    /// The sums N, L, Q there (the tail not added).
    pub fn stats(&self) -> Stats {
        let mut sums = Accumulator::new(self.graph);
        sums.add(self.graph, &self.batch, 0, self.params, 1.0, &self.state.q, &self.state.terms);
        let mut stats = Stats::new(self.graph, true);
        stats.add(self.graph, &sums.take(self.graph));
        stats.n_docs = 1.0;
        stats
    }

    /// The document's topics.
    pub fn topics(&self) -> Vec<u32> {
        self.batch.topics(0).map(|at| self.batch.nodes[at].id).collect()
    }

    /// q of the document's topics.
    pub fn q(&self) -> &[f32] {
        &self.state.q[self.batch.topics(0)]
    }

    /// r of the positive edges, by the network's edge numbers.
    pub fn r(&self) -> Vec<(usize, f32)> {
        let edges = |pair: &[crate::batch::NodeRecord]| {
            let here = pair[0].edge_begin as usize..pair[1].edge_begin as usize;
            self.graph.edges_into(pair[0].id as usize).zip(here).collect::<Vec<_>>()
        };
        let all = self.batch.nodes.windows(2).flat_map(edges);
        all.map(|(edge, here)| (edge, self.state.terms.r[here])).collect()
    }

    /// Updates the q of one of the document's topics (a place in [`Probe::topics`]), all others held.
    pub fn update_q(&mut self, at: usize) {
        let at = self.batch.docs[0].node_begin as usize + at;
        let DocState { q, logit, bias, slot_m, next_q, terms, .. } = &mut self.state;
        sweep_colour(&self.batch, 0, (at, at + 1), bias, &terms.m, slot_m, 1.0, logit, next_q, q);
    }

    /// One iteration of Eq. 10 at every node.
    pub fn update_r(&mut self) {
        self.iterate_r(false);
    }

    /// One accelerated iteration at every node.
    pub fn accelerate_r(&mut self) {
        self.iterate_r(true);
    }

    fn iterate_r(&mut self, accelerate: bool) {
        update_r(&self.batch.nodes, &self.batch.edges, 0, &self.state.q, accelerate, &mut self.state.terms);
        self.refresh();
    }
}
