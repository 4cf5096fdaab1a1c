//! A flip, and what it changes: gains of the topic's relatives, and what their other children say to their parents.

use super::{Field, children, edges_into, lifted};
use crate::batch::Batch;
use crate::estep::cpu::GROUP;
use crate::estep::cpu::document::DocState;

impl DocState {
    /// Flips a topic and brings everyone's gain up to date.
    #[inline(always)]
    pub(super) fn flip(&mut self, batch: &Batch, field: Field, topic: usize) {
        let (begin, first) = (field.nodes.0, field.first);
        let on = 1.0 - self.q[topic];
        self.q[topic] = on;
        if on == 0.0 {
            self.search.is_barred[topic - begin] = true;
            self.search.barred.push(topic as u32);
        }
        for e in edges_into(&batch.nodes, topic) {
            let (term, parent) = (self.terms.m[e - first], batch.edges[e].parent as usize);
            self.search.gain[parent - begin] += if on > 0.0 { term } else { -term };
            self.search.mark(parent, begin); // a topic with parents: the network is deep
        }
        if field.deep {
            self.search.mark(topic, begin);
        }
        for &child in children(batch, topic) {
            self.update_node(batch, field, child as usize);
        }
    }

    /// A node of which a parent was flipped: its own gain, and what it says to its parents.
    #[inline(always)]
    fn update_node(&mut self, batch: &Batch, field: Field, node: usize) {
        let ((begin, tokens), first) = (field.nodes, field.first);
        let Self { q, terms, search, .. } = self;
        let range = edges_into(&batch.nodes, node);
        let edges = &batch.edges[range.clone()];
        let (from, to) = (range.start - first, range.end - first);
        let slope = terms.slope[from];
        let padded = (to - from).next_multiple_of(GROUP);
        if search.next.len() < padded {
            search.next.resize(padded, 0.0);
        }
        let (next, w) = (&mut search.next[..padded], &terms.w[from..from + padded]);
        let mut a = 0.0;
        for j in 0..edges.len() {
            next[j] = q[edges[j].parent as usize];
            a += w[j] * next[j];
        }
        let (lift, slope_now) = lifted(slope, a);
        for j in 0..padded {
            let is_on = next[j] > 0.0;
            let (slope, w) = if is_on { (slope, (a - w[j]).max(0.0)) } else { (slope_now, w[j]) };
            let lifted = lifted(slope, w).0;
            next[j] = if is_on { lift - lifted } else { lifted };
        }
        if node < tokens {
            search.gain[node - begin] += lift - search.lift[node - begin];
            search.mark(node, begin); // as above
        }
        search.lift[node - begin] = lift;
        let is_on = q[node] > 0.0;
        for (j, edge) in edges.iter().enumerate() {
            let (term, parent) = (search.next[j], edge.parent as usize);
            if is_on {
                search.gain[parent - begin] += term - terms.m[from + j];
                if field.deep {
                    search.mark(parent, begin);
                }
            }
            terms.m[from + j] = term;
        }
    }
}
