//! Which new tokens occur in the documents of which topics, counted while an E-step runs.
//!
//! Memory does not grow with the documents: what they tell waits in a list of bounded length, which is sorted and added up when it
//! is full, and every token keeps the topics that tell most about it so far.

use crate::corpus::Docs;
use crate::network::Graph;
use crate::structure::{Candidate, telling};
use rayon::prelude::*;

/// Topics below this probability in a document say nothing.
const Q_MIN: f32 = 0.02;
/// Topics that a token keeps from one adding up to the next, unless it may have more parents.
const KEPT: usize = 64;
/// (token, topic, q) that wait to be added up.
const WAITING: usize = 1 << 21;

/// Sums of q over the documents that hold a token, by token and topic.
pub(super) struct Together<'a> {
    docs: Docs<'a>,
    /// Tokens of the model: new ones have higher numbers.
    n_old: u32,
    /// Parents of a new token at most.
    most: usize,
    /// Topics that have tokens.
    lowest: Vec<bool>,
    waiting: Vec<(u32, u32, f32)>,
    /// Of every new token, by topic, ascending.
    sums: Vec<Vec<(u32, f32)>>,
    totals: Totals,
}

/// Sums over all documents so far.
struct Totals {
    n_docs: f64,
    topic_q: Vec<f64>,
    /// Documents of every new token.
    df: Vec<u32>,
}

impl<'a> Together<'a> {
    /// For the `n_new` last tokens of `docs`, to find at most so many topics for each.
    pub(super) fn new(graph: &Graph, docs: Docs<'a>, n_new: usize, most: usize) -> Self {
        let has_tokens = |topic| graph.children(topic).iter().any(|&child| !graph.is_topic(child as usize));
        Self {
            docs,
            n_old: graph.n_tokens() as u32,
            most,
            lowest: (0..graph.n_topics()).map(has_tokens).collect(),
            waiting: Vec::new(),
            sums: vec![Vec::new(); n_new],
            totals: Totals { n_docs: 0.0, topic_q: vec![0.0; graph.n_topics()], df: vec![0; n_new] },
        }
    }

    /// Adds a document with its topics and their q.
    pub(super) fn add(&mut self, doc_ix: u32, (topics, q): (&[u32], &[f32])) {
        let here = || {
            let all = topics.iter().copied().zip(q.iter().copied());
            all.filter(|&(topic, q)| q >= Q_MIN && self.lowest[topic as usize])
        };
        self.totals.n_docs += 1.0;
        here().for_each(|(topic, q)| self.totals.topic_q[topic as usize] += f64::from(q));
        for token in self.docs.tokens(doc_ix as usize).filter_map(|token| token.checked_sub(self.n_old)) {
            self.totals.df[token as usize] += 1;
            self.waiting.extend(here().map(|(topic, q)| (token, topic, q)));
        }
        if self.waiting.len() >= WAITING {
            self.add_up();
        }
    }

    /// Adds what waits to the sums, in the order of the documents whatever the threads.
    fn add_up(&mut self) {
        let (mut waiting, totals) = (std::mem::take(&mut self.waiting), &self.totals);
        let kept = KEPT.max(self.most);
        waiting.par_sort_by_key(|&(token, topic, _)| (token, topic));
        self.sums.par_iter_mut().enumerate().for_each(|(token, list)| {
            let begin = waiting.partition_point(|&(other, ..)| (other as usize) < token);
            let end = begin + waiting[begin..].partition_point(|&(other, ..)| other as usize == token);
            if begin == end {
                return;
            }
            for run in waiting[begin..end].chunk_by(|a, b| a.1 == b.1) {
                let sum: f64 = run.iter().map(|&(.., q)| f64::from(q)).sum();
                list.push((run[0].1, sum as f32));
            }
            list.sort_by_key(|&(topic, _)| topic);
            list.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                kept.1 += if same { next.1 } else { 0.0 };
                same
            });
            if list.len() > kept {
                let mut best: Vec<Candidate> =
                    list.iter().map(|&pair| totals.candidate(token, pair)).collect();
                Candidate::best(&mut best, kept);
                list.retain(|&(topic, _)| best.iter().any(|candidate| candidate.topic == topic));
            }
        });
        waiting.clear();
        self.waiting = waiting;
    }

    /// For every new token the topics that tell most about it, best first, and its documents.
    pub(super) fn finish(mut self, min_support: u32) -> (Vec<Vec<Candidate>>, Vec<u32>) {
        self.add_up();
        let topics = |(token, list): (usize, &Vec<(u32, f32)>)| {
            // A sum of q is an expected number of documents.
            let supported = list.iter().filter(|(_, sum)| sum.round() >= min_support as f32);
            let mut best: Vec<Candidate> =
                supported.map(|&pair| self.totals.candidate(token, pair)).collect();
            best.retain(|candidate| candidate.score > 0.0);
            Candidate::best(&mut best, self.most);
            best
        };
        let candidates = self.sums.par_iter().enumerate().map(topics).collect();
        (candidates, self.totals.df)
    }
}

impl Totals {
    /// A topic that a token may have, by what was seen so far.
    fn candidate(&self, token: usize, (topic, sum): (u32, f32)) -> Candidate {
        let p = (f64::from(sum) / self.topic_q[topic as usize]).min(1.0);
        let base = f64::from(self.df[token]) / self.n_docs;
        Candidate { topic, p: p as f32, score: telling(p, base) as f32 }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::corpus::{Corpus, align};

    /// After 800 documents, of topics above one token each. A new token is in three of four documents, with the topics from 1 on in
    /// turn; the others have a topic of the first 200 in turn.
    fn counted<T>(n_topics: u32, each_alone: bool, look: impl FnOnce(Together<'_>) -> T) -> T {
        let edges: Vec<(u32, u32)> = (0..n_topics).map(|topic| (topic, n_topics + topic)).collect();
        let (graph, _) =
            Graph::build(n_topics as usize, n_topics as usize, &edges, &|node| node.to_string()).unwrap();
        let corpus =
            Corpus::from_tokens((0..800u32).map(|doc| if doc % 4 == 0 { vec![0] } else { vec![n_topics] }));
        let tokens: Vec<String> = (0..=n_topics).map(|token| token.to_string()).collect();
        let alignment = align(&corpus, &tokens);
        let mut together = Together::new(&graph, alignment.docs(&corpus), 1, 8);
        for doc in 0..800 {
            let (round, place) = (doc / 4, doc % 4);
            let topic = if place == 0 { round % 200 } else { 3 * round + place - 1 };
            // The other topic is too improbable to count.
            together.add(doc, (&[1 + topic % (n_topics - 1), 0], &[0.75, Q_MIN / 2.0]));
            if each_alone {
                together.add_up();
            }
        }
        together.add_up();
        look(together)
    }

    #[test]
    fn sums_do_not_depend_on_when_they_are_added_up() {
        let [together, alone] =
            [false, true].map(|each_alone| counted(8, each_alone, |together| together.sums[0].clone()));
        assert_eq!(together, alone);
        let total: f32 = together.iter().map(|(_, sum)| sum).sum();
        assert_eq!((together.len(), total), (7, 450.0));
    }

    #[test]
    fn a_token_keeps_the_topics_that_tell_most() {
        // Each has the token twice, and the first 200 are in a document without it.
        let (kept, candidates) =
            counted(301, false, |together| (together.sums[0].clone(), together.finish(2).0.remove(0)));
        assert_eq!(kept.len(), KEPT);
        assert!(kept.iter().all(|&(topic, sum)| topic > 200 && sum == 1.5), "{kept:?}");
        assert_eq!(candidates.len(), 8);
        assert!(candidates.iter().all(|candidate| candidate.p == 1.0), "{candidates:?}");
        // An expected number of 1.5 documents is less than three.
        assert!(counted(301, false, |together| together.finish(3).0.remove(0)).is_empty());
    }
}
