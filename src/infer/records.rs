//! What inference keeps of a document: its bound, and its topics at or above a threshold, strongest first.

use crate::estep::{DocResults, Params};
use bytemuck::{Pod, Zeroable};

/// A topic and its probability.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct TopicQ {
    pub(super) topic: u32,
    pub(super) q: f32,
}

impl TopicQ {
    /// Of equal ones that of the smaller number.
    pub(super) fn strongest_first(a: &Self, b: &Self) -> std::cmp::Ordering {
        b.q.total_cmp(&a.q).then(a.topic.cmp(&b.topic))
    }
}

/// Consecutive documents.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Records {
    elbo: Vec<f64>,
    /// Where each document's topics end.
    ends: Vec<u64>,
    topics: Vec<TopicQ>,
}

impl Records {
    pub(super) fn n_docs(&self) -> usize {
        self.elbo.len()
    }

    pub(super) fn n_bytes(&self) -> usize {
        16 * self.elbo.len() + 8 * self.topics.len()
    }

    /// The bound and the topics of every document.
    pub(super) fn iter(&self) -> impl Iterator<Item = (f64, &[TopicQ])> {
        let mut begin = 0;
        self.elbo.iter().zip(&self.ends).map(move |(&elbo, &end)| {
            let topics = &self.topics[begin..end as usize];
            begin = end as usize;
            (elbo, topics)
        })
    }

    pub(super) fn push(&mut self, elbo: f64, topics: &[TopicQ]) {
        self.elbo.push(elbo);
        self.topics.extend_from_slice(topics);
        self.ends.push(self.topics.len() as u64);
    }

    pub(super) fn clear(&mut self) {
        self.elbo.clear();
        self.ends.clear();
        self.topics.clear();
    }

    /// How many documents and topics, then the arrays.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let sizes = [self.elbo.len() as u64, self.topics.len() as u64];
        let arrays: [&[u8]; 4] = [
            bytemuck::cast_slice(&sizes),
            bytemuck::cast_slice(&self.elbo),
            bytemuck::cast_slice(&self.ends),
            bytemuck::cast_slice(&self.topics),
        ];
        arrays.concat()
    }

    /// None if the bytes are no documents with topics of a network of `n_topics`.
    pub(super) fn from_bytes(bytes: &[u8], n_topics: usize) -> Option<Self> {
        let (sizes, rest) = bytes.split_at_checked(16)?;
        let [n_docs, n_entries]: [u64; 2] = bytemuck::pod_read_unaligned(sizes);
        let (elbo, rest) = rest.split_at_checked(usize::try_from(n_docs).ok()?.checked_mul(8)?)?;
        let (ends, topics) = rest.split_at_checked(elbo.len())?;
        if topics.len() as u64 != n_entries.checked_mul(8)? {
            return None;
        }
        let records = Self {
            elbo: bytemuck::pod_collect_to_vec(elbo),
            ends: bytemuck::pod_collect_to_vec(ends),
            topics: bytemuck::pod_collect_to_vec(topics),
        };
        let sound = records.ends.is_sorted()
            && records.ends.last().copied().unwrap_or(0) == n_entries
            && records.topics.iter().all(|entry| (entry.topic as usize) < n_topics);
        sound.then_some(records)
    }
}

/// Decides which topics of a document are kept.
pub(super) struct Selection {
    threshold: f32,
    /// Topics that are given, by number.
    is_given: Vec<bool>,
    /// Topics that reach the threshold even outside a document's local model, with that q.
    outside: Vec<TopicQ>,
    is_inside: Vec<bool>,
    topics: Vec<TopicQ>,
}

impl Selection {
    /// `given` topics are on in every document.
    pub(super) fn new(threshold: f32, params: &Params, n_topics: usize, given: &[u32]) -> Self {
        let mut is_given = vec![false; n_topics];
        given.iter().for_each(|&topic| is_given[topic as usize] = true);
        let outside = params.tail_q.iter().zip(0..).map(|(&q, topic)| {
            let q = if is_given[topic as usize] { 1.0 } else { q as f32 };
            TopicQ { topic, q }
        });
        let outside = outside.filter(|outside| outside.q >= threshold && outside.q > 0.0).collect();
        Self { threshold, is_given, outside, is_inside: vec![false; n_topics], topics: Vec::new() }
    }

    /// The topics of a document that are kept, by its results.
    pub(super) fn select(&mut self, results: &DocResults<'_>, at: usize) -> &[TopicQ] {
        let (topics, q) = results.doc(at);
        let q_of = |(&topic, &q)| TopicQ { topic, q: if self.is_given[topic as usize] { 1.0 } else { q } };
        let inside = topics.iter().zip(q).map(q_of);
        self.topics.clear();
        self.topics.extend(inside.filter(|inside| inside.q >= self.threshold));
        if !self.outside.is_empty() {
            topics.iter().for_each(|&topic| self.is_inside[topic as usize] = true);
            let outside = self.outside.iter().filter(|outside| !self.is_inside[outside.topic as usize]);
            self.topics.extend(outside);
            topics.iter().for_each(|&topic| self.is_inside[topic as usize] = false);
        }
        self.topics.sort_unstable_by(TopicQ::strongest_first);
        &self.topics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_and_nonsense_does_not() {
        let mut records = Records::default();
        records.push(-1.5, &[TopicQ { topic: 2, q: 0.5 }, TopicQ { topic: 0, q: 0.25 }]);
        records.push(-0.0, &[]);
        let bytes = records.to_bytes();
        assert_eq!(Records::from_bytes(&bytes, 3).as_ref(), Some(&records));
        assert_eq!(Records::from_bytes(&Records::default().to_bytes(), 0), Some(Records::default()));
        assert_eq!(Records::from_bytes(&bytes, 2), None, "there is no topic 2");
        (0..bytes.len()).for_each(|len| assert_eq!(Records::from_bytes(&bytes[..len], 3), None, "{len}"));
        // The sizes and the ends: every bit of them counts.
        for bit in (0..16 * 8).chain(32 * 8..48 * 8) {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let read = Records::from_bytes(&bad, 3);
            assert!(read.is_none_or(|read| read.iter().count() == 2 && read != records), "{bit}");
        }
    }
}
