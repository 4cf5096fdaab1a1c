//! One document on the fast path: its E-step as the backend runs it, for `explain`; the best r at a q that others found, for
//! refinement; and single updates, for checking them against exact answers.

use super::document::{self, DocState, OneDoc, SomeDocs};
use super::gradient::Accumulator;
use super::instruction_set::in_versions;
use super::q_sweep::spread_m;
use super::r_update::update_r;
use crate::batch::{Batch, Packer};
use crate::corpus::{Docs, Item};
use crate::estep::pieces::Piece;
use crate::estep::{Bound, EStepOptions, Params, Start, Stats};
use crate::network::Graph;

/// One document held at some q and r.
#[derive(Debug)]
pub struct Probe<'a> {
    graph: &'a Graph,
    params: &'a Params,
    packer: Packer,
    batch: Batch,
    state: DocState,
}

/// One of the pieces that an E-step left a document in (the structured bound).
#[derive(Debug, Clone, PartialEq)]
pub struct ProbePiece {
    /// Its place among the pieces.
    piece: usize,
    /// The logarithm of its weight, `L_s - L`.
    pub log_weight: f64,
    /// The topics clamped in it, as places in [`Probe::topics`], and whether they are on.
    pub clamped: Vec<(usize, bool)>,
}

impl<'a> Probe<'a> {
    /// Without a document yet.
    pub fn empty(graph: &'a Graph, bound: Bound, params: &'a Params) -> Self {
        let packer = Packer::new(graph, bound == Bound::Full);
        Self { graph, params, packer, batch: Batch::default(), state: DocState::default() }
    }

    /// A document at its start: q = 0.5, r = w / sum w.
    pub fn new(graph: &'a Graph, docs: &Docs<'_>, doc_ix: u32, bound: Bound, params: &'a Params) -> Self {
        let mut probe = Self::empty(graph, bound, params);
        probe.load(docs, doc_ix);
        probe.state.begin(&probe.batch, 0, Start::Plain);
        probe.refresh();
        probe
    }

    /// Takes up a document; q and r are yet to be put somewhere.
    pub fn load(&mut self, docs: &Docs<'_>, doc_ix: u32) {
        let item = Item { doc_ix, count: 1 };
        self.packer.pack(self.graph, docs, &[item], usize::MAX, &mut self.batch);
        self.state.start(&self.batch);
        self.state.load(self.graph, &self.batch, 0, self.params);
    }

    /// Runs the document's E-step, by the backend's own code: start, schedule and stopping are those of `infer`. Returns its
    /// totals. Where topics were clamped, q is the mean over the [`Probe::pieces`], and r is yet to be taken from one of them.
    pub fn solve(&mut self, options: &EStepOptions) -> Stats {
        // Pieces of an earlier E-step are none of this one.
        self.state.clamped.pieces.clear();
        let mut totals = Stats::default();
        let Self { graph, ref batch, params, .. } = *self;
        let docs = SomeDocs { graph, batch, params, options, kept_on: None, upper: None };
        document::run_batch(self.state.instructions, docs, &mut self.state, None, &mut totals);
        self.refresh();
        totals
    }

    /// The pieces that the E-step left, heaviest first; a document that stayed whole is one.
    pub fn pieces(&self) -> Vec<ProbePiece> {
        let found = &self.state.clamped.pieces;
        if found.list().len() < 2 {
            return vec![ProbePiece { piece: 0, log_weight: 0.0, clamped: vec![] }];
        }
        let clamped = |piece: Piece| {
            let setting = |(at, topic): (usize, u32)| Some((topic as usize, piece.clamp(at)?));
            found.chosen().enumerate().filter_map(setting).collect()
        };
        let mut pieces: Vec<ProbePiece> = (found.list().iter().enumerate())
            .map(|(at, &piece)| ProbePiece {
                piece: at,
                log_weight: piece.bound - found.total(),
                clamped: clamped(piece),
            })
            .collect();
        pieces.sort_by(|a, b| b.log_weight.total_cmp(&a.log_weight));
        pieces
    }

    /// Goes to where a piece ended: its q, log-odds and r.
    pub fn take_piece(&mut self, piece: &ProbePiece, options: &EStepOptions) {
        if self.state.clamped.pieces.list().len() > 1 {
            let Self { graph, ref batch, params, .. } = *self;
            let doc = OneDoc { graph, batch, doc_ix: 0, params, options };
            self.state.take_piece(doc, piece.piece);
            self.refresh();
        }
    }

    /// Holds q, given for every topic of the network, and brings r to its best there: accelerated iterations from `r` in proportion
    /// to `q w`.
    pub fn hold_q(&mut self, q: &[f32], r_iterations: u32) {
        for at in self.batch.topics(0) {
            self.state.q[at] = q[self.batch.nodes[at].id as usize];
        }
        best_r(self.state.instructions, &self.batch, &mut self.state, r_iterations);
    }

    /// The bound at a q, given for every topic of the network, with the best r there.
    pub fn bound_at(&mut self, q: &[f32], r_iterations: u32) -> f64 {
        self.put_q(q);
        best_r(self.state.instructions, &self.batch, &mut self.state, r_iterations);
        self.elbo()
    }

    fn put_q(&mut self, q: &[f32]) {
        for at in self.batch.topics(0) {
            let q = q[self.batch.nodes[at].id as usize].clamp(1e-30, 1.0 - f32::EPSILON);
            self.state.q[at] = q;
            self.state.logit[at] = (q / (1.0 - q)).ln();
        }
    }

    /// Moves it to a point: q of every topic of the network, r of every edge.
    pub fn set(&mut self, q: &[f32], r: &[f32]) {
        self.put_q(q);
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
        let Self { graph, ref batch, params, .. } = *self;
        let doc = OneDoc { graph, batch, doc_ix: 0, params, options: &EStepOptions::default() };
        sums.add(doc, &self.state, 1.0, 1.0);
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

    /// The document, packed: topics by colour, then tokens.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    /// The log-odds of the document's topics that the last sweep found: q is their sigmoid.
    pub fn log_odds(&self) -> &[f32] {
        &self.state.logit[self.batch.topics(0)]
    }

    /// r of the edges of the batch.
    pub fn shares(&self) -> &[f32] {
        &self.state.terms.r[..self.batch.n_edges()]
    }

    /// `m = w + r (f(u) - f(w0))` of the edges of the batch.
    pub fn m(&self) -> &[f32] {
        &self.state.terms.m[..self.batch.n_edges()]
    }

    /// What the parents of a node of the batch pay for a share of it, `sum_k r_k g_k`: at the best r, every g with r > 0 is this.
    pub fn price(&self, node: usize) -> f64 {
        let terms = &self.state.terms;
        let edges =
            self.batch.nodes[node].edge_begin as usize..self.batch.nodes[node + 1].edge_begin as usize;
        let paid = |e: usize| terms.r[e] * terms.gain[e] * self.state.q[self.batch.edges[e].parent as usize];
        edges.map(|e| f64::from(paid(e))).sum()
    }

    /// Updates the q of one of the document's topics (a place in [`Probe::topics`]), all others held.
    pub fn update_q(&mut self, at: usize) {
        let at = self.batch.docs[0].node_begin as usize + at;
        self.state.sweep(&self.batch, 0, at..at + 1, 1.0);
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

in_versions! { fn best_r(batch: &Batch, state: &mut DocState, r_iterations: u32) = best_r_at_q }

/// Iterates r at held q.
#[inline(always)]
fn best_r_at_q(batch: &Batch, state: &mut DocState, r_iterations: u32) {
    state.share_by_q(batch, 0);
    state.terms.update(batch.n_edges());
    for _ in 0..r_iterations {
        update_r(&batch.nodes, &batch.edges, 0, &state.q, true, &mut state.terms);
        state.terms.update(batch.n_edges());
    }
}
