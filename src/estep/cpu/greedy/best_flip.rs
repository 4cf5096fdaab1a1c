//! Which flip is the best: of topics that are on, of topics that are off, and of these with chains of ancestors.

use super::{Field, MIN_GAIN, NONE, Search, children, edges_into};
use crate::batch::Batch;
use crate::estep::cpu::GROUP;
use crate::estep::cpu::document::DocState;

impl Search {
    /// Marks all topics that have topics below: no chain is known yet.
    #[inline(always)]
    pub(super) fn begin_chains(&mut self, batch: &Batch, field: Field, m: &[f32]) {
        let (begin, tokens) = field.nodes;
        self.value.clear();
        self.above.clear();
        self.above.resize(tokens - begin, NONE);
        self.is_upper.clear();
        self.reach.clear();
        self.marked.clear();
        for topic in begin..tokens {
            let is_upper = children(batch, topic).iter().any(|&child| (child as usize) < tokens);
            self.is_upper.push(is_upper);
            if is_upper {
                self.marked.push(topic as u32);
                self.value.push(self.gain[topic - begin]);
                self.reach.push(f32::NEG_INFINITY);
            } else {
                let range = edges_into(&batch.nodes, topic);
                let said = &m[range.start - field.first..range.end - field.first];
                self.value.push(f32::NEG_INFINITY);
                self.reach.push(said.iter().copied().fold(0.0, f32::max));
            }
        }
        self.is_marked.clone_from(&self.is_upper);
    }

    /// No topic has topics below.
    #[inline(always)]
    pub(super) fn begin_flat(&mut self, n_topics: usize) {
        self.value.clear();
        self.value.resize(n_topics, f32::NEG_INFINITY);
        self.reach.clear();
        self.reach.resize(n_topics, 0.0);
        self.above.clear();
        self.is_upper.clear();
        self.is_upper.resize(n_topics, false);
    }

    /// Marks a topic for [`DocState::update_chains`], if it has topics below.
    #[inline(always)]
    pub(super) fn mark(&mut self, topic: usize, begin: usize) {
        if self.is_upper[topic - begin] && !self.is_marked[topic - begin] {
            self.is_marked[topic - begin] = true;
            self.marked.push(topic as u32);
        }
    }

    /// Marks the topics below a topic.
    #[inline(always)]
    pub(super) fn mark_children(&mut self, batch: &Batch, field: Field, topic: usize) {
        let (begin, tokens) = field.nodes;
        for &child in children(batch, topic) {
            if (child as usize) < tokens {
                self.mark(child as usize, begin);
            }
        }
    }
}

impl DocState {
    /// The topic whose flip gains most, and how much; of several, the first.
    #[inline(always)]
    pub(super) fn best_flip(&mut self, batch: &Batch, field: Field) -> Option<(f32, usize)> {
        let (begin, tokens) = field.nodes;
        let (mut best, mut best_topic) = (MIN_GAIN, None);
        let most_above = if field.deep { self.most_above(field) } else { 0.0 };
        let n_topics = tokens - begin;
        for group in (0..n_topics).step_by(GROUP) {
            if !self.may_gain(field, group, most_above, best) {
                continue;
            }
            for at in group..n_topics.min(group + GROUP) {
                let search = &self.search;
                let mut gain = search.gain[at];
                if self.q[begin + at] > 0.0 {
                    gain = -gain;
                } else if search.is_upper[at] {
                    gain = search.value[at];
                } else if field.deep && gain + search.reach[at] + most_above > best && !search.is_barred[at] {
                    let above;
                    (gain, above) = self.with_chain(batch, field, begin + at);
                    self.search.above[at] = above;
                }
                if gain > best && !self.search.is_barred[at] {
                    (best, best_topic) = (gain, Some(begin + at));
                }
            }
        }
        best_topic.map(|topic| (best, topic))
    }

    /// Whether a topic of a group may gain more than `best`. Most groups have none, and are told at once by vectors.
    #[inline(always)]
    fn may_gain(&self, field: Field, group: usize, most_above: f32, best: f32) -> bool {
        let Search { gain, value, reach, .. } = &self.search;
        let of = |array: &[f32]| array[group..].first_chunk::<GROUP>().copied();
        let q = &self.q[field.nodes.0..field.nodes.1];
        let (Some(q), Some(gain), Some(value), Some(reach)) = (of(q), of(gain), of(value), of(reach)) else {
            return true; // the rest of the topics is no group
        };
        let mut may_gain = false;
        for l in 0..GROUP {
            // One of the two is minus infinity.
            let (value, with_chain) = (value[l], gain[l] + reach[l] + most_above);
            let on = if value > with_chain { value } else { with_chain };
            may_gain |= (if q[l] > 0.0 { -gain[l] } else { on }) > best;
        }
        may_gain
    }

    /// The most that a chain of ancestors is worth, whatever topic it ends at.
    #[inline(always)]
    fn most_above(&self, field: Field) -> f32 {
        let (q, rest) = self.q[field.nodes.0..field.nodes.1].as_chunks::<GROUP>();
        let (value, value_of_rest) = self.search.value.as_chunks::<GROUP>();
        let mut most = [0.0f32; GROUP];
        let add = |most: &mut f32, q: f32, value: f32| {
            let value = if q == 0.0 { value } else { 0.0 };
            *most = if value > *most { value } else { *most };
        };
        for (q, value) in q.iter().zip(value) {
            (0..GROUP).for_each(|l| add(&mut most[l], q[l], value[l]));
        }
        for (l, (&q, &value)) in rest.iter().zip(value_of_rest).enumerate() {
            add(&mut most[l], q, value);
        }
        most.into_iter().fold(0.0, f32::max)
    }

    /// What a topic that is off is worth with its best chain, and the first of that:
    /// `g_k + max(0, max over parents p that are off of (term_pk + value_p))`.
    #[inline(always)]
    fn with_chain(&self, batch: &Batch, field: Field, topic: usize) -> (f32, u32) {
        let (begin, tokens) = field.nodes;
        let (search, q) = (&self.search, &self.q[begin..tokens]);
        let (value, is_barred) = (&search.value[..q.len()], &search.is_barred[..q.len()]);
        let range = edges_into(&batch.nodes, topic);
        let said = &self.terms.m[range.start - field.first..range.end - field.first];
        let (mut best, mut above) = (0.0, NONE);
        for (edge, said) in batch.edges[range].iter().zip(said) {
            let parent = edge.parent as usize - begin;
            if q[parent] == 0.0 && !is_barred[parent] {
                let with = said + value[parent];
                // Two selections: which parent is best cannot be foretold, so a branch would cost more.
                above = if with > best { edge.parent } else { above };
                best = if with > best { with } else { best };
            }
        }
        (search.gain[topic - begin] + best, above)
    }

    /// What upper topics are worth with their best chains, brought up to date from those that are marked downwards.
    #[inline(always)]
    pub(super) fn update_chains(&mut self, batch: &Batch, field: Field) {
        let begin = field.nodes.0;
        let mut next = 0;
        while let Some(&topic) = self.search.marked.get(next) {
            next += 1;
            let topic = topic as usize;
            self.search.is_marked[topic - begin] = false;
            let (value, above) = if self.q[topic] == 0.0 {
                self.with_chain(batch, field, topic)
            } else {
                (self.search.gain[topic - begin], NONE)
            };
            let search = &mut self.search;
            let changed = value != search.value[topic - begin];
            (search.value[topic - begin], search.above[topic - begin]) = (value, above);
            if changed {
                search.mark_children(batch, field, topic);
            }
        }
        self.search.marked.clear();
    }
}
