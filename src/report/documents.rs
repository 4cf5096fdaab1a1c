//! The documents of one topic: where it is most likely on, and the words that it explains there.

use crate::corpus::Docs;
use crate::error::Result;
use crate::estep::{Bound, DocResults, EStep, EStepOptions, Monitor};
use crate::explain::{Explainer, Explanation, REAL_SHARE};
use crate::infer;
use crate::network::{Graph, Network};
use rustc_hash::FxHashMap;
use std::sync::atomic::Ordering;

/// A topic is on in a document with at least this probability.
const ON: f32 = 0.5;

/// Where a topic is on.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicDocs {
    /// Documents in which it is more likely on than off.
    pub n_on: usize,
    /// The documents in which it is most likely on, with q; of equals the first.
    pub strongest: Vec<(u32, f32)>,
}

/// Looks through all documents for those of a topic, and keeps the `top` strongest.
///
/// A document without any word below the topic has no evidence of it: but for the bound over all topics it is not looked at.
///
/// # Errors
///
/// As [`infer::run`].
pub fn topic_docs(
    network: &Network,
    docs: Docs<'_>,
    topic: u32,
    top: usize,
    options: &EStepOptions,
    estep: &mut dyn EStep,
    monitor: &Monitor,
) -> Result<TopicDocs> {
    let below = tokens_below(&network.graph, topic);
    let is_of_topic = |doc_ix: usize| docs.tokens(doc_ix).any(|token| below[token as usize]);
    let all = options.bound == Bound::Full;
    let of_topic: Vec<u32> =
        (0..docs.n_docs()).filter(|&doc_ix| all || is_of_topic(doc_ix)).map(|doc_ix| doc_ix as u32).collect();
    monitor.docs_done.fetch_add((docs.n_docs() - of_topic.len()) as u64, Ordering::Relaxed);
    let mut found = TopicDocs { n_on: 0, strongest: Vec::new() };
    let mut sink = |results: &DocResults<'_>| {
        for at in 0..results.n_docs() {
            let (topics, q) = results.doc(at);
            if let Some(place) = topics.iter().position(|&of_doc| of_doc == topic) {
                found.add(of_topic[results.first_item + at], q[place], top);
            }
        }
        Ok(())
    };
    infer::run(network, docs, &of_topic, options, estep, monitor, Some(&mut sink))?;
    Ok(found)
}

impl TopicDocs {
    fn add(&mut self, doc_ix: u32, q: f32, top: usize) {
        self.n_on += usize::from(q >= ON);
        let at = self.strongest.partition_point(|doc| doc.1 >= q);
        if at < top {
            self.strongest.truncate(top - 1);
            self.strongest.insert(at, (doc_ix, q));
        }
    }
}

/// Which tokens a topic leads to.
fn tokens_below(graph: &Graph, topic: u32) -> Vec<bool> {
    let mut is_below = vec![false; graph.n_nodes()];
    let mut left = vec![topic];
    while let Some(topic) = left.pop() {
        for &child in graph.children(topic as usize) {
            let seen = std::mem::replace(&mut is_below[child as usize], true);
            if !seen && graph.is_topic(child as usize) {
                left.push(child);
            }
        }
    }
    is_below.split_off(graph.n_topics())
}

/// The words of a document that a topic explains, itself or through topics below, each with the share of it, largest first. Of a
/// word that a topic has 0.9 of, which is itself explained by this one to 0.5, it has 0.45.
///
/// # Errors
///
/// As [`Explainer::explain`].
pub fn words_of_topic(explainer: &Explainer<'_>, tokens: &[u32], topic: u32) -> Result<Vec<(String, f64)>> {
    let explanation: Explanation = explainer.explain(tokens)?;
    let network = explainer.network();
    let mut shares: FxHashMap<u32, f64> = FxHashMap::from_iter([(topic, 1.0)]);
    let share = |shares: &FxHashMap<u32, f64>, cause: &crate::explain::Cause| -> f64 {
        cause.parents.iter().filter_map(|parent| Some(shares.get(&parent.topic)? * parent.share)).sum()
    };
    for &other in network.graph.topic_order().iter().filter(|&&other| other != topic) {
        if let Some(part) = explanation.topic(other) {
            shares.insert(other, share(&shares, &part.cause));
        }
    }
    let words = explanation.tokens.iter().map(|token| (token.node, share(&shares, &token.cause)));
    let mut words: Vec<(u32, f64)> = words.filter(|word| word.1 >= REAL_SHARE).collect();
    words.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    Ok(words.into_iter().map(|(node, share)| (network.names.of(node).to_owned(), share)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_are_kept_and_the_first_of_equals() {
        let mut found = TopicDocs { n_on: 0, strongest: Vec::new() };
        for (doc_ix, q) in [0.2, 0.9, 0.5, 0.9, 0.1, 0.95].into_iter().enumerate() {
            found.add(doc_ix as u32, q, 3);
        }
        assert_eq!(found, TopicDocs { n_on: 4, strongest: vec![(5, 0.95), (1, 0.9), (3, 0.9)] });
        found.add(6, 1.0, 0);
        assert_eq!(found.n_on, 5);
    }
}
