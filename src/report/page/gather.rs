//! One pass of the E-step over the documents: how often each topic is on and where most, and how well documents are explained.

use super::Histogram;
use super::worst::{Worst, WorstBy, WorstDoc, explain};
use crate::corpus::{Docs, Parts};
use crate::error::Result;
use crate::estep::{DocResults, EStep, EStepOptions, Monitor};
use crate::infer;
use crate::network::Network;
use crate::rng::{Stream, rng};
use rand::seq::SliceRandom;
use serde::Serialize;

/// A topic is on in a document with at least this probability.
pub const ON: f32 = 0.5;
/// Documents kept for a topic.
const TOP_DOCS: usize = 10;
/// A document below this is not one that a topic is about.
const FAINT: f32 = 0.01;
/// Bins of the bounds are at least so wide, in nats.
const BIN: f64 = 1.0 / 64.0;

/// The part of a run that a document is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CorpusPart {
    /// Trained on, or of no run.
    Train,
    /// Held out to choose by.
    Valid,
    /// Kept for the test.
    Test,
}

impl CorpusPart {
    /// The part of a document.
    pub fn of(parts: Option<&Parts>, doc_ix: u32) -> Self {
        match parts {
            Some(parts) if parts.valid.binary_search(&doc_ix).is_ok() => Self::Valid,
            Some(parts) if parts.test.binary_search(&doc_ix).is_ok() => Self::Test,
            _ => Self::Train,
        }
    }
}

/// What is known of a topic from the documents.
#[derive(Debug, Clone, Default)]
pub struct TopicUse {
    /// Sum of q.
    pub q_sum: f64,
    /// Documents that hold any of the words below it.
    n_inside: u64,
    /// Documents in which it is on.
    pub n_on: u64,
    /// The documents in which it is most likely on, with q.
    pub docs: Vec<(f32, u32)>,
}

impl TopicUse {
    fn add(&mut self, doc_ix: u32, q: f32) {
        self.n_inside += 1;
        self.q_sum += f64::from(q);
        self.n_on += u64::from(q >= ON);
        let full = self.docs.len() == TOP_DOCS;
        // Of equals the first stays: documents come in order.
        if q < FAINT || full && self.docs.last().is_some_and(|last| q <= last.0) {
            return;
        }
        self.docs.truncate(TOP_DOCS - 1);
        let at = self.docs.partition_point(|doc| doc.0 >= q);
        self.docs.insert(at, (q, doc_ix));
    }

    /// Adds the documents outside whose local models the topic stays, where its probability is the free tail's.
    fn add_outside(&mut self, n_docs: usize, tail_q: f64) {
        let outside = n_docs as u64 - self.n_inside;
        self.q_sum += outside as f64 * tail_q;
        self.n_on += if tail_q as f32 >= ON { outside } else { 0 };
    }
}

/// What one pass over documents tells.
#[derive(Debug, Clone)]
pub struct Gathered {
    /// Documents looked at.
    pub n_docs: usize,
    /// All documents of the corpus.
    pub n_all: usize,
    /// Which bound the figures are.
    pub bound: String,
    /// Every topic.
    pub topics: Vec<TopicUse>,
    /// Sum of the bound by part.
    pub elbo_sums: [f64; 3],
    /// Bounds of documents by part.
    pub bounds: Histogram,
    /// The bound of a document without words.
    pub empty_bound: f64,
    /// The worst documents, by cost a word and by bound, worst first.
    pub worst: [Vec<WorstDoc>; 2],
    /// The parts of the run; none where the documents are of no run.
    pub parts: Option<Parts>,
}

/// At most `most` of `0..n_docs`, drawn at random, ascending.
pub fn sample_docs(n_docs: usize, most: usize, seed: u64) -> Vec<u32> {
    let mut doc_ixs: Vec<u32> = (0..n_docs as u32).collect();
    if n_docs > most {
        doc_ixs = doc_ixs.partial_shuffle(&mut rng(seed, Stream::Report), most).0.to_vec();
        doc_ixs.sort_unstable();
    }
    doc_ixs
}

/// Looks at the given documents. What it keeps grows with the topics, not with the documents.
///
/// # Errors
///
/// As [`infer::run`].
pub fn gather(
    network: &Network,
    docs: Docs<'_>,
    doc_ixs: &[u32],
    parts: Option<Parts>,
    options: &EStepOptions,
    estep: &mut dyn EStep,
    monitor: &Monitor,
) -> Result<Gathered> {
    let params = crate::estep::Params::derive(&network.graph, &network.weights, options.bound)?;
    let mut topics = vec![TopicUse::default(); network.graph.n_topics()];
    let mut bounds = Histogram::new(BIN);
    let mut elbo_sums = [0.0; 3];
    let mut worst = [WorstBy::Word, WorstBy::Document].map(Worst::new);
    let mut sink = |results: &DocResults<'_>| {
        for at in 0..results.n_docs() {
            let (doc_ix, elbo) = (doc_ixs[results.first_item + at], results.elbo[at]);
            let part = CorpusPart::of(parts.as_ref(), doc_ix) as usize;
            let (of_doc, q) = results.doc(at);
            of_doc.iter().zip(q).for_each(|(&topic, &q)| topics[topic as usize].add(doc_ix, q));
            elbo_sums[part] += elbo;
            bounds.add(elbo, part);
            let n_words = docs.tokens(doc_ix as usize).count();
            let cost = params.constant - elbo;
            let doc = WorstDoc { doc_ix, elbo, n_words, cost, costs: vec![] };
            worst.iter_mut().for_each(|list| list.add(doc.clone()));
        }
        Ok(())
    };
    infer::run(network, docs, doc_ixs, options, estep, monitor, Some(&mut sink))?;
    let tail = topics.iter_mut().zip(&params.tail_q);
    tail.for_each(|(topic, &q)| topic.add_outside(doc_ixs.len(), q));
    Ok(Gathered {
        n_docs: doc_ixs.len(),
        n_all: docs.n_docs(),
        bound: options.bound_label(),
        topics,
        elbo_sums,
        bounds: bounds.finish(),
        empty_bound: params.constant,
        worst: explain(worst, network, docs, options, monitor)?,
        parts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_keeps_its_strongest_documents_and_the_first_of_equals() {
        let mut topic = TopicUse::default();
        let q = |doc: u32| [0.9, 0.2, 0.005, 0.7][doc as usize % 4];
        (0..40).for_each(|doc| topic.add(doc, q(doc)));
        let docs: Vec<u32> = topic.docs.iter().map(|doc| doc.1).collect();
        assert_eq!(docs, [0, 4, 8, 12, 16, 20, 24, 28, 32, 36]);
        assert_eq!(topic.n_on, 20);
        let mut faint = TopicUse::default();
        (0..40).for_each(|doc| faint.add(doc, 0.005));
        assert!(faint.docs.is_empty() && (faint.q_sum - 0.2).abs() < 1e-7);
    }

    #[test]
    fn a_sample_is_in_order_without_repeats() {
        assert_eq!(sample_docs(3, 5, 0), [0, 1, 2]);
        let drawn = sample_docs(1000, 50, 1);
        assert!(drawn.len() == 50 && drawn.windows(2).all(|pair| pair[0] < pair[1]) && drawn[49] < 1000);
        assert_ne!(drawn, sample_docs(1000, 50, 2));
    }
}
