//! Topics settle on documents: each document goes to the topic it is most like, and each topic becomes what its documents hold.
//!
//! Spherical k-means of the documents, started from the cores: like is `sum over tokens t of the document of idf_t c_kt`, with c the
//! topic's counts times idf, of length one. Cores alone know pairs of tokens; rounds over whole documents tell apart topics
//! that share a word, and give every edge the frequency its weight comes from.

use super::members::{Shares, Sums};
use super::occurrences::Occurrences;
use crate::error::Result;
use crate::monitor::Monitor;
use crate::ranks::Team;
use rayon::prelude::*;
use std::sync::atomic::Ordering;

/// No topic: a document without a token of any.
pub(super) const NONE: u32 = u32::MAX;
/// Rounds at most; the last is the one in which fewer than one document in so many moves.
pub(super) const ROUNDS: usize = 6;
const STILL: usize = 200;
/// Tokens that speak for a topic, its strongest: so many, fewer where that would be too many over all topics.
const SPEAKERS: (usize, usize) = (32, 256);
const ALL_SPEAKERS: usize = 1 << 19;
/// Documents between two looks at the monitor.
const BLOCK: usize = 1 << 16;

/// A layer's topics and the documents of each.
pub(super) struct Settled {
    pub(super) n_topics: usize,
    /// The topic of every document, or [`NONE`].
    pub(super) doc_topics: Vec<u32>,
    /// Documents of each topic.
    pub(super) n_docs: Vec<u32>,
    /// Of every topic the tokens of its documents, with the number that hold each, ascending.
    pub(super) counts: Vec<Vec<(u32, u32)>>,
}

/// Settles topics that start with these `shares` in tokens; the tokens in `anchors` stay with their topics, the first ones. Every
/// rank settles a share of the documents.
pub(super) fn settle(
    items: &Occurrences,
    shares: &[Shares],
    n_topics: usize,
    anchors: &[Vec<u32>],
    (team, monitor): (&Team, &Monitor),
) -> Result<Settled> {
    let n_docs = items.n_docs().max(1) as f32;
    let idf: Vec<f32> =
        (0..items.n_items()).map(|item| (n_docs / items.df(item).max(1) as f32).ln()).collect();
    let n_speakers = (ALL_SPEAKERS / n_topics.max(1)).clamp(SPEAKERS.0, SPEAKERS.1);
    let mut start: Vec<Vec<(u32, f32)>> = vec![Vec::new(); n_topics];
    for (token, shares) in shares.iter().enumerate() {
        shares.iter().for_each(|&(topic, share)| start[topic as usize].push((token as u32, share)));
    }
    let mut profiles: Vec<Vec<(u32, f32)>> =
        start.into_par_iter().map(|list| profile(list, &idf, n_speakers)).collect();
    let mut settled = Settled { n_topics, doc_topics: Vec::new(), n_docs: Vec::new(), counts: Vec::new() };
    for _ in 0..ROUNDS {
        let topics_of = invert(&profiles, items.n_items());
        let before = std::mem::take(&mut settled.doc_topics);
        for begin in (0..items.n_docs()).step_by(BLOCK) {
            monitor.go_on()?;
            let end = (begin + BLOCK).min(items.n_docs());
            let nearest = |sums: &mut Sums, doc: usize| nearest(items.items(doc), &topics_of, &idf, sums);
            settled.doc_topics.extend(team.share(begin..end, |docs| {
                docs.into_par_iter().map_init(|| Sums::new(n_topics), nearest).collect()
            })?);
            monitor.docs_done.fetch_add((end - begin) as u64, Ordering::Relaxed);
        }
        settled.count(items);
        let n_moved = before.iter().zip(&settled.doc_topics).filter(|(old, new)| old != new).count();
        if !before.is_empty() && n_moved * STILL < items.n_docs() {
            break;
        }
        profiles.par_iter_mut().enumerate().for_each(|(topic, old)| {
            let mut list: Vec<(u32, f32)> =
                settled.counts[topic].iter().map(|&(t, n)| (t, n as f32)).collect();
            // What a user says of a topic holds as if every document of it said so.
            for &token in anchors.get(topic).map_or(&[][..], Vec::as_slice) {
                list.retain(|&(other, _)| other != token);
                list.push((token, settled.n_docs[topic].max(1) as f32));
            }
            // A topic that no document went to waits as it is.
            if !list.is_empty() {
                *old = profile(list, &idf, n_speakers);
            }
        });
    }
    Ok(settled)
}

/// The strongest tokens, weighted by idf, of length one.
fn profile(mut list: Vec<(u32, f32)>, idf: &[f32], n_speakers: usize) -> Vec<(u32, f32)> {
    list.iter_mut().for_each(|(token, amount)| *amount *= idf[*token as usize]);
    list.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    list.truncate(n_speakers);
    let length: f32 = list.iter().map(|(_, amount)| amount * amount).sum::<f32>().sqrt();
    list.iter_mut().for_each(|(_, amount)| *amount /= length.max(f32::MIN_POSITIVE));
    list
}

/// The topics that each token speaks for.
fn invert(profiles: &[Vec<(u32, f32)>], n_items: usize) -> Vec<Vec<(u32, f32)>> {
    let mut topics_of = vec![Vec::new(); n_items];
    for (topic, profile) in profiles.iter().enumerate() {
        profile.iter().for_each(|&(token, amount)| topics_of[token as usize].push((topic as u32, amount)));
    }
    topics_of
}

/// The topic that a document is most like; of equals the first.
fn nearest(tokens: &[u32], topics_of: &[Vec<(u32, f32)>], idf: &[f32], sums: &mut Sums) -> u32 {
    for &token in tokens {
        for &(topic, amount) in &topics_of[token as usize] {
            sums.add(topic, amount * idf[token as usize]);
        }
    }
    let better = |a: &(u32, f32), b: &(u32, f32)| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0));
    sums.take().into_iter().max_by(better).map_or(NONE, |(topic, _)| topic)
}

impl Settled {
    /// Counts anew what the documents of each topic hold.
    fn count(&mut self, items: &Occurrences) {
        let mut docs_of: Vec<Vec<u32>> = vec![Vec::new(); self.n_topics];
        for (doc, &topic) in self.doc_topics.iter().enumerate().filter(|(_, topic)| **topic != NONE) {
            docs_of[topic as usize].push(doc as u32);
        }
        self.n_docs = docs_of.iter().map(|docs| docs.len() as u32).collect();
        let count = |docs: &Vec<u32>| {
            let mut tokens: Vec<u32> =
                docs.iter().flat_map(|&doc| items.items(doc as usize)).copied().collect();
            tokens.sort_unstable();
            tokens.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32)).collect()
        };
        self.counts = docs_of.par_iter().map(count).collect();
    }

    /// The probability of an item in a topic's documents, and how telling that is: `p log(p / base)`.
    fn telling(&self, topic: usize, count: u32, base: f64) -> (f32, f64) {
        let p = f64::from(count) / f64::from(self.n_docs[topic].max(1));
        (p as f32, telling(p, base))
    }

    /// For every token the topics that tell most about it: (topic, p, how much), best first, `most` of them.
    pub(super) fn topics_of_tokens(
        &self,
        items: &Occurrences,
        min_support: u32,
        most: usize,
    ) -> Vec<Vec<Candidate>> {
        let n_docs = items.n_docs().max(1) as f64;
        let mut topics_of: Vec<Vec<Candidate>> = vec![Vec::new(); items.n_items()];
        for (topic, counts) in self.counts.iter().enumerate() {
            for &(token, count) in counts.iter().filter(|&&(_, count)| count >= min_support) {
                let (p, score) = self.telling(topic, count, items.df(token as usize) as f64 / n_docs);
                if score > 0.0 {
                    topics_of[token as usize].push(Candidate { topic: topic as u32, p, score: score as f32 });
                }
            }
        }
        topics_of.par_iter_mut().for_each(|list| Candidate::best(list, most));
        topics_of
    }

    /// The same for the topics `below`, by the documents that both have.
    pub(super) fn topics_of_topics(&self, below: &Self, most: usize) -> Vec<Vec<Candidate>> {
        let n_docs = self.doc_topics.len().max(1) as f64;
        let mut pairs: Vec<(u32, u32)> =
            below.doc_topics.iter().copied().zip(self.doc_topics.iter().copied()).collect();
        pairs.retain(|&(low, high)| low != NONE && high != NONE);
        pairs.par_sort_unstable();
        let mut topics_of: Vec<Vec<Candidate>> = vec![Vec::new(); below.n_topics];
        for run in pairs.chunk_by(|a, b| a == b) {
            let (low, high) = run[0];
            let base = f64::from(below.n_docs[low as usize]) / n_docs;
            let (p, score) = self.telling(high as usize, run.len() as u32, base);
            if score > 0.0 {
                topics_of[low as usize].push(Candidate { topic: high, p, score: score as f32 });
            }
        }
        topics_of.iter_mut().for_each(|list| Candidate::best(list, most));
        topics_of
    }

    /// The tokens that tell most about each topic, best first.
    pub(super) fn telling_tokens(&self, items: &Occurrences, most: usize) -> Vec<Vec<u32>> {
        let n_docs = items.n_docs().max(1) as f64;
        let tokens = |topic: usize| {
            let score = |&(token, count): &(u32, u32)| {
                (self.telling(topic, count, items.df(token as usize) as f64 / n_docs).1, token)
            };
            let mut scored: Vec<(f64, u32)> = self.counts[topic].iter().map(score).collect();
            scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            scored.into_iter().take(most).map(|(_, token)| token).collect()
        };
        (0..self.n_topics).into_par_iter().map(tokens).collect()
    }
}

/// How telling it is that something has probability `p` here and `base` everywhere.
pub(crate) fn telling(p: f64, base: f64) -> f64 {
    p * (p / base).ln()
}

/// A topic that an item may have as a parent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) topic: u32,
    /// Probability of the item in the topic's documents.
    pub(crate) p: f32,
    /// How telling that is.
    pub(crate) score: f32,
}

impl Candidate {
    /// Leaves the `most` most telling, best first.
    pub(crate) fn best(list: &mut Vec<Self>, most: usize) {
        list.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.topic.cmp(&b.topic)));
        list.truncate(most);
    }
}
