//! The documents that the model explains worst, and the words that cost most.

use crate::corpus::Docs;
use crate::error::Result;
use crate::estep::EStepOptions;
use crate::explain::Explainer;
use crate::monitor::Monitor;
use crate::network::Network;
use rayon::prelude::*;

/// Documents kept.
const WORST: usize = 50;
/// Documents with fewer words are compared as if they had so many.
const FEW_WORDS: usize = 5;
/// Words of each whose costs are kept.
const COSTLY_WORDS: usize = 12;

/// By what documents are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorstBy {
    /// Cost a word: documents do not stand out by their length alone. Those of few words count as if they had [`FEW_WORDS`]: a single
    /// rare word says little.
    Word,
    /// The bound itself: long documents, mostly.
    Document,
}

/// A document that is badly explained.
#[derive(Debug, Clone, PartialEq)]
pub struct WorstDoc {
    /// Its number in the corpus.
    pub doc_ix: u32,
    /// Its bound.
    pub elbo: f64,
    /// Its words.
    pub n_words: usize,
    /// What the bound is below that of a document without words.
    pub cost: f64,
    /// The words that cost most, dearest first: token, and `-f(w0) - sum_k q_k r_k (f(u_k) - f(w0))`.
    pub costs: Vec<(u32, f64)>,
}

/// The worst so far.
#[derive(Debug)]
pub(super) struct Worst {
    by: WorstBy,
    docs: Vec<WorstDoc>,
}

impl WorstDoc {
    /// Nats that one of its words costs on average.
    pub fn per_word(&self) -> f64 {
        self.cost / self.n_words.max(1) as f64
    }
}

impl Worst {
    pub(super) fn new(by: WorstBy) -> Self {
        Self { by, docs: Vec::with_capacity(WORST) }
    }

    /// Of equals the first stays.
    pub(super) fn add(&mut self, doc: WorstDoc) {
        let by = self.by;
        let figure = |doc: &WorstDoc| match by {
            WorstBy::Word => doc.cost / doc.n_words.max(FEW_WORDS) as f64,
            WorstBy::Document => -doc.elbo,
        };
        let at = self.docs.partition_point(|other| figure(other) >= figure(&doc));
        if at < WORST {
            self.docs.truncate(WORST - 1);
            self.docs.insert(at, doc);
        }
    }
}

/// The finished lists, with what the words cost.
pub(super) fn explain(
    lists: [Worst; 2],
    network: &Network,
    docs: Docs<'_>,
    options: &EStepOptions,
    monitor: &Monitor,
) -> Result<[Vec<WorstDoc>; 2]> {
    let explainer = Explainer::new(network, options)?;
    let n_topics = network.graph.n_topics() as u32;
    let mut lists = lists.map(|list| list.docs);
    let all: Vec<&mut WorstDoc> = lists.iter_mut().flatten().collect();
    all.into_par_iter().try_for_each(|doc| {
        monitor.go_on()?;
        let tokens: Vec<u32> = docs.tokens(doc.doc_ix as usize).collect();
        let explained = explainer.explain(&tokens)?.tokens;
        doc.costs = explained.iter().map(|token| (token.node - n_topics, token.cause.cost)).collect();
        doc.costs.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        doc.costs.truncate(COSTLY_WORDS);
        Ok::<(), crate::Error>(())
    })?;
    Ok(lists)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estep::Bound;

    #[test]
    fn costs_are_those_of_an_explanation_by_the_same_estep() {
        let (network, corpus) =
            (crate::corpus::sample_network().unwrap(), crate::corpus::sample_corpus().unwrap());
        let alignment = crate::corpus::align(&corpus, &network.names.tokens);
        let (docs, monitor) = (alignment.docs(&corpus), Monitor::default());
        let clamped = EStepOptions { clamp: 4, ..EStepOptions::default() };
        for options in [EStepOptions::default(), EStepOptions::paper(Bound::Local), clamped] {
            let mut lists = [WorstBy::Word, WorstBy::Document].map(Worst::new);
            let doc = |doc_ix| WorstDoc { doc_ix, elbo: 0.0, n_words: 0, cost: 0.0, costs: vec![] };
            (0..40).for_each(|doc_ix| lists[0].add(doc(doc_ix)));
            let [explained, none] = explain(lists, &network, docs, &options, &monitor).unwrap();
            assert!(none.is_empty() && explained.len() == 40);
            let explainer = Explainer::new(&network, &options).unwrap();
            for doc in explained {
                let tokens: Vec<u32> = docs.tokens(doc.doc_ix as usize).collect();
                assert_eq!(doc.costs.len(), tokens.len().min(COSTLY_WORDS));
                assert!(doc.costs.windows(2).all(|pair| pair[0].1 >= pair[1].1), "{:?}", doc.costs);
                let parts = explainer.explain(&tokens).unwrap().tokens;
                for (token, cost) in doc.costs {
                    let node = token + network.graph.n_topics() as u32;
                    let part = parts.iter().find(|part| part.node == node).expect("the token");
                    assert_eq!(part.cause.cost, cost);
                }
            }
        }
    }

    #[test]
    fn the_worst_by_either_figure() {
        let doc = |doc_ix: u32| {
            let (elbo, cost) = (-f64::from(doc_ix % 100), f64::from(doc_ix * 7 % 100));
            WorstDoc { doc_ix, elbo, n_words: doc_ix as usize % 2 * 10, cost, costs: vec![] }
        };
        let worst = |by| {
            let mut worst = Worst::new(by);
            (0..300).for_each(|doc_ix| worst.add(doc(doc_ix)));
            worst.docs.iter().map(|doc| doc.doc_ix).collect::<Vec<_>>()
        };
        let (by_word, by_document) = (worst(WorstBy::Word), worst(WorstBy::Document));
        assert_eq!((by_word.len(), &by_document[..4]), (50, [99, 199, 299, 98].as_slice()));
        // Even documents have no words and count as five, odd ones have ten: half the cost is as bad.
        assert!(by_word.iter().all(|doc| doc * 7 % 100 * (2 - doc % 2) >= 132), "{by_word:?}");
    }
}
