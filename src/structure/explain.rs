//! Which topic explains which item of a document: the documents of the layer above.
//!
//! A topic's support in a document is the sum of its shares in the items there, rare items counting more. Every item is explained
//! by the one of its topics that has the most support, measured by what it usually has: one cause each, as explaining away would
//! have it. A topic is present where it explains anything.

use super::layer::Layer;
use super::occurrences::Occurrences;
use crate::error::Result;
use crate::monitor::Monitor;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

/// No topic.
pub(super) const NONE: u32 = u32::MAX;

/// Documents that one thread takes at once, and between two looks at the monitor.
const CHUNK: usize = 1_024;
const BLOCK: usize = 64 * CHUNK;

/// A layer with what was counted of it, and its topics as the items of the layer above.
pub(super) struct Explained {
    pub(super) layer: Layer,
    pub(super) topics: Occurrences,
    /// The topic of every occurrence of an item, or [`NONE`].
    pub(super) votes: Vec<u32>,
}

/// Explains all documents.
pub(super) fn explain(items: &Occurrences, mut layer: Layer, monitor: &Monitor) -> Result<Explained> {
    let first_edge: Vec<usize> = layer
        .parents
        .iter()
        .scan(0, |next, edges| Some(std::mem::replace(next, *next + edges.len())))
        .collect();
    let evidence = Evidence::new(items, &layer);
    let counts: Vec<AtomicU32> = (0..layer.n_edges()).map(|_| AtomicU32::new(0)).collect();
    let mut votes = Vec::with_capacity(items.n_occurrences());
    let (mut doc_offsets, mut topics) = (vec![0], Vec::new());
    for block in (0..items.n_docs()).step_by(BLOCK) {
        monitor.go_on()?;
        let end = (block + BLOCK).min(items.n_docs());
        let chunks: Vec<usize> = (block..end).step_by(CHUNK).collect();
        let parts: Vec<Part> = chunks
            .into_par_iter()
            .map_init(
                || vec![0f32; layer.n_topics],
                |support, begin| {
                    part(
                        items,
                        begin..(begin + CHUNK).min(end),
                        &layer,
                        &first_edge,
                        &counts,
                        &evidence,
                        support,
                    )
                },
            )
            .collect();
        for part in parts {
            votes.extend(part.votes);
            doc_offsets.extend(part.lengths.iter().scan(topics.len(), |end, length| {
                *end += length;
                Some(*end)
            }));
            topics.extend(part.topics);
        }
        monitor.docs_done.fetch_add((end - block) as u64, Ordering::Relaxed);
    }
    let mut counts = counts.into_iter().map(AtomicU32::into_inner);
    for edge in layer.parents.iter_mut().flatten() {
        edge.n_explained = counts.next().unwrap_or(0);
    }
    let topics = Occurrences::new(doc_offsets, topics, layer.n_topics);
    layer.n_present = (0..layer.n_topics).map(|topic| topics.df(topic) as u32).collect();
    layer.n_docs = items.n_docs();
    Ok(Explained { layer, topics, votes })
}

/// How much items and topics count.
struct Evidence {
    /// Of an item: `log(n / df) / log(n)`, rare ones tell more.
    items: Vec<f32>,
    /// Of a topic: one over the root of the support that it has on average, or large topics would win by their size alone.
    topics: Vec<f32>,
}

impl Evidence {
    fn new(items: &Occurrences, layer: &Layer) -> Self {
        const LEAST: f32 = 0.01;
        let n_docs = items.n_docs().max(2) as f32;
        let df = |item: usize| items.df(item).max(1) as f32;
        let tells: Vec<f32> =
            (0..items.n_items()).map(|item| (n_docs / df(item)).ln() / n_docs.ln()).collect();
        let mut expected = vec![LEAST; layer.n_topics];
        for (item, edge) in layer.edges() {
            let item = item as usize;
            expected[edge.topic as usize] += edge.share * tells[item] * df(item) / n_docs;
        }
        Self { items: tells, topics: expected.into_iter().map(|support| 1.0 / support.sqrt()).collect() }
    }
}

#[derive(Default)]
struct Part {
    votes: Vec<u32>,
    lengths: Vec<usize>,
    topics: Vec<u32>,
}

fn part(
    items: &Occurrences,
    docs: std::ops::Range<usize>,
    layer: &Layer,
    first_edge: &[usize],
    counts: &[AtomicU32],
    evidence: &Evidence,
    support: &mut [f32],
) -> Part {
    let mut part = Part::default();
    let mut present = Vec::new();
    for doc in docs {
        let here = items.items(doc);
        let edges = || here.iter().flat_map(|&item| &layer.parents[item as usize]);
        for &item in here {
            for edge in &layer.parents[item as usize] {
                support[edge.topic as usize] += edge.share * evidence.items[item as usize];
            }
        }
        for &item in here {
            let parents = &layer.parents[item as usize];
            let by_support = |&a: &usize, &b: &usize| {
                let [one, other] = [a, b].map(|at| parents[at].topic);
                let score = |topic: u32| support[topic as usize] * evidence.topics[topic as usize];
                score(one).total_cmp(&score(other)).then(other.cmp(&one))
            };
            let best = (0..parents.len()).max_by(by_support);
            part.votes.push(best.map_or(NONE, |at| parents[at].topic));
            if let Some(at) = best {
                counts[first_edge[item as usize] + at].fetch_add(1, Ordering::Relaxed);
                present.push(parents[at].topic);
            }
        }
        edges().for_each(|edge| support[edge.topic as usize] = 0.0);
        present.sort_unstable();
        present.dedup();
        part.lengths.push(present.len());
        part.topics.append(&mut present);
    }
    part
}
