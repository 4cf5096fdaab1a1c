//! The greedy start: a search for the best configuration of a document's topics, from which q and r then begin.
//!
//! With x the states of the topics, `a_i = w0_i + sum_k w_ki x_k` and `beta(a) = log(exp(a) - 1)`, the log joint is
//! `-W0 + sum over on i of beta(a_i) - sum over on k of S_k`. Topic k on is worth, over k off and all others held,
//!
//! ```text
//! g_k = beta(a_k) - S_k + sum over on children c of [beta(a_c) at k on - beta(a_c) at k off].
//! ```
//!
//! The search begins with all topics off and takes the best flip while one gains. A topic may come on together with a chain of
//! its ancestors: in deep networks a topic often pays only if its parent is on, and the parent only if the topic is.
//!
//! With A the sum of the weights of the parents that are on, `beta(w0 + A) - beta(w0) = A + log1p(t)` and
//! `f'(w0 + A) = f'(w0) exp(-A) / (1 + t)`, where `t = f'(w0) (1 - exp(-A))`: nothing cancels.

use super::document::DocState;
use super::edge_terms::GROUP;
use super::r_update::init_r;
use crate::batch::{Batch, NodeRecord};
use crate::numeric::{X_CAP, exp_neg, log1p_pos};

/// A flip must gain this many nats: below it f32 is noise, and it could be undone for ever.
pub const MIN_GAIN: f32 = 1e-3;
/// q of a topic that the search left on; 1 - this of one that it left off.
pub const Q_ON: f32 = 0.999;
/// No ancestor comes along.
const NONE: u32 = u32::MAX;

/// What the search knows of one document, by its nodes, counted from the document's first.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// `beta(a_i) - beta(w0_i)`.
    lift: Vec<f32>,
    /// g.
    gain: Vec<f32>,
    /// g with all topics off.
    pub(super) alone: Vec<f32>,
    /// g of a topic that is off together with the best chain of ancestors that are off.
    value: Vec<f32>,
    /// The first of that chain.
    above: Vec<u32>,
    /// Terms of the edges at hand.
    next: Vec<f32>,
}

/// `(beta(w0 + a) - beta(w0), f'(w0 + a))` where the slope is `f'(w0)`.
#[inline(always)]
fn lifted(slope: f32, a: f32) -> (f32, f32) {
    let (log, slope_now) = lifted_beyond(slope, a);
    (a + log, slope_now)
}

/// The same, less a.
#[inline(always)]
pub(super) fn lifted_beyond(slope: f32, a: f32) -> (f32, f32) {
    let (e, one_minus_e) = exp_neg(a.min(X_CAP));
    let t = slope * one_minus_e;
    (log1p_pos(t), slope * e / (1.0 + t))
}

impl DocState {
    /// Finds a configuration; q is 1 for topics that are on, 0 for the others.
    #[inline(always)]
    pub(super) fn search(&mut self, batch: &Batch, doc_ix: usize, colour_ends: &[u32], n_levels: u32) {
        let (doc, next_doc) = (batch.docs[doc_ix], batch.docs[doc_ix + 1]);
        let (begin, tokens) = (doc.node_begin as usize, doc.token_begin as usize);
        let (end, first) = (next_doc.node_begin as usize, doc.edge_begin as usize);
        let (n_nodes, n_topics) = (end - begin, tokens - begin);
        let n_edges = next_doc.edge_begin as usize - first;
        let first_token_edge = batch.nodes[tokens].edge_begin as usize;
        self.q[begin..tokens].fill(0.0);
        let search = &mut self.search;
        search.lift.clear();
        search.lift.resize(n_nodes, 0.0);
        search.gain.clear();
        search.gain.extend_from_slice(&self.bias[..n_topics]);
        let padded = n_edges.next_multiple_of(GROUP);
        let (w, slope, m) =
            (&self.terms.w[..padded], &self.terms.slope[..padded], &mut self.terms.m[..padded]);
        for e in 0..padded {
            m[e] = lifted(slope[e], w[e]).0;
        }
        for (edge, m) in
            batch.edges[first_token_edge..first + n_edges].iter().zip(&m[first_token_edge - first..])
        {
            search.gain[edge.parent as usize - begin] += m;
        }
        search.alone.clear();
        search.alone.extend_from_slice(&search.gain);
        let deep = first_token_edge > first;
        for _ in 0..2 * n_topics + 8 {
            if deep {
                self.chains(batch, (begin, tokens), first, colour_ends, n_levels);
            }
            let Some(mut topic) = self.best_flip((begin, tokens), deep) else { break };
            let comes_on = self.q[topic] == 0.0;
            loop {
                self.flip(batch, topic, (begin, tokens), first);
                let above = if deep && comes_on { self.search.above[topic - begin] } else { NONE };
                if above == NONE {
                    break;
                }
                topic = above as usize;
            }
        }
    }

    /// The topic whose flip gains most; of several, the first.
    #[inline(always)]
    fn best_flip(&self, (begin, tokens): (usize, usize), deep: bool) -> Option<usize> {
        let search = &self.search;
        let off = if deep { &search.value } else { &search.gain };
        let (mut best, mut topic) = (MIN_GAIN, None);
        for (at, &q) in self.q[begin..tokens].iter().enumerate() {
            let gain = if q == 0.0 { off[at] } else { -search.gain[at] };
            if gain > best {
                (best, topic) = (gain, Some(begin + at));
            }
        }
        topic
    }

    /// What topics are worth with their best chains: `value_k = g_k + max(0, max over parents p that are off of (term_pk + value_p))`.
    #[inline(always)]
    fn chains(
        &mut self,
        batch: &Batch,
        (begin, tokens): (usize, usize),
        first: usize,
        colour_ends: &[u32],
        n_levels: u32,
    ) {
        let Search { gain, value, above, .. } = &mut self.search;
        value.clear();
        value.extend_from_slice(gain);
        above.clear();
        above.resize(tokens - begin, NONE);
        for _ in 1..n_levels {
            for colour in (0..colour_ends.len()).rev() {
                let from = if colour == 0 { begin } else { colour_ends[colour - 1] as usize };
                for topic in from..colour_ends[colour] as usize {
                    if self.q[topic] != 0.0 {
                        continue;
                    }
                    let (mut best, mut parent) = (0.0, NONE);
                    for e in edges_into(&batch.nodes, topic) {
                        let p = batch.edges[e].parent;
                        if self.q[p as usize] == 0.0 {
                            let with = self.terms.m[e - first] + value[p as usize - begin];
                            if with > best {
                                (best, parent) = (with, p);
                            }
                        }
                    }
                    value[topic - begin] = gain[topic - begin] + best;
                    above[topic - begin] = parent;
                }
            }
        }
    }

    /// Flips a topic and brings everyone's gain up to date.
    #[inline(always)]
    fn flip(&mut self, batch: &Batch, topic: usize, (begin, tokens): (usize, usize), first: usize) {
        let on = 1.0 - self.q[topic];
        self.q[topic] = on;
        for e in edges_into(&batch.nodes, topic) {
            let term = self.terms.m[e - first];
            self.search.gain[batch.edges[e].parent as usize - begin] += if on > 0.0 { term } else { -term };
        }
        let slots = batch.nodes[topic].slot_begin as usize..batch.nodes[topic + 1].slot_begin as usize;
        for &child in &batch.slot_children[slots] {
            self.update_node(batch, child as usize, (begin, tokens), first);
        }
    }

    /// A node of which a parent was flipped: its own gain, and what it says to its parents.
    #[inline(always)]
    fn update_node(&mut self, batch: &Batch, node: usize, (begin, tokens): (usize, usize), first: usize) {
        let Self { q, terms, search, .. } = self;
        let range = edges_into(&batch.nodes, node);
        let edges = &batch.edges[range.clone()];
        let (from, to) = (range.start - first, range.end - first);
        let slope = terms.slope[from];
        let a: f32 = edges.iter().zip(&terms.w[from..to]).map(|(edge, w)| w * q[edge.parent as usize]).sum();
        let (lift, slope_now) = lifted(slope, a);
        if node < tokens {
            search.gain[node - begin] += lift - search.lift[node - begin];
        }
        search.lift[node - begin] = lift;
        let padded = (to - from).next_multiple_of(GROUP);
        if search.next.len() < padded {
            search.next.resize(padded, 0.0);
        }
        for (next, w) in search.next[..padded].iter_mut().zip(&terms.w[from..from + padded]) {
            *next = lifted(slope_now, *w).0;
        }
        let is_on = q[node] > 0.0;
        for (j, edge) in edges.iter().enumerate() {
            let (w, parent) = (terms.w[from + j], edge.parent as usize);
            let term =
                if q[parent] > 0.0 { lift - lifted(slope, (a - w).max(0.0)).0 } else { search.next[j] };
            if is_on {
                search.gain[parent - begin] += term - terms.m[from + j];
            }
            terms.m[from + j] = term;
        }
    }

    /// q and r at the configuration found: q near 1 and 0, r in proportion to q w.
    #[inline(always)]
    pub(super) fn settle(&mut self, batch: &Batch, doc_ix: usize) {
        for q in &mut self.q[batch.topics(doc_ix)] {
            *q = if *q > 0.0 { Q_ON } else { 1.0 - Q_ON };
        }
        self.share_by_q(batch, doc_ix);
    }

    /// r in proportion to q w; in proportion to w where every parent is off.
    #[inline(always)]
    pub(super) fn share_by_q(&mut self, batch: &Batch, doc_ix: usize) {
        let (doc, next_doc) = (batch.docs[doc_ix], batch.docs[doc_ix + 1]);
        let first = doc.edge_begin as usize;
        for node in doc.node_begin as usize..next_doc.node_begin as usize {
            let range = edges_into(&batch.nodes, node);
            let (from, to) = (range.start - first, range.end - first);
            let (w, r) = (&self.terms.w[from..to], &mut self.terms.r[from..to]);
            let mut sum = 0.0;
            for (j, edge) in batch.edges[range].iter().enumerate() {
                r[j] = w[j] * self.q[edge.parent as usize];
                sum += r[j];
            }
            if sum >= f32::MIN_POSITIVE {
                let inverse = 1.0 / sum;
                r.iter_mut().for_each(|r| *r *= inverse);
            } else {
                init_r(w, r);
            }
        }
    }
}

#[inline(always)]
fn edges_into(nodes: &[NodeRecord], node: usize) -> std::ops::Range<usize> {
    nodes[node].edge_begin as usize..nodes[node + 1].edge_begin as usize
}
