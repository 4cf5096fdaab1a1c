//! One document's E-step: alternate q sweeps and r iterations until q stands still, then bound and gradients.

use super::GROUP;
use super::clamp::Clamped;
use super::edge_terms::EdgeTerms;
use super::gradient::Accumulator;
use super::greedy::Search;
use super::instruction_set::{InstructionSet, in_versions};
use super::q_sweep::spread_m;
use super::r_update::{init_r, update_r};
use super::reduce::{Reduced, UpperTerms};
use crate::batch::Batch;
use crate::estep::{EStepOptions, MIN_BETTER, OnListsReader, Params, Start, Stats};
use crate::network::Graph;
use crate::numeric::{sigmoid, softplus};

/// Where every q begins, unless a search comes first.
pub const Q_START: f32 = 0.5;

/// Memory of one thread: q, log-odds and bound of a batch, per-edge arrays of one document.
#[derive(Debug, Default)]
pub(super) struct DocState {
    /// What it runs with.
    pub(super) instructions: InstructionSet,
    /// q of every node of the batch; 1 for tokens.
    pub(super) q: Vec<f32>,
    /// The bound of every document.
    pub(super) elbo: Vec<f64>,
    pub(super) logit: Vec<f32>,
    pub(super) bias: Vec<f32>,
    pub(super) slot_m: Vec<f32>,
    pub(super) next_q: Vec<f32>,
    pub(super) terms: EdgeTerms,
    pub(super) search: Search,
    /// q, log-odds and r of the best start so far.
    best: Vec<f32>,
    /// Places of the topics that are on where a search begins.
    begin_on: Vec<u32>,
    pub(super) clamped: Clamped,
    /// The document at hand without topics that cannot come on.
    reduced: Option<Box<Reduced>>,
}

/// A document and how to run it.
#[derive(Clone, Copy)]
pub(super) struct OneDoc<'a> {
    pub(super) graph: &'a Graph,
    pub(super) batch: &'a Batch,
    pub(super) doc_ix: usize,
    pub(super) params: &'a Params,
    pub(super) options: &'a EStepOptions,
}

impl OneDoc<'_> {
    /// Its positive edges.
    #[inline(always)]
    pub(super) fn n_edges(&self) -> usize {
        (self.batch.docs[self.doc_ix + 1].edge_begin - self.batch.docs[self.doc_ix].edge_begin) as usize
    }

    /// Numbers that say where it ended: q, log-odds, r.
    #[inline(always)]
    pub(super) fn end_size(&self) -> usize {
        2 * self.batch.topics(self.doc_ix).len() + self.n_edges()
    }
}

/// Documents and how to run them.
#[derive(Clone, Copy)]
pub(super) struct SomeDocs<'a> {
    pub(super) graph: &'a Graph,
    pub(super) batch: &'a Batch,
    pub(super) params: &'a Params,
    pub(super) options: &'a EStepOptions,
    /// The topics that each begins with, where they were kept.
    pub(super) kept_on: Option<OnListsReader<'a>>,
    /// What tells which topics cannot come on, where those are left out: then only sums and bounds come of it, and nothing was kept.
    pub(super) upper: Option<&'a UpperTerms>,
}

in_versions! {
    /// Runs all documents of a batch.
    pub(super) fn run_batch(docs: SomeDocs<'_>, state: &mut DocState, sums: Option<&mut Accumulator>, totals: &mut Stats)
        = run_each
}

#[inline(always)]
fn run_each(
    docs: SomeDocs<'_>,
    state: &mut DocState,
    mut sums: Option<&mut Accumulator>,
    totals: &mut Stats,
) {
    let SomeDocs { graph, batch, params, options, mut kept_on, upper } = docs;
    state.start(batch);
    let mut reduced = state.reduced.take().unwrap_or_default();
    reduced.state.instructions = state.instructions;
    for doc_ix in 0..batch.n_docs() {
        let whole = OneDoc { graph, batch, doc_ix, params, options };
        if let Some(lists) = &mut kept_on {
            lists.next_into(&mut state.begin_on);
        }
        let (runner, doc) = match upper {
            None => (&mut *state, whole),
            Some(upper) => {
                reduced.take(graph, batch, doc_ix, upper);
                let Reduced { batch: small, state: inner, .. } = &mut *reduced;
                inner.start(small);
                (inner, OneDoc { batch: small, doc_ix: 0, ..whole })
            }
        };
        let (mut elbo, n_alternations) = runner.run(doc, sums.as_deref_mut(), totals);
        if upper.is_some() {
            elbo += reduced.count_left_out(params, batch.docs[doc_ix].count, sums.as_deref_mut());
        }
        state.elbo.push(elbo);
        totals.add_doc(batch.docs[doc_ix].count, elbo, whole.n_edges() as u64, n_alternations);
    }
    state.reduced = Some(reduced);
}

impl DocState {
    /// Memory of a thread that runs with these instructions.
    pub(super) fn with(instructions: InstructionSet) -> Self {
        Self { instructions, ..Self::default() }
    }

    /// Every q at its start, no bounds.
    #[inline(always)]
    pub(super) fn start(&mut self, batch: &Batch) {
        self.q.clear();
        self.q.resize(batch.n_nodes(), Q_START);
        self.logit.clear();
        self.logit.resize(batch.n_nodes(), 0.0);
        self.elbo.clear();
    }

    /// One document from start to end: the bound, and the number of alternations.
    #[inline(always)]
    fn run(&mut self, doc: OneDoc<'_>, sums: Option<&mut Accumulator>, totals: &mut Stats) -> (f64, u32) {
        self.load(doc.graph, doc.batch, doc.doc_ix, doc.params);
        let (mut elbo, mut n_alternations) = self.solve(doc, totals);
        self.begin_on.clear();
        if doc.options.clamp > 0 {
            let (structured, n) = self.clamp(doc, elbo, totals);
            (elbo, n_alternations) = (structured, n_alternations + n);
        }
        if let Some(sums) = sums {
            self.add_to(doc, sums);
        }
        (elbo, n_alternations)
    }

    /// Gathers the document's parameters.
    #[inline(always)]
    pub(super) fn load(&mut self, graph: &Graph, batch: &Batch, doc_ix: usize, params: &Params) {
        let (doc, next_doc) = (batch.docs[doc_ix], batch.docs[doc_ix + 1]);
        let (first, first_node) = (doc.edge_begin as usize, doc.node_begin as usize);
        let n_edges = next_doc.edge_begin as usize - first;
        self.terms.resize(n_edges);
        if self.slot_m.len() < n_edges {
            self.slot_m.resize(n_edges, 0.0);
        }
        self.bias.clear();
        for at in first_node..next_doc.node_begin as usize {
            let id = batch.nodes[at].id as usize;
            let from = batch.nodes[at].edge_begin as usize - first;
            let to = batch.nodes[at + 1].edge_begin as usize - first;
            self.bias.push(params.bias[id]);
            let (w, slope) = (&mut self.terms.w[from..to], &mut self.terms.slope[from..to]);
            match &batch.edge_ids {
                None => w.copy_from_slice(&params.edge[graph.edges_into(id)]),
                Some(ids) => {
                    let ids = &ids[first + from..first + to];
                    w.iter_mut().zip(ids).for_each(|(w, &id)| *w = params.edge[id as usize]);
                }
            }
            slope.fill(params.slope[id]);
        }
        self.q[doc.token_begin as usize..next_doc.node_begin as usize].fill(1.0);
    }

    /// The E-step; the bound, and the number of alternations. Of several starts the best wins; of equals, the first.
    #[inline(always)]
    pub(super) fn solve(&mut self, doc: OneDoc<'_>, totals: &mut Stats) -> (f64, u32) {
        let tries = doc.options.start.tries();
        if tries.is_empty() {
            return solve_from(self.instructions, self, doc, doc.options.start, totals);
        }
        let mut best = std::mem::take(&mut self.best);
        let (mut best_bound, mut n_alternations) = (f64::NEG_INFINITY, 0);
        for &start in tries {
            let (bound, n) = solve_from(self.instructions, self, doc, start, totals);
            n_alternations += n;
            if bound > best_bound + f64::from(MIN_BETTER) || bound.is_nan() {
                best_bound = bound;
                best.clear();
                self.save(doc, &mut best);
            }
        }
        self.restore(doc, &best);
        self.best = best;
        (best_bound, n_alternations)
    }

    #[inline(always)]
    fn solve_from(&mut self, doc: OneDoc<'_>, start: Start, totals: &mut Stats) -> (f64, u32) {
        self.begin(doc.batch, doc.doc_ix, start);
        let n_alternations = self.alternate(doc.graph, doc.batch, doc.doc_ix, doc.options, start, totals);
        (self.bound(doc.batch, doc.doc_ix, doc.params), n_alternations)
    }

    /// Adds where the document ended to `ends`: q, log-odds, r.
    #[inline(always)]
    pub(super) fn save(&self, doc: OneDoc<'_>, ends: &mut Vec<f32>) {
        let topics = doc.batch.topics(doc.doc_ix);
        ends.extend_from_slice(&self.q[topics.clone()]);
        ends.extend_from_slice(&self.logit[topics]);
        ends.extend_from_slice(&self.terms.r[..doc.n_edges()]);
    }

    /// Puts the document there again.
    #[inline(always)]
    pub(super) fn restore(&mut self, doc: OneDoc<'_>, end: &[f32]) {
        let topics = doc.batch.topics(doc.doc_ix);
        let (q, rest) = end.split_at(topics.len());
        let (logit, r) = rest.split_at(topics.len());
        self.q[topics.clone()].copy_from_slice(q);
        self.logit[topics].copy_from_slice(logit);
        self.terms.r[..doc.n_edges()].copy_from_slice(r);
        self.terms.update(doc.n_edges());
    }

    /// Adds the document's gradient terms, those of its pieces if it has any.
    #[inline(always)]
    fn add_to(&mut self, doc: OneDoc<'_>, sums: &mut Accumulator) {
        let count = f64::from(doc.batch.docs[doc.doc_ix].count);
        let n_pieces = self.clamped.pieces.list().len();
        if doc.options.clamp == 0 || n_pieces == 1 {
            sums.add(doc, self, count, count);
            return;
        }
        let topics = doc.batch.topics(doc.doc_ix);
        self.best.clear();
        self.best.extend_from_slice(&self.q[topics.clone()]);
        for piece in 0..n_pieces {
            self.take_piece(doc, piece);
            let weight = self.clamped.pieces.weight(piece);
            // The document is counted with its first piece.
            let counted = if piece == 0 { count } else { 0.0 };
            sums.add(doc, self, counted, count * weight);
        }
        self.q[topics].copy_from_slice(&self.best);
    }

    /// Puts q and r where the document's E-step begins.
    #[inline(always)]
    pub(super) fn begin(&mut self, batch: &Batch, doc_ix: usize, start: Start) {
        let (doc, next_doc) = (batch.docs[doc_ix], batch.docs[doc_ix + 1]);
        let first = doc.edge_begin as usize;
        if start == Start::Greedy {
            let begin_on = std::mem::take(&mut self.begin_on);
            self.search(batch, doc_ix, &begin_on);
            self.begin_on = begin_on;
            self.settle(batch, doc_ix);
        } else {
            self.q[batch.topics(doc_ix)].fill(Q_START);
            for pair in batch.nodes[doc.node_begin as usize..=next_doc.node_begin as usize].windows(2) {
                let (from, to) = (pair[0].edge_begin as usize - first, pair[1].edge_begin as usize - first);
                init_r(&self.terms.w[from..to], &mut self.terms.r[from..to]);
            }
        }
        self.terms.update(next_doc.edge_begin as usize - first);
    }

    /// Alternates until the document has converged; returns the number of alternations.
    #[inline(always)]
    fn alternate(
        &mut self,
        graph: &Graph,
        batch: &Batch,
        doc_ix: usize,
        options: &EStepOptions,
        start: Start,
        totals: &mut Stats,
    ) -> u32 {
        let (doc, next_doc) = (batch.docs[doc_ix], batch.docs[doc_ix + 1]);
        let (first, end) = (doc.edge_begin as usize, next_doc.edge_begin as usize);
        let n_edges = end - first;
        let nodes = &batch.nodes[doc.node_begin as usize..=next_doc.node_begin as usize];
        let edges = &batch.edges[first..end];
        let colour_ends = &batch.colour_ends[doc_ix * graph.n_colours()..][..graph.n_colours()];
        for alternation in 0..options.max_alternations {
            let temperature = start.temper().map_or(1.0, |temper| temper.temperature(alternation));
            spread_m(edges, first, &self.terms.m[..n_edges], &mut self.slot_m);
            let mut moved = 0.0f32;
            for _ in 0..options.q_sweeps {
                let mut begin = doc.node_begin as usize;
                for &colour_end in colour_ends {
                    let topics = begin..colour_end as usize;
                    begin = colour_end as usize;
                    let moved_now = self.sweep(batch, doc_ix, topics, 1.0 / temperature);
                    moved = if moved_now > moved || moved_now.is_nan() { moved_now } else { moved };
                }
            }
            for _ in 0..options.r_iterations {
                update_r(nodes, edges, first, &self.q, options.accelerate_r, &mut self.terms);
                self.terms.update(n_edges);
            }
            if temperature == 1.0 && options.tolerance > 0.0 && moved <= options.tolerance {
                return alternation + 1;
            }
        }
        totals.n_unconverged += u64::from(options.tolerance > 0.0);
        options.max_alternations
    }

    /// Eq. 9 at the final q and r, sums in f64.
    #[inline(always)]
    pub(super) fn bound(&self, batch: &Batch, doc_ix: usize, params: &Params) -> f64 {
        let (doc, next_doc) = (batch.docs[doc_ix], batch.docs[doc_ix + 1]);
        let (first, first_node) = (doc.edge_begin as usize, doc.node_begin as usize);
        let mut elbo = params.constant;
        for at in first_node..next_doc.node_begin as usize {
            let (node, next) = (batch.nodes[at], batch.nodes[at + 1]);
            let (from, to) = (node.edge_begin as usize, next.edge_begin as usize);
            let mut inside = params.bias[node.id as usize];
            for (edge, m) in batch.edges[from..to].iter().zip(&self.terms.m[from - first..to - first]) {
                inside += m * self.q[edge.parent as usize];
            }
            elbo += f64::from(self.q[at] * inside);
            if at < doc.token_begin as usize {
                elbo -= f64::from(params.tail[node.id as usize]);
            }
        }
        elbo + entropy(&self.logit[batch.topics(doc_ix)])
    }
}

in_versions! {
    fn solve_from(state: &mut DocState, doc: OneDoc<'_>, start: Start, totals: &mut Stats) -> (f64, u32) = DocState::solve_from
}

/// Entropy of q = sigmoid(g): softplus(g) - q g, summed; in whole groups, so that all of it is vectorised.
#[inline(always)]
fn entropy(logits: &[f32]) -> f64 {
    let mut sum = 0.0;
    for group in logits.chunks(GROUP) {
        let mut terms = [0.0f32; GROUP];
        terms[..group.len()].copy_from_slice(group);
        for term in &mut terms {
            *term = softplus(*term) - sigmoid(*term) * *term;
        }
        sum += terms[..group.len()].iter().map(|&term| f64::from(term)).sum::<f64>();
    }
    sum
}
