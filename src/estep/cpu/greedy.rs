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
//! its ancestors: in deep networks a topic often pays only if its parent is on, and the parent only if the topic is. What a chain is
//! worth is added up from its topics, which is too much where they explain the same child; so a chain that did not gain, but on trial,
//! is undone, and its last topic stays off until the climb is over, as does a topic that goes off: there is no going round in circles.
//!
//! The first topics that come on are often too broad: they explain much of the document and forbid much of what is not in it, where
//! two narrow ones would explain as much for less. Both are never better than the broad one and one of them, so no flip gets there.
//! So every topic that is on is then tried once: it goes off and stays off while others come on, and what does not gain is undone.
//!
//! With A the sum of the weights of the parents that are on, `beta(w0 + A) - beta(w0) = A + log1p(t)` and
//! `f'(w0 + A) = f'(w0) exp(-A) / (1 + t)`, where `t = f'(w0) (1 - exp(-A))`: nothing cancels.

mod best_flip;
mod flip;

use super::GROUP;
use super::document::DocState;
use super::instruction_set::in_versions;
use super::r_update::init_r;
use crate::batch::{Batch, NodeRecord};
use crate::numeric::{X_CAP, exp_neg, log1p_pos};

/// A flip must gain this many nats: below it f32 is noise, and it could be undone for ever.
pub const MIN_GAIN: f32 = 1e-3;
/// q of a topic that the search left on; 1 - this of one that it left off.
pub const Q_ON: f32 = 0.999;
/// A topic that is worth more is clamped: the configuration without it is not tried.
const MAX_LOSS: f32 = 1e5;
/// A trial goes on as long as this many flips as good as the next would make up for what was lost. (Without that limit the bounds of
/// true networks of the presets `dblp` and `yelp` are 0.2 and 3 nats better and cost 1.4 and 1.2 times as much.)
pub const HOPE: f32 = 4.0;
/// What was won before a climb that is no trial.
const NOTHING_LOST: f32 = f32::INFINITY;
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
    /// g of a topic that has topics below, and is off, together with the best chain of ancestors that are off. Minus infinity of the
    /// other topics, which are most: of those it is found when it may decide.
    value: Vec<f32>,
    /// The first of that chain.
    above: Vec<u32>,
    /// Whether a topic has topics below.
    is_upper: Vec<bool>,
    /// The most that any one parent can say to a topic without topics below: what it says where all are off. Minus infinity of the others.
    reach: Vec<f32>,
    /// Terms of the edges at hand.
    next: Vec<f32>,
    /// Topics whose value is yet to be brought up to date, and whether a topic is among them.
    marked: Vec<u32>,
    is_marked: Vec<bool>,
    /// Topics that stay off until the climb is over, and whether a topic is among them.
    barred: Vec<u32>,
    is_barred: Vec<bool>,
    saved: Saved,
}

/// Where the search stood at the best configuration so far.
#[derive(Debug, Default)]
struct Saved {
    /// q of the topics, terms of the edges, lift, gain, value.
    values: Vec<f32>,
    above: Vec<u32>,
}

/// Where the search takes place: the document's topics, its edges; whether topics have parents.
#[derive(Clone, Copy)]
struct Field {
    nodes: (usize, usize),
    first: usize,
    n_edges: usize,
    deep: bool,
}

impl Search {
    /// Topics that had to stay off may come on again, alone or with those below them.
    #[inline(always)]
    fn unbar(&mut self, batch: &Batch, field: Field) {
        while let Some(topic) = self.barred.pop() {
            self.is_barred[topic as usize - field.nodes.0] = false;
            if field.deep {
                self.mark_children(batch, field, topic as usize);
            }
        }
    }
}

/// `(beta(w0 + a) - beta(w0), f'(w0 + a))` where the slope is `f'(w0)`.
#[inline(always)]
fn lifted(slope: f32, a: f32) -> (f32, f32) {
    let (log, slope_now) = lifted_beyond(slope, a);
    (a + log, slope_now)
}

/// The same, less a.
#[inline(always)]
pub(in crate::estep) fn lifted_beyond(slope: f32, a: f32) -> (f32, f32) {
    let (e, one_minus_e) = exp_neg(a.min(X_CAP));
    let t = slope * one_minus_e;
    (log1p_pos(t), slope * e / (1.0 + t))
}

impl DocState {
    /// Finds a configuration; q is 1 for topics that are on, 0 for the others. Begins with the topics at the places `begin_on` of the
    /// document on and all others off.
    #[inline(always)]
    pub(super) fn search(&mut self, batch: &Batch, doc_ix: usize, begin_on: &[u32]) {
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
        let field = Field { nodes: (begin, tokens), first, n_edges, deep: first_token_edge > first };
        self.search.barred.clear();
        self.search.is_barred.clear();
        self.search.is_barred.resize(n_topics, false);
        if field.deep {
            self.search.begin_chains(batch, field, &self.terms.m);
        } else {
            self.search.begin_flat(n_topics);
        }
        self.turn_on_clamped(batch, field);
        for place in begin_on.iter().map(|&place| place as usize).filter(|&place| place < n_topics) {
            self.flip(batch, field, begin + place);
        }
        climb(self.instructions, self, batch, field, NOTHING_LOST);
        self.save_search(field);
        for topic in begin..tokens {
            self.replace(batch, field, topic);
        }
    }

    /// Topics that are clamped on come on first: a climb would compare chains that bring them along, at a precision of 0.06 nats.
    #[inline(always)]
    fn turn_on_clamped(&mut self, batch: &Batch, field: Field) {
        for topic in field.nodes.0..field.nodes.1 {
            if self.bias[topic - field.nodes.0] > MAX_LOSS {
                self.flip(batch, field, topic);
            }
        }
    }

    /// Tries the configuration without a topic that is on: it stays off while others come on in its place. What does not gain is
    /// undone; after what does, the topic may come back.
    #[inline(always)]
    fn replace(&mut self, batch: &Batch, field: Field, topic: usize) {
        let gain = self.search.gain[topic - field.nodes.0];
        if self.q[topic] == 0.0 || gain > MAX_LOSS {
            return;
        }
        self.flip(batch, field, topic);
        let won = climb(self.instructions, self, batch, field, -gain);
        if won > MIN_GAIN {
            climb(self.instructions, self, batch, field, NOTHING_LOST);
            self.save_search(field);
        } else {
            self.restore_search(field);
        }
    }

    /// Takes the best flip while one gains, and while what was lost before may yet be made up for; returns what was won in all. Ends,
    /// because a topic that goes off stays off.
    #[inline(always)]
    fn climb(&mut self, batch: &Batch, field: Field, mut won: f32) -> f32 {
        let begin = field.nodes.0;
        loop {
            if field.deep {
                self.update_chains(batch, field);
            }
            let Some((gain, mut topic)) = self.best_flip(batch, field) else { break };
            if won + HOPE * gain <= MIN_GAIN {
                break;
            }
            let (comes_on, first) = (self.q[topic] == 0.0, topic);
            let mut gained = 0.0;
            loop {
                let above = if field.deep && comes_on { self.search.above[topic - begin] } else { NONE };
                let gain = self.search.gain[topic - begin];
                gained += if comes_on { gain } else { -gain };
                self.flip(batch, field, topic);
                if above == NONE {
                    break;
                }
                topic = above as usize;
            }
            // On trial it is the end that counts.
            if topic != first && gained <= 0.0 && won == NOTHING_LOST {
                self.undo_chain(batch, field, (first, topic));
            } else {
                won += gained;
            }
        }
        self.search.unbar(batch, field);
        won
    }

    /// Undoes a chain that came on: its last topic stays off until the climb is over.
    #[inline(always)]
    fn undo_chain(&mut self, batch: &Batch, field: Field, (mut topic, last): (usize, usize)) {
        let begin = field.nodes.0;
        loop {
            self.flip(batch, field, topic);
            if topic == last {
                break;
            }
            self.search.barred.pop();
            self.search.is_barred[topic - begin] = false;
            topic = self.search.above[topic - begin] as usize;
        }
    }

    /// Keeps where the search stands.
    #[inline(always)]
    fn save_search(&mut self, field: Field) {
        let Search { saved, lift, gain, value, above, .. } = &mut self.search;
        saved.values.clear();
        let q = &self.q[field.nodes.0..field.nodes.1];
        for values in [q, &self.terms.m[..field.n_edges], lift, gain, value] {
            saved.values.extend_from_slice(values);
        }
        saved.above.clone_from(above);
    }

    /// Goes back to what was kept.
    #[inline(always)]
    fn restore_search(&mut self, field: Field) {
        let Search { saved, lift, gain, value, above, .. } = &mut self.search;
        let mut rest = &saved.values[..];
        let q = &mut self.q[field.nodes.0..field.nodes.1];
        for values in [q, &mut self.terms.m[..field.n_edges], lift, gain, value] {
            let (here, behind) = rest.split_at(values.len());
            values.copy_from_slice(here);
            rest = behind;
        }
        above.clone_from(&saved.above);
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

in_versions! { fn climb(state: &mut DocState, batch: &Batch, field: Field, won: f32) -> f32 = DocState::climb }

#[inline(always)]
fn edges_into(nodes: &[NodeRecord], node: usize) -> std::ops::Range<usize> {
    nodes[node].edge_begin as usize..nodes[node + 1].edge_begin as usize
}

/// The positive children of a topic, as nodes of the batch.
#[inline(always)]
fn children(batch: &Batch, topic: usize) -> &[u32] {
    &batch.slot_children[batch.nodes[topic].slot_begin as usize..batch.nodes[topic + 1].slot_begin as usize]
}
